//! Looks up the offset of a timestamp, as a broker does for `ListOffsets`.
//!
//! The result is the first record, in the order of offsets, whose timestamp is at least the requested one: the first one of a scan
//! from that time on. Timestamps need not increase. A broker trusts the last entry of the time index for the greatest timestamp
//! of a closed segment. Here the batch headers decide, or, for a remote source, an index that agrees with them (`index_pruning`).
//! Source: `UnifiedLog.fetchOffsetByTimestamp`, `LogSegment.findOffsetByTimestamp`.

use arrow_array::Int64Array;

use kafkacomp_core::log::LogFormat;

use crate::lookup::open;
use crate::options::{Partition, ScanOptions, Segment};
use crate::report::ScanError;
use crate::scan::Scan;
use crate::schema::Column;

/// The offset of the first record of `partition` whose timestamp is at least `timestamp` ms; `None` if there is none,
/// or the format has no timestamps.
///
/// # Errors
/// An I/O error, and corruption with `on_error="raise"`.
pub fn offset_for_time(partition: &Partition, timestamp: i64, options: &ScanOptions) -> Result<Option<i64>, ScanError> {
    let mut earlier = 0;
    if let Some((_, closed)) = partition.segments.split_last() {
        for segment in closed {
            // What cannot be read is reported by the scan, or skipped.
            if !can_skip_segment(segment, timestamp, options).unwrap_or(false) {
                break;
            }
            earlier += 1;
        }
    }
    let segments = partition.segments.get(earlier..).unwrap_or_default().to_vec();
    let options = ScanOptions {
        columns: vec![Column::Offset],
        start_timestamp: Some(timestamp),
        include_control: true,
        batch_size: 1,
        threads: 1,
        ..options.clone()
    };
    let mut scan = Scan::new(vec![Partition { segments, ..partition.clone() }], options, 0);
    let Some(first) = scan.next().transpose()? else { return Ok(None) };
    let offsets = first.columns().first().and_then(|column| column.as_any().downcast_ref::<Int64Array>());
    Ok(offsets.and_then(|offsets| offsets.iter().flatten().next()))
}

/// Whether a closed segment has no record from `timestamp` on, according to its time index or its format. Local segments are not
/// asked: their headers are read as fast as an index.
fn can_skip_segment(segment: &Segment, timestamp: i64, options: &ScanOptions) -> Result<bool, ScanError> {
    let opened = open(segment, options)?;
    if opened.log_format == LogFormat::MessageSet || !opened.source.is_remote() {
        return Ok(opened.log_format == LogFormat::MessageSet);
    }
    opened.start(segment).is_earlier(timestamp)
}
