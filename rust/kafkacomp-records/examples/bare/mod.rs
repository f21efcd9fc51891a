//! The codecs' own libraries, in the way that Kafka's formats require and with nothing around them: the lower bound of a
//! compressor that calls the same library. Contexts are kept. gzip is not here: batches and streams use different libraries.

use std::error::Error;

use kafkacomp_records::CompressionType;
use zstd::zstd_safe::zstd_sys::ZSTD_EndDirective;
use zstd::zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer, get_error_name};

/// Content of a block of an LZ4 frame, and of a snappy stream.
const LZ4_BLOCK: usize = 64 << 10;
const SNAPPY_BLOCK: usize = 32 << 10;
/// Bytes of the length before each block.
const LENGTH: usize = 4;
/// Kafka's default level.
const ZSTD_LEVEL: i32 = 3;

/// The contexts for LZ4, snappy and zstd.
pub(crate) struct Library {
    kind: CompressionType,
    snappy: snap::raw::Encoder,
    zstd: CCtx<'static>,
}

impl Library {
    pub(crate) fn new(kind: CompressionType) -> Result<Self, Box<dyn Error>> {
        let mut zstd = CCtx::create();
        // Kafka's streams have no content size.
        for parameter in [CParameter::ContentSizeFlag(false), CParameter::CompressionLevel(ZSTD_LEVEL)] {
            zstd.set_parameter(parameter).map_err(get_error_name)?;
        }
        Ok(Self { kind, snappy: snap::raw::Encoder::new(), zstd })
    }

    /// Compresses all of `plain` to `room` and returns the number of bytes written.
    pub(crate) fn step(&mut self, plain: &[u8], room: &mut [u8]) -> Result<usize, Box<dyn Error>> {
        match self.kind {
            CompressionType::Lz4 => {
                let accelerated = lzzzz::lz4::ACC_LEVEL_DEFAULT;
                blocks(plain, LZ4_BLOCK, room, |block, room| Ok(lzzzz::lz4::compress(block, room, accelerated)?))
            }
            CompressionType::Snappy => {
                blocks(plain, SNAPPY_BLOCK, room, |block, room| Ok(self.snappy.compress(block, room)?))
            }
            CompressionType::Zstd => self.zstd(plain, room, ZSTD_EndDirective::ZSTD_e_continue),
            CompressionType::Gzip | CompressionType::None => Err("no codec of this module".into()),
        }
    }

    /// Ends the stream and returns the number of bytes written.
    pub(crate) fn end(&mut self, room: &mut [u8]) -> Result<usize, Box<dyn Error>> {
        if self.kind == CompressionType::Zstd { self.zstd(&[], room, ZSTD_EndDirective::ZSTD_e_end) } else { Ok(0) }
    }

    fn zstd(&mut self, plain: &[u8], room: &mut [u8], directive: ZSTD_EndDirective) -> Result<usize, Box<dyn Error>> {
        let (mut source, mut target) = (InBuffer::around(plain), OutBuffer::around(room));
        self.zstd.compress_stream2(&mut target, &mut source, directive).map_err(get_error_name)?;
        if source.pos() < plain.len() {
            return Err("the room is too small".into());
        }
        Ok(target.pos())
    }
}

/// Independent blocks, each with its length.
fn blocks(
    plain: &[u8],
    size: usize,
    room: &mut [u8],
    mut compress: impl FnMut(&[u8], &mut [u8]) -> Result<usize, Box<dyn Error>>,
) -> Result<usize, Box<dyn Error>> {
    let mut written = 0;
    for block in plain.chunks(size) {
        let (length, rest) = room[written..].split_at_mut(LENGTH);
        let size = compress(block, rest)?;
        length.copy_from_slice(&u32::try_from(size)?.to_be_bytes());
        written += LENGTH + size;
    }
    Ok(written)
}
