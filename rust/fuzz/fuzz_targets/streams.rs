//! Streams in pieces: compressed data decompresses to the same bytes, and `MultiFrameDecoder` accepts and refuses any bytes as
//! the one-shot function does, within the limit.
//!
//! Input: a byte that selects codec and level, one for the size of the pieces, then the data.

#![no_main]

use kafkacomp_records::CompressionType;
use kafkacomp_records::buffer::OutputBuffer;
use kafkacomp_records::compress::lz4::HeaderChecksum;
use kafkacomp_records::compress::stream::{Decoder, DecoderOptions, Encoder, MultiFrameDecoder, Operation, encoder};
use kafkacomp_records::compress::{Compression, DecodeOptions, Strictness, decompress};
use libfuzzer_sys::fuzz_target;

const LIMIT: usize = 1 << 20;
const GZIP_MAGIC: [u8; 2] = [0x1F, 0x8B];

fn one_shot(codec: CompressionType, strictness: Strictness, data: &[u8]) -> Option<Vec<u8>> {
    let mut out = OutputBuffer::new(LIMIT);
    decompress(codec, DecodeOptions { strictness, ..DecodeOptions::default() }, data, &mut out).ok()?;
    Some(out.into_vec())
}

fn streamed(codec: CompressionType, strictness: Strictness, data: &[u8], piece: usize) -> Option<Vec<u8>> {
    let decode = DecodeOptions { strictness, ..DecodeOptions::default() };
    let mut frames = MultiFrameDecoder::new(codec, DecoderOptions { decode, limit: LIMIT as u64 });
    let (mut content, mut at, mut end) = (Vec::new(), 0, 0);
    let mut room = vec![0; piece];
    loop {
        let progress = frames.decode(&data[at..end], &mut room).ok()?;
        content.extend(&room[..progress.written]);
        assert!(content.len() <= LIMIT);
        at += progress.consumed;
        if progress.done {
            return Some(content);
        }
        if progress.consumed == 0 && progress.written == 0 {
            if end == data.len() {
                return frames.finish().ok().map(|()| content);
            }
            end = data.len().min(end + piece);
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let [choice, piece, data @ ..] = data else { return };
    let codec = CompressionType::ALL[usize::from(*choice) % CompressionType::ALL.len()];
    let piece = usize::from(*piece).pow(2) + 1;
    for strictness in [Strictness::Specification, Strictness::Kafka] {
        let (whole, pieces) = (one_shot(codec, strictness, data), streamed(codec, strictness, data, piece));
        // How many bytes after a member the JDK ignores depends on where its reads of the input end. A stream does not know
        // where the data ends, and reads them.
        if strictness == Strictness::Kafka && codec == CompressionType::Gzip && whole != pieces {
            let kept = one_shot(codec, strictness, data).or_else(|| streamed(codec, strictness, data, piece));
            assert!(kept.is_none_or(|_| data.windows(2).filter(|bytes| *bytes == GZIP_MAGIC).count() > 1));
            continue;
        }
        assert_eq!(whole, pieces);
    }
    let level = matches!(codec, CompressionType::Gzip | CompressionType::Lz4 | CompressionType::Zstd)
        .then_some(i32::from(choice / 32) + 1);
    let Ok(compression) = Compression::new(codec, level) else { return };
    let Ok(mut encoder) = encoder(compression, HeaderChecksum::FrameDescriptor) else { return };
    let (mut compressed, mut rest) = (Vec::new(), data);
    let mut room = vec![0; piece];
    loop {
        let operation = if rest.len() > piece { Operation::FlushBlock } else { Operation::FlushFrame };
        let mut given = &rest[..rest.len().min(piece)];
        rest = &rest[given.len()..];
        loop {
            let Ok(progress) = encoder.encode(given, &mut room, operation) else { return };
            compressed.extend(&room[..progress.written]);
            given = &given[progress.consumed..];
            if progress.done {
                break;
            }
        }
        if operation == Operation::FlushFrame {
            break;
        }
    }
    assert_eq!(one_shot(codec, Strictness::Specification, &compressed).as_deref(), Some(data));
});
