//! Rule 7: what is missing, and why.
//!
//! The missing offsets are the complement of what is delivered, from the first name or batch to the last, or to the offset that the
//! log had reached, cut at the names of the files.

use super::contested::Contested;
use super::facts::{BatchId, Fact};
use super::hints::Hints;
use super::placed::Placed;
use super::ranges::OffsetRange;
use super::segment::{SegmentMap, Use};
use crate::continuity::compaction::Compaction;
use crate::continuity::missing::MissingReason;

/// Offsets that are not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissingOffsets {
    /// The offsets; at least one.
    pub offsets: OffsetRange,
    /// Why they are missing.
    pub reason: MissingReason,
    /// The number of the file that should have them.
    pub file: usize,
}

/// What the reasons are judged by.
pub(super) struct Uses<'m> {
    /// The judgements of the files.
    pub(super) maps: &'m [SegmentMap],
    /// The use of a batch that is not in place in its own file.
    pub(super) use_of: &'m dyn Fn(BatchId) -> Option<Use>,
}

/// The missing offsets, in order.
pub(super) fn missing(placed: &Placed<'_>, uses: &Uses<'_>, hints: Hints) -> Vec<MissingOffsets> {
    let reached = hints.reached.map(|witness| witness.end());
    let holes = holes(placed, uses.maps, reached);
    if holes.is_empty() {
        return Vec::new();
    }
    let reasons = Reasons { reached, ..Reasons::new(placed, uses) };
    let mut compaction = hints.compaction;
    if compaction == Compaction::Unknown {
        compaction = compaction.or_thinned(placed.is_thinned());
    }
    holes.into_iter().flat_map(|(hole, file)| reasons.explain(hole, file, compaction)).collect()
}

/// The offsets between placed batches, each with the file in which they should be.
///
/// A name that is not believed counts as well: it may be right, and the content that of another file. So does the offset that the log
/// had reached.
fn holes(placed: &Placed<'_>, maps: &[SegmentMap], reached: Option<i64>) -> Vec<(OffsetRange, usize)> {
    let names: Vec<i64> = placed.files().iter().map(|file| file.name).collect();
    let (Some(&first), Some(&last)) = (names.first(), names.last()) else { return Vec::new() };
    let delivered = placed.in_offset_order().map(|placement| placement.offsets);
    let mut holes = Vec::new();
    let mut expected = None;
    let end = reached.map_or(last, |reached| reached.max(last));
    for offsets in delivered.chain(OffsetRange::new(end, end)) {
        let start = expected.unwrap_or(first.min(offsets.start()));
        let parts = cut(&names, start, offsets.start());
        holes.extend(parts.map(|(part, file)| (part, owner(&names, maps, file))));
        expected = Some(offsets.end().max(start));
    }
    holes
}

/// The offsets from `start` to before `end`, cut at the names, each part with the number of the file that should have it.
fn cut(names: &[i64], mut start: i64, end: i64) -> impl Iterator<Item = (OffsetRange, usize)> {
    let mut later = names.partition_point(|&name| name <= start);
    std::iter::from_fn(move || {
        let until = names.get(later).map_or(end, |&name| name.min(end));
        let part = OffsetRange::new(start, until).filter(|part| !part.is_empty())?;
        let file = later.saturating_sub(1);
        later += names.get(later..)?.partition_point(|&name| name <= until);
        start = until;
        Some((part, file))
    })
}

/// Of the files with the same name as this one, the one that has a window.
fn owner(names: &[i64], maps: &[SegmentMap], file: usize) -> usize {
    let has_window = |&other: &usize| {
        let window = maps.get(other).and_then(SegmentMap::window);
        window.is_some_and(|window| !window.is_empty())
    };
    let same = (0..=file).rev().take_while(|&other| names.get(other) == names.get(file));
    same.into_iter().find(has_window).unwrap_or(file)
}

/// Decides the reasons of holes.
struct Reasons<'a, 'f> {
    placed: &'a Placed<'f>,
    /// What is wrong in each file; `None` if nothing is.
    wrong: Vec<Option<Wrong>>,
    /// Batches that are out of place in their own window, by the ends of their offsets.
    contested: Contested,
    maps: &'a [SegmentMap],
    /// The offset that the log had reached, if it is known.
    reached: Option<i64>,
}

impl<'a, 'f> Reasons<'a, 'f> {
    fn new(placed: &'a Placed<'f>, uses: &Uses<'a>) -> Self {
        let files = placed.files().iter().zip(uses.maps).enumerate();
        let wrong = files.clone().map(|(file, (segment, map))| {
            let is_intact = map.is_in_order() && segment.facts.iter().all(|fact| fact.batch().is_some());
            (!is_intact)
                .then(|| Wrong::new(segment.facts, |index| is_wrong(uses, map, BatchId { file, index }, segment.facts)))
        });
        let wrong = wrong.collect();
        let contested = files.flat_map(|(file, (segment, map))| {
            let others = map.others.iter().flat_map(|stretch| stretch.batches(segment.facts));
            let is_out_of_place =
                move |index| matches!((uses.use_of)(BatchId { file, index }), Some(Use::OutOfPlace { .. }));
            let in_window = |offsets| map.window.is_some_and(|window| window.contains(offsets));
            let contested = others.filter(move |(index, batch)| is_out_of_place(*index) && in_window(batch.offsets()));
            contested.map(|(_, batch)| batch.offsets())
        });
        let contested = Contested::new(contested.collect());
        Self { placed, wrong, contested, maps: uses.maps, reached: None }
    }

