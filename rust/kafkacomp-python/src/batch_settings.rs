//! The settings of a batch, as Python passes them.

use kafkacomp_records::record::BatchSettings;
use pyo3::prelude::*;

use crate::encode::{Level, compression};
use crate::enums::{compression_type_for_id, timestamp_type_for_id};

/// `kafkacomp._batch_settings.BatchSettings`, which has checked its fields.
#[derive(FromPyObject)]
pub struct Settings {
    magic: i8,
    compression_type: u8,
    level: Option<Level>,
    timestamp_type: i8,
    base_offset: i64,
    log_append_time: i64,
    producer_id: i64,
    producer_epoch: i16,
    base_sequence: i32,
    is_transactional: bool,
    is_control_batch: bool,
    partition_leader_epoch: i32,
    delete_horizon_ms: Option<i64>,
    write_limit: i32,
}

impl Settings {
    /// The core's settings.
    ///
    /// # Errors
    /// `ValueError` for a level that the codec does not have.
    pub fn settings(self) -> PyResult<BatchSettings> {
        Ok(BatchSettings {
            magic: self.magic,
            compression: compression(compression_type_for_id(self.compression_type)?, self.level)?,
            timestamp_type: timestamp_type_for_id(self.timestamp_type)?,
            base_offset: self.base_offset,
            log_append_time: self.log_append_time,
            producer_id: self.producer_id,
            producer_epoch: self.producer_epoch,
            base_sequence: self.base_sequence,
            is_transactional: self.is_transactional,
            is_control_batch: self.is_control_batch,
            partition_leader_epoch: self.partition_leader_epoch,
            delete_horizon_ms: self.delete_horizon_ms,
            write_limit: self.write_limit,
        })
    }
}
