//! Any bytes as a record set of mixed magics: batches, header fields, checksums, records, headers, control records.

#![no_main]

use kafkacomp_core::record::{Batches, ControlRecord, RecordReader};
use libfuzzer_sys::fuzz_target;

const LIMIT: usize = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let mut reader = RecordReader::new(LIMIT);
    let mut batches = Batches::new(data, 0);
    for batch in batches.by_ref() {
        let Ok(batch) = batch else { return };
        assert_eq!(batch.is_valid(), batch.ensure_valid().is_ok());
        let _ = (batch.base_offset(), batch.last_offset(), batch.max_timestamp(), batch.delete_horizon_ms());
        let is_control = batch.is_control_batch();
        let Ok(records) = reader.records(&batch) else { continue };
        for record in records {
            let Ok(record) = record else { break };
            assert_eq!(record.headers.into_iter().count(), record.headers.len());
            if is_control {
                let _ = ControlRecord::parse(record.key, record.value);
            }
        }
    }
    assert!(batches.position() <= data.len() as u64);
});
