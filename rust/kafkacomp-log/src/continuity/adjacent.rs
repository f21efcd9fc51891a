//! The batches next to missing offsets. Their checksums identify the place at which offsets are missing: a log with the same
//! batches there lacks the same offsets.
//!
//! The header of a wrapper of magic 0 or 1 has its last offset only, so batches are ordered by their last offsets. Only batches
//! whose checksums are right count. If several files have some of these offsets, the batches are those of the files that should
//! have the offsets next to the missing ones, by their base offsets.

use crate::error::ReadError;
use crate::index::offset::OffsetIndex;
use crate::read::batch_headers::BatchHeader;
use crate::read::batch_headers::{HeaderWalk, Hop};
use crate::read::chunk::ChunkReader;
use crate::read::segment_files::OpenSegment;
use crate::read::source::ReadAt;
use crate::read::walk::{SegmentPart, walk_chunks};
use kafkacomp_records::record::{Batches, RecordBatch};

use std::ops::ControlFlow;

/// A segment in which batches are looked for.
#[derive(Debug, Clone, Copy)]
pub struct SearchedSegment<'a> {
    /// Its base offset.
    pub base_offset: i64,
    /// The offsets in it that are part of the log: the first, and the one after the last; `None` for all.
    pub valid: Option<(i64, i64)>,
    /// Its files.
    pub files: &'a dyn OpenSegment,
}

/// A batch before or after missing offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdjacentBatch {
    /// Its last offset.
    pub last_offset: i64,
    /// Its checksum.
    pub crc: u32,
    /// The timestamp of its first record, ms; the greatest one if the header does not contain it; -1 without timestamps.
    pub first_timestamp: i64,
    /// Its greatest timestamp, ms; -1 without timestamps.
    pub last_timestamp: i64,
}

impl AdjacentBatch {
    fn of(batch: &RecordBatch<'_>) -> Self {
        let BatchHeader { last_offset, first_timestamp, max_timestamp: last_timestamp, .. } = BatchHeader::of(batch);
        Self { last_offset, crc: batch.crc(), first_timestamp, last_timestamp }
    }
}

/// The batches before and after missing offsets; `None` at the start and the end of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Adjacent {
    /// The batch with the greatest last offset below the missing ones.
    pub before: Option<AdjacentBatch>,
    /// The batch with the least last offset above the missing ones.
    pub after: Option<AdjacentBatch>,
}

/// Finds the batches next to each range of missing offsets (first and last). The ranges are in order and do not overlap, the
/// segments are in the order of their base offsets. The segments that should have the adjacent offsets are read, from the last
/// entry of the offset index before them on, and the others only if those have no batch.
///
/// # Errors
/// The index of the segment that cannot be read, and the reason.
pub fn adjacent_batches(
    segments: &[SearchedSegment<'_>],
    ranges: &[(i64, i64)],
) -> Result<Vec<Adjacent>, (usize, ReadError)> {
    let mut search = Search { ranges, found: vec![Adjacent::default(); ranges.len()] };
    let at = |offset: i64| segments.partition_point(|segment| segment.base_offset <= offset).saturating_sub(1);
    // For each segment, the least offset before which a batch is looked for.
    let mut starts: Vec<Option<i64>> = vec![None; segments.len()];
    for &(first, last) in ranges {
        for start in
            starts.iter_mut().take(at(last.saturating_add(1)).saturating_add(1)).skip(at(first.saturating_sub(1)))
        {
            start.get_or_insert(first);
        }
    }
    let mut others = Vec::new();
    for (index, (segment, start)) in segments.iter().zip(&starts).enumerate() {
        match *start {
            Some(offset) => search.read(segment, Some(offset)).map_err(|error| (index, error))?,
            None => others.push((index, segment)),
        }
    }
    let is_found = |adjacent: &Adjacent| adjacent.before.is_some() && adjacent.after.is_some();
    if !search.settled().iter().all(is_found) {
        for (index, segment) in others {
            search.read(segment, None).map_err(|error| (index, error))?;
        }
    }
    Ok(search.settled())
}

struct Search<'a> {
    ranges: &'a [(i64, i64)],
    /// Of each range, the batches between it and the ranges next to it.
    found: Vec<Adjacent>,
}

