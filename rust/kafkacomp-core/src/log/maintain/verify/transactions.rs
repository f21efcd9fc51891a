//! Transactions that begin in one segment and are aborted in another: see [`markers`](super::markers).

use std::collections::BTreeSet;

use super::rebuild::rebuilding;

/// What the check of a partition needs to know of the transactions of a segment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SegmentTransactions {
    /// Producers with records in a transaction that is open at the end of the segment.
    pub open: BTreeSet<i64>,
    /// Producers with a marker in the segment.
    pub ended: BTreeSet<i64>,
    /// Whether batches are missing in the segment.
    pub is_interrupted: bool,
    /// Abort markers without an entry, before which the segment has no batch of the transaction: offset and producer.
    pub unlisted: Vec<(i64, i64)>,
}

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

/// A segment of a partition, for [`unlisted_aborts`].
#[derive(Debug, Clone)]
pub struct TransactionalSegment {
    /// The offset in its name.
    pub base_offset: i64,
    /// Its first offset.
    pub first_offset: Option<i64>,
    /// Its last offset.
    pub last_offset: Option<i64>,
    /// What its check has found.
    pub transactions: SegmentTransactions,
}

/// Warnings for the segments, by their indexes, that abort transactions of earlier ones without an entry in `.txnindex`. The
/// segments are in the order of their base offsets.
pub fn unlisted_aborts(segments: &[TransactionalSegment]) -> Vec<(usize, String)> {
    let mut open: BTreeSet<i64> = BTreeSet::new();
    let mut end: Option<i64> = None;
    let mut found = Vec::new();
    for (index, segment) in segments.iter().enumerate() {
        let TransactionalSegment { base_offset, first_offset, last_offset, transactions } = segment;
        if *first_offset != end {
            open.clear();
        }
        let of_earlier = transactions.unlisted.iter().filter(|(_, producer_id)| open.contains(producer_id));
        let of_earlier: Vec<_> = of_earlier.copied().collect();
        found.extend(unlisted_message(*base_offset, &of_earlier).map(|message| (index, message)));
        if transactions.is_interrupted {
            open.clear();
        }
        open.retain(|producer_id| !transactions.ended.contains(producer_id));
        open.extend(&transactions.open);
        end = last_offset.map(|last| last.saturating_add(1));
    }
    found
}
