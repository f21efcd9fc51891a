//! The batches of a segment in order: what each one's neighbours say about its offsets and leader epoch, and which
//! offsets are missing.
//!
//! [`walk_segment`] finds the batches whose checksums are right. No checksum covers base offset and leader epoch; a
//! batch therefore waits for the next one before it is judged ([`placement`](crate::log::read::placement)). Where the neighbours,
//! the offset index or the leader epoch checkpoint determine an altered field, the visitor gets the batch with the
//! field restored, unless the batch is a copy of another one of the partition.
//!
//! Where all batches are there but not in order, the visitor gets them in order.
//!
//! Missing offsets are those between two batches in order, from the base offset on and up to the next segment's.

mod copies;
mod epochs;
mod reorder;

use std::mem;
use std::ops::ControlFlow;

use copies::Copies;
pub use copies::{FolderSegments, OtherSegments};
pub use epochs::EpochFault;
use epochs::{Epochs, NextEpochs};
use reorder::reordered;

use super::missing::{MissingRange, MissingRanges, MissingReason};
use crate::limits::DEFAULT_MAX_OUTPUT_SIZE;
use crate::log::LeaderEpochEntry;
use crate::log::error::{Error, ReadError};
use crate::log::index::offset::OffsetPosition;
use crate::log::read::chunk::{ChunkReader, chunk_bytes};
use crate::log::read::placement::{Neighbours, Placement, Span, place_between};
use crate::log::read::source::{ReadAt, read_full};
use crate::log::read::walk::{CorruptRange, SegmentPart, walk_segment};
use crate::memory;
use crate::record::{self, Batches, MutableRecordBatch, RecordBatch, RecordReader};

/// The most corrupt ranges in a row that wait for the batch after them.
const MAX_WAITING: usize = 1000;

/// What is known about a segment before it is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct SegmentBounds<'a> {
    /// The offset in its name; `None` for a captured record set, whose offsets are not judged.
    pub base_offset: Option<i64>,
    /// The base offset of the next segment; `None` for the last one.
    pub end_offset: Option<i64>,
    /// The entries of its offset index.
    pub offset_index: &'a [OffsetPosition],
    /// The entries of the partition's leader epoch checkpoint.
    pub leader_epochs: &'a [LeaderEpochEntry],
    /// The leader epoch of the last batch before the segment, if known.
    pub leader_epoch: Option<i32>,
    /// The other segments of the partition, of which batches may be copies.
    pub others: Option<&'a dyn OtherSegments>,
}

/// Where a batch belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Where it stands.
    InOrder,
    /// Where it stands, although the segment's name says a greater base offset.
    BelowBaseOffset {
        /// The offset in the name.
        base_offset: i64,
    },
    /// The log has it already.
    Repeated,
    /// The log has its first offsets already, up to this one, exclusive.
    PartlyRepeated {
        /// The offset at which the log continues.
        expected: i64,
    },
    /// Where it stands: its offset field was altered and is restored.
    Restored {
        /// The offset field that it had.
        stored: i64,
        /// The one that its neighbours determine.
        offset_field: i64,
    },
    /// In the place of another batch, with which it was swapped. The visitor gets such batches in order of offsets.
    Reordered {
        /// The first offset of the batch in whose place it stands.
        expected: i64,
    },
    /// Unknown: its offset field cannot be right.
    Misplaced {
        /// The offset that was expected.
        expected: i64,
    },
}

/// What is said about a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judgement {
    /// Where it belongs.
    pub place: Place,
    /// Its offsets.
    pub span: Span,
    /// What is wrong with its leader epoch.
    pub epoch: Option<EpochFault>,
    /// The offsets that are missing if the batch is not used.
    pub missing: Option<(i64, i64)>,
}

/// What a visitor read from a batch.
#[derive(Debug, Clone, Copy)]
pub struct Content<C> {
    /// The offsets, those of a wrapper from its messages.
    pub span: Span,
    /// Whether its records cannot be read.
    pub is_corrupt: bool,
    /// How many records it has, if they were counted.
    pub records: Option<u64>,
    /// Whatever the visitor needs again.
    pub detail: C,
}

/// Who walks through a segment.
pub trait Visitor {
    /// What [`progress`](Self::progress) ends the walk with.
    type Break;
    /// What is kept of a batch until it is judged.
    type Detail;