impl Search<'_> {
    /// Reads a segment from the batches before `offset` on.
    fn read(&mut self, segment: &SearchedSegment<'_>, offset: Option<i64>) -> Result<(), ReadError> {
        let source = segment.files.open()?;
        let start = offset.map_or(0, |offset| position_before(segment.files, source.as_ref(), offset));
        let mut chunks = ChunkReader::new(start, source.length()?, true);
        let _: ControlFlow<()> = walk_chunks(source.as_ref(), &mut chunks, &mut |part, _| {
            if let SegmentPart::Batches { data, position } = part {
                for batch in Batches::new(data, position).map_while(Result::ok) {
                    let last = batch.last_offset();
                    if segment.valid.is_none_or(|(first, end)| (first..end).contains(&last)) {
                        self.add(last, &batch);
                    }
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok(())
    }

    fn add(&mut self, last: i64, batch: &RecordBatch<'_>) {
        let next = self.ranges.partition_point(|&(first, _)| first <= last);
        if let Some(Adjacent { before, .. }) = self.found.get_mut(next)
            && before.is_none_or(|known| known.last_offset < last)
        {
            *before = Some(AdjacentBatch::of(batch));
        }
        let earlier = self.ranges.partition_point(|&(_, end)| end < last);
        if let Some(Adjacent { after, .. }) = earlier.checked_sub(1).and_then(|at| self.found.get_mut(at))
            && after.is_none_or(|known| known.last_offset > last)
        {
            *after = Some(AdjacentBatch::of(batch));
        }
    }

    /// The batches before and after each range, also if another range is between them.
    fn settled(&self) -> Vec<Adjacent> {
        let mut settled = self.found.clone();
        let mut before = None;
        for adjacent in &mut settled {
            before = adjacent.before.or(before);
            adjacent.before = before;
        }
        let mut after = None;
        for adjacent in settled.iter_mut().rev() {
            after = adjacent.after.or(after);
            adjacent.after = after;
        }
        settled
    }
}

/// The position of a batch that ends before `offset`, by the offset index of the segment `files`, whose bytes are `source`; 0 if
/// there is no such entry, if an entry does not agree with the segment, or if the segment is remote, where the index and each
/// entry that is compared would take a request.
fn position_before(files: &dyn OpenSegment, source: &dyn ReadAt, offset: i64) -> u64 {
    if source.traits().is_remote() {
        return 0;
    }
    let data = files.offset_index();
    // Positions do not depend on the base offset, which the name may not show.
    let Ok(index) = OffsetIndex::parse(&data, 0) else { return 0 };
    let Ok(length) = source.length() else { return 0 };
    let mut base_offset = None;
    let mut last_offset = |at: usize| {
        let entry = index.get(at)?;
        let position = u64::from(entry.position);
        let Ok(Hop::Batch(header)) = HeaderWalk::sparse(source, position, length).next_batch() else { return None };
        // All entries are relative to the same base offset.
        let base = header.last_offset.wrapping_sub(entry.offset);
        (*base_offset.get_or_insert(base) == base).then_some((position, header.last_offset))
    };
    let (mut found, mut low, mut high) = (0, 0, index.len());
    while low < high {
        let middle = low.midpoint(high);
        let Some((position, last)) = last_offset(middle) else { return 0 };
        if last < offset {
            found = position;
            low = middle.saturating_add(1);
        } else {
            high = middle;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use super::*;
    use crate::{InMemory, ReadAt, SideFile};
    use kafkacomp_records::record::Headers;
    use kafkacomp_records::record::builder::{BatchSettings, RecordBatchBuilder};

    #[derive(Debug)]
    struct Files(Vec<u8>);

    impl OpenSegment for Files {
        fn open(&self) -> io::Result<Arc<dyn ReadAt>> {
            Ok(Arc::new(InMemory(self.0.clone())))
        }

        fn side_file(&self, _: SideFile) -> io::Result<Option<Vec<u8>>> {
            Ok(None)
        }
    }

    fn batch(offsets: std::ops::Range<i64>, timestamp: i64) -> Vec<u8> {
        let settings = BatchSettings { base_offset: offsets.start, ..BatchSettings::default() };
        let mut builder = RecordBatchBuilder::new(settings).unwrap();
        for offset in offsets {
            builder.append(offset, timestamp + offset, None, Some(b"v"), Headers::EMPTY).unwrap();
        }
        let mut out = Vec::new();
        builder.build(&mut out).unwrap();
        out
    }

    fn offsets(found: &[Adjacent]) -> Vec<(Option<i64>, Option<i64>)> {
        let last = |batch: Option<AdjacentBatch>| batch.map(|batch| batch.last_offset);
        found.iter().map(|adjacent| (last(adjacent.before), last(adjacent.after))).collect()
    }

    fn search(segments: &[(i64, Vec<Vec<u8>>)], ranges: &[(i64, i64)]) -> Vec<Adjacent> {
        let files: Vec<_> = segments.iter().map(|(base, batches)| (*base, Files(batches.concat()))).collect();
        let segments: Vec<_> = files
            .iter()
            .map(|(base_offset, files)| SearchedSegment { base_offset: *base_offset, valid: None, files })
            .collect();
        adjacent_batches(&segments, ranges).unwrap()
    }

    #[test]
    fn the_batches_next_to_missing_offsets_have_their_checksums_and_times() {
        let (one, other) = (batch(0..5, 1000), batch(10..15, 2000));
        let found = search(&[(0, vec![one.clone(), other.clone()])], &[(5, 9)]);
        let expected = |data: &[u8]| AdjacentBatch::of(&RecordBatch::new(data, 0).unwrap());
        assert_eq!(found, [Adjacent { before: Some(expected(&one)), after: Some(expected(&other)) }]);
        let Adjacent { before: Some(before), after: Some(after) } = found[0] else { panic!("{found:?}") };
        assert_eq!((before.last_timestamp, after.first_timestamp), (1004, 2010));
    }

    #[test]
    fn adjacent_batches_may_be_in_other_segments_or_beyond_another_range() {
        let segments = [(0, vec![batch(0..5, 0)]), (20, vec![]), (40, vec![batch(45..50, 0)]), (60, vec![])];
        let ranges = [(5, 39), (40, 44), (50, 70)];
        assert_eq!(offsets(&search(&segments, &ranges)), [(Some(4), Some(49)), (Some(4), Some(49)), (Some(49), None)]);
        let segments = [(0, vec![]), (20, vec![]), (40, vec![batch(40..50, 0)])];
        assert_eq!(offsets(&search(&segments, &[(0, 39)])), [(None, Some(49))]);
    }

    #[test]
    fn a_corrupt_batch_is_next_to_nothing() {
        let mut corrupt = batch(5..10, 0);
        *corrupt.last_mut().unwrap() ^= 1;
        let segments = [(0, vec![batch(0..5, 0), corrupt, batch(15..20, 0)])];
        assert_eq!(offsets(&search(&segments, &[(10, 14)])), [(Some(4), Some(19))]);
    }
}
