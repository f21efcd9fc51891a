//! What a broker does with a record set that is to be appended: which batches it takes, and what it stores.
//!
//! ```text
//! analyze_and_validate_records   sizes, checksums, order of offsets        [`analyze`]
//!   -> trim_invalid_bytes        a cut batch at the end is left out
//!   -> LogValidator              by source and target codec and format:
//!        none -> none, other format   converted, uncompressed              `rebuild`
//!        none -> none                 numbered where it lies               `in_place`
//!        anything else                kept if it can be, else written anew `compressed`
//! ```
//! A broker reads what Kafka's streams read and nothing else: the [`Strictness`](crate::compress::Strictness)
//! is `Broker` here, and zero bytes behind the last batch are no preallocated tail but an error.
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

pub use analyze::{AnalyzeOptions, LogAppendInfo, analyze_and_validate_records, trim_invalid_bytes};
pub use config::{AppendOrigin, BrokerCompressionType, Era, InterBrokerProtocolVersion, ValidatorConfig};
pub use fault::{RecordError, RecordRefusal, ValidationFault};
pub(super) use record_set::batch_at;
pub use result::{RecordValidationStats, ValidationResult};

use crate::CompressionType;
use crate::broker;
use crate::record::RecordReader;
use rebuild::{Tools, Writer};
use result::Run;

/// Checks record sets and assigns their offsets, as a broker does before it appends them. One per thread: the
/// codecs' contexts and buffers are kept between calls.
#[derive(Debug)]
pub struct LogValidator {
    config: ValidatorConfig,
    tools: Tools,
}

impl LogValidator {
    /// A validator for a topic that is set to `config`.
    pub fn new(config: ValidatorConfig) -> Self {
        let reader = RecordReader::as_broker(config.max_output_size);
        Self { config, tools: Tools { reader, writer: Writer::default() } }
    }

    /// What it was told.
    pub fn config(&self) -> &ValidatorConfig {
        &self.config
    }

    /// Checks `records` and gives the first record `offset`. Where they can stay as they came, only header bytes
    /// of `records` are changed; else (`message_size_maybe_changed`) what is to be stored is in `rebuilt`, whose
    /// former content is dropped. `now` is the time of the append in ms.
    ///
    /// # Errors
    /// Why a broker refuses the records; `records` may have been changed in part then.
    pub fn validate_messages_and_assign_offsets(
        &mut self,
        records: &mut [u8],
        offset: i64,
        now: i64,
        rebuilt: &mut Vec<u8>,
    ) -> broker::Result<ValidationResult> {
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
