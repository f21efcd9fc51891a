//! The columns that are the same for a whole Kafka batch, or for all batches of a segment.

use std::sync::Arc;

use arrow_array::ArrayRef;
use kafkacomp_records::memory::OutOfMemory;

use crate::columns::batch_fields::BatchFields;
use crate::columns::runs::RunColumn;
use crate::columns::schema::Column;

/// The place of a batch: topic, partition and segment.
#[derive(Debug, Clone)]
pub struct Place {
    /// The topic, if known.
    pub topic: Option<Arc<str>>,
    /// The partition, if known.
    pub partition: Option<i32>,
    /// The segment's path or name.
    pub segment: Arc<str>,
}

impl Place {
    /// Whether both are in the same segment.
    #[inline]
    pub(crate) fn is(&self, other: &Self) -> bool {
        let same_topic = match (&self.topic, &other.topic) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        };
        same_topic && self.partition == other.partition && Arc::ptr_eq(&self.segment, &other.segment)
    }
}

/// Columns that are the same for a whole Kafka batch.
#[derive(Debug)]
pub struct BatchRuns {
    topic: RunColumn<Option<Arc<str>>>,
    partition: RunColumn<Option<i32>>,
    segment: RunColumn<Option<Arc<str>>>,
    leader_epoch: RunColumn<Option<i32>>,
    magic: RunColumn<Option<i8>>,
    compression_type: RunColumn<Option<Arc<str>>>,
    base_offset: RunColumn<Option<i64>>,
    position: RunColumn<Option<i64>>,
    producer_id: RunColumn<Option<i64>>,
    producer_epoch: RunColumn<Option<i16>>,
    is_transactional: RunColumn<Option<bool>>,
    is_control: RunColumn<Option<bool>>,
    names: [Arc<str>; 5],
}

impl BatchRuns {
    /// Columns without rows.
    pub fn new() -> Self {
        Self {
            topic: RunColumn::new(),
            partition: RunColumn::new(),
            segment: RunColumn::new(),
            leader_epoch: RunColumn::new(),
            magic: RunColumn::new(),
            compression_type: RunColumn::new(),
            base_offset: RunColumn::new(),
            position: RunColumn::new(),
            producer_id: RunColumn::new(),
            producer_epoch: RunColumn::new(),
            is_transactional: RunColumn::new(),
            is_control: RunColumn::new(),
            names: kafkacomp_records::CompressionType::ALL.map(|each| Arc::from(each.name())),
        }
    }

    /// Appends `rows` rows to the column, if it is a column of the place.
    pub fn push_place(&mut self, column: Column, place: &Place, rows: usize) {
        match column {
            Column::Topic => self.topic.push(&place.topic, rows),
            Column::Partition => self.partition.push(&place.partition, rows),
            Column::Segment => self.segment.push(&Some(Arc::clone(&place.segment)), rows),
            _ => {}
        }
    }

    /// Appends `rows` rows to the column, if it is a column of the batch header.
    pub fn push(&mut self, column: Column, batch: &impl BatchFields, rows: usize) {
        match column {
            Column::LeaderEpoch => self.leader_epoch.push(&Some(batch.leader_epoch()), rows),
            Column::Magic => self.magic.push(&Some(batch.magic()), rows),
            Column::CompressionType => {
                let name = self.names.get(usize::from(batch.compression_id())).cloned();
                self.compression_type.push(&name, rows);
            }
            Column::BaseOffset => self.base_offset.push(&Some(batch.offset_field()), rows),
            Column::Position => self.position.push(&Some(batch.position() as i64), rows),
            Column::ProducerId => self.producer_id.push(&Some(batch.producer_id()), rows),
            Column::ProducerEpoch => self.producer_epoch.push(&Some(batch.producer_epoch()), rows),
            Column::IsTransactional => self.is_transactional.push(&Some(batch.is_transactional()), rows),
            Column::IsControl => self.is_control.push(&Some(batch.is_control()), rows),
            _ => {}
        }
    }

    /// Drops the last `rows` rows.
    pub fn truncate(&mut self, rows: usize) {
        if rows == 0 {
            return;
        }
        self.topic.truncate(rows);
        self.partition.truncate(rows);
        self.segment.truncate(rows);
        self.leader_epoch.truncate(rows);
        self.magic.truncate(rows);
        self.compression_type.truncate(rows);
        self.base_offset.truncate(rows);
        self.position.truncate(rows);
        self.producer_id.truncate(rows);
        self.producer_epoch.truncate(rows);
        self.is_transactional.truncate(rows);
        self.is_control.truncate(rows);
    }

    /// Returns the column and leaves it empty.
    ///
    /// # Errors
    /// Lack of memory.
    pub fn finish(&mut self, column: Column) -> Result<ArrayRef, OutOfMemory> {
        match column {
            Column::Topic => self.topic.finish(),
            Column::Partition => self.partition.finish(),
            Column::Segment => self.segment.finish(),
            Column::LeaderEpoch => self.leader_epoch.finish(),
            Column::Magic => self.magic.finish(),
            Column::CompressionType => self.compression_type.finish(),
            Column::BaseOffset => self.base_offset.finish(),
            Column::Position => self.position.finish(),
            Column::ProducerId => self.producer_id.finish(),
            Column::ProducerEpoch => self.producer_epoch.finish(),
            Column::IsTransactional => self.is_transactional.finish(),
            _ => self.is_control.finish(),
        }
    }
}

/// Whether the column comes from the batch header.
pub fn is_of_batch(column: Column) -> bool {
    matches!(
        column,
        Column::LeaderEpoch
            | Column::Magic
            | Column::CompressionType
            | Column::BaseOffset
            | Column::Position
            | Column::ProducerId
            | Column::ProducerEpoch
            | Column::IsTransactional
            | Column::IsControl
    )
}
