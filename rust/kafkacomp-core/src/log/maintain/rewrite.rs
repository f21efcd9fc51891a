//! Rewrites the segments of a partition: recompresses, merges or converts their batches.
//!
//! Runs of batches are processed in the order of the files and written at once, so only a few batches are in memory. Corruption
//! is an error: see [`repair`](super::repair). Repeated batches, and records that other segments have, are dropped; gaps are
//! reported.

use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::thread;

use crate::compress::Compression;
use crate::log::continuity::sequence::{
    Content, EpochFault, Judgement, Place, SegmentBounds, SequenceReport, Visitor, walk_in_order,
};
use crate::log::error::{ContentError, Error};
use crate::log::read::placement::Span;
use crate::log::read::source::ReadAt;
use crate::log::read::walk::CorruptRange;
use crate::memory;
use crate::record::{self, Batches, Converter, Merger, Recompressor, RecordBatch, RecordReader};

/// The number of stored bytes that a thread recompresses at a time. Starting a thread takes much less time, and what they
/// decompress to fits into memory.
const ROUND: usize = 1 << 20;
/// The number of bytes that are collected for the writer.
const GATHERED: usize = 1 << 20;

/// Receives complete batches that are to be appended.
pub type Sink<'s> = dyn FnMut(&[u8]) -> Result<(), Error> + 's;

/// How batches are rewritten.
#[derive(Debug)]
pub enum Rewrite {
    /// Each batch is recompressed.
    Recompress(ParallelRecompressor),
    /// Small batches are joined.
    Merge(Merger),
    /// Batches are converted to another message format.
    Convert(Converter),
}

impl Rewrite {
    /// Recompresses on this number of threads. With `merge_bytes`, small batches are also merged to at most as many bytes, on one
    /// thread, as in [`Merger::new`].
    pub fn recompress(
        compression: Compression,
        merge_bytes: Option<usize>,
        max_output_size: usize,
        threads: usize,
    ) -> Self {
        match merge_bytes {
            Some(batch_bytes) => Self::Merge(Merger::new(compression, batch_bytes, max_output_size)),
            None => Self::Recompress(ParallelRecompressor::new(compression, max_output_size, threads)),
        }
    }

    /// Rewrites a run of batches that begins at `position` of the segment, and passes the result to `sink`.
    ///
    /// # Errors
    /// The errors of the rewrite and of `sink`.
    pub fn push(&mut self, data: &[u8], position: u64, sink: &mut Sink<'_>) -> Result<(), Error> {
        match self {
            Self::Recompress(recompressor) => recompressor.push(data, position, sink),
            Self::Merge(merger) => one_by_one(data, position, sink, |batch, out| merger.push(batch, out)),
            Self::Convert(converter) => one_by_one(data, position, sink, |batch, out| converter.push(batch, out)),
        }
    }

    /// Passes the remaining batches to `sink`.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn finish(&mut self, sink: &mut Sink<'_>) -> Result<(), Error> {
        let mut out = Vec::new();
        match self {
            Self::Recompress(_) => return Ok(()),
            Self::Merge(merger) => merger.finish(&mut out)?,
            Self::Convert(converter) => converter.finish(&mut out)?,
        }
        sink(&out)
    }
}

