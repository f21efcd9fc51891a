//! From a damaged partition to one that readers and brokers take.
//!
//! | found | done |
//! |---|---|
//! | a batch whose LZ4 header checksum alone is wrong | mended, see [`mend`](super::mend) |
//! | a wrong checksum, records that cannot be read, bytes that are no batch | left out |
//! | a batch whose offsets cannot stand where it does | left out |
//! | a batch that the segment's end has cut | left out |
//! | zero bytes behind the last batch | left out |
//!
//! What is left out can be kept in a file of its own, ranges one behind the other. Of two batches in the wrong order the
//! first one is left out if it reaches past the second, which follows well on what was before; offset and leader epoch
//! are the fields that no checksum covers. Indexes and producer snapshots are made anew from what is kept.

use super::chunk::ChunkError;
use super::mend::{Mender, Verdict};
use super::source::{ReadAt, read_full};
use super::walk::{Damage, Piece, walk_segment};
use super::write::staging::StagedFile;
use super::write::{LogWriter, WriteError};
use crate::compress::lz4::HeaderChecksumRule;
use crate::memory;
use crate::record::{Batches, RecordBatch};

/// How much of a damaged range is copied at once.
const COPIED: usize = 1 << 20;

/// The most repairs that are listed; a file of noise would otherwise fill the memory. More are counted.
const MAX_REPAIRS: usize = 10_000;

/// What was done about a range of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RepairAction {
    /// Readers take it now.
    Mended,
    /// It is not in the new log.
    LeftOut,
    /// It is not in the new log: a batch without its end.
    TailCut,
}

impl RepairAction {
    /// As reports call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mended => "mended",
            Self::LeftOut => "left out",
            Self::TailCut => "tail cut",
        }
    }
}

/// Something that was repaired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// Which segment of the source, from 0.
    pub segment: usize,
    /// The byte at which the range begins.
    pub position: u64,
    /// Its length in bytes.
    pub length: u64,
    /// What was done.
    pub action: RepairAction,
    /// First and last offset by the batch's header, where the range is a batch; nothing vouches for them.
    pub offsets: Option<(i64, i64)>,
    /// What was wrong.
    pub reason: String,
    /// Where the range begins in the file of what was left out.
    pub kept_at: Option<u64>,
}

/// What a repair has done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RepairReport {
    /// In file order.
    pub repairs: Vec<Repair>,
    /// Repairs beyond those listed.
    pub more_repairs: u64,
    /// Batches that were mended.
    pub mended_batches: u64,
    /// Ranges that were left out.
    pub left_out: u64,
    /// Their bytes.
    pub left_out_bytes: u64,
    /// Zero bytes behind the last batches.
    pub zero_tail_bytes: u64,
}

/// Repairs one segment after another into one writer.
#[derive(Debug)]
pub struct Repairer {
    mender: Mender,
    /// The name of the file of what is left out, made when there is something.
    kept_name: Option<String>,
    kept: Option<(StagedFile, u64)>,
    report: RepairReport,
    segment: usize,
    /// Offsets of the segment end before this one.
    end_offset: i64,
    /// A batch that waits for its successor to vouch for its offsets.
    held: Option<(Vec<u8>, u64)>,
}

impl Repairer {
    /// One that keeps what it leaves out in the file `kept` of the new folder, if a name is given.
    pub fn new(max_output_size: usize, kept: Option<&str>) -> Self {
        Self {
            mender: Mender::new(max_output_size),
            kept_name: kept.map(ToOwned::to_owned),
            kept: None,
            report: RepairReport::default(),
            segment: 0,
            end_offset: i64::MAX,
            held: None,
        }
    }

