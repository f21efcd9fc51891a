//! Detects by the offset index that a segment was truncated between two batches.
//!
//! A gap at the end of a segment may be the result of compaction. Compaction rewrites the offset index with the segment, so an
//! entry for a position after the end shows that the segment was longer. An index of another segment proves nothing: an entry
//! within the segment must agree with its batch.

use std::io;
use std::sync::Arc;

use crate::error::{ContentError, ReadError};
use crate::index::offset::{OffsetIndex, OffsetPosition};
use crate::read::batch_headers::{HeaderWalk, Hop};
use crate::read::segment_files::OpenSegment;
use crate::read::source::ReadAt;

/// The number of entries of an index, from the last one backwards, that are compared with their batches.
pub(super) const COMPARED_ENTRIES: u64 = 16;

/// The error for a segment that ends before positions of its offset index, if the offsets `expected..end` are missing at its end. The
/// segment is opened only if the index has entries. An index that cannot be read has none, because it is derived from the segment.
///
/// # Errors
/// An I/O error of the segment.
pub fn truncation(
    files: &dyn OpenSegment,
    name: i64,
    open: impl FnOnce() -> io::Result<Arc<dyn ReadAt>>,
    range: (i64, i64),
) -> Result<Option<ContentError>, ReadError> {
    let data = files.offset_index();
    let index = OffsetIndex::parse(&data, name).ok().filter(|index| !index.is_empty());
    let Some(index) = index else { return Ok(None) };
    let entries: Vec<OffsetPosition> = index.iter().collect();
    shown_by(open()?.as_ref(), &entries, range)
}

fn shown_by(
    source: &dyn ReadAt,
    entries: &[OffsetPosition],
    (expected, end): (i64, i64),
) -> Result<Option<ContentError>, ReadError> {
    let length = source.length()?;
    let within = entries.partition_point(|entry| u64::from(entry.position) < length);
    let (within, after) = entries.split_at(within);
    let Some(entry) = after.first().filter(|entry| entry.offset >= expected) else { return Ok(None) };
    let last_entries = within.iter().rev().take(COMPARED_ENTRIES as usize).copied();
    if after.last().is_none_or(|last| last.offset >= end) || agreement(source, last_entries)? != Some(true) {
        return Ok(None);
    }
    Ok(Some(ContentError::TruncatedSegment { position: length, indexed: entry.offset }))
}

/// Whether entries agree with their batches; `None` if no intact header is at their positions.
pub(super) fn agreement(
    source: &dyn ReadAt,
    entries: impl IntoIterator<Item = OffsetPosition>,
) -> Result<Option<bool>, ReadError> {
    let length = source.length()?;
    let mut agrees = None;
    for entry in entries {
        let Hop::Batch(header) = HeaderWalk::new(source, entry.position.into(), length).next_batch()? else { continue };
        // Brokers before 0.10.1 wrote the first offset.
        let first = header.span.first.unwrap_or(header.last_offset);
        if !(first..=header.last_offset).contains(&entry.offset) {
            return Ok(Some(false));
        }
        agrees = Some(true);
    }
    Ok(agrees)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InMemory;
    use kafkacomp_records::CompressionType;
    use kafkacomp_records::compress::Compression;
    use kafkacomp_records::record::Headers;
    use kafkacomp_records::record::builder::{BatchSettings, RecordBatchBuilder};

    /// Four batches of ten records, and the index entries of all but the first one.
    fn segment() -> (Vec<u8>, Vec<OffsetPosition>) {
        let (mut out, mut entries) = (Vec::new(), Vec::new());
        for base_offset in [0, 10, 20, 30] {
            if base_offset > 0 {
                entries.push(OffsetPosition { offset: base_offset + 9, position: out.len() as u32 });
            }
            let mut builder = RecordBatchBuilder::default();
            let compression = Compression::of(CompressionType::None);
            builder.reset(BatchSettings { compression, base_offset, ..BatchSettings::default() }).unwrap();
            for offset in base_offset..base_offset + 10 {
                builder.append(offset, 7, None, Some(b"value"), Headers::EMPTY).unwrap();
            }
            builder.build(&mut out).unwrap();
        }
        (out, entries)
    }

    fn found(data: &[u8], entries: &[OffsetPosition], range: (i64, i64)) -> Option<ContentError> {
        shown_by(&InMemory(data), entries, range).unwrap()
    }

    #[test]
    fn an_index_with_more_entries_than_batches_shows_truncation() {
        let (data, entries) = segment();
        let length = entries[2].position as usize;
        let wanted = ContentError::TruncatedSegment { position: length as u64, indexed: 39 };
        assert_eq!(found(&data[..length], &entries, (30, 40)), Some(wanted));
        assert_eq!(found(&data, &entries, (40, 50)), None);
    }

    #[test]
    fn an_index_of_another_segment_shows_nothing() {
        let (data, entries) = segment();
        let length = entries[2].position as usize;
        // No entry within the segment; one that contradicts a batch; offsets of the next segment.
        assert_eq!(found(&data[..length], &entries[2..], (30, 40)), None);
        let mut moved = entries.clone();
        moved[1].offset += 10;
        assert_eq!(found(&data[..length], &moved, (30, 50)), None);
        assert_eq!(found(&data[..length], &entries, (30, 35)), None);
    }
}
