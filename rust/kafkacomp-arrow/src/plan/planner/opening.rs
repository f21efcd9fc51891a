//! Opens what is read next: the segments of the partitions one after another, or the pieces of a judged partition.

use std::collections::HashMap;
use std::sync::Arc;

use kafkacomp_log::index::MAX_RELATIVE_OFFSET;
use kafkacomp_log::{ChunkReader, EntryChunkReader, LargeCorrupt, LogFormat, MissingReason, ReadAt};

use super::message_sets::missing_before;
use super::{Current, Failed, Planner};
use crate::lookup::log_format::log_format_of;
use crate::lookup::segment_ends::end_offset;
use crate::missing::PartitionId;
use crate::options::{IsolationLevel, OnError, Partition, Segment};
use crate::plan::context::Context;
use crate::plan::continuity::{Continuity, Findings, Settled};
use crate::plan::index_pruning::{Earlier, Start};
use crate::plan::judged::Piece;
use crate::plan::open::{AtGaps, Ends, Open, SetLosses};
use crate::plan::overlap;
use crate::plan::relocate;
use crate::plan::restored::RestoredBatch;
use crate::plan::segment_reader::{Reader, SharedSource};
use crate::report::{ScanError, SkippedRange};
use crate::source::read_ahead::ReadAhead;
use crate::source::unreadable::SkipUnreadable;
use crate::transactions::committed::transaction_filter;

impl Planner {
    pub(super) fn open_next(&mut self) -> Result<Option<Open>, Failed> {
        loop {
            let Some(mut current) = self.current.take() else {
                let Some((index, partition)) = self.partitions.next() else { return Ok(None) };
                self.segment =
                    partition.segments.first().map_or_else(|| Arc::from(""), |first| Arc::clone(&first.name));
                let (current, needs_judgement) = self.begin(index, partition)?;
                let context = Arc::new(self.context_of(&current, None));
                self.current = Some(current);
                if needs_judgement && let Err(error) = self.judge_first() {
                    return Err((context, error));
                }
                continue;
            };
            let next = current.pieces.front().and_then(|piece| piece.offsets).map(|(first, _)| first);
            if let Some((_, error)) = current.fails.take_if(|(at, _)| next.is_none_or(|next| next >= *at)) {
                let context = self.context_of(&current, None);
                return Err((Arc::new(context), error));
            }
            let Some(piece) = current.pieces.pop_front() else {
                self.end_judged(&mut current);
                self.warn_of_unjudged(&current);
                continue;
            };
            let index = piece.index;
            let Some(segment) = current.partition.segment(index).cloned() else { continue };
            self.segment = Arc::clone(&segment.name);
            let mut context = self.context_of(&current, Some(&segment));
            let following = current.next_base(index);
            let is_wanted = match piece.offsets {
                Some((first, end)) => end > context.start_offset && first <= context.last_offset,
                None => within(&segment, following, &context),
            };
            if is_wanted {
                let opened = self.open_piece(&mut current, &piece, &segment, &mut context);
                self.current = Some(current);
                match opened {
                    Ok(open) => return Ok(Some(open)),
                    Err(error) => self.lost(&segment, following, &context, error)?,
                }
            } else {
                match piece.offsets {
                    // The end of the gap before the segment may have been requested.
                    None => self.gap_before(&mut current, &segment, &context),
                    Some((_, end)) => current.accounted = Some((Arc::clone(&segment.name), end)),
                }
                self.current = Some(current);
            }
        }
    }

    /// The context of a segment of the partition.
    pub(super) fn context_of(&self, current: &Current, segment: Option<&Segment>) -> Context {
        let mut context = Context::of(&current.partition, current.id.clone(), segment, &self.options);
        context.restrict(current.transactions.clone());
        context.understated = Arc::clone(&current.understated);
        context.compaction = current.compaction();
        context.judged.clone_from(&current.judged);
        context
    }

