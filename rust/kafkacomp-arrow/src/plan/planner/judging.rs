//! Judges the partition that is being read, and continues with what the judgement says.

use std::sync::Arc;

use super::{Current, Planner};
use kafkacomp_log::Compaction;

use crate::options::{OnError, Segment};
use crate::plan::continuity::Continuity;
use crate::plan::judged::{self, Piece, Wrong};
use crate::plan::open::{AtGaps, Open};
use crate::report::ScanError;

impl Planner {
    /// Judges the partition, because a batch of the open segment does not continue what is before it. Reading continues at the
    /// position that the segment has reached.
    pub(super) fn judge(&mut self, open: &Open) -> Result<(), ScanError> {
        let continuity = open.continuity.as_ref();
        let expected = continuity.and_then(Continuity::expected);
        let has_read = continuity.is_some_and(Continuity::has_read);
        let lost = continuity.and_then(Continuity::first_loss);
        let position = lost.map_or(open.position(), |lost| lost.min(open.position()));
        // Before the first batch of a segment, what is missing before it has not been reported.
        let accounted = self.current.as_ref().and_then(|current| current.accounted.as_ref()).map(|&(_, end)| end);
        let resumes = if has_read { expected } else { accounted.or(expected) };
        let resumes = resumes.unwrap_or(i64::MIN).max(open.context.start_offset).max(self.start());
        self.judge_from(resumes, Some(Reached { index: open.index, position, expected, has_read }))
    }

    /// Judges the partition before it is read.
    pub(super) fn judge_first(&mut self) -> Result<(), ScanError> {
        self.judge_from(self.start(), None)
    }

    fn start(&self) -> i64 {
        self.current.as_ref().map_or(i64::MIN, Current::start)
    }

    fn judge_from(&mut self, resumes: i64, reached: Option<Reached>) -> Result<(), ScanError> {
        let Some(current) = &mut self.current else { return Ok(()) };
        if current.judged.is_some() {
            // What was judged is no longer there.
            let segment = reached.and_then(|reached| current.partition.segment(reached.index));
            let segment = segment.map_or_else(|| Arc::from(""), |segment| Arc::clone(&segment.name));
            return Err(ScanError::Replaced { segment });
        }
        let mut judged = if let Some(judged) = current.prejudged.take() {
            judged
        } else {
            current.partition.add_siblings()?;
            judged::judge(&current.partition, current.compaction(), &self.options)?
        };
        let end = current.end();
        current.pieces = std::mem::take(&mut judged.pieces)
            .into_iter()
            .filter(|piece| piece.offsets.is_some_and(|(first, piece_end)| piece_end > resumes && first < end))
            .map(|piece| from_position(piece, reached))
            .collect();
        let wrong = std::mem::take(&mut judged.wrong);
        let skips = self.options.on_error == OnError::Skip;
        let is_read = |wrong: &Wrong| wrong.at < end || (!skips && current.is_of_own_file(wrong));
        let wrong: Vec<Wrong> = wrong.into_iter().filter(|wrong| wrong.at >= resumes && is_read(wrong)).collect();
        let (mut fails, mut found) = (None, Vec::new());
        for Wrong { at, error, skipped, warning } in wrong {
            match error {
                Some(error) if !skips => {
                    fails = Some((at, error));
                    break;
                }
                _ => found.push((skipped, warning)),
            }
        }
        current.fails = fails;
        current.judged = Some(Arc::new(judged));
        if let Some(Reached { index, has_read: true, .. }) = reached
            && let Some(segment) = current.partition.segment(index)
        {
            current.accounted = Some((Arc::clone(&segment.name), resumes));
        }
        self.with_report(|report| {
            for (skipped, warning) in found {
                report.skipped.extend(skipped);
                report.warnings.extend(warning);
            }
        });
        Ok(())
    }

