//! What all batches of a segment have in common.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use kafkacomp_log::{Compaction, LogFormat, MissingRange, MissingReason, TransactionFilter};

use crate::columns::batch_runs::Place;
use crate::missing::PartitionId;
use crate::options::{Partition, ScanOptions, Segment};
use crate::plan::judged::Judged;

/// The context of all batches of a segment.
#[derive(Debug, Clone)]
pub struct Context {
    /// The values of the columns of the place.
    pub place: Place,
    /// The partition, for the report.
    pub id: PartitionId,
    /// First offset, inclusive.
    pub start_offset: i64,
    /// Last offset, inclusive; 2^63 - 1 for no bound.
    pub last_offset: i64,
    /// The first and last offset that consumers see, if the checkpoints of the log directory limit them.
    pub visible: Option<(i64, i64)>,
    /// The first and last offset, inclusive, that are reported if they are missing.
    pub asked: (i64, i64),
    /// What is known of the partition's compaction.
    pub compaction: Compaction,
    /// The transactions of the partition, for committed readers.
    pub transactions: Option<Arc<TransactionFilter>>,
    /// The segment's log format.
    pub log_format: LogFormat,
    /// The base offset in the name of the segment; 0 if it has none. In Kafka 0.7, it is the position of the segment's first byte
    /// in the partition.
    pub base_offset: i64,
    /// The judgement of the partition, if it needed one.
    pub judged: Option<Arc<Judged>>,
    /// Whether a batch of the partition was seen whose records are later than its header shows.
    pub understated: Arc<AtomicBool>,
}

impl Context {
    /// The context of `segment`, or of a partition without an open segment.
    pub fn of(partition: &Partition, id: PartitionId, segment: Option<&Segment>, options: &ScanOptions) -> Self {
        let start_offset = partition.start_offset.unwrap_or(i64::MIN);
        let last_offset = partition.end_offset.map_or(i64::MAX, |end| end.saturating_sub(1));
        let checkpoints = &partition.checkpoints;
        let bounded = checkpoints.log_start_offset.is_some() || checkpoints.high_watermark.is_some();
        let visible = bounded.then(|| {
            let first = checkpoints.log_start_offset.unwrap_or(i64::MIN);
            (first, checkpoints.high_watermark.map_or(i64::MAX, |end| end.saturating_sub(1)))
        });
        let mut asked = (start_offset, last_offset);
        if let Some((first, last)) = visible.filter(|_| options.visible_only) {
            asked = (asked.0.max(first), asked.1.min(last));
        }
        Self {
            place: Place {
                topic: partition.topic.clone(),
                partition: partition.partition,
                segment: segment.map_or_else(|| Arc::from(""), |segment| Arc::clone(&segment.name)),
            },
            id,
            start_offset,
            last_offset,
            visible,
            asked,
            compaction: partition.compaction(),
            transactions: None,
            log_format: LogFormat::Records,
            base_offset: segment.map_or(0, Segment::base_offset_or_zero),
            judged: None,
            understated: Arc::default(),
        }
    }

    /// Calls `found` with the parts of `from..until` that were requested, and the segments that should have them: `segment`, unless
    /// the judgement of the partition says otherwise.
    pub fn missing(
        &self,
        (from, until): (i64, i64),
        reason: MissingReason,
        segment: &Arc<str>,
        found: &mut dyn FnMut(&Arc<str>, MissingRange),
    ) {
        let from = from.max(self.asked.0);
        let until = until.min(self.asked.1.saturating_add(1));
        let Some(range) = MissingRange::between(from, until, reason) else { return };
        match &self.judged {
            Some(judged) => judged.parts(range, segment, self.compaction, found),
            None => self.compaction.parts(range).for_each(|part| found(segment, part)),
        }
    }

    /// Calls `found` with the offsets between two pieces of a judged partition that are missing and were requested.
    pub fn missing_between(&self, (from, until): (i64, i64), found: &mut dyn FnMut(&Arc<str>, MissingRange)) {
        if let Some(judged) = &self.judged {
            judged.between((from.max(self.asked.0), until.min(self.asked.1.saturating_add(1))), found);
        }
    }

    /// Restricts the missing offsets that are reported to those that a committed reader would see.
    pub fn restrict(&mut self, transactions: Option<Arc<TransactionFilter>>) {
        if let Some(stable) = transactions.as_ref().and_then(|filter| filter.last_stable_offset()) {
            self.asked.1 = self.asked.1.min(stable.saturating_sub(1));
        }
        self.transactions = transactions;
    }
}
