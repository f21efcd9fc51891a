//! The limits that are checked before memory is allocated, and the reasons for their values.

/// What a reader may allocate for one batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    max_output_size: usize,
}

impl Limits {
    /// A batch may decompress to at most `bytes`: memory is allocated only up to there, whatever the batch declares.
    #[must_use]
    pub const fn max_output_size(self, bytes: usize) -> Self {
        Self { max_output_size: bytes }
    }

    /// The most bytes that a batch may decompress to.
    pub const fn output_size(self) -> usize {
        self.max_output_size
    }
}

impl Default for Limits {
    /// Kafka's own limit, [`DEFAULT_MAX_OUTPUT_SIZE`].
    fn default() -> Self {
        Self { max_output_size: DEFAULT_MAX_OUTPUT_SIZE }
    }
}

/// The default of the most bytes that a batch may decompress to: Kafka's limit on a buffer, 2^31 - 1.
pub const DEFAULT_MAX_OUTPUT_SIZE: usize = i32::MAX as usize;

/// The most levels of nested compressed message sets (Kafka 0.7) that are read. Kafka is limited only by its stack. `MirrorMaker`,
/// the only program known to nest them, adds one level per hop.
pub const MAX_MESSAGE_SET_NESTING: usize = 64;

/// The most bytes that a pooled buffer keeps between two uses. A new page costs more than decoding LZ4 into one that was used
/// before, but a pool must not keep the memory of its largest batch forever.
pub const MAX_POOLED_BUFFER: usize = 16 << 20;

/// The most bytes that the codec contexts of a thread keep between two uses: enough for the highest zstd level for contents of
/// unknown size, one more window, and all other codecs.
pub const MAX_KEPT_CONTEXTS: usize = 72 << 20;

/// The largest zstd window that is decoded, 2^27 bytes plus one: zstd's default for streams (`ZSTD_MAXWINDOWSIZE_DEFAULT`), and
/// so the limit of Kafka's reader.
pub const MAX_ZSTD_WINDOW: u64 = (1 << 27) + 1;

/// The most bytes of content for which memory is allocated at once because `compressed` bytes declare them: 16 MiB, or 32 times
/// the compressed size. More memory is allocated only as content is decoded.
pub fn trusted_size(compressed: usize) -> usize {
    (16 << 20).max(compressed.saturating_mul(32))
}

/// The size of the chunks in which Kafka's decompression streams return data (`ChunkedBytesStream` over gzip and zstd). It
/// matters only for how much of a corrupt payload is returned.
pub const KAFKA_STREAM_CHUNK: usize = 16 << 10;
