//! The state of one partition.

use crate::as_of::{At, Past};
use crate::query::{Query, Table};
use crate::table::Cell;
use arrow_schema::ArrowError;
use kafkacomp_schemas::groups::Groups;
use kafkacomp_schemas::json::Origin;
use kafkacomp_schemas::remote_segments::RemoteSegments;
use kafkacomp_schemas::share_groups::ShareGroups;
use kafkacomp_schemas::transactions::Transactions;
use kafkacomp_schemas::{Decoded, Struct, Topic};

/// The state of a partition.
#[derive(Debug)]
pub(super) struct State {
    pub past: Past,
    pub replay: Replay,
    /// The last record that counts.
    pub last: At,
    /// The ranges of lost offsets that lie before the point in question.
    pub lost: Vec<(i64, i64)>,
}

/// What replays the records of a partition.
#[derive(Debug)]
pub(super) enum Replay {
    Groups(Groups),
    Transactions(Transactions),
    Share(ShareGroups),
    Remote(RemoteSegments),
}

impl Replay {
    fn new(table: Table) -> Self {
        match table {
            Table::ConsumerOffsets | Table::Groups => Self::Groups(Groups::default()),
            Table::Transactions => Self::Transactions(Transactions::default()),
            Table::ShareGroupState => Self::Share(ShareGroups::default()),
            Table::RemoteLogMetadata | Table::ClusterMetadata => Self::Remote(RemoteSegments::default()),
        }
    }
}

impl State {
    /// The state before the first record.
    pub fn new(query: Query, cleaned_to: Option<i64>) -> Self {
        Self {
            past: Past::new(query.as_of, cleaned_to),
            replay: Replay::new(query.table),
            last: At { offset: -1, timestamp: -1 },
            lost: Vec::new(),
        }
    }

    /// Applies a record.
    pub fn apply(&mut self, origin: Origin, record: &Decoded<'_>) {
        match &mut self.replay {
            Replay::Groups(groups) => groups.apply(origin, record),
            Replay::Transactions(transactions) => transactions.apply(origin, record),
            Replay::Share(groups) => groups.apply(origin, record),
            Replay::Remote(segments) => segments.apply(record),
        }
    }

    /// Whether records that were lost after an offset may have changed the row of a record at it.
    pub fn may_be_stale(&self, record_offset: i64) -> Cell<'static> {
        self.lost.iter().any(|(_, last)| *last > record_offset).into()
    }

    /// What is known of a key's value.
    pub fn complete_from(&self) -> Cell<'static> {
        self.past.complete_from().into()
    }

    /// Calls a function with the name of the type and the fields of each key whose value is unknown.
    pub fn for_unknown(
        &self,
        topic: Topic,
        mut each: impl FnMut(&str, &Struct<'_>) -> Result<(), ArrowError>,
    ) -> Result<(), ArrowError> {
        for key in self.past.unknown() {
            // Without a value, the key is decoded as that of a tombstone.
            if let Decoded::Keyed { kind, key, .. } = topic.decode(Some(key), None) {
                each(&kind.name, &key.fields)?;
            }
        }
        Ok(())
    }
}