    /// Reads a batch whose checksum is right, in file order. A batch that is restored or reordered is read a second time.
    ///
    /// # Errors
    /// Ends the walk.
    fn read(&mut self, batch: &RecordBatch<'_>) -> Result<Content<Self::Detail>, Error>;

    /// Takes a batch that was read, with what its neighbours say about it.
    ///
    /// # Errors
    /// Ends the walk.
    fn batch(
        &mut self,
        batch: &RecordBatch<'_>,
        content: Content<Self::Detail>,
        judgement: &Judgement,
    ) -> Result<(), Error>;

    /// Takes a range without intact batches, and the offsets that are missing there.
    ///
    /// # Errors
    /// Ends the walk.
    fn corrupt(&mut self, source: &dyn ReadAt, range: &CorruptRange, missing: Option<(i64, i64)>) -> Result<(), Error>;

    /// Takes offsets that are missing although nothing at `position` is corrupt.
    ///
    /// # Errors
    /// Ends the walk.
    fn gap(&mut self, position: u64, missing: (i64, i64)) -> Result<(), Error>;

    /// Takes the zero bytes at the end, and the offsets that are missing there: `None` in the last segment.
    ///
    /// # Errors
    /// Ends the walk.
    fn zero_tail(&mut self, position: u64, length: u64, missing: Option<(i64, i64)>) -> Result<(), Error>;

    /// Is called now and then, with the position up to which the segment was read; [`ControlFlow::Break`] ends the walk.
    fn progress(&mut self, position: u64) -> ControlFlow<Self::Break>;
}

/// What a walk has found out about the segment's offsets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SequenceReport {
    /// The first offset of a batch in order.
    pub first_offset: Option<i64>,
    /// The last one.
    pub last_offset: Option<i64>,
    /// The offsets that are missing; [`MissingReason::Gap`] where nothing is corrupt.
    pub missing: MissingRanges,
    /// Whether compaction has removed records from batches.
    pub is_compacted: bool,
    /// The leader epoch of the first batch in order that has one.
    pub first_leader_epoch: Option<i32>,
    /// The leader epoch of the last one.
    pub last_leader_epoch: Option<i32>,
}

/// Walks through a segment; see the module.
///
/// # Errors
/// The file system's, or that of `visitor`.
pub fn walk_in_order<V: Visitor>(
    source: &dyn ReadAt,
    bounds: SegmentBounds<'_>,
    visitor: &mut V,
) -> Result<ControlFlow<V::Break, SequenceReport>, Error> {
    let mut walk = Walk {
        source,
        bounds,
        expected: bounds.base_offset.unwrap_or_default(),
        waiting: None,
        before: Vec::new(),
        after: Vec::new(),
        claimed: None,
        previous: None,
        has_zero_tail: false,
        is_done: false,
        copies: Copies::new(bounds.others),
        epochs: Epochs::new(bounds.leader_epochs, bounds.leader_epoch),
        report: SequenceReport::default(),
        visitor,
    };
    let mut zeros = None;
    let walked = walk_segment(source, &mut |part, position| {
        let taken = match part {
            SegmentPart::Batches { data, position } => walk.run(data, position),
            SegmentPart::Corrupt(range) => walk.corrupt(range),
            SegmentPart::ZeroTail { length } => {
                zeros = Some((position.saturating_sub(length), length));
                Ok(())
            }
        };
        match taken {
            Ok(()) => walk.visitor.progress(position).map_break(Ok),
            Err(error) => ControlFlow::Break(Err(error)),
        }
    })?;
    match walked {
        ControlFlow::Continue(()) => walk.finish(zeros).map(ControlFlow::Continue),
        ControlFlow::Break(ended) => ended.map(ControlFlow::Break),
    }
}

