//! What may follow a complete frame: a gzip member, an LZ4 or zstd frame, a snappy stream or raw block.
//!
//! Each codec's module has one function `after_frame` that answers for every [`Strictness`](super::Strictness). The
//! one-shot and the streaming decoders both follow it.

use super::{CodecError, CodecFault, CodecFaultKind};

/// The rules for what follows a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AfterFrame {
    /// Whether the data may contain no frame at all.
    pub(super) empty_data: bool,
    /// Whether zero bytes after a frame are padding.
    pub(super) zero_padding: bool,
    /// What the other bytes may be.
    pub(super) further: Further,
}

/// What the bytes after a frame may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Further {
    /// Nothing: any byte is an error.
    Nothing,
    /// Anything: it is not read.
    Ignored,
    /// Frames; anything else is an error.
    Frames,
    /// Frames. The first whose header is invalid or truncated is ignored with all that follows it, and so are
    /// `ignored_length` bytes or fewer.
    FramesWithValidHeaders {
        /// The most bytes that are ignored without being read.
        ignored_length: usize,
    },
    /// Frames. The first that is not valid and complete is ignored with all that follows it.
    ValidFrames,
    /// Frames. The last may be truncated if it begins in the same read of `read_length` bytes as the data end, and lacks
    /// `max_lack` bytes or fewer.
    LastMayBeTruncated {
        /// The reader's buffer, in bytes.
        read_length: usize,
        /// The most bytes that a skippable frame may lack.
        max_lack: u64,
    },
}

impl AfterFrame {
    /// Whether frames follow one another without further rules.
    pub(super) const FRAMES: Self = Self { empty_data: false, zero_padding: false, further: Further::Frames };

    /// Whether a further frame that was refused for `fault` is ignored with all that follows it. `in_header`: before
    /// its header was complete.
    pub(super) fn ignores(self, fault: &CodecFault, in_header: bool) -> bool {
        // Neither an output limit nor a lack of memory says anything about the data.
        let refused = matches!(fault.kind(), CodecFaultKind::Malformed | CodecFaultKind::Truncated);
        match self.further {
            Further::Nothing | Further::Frames | Further::LastMayBeTruncated { .. } => false,
            Further::Ignored => true,
            Further::FramesWithValidHeaders { .. } => refused && in_header,
            Further::ValidFrames => refused,
        }
    }

    /// Whether a further frame may be truncated: the data end at `end`, the frame begins at `start`. `lacking`: the bytes
    /// that it lacks if it is skippable, otherwise 0.
    pub(super) fn may_be_truncated(self, start: u64, end: u64, lacking: u64) -> bool {
        match self.further {
            Further::FramesWithValidHeaders { ignored_length } => end.saturating_sub(start) <= ignored_length as u64,
            Further::LastMayBeTruncated { read_length, max_lack } => {
                let reads = |length: u64| length.saturating_sub(1) / read_length as u64;
                reads(start) == reads(end) && lacking <= max_lack
            }
            Further::Nothing | Further::Ignored | Further::Frames | Further::ValidFrames => false,
        }
    }
}

/// The error of a further frame: bytes that begin no frame are trailing data, `length` of them.
pub(super) fn trailing_data(error: CodecError, length: usize) -> CodecError {
    match error.fault {
        CodecFault::BadMagic { .. } => {
            CodecError { fault: CodecFault::TrailingData { length: length as u64 }, ..error }
        }
        _ => error,
    }
}
