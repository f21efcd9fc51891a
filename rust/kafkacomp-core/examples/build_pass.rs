//! Times the building of batches, as `benches/java`'s `BuildBench` does: each line of a file becomes the value of a record of
//! magic 2. Prints `ready`, then one line of JSON for a pass over the file for each line on standard input. Run by
//! `benches/compare_build.py`.
//!
//! `build_pass FILE COMPRESSION BATCH_BYTES`
#![allow(clippy::print_stdout, reason = "it is a program")]

use std::error::Error;
use std::io::{BufRead, Write, stdin, stdout};
use std::time::Instant;

use kafkacomp_core::CompressionType;
use kafkacomp_core::compress::Compression;
use kafkacomp_core::record::{BatchSettings, Headers, RecordBatch, RecordBatchBuilder};

const FIRST_TIMESTAMP: i64 = 1_700_000_000_000;

/// What a pass made.
#[derive(Debug, Default)]
struct Totals {
    batches: u64,
    bytes: u64,
    digest: u64,
}

/// Builder, codec contexts and output, kept from batch to batch.
struct Builders {
    settings: BatchSettings,
    builder: RecordBatchBuilder,
    out: Vec<u8>,
}

impl Builders {
    fn pass(&mut self, values: &[&[u8]]) -> Result<Totals, Box<dyn Error>> {
        let mut totals = Totals::default();
        self.builder.reset(self.settings)?;
        for (offset, value) in (0_i64..).zip(values) {
            let timestamp = FIRST_TIMESTAMP + offset;
            if !self.builder.append_if_room(offset, timestamp, None, Some(value), Headers::EMPTY)? {
                self.finish(&mut totals)?;
                self.builder.reset(BatchSettings { base_offset: offset, ..self.settings })?;
                self.builder.append(offset, timestamp, None, Some(value), Headers::EMPTY)?;
            }
        }
        self.finish(&mut totals)?;
        Ok(totals)
    }

    fn finish(&mut self, totals: &mut Totals) -> Result<(), Box<dyn Error>> {
        self.out.clear();
        totals.bytes += self.builder.finish(&mut self.out)? as u64;
        totals.batches += 1;
        totals.digest += u64::from(RecordBatch::new(&self.out, 0)?.crc());
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, file, compression_type, batch_bytes] = arguments.as_slice() else {
        return Err("usage: build_pass FILE COMPRESSION BATCH_BYTES".into());
    };
    let content = std::fs::read(file)?;
    let values: Vec<&[u8]> = content.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).collect();
    let compression_type = CompressionType::for_name(compression_type).ok_or("no such compression type")?;
    let compression = Compression::of(compression_type);
    let settings = BatchSettings { compression, write_limit: batch_bytes.parse()?, ..BatchSettings::default() };
    let builder = RecordBatchBuilder::new(settings)?;
    let mut builders = Builders { settings, builder, out: Vec::new() };
    builders.pass(&values)?;
    println!("ready");
    for line in stdin().lock().lines() {
        line?;
        let start = Instant::now();
        let Totals { batches, bytes, digest } = builders.pass(&values)?;
        let (seconds, records) = (start.elapsed().as_secs_f64(), values.len());
        println!(
            "{{\"seconds\": {seconds:.9}, \"records\": {records}, \"batches\": {batches}, \"bytes\": {bytes}, \"digest\": {digest}}}"
        );
        stdout().flush()?;
    }
    Ok(())
}
