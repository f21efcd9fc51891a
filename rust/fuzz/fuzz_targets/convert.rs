//! Any bytes as a record set that is converted to every magic, down and up; what comes out must be sound.

#![no_main]

use kafkacomp_core::record::{Batches, ConvertOptions, convert};
use libfuzzer_sys::fuzz_target;

const LIMIT: usize = 1 << 20;

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
    }
});