    /// Begins a partition. The result is also whether it must be judged before it is read.
    fn begin(&self, index: usize, mut partition: Partition) -> Result<(Current, bool), Failed> {
        let id = PartitionId { index, topic: partition.topic.clone(), partition: partition.partition };
        let failed =
            |partition: &Partition, error| (Arc::new(Context::of(partition, id.clone(), None, &self.options)), error);
        let are_same = overlap::order(&mut partition.segments);
        let needs_judgement =
            self.needs_judgement(&mut partition, are_same).map_err(|error| failed(&partition, error))?;
        let (mut large_corrupt, mut prejudged) = (HashMap::new(), None);
        let transactions = match self.options.isolation_level {
            IsolationLevel::ReadUncommitted => None,
            IsolationLevel::ReadCommitted if partition.transactions.is_some() => partition.transactions.clone(),
            IsolationLevel::ReadCommitted => {
                let found = transaction_filter(&partition, &self.options).map_err(|error| failed(&partition, error))?;
                self.with_report(|report| report.warnings.extend(found.warnings));
                (large_corrupt, prejudged) = (found.large_corrupt, found.judged);
                Some(Arc::new(found.filter))
            }
        };
        let pieces = (0..partition.segments.len()).map(Piece::of_segment).collect();
        let current = Current {
            partition,
            id,
            pieces,
            judged: None,
            prejudged,
            fails: None,
            messages: HashMap::new(),
            transactions,
            large_corrupt,
            position: None,
            accounted: None,
            delivered: Vec::new(),
            is_thinned: false,
            at_gaps: AtGaps::default(),
            understated: Arc::default(),
            in_flight: Arc::default(),
        };
        Ok((current, needs_judgement))
    }

    /// Whether files have the same base offset, or the file before the one with the first offset that is read reaches beyond its end.
    fn needs_judgement(&self, partition: &mut Partition, are_same: bool) -> Result<bool, ScanError> {
        let segments = partition.segments.as_slice();
        let Some(first) = segments.first() else { return Ok(false) };
        if segments.iter().any(|segment| segment.base_offset.is_none() || segment.offsets.is_some()) {
            return Ok(false);
        }
        // Of a local file, listing it has compared the first batch with the name.
        let is_judged_first = self.options.horizon.is_none() && !first.files.is_local() && is_remote(first);
        if are_same || partition.is_misnamed || is_judged_first {
            return self.is_of_batches(first);
        }
        // Another task reads what is before; what it has beyond its end may fill a gap of any split. In an object store, only what
        // nothing follows is looked for.
        let is_looked_for = first.files.is_local() || ends_openly(segments);
        let is_of_task = first.is_of_task() && is_looked_for;
        let start = partition.start_offset.max(first.base_offset.filter(|_| is_of_task));
        let Some(start) = start else { return Ok(false) };
        if is_of_task && first.boundaries.begin.is_none() && partition.context.is_empty() {
            partition.add_siblings()?;
        }
        let files = partition.segments.iter().chain(&partition.context);
        let mut files: Vec<&Segment> =
            files.filter(|each| each.base_offset.is_some_and(|base| base <= start)).collect();
        files.sort_by_key(|each| each.base_offset);
        let [.., before, own] = files.as_slice() else { return Ok(false) };
        if before.is_of_task() {
            return Ok(false);
        }
        // What cannot be read there is not requested.
        let end = end_offset(before, &self.options).ok().flatten();
        Ok(end.is_some_and(|end| own.base_offset.is_some_and(|base| end > base)) && self.is_of_batches(own)?)
    }

    fn is_of_batches(&self, segment: &Segment) -> Result<bool, ScanError> {
        let Ok(source) = segment.files.open() else { return Ok(true) };
        let length = source.length().map_err(|error| ScanError::io(&segment.name, error))?;
        Ok(log_format_of(segment, source.as_ref(), length, &self.options)? == LogFormat::Records)
    }

    /// Reports the offsets that are missing before a segment that is not opened.
    fn gap_before(&self, current: &mut Current, segment: &Segment, context: &Context) {
        let (Some((name, from)), Some(base)) = (current.accounted.take(), segment.first_offset()) else { return };
        let mut missing = Vec::new();
        context.missing((from, base), MissingReason::Gap, &name, &mut |segment, range| {
            missing.push((Arc::clone(segment), range));
        });
        self.report_missing(&current.id, &missing);
        current.accounted = Some((name, from.max(base)));
    }

