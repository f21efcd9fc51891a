//! The chunks that the consumer of a scan decodes itself.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use arrow_array::RecordBatch as ArrowRecordBatch;

use super::queue::{Item, Place, Rest, Shared};
use crate::decode::decoder::Decoder;
use crate::decode::rows::BatchSink;
use crate::plan::planner::Planned;
use crate::sync::lock;

/// The chunks that the consumer decodes, one at a time.
#[derive(Debug)]
pub(super) struct OwnChunks {
    pub(super) decoder: Decoder,
    /// Decoded batches of the current chunk.
    pub(super) ready: Collected,
    pub(super) state: Own,
}

/// What the consumer decodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Own {
    /// No chunk.
    Nothing,
    /// A chunk.
    Chunk,
    /// A chunk that is complete, and whose batches may not have been returned yet.
    Decoded,
    /// The scan has no more chunks.
    End,
}

/// Batches that wait for the consumer itself.
#[derive(Debug, Default)]
pub(super) struct Collected(pub(super) VecDeque<Item>);

impl OwnChunks {
    pub(super) fn new(decoder: Decoder) -> Self {
        Self { decoder, ready: Collected::default(), state: Own::Nothing }
    }
}

impl BatchSink for Collected {
    fn take(&mut self, batch: ArrowRecordBatch) -> bool {
        self.0.push_back(Ok(batch));
        true
    }

    fn collected(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

impl Shared {
    /// Ends the consumer's chunk. If it is not the current one, its batches wait in the queue, and the consumer can decode another.
    pub(super) fn put_aside(&self, own: &mut OwnChunks) {
        own.state = Own::Decoded;
        if let Some(place) = lock(&self.queue).chunks.iter_mut().find(|place| place.is_consumers()) {
            *place = Place { decoded: std::mem::take(&mut own.ready.0), rest: Rest::Nothing };
            own.state = Own::Nothing;
        }
    }

    /// Takes the next chunk for the consumer; `false` if there is none, or none should be decoded now.
    pub(super) fn claim_for_consumer(&self, own: &mut OwnChunks) -> bool {
        if own.state == Own::End || (own.state == Own::Decoded && !self.is_alone()) {
            return false;
        }
        if self.closed.load(Ordering::Acquire) {
            own.state = Own::End;
            return false;
        }
        if !lock(&self.queue).has_room(&self.options) {
            return false;
        }
        self.prepare(&mut own.decoder);
        let Some(mut planner) = self.planner_soon() else { return false };
        match self.next_chunk(&mut planner, own.decoder.buffer()) {
            Planned::Chunk(chunk) => {
                own.decoder.begin(chunk);
                own.state = Own::Chunk;
                if !self.is_alone() {
                    lock(&self.queue).chunks.push_back(Place::of(Rest::Consumer));
                }
                return true;
            }
            Planned::Later => return false,
            Planned::End => {}
        }
        own.state = Own::End;
        if let Err(error) = own.decoder.flush(&mut own.ready) {
            own.ready.0.push_back(Err(error));
        }
        true
    }
}
