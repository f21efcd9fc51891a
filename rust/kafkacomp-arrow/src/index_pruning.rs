//! Index pruning: finds the position in a segment at which a scan can begin.
//!
//! No index may hide a record, even if it belongs to another segment or to an earlier version of this one. An entry of `.index`
//! is used if an intact batch begins at its position that is not after the requested offset: everything before that batch is
//! before the offset, too. An entry of `.timeindex` cannot be checked like this, because any batch before a position may have a
//! late timestamp. Therefore the batch headers are compared with the requested time, unless the source is remote
//! ([`ReadAt::is_remote`]). Then the last useful entry is trusted if its offset is in the segment and the batch with that offset
//! has its timestamp.

use kafkacomp_core::log::continuity::order_ahead::WINDOW;
use kafkacomp_core::log::index::offset::OffsetIndex;
use kafkacomp_core::log::index::time::{TimeIndex, TimestampOffset};
use kafkacomp_core::log::{BatchHeader, HeaderWalk, Hop, ReadAt, SideFile};

use crate::options::{ScanOptions, Segment};
use crate::report::ScanError;
use crate::whole_batch::{MOST_CHECKED, whole_batch};

/// The most gaps at which the batch before is verified; compaction leaves more.
const MOST_VERIFIED: usize = 64;

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
    /// The position of a batch at or before the first record within the bounds.
    ///
    /// # Errors
    /// The segment cannot be read.
    pub fn position(&self, start_offset: i64, options: &ScanOptions) -> Result<u64, ScanError> {
        let by_offset = self.by_offset(start_offset)?.max(self.begin);
        match options.start_timestamp {
            Some(start) if self.source.is_remote() => Ok(self.by_time_index(start)?.max(by_offset)),
            Some(start) => self.by_headers(by_offset, start_offset, start),
            None => Ok(by_offset),
        }
    }

    /// The position of the first batch that may have a record within the bounds. If it is less than [`WINDOW`] bytes after a
    /// gap, that of the batch before the gap, because both are needed to judge the gap. If offsets do not increase up to there or in the
    /// bytes after the gap, or if the headers may have led past other batches, it is `from`: only a scan of all can tell which
    /// batches are in place.
    fn by_headers(&self, from: u64, start_offset: i64, start: i64) -> Result<u64, ScanError> {
        let is_ordered = self.segment.base_offset.is_some();
        let mut walk = HeaderWalk::new(self.source, from, self.length);
        let mut before: Option<BatchHeader> = None;
        let mut found: Option<u64> = None;
        let (mut before_gap, mut look_ahead_to, mut gaps) = (from, 0, 0);
        loop {
            let position = walk.position();
            if let Some(found) = found
                && position >= look_ahead_to
            {
                return Ok(found);
            }
            let header = match self.hop(&mut walk)? {
                Hop::Batch(header) => header,
                end => {
                    let is_above_next = before.zip(self.next_base).is_some_and(|(last, next)| last.last_offset >= next);
                    return Ok(match before {
                        _ if is_above_next => from,
                        _ if end == Hop::End => found.unwrap_or(position),
                        // What follows corrupt bytes may contradict a gap before them.
                        Some(before) if position >= look_ahead_to && self.has_valid_checksum(&before)? => {
                            found.unwrap_or(before.position)
                        }
                        _ => from,
                    });
                }
            };
            if let Some(before) = before.filter(|_| is_ordered) {
                let is_next = header.span.first == Some(before.last_offset.saturating_add(1));
                if !header.is_above(&before) {
                    return Ok(from);
                }
                // A gap, or a wrapper whose first offset is not in its header.
                if found.is_none() && !is_next {
                    gaps += 1;
                    // A corrupt size may have led past some batches.
                    if gaps <= MOST_VERIFIED && !self.has_valid_checksum(&before)? {
                        return Ok(from);
                    }
                    (before_gap, look_ahead_to) = (before.position, position.saturating_add(WINDOW));
                }
            }
            before = Some(header);
            let is_before = is_ordered && header.last_offset < start_offset;
            // -1 is a missing timestamp, which does not bound those of the records.
            let is_early = (0..start).contains(&header.max_timestamp);
            if found.is_none() && !is_before && !is_early {
                found = Some(if position < look_ahead_to { before_gap } else { position });
            }
        }
    }

    /// Whether all records of a closed segment are earlier than `timestamp`, according to a time index that agrees with the
    /// segment.
    ///
    /// # Errors
    /// The segment cannot be read.
    pub fn is_earlier(&self, timestamp: i64) -> Result<bool, ScanError> {
        let (Some(base_offset), Some(data)) = (self.segment.base_offset, self.side_file(SideFile::TimeIndex)) else {
            return Ok(false);
        };
        match TimeIndex::parse(&data, base_offset).ok().and_then(|index| index.last()) {
            Some(last) if (0..timestamp).contains(&last.timestamp) => self.ends_before(last, timestamp),
            _ => Ok(false),
        }
    }

    /// Whether the batch with the offset of the index entry has its timestamp, and no batch after it is as late as `timestamp`: the
    /// index may have lost later entries.
    fn ends_before(&self, entry: TimestampOffset, timestamp: i64) -> Result<bool, ScanError> {
        let mut walk = HeaderWalk::new(self.source, self.by_offset(entry.offset)?, self.length);
        let mut agrees = false;
        loop {
            match self.hop(&mut walk)? {
                Hop::Batch(header) if header.last_offset < entry.offset => {}
                Hop::Batch(header) if !agrees && header.max_timestamp != entry.timestamp => return Ok(false),
                Hop::Batch(header) if header.max_timestamp >= timestamp => return Ok(false),
                Hop::Batch(_) => agrees = true,
                end => return Ok(agrees && end == Hop::End),
            }
        }
    }

    fn by_time_index(&self, start: i64) -> Result<u64, ScanError> {
        let (Some(base_offset), Some(data)) = (self.segment.base_offset, self.side_file(SideFile::TimeIndex)) else {
            return Ok(0);
        };
        let entry = match TimeIndex::parse(&data, base_offset) {
            // No record up to the offset of an entry is later than its timestamp.
            Ok(index) => index.iter().take_while(|entry| entry.timestamp < start).last(),
            Err(error) => {
                self.ignore(SideFile::TimeIndex, &error);
                None
            }
        };
        let Some(entry) = entry.filter(|entry| entry.timestamp >= 0) else { return Ok(0) };
        if !self.agrees(entry)? {
            let TimestampOffset { timestamp, offset } = entry;
            let fault = format!("no batch with offset {offset} has the greatest timestamp {timestamp}");
            self.ignore(SideFile::TimeIndex, &fault);
            return Ok(0);
        }
        self.by_offset(entry.offset.saturating_add(1))
    }

    /// Whether the batch with the entry's offset has its timestamp.
    fn agrees(&self, entry: TimestampOffset) -> Result<bool, ScanError> {
        let mut walk = HeaderWalk::new(self.source, self.by_offset(entry.offset)?, self.length);
        while let Hop::Batch(header) = self.hop(&mut walk)? {
            if header.last_offset >= entry.offset {
                return Ok(header.max_timestamp == entry.timestamp);
            }
        }
        Ok(false)
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
        let base_offset = self.segment.base_offset.filter(|_| last_offset < i64::MAX && self.source.is_remote())?;
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
