//! The caps that hold before memory is taken, and why each has its value.

/// The most bytes that one decompression may give when the caller names no other cap: Kafka's own
/// `int` limit on a buffer, 2^31 - 1.
pub const DEFAULT_MAX_OUTPUT_SIZE: usize = i32::MAX as usize;

/// The most levels of compressed message sets inside one another (Kafka 0.7) that are opened. Kafka itself
/// has no limit but its stack; `MirrorMaker`, the only program known to nest them, adds one level a hop.
pub const MAX_MESSAGE_SET_NESTING: usize = 64;

/// The most bytes that a pooled buffer may keep between two uses. Above it the pages go back to the
/// system: a fresh page costs more than decoding LZ4 into a warm one, but a pool must not remember the
/// largest batch that ever passed.
pub const MAX_POOLED_BUFFER: usize = 16 << 20;

/// The most bytes that the codecs' contexts of one thread may keep between two uses: those of the highest zstd level
/// that is used without knowing the content's size, one window more, and all of the other codecs.
pub const MAX_KEPT_CONTEXTS: usize = 72 << 20;

/// The largest zstd window that is decoded, 2^27 bytes plus one: zstd's own default for streams
/// (`ZSTD_MAXWINDOWSIZE_DEFAULT`), and so what Kafka's reader takes.
pub const MAX_ZSTD_WINDOW: u64 = (1 << 27) + 1;

/// Kafka's own decompression streams hand data on in pieces of this size (`ChunkedBytesStream` over gzip
/// and zstd). It shows in one place only: how much of a damaged payload is still delivered.
pub const KAFKA_STREAM_CHUNK: usize = 16 << 10;
