//! Looks up the offset of a timestamp, as a broker does for `ListOffsets`.
//!
//! The result is the first record, in the order of offsets, whose timestamp is at least the requested one: the first one of a scan
//! from that time on. Timestamps need not increase. A broker trusts the last entry of the time index for the greatest timestamp
//! of a closed segment; see `index_pruning` for the segments that a scan skips.
//! Source: `UnifiedLog.fetchOffsetByTimestamp`, `LogSegment.findOffsetByTimestamp`.

use arrow_array::Int64Array;

use crate::columns::schema::Column;
use crate::options::{Partition, ScanOptions};
use crate::report::ScanError;
use crate::scan::Scan;

/// The offset of the first record of `partition` whose timestamp is at least `timestamp` ms; `None` if there is none,
/// or the format has no timestamps.
///
/// # Errors
/// An I/O error, and corruption with `on_error="raise"`.
pub fn offset_for_time(partition: &Partition, timestamp: i64, options: &ScanOptions) -> Result<Option<i64>, ScanError> {
    let options = ScanOptions {
        columns: vec![Column::Offset],
        start_time: Some(timestamp),
        include_control: true,
        batch_rows: 1,
        threads: 1,
        ..options.clone()
    };
    let mut scan = Scan::new(vec![partition.clone()], options, 0);
    let Some(first) = scan.next().transpose()? else { return Ok(None) };
    let offsets = first.columns().first().and_then(|column| column.as_any().downcast_ref::<Int64Array>());
    Ok(offsets.and_then(|offsets| offsets.iter().flatten().next()))
}
