//! Incremental decompression of one frame by zstd's own stream. zstd allocates the window, but its pages are mapped only as far as
//! there is content.

use super::super::skippable::{HEADER_LENGTH, data_size, is_skippable};
use super::super::stream::{FrameDecode, Room, copy};
use super::super::{CodecError, CodecFault, CompressionType, Strictness};
use super::fault::{fault, is};
use ::zstd::zstd_safe::zstd_sys::ZSTD_ErrorCode;
use ::zstd::zstd_safe::{DCtx, InBuffer, OutBuffer, ResetDirective, get_frame_content_size};

/// The longest header of a frame (`ZSTD_FRAMEHEADERSIZE_MAX`).
const HEADER_LENGTH_MAX: usize = 18;

/// A decoder for one frame.
pub(in super::super) struct StreamDecoder {
    context: Option<DCtx<'static>>,
    strictness: Strictness,
    /// The first bytes of the frame: its header, and the bytes that an error message contains.
    head: [u8; HEADER_LENGTH_MAX],
    /// The number of bytes of content so far.
    produced: u64,
    /// The number of bytes of the frame so far.
    length: u64,
    position: u64,
    ended: bool,
    /// Whether another call without more input or more room cannot make progress. zstd reports an error after a few such
    /// calls.
    stuck: Stuck,
}

/// What a call without progress lacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Stuck {
    #[default]
    No,
    Input,
    Room,
}

impl StreamDecoder {
    /// At the start of a frame.
    pub(in super::super) fn new(strictness: Strictness) -> Self {
        Self {
            strictness,
            context: None,
            head: [0; HEADER_LENGTH_MAX],
            produced: 0,
            length: 0,
            position: 0,
            ended: false,
            stuck: Stuck::No,
        }
    }

    /// Checks the declared size, which zstd's stream does not check if the last block is empty.
    fn verify_content_size(&self) -> Result<(), CodecError> {
        let actual = self.produced;
        match get_frame_content_size(&self.head) {
            Ok(Some(declared)) if declared != actual && self.strictness == Strictness::Specification => {
                let position = self.position - self.length;
                Err(CodecError { position, ..self.error(CodecFault::ContentSize { declared, actual }) })
            }
            _ => Ok(()),
        }
    }

    fn error(&self, fault: CodecFault) -> CodecError {
        CodecError { compression_type: CompressionType::Zstd, position: self.position, fault }
    }

    /// The error for a code of zstd.
    fn refused(&self, code: usize) -> CodecError {
        let start = CodecError { position: self.position - self.length, ..self.error(CodecFault::CorruptBlock) };
        if is(code, ZSTD_ErrorCode::ZSTD_error_prefix_unknown) {
            let [m0, m1, m2, m3, ..] = self.head;
            CodecError { fault: CodecFault::BadMagic { found: [m0, m1, m2, m3] }, ..start }
        } else {
            self.error(fault(code))
        }
    }
}

impl FrameDecode for StreamDecoder {
    fn run(&mut self, input: &mut &[u8], output: &mut Room<'_>) -> Result<bool, CodecError> {
        if let Some(head) = usize::try_from(self.length).ok().and_then(|length| self.head.get_mut(length..)) {
            copy(input, head);
        }
        if self.ended {
            return Ok(true);
        }
        let room = output.rest().len();
        if (self.stuck == Stuck::Input && input.is_empty()) || (self.stuck == Stuck::Room && room == 0) {
            return Ok(false);
        }
        if self.context.is_none() {
            self.context = Some(DCtx::try_create().ok_or_else(|| self.error(CodecFault::OutOfMemory))?);
        }
        let Some(context) = &mut self.context else { return Err(self.error(CodecFault::OutOfMemory)) };
        let mut source = InBuffer::around(input);
        let mut target = OutBuffer::around(output.rest());
        let result = context.decompress_stream(&mut target, &mut source);
        let (consumed, written) = (source.pos(), target.pos());
        output.advance(written);
        self.length += consumed as u64;
        self.position += consumed as u64;
        self.produced += written as u64;
        let left = result.map_err(|code| self.refused(code))?;
        *input = input.split_at(consumed.min(input.len())).1;
        self.stuck = match (consumed + written, room) {
            (0, 0) => Stuck::Room,
            (0, _) => Stuck::Input,
            _ => Stuck::No,
        };
        // Before its first byte zstd is at the start of a frame, not at the end.
        self.ended = left == 0 && self.length > 0;
        if self.ended {
            self.verify_content_size()?;
        }
        Ok(self.ended)
    }

    fn finish(&self) -> Result<(), CodecError> {
        if self.ended { Ok(()) } else { Err(self.error(CodecFault::Truncated)) }
    }

    fn in_header(&self) -> bool {
        self.length < 4
    }

    fn lacking(&self) -> u64 {
        match self.head.first_chunk() {
            Some(header) if is_skippable(header) && self.length >= HEADER_LENGTH as u64 => {
                (HEADER_LENGTH as u64 + u64::from(data_size(*header))).saturating_sub(self.length)
            }
            _ => 0,
        }
    }

    fn position(&self) -> u64 {
        self.position
    }

    fn reset(&mut self) {
        // A context that cannot be reset is dropped; another one is made when needed.
        if self.context.as_mut().is_some_and(|context| context.reset(ResetDirective::SessionOnly).is_err()) {
            self.context = None;
        }
        self.head = [0; HEADER_LENGTH_MAX];
        self.produced = 0;
        self.length = 0;
        self.ended = false;
        self.stuck = Stuck::No;
    }
}