    /// Repairs the next segment. All its offsets must lie before `end_offset`, the base offset of the one that follows.
    /// `progress` is called with the bytes read so far, now and then; its error ends the work.
    ///
    /// # Errors
    /// The file system's, or that of `progress`. Damage is no error.
    pub fn segment<E: From<ChunkError> + From<WriteError>>(
        &mut self,
        source: &dyn ReadAt,
        end_offset: Option<i64>,
        writer: &mut LogWriter,
        progress: &mut dyn FnMut(u64) -> Result<(), E>,
    ) -> Result<(), E> {
        self.end_offset = end_offset.unwrap_or(i64::MAX);
        walk_segment(source, &mut |piece, behind| {
            match piece {
                Piece::Batches { data, position } => self.run(data, position, writer)?,
                Piece::Damage(damage) => {
                    self.settle(None, writer)?;
                    self.damage::<E>(source, &damage, writer)?;
                }
                Piece::ZeroTail { length } => {
                    self.report.zero_tail_bytes = self.report.zero_tail_bytes.saturating_add(length);
                }
            }
            progress(behind)
        })?;
        self.settle(None, writer)?;
        self.segment = self.segment.saturating_add(1);
        Ok(())
    }

    /// Brings the file of what was left out to the disk; the report.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn finish(self) -> Result<RepairReport, WriteError> {
        if let Some((file, _)) = self.kept {
            file.finish()?;
        }
        Ok(self.report)
    }

    fn run(&mut self, data: &[u8], position: u64, writer: &mut LogWriter) -> Result<(), WriteError> {
        let mut waiting: Option<RecordBatch<'_>> = None;
        for batch in Batches::new(data, position) {
            let batch = batch?;
            match waiting {
                Some(before) => self.batch(&before, Some(&batch), writer)?,
                None => self.settle(Some(&batch), writer)?,
            }
            waiting = Some(batch);
        }
        if let Some(last) = waiting {
            let data = memory::copy_of(last.data()).map_err(|error| error.at(last.position()))?;
            self.held = Some((data, last.position()));
        }
        Ok(())
    }

    /// Decides about the batch that waits, if there is one.
    fn settle(&mut self, next: Option<&RecordBatch<'_>>, writer: &mut LogWriter) -> Result<(), WriteError> {
        match self.held.take() {
            Some((data, position)) => self.batch(&RecordBatch::new(&data, position)?, next, writer),
            None => Ok(()),
        }
    }

    fn batch(
        &mut self,
        batch: &RecordBatch<'_>,
        next: Option<&RecordBatch<'_>>,
        writer: &mut LogWriter,
    ) -> Result<(), WriteError> {
        let (first, last) = offsets_of(batch);
        let misplaced = last >= self.end_offset
            || next.map(offsets_of).is_some_and(|(next_first, next_last)| {
                next_last <= last && next_first >= writer.log_end_offset() && next_last < self.end_offset
            });
        if misplaced {
            let reason = format!("offsets {first} to {last} reach past those of what follows");
            return self.leave_out(batch, reason, writer);
        }
        let mut mended = None;
        let appended = match self.mender.look(batch)? {
            Verdict::Sound => writer.append_batch(batch),
            Verdict::Mended { data, rule } => {
                mended = Some(rule);
                writer.append(data)
            }
            Verdict::Corrupt(error) => Err(WriteError::Record(error)),
        };
        match (appended, mended) {
            (Ok(()), None) => Ok(()),
            (Ok(()), Some(rule)) => {
                self.report.mended_batches = self.report.mended_batches.saturating_add(1);
                let reason = match rule {
                    HeaderChecksumRule::Broken => "the LZ4 header checksum was the broken one of KIP-57",
                    _ => "the LZ4 header checksum was wrong",
                };
                self.note(Repair {
                    segment: self.segment,
                    position: batch.position(),
                    length: batch.size_in_bytes() as u64,
                    action: RepairAction::Mended,
                    offsets: Some((first, last)),
                    reason: reason.to_owned(),
                    kept_at: None,
                });
                Ok(())
            }
            (Err(error @ WriteError::Io { .. }), _) => Err(error),
            (Err(error), _) => self.leave_out(batch, error.to_string(), writer),
        }
    }

    fn leave_out(&mut self, batch: &RecordBatch<'_>, reason: String, writer: &LogWriter) -> Result<(), WriteError> {
        let kept_at = self.keep(batch.data(), writer)?;
        let length = batch.size_in_bytes() as u64;
        self.left_out(batch.position(), length, RepairAction::LeftOut, Some(offsets_of(batch)), reason, kept_at);
        Ok(())
    }

    fn damage<E: From<ChunkError> + From<WriteError>>(
        &mut self,
        source: &dyn ReadAt,
        damage: &Damage,
        writer: &LogWriter,
    ) -> Result<(), E> {
        let Damage { position, length, ref error, is_cut, .. } = *damage;
        let kept_at = self.keep_range::<E>(source, position, length, writer)?;
        let action = if is_cut { RepairAction::TailCut } else { RepairAction::LeftOut };
        self.left_out(position, length, action, None, error.to_string(), kept_at);
        Ok(())
    }

    fn left_out(
        &mut self,
        position: u64,
        length: u64,
        action: RepairAction,
        offsets: Option<(i64, i64)>,
        reason: String,
        kept_at: Option<u64>,
    ) {
        self.report.left_out = self.report.left_out.saturating_add(1);
        self.report.left_out_bytes = self.report.left_out_bytes.saturating_add(length);
        self.note(Repair { segment: self.segment, position, length, action, offsets, reason, kept_at });
    }

    fn note(&mut self, repair: Repair) {
        if self.report.repairs.len() < MAX_REPAIRS {
            self.report.repairs.push(repair);
        } else {
            self.report.more_repairs = self.report.more_repairs.saturating_add(1);
        }
    }

    /// Appends bytes to the file of what is left out, if there is one; where they begin there.
    fn keep(&mut self, data: &[u8], writer: &LogWriter) -> Result<Option<u64>, WriteError> {
        if let Some(name) = self.kept_name.take() {
            self.kept = Some((writer.staging().create(&name)?, 0));
        }
        let Some((file, length)) = &mut self.kept else { return Ok(None) };
        file.append(data)?;
        let at = *length;
        *length = length.saturating_add(data.len() as u64);
        Ok(Some(at))
    }

    fn keep_range<E: From<ChunkError> + From<WriteError>>(
        &mut self,
        source: &dyn ReadAt,
        position: u64,
        length: u64,
        writer: &LogWriter,
    ) -> Result<Option<u64>, E> {
        if self.kept.is_none() && self.kept_name.is_none() {
            return Ok(None);
        }
        let mut piece = vec![0; COPIED];
        let mut done = 0_u64;
        let mut kept_at = None;
        while done < length {
            let size = length.saturating_sub(done).min(COPIED as u64) as usize;
            let place = piece.get_mut(..size).unwrap_or_default();
            let read = read_full(source, place, position.saturating_add(done)).map_err(ChunkError::from)?;
            let at = self.keep(place.get(..read).unwrap_or_default(), writer)?;
            kept_at = kept_at.or(at);
            if read < size {
                break;
            }
            done = done.saturating_add(size as u64);
        }
        Ok(kept_at)
    }
}