    /// Handles a segment that could not be opened: with `on_error="skip"`, all of it is missing.
    fn lost(
        &mut self,
        segment: &Segment,
        following: Option<i64>,
        context: &Context,
        error: ScanError,
    ) -> Result<(), Failed> {
        let Some(reason) = error.skip_reason().filter(|_| self.skips(&error)) else {
            return Err((Arc::new(context.clone()), error));
        };
        let Some(mut current) = self.current.take() else { return Ok(()) };
        self.gap_before(&mut current, segment, context);
        let resumes = segment.boundaries.following_base().or(following);
        let from =
            segment.first_offset().map(|base| current.accounted.as_ref().map_or(base, |(_, end)| base.max(*end)));
        let name = &segment.name;
        let skipped = SkippedRange::of(name, 0, 0, &error).between(from, resumes);
        self.with_report(|report| report.skipped.push(skipped));
        if let (Some(from), Some(resumes)) = (from, resumes) {
            let mut missing = Vec::new();
            context.missing((from, resumes), reason, name, &mut |segment, range| {
                missing.push((Arc::clone(segment), range));
            });
            self.report_missing(&current.id, &missing);
            current.accounted = Some((Arc::clone(name), from.max(resumes)));
        }
        self.current = Some(current);
        Ok(())
    }

    fn open_piece(
        &self,
        current: &mut Current,
        piece: &Piece,
        segment: &Segment,
        context: &mut Context,
    ) -> Result<Open, ScanError> {
        let index = piece.index;
        let io = |error| ScanError::io(&segment.name, error);
        let source = segment.files.open().map_err(io)?;
        let unreadable =
            (self.options.on_error == OnError::Skip).then(|| Arc::new(SkipUnreadable::new(Arc::clone(&source))));
        let source = unreadable.clone().map_or(source, |source| source as Arc<dyn ReadAt>);
        // Reading the headers is not the start of reading the segment, which threads read ahead.
        let headers = Arc::clone(&source);
        let reads_ahead = self.options.threads > 1
            && self.options.on_error == OnError::Raise
            && segment.files.is_local()
            && source.traits().bytes.is_none();
        let ahead = reads_ahead.then(|| Arc::new(ReadAhead::new(Arc::clone(&source), Arc::clone(&self.pool))));
        let mut source = ahead.clone().map_or(source, |source| source as Arc<dyn ReadAt>);
        if let (true, Some((position, _)), Some(offsets)) = (piece.restored.is_some(), piece.bytes, piece.offsets) {
            source = Arc::new(RestoredBatch::new(source, position, offsets).map_err(io)?);
        }
        let length = source.length().map_err(io)?;
        let judges = !source.traits().is_remote() || current.partition.is_within(self.options.horizon);
        context.log_format = log_format_of(segment, source.as_ref(), length, &self.options)?;
        let ordered = segment.base_offset.is_some();
        let is_split = segment.range.is_some_and(|(start, _)| start > 0);
        let mut ends = Ends::default();
        let mut found = Findings::default();
        let mut before = None;
        let mut reached = None;
        let opened = if let (Some((begin, stop)), Some((first, end))) = (piece.bytes, piece.offsets) {
            let from = current.accounted.take().map_or(i64::MIN, |(_, from)| from).max(current.start());
            context.missing_between((from, first), &mut |segment, range| {
                found.missing.push((Arc::clone(segment), range));
            });
            context.asked.0 = context.asked.0.max(from);
            context.start_offset = context.start_offset.max(from);
            // Other tasks read what is beyond.
            let last = current.end().saturating_sub(1);
            context.last_offset = context.last_offset.min(last);
            context.asked.1 = context.asked.1.min(last);
            ends = Ends { next_split: Some(end), is_split: true, ..Ends::default() };
            self.piece_reader(segment, (source.as_ref(), length), (begin, stop), (piece.expected, end), context)?
        } else {
            self.restrict(current, (index, segment), is_split, context)?;
            before = current.accounted.clone().filter(|_| ordered && !is_split);
            if let Some((_, accounted)) = &before {
                context.asked.0 = context.asked.0.max(*accounted);
            }
            ends.next_base = segment.boundaries.following_base().or_else(|| current.next_base(index));
            ends.next_split = segment.boundaries.end.and_then(|end| end.first_offset);
            let next_base = segment.boundaries.next_base.or(ends.next_base);
            let opened = self.reader(current, (segment, next_base), (source.as_ref(), length), context)?;
            ends.is_split = opened.stop < length;
            let is_last = ends.next_base.is_none() && !ends.is_split && segment.offsets.is_none() && ordered;
            reached = Some(current.partition.checkpoints.reached)
                .filter(|_| is_last && context.log_format == LogFormat::Records);
            opened
        };
        let OpenReader { reader, stop, likely_stop, expected, until } = opened;
        let next_base = segment.boundaries.next_base.or(ends.next_base);
        let earlier = match piece.offsets {
            None => self.earlier((segment, next_base), (headers.as_ref(), length), context),
            Some(_) => None,
        };
        let context = Arc::new(context.clone());
        let mut open = Open {
            source: SharedSource(source),
            index,
            piece: piece.offsets,
            ends,
            reached,
            at_gaps: AtGaps { judges, ..AtGaps::default() },
            earlier,
            ahead,
            begin: reader.position(),
            reader,
            continuity: None,
            files: Arc::clone(&segment.files),
            unreadable,
            active: segment.active,
            may_be_truncated: segment.files.may_be_truncated(),
            ordered,
            verified_to: u64::MAX,
            anomaly: None,
            stop: stop.min(length),
            likely_stop: likely_stop.unwrap_or(u64::MAX),
            intact_end: None,
            losses: SetLosses::default(),
            found: Findings::default(),
            context: Arc::clone(&context),
        };
        if ordered && context.log_format == LogFormat::Records {
            let settled = if piece.offsets.is_some() { Settled::All } else { Settled::No };
            let (size, offsets) = (self.options.max_output_size, (expected, until));
            let mut continuity = Continuity::new(context, size, offsets, before, settled);
            continuity.add_findings(found);
            open.continuity = Some(continuity);
        } else if let Some(before) = before {
            missing_before(&mut open, current, segment, before)?;
        }
        Ok(open)
    }

