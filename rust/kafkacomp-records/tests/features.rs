//! What each build has of the codecs, whatever features it has: `make test-rust` runs this without C, too.

mod common;

use common::encode::{self, LZ4_PLAIN, Lz4};
use common::{ROOMY, by_specification, one_shot};
use kafkacomp_records::compress::lz4::HeaderChecksum;
use kafkacomp_records::compress::stream::{DecoderOptions, MultiFrameDecoder, encoder};
use kafkacomp_records::compress::{CodecFault, Compression, compress};
use kafkacomp_records::io::Reader;
use kafkacomp_records::record::{
    BatchSettings, Batches, Headers, MutableRecordBatch, RecordBatchBuilder, RecordReader,
};
use kafkacomp_records::{Category, CompressionType, ErrorKind};
use std::io::Read;

/// The position of the attributes in a batch of magic 2, whose low bits are the compression type.
const ATTRIBUTES: usize = 22;

fn can_decompress(compression_type: CompressionType) -> bool {
    match compression_type {
        CompressionType::None => true,
        CompressionType::Gzip => cfg!(any(feature = "gzip", feature = "pure-rust")),
        CompressionType::Snappy => cfg!(any(feature = "snappy", feature = "pure-rust")),
        CompressionType::Lz4 => cfg!(any(feature = "lz4", feature = "pure-rust")),
        CompressionType::Zstd => cfg!(any(feature = "zstd", feature = "pure-rust")),
    }
}

/// ruzstd has no encoder for Kafka's levels.
fn can_compress(compression_type: CompressionType) -> bool {
    can_decompress(compression_type) && (compression_type != CompressionType::Zstd || cfg!(feature = "zstd"))
}

/// Text of a length that takes several blocks of each codec.
fn text() -> Vec<u8> {
    let mut state = 1_u32;
    let mut lines = Vec::new();
    while lines.len() < 600_000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        lines.extend(format!("{{\"key\": {}, \"value\": \"{:x}\"}}\n", state >> 20, state).bytes());
    }
    lines
}

/// The text as other libraries compress it.
fn by_others(compression_type: CompressionType, plain: &[u8]) -> Vec<Vec<u8>> {
    match compression_type {
        CompressionType::None => vec![plain.to_vec()],
        CompressionType::Gzip => [1, 6, 9].map(|level| encode::gzip(plain, level, 0)).to_vec(),
        CompressionType::Snappy => vec![encode::xerial(plain, 32 << 10, [0, 0, 0, 1]), encode::raw_snappy(plain)],
        CompressionType::Lz4 => vec![
            encode::lz4(plain, LZ4_PLAIN),
            encode::lz4(plain, Lz4 { linked: true, content_checksum: true, level: 9, ..LZ4_PLAIN }),
        ],
        CompressionType::Zstd => {
            let frame = |(level, size, checksum)| encode::zstd(plain, level, size, checksum);
            // The last frame declares a window of 128 MiB.
            [(-5, true, false), (3, false, true), (19, true, true), (22, false, false)].map(frame).to_vec()
        }
    }
}

#[test]
fn data_of_other_libraries_are_decompressed() {
    let text = text();
    for compression_type in CompressionType::ALL.into_iter().filter(|&each| can_decompress(each)) {
        for length in [0, 1, 100, 5_000, 70_000, text.len()] {
            let plain = &text[..length];
            for data in by_others(compression_type, plain) {
                let found = one_shot(by_specification(compression_type), &data, ROOMY);
                assert!(found.is_ok_and(|found| found == plain), "{compression_type:?} {length}");
                if compression_type != CompressionType::None {
                    let frames = MultiFrameDecoder::new(compression_type, DecoderOptions::default());
                    let mut found = Vec::new();
                    Reader::new(data.as_slice(), frames).read_to_end(&mut found).unwrap();
                    assert!(found == plain, "a stream of {compression_type:?} {length}");
                }
            }
        }
    }
}

#[test]
fn what_is_compressed_is_decompressed() {
    let text = text();
    for compression_type in CompressionType::ALL.into_iter().filter(|&each| can_compress(each)) {
        let mut data = Vec::new();
        compress(Compression::of(compression_type), HeaderChecksum::FrameDescriptor, &text, &mut data).unwrap();
        assert!(one_shot(by_specification(compression_type), &data, ROOMY).unwrap() == text, "{compression_type:?}");
    }
}

#[test]
fn the_output_limit_holds() {
    let bomb = vec![0; 8 << 20];
    for compression_type in CompressionType::ALL.into_iter().filter(|&each| can_decompress(each)) {
        for data in by_others(compression_type, &bomb) {
            let error = one_shot(by_specification(compression_type), &data, 1 << 20).unwrap_err();
            assert!(
                matches!(error.fault, CodecFault::OutputLimit { .. } | CodecFault::ImplausibleSize { .. }),
                "{error}"
            );
        }
    }
}

#[test]
fn corrupt_zstd_is_refused() {
    if !can_decompress(CompressionType::Zstd) {
        return;
    }
    let text = text();
    for level in [1, 19] {
        let frame = encode::zstd(&text[..200_000], level, true, true);
        for at in (0..frame.len()).step_by(97) {
            let mut corrupt = frame.clone();
            corrupt[at] ^= 0x10;
            let found = one_shot(by_specification(CompressionType::Zstd), &corrupt, ROOMY);
            // A bit of the window may be any.
            assert!(found.is_err() || (found.unwrap() == text[..200_000] && at == 5), "level {level}, byte {at}");
            let truncated = one_shot(by_specification(CompressionType::Zstd), &frame[..at], ROOMY);
            assert!(truncated.is_err(), "level {level}, {at} bytes");
        }
    }
}

#[test]
fn a_codec_that_is_not_compiled_is_an_unsupported_compression_type() {
    let mut builder = RecordBatchBuilder::new(BatchSettings::default()).unwrap();
    builder.append(0, 5, None, Some(b"value"), Headers::EMPTY).unwrap();
    let mut plain = Vec::new();
    builder.build(&mut plain).unwrap();
    for compression_type in CompressionType::ALL.into_iter().filter(|&each| !can_decompress(each)) {
        let mut data = plain.clone();
        data[ATTRIBUTES] |= compression_type.id();
        MutableRecordBatch::new(&mut data, 0).unwrap().update_checksum();
        let batch = Batches::new(&data, 0).next().unwrap().unwrap();
        batch.ensure_valid().unwrap();
        let mut reader = RecordReader::new(ROOMY);
        let error = reader.records(&batch).and_then(|mut records| records.next().unwrap().map(drop)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedCompressionType, "{error}");
        assert_eq!(error.kind().error_code(), Some(76), "{error}");
        assert_eq!(error.category(), Category::Unsupported, "{error}");
    }
    for compression_type in CompressionType::ALL.into_iter().filter(|&each| !can_compress(each)) {
        let compression = Compression::of(compression_type);
        let mut out = b"before".to_vec();
        let error = compress(compression, HeaderChecksum::FrameDescriptor, b"value", &mut out).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedCompressionType, "{error}");
        assert_eq!(out, b"before");
        assert!(encoder(compression, HeaderChecksum::FrameDescriptor).is_err());
    }
}
