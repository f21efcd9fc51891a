//! Verifies a file of a log in either log format.

use std::ops::ControlFlow;

use super::verify::{SegmentReport, SideFiles, VerifyOptions, verify_segment};
use super::verify_message_set::verify_message_set;
use crate::log::error::Error;
use crate::log::read::log_format::LogFormat;
use crate::log::read::source::ReadAt;

/// Verifies a file of `log_format`; a log of Kafka 0.7 has no side files. `progress` is called repeatedly with the number of bytes
/// done; [`ControlFlow::Break`] ends the check.
///
/// # Errors
/// The file cannot be read, or memory ran out. Corruption is not an error but a finding.
pub fn verify_file<B>(
    source: &dyn ReadAt,
    log_format: LogFormat,
    side_files: SideFiles<'_>,
    options: VerifyOptions<'_>,
    progress: &mut dyn FnMut(u64) -> ControlFlow<B>,
) -> Result<ControlFlow<B, SegmentReport>, Error> {
    match log_format {
        LogFormat::MessageSet => verify_message_set(source, options, progress),
        LogFormat::Records => verify_segment(source, side_files, options, progress),
    }
}
