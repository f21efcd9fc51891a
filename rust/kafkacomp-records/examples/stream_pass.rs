//! Times the codecs' own libraries over a file in memory, in pieces of 64 KiB: what no file object that calls them can leave
//! out. `read` copies each piece of content to memory of its own, as a file object returns it; `write` appends what each piece
//! gives to the output. Prints `ready`, then one line of JSON for a pass for each line on standard input. Run by
//! `benches/compare_streams.py`.
//!
//! `stream_pass read|write FILE COMPRESSION`
#![allow(clippy::print_stdout, reason = "it is a program")]

mod bare;

use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, Write, stdin, stdout};
use std::time::Instant;

use bare::Library;
use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};
use kafkacomp_records::CompressionType;
use zstd::zstd_safe::{DCtx, InBuffer, OutBuffer, get_error_name};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Bytes in a piece; a block of an LZ4 frame is as large.
const PIECE: usize = 64 << 10;
/// The level of zlib-rs whose output is as small as that of Kafka's default level of zlib.
const GZIP_LEVEL: u32 = 7;
/// The buffer of a file object, and more room than a piece takes when compressed.
const ROOM: usize = 2 * PIECE;
/// The headers of the streams that kafkacomp writes, and the trailer of a gzip member.
const GZIP_HEADER: usize = 10;
const GZIP_TRAILER: usize = 8;
const LZ4_HEADER: usize = 7;
const SNAPPY_HEADER: usize = 16;
/// The bit of an LZ4 block's length that marks uncompressed content.
const UNCOMPRESSED: u32 = 1 << 31;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, way, file, compression_type] = arguments.as_slice() else {
        return Err("usage: stream_pass read|write FILE COMPRESSION".into());
    };
    let data = std::fs::read(file)?;
    let kind = CompressionType::for_name(compression_type).ok_or("no such compression type")?;
    let mut room = vec![0; ROOM];
    let mut pass: Box<dyn FnMut() -> Result<usize>> = match way.as_str() {
        "read" => Box::new(|| read(kind, &data, &mut room)),
        _ => Box::new(|| write(kind, &data, &mut room)),
    };
    pass()?;
    println!("ready");
    for line in stdin().lock().lines() {
        line?;
        let start = Instant::now();
        let bytes = pass()?;
        println!("{{\"seconds\": {:.9}, \"bytes\": {bytes}}}", start.elapsed().as_secs_f64());
        stdout().flush()?;
    }
    Ok(())
}

/// Returns the number of bytes of content.
fn read(kind: CompressionType, packed: &[u8], room: &mut [u8]) -> Result<usize> {
    let mut bytes = 0;
    // The caller drops each piece at once.
    let mut give = |content: &[u8]| {
        for piece in content.chunks(PIECE) {
            bytes += black_box(piece.to_vec()).len();
        }
    };
    match kind {
        CompressionType::Gzip => inflate(packed, room, give)?,
        CompressionType::Zstd => {
            let mut context = DCtx::create();
            let mut source = InBuffer::around(packed);
            loop {
                let mut target = OutBuffer::around(&mut *room);
                let left = context.decompress_stream(&mut target, &mut source).map_err(get_error_name)?;
                give(target.as_slice());
                if left == 0 {
                    break;
                }
            }
        }
        CompressionType::Lz4 => {
            let mut rest = &packed[LZ4_HEADER..];
            while let Some((head, after)) = rest.split_first_chunk() {
                let length = u32::from_le_bytes(*head);
                if length == 0 {
                    break;
                }
                let (block, after) = after.split_at((length & !UNCOMPRESSED) as usize);
                if length & UNCOMPRESSED == 0 {
                    let size = lzzzz::lz4::decompress(block, &mut room[..PIECE])?;
                    give(&room[..size]);
                } else {
                    give(block);
                }
                rest = after;
            }
        }
        CompressionType::Snappy => {
            let mut rest = &packed[SNAPPY_HEADER..];
            while let Some((head, after)) = rest.split_first_chunk() {
                let (block, after) = after.split_at(u32::from_be_bytes(*head) as usize);
                let size = snap::raw::Decoder::new().decompress(block, room)?;
                give(&room[..size]);
                rest = after;
            }
        }
        CompressionType::None => return Err("no codec".into()),
    }
    Ok(bytes)
}

fn inflate(packed: &[u8], room: &mut [u8], mut give: impl FnMut(&[u8])) -> Result<()> {
    let (mut decoder, mut crc) = (Decompress::new(false), crc32fast::Hasher::new());
    let mut rest = &packed[GZIP_HEADER..packed.len() - GZIP_TRAILER];
    loop {
        let (taken, given) = (decoder.total_in(), decoder.total_out());
        let status = decoder.decompress(rest, room, FlushDecompress::None)?;
        let piece = &room[..usize::try_from(decoder.total_out() - given)?];
        crc.update(piece);
        give(piece);
        if status == Status::StreamEnd {
            black_box(crc.finalize());
            return Ok(());
        }
        rest = &rest[usize::try_from(decoder.total_in() - taken)?..];
    }
}

/// Returns the number of compressed bytes.
fn write(kind: CompressionType, data: &[u8], room: &mut [u8]) -> Result<usize> {
    let mut out = Vec::new();
    if kind == CompressionType::Gzip {
        deflate(data, room, &mut out)?;
    } else {
        let mut library = Library::new(kind)?;
        for piece in data.chunks(PIECE) {
            let size = library.step(piece, room)?;
            out.extend_from_slice(&room[..size]);
        }
        let size = library.end(room)?;
        out.extend_from_slice(&room[..size]);
    }
    Ok(black_box(out).len())
}

fn deflate(data: &[u8], room: &mut [u8], out: &mut Vec<u8>) -> Result<()> {
    let mut encoder = Compress::new(flate2::Compression::new(GZIP_LEVEL), false);
    let mut crc = crc32fast::Hasher::new();
    for piece in data.chunks(PIECE) {
        crc.update(piece);
        let given = encoder.total_out();
        // The room is larger than what a piece can give.
        encoder.compress(piece, room, FlushCompress::None)?;
        out.extend_from_slice(&room[..usize::try_from(encoder.total_out() - given)?]);
    }
    loop {
        let given = encoder.total_out();
        let status = encoder.compress(&[], room, FlushCompress::Finish)?;
        out.extend_from_slice(&room[..usize::try_from(encoder.total_out() - given)?]);
        if status == Status::StreamEnd {
            black_box(crc.finalize());
            return Ok(());
        }
    }
}
