//! Rewrites the segments of a partition: recompresses, merges or converts their batches.
//!
//! Runs of batches are processed in the order of offsets and written at once, so only a few batches are in memory. Corruption is
//! an error: see [`repair`](super::repair). Repeated batches are dropped, altered leader epochs restored; gaps are reported.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::thread;

use super::partition::target::{Delivered, Exception, Missing, Source, Target};
use crate::error::{ContentError, Error};
use crate::map::{ByteRange, OffsetRange, Use};
use crate::read::walk::CorruptRange;
use crate::write::LogWriter;
use kafkacomp_records::compress::Compression;
use kafkacomp_records::memory;
use kafkacomp_records::record::{self, Batches, Converter, Merger, Recompressor, RecordBatch};

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

/// The most warnings that are kept for a segment.
const MAX_WARNINGS: usize = 100;

/// The number of bytes of batches that are rewritten together.
const RUN: usize = 4 << 20;

/// Passes the batches of a log through a [`Rewrite`].
#[derive(Debug)]
pub struct Rewriter<'r> {
    rewrite: &'r mut Rewrite,
    /// Whether new segments begin where the old ones did.
    keeps_segments: bool,
    /// Adjacent batches, and the position of the first one.
    run: Vec<u8>,
    run_position: u64,
    /// The warnings about each segment, and the number of further ones.
    warnings: BTreeMap<usize, (Vec<String>, u64)>,
}

impl<'r> Rewriter<'r> {
    /// A rewriter. With `keeps_segments`, new segments begin where the old ones did.
    pub fn new(rewrite: &'r mut Rewrite, keeps_segments: bool) -> Self {
        Self { rewrite, keeps_segments, run: Vec::new(), run_position: 0, warnings: BTreeMap::new() }
    }

    fn warn(&mut self, segment: usize, warning: String) {
        let (warnings, more) = self.warnings.entry(segment).or_default();
        if warnings.len() < MAX_WARNINGS {
            warnings.push(warning);
        } else {
            *more = more.saturating_add(1);
        }
    }

    /// Writes what the rewrite has kept.
    fn finish_batches(&mut self, writer: &mut LogWriter) -> Result<(), Error> {
        self.flush(writer)?;
        self.rewrite.finish(&mut |out| writer.append(out))
    }
}

impl Target for Rewriter<'_> {
    const IS_STRICT: bool = true;
    type Report = ();

    fn restart(&mut self) -> Result<(), Error> {
        self.run.clear();
        self.warnings.clear();
        self.rewrite.finish(&mut |_| Ok(()))
    }

    fn begin_segment(&mut self, base_offset: i64, writer: &mut LogWriter) -> Result<(), Error> {
        self.finish_batches(writer)?;
        if self.keeps_segments { writer.begin_segment(base_offset) } else { Ok(()) }
    }

    fn batch(&mut self, delivered: &Delivered<'_>, writer: &mut LogWriter) -> Result<Option<ContentError>, Error> {
        let Delivered { batch, segment, epoch_text, .. } = delivered;
        let position = batch.position();
        let follows = self.run_position.saturating_add(self.run.len() as u64) == position;
        if !follows || self.run.len() >= RUN {
            self.flush(writer)?;
        }
        if self.run.is_empty() {
            self.run_position = position;
        }
        let added = memory::append(&mut self.run, batch.data());
        added.map_err(|error| record::Error::out_of_memory(error, position))?;
        if let Some(text) = epoch_text {
            self.warn(*segment, text.clone());
        }
        Ok(None)
    }

    fn flush(&mut self, writer: &mut LogWriter) -> Result<(), Error> {
        self.rewrite.push(&self.run, self.run_position, &mut |out| writer.append(out))?;
        self.run.clear();
        Ok(())
    }

    fn exception(&mut self, source: Source<'_>, exception: Exception<'_>, _: &mut LogWriter) -> Result<(), Error> {
        if matches!(exception.batch_use, Use::Repeat { .. }) {
            self.warn(source.segment, format!("{} and is left out", exception.text));
        }
        Ok(())
    }

    fn corrupt(&mut self, _: Source<'_>, range: &CorruptRange, _: &mut LogWriter) -> Result<(), Error> {
        Err(range.error.clone().into())
    }

    fn zeros(&mut self, _: usize, bytes: ByteRange, missing: Option<OffsetRange>) -> Result<(), Error> {
        let (position, minimum) = (bytes.start(), kafkacomp_records::record::layout::v0_v1::RECORD_OVERHEAD_V0 as i32);
        match missing {
            Some(_) => Err(record::Error::SizeTooSmall { position, size: 0, minimum }.into()),
            None => Ok(()),
        }
    }

    fn missing(&mut self, _: &[Missing]) {}

    fn take_warnings(&mut self, segment: usize) -> Vec<String> {
        let (mut warnings, more) = self.warnings.remove(&segment).unwrap_or_default();
        if more > 0 {
            warnings.push(format!("{more} more warnings"));
        }
        warnings
    }

    fn finish(mut self, writer: &mut LogWriter) -> Result<(), Error> {
        self.finish_batches(writer)
    }
}
