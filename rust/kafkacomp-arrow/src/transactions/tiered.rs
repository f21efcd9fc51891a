//! Transactions of segments in tiered storage, by the indexes that a broker has copied with them.
//!
//! A broker does not read remote segments to answer a committed consumer: their `.txnindex` files have the aborted
//! transactions. Here, too, the index is read instead of the batches, which would be fetched twice otherwise. The transactions
//! that are open after a segment are in its `.snapshot`, which in tiered storage is that of its end.
//!
//! An index has no checksum. If it is missing, ends inside an entry, or has entries that are not in the order of their markers,
//! it is not used, and the batches are read.
//!
//! Source: `RemoteLogManager.addAbortedTransactions`, `LogSegment.completeTransaction`, `ProducerStateManager`.

use kafkacomp_log::{AbortedRange, ProducerSnapshot, SideFile, TransactionCollector, TransactionIndex};

use crate::options::{Segment, TransactionsIn};

/// Adds the transactions that were aborted in a segment, if its indexes show all of them, and returns whether they do.
pub fn add_aborted(segment: &Segment, collector: &mut TransactionCollector) -> bool {
    match segment.transactions_in {
        TransactionsIn::Batches => return false,
        TransactionsIn::Snapshot => return true,
        TransactionsIn::Indexes => {}
    }
    // The pass that reads the batches warns of an invalid index.
    let Ok(Some(data)) = segment.files.side_file(SideFile::TransactionIndex) else { return false };
    let Ok(index) = TransactionIndex::parse(&data, segment.base_offset_or_zero()) else { return false };
    if index.trailing_bytes() > 0 || !is_in_order(&index) {
        return false;
    }
    for entry in index.iter().filter(|entry| segment.has_offset(entry.last_offset)) {
        let range = AbortedRange { first_offset: entry.first_offset, last_offset: entry.last_offset };
        collector.add_aborted(entry.producer_id, range);
    }
    true
}

/// Whether each transaction begins before its marker, and the markers follow one another.
fn is_in_order(index: &TransactionIndex<'_>) -> bool {
    let mut before = -1;
    index.iter().all(|entry| {
        let is_after = entry.last_offset > before;
        before = entry.last_offset;
        is_after && (0..entry.last_offset).contains(&entry.first_offset)
    })
}

/// Producer ids and first offsets of the transactions that are open after a segment; `None` if it has no snapshot.
///
/// # Errors
/// Why the snapshot cannot be read.
pub fn open_transactions(segment: &Segment) -> Result<Option<Vec<(i64, i64)>>, String> {
    let data = segment.files.side_file(SideFile::ProducerSnapshot).map_err(|error| error.to_string())?;
    let Some(data) = data else { return Ok(None) };
    let snapshot = ProducerSnapshot::parse(&data).map_err(|error| error.to_string())?;
    let open = snapshot.producers.iter().filter(|producer| producer.current_txn_first_offset >= 0);
    Ok(Some(open.map(|producer| (producer.producer_id, producer.current_txn_first_offset)).collect()))
}
