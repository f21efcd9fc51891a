//! Records that a later one with the same key makes irrelevant, and which are then not decoded.
//!
//! Most records of `__consumer_offsets` are commits of an offset that is committed again soon after. A plain commit puts its value
//! whatever was there before, and lists its group, so that an earlier plain commit of the key changes nothing. That is not so for a
//! tombstone, which does not list a group and ends the offset in open transactions too, for commits in transactions, and for a commit that cannot be decoded. The last record of a
//! transactional id alone counts, also if it is a tombstone.

use crate::query::Table;
use crate::row::Row;
use kafkacomp_schemas::Decoded;
use std::collections::HashSet;

/// The keys of commits: the types 0 and 1.
const COMMIT_TYPES: [[u8; 2]; 2] = [[0, 0], [0, 1]];

/// The keys with a later record that supersedes earlier ones.
pub(super) struct Last<'a> {
    table: Table,
    keys: HashSet<(i32, &'a [u8])>,
}

impl<'a> Last<'a> {
    pub(super) fn new(table: Table) -> Self {
        Self { table, keys: HashSet::new() }
    }

    /// Decodes a record; none if it is superseded. Records must come in the reverse order of their offsets.
    pub(super) fn decode(&mut self, row: &Row<'a>) -> Option<Decoded<'a>> {
        let key = row.key.filter(|key| self.may_be_superseded(row, key)).map(|key| (row.partition, key));
        let counts_alone = row.value.is_some() || self.table == Table::Transactions;
        if counts_alone && key.is_some_and(|key| self.keys.contains(&key)) {
            return None;
        }
        let record = row.decode(self.table.topic());
        if let (Some(key), Decoded::Keyed { value, .. }) = (key, &record)
            && (value.is_some() || self.table == Table::Transactions)
        {
            self.keys.insert(key);
        }
        Some(record)
    }

    fn may_be_superseded(&self, row: &Row<'_>, key: &[u8]) -> bool {
        let is_plain = !row.is_control && row.origin.producer.is_none_or(|producer| !producer.is_transactional);
        is_plain
            && match self.table {
                Table::ConsumerOffsets | Table::Groups => COMMIT_TYPES.iter().any(|kind| key.starts_with(kind)),
                Table::Transactions => true,
                Table::ShareGroupState | Table::RemoteLogMetadata | Table::ClusterMetadata => false,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kafkacomp_schemas::json::{Origin, Producer};

    const KEY: &[u8] = b"\0\x01\0\x01g\0\x01t\0\0\0\0";
    const COMMIT: &[u8] = b"\0\x03\0\0\0\0\0\0\0\x07\xff\xff\xff\xff\0\0\0\0\0\0\0\0\0\0";

    fn row(value: Option<&'static [u8]>, is_transactional: bool) -> Row<'static> {
        let producer = Some(Producer { id: 1, epoch: 0, is_transactional });
        let origin = Origin { offset: 0, timestamp: 0, producer };
        Row { topic: "__consumer_offsets", partition: 0, origin, is_control: false, key: Some(KEY), value }
    }

    /// Whether each record is decoded, in the order of the log.
    fn decoded(rows: &[Row<'static>]) -> Vec<bool> {
        let mut last = Last::new(Table::ConsumerOffsets);
        let mut found: Vec<_> = rows.iter().rev().map(|row| last.decode(row).is_some()).collect();
        found.reverse();
        found
    }

    #[test]
    fn only_a_plain_commit_that_can_be_decoded_supersedes_a_plain_commit() {
        let (plain, tombstone) = (row(Some(COMMIT), false), row(None, false));
        let (transactional, unknown) = (row(Some(COMMIT), true), row(Some(b"\x7f\0"), false));
        assert_eq!(decoded(&[plain, plain, plain]), [false, false, true]);
        assert_eq!(decoded(&[plain, tombstone]), [true, true]);
        assert_eq!(decoded(&[tombstone, plain]), [true, true]);
        assert_eq!(decoded(&[plain, transactional]), [true, true]);
        assert_eq!(decoded(&[transactional, plain]), [true, true]);
        assert_eq!(decoded(&[plain, unknown]), [true, true]);
    }
}
