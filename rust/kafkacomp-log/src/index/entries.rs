//! The last entries of an index file, without reading all of it: the index of an active segment is preallocated, and may have 10 MiB
//! of zeros (`segment.index.bytes`).

use std::io;
use std::sync::Arc;

use crate::read::source::{ReadAt, read_part};

/// An index file with entries of `N` bytes.
pub struct IndexEntries<const N: usize> {
    source: Arc<dyn ReadAt>,
    /// The number of entries before the zeros at the end.
    count: u64,
    is_preallocated: bool,
}

impl<const N: usize> IndexEntries<N> {
    /// Finds the end of the entries.
    ///
    /// # Errors
    /// An I/O error.
    pub fn new(source: Arc<dyn ReadAt>) -> io::Result<Self> {
        let capacity = source.length()?.checked_div(N as u64).unwrap_or_default();
        let mut entries = Self { source, count: capacity, is_preallocated: false };
        let last = capacity.checked_sub(1).and_then(|last| entries.get(last));
        if last.is_some_and(|last| last == [0; N]) {
            entries.count = entries.partition_point(|entry| *entry != [0; N]);
            entries.is_preallocated = true;
        }
        Ok(entries)
    }

    /// Whether it ends with zeros.
    pub fn is_preallocated(&self) -> bool {
        self.is_preallocated
    }

    /// The last entry; `None` if there is none, or if it cannot be read.
    pub fn last(&self) -> Option<[u8; N]> {
        self.get(self.count.checked_sub(1)?)
    }

    /// Up to `most` entries before the first one that `is_before` is false for.
    pub fn before(&self, most: u64, is_before: impl Fn(&[u8; N]) -> bool) -> impl Iterator<Item = [u8; N]> {
        let end = self.partition_point(is_before);
        (end.saturating_sub(most)..end).filter_map(|at| self.get(at))
    }

    fn partition_point(&self, is_before: impl Fn(&[u8; N]) -> bool) -> u64 {
        let (mut begin, mut end) = (0, self.count);
        while begin < end {
            let middle = begin + (end - begin) / 2;
            if self.get(middle).is_some_and(|entry| is_before(&entry)) {
                begin = middle + 1;
            } else {
                end = middle;
            }
        }
        begin
    }

    fn get(&self, at: u64) -> Option<[u8; N]> {
        let position = at.checked_mul(N as u64)?;
        read_part(self.source.as_ref(), position, N, &mut Vec::new()).ok()?.try_into().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::segment_files::{MemorySegment, OpenSegment};

    fn entries(data: &[[u8; 2]]) -> IndexEntries<2> {
        IndexEntries::new(MemorySegment(Arc::new(data.concat())).open().unwrap()).unwrap()
    }

    #[test]
    fn zeros_at_the_end_are_no_entries() {
        for count in 0..20_u8 {
            for zeros in 0..20 {
                let mut data: Vec<[u8; 2]> = (1..=count).map(|number| [0, number]).collect();
                data.resize(data.len() + zeros, [0; 2]);
                let found = entries(&data);
                assert_eq!(found.last(), (count > 0).then_some([0, count]));
                assert_eq!(found.is_preallocated(), zeros > 0);
                let before: Vec<[u8; 2]> = found.before(3, |entry| entry[1] <= 7).collect();
                let end = count.min(7);
                let expected: Vec<[u8; 2]> = (end.saturating_sub(3)..end).map(|before| [0, before + 1]).collect();
                assert_eq!(before, expected);
            }
        }
    }
}
