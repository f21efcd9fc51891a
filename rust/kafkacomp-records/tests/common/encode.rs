//! Compressed data made by other libraries, in every variant of its format.

use lzzzz::lz4f;
use std::io::Write;

/// The options of an LZ4 frame.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools, reason = "they are the flags of a frame")]
pub struct Lz4 {
    pub block_size: lz4f::BlockSize,
    pub linked: bool,
    pub block_checksum: bool,
    pub content_checksum: bool,
    pub content_size: bool,
    pub level: i32,
}

pub const LZ4_PLAIN: Lz4 = Lz4 {
    block_size: lz4f::BlockSize::Max64KB,
    linked: false,
    block_checksum: false,
    content_checksum: false,
    content_size: false,
    level: 1,
};

pub fn lz4(plain: &[u8], options: Lz4) -> Vec<u8> {
    let preferences = lz4f::PreferencesBuilder::new()
        .block_size(options.block_size)
        .block_mode(if options.linked { lz4f::BlockMode::Linked } else { lz4f::BlockMode::Independent })
        .block_checksum(if options.block_checksum {
            lz4f::BlockChecksum::Enabled
        } else {
            lz4f::BlockChecksum::Disabled
        })
        .content_checksum(if options.content_checksum {
            lz4f::ContentChecksum::Enabled
        } else {
            lz4f::ContentChecksum::Disabled
        })
        .content_size(if options.content_size { plain.len() } else { 0 })
        .compression_level(options.level)
        .build();
    let mut frame = Vec::new();
    lz4f::compress_to_vec(plain, &mut frame, &preferences).unwrap();
    frame
}

/// A xerial stream with `version` as its version and as its compatible version.
pub fn xerial(plain: &[u8], block: usize, version: [u8; 4]) -> Vec<u8> {
    let mut stream = b"\x82SNAPPY\0".to_vec();
    stream.extend(version);
    stream.extend(version);
    for chunk in plain.chunks(block) {
        let block = raw_snappy(chunk);
        stream.extend((block.len() as u32).to_be_bytes());
        stream.extend(block);
    }
    stream
}

pub fn raw_snappy(plain: &[u8]) -> Vec<u8> {
    snap::raw::Encoder::new().compress_vec(plain).unwrap()
}

/// A gzip member; `fields` is the FLG byte of its header: bit 1 header CRC, 2 extra field, 3 name, 4 comment.
pub fn gzip(plain: &[u8], level: u32, fields: u8) -> Vec<u8> {
    let mut builder = flate2::GzBuilder::new().mtime(1_234_567);
    if fields & 4 != 0 {
        builder = builder.extra(vec![7; 300]);
    }
    if fields & 8 != 0 {
        builder = builder.filename("a name");
    }
    if fields & 16 != 0 {
        builder = builder.comment("a comment");
    }
    let mut encoder = builder.write(Vec::new(), flate2::Compression::new(level));
    encoder.write_all(plain).unwrap();
    let mut member = encoder.finish().unwrap();
    if fields & 2 != 0 {
        let mut length = 10;
        if fields & 4 != 0 {
            length += 2 + 300;
        }
        for (bit, text) in [(8, "a name"), (16, "a comment")] {
            if fields & bit != 0 {
                length += text.len() + 1;
            }
        }
        member[3] |= 2;
        let crc = crc32fast::hash(&member[..length]) as u16;
        member.splice(length..length, crc.to_le_bytes());
    }
    member
}

pub fn zstd(plain: &[u8], level: i32, content_size: bool, checksum: bool) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), level).unwrap();
    encoder.include_contentsize(content_size).unwrap();
    encoder.include_checksum(checksum).unwrap();
    if content_size {
        encoder.set_pledged_src_size(Some(plain.len() as u64)).unwrap();
    }
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

/// A skippable frame, which LZ4 and zstd share; `nibble` is the last hexadecimal digit of its magic number.
pub fn skippable(nibble: u8, length: usize) -> Vec<u8> {
    let mut frame = vec![0x50 | (nibble & 15), 0x2A, 0x4D, 0x18];
    frame.extend((length as u32).to_le_bytes());
    frame.extend(vec![0xAB; length]);
    frame
}
