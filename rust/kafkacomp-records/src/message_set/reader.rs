//! The messages inside compressed messages.

use std::ops::Range;

use super::codec::MessageSetCodec;
use super::entries::{Entry, take_entry};
use super::error::{Error, MessageSetFault};
use super::message::Message;
use crate::buffer::OutputBuffer;
use crate::compress::{CodecError, CodecFault};
use crate::limits::MAX_MESSAGE_SET_NESTING;
use crate::memory;

/// The range of a message in the decompressed content of its wrapper.
#[derive(Debug, Clone, Copy)]
struct Leaf {
    start: u32,
    end: u32,
}

/// A set that is being read, by its range in the arena.
#[derive(Debug, Clone, Copy)]
struct Level {
    start: usize,
    end: usize,
    /// The next entry, counted from `start`.
    next: usize,
}

/// Opens wrappers. The buffers are reused for the next one.
#[derive(Debug)]
pub struct MessageSetReader {
    /// The decompressed content of the wrapper, followed by that of the wrappers inside it.
    arena: OutputBuffer,
    /// The content of one inner wrapper before it is copied to the arena, which contains its compressed bytes.
    inner: OutputBuffer,
    leaves: Vec<Leaf>,
    levels: Vec<Level>,
    max_output_size: usize,
    verify_crc: bool,
}

impl MessageSetReader {
    /// A reader that refuses a top-level message that decompresses to more than `max_output_size` bytes (of
    /// 2^32 - 1 at most), all levels together.
    pub fn new(max_output_size: usize) -> Self {
        let mut reader = Self {
            arena: OutputBuffer::default(),
            inner: OutputBuffer::default(),
            leaves: Vec::new(),
            levels: Vec::new(),
            max_output_size: 0,
            verify_crc: true,
        };
        reader.set_max_output_size(max_output_size);
        reader
    }

    /// Sets the limit for the following messages.
    pub fn set_max_output_size(&mut self, max_output_size: usize) {
        self.max_output_size = max_output_size.min(u32::MAX as usize);
    }

    /// Whether the checksums of messages inside wrappers are verified.
    pub fn set_verify_crc(&mut self, verify_crc: bool) {
        self.verify_crc = verify_crc;
    }

    /// The messages inside `entry` at any depth; the message itself if it is plain. A fault inside is returned together
    /// with the intact messages before it.
    pub fn unwrap<'r>(&'r mut self, entry: &Entry<'r>) -> Unwrapped<'r> {
        self.leaves.clear();
        self.levels.clear();
        self.arena.reset(self.max_output_size);
        let (plain, result) = match entry.message.codec() {
            Ok(None) => (Some(entry.message), Ok(())),
            Ok(Some(codec)) => (None, self.open(codec, &entry.message)),
            Err(fault) => (None, Err(fault)),
        };
        let (position, depth) = (entry.position as u64, self.levels.len());
        let error = result.err().map(|fault| Error { position, depth, fault });
        Unwrapped {
            position: entry.position,
            end: entry.end,
            plain,
            content: self.arena.as_slice(),
            leaves: &self.leaves,
            error,
        }
    }

    /// Reads the content of the wrapper depth first, without recursion: `levels` is the stack of sets.
    fn open(&mut self, codec: MessageSetCodec, wrapper: &Message<'_>) -> std::result::Result<(), MessageSetFault> {
        let limit = self.max_output_size as u64;
        codec.decompress(wrapper.payload(), &mut self.arena).map_err(|source| codec_fault(source, limit))?;
        self.levels.push(Level { start: 0, end: self.arena.len(), next: 0 });
        while let Some(level) = self.levels.last_mut() {
            let set = self.arena.as_slice().get(level.start..level.end);
            let entry = set.map_or(Ok(None), |set| take_entry(set, level.next, self.verify_crc))?;
            let Some((message, next)) = entry else {
                self.levels.pop();
                continue;
            };
            let Some(codec) = message.codec()? else {
                let end = level.start + next;
                let leaf = Leaf { start: (end - message.data().len()) as u32, end: end as u32 };
                memory::push(&mut self.leaves, leaf)?;
                level.next = next;
                continue;
            };
            level.next = next;
            if self.levels.len() >= MAX_MESSAGE_SET_NESTING {
                return Err(MessageSetFault::Nesting { limit: MAX_MESSAGE_SET_NESTING });
            }
            self.inner.reset(self.max_output_size.saturating_sub(self.arena.len()));
            codec.decompress(message.payload(), &mut self.inner).map_err(|source| codec_fault(source, limit))?;
            let start = self.arena.len();
            // The limit of the inner buffer was the room left in the arena, so this only fails for lack of memory.
            self.arena.extend(self.inner.as_slice()).map_err(|reason| {
                let (compression_type, fault) = (codec.compression_type(), CodecFault::from(reason));
                codec_fault(CodecError { compression_type, position: 0, fault }, limit)
            })?;
            self.levels.push(Level { start, end: self.arena.len(), next: 0 });
        }
        Ok(())
    }
}

/// The codec's error, with the limit of the caller instead of the rest of it that the codec was given.
fn codec_fault(mut source: CodecError, max_output_size: u64) -> MessageSetFault {
    if let CodecFault::OutputLimit { limit } = &mut source.fault {
        *limit = max_output_size;
    }
    MessageSetFault::Codec { source }
}

/// The messages of one top-level entry.
#[derive(Debug)]
pub struct Unwrapped<'r> {
    position: usize,
    end: usize,
    plain: Option<Message<'r>>,
    content: &'r [u8],
    leaves: &'r [Leaf],
    /// The fault after the messages.
    pub error: Option<Error>,
}

impl<'r> Unwrapped<'r> {
    /// The bytes that the messages of a wrapper refer to; empty for a plain message.
    pub fn content(&self) -> &'r [u8] {
        self.content
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        if self.plain.is_some() { 1 } else { self.leaves.len() }
    }

    /// Whether there are no messages: the wrapper is empty or does not decompress.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The messages in order, each with the position to fetch from next, counted from the start of the top-level set. If a
    /// fault follows, no message counts as the last of the wrapper.
    pub fn messages(&self) -> impl Iterator<Item = (Message<'r>, usize)> + use<'r> {
        let (end, content) = (self.end, self.content);
        // They were parsed before.
        let inner =
            self.ranges().filter_map(move |(bytes, next)| Some((Message::new(content.get(bytes)?).ok()?, next)));
        self.plain.into_iter().map(move |message| (message, end)).chain(inner)
    }

    /// The messages of a wrapper as ranges of its [`content`](Self::content), each with the position to fetch from next.
    pub fn ranges(&self) -> impl Iterator<Item = (Range<usize>, usize)> + use<'r> {
        let (position, end) = (self.position, self.end);
        let last = if self.error.is_none() { self.leaves.len() } else { 0 };
        let leaves = self.leaves.iter().enumerate();
        leaves.map(move |(index, &Leaf { start, end: stop })| {
            (start as usize..stop as usize, if index + 1 == last { end } else { position })
        })
    }
}
