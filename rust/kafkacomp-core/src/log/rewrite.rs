//! From one partition's segments to another's: recompressed, merged, or in another message format.
//!
//! Batches go through in file order, a run at a time, and what becomes of them goes straight to the writer; memory is
//! what a few batches take. A source with damage is refused: see [`repair`](super::repair).

use std::panic::resume_unwind;
use std::thread;

use super::chunk::ChunkError;
use super::source::ReadAt;
use super::walk::{Piece, walk_segment};
use super::write::{LogWriter, WriteError};
use crate::compress::Compression;
use crate::error::{Error, Result};
use crate::record::{Batches, Converter, Merger, Recompressor, RecordBatch};

/// Stored bytes that one thread recompresses at a time: starting a thread is nothing beside them, and what they
/// decompress to is held in memory.
const ROUND: usize = 1 << 20;
/// Bytes that are gathered for the writer.
const GATHERED: usize = 1 << 20;

/// Takes whole batches that are to be appended.
pub type Sink<'s, E> = dyn FnMut(&[u8]) -> std::result::Result<(), E> + 's;

/// What becomes of batches.
#[derive(Debug)]
pub enum Rewrite {
    /// Each one compressed anew.
    Recompress(ParallelRecompressor),
    /// Small ones joined.
    Merge(Merger),
    /// Another message format.
    Convert(Converter),
}

impl Rewrite {
    /// Hands what becomes of a run of batches, whose first byte is at `position` of the segment, to `sink`.
    ///
    /// # Errors
    /// Those of what it does, and those of `sink`.
    pub fn push<E: From<Error>>(
        &mut self,
        data: &[u8],
        position: u64,
        sink: &mut Sink<'_, E>,
    ) -> std::result::Result<(), E> {
        match self {
            Self::Recompress(recompressor) => recompressor.push(data, position, sink),
            Self::Merge(merger) => one_by_one(data, position, sink, |batch, out| merger.push(batch, out)),
            Self::Convert(converter) => one_by_one(data, position, sink, |batch, out| converter.push(batch, out)),
        }
    }

    /// Hands what is still kept to `sink`.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn finish<E: From<Error>>(&mut self, sink: &mut Sink<'_, E>) -> std::result::Result<(), E> {
        let mut out = Vec::new();
        match self {
            Self::Recompress(_) => return Ok(()),
            Self::Merge(merger) => merger.finish(&mut out)?,
            Self::Convert(converter) => converter.finish(&mut out)?,
        }
        sink(&out)
    }
}

fn one_by_one<E: From<Error>>(
    data: &[u8],
    position: u64,
    sink: &mut Sink<'_, E>,
    mut push: impl FnMut(&RecordBatch<'_>, &mut Vec<u8>) -> Result<()>,
) -> std::result::Result<(), E> {
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
}

impl Worker {
    fn run(&mut self, batches: &[RecordBatch<'_>]) -> Result<()> {
        self.out.clear();
        batches.iter().try_for_each(|batch| self.recompressor.push(batch, &mut self.out))
    }
}

impl ParallelRecompressor {
    /// As [`Recompressor::new`], on so many threads.
    pub fn new(compression: Compression, max_output_size: usize, threads: usize) -> Self {
        let worker = || Worker { recompressor: Recompressor::new(compression, max_output_size), out: Vec::new() };
        Self { workers: (0..threads.max(1)).map(|_| worker()).collect() }
    }

    fn push<E: From<Error>>(
        &mut self,
        data: &[u8],
        position: u64,
        sink: &mut Sink<'_, E>,
    ) -> std::result::Result<(), E> {
        let batches = Batches::new(data, position).collect::<Result<Vec<_>>>()?;
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

    /// Each worker does its share; the first error in the batches' order.
    fn round(&mut self, shares: &[&[RecordBatch<'_>]]) -> Result<()> {
        let Some((first, others)) = self.workers.split_first_mut() else { return Ok(()) };
        thread::scope(|scope| {
            let started: Vec<_> = others
                .iter_mut()
                .zip(shares.iter().skip(1))
                .filter(|(_, share)| !share.is_empty())
                .map(|(worker, share)| scope.spawn(move || worker.run(share)))
                .collect();
            let mut result = first.run(shares.first().copied().unwrap_or_default());
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
    let (share, behind) = rest.split_at_checked(taken).unwrap_or_default();
    *rest = behind;
    share
}

/// Sends all batches of one segment through `rewrite` into `writer`. `progress` is called with the bytes read so far, now
/// and then; its error ends the work.
///
/// # Errors
/// Damage in the segment, what `rewrite` and `writer` refuse, the file system's, or that of `progress`.
pub fn rewrite_segment<E>(
    source: &dyn ReadAt,
    rewrite: &mut Rewrite,
    writer: &mut LogWriter,
    progress: &mut dyn FnMut(u64) -> std::result::Result<(), E>,
) -> std::result::Result<(), E>
where
    E: From<ChunkError> + From<Error> + From<WriteError>,
{
    walk_segment(source, &mut |piece, behind| {
        match piece {
            Piece::Batches { data, position } => {
                rewrite.push(data, position, &mut |out| writer.append(out).map_err(E::from))?;
            }
            Piece::Damage(damage) => return Err(damage.error.into()),
            Piece::ZeroTail { .. } => {}
        }
        progress(behind)
    })
}
