//! Migrates a log or a message set of Kafka 0.7 to a later message format, as `KafkaMigrationTool` did between two running
//! clusters.
//!
//! Messages get consecutive offsets, no key and no timestamp. A wrapper becomes one batch of the same compression type, even if
//! wrappers are nested in it; uncompressed messages are joined into batches up to a size. The position of each top-level
//! message, which a consumer may have committed, is mapped to the offset of its first message, and the end of the log to the
//! end of the new one.

use std::ops::ControlFlow;

use crate::ReadAt;
use crate::error::Error;
use crate::read::chunk::ChunkEnd;
use crate::read::chunk_buffer::ChunkBuffer;
use crate::read::entry_chunk::EntryChunkReader;
use crate::write::LogWriter;
use kafkacomp_records::compress::{Compression, CompressionType};
use kafkacomp_records::memory;
use kafkacomp_records::message_set;
use kafkacomp_records::message_set::{Entries, Entry, MessageSetReader};
use kafkacomp_records::record::BuildFault;
use kafkacomp_records::record::batch::NO_TIMESTAMP;
use kafkacomp_records::record::builder::{BatchSettings, RecordBatchBuilder};
use kafkacomp_records::record::{self, Headers};

/// The approximate number of bytes that are written at once.
const CHUNK: usize = 4 << 20;

/// A position of the old partition that a consumer may have committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MappedPosition {
    /// The byte position.
    pub position: i64,
    /// The offset of the first message from there on.
    pub offset: i64,
}

/// A callback for mapped positions and the number of bytes read so far; [`ControlFlow::Break`] ends the work.
pub type Mapped<'a, B> = dyn FnMut(&[MappedPosition], u64) -> ControlFlow<B> + 'a;

/// Migrates one partition, file by file.
pub struct Migrator {
    reader: MessageSetReader,
    builder: RecordBatchBuilder,
    magic: i8,
    batch_bytes: i32,
    /// The offset of the next message.
    next_offset: i64,
    /// Whether the builder has uncompressed messages.
    is_open: bool,
    out: Vec<u8>,
    mapped: Vec<MappedPosition>,
    /// The position at which the last file ended.
    end: Option<i64>,
}

impl Migrator {
    /// A migrator to message format `magic`. The first message gets `first_offset`; batches of uncompressed messages have up to
    /// `batch_bytes` bytes, and a top-level message may decompress to at most `max_output_size` bytes.
    pub fn new(magic: i8, first_offset: i64, batch_bytes: i32, max_output_size: usize) -> Self {
        Self {
            reader: MessageSetReader::new(max_output_size),
            builder: RecordBatchBuilder::default(),
            magic,
            batch_bytes,
            next_offset: first_offset,
            is_open: false,
            out: Vec::new(),
            mapped: Vec::new(),
            end: None,
        }
    }

    /// Appends the file that begins at `base` in the old partition, from its byte `start` on. `mapped` is called repeatedly with
    /// its positions and the number of bytes read so far.
    ///
    /// # Errors
    /// Corruption, including a truncated message at the end; a message that cannot be written; an I/O error.
    pub fn segment<B>(
        &mut self,
        source: &dyn ReadAt,
        (base, start): (i64, u64),
        writer: &mut LogWriter,
        mapped: &mut Mapped<'_, B>,
    ) -> Result<ControlFlow<B>, Error> {
        let from = base.saturating_add_unsigned(start);
        if let Some(before) = self.end.take().filter(|&before| before != from) {
            // Messages on both sides of missing bytes are not in one batch.
            self.close().map_err(|fault| record::Error::Rebuild { position: 0, fault })?;
            self.map(before, 0)?;
        }
        let end = source.length()?;
        let mut chunks = EntryChunkReader::new(start, end, true);
        let mut buffer = ChunkBuffer::default();
        loop {
            let begin = chunks.position();
            let (entries, ended) = chunks.entries(source, &mut buffer)?;
            for entry in entries {
                let position = begin.saturating_add(entry.position as u64);
                self.map(base.saturating_add_unsigned(position), position)?;
                self.entry(&entry, begin)?;
                if self.out.len() >= CHUNK {
                    self.hand_over(writer)?;
                }
            }
            let ended = match ended {
                ChunkEnd::Corrupt(error) | ChunkEnd::Truncated(error) => return Err(error.into()),
                ChunkEnd::End => true,
                ChunkEnd::More => false,
            };
            let flow = mapped(&self.mapped, chunks.position());
            self.mapped.clear();
            if ended {
                self.end = Some(base.saturating_add_unsigned(end));
            }
            if ended || flow.is_break() {
                return Ok(flow);
            }
        }
    }

