//! What was read of a file.

use super::indexes::IndexChecks;
use super::report::SegmentReport;
use crate::map::Survey;
use crate::read::log_format::LogFormat;

/// What was read of a file.
pub(super) struct FileRead {
    pub(super) log_format: LogFormat,
    pub(super) report: SegmentReport,
    pub(super) survey: Survey,
    pub(super) indexes: Option<IndexChecks>,
}