fn one_by_one(
    data: &[u8],
    position: u64,
    sink: &mut Sink<'_>,
    mut push: impl FnMut(&RecordBatch<'_>, &mut Vec<u8>) -> record::Result<()>,
) -> Result<(), Error> {
    let mut out = Vec::new();
    for batch in Batches::new(data, position) {
        push(&batch?, &mut out)?;
        if out.len() >= GATHERED {
            sink(&out)?;
            out.clear();
        }
    }
    sink(&out)
}

/// Recompresses on several threads.
#[derive(Debug)]
pub struct ParallelRecompressor {
    workers: Vec<Worker>,
}

#[derive(Debug)]
struct Worker {
    recompressor: Recompressor,
    out: Vec<u8>,
    #[cfg(test)]
    panics: bool,
}

impl Worker {
    fn run(&mut self, batches: &[RecordBatch<'_>]) -> record::Result<()> {
        #[cfg(test)]
        assert!(!self.panics, "injected");
        self.out.clear();
        batches.iter().try_for_each(|batch| self.recompressor.push(batch, &mut self.out))
    }
}

impl ParallelRecompressor {
    /// As [`Recompressor::new`], with this number of threads.
    pub fn new(compression: Compression, max_output_size: usize, threads: usize) -> Self {
        let worker = || Worker {
            recompressor: Recompressor::new(compression, max_output_size),
            out: Vec::new(),
            #[cfg(test)]
            panics: false,
        };
        Self { workers: (0..threads.max(1)).map(|_| worker()).collect() }
    }

    /// For tests: the worker with this number panics when it gets a share.
    #[cfg(test)]
    pub(crate) fn panicking(mut self, number: usize) -> Self {
        self.workers[number].panics = true;
        self
    }

    fn push(&mut self, data: &[u8], position: u64, sink: &mut Sink<'_>) -> Result<(), Error> {
        let mut batches = Vec::new();
        for batch in Batches::new(data, position) {
            memory::push(&mut batches, batch?)?;
        }
        let mut rest = batches.as_slice();
        while !rest.is_empty() {
            let shares: Vec<_> = self.workers.iter().map(|_| take_share(&mut rest)).collect();
            self.round(&shares)?;
            for worker in self.workers.iter().zip(&shares).filter(|(_, share)| !share.is_empty()) {
                sink(&worker.0.out)?;
            }
        }
        Ok(())
    }

    /// Each worker processes its share. The result is the first error in the order of the batches.
    fn round(&mut self, shares: &[&[RecordBatch<'_>]]) -> record::Result<()> {
        let (Some((first, others)), Some((share, shares))) = (self.workers.split_first_mut(), shares.split_first())
        else {
            return Ok(());
        };
        thread::scope(|scope| {
            let started: Vec<_> = others
                .iter_mut()
                .zip(shares)
                .filter(|(_, share)| !share.is_empty())
                .map(|(worker, share)| scope.spawn(move || worker.run(share)))
                .collect();
            let mut result = first.run(share);
            for thread in started {
                let outcome = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
                result = result.and(outcome);
            }
            result
        })
    }
}

/// Takes the next batches, about [`ROUND`] bytes of them.
fn take_share<'b, 'd>(rest: &mut &'b [RecordBatch<'d>]) -> &'b [RecordBatch<'d>] {
    let mut taken = 0_usize;
    let mut size = 0_usize;
    for batch in *rest {
        if size >= ROUND {
            break;
        }
        size = size.saturating_add(batch.size_in_bytes());
        taken = taken.saturating_add(1);
    }
    let (share, others) = rest.split_at(taken);
    *rest = others;
    share
}

/// The findings of the rewrite of a segment.
#[derive(Debug, Default)]
pub struct SegmentRewritten {
    /// The offsets of the segment, and missing offsets.
    pub sequence: SequenceReport,
    /// Warnings: repeated batches and wrong file names.
    pub warnings: Vec<String>,
    /// The number of further warnings.
    pub more_warnings: u64,
}

/// The most warnings that are kept for a segment.
const MAX_WARNINGS: usize = 100;

/// Passes all batches of a segment through `rewrite` to `sink`, except the records with offsets below `from`, which other
/// segments have. `progress` is called repeatedly with the number of bytes read so far; [`ControlFlow::Break`] ends the work.
///
/// # Errors
/// Corruption in the segment, an error of `rewrite` or `sink`, or an I/O error.
pub fn rewrite_segment<B>(
    source: &dyn ReadAt,
    bounds: SegmentBounds<'_>,
    from: i64,
    max_output_size: usize,
    rewrite: &mut Rewrite,
    sink: &mut Sink<'_>,
    progress: &mut dyn FnMut(u64) -> ControlFlow<B>,
) -> Result<ControlFlow<B, SegmentRewritten>, Error> {
    let mut visitor = SegmentRewrite {
        rewrite,
        sink,
        progress,
        reader: RecordReader::new(max_output_size),
        trimmer: Recompressor::new(Compression::of(crate::CompressionType::None), max_output_size),
        from,
        base_offset: bounds.base_offset,
        run: Vec::new(),
        run_position: 0,
        found: SegmentRewritten::default(),
    };
    let walked = walk_in_order(source, bounds, &mut visitor)?;
    if walked.is_continue() {
        visitor.flush()?;
    }
    Ok(walked.map_continue(|sequence| SegmentRewritten { sequence, ..visitor.found }))
}

/// The rewrite of one segment.
struct SegmentRewrite<'a, 's, B> {
    rewrite: &'a mut Rewrite,
    sink: &'a mut Sink<'s>,
    progress: &'a mut dyn FnMut(u64) -> ControlFlow<B>,
    reader: RecordReader,
    trimmer: Recompressor,
    from: i64,
    /// The offset in the segment's name; `None` for a captured record set, whose offsets are not judged.
    base_offset: Option<i64>,
    /// Adjacent batches, and the position of the first one.
    run: Vec<u8>,
    run_position: u64,
    found: SegmentRewritten,
}

/// The number of bytes of batches that are rewritten together.
const RUN: usize = 4 << 20;

impl<B> SegmentRewrite<'_, '_, B> {
    fn flush(&mut self) -> Result<(), Error> {
        self.rewrite.push(&self.run, self.run_position, self.sink)?;
        self.run.clear();
        Ok(())
    }

    fn add(&mut self, data: &[u8], position: u64) -> Result<(), Error> {
        let follows = self.run_position.saturating_add(self.run.len() as u64) == position;
        if !follows || self.run.len() >= RUN {
            self.flush()?;
        }
        if self.run.is_empty() {
            self.run_position = position;
        }
        memory::append(&mut self.run, data).map_err(|error| record::Error::out_of_memory(error, position))?;
        Ok(())
    }

    fn warn(&mut self, warning: String) {
        if self.found.warnings.len() < MAX_WARNINGS {
            self.found.warnings.push(warning);
        } else {
            self.found.more_warnings = self.found.more_warnings.saturating_add(1);
        }
    }
}

impl<B> Visitor for SegmentRewrite<'_, '_, B> {
    type Break = B;
    type Detail = ();

    fn read(&mut self, batch: &RecordBatch<'_>) -> Result<Content<()>, Error> {
        let mut span = Span::of(batch);
        let mut records = None;
        if span.first.is_none() && self.base_offset.is_some() {
            let mut count = 0_u64;
            for record in self.reader.records(batch)? {
                let record = record?;
                span.first.get_or_insert(record.offset);
                span.last = record.offset;
                count = count.saturating_add(1);
            }
            records = Some(count);
        }
        Ok(Content { span, is_corrupt: false, records, detail: () })
    }

    fn batch(&mut self, batch: &RecordBatch<'_>, _: Content<()>, judgement: &Judgement) -> Result<(), Error> {
        let at = batch.position();
        let (first, last) = (judgement.span.first.unwrap_or(judgement.span.last), judgement.span.last);
        match judgement.epoch {
            Some(EpochFault { stored, restored: None }) => {
                return Err(ContentError::LeaderEpoch { position: at, stored }.into());
            }
            Some(EpochFault { stored, restored: Some(restored) }) => {
                self.warn(format!("leader epoch {stored} of the batch at byte {at} is restored to {restored}"));
            }
            None => {}
        }
        let mut from = self.from;
        match judgement.place {
            Place::InOrder | Place::BelowBaseOffset { .. } => {}
            Place::Repeated => {
                self.warn(format!("the batch at byte {at} repeats offsets {first} to {last} and is left out"));
                return Ok(());
            }
            Place::PartlyRepeated { expected } => {
                let until = expected.saturating_sub(1);
                self.warn(format!("the batch at byte {at} repeats offsets {first} to {until}, which are left out"));
                from = from.max(expected);
            }
            Place::Restored { stored, offset_field: expected } => {
                let expected = expected.saturating_sub(batch.offset_field()).saturating_add(first);
                return Err(ContentError::OffsetField { position: at, stored, expected }.into());
            }
            Place::Reordered { expected } | Place::Misplaced { expected } => {
                return Err(ContentError::OffsetField { position: at, stored: batch.offset_field(), expected }.into());
            }
        }
        if self.base_offset.is_none() || first >= from {
            return self.add(batch.data(), at);
        }
        if last < from {
            if let Some(expected) = self.base_offset.filter(|&base| first < base && last < self.from) {
                // The name is wrong: the segments before do not necessarily have these records.
                return Err(ContentError::OffsetField { position: at, stored: batch.offset_field(), expected }.into());
            }
            return Ok(());
        }
        let mut trimmed = Vec::new();
        self.trimmer.push_from(batch, from, &mut trimmed)?;
        self.flush()?;
        self.rewrite.push(&trimmed, at, self.sink)
    }

    fn corrupt(&mut self, _: &dyn ReadAt, range: &CorruptRange, _: Option<(i64, i64)>) -> Result<(), Error> {
        Err(range.error.clone().into())
    }

    fn gap(&mut self, _: u64, _: (i64, i64)) -> Result<(), Error> {
        Ok(())
    }

    fn truncated(&mut self, error: &ContentError, _: (i64, i64)) -> Result<(), Error> {
        self.warn(error.to_string());
        Ok(())
    }

    fn zero_tail(&mut self, position: u64, _: u64, missing: Option<(i64, i64)>) -> Result<(), Error> {
        let minimum = crate::record::layout::v0_v1::RECORD_OVERHEAD_V0 as i32;
        match missing {
            Some(_) => Err(record::Error::SizeTooSmall { position, size: 0, minimum }.into()),
            None => Ok(()),
        }
    }

    fn progress(&mut self, position: u64) -> ControlFlow<B> {
        (self.progress)(position)
    }
}
