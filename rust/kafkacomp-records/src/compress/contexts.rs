//! The codec contexts that each thread keeps, because creating one takes longer than decoding or encoding a small batch.
//!
//! All one-shot calls of a thread share its contexts. Between two calls they keep at most [`MAX_KEPT_CONTEXTS`] bytes: a few
//! megabytes for gzip, and the rest for zstd, whose encoder allocates hundreds of megabytes at its highest levels and is dropped
//! if it exceeds the limit.

#[cfg(feature = "_gzip")]
use super::gzip;
#[cfg(feature = "snappy")]
use super::snappy;
#[cfg(feature = "_zstd")]
use super::zstd;
#[cfg(feature = "zstd")]
use crate::limits::MAX_KEPT_CONTEXTS;
use std::cell::RefCell;

/// One context of each kind that is worth keeping, each made when first needed.
#[derive(Default)]
pub(super) struct Contexts {
    #[cfg(feature = "_gzip")]
    pub(super) gzip_decoder: Option<gzip::Decoders>,
    #[cfg(feature = "_zstd")]
    pub(super) zstd_decoder: zstd::Decoder,
    #[cfg(feature = "_gzip")]
    pub(super) gzip_encoders: gzip::Encoders,
    #[cfg(feature = "snappy")]
    pub(super) snappy_encoder: snappy::Encoder,
    #[cfg(feature = "zstd")]
    pub(super) zstd_encoder: zstd::Encoder,
}

impl Contexts {
    /// The bytes that these contexts have allocated, rounded up where a library does not report them.
    #[cfg(feature = "zstd")]
    fn memory(&self) -> usize {
        let mut sum = self.zstd_decoder.memory() + self.zstd_encoder.memory();
        #[cfg(feature = "_gzip")]
        {
            sum += self.gzip_decoder.as_ref().map_or(0, |_| gzip::DECODERS_MEMORY) + self.gzip_encoders.memory();
        }
        #[cfg(feature = "snappy")]
        {
            sum += snappy::Encoder::MEMORY;
        }
        sum
    }

    /// Drops what exceeds the limit. Only zstd's encoder can become so large, and a thread that only decodes has none.
    #[cfg(feature = "zstd")]
    fn trim(&mut self) {
        if self.zstd_encoder.memory() > 0 && self.memory() > MAX_KEPT_CONTEXTS {
            self.zstd_encoder = zstd::Encoder::default();
        }
    }
}

/// Runs `work` with this thread's contexts.
pub(super) fn with_contexts<R>(work: impl FnOnce(&mut Contexts) -> R) -> R {
    thread_local! {
        static CONTEXTS: RefCell<Contexts> = RefCell::default();
    }
    CONTEXTS.with(|contexts| match contexts.try_borrow_mut() {
        Ok(mut contexts) => {
            let result = work(&mut contexts);
            #[cfg(feature = "zstd")]
            contexts.trim();
            result
        }
        // No codec calls back into this module; if one did, it would get contexts of its own.
        Err(_) => work(&mut Contexts::default()),
    })
}

#[cfg(all(test, feature = "gzip", feature = "zstd"))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use super::*;
    use crate::CompressionType;
    use crate::compress::{Compression, compress, lz4::HeaderChecksum};

    fn compressed_at(level: i32, data: &[u8]) {
        let compression = Compression::new(CompressionType::Zstd, Some(level)).unwrap();
        compress(compression, HeaderChecksum::FrameDescriptor, data, &mut Vec::new()).unwrap();
    }

    #[test]
    fn memory_is_bounded() {
        for level in 1..=9 {
            let compression = Compression::new(CompressionType::Gzip, Some(level)).unwrap();
            compress(compression, HeaderChecksum::FrameDescriptor, b"gzip", &mut Vec::new()).unwrap();
        }
        let data = vec![0; 20 << 20];
        for level in [18, 22] {
            compressed_at(level, &data);
            let kept = with_contexts(|contexts| (contexts.memory(), contexts.zstd_encoder.memory()));
            assert!(kept.0 <= MAX_KEPT_CONTEXTS, "level {level}: {kept:?}");
            // The highest level that Kafka's streams use without knowing the size is kept, and no larger one.
            assert_eq!(kept.1 > 0, level == 18, "level {level}: {kept:?}");
        }
    }
}
