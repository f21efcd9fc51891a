//! Times the building of batches, as `benches/java`'s `BuildBench` does: each line of a file becomes the value of a record of
//! magic 2. `limit` compresses the records of the same batches with the codec's own library and computes the checksum of each
//! batch: what no builder can leave out. Prints `ready`, then one line of JSON for a pass over the file for each line on
//! standard input. Run by `benches/compare_build.py`.
//!
//! `build_pass FILE COMPRESSION BATCH_BYTES ours|limit`
#![allow(clippy::print_stdout, reason = "it is a program")]

mod bare;

use std::error::Error;
use std::io::{BufRead, Write, stdin, stdout};
use std::time::Instant;

use bare::Library;
use kafkacomp_records::CompressionType;
use kafkacomp_records::buffer::OutputBuffer;
use kafkacomp_records::checksum::crc32c;
use kafkacomp_records::compress::{Compression, DecodeOptions, decompress};
use kafkacomp_records::record::{BatchSettings, Batches, Headers, PairedBuilder};

const FIRST_TIMESTAMP: i64 = 1_700_000_000_000;
/// The positions in a batch from which on the checksum covers it, and of its records.
const ATTRIBUTES: usize = 21;
const RECORDS: usize = 61;
/// The level of libdeflate whose output is as small as that of Kafka's default level of zlib.
const LIBDEFLATE_LEVEL: i32 = 6;
/// More room than a compressed batch of the write limit takes.
const ROOM: usize = 1 << 20;

/// What a pass made.
#[derive(Debug, Default)]
struct Totals {
    batches: u64,
    bytes: u64,
    digest: u64,
}

/// Builders, codec contexts and output, kept from batch to batch.
struct Builders {
    settings: BatchSettings,
    builder: PairedBuilder,
    out: Vec<u8>,
}

impl Builders {
    /// Builds all batches; those that are complete are passed to `seen`.
    fn pass(&mut self, values: &[&[u8]], mut seen: impl FnMut(&[u8])) -> Result<Totals, Box<dyn Error>> {
        let mut totals = Totals::default();
        self.builder.restart(self.settings)?;
        for (offset, value) in (0_i64..).zip(values) {
            let timestamp = FIRST_TIMESTAMP + offset;
            if !self.builder.current().append_if_room(offset, timestamp, None, Some(value), Headers::EMPTY)? {
                self.builder.close(&mut self.out)?;
                self.count(&mut totals, &mut seen)?;
                self.builder.reset(BatchSettings { base_offset: offset, ..self.settings })?;
                self.builder.current().append(offset, timestamp, None, Some(value), Headers::EMPTY)?;
            }
        }
        self.builder.close(&mut self.out)?;
        self.builder.flush(&mut self.out)?;
        self.count(&mut totals, &mut seen)?;
        Ok(totals)
    }

    fn count(&mut self, totals: &mut Totals, seen: &mut impl FnMut(&[u8])) -> Result<(), Box<dyn Error>> {
        for batch in Batches::new(&self.out, 0) {
            totals.batches += 1;
            totals.digest += u64::from(batch.map_err(|_| "not a batch")?.crc());
        }
        totals.bytes += self.out.len() as u64;
        seen(&self.out);
        self.out.clear();
        Ok(())
    }
}

/// What the codec's own library and the checksum take for the same batches.
struct Limit {
    /// The records of each batch before compression.
    plain: Vec<Vec<u8>>,
    kind: CompressionType,
    library: Library,
    deflate: libdeflater::Compressor,
    /// A header and the compressed records.
    room: Vec<u8>,
}

impl Limit {
    fn of(batches: &[u8], kind: CompressionType) -> Result<Self, Box<dyn Error>> {
        let mut plain = Vec::new();
        for batch in Batches::new(batches, 0) {
            let batch = batch.map_err(|_| "not a batch")?;
            let mut records = OutputBuffer::new(usize::MAX);
            records.reset(ROOM);
            decompress(kind, DecodeOptions::default(), &batch.data()[RECORDS..], &mut records)?;
            plain.push(records.as_slice().to_vec());
        }
        let level = libdeflater::CompressionLvl::new(LIBDEFLATE_LEVEL).map_err(|_| "no such level")?;
        let (library, deflate) = (Library::new(kind)?, libdeflater::Compressor::new(level));
        Ok(Self { plain, kind, library, deflate, room: vec![0; ROOM] })
    }

    fn pass(&mut self) -> Result<Totals, Box<dyn Error>> {
        let mut totals = Totals::default();
        for plain in &self.plain {
            let room = &mut self.room[RECORDS..];
            let size = match self.kind {
                CompressionType::None => {
                    room[..plain.len()].copy_from_slice(plain);
                    plain.len()
                }
                CompressionType::Gzip => {
                    self.deflate.gzip_compress(plain, room).map_err(|error| format!("libdeflate: {error:?}"))?
                }
                CompressionType::Lz4 | CompressionType::Snappy | CompressionType::Zstd => {
                    let size = self.library.step(plain, room)?;
                    size + self.library.end(&mut room[size..])?
                }
            };
            let end = RECORDS + size;
            totals.digest += u64::from(crc32c(&self.room[ATTRIBUTES..end]));
            totals.bytes += end as u64;
            totals.batches += 1;
        }
        Ok(totals)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, file, compression_type, batch_bytes, side] = arguments.as_slice() else {
        return Err("usage: build_pass FILE COMPRESSION BATCH_BYTES ours|limit".into());
    };
    let content = std::fs::read(file)?;
    let values: Vec<&[u8]> = content.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).collect();
    let compression_type = CompressionType::for_name(compression_type).ok_or("no such compression type")?;
    let compression = Compression::of(compression_type);
    let settings = BatchSettings { compression, write_limit: batch_bytes.parse()?, ..BatchSettings::default() };
    let mut builders = Builders { settings, builder: PairedBuilder::default(), out: Vec::new() };
    let mut batches = Vec::new();
    builders.pass(&values, |complete| batches.extend_from_slice(complete))?;
    let mut limit = if side == "limit" { Some(Limit::of(&batches, compression_type)?) } else { None };
    println!("ready");
    for line in stdin().lock().lines() {
        line?;
        let start = Instant::now();
        let Totals { batches, bytes, digest } = match &mut limit {
            Some(limit) => limit.pass()?,
            None => builders.pass(&values, |_| ())?,
        };
        let (seconds, records) = (start.elapsed().as_secs_f64(), values.len());
        println!(
            "{{\"seconds\": {seconds:.9}, \"records\": {records}, \"batches\": {batches}, \"bytes\": {bytes}, \"digest\": {digest}}}"
        );
        stdout().flush()?;
    }
    Ok(())
}
