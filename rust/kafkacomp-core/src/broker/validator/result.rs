//! What the validator answers.

use super::config::ValidatorConfig;

/// What the records took to check and to write anew (`RecordValidationStats`, without the time).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordValidationStats {
    /// Bytes of uncompressed records that Kafka counts: those that were read from a compressed batch, and those
    /// that were written.
    pub temporary_memory_bytes: i64,
    /// Records that were written anew, whatever the reason.
    pub num_records_converted: i32,
}

/// What became of a record set that is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValidationResult {
    /// The time of the append, ms.
    pub log_append_time_ms: i64,
    /// The greatest timestamp, ms; -1 without.
    pub max_timestamp_ms: i64,
    /// The offset after the last record.
    pub next_offset: i64,
    /// Whether the records were written anew; else they were changed where they lie.
    pub message_size_maybe_changed: bool,
    /// Counts.
    pub record_validation_stats: RecordValidationStats,
}

/// One call's circumstances.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run<'c> {
    pub(super) config: &'c ValidatorConfig,
    pub(super) now: i64,
}

impl Run<'_> {
    /// The answer where only headers were changed.
    pub(super) fn in_place(&self, max_timestamp_ms: i64, next_offset: i64, uncompressed: i32) -> ValidationResult {
        ValidationResult {
            log_append_time_ms: self.now,
            max_timestamp_ms,
            next_offset,
            message_size_maybe_changed: false,
            record_validation_stats: RecordValidationStats {
                temporary_memory_bytes: i64::from(uncompressed),
                num_records_converted: 0,
            },
        }
    }
}
