//! Opens the segments of the partitions one after another, and compares each with those before it.

use std::collections::HashMap;
use std::sync::Arc;

use kafkacomp_core::log::continuity::order_ahead::OrderAhead;
use kafkacomp_core::log::continuity::positions::{PositionedFile, skipped};
use kafkacomp_core::log::{ChunkReader, EntryChunkReader, KeptAhead, LargeCorrupt, LogFormat, MissingReason, ReadAt};

use super::{Current, Failed, Planner};
use crate::lookup::log_format::log_format_of;
use crate::missing::PartitionId;
use crate::options::{IsolationLevel, OnError, Partition, Segment};
use crate::plan::context::Context;
use crate::plan::continuity::{Continuity, Findings};
use crate::plan::copies::OtherBatches;
use crate::plan::index_pruning::{Earlier, Start};
use crate::plan::known_headers::HeaderCollector;
use crate::plan::leader_epochs::LeaderEpochs;
use crate::plan::open::{Ends, Open, SetLosses};
use crate::plan::overlap;
use crate::plan::relocate;
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
                self.current = Some(self.begin(index, partition)?);
                continue;
            };
            let index = current.next;
            let Some(segment) = current.partition.segments.get(index).cloned() else { continue };
            self.segment = Arc::clone(&segment.name);
            current.next = index.saturating_add(1);
            let mut context = Context::of(&current.partition, current.id.clone(), Some(&segment), &self.options);
            context.restrict(current.transactions.clone());
            context.understated = Arc::clone(&current.understated);
            let following = current.next_base(index);
            if within(&segment, following, &context) {
                let opened = self.open_segment(&mut current, index, &segment, &mut context);
                if let (Some(named), Some(base)) =
                    (segment.named_offset.filter(|_| opened.is_ok()), segment.base_offset)
                {
                    let name = &segment.name;
                    let warning = format!("{name}: the segment begins at offset {base}, but its name is {named}");
                    self.with_report(|report| report.warnings.push(warning));
                }
                self.current = Some(current);
                match opened {
                    Ok(open) => return Ok(Some(open)),
                    Err(error) => self.lost(&segment, following, &context, error)?,
                }
            } else {
                // The end of the gap before the segment may have been requested.
                self.gap_before(&mut current, &segment, &context);
                self.current = Some(current);
            }
        }
    }

    fn begin(&self, index: usize, mut partition: Partition) -> Result<Current, Failed> {
        let id = PartitionId { index, topic: partition.topic.clone(), partition: partition.partition };
        let compared = overlap::order(&mut partition.segments, &self.options);
        let (mut large_corrupt, mut orders) = (HashMap::new(), HashMap::new());
        let mut headers = HeaderCollector::default();
        let transactions = match self.options.isolation_level {
            IsolationLevel::ReadUncommitted => None,
            IsolationLevel::ReadCommitted if partition.transactions.is_some() => partition.transactions.clone(),
            IsolationLevel::ReadCommitted => {
                let found = transaction_filter(&partition, &self.options)
                    .map_err(|error| (Arc::new(Context::of(&partition, id.clone(), None, &self.options)), error))?;
                self.with_report(|report| report.warnings.extend(found.warnings));
                (large_corrupt, orders, headers) = (found.large_corrupt, found.orders, found.headers);
                Some(Arc::new(found.filter))
            }
        };
        let (delivered, epochs) = (Vec::new(), LeaderEpochs::default());
        let segments = partition.segments.as_slice().into();
        Ok(Current {
            partition,
            id,
            segments,
            known: Arc::new(headers.into()),
            compared,
            next: 0,
            transactions,
            large_corrupt,
            orders,
            position: None,
            accounted: None,
            epochs,
            delivered,
            understated: Arc::default(),
            in_flight: Arc::default(),
        })
    }

    /// Reports the offsets that are missing before a segment that is not opened.
    fn gap_before(&self, current: &mut Current, segment: &Segment, context: &Context) {
        let (Some((name, from)), Some(base)) = (current.accounted.take(), segment.first_offset()) else { return };
        let mut missing = Vec::new();
        context.missing(from, base, MissingReason::Gap, &mut |range| missing.push((Arc::clone(&name), range)));
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
            context.missing(from, resumes, reason, &mut |range| missing.push((Arc::clone(name), range)));
            self.report_missing(&current.id, &missing);
            current.accounted = Some((Arc::clone(name), from.max(resumes)));
        }
        self.current = Some(current);
        Ok(())
    }

    fn open_segment(
        &self,
        current: &mut Current,
        index: usize,
        segment: &Segment,
        context: &mut Context,
    ) -> Result<Open, ScanError> {
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
            && source.as_slice().is_none();
        let ahead = reads_ahead.then(|| Arc::new(ReadAhead::new(Arc::clone(&source), Arc::clone(&self.pool))));
        let source = ahead.clone().map_or(source, |source| source as Arc<dyn ReadAt>);
        let source: Arc<dyn ReadAt> = Arc::new(KeptAhead::new(source));
        let length = source.length().map_err(io)?;
        context.log_format = log_format_of(segment, source.as_ref(), length, &self.options)?;
        let is_inner = segment.range.is_some_and(|(start, _)| start > 0);
        self.restrict(current, (index, segment), is_inner, context)?;
        let before = current.accounted.clone().filter(|_| segment.base_offset.is_some() && !is_inner);
        if let Some((_, accounted)) = &before {
            context.asked.0 = context.asked.0.max(*accounted);
        }
        let mut ends = Ends {
            next_base: segment.boundaries.following_base().or_else(|| current.next_base(index)),
            ..Ends::default()
        };
        let next_base = segment.boundaries.next_base.or(ends.next_base);
        let OpenReader { reader, stop, likely_stop, expected } =
            self.reader(current, (segment, next_base), (source.as_ref(), length), context)?;
        let earlier = self.earlier((segment, next_base), (headers.as_ref(), length), context);
        ends.is_split = stop < length;
        ends.next_split = segment.boundaries.end.and_then(|end| end.first_offset);
        let context = Arc::new(context.clone());
        let ordered = segment.base_offset.is_some();
        let order = current.orders.remove(&segment.name).unwrap_or_else(|| OrderAhead::new(next_base));
        let mut open = Open {
            source: SharedSource(source),
            index,
            ends,
            earlier,
            ahead,
            reader,
            continuity: None,
            others: OtherBatches::new(Arc::clone(&current.segments), index, Arc::clone(&current.known), order),
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
            let epochs = current.epochs_before(segment);
            open.continuity = Some(Continuity::new(context, &self.options, expected, before, epochs));
        } else if let Some(before) = before {
            missing_before(&mut open, current, segment, before)?;
        }
        Ok(open)
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
                Ok(OpenReader { reader, stop, likely_stop: None, expected: segment.base_offset })
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
            self.with_report(|report| report.missing.set_compacted(&context.id));
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
        Ok(OpenReader { reader: Reader::Records(reader), stop: found.stop, likely_stop, expected })
    }

    /// What the headers of a segment show if they show only times before the bound. If they cannot be read, reading the segment is the
    /// error.
    fn earlier(
        &self,
        (segment, next_base): (&Segment, Option<i64>),
        (source, length): (&dyn ReadAt, u64),
        context: &Context,
    ) -> Option<Earlier> {
        let bound = self.options.start_timestamp.filter(|_| context.log_format == LogFormat::Records)?;
        let warn = |text: String| self.with_report(|report| report.warnings.push(text));
        let start = Start { segment, source, length, begin: 0, next_base, warn: &warn };
        start.earlier(bound).ok().flatten()
    }

    /// Handles a segment that begins with offsets that others have returned: their records must be the same.
    fn overlaps(
        &self,
        current: &mut Current,
        (number, segment): (usize, &Segment),
        base: i64,
        position: i64,
        context: &Context,
    ) -> Result<(), ScanError> {
        let Current { partition, delivered, compared, .. } = current;
        delivered.retain(|&(_, _, end)| end > base);
        compared.retain(|each| each >= number || delivered.iter().any(|&(index, ..)| index == each));
        for &(index, begin, end) in &*delivered {
            let Some(earlier) = partition.segments.get(index) else { continue };
            let first = begin.max(base).max(context.start_offset);
            let last = end.min(position).saturating_sub(1).min(context.last_offset);
            if first > last {
                continue;
            }
            let mut warning = format!(
                "{} and {} overlap: offsets {first} to {last} are read from the first",
                earlier.name, segment.name
            );
            let files = ((index, earlier), (number, segment));
            match overlap::disagreement(compared, files.0, files.1, (first, last), &self.options) {
                Ok(None) => {}
                Ok(Some(offset)) if self.options.on_error == OnError::Raise => {
                    let (earlier, later) = (Arc::clone(&earlier.name), Arc::clone(&segment.name));
                    let deciding = partition.deciding.clone();
                    return Err(ScanError::Conflict { earlier, later, offset, deciding });
                }
                Ok(Some(offset)) => warning = format!("{warning}; they have different records at offset {offset}"),
                Err(error) if self.skips(&error) => {
                    warning = format!("{warning}; they could not be compared: {error}");
                }
                Err(error) => return Err(error),
            }
            self.with_report(|report| report.warnings.push(warning));
        }
        Ok(())
    }
}