    /// Reports what is missing after the last piece of a judged partition.
    pub(super) fn end_judged(&self, current: &mut Current) {
        let Some(judged) = &current.judged else { return };
        let Some(end) = judged.missing_end() else { return };
        let from = current.accounted.take().map_or(i64::MIN, |(_, from)| from).max(current.start());
        let until = end.min(current.end());
        let context = self.context_of(current, None);
        let mut missing = Vec::new();
        context.missing_between((from, until), &mut |segment, range| missing.push((Arc::clone(segment), range)));
        self.report_missing(&current.id, &missing);
    }

    /// Says that the partition was not judged although something may be elsewhere.
    pub(super) fn warn_of_unjudged(&self, current: &Current) {
        let AtGaps { passed_gap, passed_loss, .. } = current.at_gaps;
        let is_compacted = current.compaction() == Compaction::Somewhere;
        let Some(horizon) = self.options.horizon.filter(|_| current.judged.is_none()) else { return };
        if passed_loss || (passed_gap && !is_compacted) {
            let Some(first) = current.partition.segments.first() else { return };
            let text = format!(
                "{}: other segments were not searched for what is missing, because those of the partition have more than \
                 {horizon} bytes (horizon)",
                first.name
            );
            self.with_report(|report| report.warnings.push(text));
        }
    }
}

impl Current {
    /// The first offset that is read: of the bounds, or of the split of a task.
    pub(super) fn start(&self) -> i64 {
        let own = self.of_task().and_then(|segment| match segment.boundaries.begin {
            Some(begin) => begin.first_offset,
            // What is below the first name belongs to the first task.
            None => segment.base_offset.filter(|&base| self.has_segment_before(base)),
        });
        self.partition.start_offset.max(own).unwrap_or(i64::MIN)
    }

    fn has_segment_before(&self, base: i64) -> bool {
        self.partition.context.iter().any(|segment| segment.base_offset.is_some_and(|before| before < base))
    }

    /// The offset after the last one that is read: of the bounds, or of the splits.
    pub(super) fn end(&self) -> i64 {
        let split = self.of_task().and_then(|segment| {
            let end = segment.boundaries.end.and_then(|end| end.first_offset);
            end.or(segment.boundaries.following_base())
        });
        split.unwrap_or(i64::MAX).min(self.partition.end_offset.unwrap_or(i64::MAX))
    }

    /// Whether something is wrong in the file of a task that ends with it, behind the offsets that the task reads: no other task need see
    /// that two files have different records there.
    fn is_of_own_file(&self, wrong: &Wrong) -> bool {
        let own = self.of_task().filter(|segment| segment.boundaries.end.is_none());
        let is_own = own.is_some_and(|own| wrong.skipped.as_ref().is_some_and(|skipped| skipped.segment == own.name));
        is_own && wrong.at < self.partition.end_offset.unwrap_or(i64::MAX)
    }

    /// The segment that says where a task begins and ends. Of several, which have the same base offset, only one does.
    fn of_task(&self) -> Option<&Segment> {
        self.partition.segments.iter().find(|segment| segment.is_of_task())
    }
}

/// Where reading was interrupted.
#[derive(Debug, Clone, Copy)]
struct Reached {
    /// The index of the segment.
    index: usize,
    position: u64,
    /// The offset after the last one before the position, if it is known.
    expected: Option<i64>,
    /// Whether a batch of the segment was read.
    has_read: bool,
}

/// The rest of a piece whose bytes up to a position were read. A piece that ends there was not, or its offsets would not be asked for any
/// more: an index entry may lead behind it if its batch is displaced.
fn from_position(piece: Piece, reached: Option<Reached>) -> Piece {
    match (piece.bytes, reached) {
        (Some((begin, stop)), Some(Reached { index, position, expected, .. }))
            if piece.index == index && position > begin && position < stop =>
        {
            Piece { bytes: Some((position, stop)), expected, ..piece }
        }
        _ => piece,
    }
}
