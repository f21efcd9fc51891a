//! The streaming encoders and decoders compared with the one-shot functions, on random data in random pieces.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

mod common;

use common::{compress_record_set, decompress_record_set};
use kafkacomp_records::CompressionType;
use kafkacomp_records::buffer::OutputBuffer;
use kafkacomp_records::compress::lz4::{self, BlockMaxSize, EncodeOptions, HeaderChecksum};
use kafkacomp_records::compress::stream::{
    Decoder, DecoderOptions, Encoder, MultiFrameDecoder, Operation, decoder, encoder,
};
use kafkacomp_records::compress::{CodecError, CodecFaultKind, Compression, DecodeOptions, Strictness, decompress};
use kafkacomp_records::io::{Reader, Writer};
use kafkacomp_records::record::lz4_checksum::{decode_options, written_header_checksum};
use proptest::prelude::*;
use std::io::{self, BufReader, Read, Write};

/// The options with which Kafka reads a record set of this magic.
fn record_set(magic: i8) -> DecoderOptions {
    DecoderOptions { decode: decode_options(magic, Strictness::Tolerant), ..DecoderOptions::default() }
}

/// The sizes of pieces, which are used cyclically.
#[derive(Debug, Clone)]
struct Pieces(Vec<usize>);

impl Pieces {
    fn of(&self, turn: usize) -> usize {
        self.0[turn % self.0.len()]
    }
}

fn pieces() -> impl Strategy<Value = Pieces> {
    proptest::collection::vec(prop_oneof![1_usize..20, 1_usize..5_000, 1_usize..200_000], 1..5).prop_map(Pieces)
}

fn plain() -> impl Strategy<Value = Vec<u8>> {
    let text = (0_usize..200_000, 1_u32..1000).prop_map(|(length, step)| {
        (0_u32..)
            .flat_map(|n| format!("{} and {step}; ", n * step % 997).into_bytes())
            .take(length)
            .collect::<Vec<u8>>()
    });
    let noise = proptest::collection::vec(any::<u8>(), 0..2_000);
    (text, noise).prop_map(|(text, noise)| [text, noise].concat())
}

fn encoded(encoder: &mut dyn Encoder, plain: &[u8], ins: &Pieces, outs: &Pieces, flush_every: usize) -> Vec<u8> {
    let (mut out, mut turn) = (Vec::new(), 0);
    let mut room = vec![0; *outs.0.iter().max().unwrap()];
    let mut run = |piece: &[u8], operation| {
        let mut rest = piece;
        loop {
            let progress = encoder.encode(rest, &mut room[..outs.of(turn)], operation).unwrap();
            turn += 1;
            out.extend(&room[..progress.written]);
            rest = &rest[progress.consumed..];
            if progress.done {
                assert!(rest.is_empty());
                return;
            }
            assert!(progress.consumed + progress.written > 0, "no progress");
        }
    };
    let (mut at, mut count) = (0, 0);
    while at < plain.len() {
        let end = plain.len().min(at + ins.of(count));
        count += 1;
        run(&plain[at..end], if count % flush_every == 0 { Operation::FlushBlock } else { Operation::Continue });
        at = end;
    }
    run(&[], Operation::FlushFrame);
    out
}

/// The output of a decoder, the number of bytes that it consumed, and whether it reached the end, or its error.
fn decoded(
    decoder: &mut dyn Decoder,
    data: &[u8],
    ins: &Pieces,
    outs: &Pieces,
) -> (Vec<u8>, usize, Result<bool, CodecError>) {
    let (mut out, mut at, mut turn, mut available) = (Vec::new(), 0, 0, 0);
    let mut room = vec![0; *outs.0.iter().max().unwrap()];
    loop {
        turn += 1;
        let progress = match decoder.decode(&data[at..available], &mut room[..outs.of(turn)]) {
            Ok(progress) => progress,
            Err(error) => return (out, at, Err(error)),
        };
        out.extend(&room[..progress.written]);
        at += progress.consumed;
        if progress.done {
            return (out, at, Ok(true));
        }
        if progress.consumed == 0 && progress.written == 0 {
            if available == data.len() {
                return (out, at, decoder.finish().map(|()| false));
            }
            available = data.len().min(available + ins.of(turn));
        }
    }
}

