//! CRC-32C: the sums of short data, which the core computes itself, are those of the library that computes the others.
//!
//! Input: the data, of which every end is summed, so that all alignments and lengths occur.

#![no_main]

use kafkacomp_core::checksum::crc32c;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for start in 0..data.len() {
        let end = &data[start..];
        assert_eq!(crc32c(end), crc_fast::crc32_iscsi(end), "{} bytes", end.len());
    }
});