    /// Writes the last batch and returns the partition's end and its offset.
    ///
    /// # Errors
    /// A batch that cannot be written.
    pub fn finish(&mut self, writer: &mut LogWriter) -> Result<Option<MappedPosition>, Error> {
        self.close().map_err(|fault| record::Error::Rebuild { position: 0, fault })?;
        self.hand_over(writer)?;
        Ok(self.end.take().map(|position| MappedPosition { position, offset: self.next_offset }))
    }

    /// Maps a position to the next offset; `at` is its byte in the file.
    fn map(&mut self, position: i64, at: u64) -> Result<(), record::Error> {
        let mapped = MappedPosition { position, offset: self.next_offset };
        memory::push(&mut self.mapped, mapped).map_err(|error| record::Error::out_of_memory(error, at))
    }

    /// Migrates a message set whose first byte is at the position `base`, and returns the batches and the mapped positions,
    /// including its end. A truncated entry at the end is dropped if another one precedes it, as by readers of sets.
    ///
    /// # Errors
    /// Corruption, or a batch that cannot be written.
    pub fn set(mut self, set: &[u8], base: i64) -> Result<(Vec<u8>, Vec<MappedPosition>), Error> {
        let mut entries = Entries::new(set);
        for entry in &mut entries {
            let entry = entry?;
            let position = entry.position as u64;
            self.map(base.saturating_add_unsigned(position), position)?;
            self.entry(&entry, 0)?;
        }
        let end = entries.position() as u64;
        self.map(base.saturating_add_unsigned(end), end)?;
        self.close().map_err(|fault| record::Error::Rebuild { position: end, fault })?;
        Ok((self.out, self.mapped))
    }

    fn hand_over(&mut self, writer: &mut LogWriter) -> Result<(), Error> {
        writer.append(&self.out)?;
        self.out.clear();
        Ok(())
    }

    fn entry(&mut self, entry: &Entry<'_>, begin: u64) -> Result<(), Error> {
        let position = begin.saturating_add(entry.position as u64);
        let rebuild = |fault| record::Error::Rebuild { position, fault };
        let fault = |fault| message_set::Error::of_entry(position, fault);
        let compression_type = entry.message.compression_type().map_err(fault)?;
        if compression_type == CompressionType::None {
            return Ok(self.plain(entry.message.payload()).map_err(rebuild)?);
        }
        self.close().map_err(rebuild)?;
        let settings = self.settings(compression_type, i32::MAX);
        self.builder.reset(settings).map_err(rebuild)?;
        let unwrapped = self.reader.unwrap(entry);
        for (message, _) in unwrapped.messages() {
            append(&mut self.builder, &mut self.next_offset, message.payload()).map_err(rebuild)?;
        }
        if let Some(error) = unwrapped.error {
            return Err(error.in_file(begin).into());
        }
        self.is_open = true;
        Ok(self.close().map_err(rebuild)?)
    }

    fn plain(&mut self, payload: &[u8]) -> Result<(), BuildFault> {
        if self.is_open && !self.builder.has_room_for(NO_TIMESTAMP, None, Some(payload), Headers::EMPTY) {
            self.close()?;
        }
        if !self.is_open {
            let settings = self.settings(CompressionType::None, self.batch_bytes);
            self.builder.reset(settings)?;
            self.is_open = true;
        }
        append(&mut self.builder, &mut self.next_offset, payload)
    }

    fn close(&mut self) -> Result<(), BuildFault> {
        if std::mem::take(&mut self.is_open) {
            self.builder.finish(&mut self.out)?;
        }
        Ok(())
    }

    fn settings(&self, compression_type: CompressionType, write_limit: i32) -> BatchSettings {
        BatchSettings {
            magic: self.magic,
            compression: Compression::of(compression_type),
            base_offset: self.next_offset,
            write_limit,
            ..BatchSettings::default()
        }
    }
}

fn append(builder: &mut RecordBatchBuilder, next_offset: &mut i64, payload: &[u8]) -> Result<(), BuildFault> {
    builder.append(*next_offset, NO_TIMESTAMP, None, Some(payload), Headers::EMPTY)?;
    *next_offset = next_offset.saturating_add(1);
    Ok(())
}
