//! Streams on any bytes, in pieces: what is compressed comes back, and what the one-shots read or refuse, the
//! stream of frames reads or refuses, within the cap.
//!
//! Input: a byte that picks codec and level, one for the pieces' size, then the data.

#![no_main]

use kafkacomp_core::CompressionType;
use kafkacomp_core::buffer::OutputBuffer;
use kafkacomp_core::compress::stream::{Decoder, DecoderOptions, Encoder, Frames, Operation, encoder};
use kafkacomp_core::compress::{Compression, gzip, lz4, snappy, zstd};
use libfuzzer_sys::fuzz_target;

const LIMIT: usize = 1 << 20;

fn one_shot(kind: CompressionType, data: &[u8]) -> Option<Vec<u8>> {
    let mut out = OutputBuffer::new(LIMIT);
    let verdict = match kind {
        CompressionType::None => return Some(data.to_vec()),
        CompressionType::Gzip => gzip::decompress(data, &mut out),
        CompressionType::Snappy => snappy::decompress(data, &mut out),
        CompressionType::Lz4 => lz4::decompress(data, lz4::DecodeOptions::default(), &mut out),
        CompressionType::Zstd => zstd::decompress(data, &mut out),
    };
    verdict.ok().map(|()| out.into_vec())
}

fn streamed(kind: CompressionType, data: &[u8], piece: usize) -> Option<Vec<u8>> {
    let mut frames = Frames::new(kind, DecoderOptions { limit: LIMIT as u64, ..DecoderOptions::default() });
    let (mut content, mut at, mut end) = (Vec::new(), 0, 0);
    let mut room = vec![0; piece];
    loop {
        let progress = frames.decode(&data[at..end], &mut room).ok()?;
        content.extend(&room[..progress.written]);
        assert!(content.len() <= LIMIT);
        at += progress.consumed;
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
    let kind = CompressionType::ALL[usize::from(*choice) % CompressionType::ALL.len()];
    let piece = usize::from(*piece).pow(2) + 1;
    if let Some(whole) = one_shot(kind, data) {
        assert_eq!(streamed(kind, data, piece), Some(whole));
    } else {
        assert_eq!(streamed(kind, data, piece), None);
    }
    let level = matches!(kind, CompressionType::Gzip | CompressionType::Lz4 | CompressionType::Zstd)
        .then_some(i32::from(choice / 32) + 1);
    let Ok(compression) = Compression::new(kind, level) else { return };
    let Ok(mut encoder) = encoder(compression, 2) else { return };
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
    assert_eq!(one_shot(kind, &compressed).as_deref(), Some(data));
});
