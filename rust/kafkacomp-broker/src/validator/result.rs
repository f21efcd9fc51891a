//! The result of the validator.

use super::config::ValidatorConfig;

/// Statistics of checking and rebuilding (`RecordValidationStats`, without the time).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordValidationStats {
    /// Bytes of uncompressed records that Kafka counts: those read from a compressed batch, and those written.
    pub temporary_memory_bytes: i64,
    /// The number of rebuilt records.
    pub num_records_converted: i32,
}

/// The result of an accepted record set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValidationResult {
    /// The time of the append, ms.
    pub log_append_time_ms: i64,
    /// The greatest timestamp, ms; -1 without.
    pub max_timestamp_ms: i64,
    /// The offset after the last record.
    pub next_offset: i64,
    /// Whether the records were rebuilt; otherwise they were changed in place.
    pub message_size_maybe_changed: bool,
    /// Statistics.
    pub record_validation_stats: RecordValidationStats,
}

/// The arguments of one call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run<'c> {
    pub(super) config: &'c ValidatorConfig,
    pub(super) now: i64,
}

impl Run<'_> {
    /// The result if only headers were changed.
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