/// Where a segment begins: at its base offset, or below it if its first two batches show that the name is wrong.
///
/// # Errors
/// The file system's.
pub fn start_offset(source: &dyn ReadAt, base_offset: i64) -> Result<i64, ReadError> {
    let end = source.length()?;
    let mut chunks = ChunkReader::new(0, end, true);
    let mut buffer = Vec::new();
    // A method's name instead of the closure would fix the batch's lifetime.
    #[allow(clippy::redundant_closure_for_method_calls)]
    let (used, _) = chunks.read(source, &mut buffer, 0, |batch| batch.ensure_valid())?;
    let mut batches = Batches::new(chunk_bytes(source, &buffer, 0, used), 0).map_while(Result::ok);
    let mut reader = RecordReader::new(DEFAULT_MAX_OUTPUT_SIZE);
    let mut first_of =
        |batch: RecordBatch<'_>| reader.base_offset(&batch).ok().map(|first| (first, batch.last_offset()));
    let first = batches.next().and_then(&mut first_of);
    let next = batches.next().and_then(&mut first_of);
    // In a compacted log the next batch need not follow directly, and is below the name as well.
    let below = first.zip(next).filter(|&((first, last), (next, next_last))| {
        let follows = last.checked_add(1) == Some(next) || (next > last && next_last < base_offset);
        (0..base_offset).contains(&first) && follows
    });
    Ok(below.map_or(base_offset, |((first, _), _)| first))
}

/// A batch with what was read from it.
struct Waiting<C> {
    data: Vec<u8>,
    position: u64,
    content: Content<C>,
}

/// What stands between two batches in order.
enum Between<C> {
    Range(CorruptRange),
    Batch(Waiting<C>, Judgement),
}

/// The batch after the one that is judged.
#[derive(Clone, Copy, Default)]
struct Next {
    span: Option<Span>,
    epochs: NextEpochs,
}

struct Walk<'w, V: Visitor> {
    source: &'w dyn ReadAt,
    bounds: SegmentBounds<'w>,
    /// The offset after the last batch in order.
    expected: i64,
    /// The batch that waits for the next one; and what is corrupt before and after it.
    waiting: Option<Waiting<V::Detail>>,
    before: Vec<Between<V::Detail>>,
    after: Vec<CorruptRange>,
    /// The offsets of a batch that stands before the one it should follow.
    claimed: Option<(i64, i64)>,
    /// The batch directly before the one that is judged.
    previous: Option<Span>,
    /// Whether zeros follow the last batch.
    has_zero_tail: bool,
    /// Whether the visitor has all batches.
    is_done: bool,
    copies: Copies<'w>,
    epochs: Epochs<'w>,
    report: SequenceReport,
    visitor: &'w mut V,
}

