//! Transactions that begin in one segment and are aborted in another: see [`markers`](super::markers).

use std::collections::BTreeSet;

use super::rebuild::rebuilding;
use super::report::{FindingFile, SegmentReport};

/// The warning for markers without an entry.
pub(super) fn unlisted_message(base_offset: i64, unlisted: &[(i64, i64)]) -> Option<String> {
    let &[(offset, producer_id), ref more @ ..] = unlisted else { return None };
    let more = match more.len() {
        0 => String::new(),
        more => format!(", nor for {more} more"),
    };
    Some(format!(
        "no entry for the transaction of producer {producer_id} that the marker at offset {offset} aborts{more}. A broker that \
         starts cleanly returns its records to read_committed consumers. {}",
        rebuilding(base_offset, "txnindex")
    ))
}

/// Warns of the segments that abort transactions of earlier ones without an entry in `.txnindex`. The segments are in the order
/// of their base offsets.
pub(super) fn report_unlisted<'r>(segments: impl Iterator<Item = (i64, &'r mut SegmentReport)>) {
    let mut open: BTreeSet<i64> = BTreeSet::new();
    let mut end: Option<i64> = None;
    for (base_offset, report) in segments {
        if report.first_offset != end {
            open.clear();
        }
        let transactions = std::mem::take(&mut report.transactions);
        let mut of_earlier = transactions.unlisted;
        of_earlier.retain(|(_, producer_id)| open.contains(producer_id));
        if let Some(message) = unlisted_message(base_offset, &of_earlier) {
            report.add(FindingFile::TransactionIndex, 0, false, message);
        }
        if transactions.is_interrupted {
            open.clear();
        }
        open.retain(|producer_id| !transactions.ended.contains(producer_id));
        open.extend(&transactions.open);
        end = report.last_offset.map(|last| last.saturating_add(1));
    }
}
