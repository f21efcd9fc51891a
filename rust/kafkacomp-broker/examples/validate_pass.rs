//! Times the validation of produced batches, as `benches/java`'s `ValidateBench` does: one call a batch. Prints `ready`,
//! then one line of JSON for a pass over the file for each line on standard input. Run by `benches/compare_validate.py`.
//!
//! `validate_pass FILE SOURCE TARGET`
#![allow(clippy::print_stdout, reason = "it is a program")]

use std::error::Error;
use std::io::{BufRead, Write, stdin, stdout};
use std::time::Instant;

use kafkacomp_broker::validator::{LogValidator, ValidatorConfig};
use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::Compression;
use kafkacomp_records::record::Batches;

const NOW: i64 = 1_700_000_000_000;

/// Validates every batch in its place; records and bytes of what would be stored.
fn pass(
    validator: &mut LogValidator,
    batches: &mut [Vec<u8>],
    rebuilt: &mut Vec<u8>,
) -> Result<(i64, u64), Box<dyn Error>> {
    let (mut records, mut bytes) = (0, 0);
    for batch in batches {
        let result = validator.validate_messages_and_assign_offsets(batch, 0, NOW, rebuilt)?;
        records += result.next_offset;
        bytes += if result.message_size_maybe_changed { rebuilt.len() } else { batch.len() } as u64;
    }
    Ok((records, bytes))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, file, source, target] = arguments.as_slice() else {
        return Err("usage: validate_pass FILE SOURCE TARGET".into());
    };
    let content = std::fs::read(file)?;
    let mut batches = Vec::new();
    for batch in Batches::new(&content, 0) {
        batches.push(batch?.data().to_vec());
    }
    let compression_type = |name: &str| CompressionType::for_name(name).ok_or("no such compression type");
    let mut validator =
        LogValidator::new(ValidatorConfig::new(compression_type(source)?, Compression::of(compression_type(target)?)));
    let mut rebuilt = Vec::new();
    pass(&mut validator, &mut batches, &mut rebuilt)?;
    println!("ready");
    for line in stdin().lock().lines() {
        line?;
        let start = Instant::now();
        let (records, bytes) = pass(&mut validator, &mut batches, &mut rebuilt)?;
        let (seconds, batches) = (start.elapsed().as_secs_f64(), batches.len());
        println!("{{\"seconds\": {seconds:.9}, \"records\": {records}, \"batches\": {batches}, \"bytes\": {bytes}}}");
        stdout().flush()?;
    }
    Ok(())
}