fn compressions() -> impl Strategy<Value = Compression> {
    prop_oneof![
        Just((CompressionType::None, None)),
        (1..=9).prop_map(|level| (CompressionType::Gzip, Some(level))),
        Just((CompressionType::Gzip, Some(-1))),
        Just((CompressionType::Snappy, None)),
        (1..=17).prop_map(|level| (CompressionType::Lz4, Some(level))),
        (-7..=9).prop_map(|level| (CompressionType::Zstd, Some(level))),
    ]
    .prop_map(|(compression_type, level)| Compression::new(compression_type, level).unwrap())
}

fn one_shot(compression_type: CompressionType, data: &[u8], limit: usize) -> Result<Vec<u8>, CodecError> {
    let mut out = OutputBuffer::new(limit);
    decompress(compression_type, DecodeOptions::default(), data, &mut out).map(|()| out.into_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn round_trip(
        plain in plain(), compression in compressions(), magic in 0_i8..=2,
        ins in pieces(), outs in pieces(), flush_every in 1_usize..20,
    ) {
        let compression_type = compression.compression_type();
        let mut stream = encoder(compression, written_header_checksum(magic)).unwrap();
        // One encoder writes two frames.
        let first = encoded(&mut stream, &plain, &ins, &outs, flush_every);
        let second = encoded(&mut stream, b"second", &ins, &outs, 1);
        let mut whole = OutputBuffer::new(1 << 30);
        decompress_record_set(compression_type, magic, &first, &mut whole).unwrap();
        prop_assert!(whole.as_slice() == plain);
        let both = [first.as_slice(), &second].concat();

        let options = record_set(magic);
        let (content, taken, end) = decoded(&mut decoder(compression_type, options), &both, &ins, &outs);
        let ends = matches!(compression_type, CompressionType::Gzip | CompressionType::Lz4 | CompressionType::Zstd);
        prop_assert_eq!(end, Ok(ends));
        prop_assert_eq!(taken, if ends { first.len() } else { both.len() });
        let all = [plain.as_slice(), b"second"].concat();
        let expected = if ends { &plain } else { &all };
        prop_assert!(content == *expected);

        let (content, taken, end) = decoded(&mut MultiFrameDecoder::new(compression_type, options), &both, &ins, &outs);
        prop_assert_eq!(end, Ok(false));
        prop_assert_eq!(taken, both.len());
        prop_assert!(content == all);
    }

    /// Without flushes, the output does not depend on the pieces: it is that of Kafka's stream.
    #[test]
    fn blocks_are_those_of_the_one_shot(plain in plain(), snappy: bool, ins in pieces(), outs in pieces()) {
        let compression = Compression::of(if snappy { CompressionType::Snappy } else { CompressionType::Lz4 });
        let stream = encoded(&mut encoder(compression, HeaderChecksum::FrameDescriptor).unwrap(), &plain, &ins, &outs, usize::MAX);
        let mut whole = Vec::new();
        compress_record_set(compression, 2, &plain, &mut whole);
        prop_assert!(stream == whole);
    }

    #[test]
    fn every_flush_reaches_the_decoder(plain in plain(), compression in compressions(), outs in pieces()) {
        let compression_type = compression.compression_type();
        let (mut stream, mut reader) = (encoder(compression, HeaderChecksum::FrameDescriptor).unwrap(), decoder(compression_type, DecoderOptions::default()));
        let mut content = Vec::new();
        for piece in plain.chunks(30_000) {
            let mut rest = piece;
            let mut data = Vec::new();
            loop {
                let mut room = vec![0; 10_000];
                let progress = stream.encode(rest, &mut room, Operation::FlushBlock).unwrap();
                rest = &rest[progress.consumed..];
                data.extend(&room[..progress.written]);
                if progress.done {
                    break;
                }
            }
            content.extend(decoded(&mut reader, &data, &Pieces(vec![data.len()]), &outs).0);
            prop_assert!(plain[..content.len()] == content);
        }
        prop_assert_eq!(content.len(), plain.len());
    }

    /// `MultiFrameDecoder` accepts and refuses what the one-shot function does.
    #[test]
    fn same_verdict_as_the_one_shot(
        plain in plain(), compression in compressions(), ins in pieces(), outs in pieces(),
        corruption in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        cut in proptest::option::of(any::<prop::sample::Index>()), tail in proptest::collection::vec(any::<u8>(), 0..30),
        with_tail: bool, limit in prop_oneof![Just(1_usize << 20), 0_usize..100_000],
    ) {
        let compression_type = compression.compression_type();
        let mut data = Vec::new();
        compress_record_set(compression, 2, &plain[..plain.len().min(70_000)], &mut data);
        for (at, byte) in corruption {
            if !data.is_empty() {
                let at = at.index(data.len());
                data[at] ^= byte;
            }
        }
        if let Some(cut) = cut {
            data.truncate(cut.index(data.len() + 1));
        }
        if with_tail {
            data.extend(tail);
        }
        let options = DecoderOptions { limit: limit as u64, ..DecoderOptions::default() };
        let (content, _, end) = decoded(&mut MultiFrameDecoder::new(compression_type, options), &data, &ins, &outs);
        prop_assert!(content.len() <= limit);
        match (one_shot(compression_type, &data, limit), end) {
            (Ok(whole), end) => {
                prop_assert_eq!(end, Ok(false));
                prop_assert!(content == whole);
            }
            (Err(error), Ok(_)) => prop_assert!(false, "the one-shot refused: {}", error),
            // The errors may differ, because the one-shot function looks ahead.
            (Err(_), Err(_)) => {}
        }
    }
}

/// Every variant of the formats that other libraries write, byte by byte, in pieces and at once.
#[test]
fn variants_of_others() {
    use common::encode;
    let plain: Vec<u8> = (0_u32..).flat_map(|n| format!("line {}\n", n % 1013).into_bytes()).take(150_000).collect();
    let mut cases: Vec<(CompressionType, Vec<u8>)> = Vec::new();
    for bits in 0_u8..16 {
        let options = encode::Lz4 {
            linked: bits & 1 != 0,
            block_checksum: bits & 2 != 0,
            content_checksum: bits & 4 != 0,
            content_size: bits & 8 != 0,
            ..encode::LZ4_PLAIN
        };
        cases.push((CompressionType::Lz4, encode::lz4(&plain, options)));
    }
    let lz4 = encode::lz4(&plain[70_000..], encode::LZ4_PLAIN);
    let head = encode::lz4(&plain[..70_000], encode::LZ4_PLAIN);
    cases.push((CompressionType::Lz4, [encode::skippable(3, 500), head, encode::skippable(9, 0), lz4].concat()));
    for fields in 0..32 {
        cases.push((CompressionType::Gzip, encode::gzip(&plain, 6, fields)));
    }
    let (a, b) = (encode::gzip(&plain[..10], 1, 0), encode::gzip(&plain[10..], 9, 31));
    cases.push((CompressionType::Gzip, [a.as_slice(), &b, &[0; 700]].concat()));
    let padded = [a.as_slice(), &[0; 5]].concat();
    cases.push((CompressionType::Gzip, [padded.as_slice(), &b].concat()));
    for (content_size, checksum) in [(false, false), (true, false), (false, true), (true, true)] {
        cases.push((CompressionType::Zstd, encode::zstd(&plain, 3, content_size, checksum)));
    }
    let (a, b) = (encode::zstd(&plain[..999], 1, true, true), encode::zstd(&plain[999..], 19, false, false));
    cases.push((CompressionType::Zstd, [encode::skippable(0, 9), a, encode::skippable(1, 0), b].concat()));
    cases.push((CompressionType::Snappy, encode::raw_snappy(&plain)));
    cases.push((CompressionType::Snappy, encode::xerial(&plain, 1024, [1, 0, 0, 0])));
    let (a, b) =
        (encode::xerial(&plain[..77], 1024, [0, 0, 0, 1]), encode::xerial(&plain[77..], 32 << 10, [0, 0, 0, 1]));
    cases.push((CompressionType::Snappy, [a, b].concat()));
    for (compression_type, data) in cases {
        let padded = data.starts_with(&padded);
        for (ins, outs) in [(1, 1), (1, 1 << 20), (1 << 20, 1), (1 << 20, 1 << 20), (777, 3_333)] {
            for options in [DecoderOptions::default(), record_set(2)] {
                let (content, _, end) = decoded(
                    &mut MultiFrameDecoder::new(compression_type, options),
                    &data,
                    &Pieces(vec![ins]),
                    &Pieces(vec![outs]),
                );
                // Kafka ignores what follows a gzip member and its padding.
                let ignored = options.decode.strictness == Strictness::Tolerant && data.ends_with(&[0; 5]);
                assert_eq!(
                    end,
                    Ok(ignored || (padded && options.decode.strictness == Strictness::Tolerant)),
                    "{compression_type:?}"
                );
                let expected =
                    if padded && options.decode.strictness == Strictness::Tolerant { &plain[..10] } else { &plain };
                assert!(content == *expected, "{compression_type:?}");
            }
        }
        // Truncated after each tenth of the data.
        for cut in (0..data.len()).step_by(data.len() / 10) {
            let pieces = Pieces(vec![4096]);
            let (content, _, end) = decoded(
                &mut MultiFrameDecoder::new(compression_type, DecoderOptions::default()),
                &data[..cut],
                &pieces,
                &pieces,
            );
            assert!(plain.starts_with(&content));
            match one_shot(compression_type, &data[..cut], 1 << 30) {
                Ok(whole) => assert!(end == Ok(false) && content == whole),
                Err(_) => {
                    assert_eq!(end.unwrap_err().fault.kind(), CodecFaultKind::Truncated, "{compression_type:?} {cut}");
                }
            }
        }
    }
}

#[test]
fn the_limit_is_checked_before_memory_is_allocated() {
    // A raw block and a xerial block that declare 4 GiB, and a decompression bomb of each other codec.
    let zeros = vec![0; 64 << 20];
    let mut bombs = vec![
        (CompressionType::Snappy, vec![0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0, 0]),
        (
            CompressionType::Snappy,
            [common::encode::xerial(b"", 1, [0, 0, 0, 1]), vec![0, 0, 0, 6, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0]].concat(),
        ),
    ];
    for compression_type in
        [CompressionType::Gzip, CompressionType::Snappy, CompressionType::Lz4, CompressionType::Zstd]
    {
        let mut data = Vec::new();
        compress_record_set(Compression::of(compression_type), 2, &zeros, &mut data);
        bombs.push((compression_type, data));
    }
    for (compression_type, data) in bombs {
        let options = DecoderOptions { limit: 100_000, ..DecoderOptions::default() };
        let (ins, outs) = (Pieces(vec![1 << 20]), Pieces(vec![65_536]));
        let (content, _, end) = decoded(&mut MultiFrameDecoder::new(compression_type, options), &data, &ins, &outs);
        let error = end.unwrap_err();
        assert!(content.len() <= 100_000 && content.iter().all(|byte| *byte == 0));
        let implausible = error.fault.kind() == CodecFaultKind::Malformed && content.is_empty();
        assert!(error.fault.kind() == CodecFaultKind::OutputLimit || implausible, "{error}");
    }
}

#[test]
fn lz4_options() {
    let plain = vec![7; 300_000];
    for bits in 0_u8..8 {
        let options = EncodeOptions {
            block_max_size: if bits & 1 != 0 { BlockMaxSize::Max256Kb } else { BlockMaxSize::Max64Kb },
            block_checksum: bits & 2 != 0,
            content_checksum: bits & 4 != 0,
            ..EncodeOptions::default()
        };
        let (ins, outs) = (Pieces(vec![70_001]), Pieces(vec![100]));
        let stream = encoded(&mut lz4::encoder(options), &plain, &ins, &outs, usize::MAX);
        let mut whole = Vec::new();
        lz4::compress(&plain, options, &mut whole).unwrap();
        assert!(stream == whole);
        let mut out = OutputBuffer::new(1 << 30);
        decompress(CompressionType::Lz4, DecodeOptions::default(), &stream, &mut out).unwrap();
        assert!(out.as_slice() == plain);
    }
}

/// Reads and writes at most a given number of bytes at a time.
struct ShortReadsWrites<T>(T, usize);

impl<T: Read> Read for ShortReadsWrites<T> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let length = out.len().min(self.1);
        self.0.read(&mut out[..length])
    }
}