impl<V: Visitor> Walk<'_, V> {
    fn run(&mut self, data: &[u8], position: u64) -> Result<(), Error> {
        let mut batches = Vec::new();
        for batch in Batches::new(data, position).map_while(Result::ok) {
            memory::push(&mut batches, batch).map_err(|error| ReadError::Io(error.into()))?;
        }
        let mut held: Option<(&RecordBatch<'_>, Content<V::Detail>)> = None;
        for (index, batch) in batches.iter().enumerate() {
            if self.is_done {
                return Ok(());
            }
            let content = self.visitor.read(batch)?;
            let epochs = NextEpochs::of(batches.get(index..).unwrap_or_default());
            let next = Next { span: Some(content.span), epochs };
            match held.take() {
                Some((batch, content)) => self.judge(batch, content, next)?,
                None => self.settle(next)?,
            }
            held = Some((batch, content));
        }
        if let Some((batch, content)) = held.filter(|_| !self.is_done) {
            self.waiting = Some(Waiting { data: copy_of(batch)?, position: batch.position(), content });
        }
        Ok(())
    }

    fn corrupt(&mut self, range: CorruptRange) -> Result<(), Error> {
        self.previous = None;
        self.after.push(range);
        if self.after.len() > MAX_WAITING {
            self.settle(Next::default())?;
            self.release(None)?;
            self.before.extend(self.after.drain(..).map(Between::Range));
            self.release(None)?;
        }
        Ok(())
    }

    /// Judges the batch that waits, if there is one.
    fn settle(&mut self, next: Next) -> Result<(), Error> {
        if let Some(Waiting { data, position, content }) = self.waiting.take() {
            let batch = RecordBatch::new(&data, position).map_err(unread)?;
            return self.judge(&batch, content, next);
        }
        self.before.extend(self.after.drain(..).map(Between::Range));
        Ok(())
    }

    #[inline]
    fn judge(&mut self, batch: &RecordBatch<'_>, content: Content<V::Detail>, next: Next) -> Result<(), Error> {
        let span = content.span;
        let in_order = span.first == Some(self.expected)
            && span.last >= self.expected
            && !content.is_corrupt
            && has_field_of(batch, span);
        let is_quiet = self.before.is_empty() && self.after.is_empty() && self.epochs.goes_on(batch);
        if self.bounds.base_offset.is_none() || (in_order && is_quiet) {
            self.previous = Some(span);
            let judgement = Judgement { place: Place::InOrder, span, epoch: None, missing: None };
            return self.accept(batch, content, judgement);
        }
        self.judge_closely(batch, content, next)?;
        self.previous = Some(span).filter(|_| self.after.is_empty());
        Ok(())
    }

    #[cold]
    fn judge_closely(&mut self, batch: &RecordBatch<'_>, content: Content<V::Detail>, next: Next) -> Result<(), Error> {
        let place = self.place(batch, &content, next)?;
        let mut judgement = Judgement { place, span: content.span, epoch: None, missing: None };
        match place {
            Place::Repeated => {
                self.visitor.batch(batch, content, &judgement)?;
                self.before.extend(self.after.drain(..).map(Between::Range));
                return Ok(());
            }
            Place::Misplaced { .. } => {
                return match self.order_from(batch)? {
                    Some(order) => self.deliver(&order),
                    None => self.put_aside(batch, content, judgement, next),
                };
            }
            _ => {}
        }
        judgement.epoch = self.epochs.judge(batch, content.span, next.epochs);
        let restored = restore(batch, &judgement)?;
        let Some(data) = restored else { return self.accept(batch, content, judgement) };
        let restored = RecordBatch::new(&data, batch.position()).map_err(unread)?;
        let read = self.visitor.read(&restored)?;
        let fits = !read.is_corrupt && read.span.first.is_some_and(|first| first >= self.expected);
        if matches!(place, Place::Restored { .. }) && !fits {
            let place = Place::Misplaced { expected: self.expected };
            return self.put_aside(batch, content, Judgement { place, epoch: None, ..judgement }, next);
        }
        judgement.span = read.span;
        self.accept(&restored, read, judgement)
    }

    /// The order of the batches from this one on, if they are all there.
    fn order_from(&self, batch: &RecordBatch<'_>) -> Result<Option<Vec<reorder::Ordered>>, ReadError> {
        if !self.before.is_empty() || !self.after.is_empty() || self.report.is_compacted {
            return Ok(None);
        }
        reordered(self.source, batch.position(), self.expected, self.bounds.end_offset)
    }

    /// Gives the visitor batches in the order of their offsets, and no others after them.
    fn deliver(&mut self, order: &[reorder::Ordered]) -> Result<(), Error> {
        self.is_done = true;
        let mut data = Vec::new();
        for each in order {
            memory::resize(&mut data, each.size).map_err(|error| ReadError::Io(error.into()))?;
            read_full(self.source, &mut data, each.position).map_err(ReadError::from)?;
            let batch = RecordBatch::new(&data, each.position).map_err(unread)?;
            let content = self.visitor.read(&batch)?;
            let place = each.expected.map_or(Place::InOrder, |expected| Place::Reordered { expected });
            let judgement = Judgement { place, span: content.span, epoch: None, missing: None };
            self.accept(&batch, content, judgement)?;
        }
        Ok(())
    }

    fn place(&mut self, batch: &RecordBatch<'_>, content: &Content<V::Detail>, next: Next) -> Result<Place, ReadError> {
        let (expected, span) = (self.expected, content.span);
        let compacted = self.report.is_compacted || is_compacted(batch, span, content.records);
        let around = Neighbours {
            expected,
            before: self.previous,
            follows: self.before.is_empty(),
            next: next.span,
            adjacent: self.after.is_empty() && !self.has_zero_tail,
            end_offset: self.bounds.end_offset,
        };
        let placement = place_between(&around, span);
        let indexed = self.field_of_index(batch, span, next.span);
        let (found, proposed) = match placement {
            // A wrapper says another last offset than its messages.
            Placement::InOrder if !has_field_of(batch, span) => (placement, Some(span.last)),
            Placement::InOrder if indexed.is_none() => return Ok(Place::InOrder),
            Placement::InOrder | Placement::PartlyRepeated | Placement::Repeated => (placement, indexed),
            Placement::Misplaced { offset_field } => {
                // A field that differs in more than one bit is another batch's, of which this one may be a copy.
                let fitting = offset_field
                    .map(|field| field_for(batch, span, field))
                    .filter(|field| (field ^ batch.offset_field()).count_ones() == 1)
                    // Where compaction leaves gaps, one neighbour alone determines nothing.
                    .filter(|_| !compacted || around.room() == span.count());
                (placement, fitting.or(indexed))
            }
        };
        if let Some(base_offset) = self.below_base_offset(span, &around)? {
            return Ok(Place::BelowBaseOffset { base_offset });
        }
        if self.copies.has(self.source, batch)? {
            return Ok(match found {
                Placement::InOrder => Place::InOrder,
                Placement::PartlyRepeated => Place::PartlyRepeated { expected },
                _ => Place::Repeated,
            });
        }
        // What is below the expected offset, where the next batch begins at that, leaves no room for anything lost.
        if found == Placement::Repeated && around.resumes() == Some(expected) && expected > 0 {
            return Ok(Place::Repeated);
        }
        // An offset that another batch has cannot be this one's: the two may have changed places.
        let proposed = match proposed {
            Some(field) if self.copies.has_offset_field(self.source, batch, field)? => None,
            other => other,
        };
        // The inner offsets of a wrapper of magic 0 are under its checksum and are its offsets.
        let is_restorable =
            found == Placement::InOrder || batch.magic() != 0 || span.first.is_none() || batch.base_offset().is_some();
        Ok(match (proposed.filter(|_| is_restorable), found) {
            (Some(offset_field), _) => Place::Restored { stored: batch.offset_field(), offset_field },
            (None, Placement::PartlyRepeated) => Place::PartlyRepeated { expected },
            (None, _) => Place::Misplaced { expected },
        })
    }

    /// The offset field that the index determines for a batch whose own differs from it in one bit. An index that is
    /// older than the file is wrong about a batch that the next one continues.
    fn field_of_index(&self, batch: &RecordBatch<'_>, span: Span, next: Option<Span>) -> Option<i64> {
        let at = self.bounds.offset_index.partition_point(|entry| u64::from(entry.position) < batch.position());
        let entry = self.bounds.offset_index.get(at).filter(|entry| u64::from(entry.position) == batch.position())?;
        let first = span.first?;
        let after = next.map_or(self.bounds.end_offset, |next| next.first);
        if (next.is_some() && after.is_none()) || (after.is_some() && after == span.last.checked_add(1)) {
            return None;
        }
        let found = entry.offset.checked_sub(span.last.wrapping_sub(first))?;
        // An index that says that batches are missing before is older than the file as well.
        let follows = found == self.expected || (found > self.expected && self.report.is_compacted);
        let fits = follows && next.is_none_or(|next| next.first.unwrap_or(next.last) > entry.offset);
        (fits && (found ^ first).count_ones() == 1).then(|| field_for(batch, span, found))
    }

    /// The base offset if it is the segment's name that is wrong: its first batch, and the one after that, which
    /// continues it, lie below; or its only batch does, and the segment before ends before that.
    fn below_base_offset(&self, span: Span, around: &Neighbours) -> Result<Option<i64>, ReadError> {
        let (Some(base_offset), Some(first)) = (self.bounds.base_offset, span.first) else { return Ok(None) };
        let is_first = around.adjacent && self.report.first_offset.is_none();
        if !is_first || first < 0 || first >= base_offset {
            return Ok(None);
        }
        let end = around.end_offset.unwrap_or(i64::MAX);
        let is_below = match around.next {
            // In a compacted log the next batch need not follow directly, and is below the name as well.
            Some(next) => {
                let follows = next.first == span.last.checked_add(1)
                    || (next.first.is_some_and(|first| first > span.last) && next.last < base_offset);
                follows && next.last < end
            }
            None => span.last < end && self.copies.ends_before(first)?,
        };
        Ok(is_below.then_some(base_offset))
    }

    /// Keeps a batch that is not used until it is known which offsets are missing.
    fn put_aside(
        &mut self,
        batch: &RecordBatch<'_>,
        content: Content<V::Detail>,
        mut judgement: Judgement,
        next: Next,
    ) -> Result<(), Error> {
        // It stands before the batch that it should follow.
        let follows_next = next.span.is_some_and(|next| next.last.checked_add(1) == content.span.first);
        if follows_next && let Some(first) = content.span.first {
            judgement.missing = Some((first, content.span.last));
            self.claimed = judgement.missing;
        }
        let waiting = Waiting { data: copy_of(batch)?, position: batch.position(), content };
        self.before.push(Between::Batch(waiting, judgement));
        self.before.extend(self.after.drain(..).map(Between::Range));
        if self.before.len() > MAX_WAITING { self.release(None) } else { Ok(()) }
    }

    fn accept(
        &mut self,
        batch: &RecordBatch<'_>,
        content: Content<V::Detail>,
        mut judgement: Judgement,
    ) -> Result<(), Error> {
        if self.bounds.base_offset.is_none() {
            self.count(&judgement);
            self.visitor.batch(batch, content, &judgement)?;
            let after = mem::take(&mut self.after);
            return after.iter().try_for_each(|range| self.visitor.corrupt(self.source, range, None));
        }
        let span = judgement.span;
        if let Place::BelowBaseOffset { .. } = judgement.place {
            self.expected = span.first.unwrap_or(self.expected);
        }
        let first = match span.first {
            Some(first) => first,
            // The records of a wrapper that cannot be read are all from the expected offset on.
            None if content.is_corrupt => self.expected,
            None => span.last,
        };
        if first > self.expected || !self.before.is_empty() {
            self.release_up_to(first, batch.position())?;
        }
        if content.is_corrupt {
            let from = first.max(self.expected);
            judgement.missing = Some((from, span.last)).filter(|_| from <= span.last);
            self.add_missing(judgement.missing, MissingReason::Corrupt);
        } else {
            judgement.missing = Some((first, span.last));
            self.count(&judgement);
        }
        self.report.is_compacted |= is_compacted(batch, span, content.records);
        self.epochs.accept(batch, judgement.epoch);
        self.report.first_leader_epoch = self.report.first_leader_epoch.or(self.epochs.current());
        self.report.last_leader_epoch = self.epochs.current();
        self.expected = self.expected.max(span.last.saturating_add(1));
        self.visitor.batch(batch, content, &judgement)?;
        self.before.extend(self.after.drain(..).map(Between::Range));
        Ok(())
    }

    fn count(&mut self, judgement: &Judgement) {
        let Span { first, last, .. } = judgement.span;
        let first = first.unwrap_or(last);
        self.report.first_offset = Some(self.report.first_offset.map_or(first, |least| least.min(first)));
        self.report.last_offset = Some(self.report.last_offset.map_or(last, |most| most.max(last)));
    }

    fn add_missing(&mut self, range: Option<(i64, i64)>, reason: MissingReason) {
        if let Some((first_offset, last_offset)) = range {
            self.report.missing.push(MissingRange { first_offset, last_offset, reason });
        }
    }

    /// Hands out what stands before a batch in order that begins at offset `first`.
    fn release_up_to(&mut self, first: i64, position: u64) -> Result<(), Error> {
        let missing = MissingRange::between(self.expected, first, MissingReason::Gap);
        let missing = missing.map(|range| (range.first_offset, range.last_offset));
        if !self.before.is_empty() {
            // A batch that stands before the one it should follow does not explain what is missing here.
            let is_explained = self.claimed.is_none();
            self.release(missing.filter(|_| is_explained))?;
            if is_explained {
                self.add_missing(missing, MissingReason::Corrupt);
                return Ok(());
            }
        }
        let Some(missing) = missing else { return Ok(()) };
        if self.claimed == Some(missing) {
            self.claimed = None;
            // The finding about the batch that should be here names them.
            self.add_missing(Some(missing), MissingReason::Corrupt);
            return Ok(());
        }
        self.add_missing(Some(missing), MissingReason::Gap);
        self.visitor.gap(position, missing)
    }

    fn release(&mut self, missing: Option<(i64, i64)>) -> Result<(), Error> {
        for each in mem::take(&mut self.before) {
            match each {
                Between::Range(range) => self.visitor.corrupt(self.source, &range, missing)?,
                Between::Batch(Waiting { data, position, content }, judgement) => {
                    let batch = RecordBatch::new(&data, position).map_err(unread)?;
                    let missing = judgement.missing.or(missing);
                    self.visitor.batch(&batch, content, &Judgement { missing, ..judgement })?;
                }
            }
        }
        Ok(())
    }

    /// The leader epoch of the next segment's first batch, where the one that waits is not that of the batch before.
    fn next_segment_epochs(&self) -> Result<NextEpochs, ReadError> {
        let (Some(others), Some(end), Some(waiting)) = (self.bounds.others, self.bounds.end_offset, &self.waiting)
        else {
            return Ok(NextEpochs::default());
        };
        let batch = RecordBatch::new(&waiting.data, waiting.position).map_err(unread)?;
        // A segment that overlaps this one may be of another leader.
        if self.epochs.goes_on(&batch) || waiting.content.span.last >= end {
            return Ok(NextEpochs::default());
        }
        match others.open(end)? {
            Some((_, next)) => Ok(NextEpochs::of_segment(next.as_ref())?),
            None => Ok(NextEpochs::default()),
        }
    }

    fn finish(mut self, zeros: Option<(u64, u64)>) -> Result<SequenceReport, Error> {
        self.has_zero_tail = zeros.is_some();
        let epochs = self.next_segment_epochs()?;
        self.settle(Next { span: None, epochs })?;
        if let Some((first, last)) = self.claimed.filter(|&(first, _)| first == self.expected) {
            self.add_missing(self.claimed, MissingReason::Corrupt);
            self.expected = first.max(last.saturating_add(1));
        }
        let end = self.bounds.end_offset.filter(|_| self.bounds.base_offset.is_some());
        let missing = end.and_then(|end| MissingRange::between(self.expected, end, MissingReason::Gap));
        let missing = missing.map(|range| (range.first_offset, range.last_offset));
        let is_corrupt = zeros.is_some() || !self.before.is_empty();
        self.add_missing(missing, if is_corrupt { MissingReason::Corrupt } else { MissingReason::Gap });
        self.release(missing)?;
        match (zeros, missing) {
            (Some((position, length)), _) => self.visitor.zero_tail(position, length, missing)?,
            (None, Some(missing)) if !is_corrupt => {
                let length = self.source.length().map_err(ReadError::from)?;
                self.visitor.gap(length, missing)?;
            }
            _ => {}
        }
        Ok(self.report)
    }
}

