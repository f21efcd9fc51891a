//! Iterating over the messages of a set in runs: as many plain messages as there are one after another, or the messages of one
//! wrapper.

use std::ops::Range;

use super::entries::{Entries, Entry};
use super::error::Error;
use super::reader::MessageSetReader;
use crate::memory::{self, OutOfMemory};

/// The most plain messages of a run.
const MAX_PLAIN_MESSAGES: usize = 256;

/// A message of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRange {
    /// Where the message is, without its size field.
    pub bytes: Range<usize>,
    /// The position to fetch from next, counted from the start of the set.
    pub next: usize,
}

/// Messages whose bytes are in one place.
#[derive(Debug, Default)]
pub struct MessageRun {
    /// The content of the wrapper that the messages were in; `None` if they are in the set.
    pub content: Option<Vec<u8>>,
    /// The messages.
    pub messages: Vec<MessageRange>,
    /// The error after the messages, which ends the iteration.
    pub error: Option<Error>,
    /// The position in the set at which the next run begins; `None` after the last one.
    pub next: Option<usize>,
}

impl MessageRun {
    /// The run of `set` that begins at `position`. With `deep`, wrappers are opened by `reader`, as in Kafka's deep iterator;
    /// otherwise they are messages as any other. A wrapper without messages is skipped.
    pub fn read(set: &[u8], position: usize, deep: bool, reader: &mut MessageSetReader) -> Self {
        let mut entries = Entries::at(set, position);
        let mut run = Self::default();
        loop {
            let before = entries.position();
            let entry = match entries.next() {
                None => return run,
                Some(Err(error)) => {
                    run.error = Some(error);
                    return run;
                }
                Some(Ok(entry)) => entry,
            };
            if !deep || matches!(entry.message.codec(), Ok(None)) {
                let start = entry.end.saturating_sub(entry.message.data().len());
                let message = MessageRange { bytes: start..entry.end, next: entry.end };
                if let Err(error) = memory::push(&mut run.messages, message) {
                    run.fail(&entry, error);
                    return run;
                }
                if run.messages.len() >= MAX_PLAIN_MESSAGES {
                    run.next = Some(entry.end);
                    return run;
                }
                continue;
            }
            if !run.messages.is_empty() {
                run.next = Some(before);
                return run;
            }
            run.unwrap(&entry, reader);
            if run.error.is_some() {
                return run;
            }
            if !run.messages.is_empty() {
                run.next = Some(entry.end);
                return run;
            }
        }
    }

    fn unwrap(&mut self, entry: &Entry<'_>, reader: &mut MessageSetReader) {
        let unwrapped = reader.unwrap(entry);
        self.error.clone_from(&unwrapped.error);
        if unwrapped.is_empty() {
            return;
        }
        let copied = memory::with_capacity(unwrapped.len()).and_then(|mut messages: Vec<MessageRange>| {
            messages.extend(unwrapped.ranges().map(|(bytes, next)| MessageRange { bytes, next }));
            Ok((messages, memory::copy_of(unwrapped.content())?))
        });
        match copied {
            Ok((messages, content)) => (self.messages, self.content) = (messages, Some(content)),
            Err(error) => self.fail(entry, error),
        }
    }

    fn fail(&mut self, entry: &Entry<'_>, error: OutOfMemory) {
        self.error = Some(Error::of_entry(entry.position as u64, error.into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compress::{Compression, CompressionType};
    use crate::message_set::writer::{Content, codec_of, write_message_set};

    fn set(payloads: &[&[u8]], compression_type: CompressionType) -> Vec<u8> {
        let codec = codec_of(compression_type).unwrap().map(|codec| (codec, Compression::of(compression_type)));
        let mut set = Vec::new();
        write_message_set(payloads.iter().map(|payload| Content::Payload(payload)), codec, &mut set).unwrap();
        set
    }

    #[test]
    fn a_run_ends_before_a_wrapper_and_after_it() {
        let plain = set(&[b"a", b"b"], CompressionType::None);
        let wrapper = set(&[b"c", b"d", b"e"], CompressionType::Gzip);
        let whole = [plain.as_slice(), &wrapper, &plain].concat();
        let (mut reader, mut position, mut lengths) = (MessageSetReader::new(1 << 20), Some(0), Vec::new());
        while let Some(at) = position {
            let run = MessageRun::read(&whole, at, true, &mut reader);
            assert_eq!(run.error, None);
            lengths.push((run.content.is_some(), run.messages.len(), run.messages.last().unwrap().next));
            position = run.next;
        }
        let after_wrapper = plain.len() + wrapper.len();
        assert_eq!(lengths, [(false, 2, plain.len()), (true, 3, after_wrapper), (false, 2, whole.len())]);
        let shallow = MessageRun::read(&whole, 0, false, &mut reader);
        assert_eq!((shallow.messages.len(), shallow.content, shallow.next), (5, None, None));
    }

    #[test]
    fn messages_before_a_fault_are_kept() {
        let plain = set(&[b"a"], CompressionType::None);
        let mut whole = [plain.as_slice(), &plain].concat();
        *whole.last_mut().unwrap() ^= 1;
        let run = MessageRun::read(&whole, 0, true, &mut MessageSetReader::new(1 << 20));
        assert_eq!((run.messages.len(), run.error.is_some(), run.next), (1, true, None));
    }
}
