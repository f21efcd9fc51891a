//! Index pruning: finds the position in a segment at which a scan can begin, and the segments that it need not read.
//!
//! No index may hide a record, even if it belongs to another segment or to an earlier version of this one. An entry of `.index`
//! is used if an intact batch begins at its position that is not after the requested offset: everything before that batch is
//! before the offset, too.
//!
//! A time bound skips whole segments only. Records decide within a segment that is read, because some writers understated the
//! greatest timestamp in the header of a batch. A segment is skipped if the headers of all its batches are earlier. From a remote
//! source ([`kafkacomp_log::SourceTraits::is_remote`]), not all headers are read: the last entry of `.timeindex` is trusted if the batch with its offset
//! has its timestamp and no batch after that one is later.

use kafkacomp_log::index::offset::OffsetIndex;
use kafkacomp_log::index::time::{TimeIndex, TimestampOffset};
use kafkacomp_log::map::in_order::{InOrder, Place};
use kafkacomp_log::{BatchHeader, HeaderWalk, Hop, ReadAt, SideFile};

use crate::options::Segment;
use crate::plan::whole_batch::{MOST_CHECKED, whole_batch};
use crate::report::ScanError;

/// The most gaps at which the batch before is verified; compaction leaves more.
const MOST_VERIFIED: usize = 64;

/// A segment that a time bound skips.
#[derive(Debug, Clone, Copy)]
pub struct Earlier {
    /// The offset after its last one.
    pub end: i64,
    /// Whether compaction has removed records from one of the batches whose headers were read.
    pub is_compacted: bool,
}

/// Finds the position at which reading a segment begins.
pub struct Start<'s> {
    /// The segment.
    pub segment: &'s Segment,
    /// The bytes of the segment.
    pub source: &'s dyn ReadAt,
    /// The length of the segment.
    pub length: u64,
    /// The position at which reading begins without bounds, at a batch.
    pub begin: u64,
    /// The base offset of the next segment.
    pub next_base: Option<i64>,
    /// Called with a warning if an index is ignored.
    pub warn: &'s dyn Fn(String),
}