    /// A reader of a piece of a judged partition, from the batch on in which the first requested offset is.
    fn piece_reader(
        &self,
        segment: &Segment,
        (source, length): (&dyn ReadAt, u64),
        (begin, stop): (u64, u64),
        (expected, end): (Option<i64>, i64),
        context: &Context,
    ) -> Result<OpenReader, ScanError> {
        let warn = |text: String| self.with_report(|report| report.warnings.push(text));
        let start = Start { segment, source, length, begin, next_base: None, warn: &warn };
        let position = start.position(context.start_offset)?;
        let position = if (begin..stop).contains(&position) { position } else { begin };
        let expected = expected.filter(|_| position == begin);
        let reader = ChunkReader::new(position, length, self.options.verify_crc);
        // Where corrupt bytes are read again, the search in them must know what is before them.
        let reader = Reader::Records(match expected {
            Some(expected) => reader.after(expected),
            None => reader,
        });
        Ok(OpenReader { reader, stop, likely_stop: None, expected, until: Some(end) })
    }

    /// Restricts the offsets of a segment to those that it is read for: the ones of its split, or those that no segment before
    /// it has returned.
    fn restrict(
        &self,
        current: &mut Current,
        (index, segment): (usize, &Segment),
        is_inner: bool,
        context: &mut Context,
    ) -> Result<(), ScanError> {
        if let Some((first, end)) = segment.offsets {
            context.start_offset = context.start_offset.max(first);
            context.last_offset = context.last_offset.min(end.saturating_sub(1));
            context.asked.1 = context.asked.1.min(end.saturating_sub(1));
            self.gap_before(current, segment, context);
        } else if let (Some(base), Some(position)) = (segment.base_offset.filter(|_| !is_inner), current.position)
            && base < position
            && context.log_format == LogFormat::MessageSet
        {
            self.overlaps(current, (index, segment), base, position, context)?;
            context.start_offset = context.start_offset.max(position);
        }
        Ok(())
    }

