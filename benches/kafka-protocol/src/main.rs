//! The Rust crate kafka-protocol and ours over the same segments, in turn, one thread, checksums verified on both sides.
//!
//! `read`: kafka-protocol's records (key and value are slices of one buffer a batch) against our Arrow columns and against
//! our record reader, which copies nothing either. `build`: the batches of the segment built anew from their records, by
//! each side's encoder at its defaults; only kafkacomp keeps its contexts, kafka-protocol has none to keep.
//! Both must read the same offsets, times and bytes, and what they build must read the same.
//!
//! Prints one JSON object a segment: the median seconds of a pass.
//!
//! Run: cargo run --release --locked --manifest-path benches/kafka-protocol/Cargo.toml -- ROUNDS SEGMENT…

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use kafka_protocol::records::{
    Compression as TheirCompression, Record, RecordBatchDecoder, RecordBatchEncoder, RecordEncodeOptions, RecordSet,
};
use kafkacomp_arrow::source::files::in_memory;
use kafkacomp_arrow::{Partition, Scan, ScanOptions};
use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::Compression;
use kafkacomp_records::record::{
    BatchSettings, Batches, HeadersBuffer, RecordBatchBuilder, RecordReader, TimestampType,
};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A side works this long before it is the other's turn.
const TURN: Duration = Duration::from_millis(200);
const CAP: usize = 1 << 30;

/// Number, sum of offsets and times, and bytes of keys and values.
#[derive(Debug, PartialEq, Eq, Default)]
struct Digest(usize, i64, usize);

impl Digest {
    fn add(&mut self, offset: i64, timestamp: i64, bytes: usize) {
        self.0 += 1;
        self.1 = self.1.wrapping_add(offset ^ timestamp);
        self.2 += bytes;
    }
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let rounds: usize = arguments.next().ok_or("rounds are missing")?.parse()?;
    for path in arguments {
        let log = Bytes::from(std::fs::read(&path)?);
        println!("{}", compare(&path, &log, rounds)?);
    }
    Ok(())
}

fn compare(path: &str, log: &Bytes, rounds: usize) -> Result<String> {
    let sets = decode(log)?;
    let mut theirs = Digest::default();
    for record in sets.iter().flat_map(|set| &set.records) {
        let bytes = record.key.as_ref().map_or(0, Bytes::len) + record.value.as_ref().map_or(0, Bytes::len);
        theirs.add(record.offset, record.timestamp, bytes);
    }
    let mut reader = RecordReader::new(CAP);
    same(&read(&mut reader, log)?, &theirs)?;
    let codec = sets.first().ok_or("the segment is empty")?.compression;
    let settings = BatchSettings {
        magic: 2,
        compression: Compression::of(CompressionType::for_id(codec as u8).ok_or("codec")?),
        timestamp_type: TimestampType::CreateTime,
        ..BatchSettings::default()
    };
    let mut builder = RecordBatchBuilder::new(settings)?;
    let mut out = Vec::new();
    build(&mut builder, settings, &sets, &mut out)?;
    let our_size = out.len();
    same(&read(&mut reader, &out)?, &theirs)?;
    let mut encoded = BytesMut::new();
    encode(&sets, codec, &mut encoded)?;
    let their_size = encoded.len();
    same(&read(&mut reader, &encoded)?, &theirs)?;

    let shared = Arc::new(log.to_vec());
    let mut samples = [const { Vec::new() }; 5];
    for round in 0..=rounds {
        let turns = [
            turn(|| Ok(decode(log)?.len()))?,
            turn(|| arrow(&shared))?,
            turn(|| Ok(read(&mut reader, log)?.0))?,
            turn(|| {
                encoded.clear();
                encode(&sets, codec, &mut encoded).map(|()| encoded.len())
            })?,
            turn(|| {
                out.clear();
                build(&mut builder, settings, &sets, &mut out).map(|()| out.len())
            })?,
        ];
        // The first round pays for memory.
        if round > 0 {
            samples.iter_mut().zip(turns).for_each(|(all, one)| all.push(one));
        }
    }
    let [decoded, columns, records, encoded, built] = samples.map(median);
    Ok(format!(
        r#"{{"segment": {path:?}, "codec": "{}", "records": {}, "bytes": {}, "read_kafka_protocol": {decoded}, "read_arrow": {columns}, "read_records": {records}, "build_kafka_protocol": {encoded}, "build": {built}, "size_kafka_protocol": {their_size}, "size": {our_size}}}"#,
        settings.compression.compression_type().name(),
        theirs.0,
        log.len(),
    ))
}

fn same(ours: &Digest, theirs: &Digest) -> Result<()> {
    if ours == theirs { Ok(()) } else { Err(format!("they differ: {ours:?}, {theirs:?}").into()) }
}

fn turn(mut pass: impl FnMut() -> Result<usize>) -> Result<f64> {
    let start = Instant::now();
    let mut passes = 0;
    while passes == 0 || start.elapsed() < TURN {
        std::hint::black_box(pass()?);
        passes += 1;
    }
    Ok(start.elapsed().as_secs_f64() / f64::from(passes))
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn decode(log: &Bytes) -> Result<Vec<RecordSet>> {
    Ok(RecordBatchDecoder::decode_all(&mut log.clone())?)
}

fn read(reader: &mut RecordReader, log: &[u8]) -> Result<Digest> {
    let mut digest = Digest::default();
    for batch in Batches::new(log, 0) {
        let batch = batch?;
        batch.ensure_valid()?;
        for record in reader.records(&batch)? {
            let record = record?;
            let bytes = record.key.map_or(0, <[u8]>::len) + record.value.map_or(0, <[u8]>::len);
            digest.add(record.offset, record.timestamp, bytes);
        }
    }
    Ok(digest)
}

fn arrow(log: &Arc<Vec<u8>>) -> Result<usize> {
    let segments = vec![in_memory(Arc::clone(log), "bench")];
    let partition =
        Partition { topic: Some(Arc::from("flights")), partition: Some(0), segments, ..Partition::default() };
    let mut rows = 0;
    for batch in Scan::new(vec![partition], ScanOptions::default(), log.len() as u64) {
        rows += batch?.num_rows();
    }
    Ok(rows)
}

fn encode(sets: &[RecordSet], codec: TheirCompression, out: &mut BytesMut) -> Result<()> {
    let options = RecordEncodeOptions { version: 2, compression: codec };
    for set in sets {
        RecordBatchEncoder::encode(out, set.records.iter().collect::<Vec<&Record>>(), &options)?;
    }
    Ok(())
}

fn build(
    builder: &mut RecordBatchBuilder,
    settings: BatchSettings,
    sets: &[RecordSet],
    out: &mut Vec<u8>,
) -> Result<()> {
    let headers = HeadersBuffer::new();
    for set in sets {
        let base_offset = set.records.first().map_or(0, |record| record.offset);
        builder.reset(BatchSettings { base_offset, ..settings })?;
        for record in &set.records {
            if !record.headers.is_empty() {
                return Err("headers are not compared".into());
            }
            let (key, value) = (record.key.as_deref(), record.value.as_deref());
            builder.append(record.offset, record.timestamp, key, value, headers.as_headers())?;
        }
        builder.build(out)?;
    }
    Ok(())
}