/// First and last offset by the header; a wrapper's tells only the last.
fn offsets_of(batch: &RecordBatch<'_>) -> (i64, i64) {
    let last = batch.last_offset();
    (batch.base_offset().unwrap_or(last), last)
}

/// The first offset of a segment whose name does not tell it; 0 of an empty one.
///
/// # Errors
/// [`ChunkError`] when the bytes cannot be read.
pub fn first_offset(source: &dyn ReadAt, max_output_size: usize) -> Result<i64, ChunkError> {
    let mut reader = crate::record::RecordReader::new(max_output_size);
    let mut found = None;
    let stopped = walk_segment(source, &mut |piece, _| {
        if let Piece::Batches { data, position } = piece {
            let first = Batches::new(data, position).next().and_then(Result::ok);
            found = first.map(|batch| reader.base_offset(&batch).unwrap_or_else(|_| batch.last_offset()));
        }
        if found.is_some() { Err(Stop::Found) } else { Ok(()) }
    });
    match stopped {
        Err(Stop::Read(error)) => Err(error),
        _ => Ok(found.unwrap_or_default()),
    }
}

/// Why the search for the first batch ended.
enum Stop {
    Found,
    Read(ChunkError),
}

impl From<ChunkError> for Stop {
    fn from(error: ChunkError) -> Self {
        Self::Read(error)
    }
}