    fn reader(
        &self,
        current: &Current,
        (segment, next_base): (&Segment, Option<i64>),
        (source, length): (&dyn ReadAt, u64),
        context: &mut Context,
    ) -> Result<OpenReader, ScanError> {
        match context.log_format {
            LogFormat::MessageSet => {
                let (start, stop) = segment.range.unwrap_or((0, length));
                let reader = EntryChunkReader::new(start, length, self.options.verify_crc);
                let reader = Reader::MessageSet(reader);
                Ok(OpenReader { reader, stop, likely_stop: None, expected: segment.base_offset, until: None })
            }
            LogFormat::Records => {
                let known = current.large_corrupt.get(&segment.name).cloned().unwrap_or_default();
                self.records_reader((segment, next_base), (source, length), known, context)
            }
        }
    }

    /// A reader that begins where the first batch within the bounds may be. If the segment was replaced, the bounds are
    /// narrowed to what belongs to the split.
    fn records_reader(
        &self,
        (segment, next_base): (&Segment, Option<i64>),
        (source, length): (&dyn ReadAt, u64),
        known: LargeCorrupt,
        context: &mut Context,
    ) -> Result<OpenReader, ScanError> {
        let warn = |text: String| self.with_report(|report| report.warnings.push(text));
        let found = relocate::find(segment, source, length)?;
        if found.is_replaced {
            // Brokers replace a segment when they compact it, which explains the missing records.
            self.with_report(|report| report.missing.set_replaced(&context.id));
        }
        context.start_offset = context.start_offset.max(found.first);
        context.last_offset = context.last_offset.min(found.last);
        context.asked = (context.asked.0.max(found.first), context.asked.1.min(found.last));
        let start = Start { segment, source, length, begin: found.start, next_base, warn: &warn };
        let likely_stop = start.likely_stop(context.last_offset);
        let position = start.position(context.start_offset)?;
        let expected = if position > 0 {
            let begin = segment.boundaries.begin.filter(|_| position == found.start);
            begin.and_then(|begin| begin.first_offset)
        } else {
            segment.base_offset
        };
        let reader = ChunkReader::new(position, length, self.options.verify_crc)
            .with_large_corrupt(known)
            .with_record_set(segment.base_offset.is_none());
        // An offset that no segment with this base offset can have is judged.
        let most = segment.base_offset.map(|base| base.saturating_add(MAX_RELATIVE_OFFSET).saturating_add(1));
        // Of a segment of which only a part is valid, the rest is not in the log.
        let until = [next_base, most].into_iter().flatten().min().filter(|_| segment.offsets.is_none());
        Ok(OpenReader { reader: Reader::Records(reader), stop: found.stop, likely_stop, expected, until })
    }

    /// What the headers of a segment show if they show only times before the bound. If they cannot be read, reading the segment is the
    /// error.
    fn earlier(
        &self,
        (segment, next_base): (&Segment, Option<i64>),
        (source, length): (&dyn ReadAt, u64),
        context: &Context,
    ) -> Option<Earlier> {
        let bound = self.options.start_time.filter(|_| context.log_format == LogFormat::Records)?;
        let warn = |text: String| self.with_report(|report| report.warnings.push(text));
        let start = Start { segment, source, length, begin: 0, next_base, warn: &warn };
        start.earlier(bound).ok().flatten()
    }
}

/// Whether reading a segment takes requests.
fn is_remote(segment: &Segment) -> bool {
    segment.files.open().is_ok_and(|source| source.traits().is_remote())
}

/// Whether no other segment or split follows.
fn ends_openly(segments: &[Segment]) -> bool {
    segments.last().is_some_and(|last| last.boundaries.end.is_none() && last.boundaries.next_base.is_none())
}

/// The reader of a segment, and where it ends.
struct OpenReader {
    reader: Reader,
    /// The end of the range to read.
    stop: u64,
    /// Where the batches within the bounds probably end.
    likely_stop: Option<u64>,
    /// The first offset of the first batch, if it is known.
    expected: Option<i64>,
    /// The offset that no batch reaches.
    until: Option<i64>,
}

/// Whether the segment may have an offset within the bounds, judged by its name and that of the next one.
fn within(segment: &Segment, following: Option<i64>, context: &Context) -> bool {
    let Some(base) = segment.first_offset() else { return true };
    let stable = context.transactions.as_ref().and_then(|filter| filter.last_stable_offset());
    base <= context.last_offset
        && stable.is_none_or(|stable| base < stable)
        && following.is_none_or(|next| next > context.start_offset)
}