impl<T: Write> Write for ShortReadsWrites<T> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.write(&data[..data.len().min(self.1)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[test]
fn readers_and_writers() {
    let plain: Vec<u8> = (0_u32..60_000).flat_map(|n| (n / 7).to_le_bytes()).collect();
    for compression_type in CompressionType::ALL {
        let mut writer = Writer::new(
            ShortReadsWrites(Vec::new(), 999),
            encoder(Compression::of(compression_type), HeaderChecksum::FrameDescriptor).unwrap(),
        );
        for piece in plain.chunks(10_001) {
            writer.write_all(piece).unwrap();
        }
        writer.flush().unwrap();
        let data = writer.finish().unwrap().0;
        assert!(one_shot(compression_type, &data, 1 << 30).unwrap() == plain);
        let read = |data: &[u8], limit| {
            let options = DecoderOptions { limit, ..DecoderOptions::default() };
            let mut content = Vec::new();
            let source = BufReader::with_capacity(100, ShortReadsWrites(data, 77));
            Reader::new(source, MultiFrameDecoder::new(compression_type, options))
                .read_to_end(&mut content)
                .map(|_| content)
        };
        assert!(read(&[data.as_slice(), &data].concat(), u64::MAX).unwrap() == plain.repeat(2));
        let error = read(&data, 1000).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert_eq!(error.downcast::<CodecError>().unwrap().fault.kind(), CodecFaultKind::OutputLimit);
        if compression_type != CompressionType::None {
            assert_eq!(read(&data[..data.len() - 1], u64::MAX).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
            // A decoder of one frame leaves the source after it; a xerial stream has no end marker, so the rest is an error.
            let both = [data.as_slice(), b"rest"].concat();
            let mut reader = Reader::new(both.as_slice(), decoder(compression_type, DecoderOptions::default()));
            let mut content = Vec::new();
            let result = reader.read_to_end(&mut content);
            assert_eq!(result.is_err(), compression_type == CompressionType::Snappy);
            if result.is_ok() {
                assert!(content == plain && reader.into_inner() == b"rest");
            }
        }
    }
}

/// How much a truncated skippable frame may lack is the same for the stream and at once.
#[test]
fn truncated_skippable_frames() {
    use common::encode;
    let frame = encode::zstd(b"content", 3, false, false);
    for size in [0, 1, 7, 1 << 31, u32::MAX - 119, u32::MAX - 118, u32::MAX - 112, u32::MAX - 111, u32::MAX] {
        let mut data = [frame.as_slice(), &encode::skippable(4, 7)].concat();
        data[frame.len() + 4..frame.len() + 8].copy_from_slice(&size.to_le_bytes());
        let mut decoder = MultiFrameDecoder::new(CompressionType::Zstd, record_set(2));
        let pieces = Pieces(vec![5]);
        let (content, _, end) = decoded(&mut decoder, &data, &pieces, &pieces);
        assert_eq!(content, b"content");
        assert_eq!(end.is_ok(), common::as_record_set(CompressionType::Zstd, 2, &data).0.is_ok(), "{size}");
    }
}