/// A copy of the batch with the fields restored that are determined.
fn restore(batch: &RecordBatch<'_>, judgement: &Judgement) -> Result<Option<Vec<u8>>, ReadError> {
    let epoch = judgement.epoch.and_then(|fault| fault.restored);
    let field = match judgement.place {
        Place::Restored { offset_field, .. } => Some(offset_field),
        _ => None,
    };
    if epoch.is_none() && field.is_none() {
        return Ok(None);
    }
    let mut data = copy_of(batch)?;
    let mut copy = MutableRecordBatch::new(&mut data, batch.position()).map_err(unread)?;
    if let Some(field) = field {
        let last = field.wrapping_add(i64::from(batch.last_offset_delta()));
        copy.set_last_offset(last).map_err(unread)?;
    }
    if let Some(epoch) = epoch {
        copy.set_partition_leader_epoch(epoch).map_err(unread)?;
    }
    Ok(Some(data))
}

/// The offset field that makes `first` the first offset of `batch`; a wrapper's field is its last offset.
fn field_for(batch: &RecordBatch<'_>, span: Span, first: i64) -> i64 {
    match (batch.base_offset(), span.first) {
        (None, Some(stored)) => first.wrapping_add(span.last.wrapping_sub(stored)),
        _ => first,
    }
}

fn copy_of(batch: &RecordBatch<'_>) -> Result<Vec<u8>, ReadError> {
    memory::copy_of(batch.data()).map_err(|error| ReadError::Io(error.into()))
}

/// A batch that was read before has become unreadable: the buffer is ours, so this does not happen.
fn unread(error: record::Error) -> ReadError {
    ReadError::Io(std::io::Error::other(error))
}

/// Whether the offset field of a wrapper is the last offset of its messages.
#[inline]
fn has_field_of(batch: &RecordBatch<'_>, span: Span) -> bool {
    batch.magic() >= 2 || span.last == batch.offset_field()
}

/// Whether compaction has removed records from a batch.
fn is_compacted(batch: &RecordBatch<'_>, span: Span, records: Option<u64>) -> bool {
    let offsets = span.first.and_then(|first| span.last.checked_sub(first)?.checked_add(1));
    match batch.records_count() {
        Some(count) => i64::from(count) < i64::from(batch.last_offset_delta()).saturating_add(1),
        None => records.zip(offsets).is_some_and(|(records, offsets)| records < offsets.unsigned_abs()),
    }
}
