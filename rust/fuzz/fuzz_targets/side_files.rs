//! Any bytes as each of the index and checkpoint files: they are parsed or refused, and every entry is read.

#![no_main]

use kafkacomp_log::index::{checkpoint, offset, partition_metadata, producer_snapshot, time, transaction};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(index) = offset::OffsetIndex::parse(data, 0) {
        assert_eq!(index.iter().count(), index.len());
        let _ = index.lookup(i64::MAX);
    }
    if let Ok(index) = time::TimeIndex::parse(data, 0) {
        assert_eq!(index.iter().count(), index.len());
        let _ = index.lookup(i64::MAX);
    }
    if let Ok(index) = transaction::TransactionIndex::parse(data, 0) {
        assert_eq!(index.iter().count(), index.len());
        let _ = index.collect_aborted_txns(0, i64::MAX);
    }
    let _ = producer_snapshot::ProducerSnapshot::parse(data);
    let _ = partition_metadata::PartitionMetadata::parse(data);
    let _ = checkpoint::read_leader_epoch_checkpoint(data);
    let _ = checkpoint::read_offset_checkpoint(data);
});
