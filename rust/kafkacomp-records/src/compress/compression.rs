//! A compression type with one of its levels ([KIP-390](https://cwiki.apache.org/confluence/display/KAFKA/KIP-390%3A+Support+Compression+Level)).
//!
//! | type | levels | Kafka's default |
//! |---|---|---|
//! | gzip | 1 to 9, and -1: zlib's own choice | -1 |
//! | lz4 | 1 to 17 | 9, which is the fast compressor; every other is the high-compression one |
//! | zstd | -131072 to 22 | 3 |
//! | none, snappy | no level | |

use super::CompressionType;
use std::ops::RangeInclusive;

/// A compression type and a level that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Compression {
    compression_type: CompressionType,
    level: i32,
}

/// A level that the compression type does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.message())]
pub struct LevelOutOfRange {
    /// The type.
    pub compression_type: CompressionType,
    /// The requested level.
    pub level: i32,
}

impl LevelOutOfRange {
    fn message(&self) -> String {
        let (name, level) = (self.compression_type.name(), self.level);
        match levels(self.compression_type) {
            None => format!("{name} has no compression levels (level {level} was asked for)"),
            Some((levels, default)) => {
                let extra = if levels.contains(&default) { String::new() } else { format!(" and {default}") };
                format!("{name} has compression levels {} to {}{extra}, not {level}", levels.start(), levels.end())
            }
        }
    }
}

/// The levels of a type, and Kafka's default; that of gzip, -1, is not one of the levels.
fn levels(compression_type: CompressionType) -> Option<(RangeInclusive<i32>, i32)> {
    match compression_type {
        CompressionType::None | CompressionType::Snappy => None,
        CompressionType::Gzip => Some((1..=9, -1)),
        CompressionType::Lz4 => Some((1..=17, Compression::LZ4_FAST)),
        CompressionType::Zstd => Some((-131_072..=22, 3)),
    }
}

impl Compression {
    /// The level of lz4 that selects the fast compressor; all others select the high-compression one.
    pub const LZ4_FAST: i32 = 9;
    /// The highest level that liblz4 distinguishes: higher ones have the same effect.
    pub const LZ4_HIGHEST: i32 = 12;

    /// A type with a level, or with Kafka's default for `None`.
    ///
    /// # Errors
    /// The type has no such level, or no levels at all.
    pub fn new(compression_type: CompressionType, level: Option<i32>) -> Result<Self, LevelOutOfRange> {
        match level {
            None => Ok(Self::of(compression_type)),
            Some(level) => match levels(compression_type) {
                Some((levels, default)) if levels.contains(&level) || level == default => {
                    Ok(Self { compression_type, level })
                }
                _ => Err(LevelOutOfRange { compression_type, level }),
            },
        }
    }

    /// A type with Kafka's default level.
    pub fn of(compression_type: CompressionType) -> Self {
        Self { compression_type, level: levels(compression_type).map_or(0, |(_, default)| default) }
    }

    /// The type.
    pub fn compression_type(self) -> CompressionType {
        self.compression_type
    }

    /// The level; 0 for a type without levels.
    pub fn level(self) -> i32 {
        self.level
    }
}
