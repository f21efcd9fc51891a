//! Any bytes as a record set that is converted down and up to every magic, and as a message set of Kafka 0.7 that is migrated.
//! The resulting batches must be valid.

#![no_main]

use kafkacomp_log::maintain::migrate::{MappedPosition, Migrator};
use kafkacomp_records::message_set::{Entries, MessageSetReader};
use kafkacomp_records::record::{Batches, ConvertOptions, RecordReader, convert};
use libfuzzer_sys::fuzz_target;

const LIMIT: usize = 1 << 20;
const BATCH_BYTES: i32 = 1 << 14;
/// The most by which data grows: a message takes at least 10 bytes in Kafka 0.7, and 34 in magic 1.
const GROWTH: usize = 4;

fuzz_target!(|data: &[u8]| {
    for to_magic in 0..=2 {
        for upgrade in [false, true] {
            let options = ConvertOptions { to_magic, upgrade, max_output_size: LIMIT, ..ConvertOptions::default() };
            let Ok(converted) = convert(data, options) else { continue };
            for batch in Batches::new(&converted, 0) {
                let Ok(batch) = batch else { unreachable!("a batch that was written cannot be framed") };
                assert!(batch.magic() <= to_magic || to_magic == 2);
                assert!(!upgrade || batch.magic() == to_magic || to_magic == 0);
            }
        }
        migrate(data, to_magic);
    }
});

/// A set that is migrated keeps its payloads. Their offsets have no gaps, and each old position leads to its message.
fn migrate(data: &[u8], to_magic: i8) {
    let Ok((batches, mapped)) = Migrator::new(to_magic, 0, BATCH_BYTES, LIMIT).set(data, 0) else { return };
    let (mut reader, mut payloads, mut leads) = (MessageSetReader::new(LIMIT), Vec::new(), Vec::new());
    let mut entries = Entries::new(data);
    for entry in &mut entries {
        let Ok(entry) = entry else { unreachable!("a corrupt entry was carried over") };
        leads.push(MappedPosition { position: entry.position as i64, offset: payloads.len() as i64 });
        payloads.extend(reader.unwrap(&entry).messages().map(|(message, _)| message.payload().to_vec()));
    }
    leads.push(MappedPosition { position: entries.position() as i64, offset: payloads.len() as i64 });
    assert_eq!(mapped, leads);
    let (mut reader, mut payloads) = (RecordReader::new(GROWTH * LIMIT), payloads.into_iter().zip(0_i64..));
    for batch in Batches::new(&batches, 0) {
        let Ok(batch) = batch else { unreachable!("a batch that was written cannot be framed") };
        assert_eq!((batch.magic(), batch.is_valid()), (to_magic, true));
        let Ok(records) = reader.records(&batch) else { unreachable!("a batch that was written cannot be read") };
        for record in records {
            let Ok(record) = record else { unreachable!("a record that was written cannot be read") };
            let (value, offset) = payloads.next().unwrap_or_default();
            assert_eq!((record.key, record.value, record.offset), (None, Some(value.as_slice()), offset));
        }
    }
    assert_eq!(payloads.next(), None);
}