impl Start<'_> {
    /// The position of a batch at or before the first record from `start_offset` on.
    ///
    /// # Errors
    /// The segment cannot be read.
    pub fn position(&self, start_offset: i64) -> Result<u64, ScanError> {
        let position = self.by_offset(start_offset)?.max(self.begin);
        // A page that was written over the beginning may have what the index does not lead to.
        if position > self.begin
            && !self.source.traits().is_remote()
            && let Ok(Hop::Batch(first)) = HeaderWalk::new(self.source, self.begin, self.length).next_batch()
            && first.last_offset >= start_offset
        {
            return Ok(self.begin);
        }
        Ok(position)
    }

    /// What the headers show of the segment if all its records are earlier than `timestamp` according to them. `None` if one may be
    /// later, if the segment has no base offset, or if only its records can show which batches are in place: at corruption, or
    /// where offsets do not increase.
    ///
    /// # Errors
    /// The segment cannot be read.
    pub fn earlier(&self, timestamp: i64) -> Result<Option<Earlier>, ScanError> {
        let Some(base_offset) = self.segment.base_offset else { return Ok(None) };
        if !self.source.traits().is_remote() {
            return self.all_earlier(HeaderWalk::sparse(self.source, 0, self.length), timestamp, None);
        }
        let index = self.side_file(SideFile::TimeIndex);
        let index = index.and_then(|data| match TimeIndex::parse(&data, base_offset) {
            Ok(index) => index.last(),
            Err(error) => {
                self.ignore(SideFile::TimeIndex, &error);
                None
            }
        });
        let Some(last) = index.filter(|last| (0..timestamp).contains(&last.timestamp)) else { return Ok(None) };
        let walk = HeaderWalk::new(self.source, self.by_offset(last.offset)?, self.length);
        self.all_earlier(walk, timestamp, Some(last))
    }

    /// Whether the batches of `walk` are all earlier than `timestamp`, and the batch with the offset of the index entry has its
    /// timestamp.
    fn all_earlier(
        &self,
        mut walk: HeaderWalk<'_>,
        timestamp: i64,
        entry: Option<TimestampOffset>,
    ) -> Result<Option<Earlier>, ScanError> {
        let mut order = InOrder::new(self.segment.base_offset_or_zero(), i64::MAX);
        let mut awaited = entry;
        let (mut before, mut unverified, mut is_compacted): (Option<BatchHeader>, _, _) = (None, MOST_VERIFIED, false);
        loop {
            let header = match self.hop(&mut walk)? {
                Hop::Batch(header) => header,
                Hop::End if awaited.is_none() => break,
                _ => return Ok(None),
            };
            // Records of magic 0 have no timestamp. -1 is a missing timestamp, which does not bound those of the records.
            let is_early = header.magic == 0 || (0..timestamp).contains(&header.max_timestamp);
            let place = order.place(header.span.first, header.last_offset);
            if !is_early || place == Place::OutOfOrder {
                return Ok(None);
            }
            order.pass(header.last_offset);
            if let Some(entry) = awaited.take_if(|entry| header.last_offset >= entry.offset)
                && header.max_timestamp != entry.timestamp
            {
                let TimestampOffset { timestamp, offset } = entry;
                let fault = format!("no batch with offset {offset} has the greatest timestamp {timestamp}");
                self.ignore(SideFile::TimeIndex, &fault);
                return Ok(None);
            }
            if let Some(before) = before {
                let is_next = place == Place::Next && header.span.first.is_some();
                // At a gap, a corrupt size may have led past some batches. Compaction leaves many gaps.
                if !is_next && unverified > 0 {
                    unverified -= 1;
                    if !self.has_valid_checksum(&before)? {
                        return Ok(None);
                    }
                }
            }
            let offsets = header.last_offset.saturating_sub(header.span.first.unwrap_or(header.last_offset));
            is_compacted |= header.records_count.is_some_and(|count| i64::from(count) <= offsets);
            before = Some(header);
        }
        let Some(header) = before else { return Ok(None) };
        let end = header.last_offset.saturating_add(1);
        let is_in_order = match self.next_base {
            Some(next) if end != next => end < next && self.has_valid_checksum(&header)?,
            _ => true,
        };
        Ok(is_in_order.then_some(Earlier { end, is_compacted }))
    }

    /// The position of a batch at or before this offset, by the offset index; 0 if no entry is right.
    ///
    /// # Errors
    /// The segment cannot be read.
    pub fn by_offset(&self, offset: i64) -> Result<u64, ScanError> {
        let Some(base_offset) = self.segment.base_offset.filter(|&base| offset > base) else { return Ok(0) };
        let Some(data) = self.side_file(SideFile::OffsetIndex) else { return Ok(0) };
        let index = match OffsetIndex::parse(&data, base_offset) {
            Ok(index) => index,
            Err(error) => {
                self.ignore(SideFile::OffsetIndex, &error);
                return Ok(0);
            }
        };
        let entry = index.lookup(offset);
        let position = u64::from(entry.position);
        if position == 0 || (entry.offset <= offset && self.is_intact(position, entry.offset)?) {
            return Ok(position);
        }
        self.ignore(SideFile::OffsetIndex, &format!("no batch begins at its entry for offset {}", entry.offset));
        Ok(0)
    }

    /// The position after the batch with `last_offset`, by the offset index: a hint for how far to read from a remote source.
    /// `None` if there is no end offset, or the source is local.
    pub fn likely_stop(&self, last_offset: i64) -> Option<u64> {
        let base_offset =
            self.segment.base_offset.filter(|_| last_offset < i64::MAX && self.source.traits().is_remote())?;
        let data = self.side_file(SideFile::OffsetIndex)?;
        let index = OffsetIndex::parse(&data, base_offset).ok()?;
        // The first entry after the offset may be that of the batch with the offset.
        index.iter().filter(|entry| entry.offset > last_offset).nth(1).map(|entry| u64::from(entry.position))
    }

    /// Whether an intact batch that may end with `offset` begins at `position`.
    fn is_intact(&self, position: u64, offset: i64) -> Result<bool, ScanError> {
        let Hop::Batch(header) = self.hop(&mut HeaderWalk::new(self.source, position, self.length))? else {
            return Ok(false);
        };
        Ok(leads_to(&header, offset) && self.has_valid_checksum(&header)?)
    }

    fn has_valid_checksum(&self, header: &BatchHeader) -> Result<bool, ScanError> {
        let mut buffer = Vec::new();
        let batch = whole_batch(self.source, header, MOST_CHECKED, &mut buffer)
            .map_err(|error| ScanError::io(&self.segment.name, error))?;
        Ok(batch.is_some_and(|batch| batch.is_valid()))
    }

    fn hop(&self, walk: &mut HeaderWalk<'_>) -> Result<Hop, ScanError> {
        walk.next_batch().map_err(|error| ScanError::chunk(&self.segment.name, error))
    }

    fn side_file(&self, kind: SideFile) -> Option<Vec<u8>> {
        match self.segment.files.side_file(kind) {
            Ok(data) => data,
            Err(error) => {
                self.ignore(kind, &error);
                None
            }
        }
    }

    fn ignore(&self, kind: SideFile, reason: &dyn std::fmt::Display) {
        (self.warn)(format!("{}: .{} ignored: {reason}", self.segment.name, kind.suffix()));
    }
}

/// Whether the batch begins at or before an offset.
fn leads_to(header: &BatchHeader, offset: i64) -> bool {
    header.offset_field <= offset
}
