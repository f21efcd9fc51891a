//! CRC-32C: the core's own function for short data returns what the library returns that it uses for all other data.
//!
//! Input: the data. The checksum of each of its suffixes is computed, so that all alignments and lengths occur.

#![no_main]

use kafkacomp_records::checksum::crc32c;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for start in 0..data.len() {
        let end = &data[start..];
        assert_eq!(crc32c(end), crc_fast::crc32_iscsi(end), "{} bytes", end.len());
    }
});