/// Adds the offsets that are missing before a segment of Kafka 0.7 to its findings. Those `before` it were returned or reported
/// missing.
fn missing_before(
    open: &mut Open,
    current: &mut Current,
    segment: &Segment,
    (before, from): (Arc<str>, i64),
) -> Result<(), ScanError> {
    let Some(base) = segment.base_offset else { return Ok(()) };
    let Open { context, found, .. } = open;
    context.missing(from, base, MissingReason::Gap, &mut |range| found.missing.push((Arc::clone(&before), range)));
    // A message that begins in the file before and ends in this one is complete in neither.
    let file = PositionedFile { source: open.source.0.as_ref(), base };
    let message = *current.compared.message(open.index, base);
    let skipped = skipped(file, from, message).map_err(|error| ScanError::log(&segment.name, error))?;
    let resumes = base.saturating_add_unsigned(skipped).max(from);
    context.missing(from.max(base), resumes, MissingReason::Corrupt, &mut |range| {
        found.missing.push((Arc::clone(&segment.name), range));
    });
    Ok(())
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
}

/// Whether the segment may have an offset within the bounds, judged by its name and that of the next one.
fn within(segment: &Segment, following: Option<i64>, context: &Context) -> bool {
    let Some(base) = segment.first_offset() else { return true };
    let stable = context.transactions.as_ref().and_then(|filter| filter.last_stable_offset());
    base <= context.last_offset
        && stable.is_none_or(|stable| base < stable)
        && following.is_none_or(|next| next > context.start_offset)
}
