//! The decoder of small gzip members compared with the libraries that it replaces: they accept what it accepts, with the same
//! content. The CRC is not verified, because then a wrong byte would only lead to an error.
//!
//! Input: a byte that selects the origin of the deflate stream; two bytes for the size of its content, or for the position and
//! value of a corruption; then the stream, or the content from which it is compressed.

#![no_main]

use flate2::{Decompress, FlushDecompress, Status};
use kafkacomp_records::compress::gzip::SmallInflate;
use libdeflater::{CompressionLvl, Compressor, Decompressor};
use libfuzzer_sys::fuzz_target;

/// Slightly more than the largest content for which the decoder is used.
const LARGEST: usize = 1100;

fn deflated(plain: &[u8], level: u8) -> Vec<u8> {
    let Ok(level) = CompressionLvl::new(i32::from(level) % 12 + 1) else { return Vec::new() };
    let mut compressor = Compressor::new(level);
    let mut data = vec![0; compressor.deflate_compress_bound(plain.len())];
    let length = compressor.deflate_compress(plain, &mut data).unwrap_or(0);
    data.truncate(length);
    data
}

fuzz_target!(|input: &[u8]| {
    let [choice, low, high, rest @ ..] = input else { return };
    let (data, size) = if choice % 2 == 0 {
        (rest.to_vec(), usize::from(u16::from_le_bytes([*low, *high])) % LARGEST)
    } else {
        let plain = &rest[..rest.len().min(LARGEST)];
        let mut data = deflated(plain, choice / 2);
        let at = usize::from(*low) % data.len().max(1);
        if let Some(byte) = data.get_mut(at) {
            *byte ^= high;
        }
        (data, plain.len())
    };
    let mut ours = vec![0; size];
    let Some(taken) = SmallInflate::new().inflate(&data, &mut ours) else { return };
    let mut theirs = vec![0; size];
    assert_eq!(Decompressor::new().deflate_decompress(&data, &mut theirs), Ok(size));
    assert_eq!(ours, theirs);
    let mut zlib = Decompress::new(false);
    // One byte more, so that zlib reads the end of a stream whose content fills the buffer.
    let mut theirs = vec![0; size + 1];
    assert_eq!(zlib.decompress(&data, &mut theirs, FlushDecompress::Finish).ok(), Some(Status::StreamEnd));
    assert_eq!((zlib.total_in(), zlib.total_out()), (taken as u64, size as u64));
    assert_eq!(ours, theirs[..size]);
});
