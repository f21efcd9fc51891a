//! The validation of a record set by a broker before it is appended: which batches are accepted, and the bytes that are stored.
//!
//! ```text
//! analyze_and_validate_records   sizes, checksums, order of offsets        [`analyze`]
//!   -> trim_invalid_bytes        drops a truncated batch at the end
//!   -> LogValidator              by source and target codec and format:
//!        none -> none, other format   converted, uncompressed              `rebuild`
//!        none -> none                 offsets assigned in place            `in_place`
//!        anything else                in place if possible, else rebuilt   `compressed`
//! ```
//! A broker accepts exactly what Kafka's streams read: the [`Strictness`](kafkacomp_records::compress::Strictness)
//! is `Kafka`, and zeros after the last batch are an error and not a preallocated tail.
//! Sources: `LogValidator`, `UnifiedLog`, `LogAppendInfo`, `BrokerCompressionType`; 3.9.2, the last that stores
//! formats 0 and 1, and 4.3.1.

pub mod analyze;
mod compressed;
pub mod config;
pub mod fault;
mod in_place;
mod items;
mod rebuild;
mod record_set;
pub mod result;
mod rules;

pub use analyze::{
    AnalyzeOptions, DEFAULT_MAX_MESSAGE_SIZE, LogAppendInfo, analyze_and_validate_records, trim_invalid_bytes,
};
pub use config::{
    AppendOrigin, BrokerCompressionType, Era, InterBrokerProtocolVersion, MAX_DECOMPRESSED_MESSAGE_BYTES,
    ValidatorConfig,
};
pub use fault::{RecordError, RecordRefusal, ValidationFault};
pub(super) use record_set::batch_at;
pub use result::{RecordValidationStats, ValidationResult};

use kafkacomp_records::CompressionType;
use kafkacomp_records::memory;
use kafkacomp_records::record::{self, RecordReader};
use rebuild::{Tools, Writer};
use result::Run;

/// Checks record sets and assigns their offsets, as a broker does before it appends them. Its buffers are reused: one per thread.
#[derive(Debug)]
pub struct LogValidator {
    config: ValidatorConfig,
    tools: Tools,
}

impl LogValidator {
    /// A validator for a topic with this configuration.
    pub fn new(config: ValidatorConfig) -> Self {
        let reader = RecordReader::as_broker(config.max_output_size);
        Self { config, tools: Tools { reader, writer: Writer::default() } }
    }

    /// The configuration.
    pub fn config(&self) -> &ValidatorConfig {
        &self.config
    }

    /// Checks `records` and assigns offsets from `offset` on; `now` is the time of the append in ms. Returns the records to
    /// store.
    ///
    /// # Errors
    /// The reason why a broker refuses the records, or lack of memory.
    pub fn validate(&mut self, records: &[u8], offset: i64, now: i64) -> crate::Result<(ValidationResult, Vec<u8>)> {
        let mut changed = memory::copy_of(records).map_err(|error| record::Error::out_of_memory(error, 0))?;
        let mut rebuilt = Vec::new();
        let result = self.validate_messages_and_assign_offsets(&mut changed, offset, now, &mut rebuilt)?;
        Ok((result, if result.message_size_maybe_changed { rebuilt } else { changed }))
    }

    /// Checks `records` and assigns offsets from `offset` on. If the records can be stored in place, only header fields
    /// of `records` change; otherwise (`message_size_maybe_changed`) the records to store replace the content of `rebuilt`. `now`
    /// is the time of the append in ms.
    ///
    /// # Errors
    /// The reason why a broker refuses the records. Some headers in `records` may be changed then.
    pub fn validate_messages_and_assign_offsets(
        &mut self,
        records: &mut [u8],
        offset: i64,
        now: i64,
        rebuilt: &mut Vec<u8>,
    ) -> crate::Result<ValidationResult> {
        rebuilt.clear();
        let config = &self.config;
        let run = Run { config, now };
        let target = config.target_compression.compression_type();
        if (config.source_compression_type, target) != (CompressionType::None, CompressionType::None) {
            return compressed::validate_and_assign_offsets(&run, &mut self.tools, records, offset, rebuilt);
        }
        if record_set::has_matching_magic(records, config.to_magic)? {
            in_place::assign_offsets(&run, &mut self.tools.reader, records, offset)
        } else {
            rebuild::convert(run, &mut self.tools, records, offset, rebuilt)
        }
    }
}
