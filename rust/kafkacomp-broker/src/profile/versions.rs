//! The broker versions that treat record sets differently.

/// A broker version, and all others with the same behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Broker {
    /// 0.8.2.
    V0_8_2,
    /// 0.9.0.
    V0_9_0,
    /// 0.10.0 and 0.10.1.
    V0_10_0,
    /// 0.10.2.
    V0_10_2,
    /// 0.11.0 and 1.0.
    V0_11_0,
    /// 1.1 to 2.3.
    V1_1,
    /// 2.4 to 2.8.
    V2_8,
    /// 3.x.
    V3_9,
    /// 4.0 to 4.3.
    V4_3,
    /// 4.4, which has `max.decompressed.message.bytes`.
    V4_4,
}

impl Broker {
    /// All versions, the oldest first.
    pub const ALL: [Self; 10] = [
        Self::V0_8_2,
        Self::V0_9_0,
        Self::V0_10_0,
        Self::V0_10_2,
        Self::V0_11_0,
        Self::V1_1,
        Self::V2_8,
        Self::V3_9,
        Self::V4_3,
        Self::V4_4,
    ];

    /// The name of the version.
    pub fn name(self) -> &'static str {
        match self {
            Self::V0_8_2 => "0.8.2",
            Self::V0_9_0 => "0.9.0",
            Self::V0_10_0 => "0.10.0",
            Self::V0_10_2 => "0.10.2",
            Self::V0_11_0 => "0.11.0",
            Self::V1_1 => "1.1",
            Self::V2_8 => "2.8",
            Self::V3_9 => "3.9",
            Self::V4_3 => "4.3",
            Self::V4_4 => "4.4",
        }
    }

    /// The broker for a version with or without further numbers (`0.10.2.2`); `4.x` is 4.4.
    pub fn for_name(name: &str) -> Option<Self> {
        let whole = |known: &str| name.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        match name {
            "4.x" => Some(Self::V4_4),
            "0.9" => Some(Self::V0_9_0),
            "0.11" => Some(Self::V0_11_0),
            _ => Self::ALL.into_iter().find(|broker| whole(broker.name())),
        }
    }

    /// The newest message format that the broker stores.
    pub(super) fn newest_magic(self) -> i8 {
        match self {
            Self::V0_8_2 | Self::V0_9_0 => 0,
            Self::V0_10_0 | Self::V0_10_2 => 1,
            _ => 2,
        }
    }

    /// The format for `message.format.version`; 3.0 and later ignore it and store the newest.
    pub(super) fn to_magic(self, message_format: Option<i8>) -> i8 {
        let newest = self.newest_magic();
        if self >= Self::V3_9 { newest } else { message_format.unwrap_or(newest).min(newest) }
    }
}