    /// The parts of a hole with their reasons.
    fn explain(
        &self,
        hole: OffsetRange,
        file: usize,
        compaction: Compaction,
    ) -> impl Iterator<Item = MissingOffsets> + use<> {
        let reason = self.reason(hole, file);
        // What a log had at its end, the cleaner had not processed, but for what its checkpoint says.
        let is_end = self.is_end(hole, file);
        let cleaned_to = match compaction {
            _ if reason.is_some() => hole.start(),
            Compaction::To(offset) => offset.clamp(hole.start(), hole.end()),
            Compaction::Somewhere if !is_end => hole.end(),
            Compaction::Unknown | Compaction::Somewhere => hole.start(),
        };
        let reason = reason.unwrap_or(if is_end { MissingReason::Truncated } else { MissingReason::Gap });
        let parts = [
            (OffsetRange::new(hole.start(), cleaned_to), MissingReason::Compacted),
            (OffsetRange::new(cleaned_to, hole.end()), reason),
        ];
        let parts = parts
            .into_iter()
            .filter_map(move |(offsets, reason)| Some(MissingOffsets { offsets: offsets?, reason, file }));
        parts.filter(|part| !part.offsets.is_empty())
    }

    /// Whether a hole is that at the end of the log, which had reached the offset after it.
    fn is_end(&self, hole: OffsetRange, file: usize) -> bool {
        file + 1 == self.maps.len() && self.reached == Some(hole.end())
    }

    /// The reason of a hole, by what the file has between the batches in place around it; `None` if nothing is wrong there, as
    /// where batches were compacted.
    fn reason(&self, hole: OffsetRange, file: usize) -> Option<MissingReason> {
        if self.contested.overlaps(hole) {
            return Some(MissingReason::Corrupt);
        }
        let segment = self.placed.files().get(file)?;
        let around = self.placed.facts_around(file, hole);
        let is_tail = around.end == segment.facts.len();
        if let Some(wrong) = self.wrong.get(file).and_then(Option::as_ref) {
            // Nothing was preallocated where batches are known to have been.
            let may_be_preallocated = is_tail && file + 1 == self.maps.len() && !self.is_end(hole, file);
            let found = wrong.within(around, may_be_preallocated);
            let has_home = self.placed.last_in_place(file).is_some();
            if found.facts > 0 {
                // A file that has nothing but batches of other places is not corrupt: what should be in it is not there.
                let is_corrupt = has_home || found.ranges > 0;
                return Some(if is_corrupt { MissingReason::Corrupt } else { MissingReason::Truncated });
            }
        }
        (is_tail && segment.is_truncated).then_some(MissingReason::Truncated)
    }
}

/// Whether a fact shows that something happened to its file. A copy of what is beyond the window is harmless.
fn is_wrong(uses: &Uses<'_>, map: &SegmentMap, id: BatchId, facts: &[Fact]) -> bool {
    let Some(batch) = facts.get(id.index).and_then(Fact::batch) else { return true };
    match (uses.use_of)(id) {
        Some(Use::OutOfPlace { .. }) => true,
        Some(Use::Repeat { .. }) => map.window.is_none_or(|window| batch.offsets().start() < window.end()),
        _ => false,
    }
}

/// How much is wrong in each prefix of a file's facts.
struct Wrong {
    /// For each number of facts.
    before: Vec<Found>,
    /// The last fact that is wrong, if it is zeros.
    zeros: Option<usize>,
}

/// What is wrong.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    /// The number of facts.
    facts: usize,
    /// The number of those that are not batches.
    ranges: usize,
}

impl Wrong {
    fn new(facts: &[Fact], is_wrong: impl Fn(usize) -> bool) -> Self {
        let mut before = Vec::with_capacity(facts.len() + 1);
        let mut found = Found::default();
        let mut zeros = None;
        before.push(found);
        for (index, fact) in facts.iter().enumerate() {
            if is_wrong(index) {
                found.facts += 1;
                found.ranges += usize::from(fact.batch().is_none());
                zeros = matches!(fact, Fact::Zeros(_)).then_some(index);
            }
            before.push(found);
        }
        Self { before, zeros }
    }

    /// What is wrong among some facts. Zeros at the end of a file that may be preallocated are not.
    fn within(&self, facts: std::ops::Range<usize>, may_be_preallocated: bool) -> Found {
        let at = |count: usize| self.before.get(count).copied().unwrap_or_default();
        let (start, end) = (at(facts.start), at(facts.end));
        let expected = usize::from(may_be_preallocated && self.zeros.is_some_and(|index| facts.contains(&index)));
        Found {
            facts: end.facts.saturating_sub(start.facts + expected),
            ranges: end.ranges.saturating_sub(start.ranges + expected),
        }
    }
}
