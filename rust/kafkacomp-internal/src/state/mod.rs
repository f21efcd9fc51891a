//! The state of a topic's partitions, replayed as their coordinators load them.

mod groups;
mod offsets;
mod remote;
mod share;
mod superseding;
mod transactions;

use crate::as_of::{At, Past};
use crate::query::{Query, Table};
use crate::row::Row;
use crate::table::{Cell, ColumnOf, Rows};
use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use kafkacomp_arrow::{Partition, ScanReport};
use kafkacomp_log::MissingReason;
use kafkacomp_schemas::groups::Groups;
use kafkacomp_schemas::remote_segments::RemoteSegments;
use kafkacomp_schemas::share_groups::ShareGroups;
use kafkacomp_schemas::transactions::Transactions;
use kafkacomp_schemas::{Decoded, Struct, Topic};
use std::collections::BTreeMap;

/// The columns of the state of a table.
pub(crate) fn columns(table: Table) -> &'static [ColumnOf] {
    match table {
        Table::ConsumerOffsets => offsets::COLUMNS,
        Table::Groups => groups::COLUMNS,
        Table::Transactions => transactions::COLUMNS,
        Table::ShareGroupState => share::COLUMNS,
        // The cluster has views of its own.
        Table::RemoteLogMetadata | Table::ClusterMetadata => remote::COLUMNS,
    }
}

/// The place of a record in time.
pub(crate) fn at(row: &Row<'_>) -> At {
    At { offset: row.origin.offset, timestamp: row.origin.timestamp }
}

/// The states of all partitions.
#[derive(Debug)]
pub(crate) struct States {
    query: Query,
    /// What the checkpoints say of each partition.
    cleaned_to: BTreeMap<i32, i64>,
    partitions: BTreeMap<i32, State>,
}

/// The state of a partition.
#[derive(Debug)]
struct State {
    past: Past,
    replay: Replay,
    /// The last record that counts.
    last: At,
    /// The ranges of lost offsets that lie before the point in question.
    lost: Vec<(i64, i64)>,
}

#[derive(Debug)]
enum Replay {
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

impl States {
    pub(crate) fn new(query: Query, partitions: &[Partition]) -> Self {
        let cleaned_to = |each: &Partition| Some((each.partition.unwrap_or(-1), each.checkpoints.cleaned_to?));
        Self { query, cleaned_to: partitions.iter().filter_map(cleaned_to).collect(), partitions: BTreeMap::new() }
    }

    /// Whether a record counts. Records must come in the order of their offsets.
    pub(crate) fn counts(&mut self, row: &Row<'_>) -> bool {
        let query = self.query;
        let cleaned_to = self.cleaned_to.get(&row.partition).copied();
        let state = self.partitions.entry(row.partition).or_insert_with(|| State {
            past: Past::new(query.as_of, cleaned_to),
            replay: Replay::new(query.table),
            last: At { offset: -1, timestamp: -1 },
            lost: Vec::new(),
        });
        // Remote log metadata is not compacted: its keys do not matter.
        let key = row.key.filter(|_| !row.is_control && query.table != Table::RemoteLogMetadata);
        let counts = state.past.counts(at(row), key);
        if counts {
            state.last = at(row);
        }
        counts
    }

    /// Applies records that count. Of those with the same key, usually only the last is decoded.
    pub(crate) fn add(&mut self, rows: &[Row<'_>]) {
        let mut last = superseding::Last::new(self.query.table);
        let mut records: Vec<_> = rows.iter().rev().map(|row| last.decode(row)).collect();
        for row in rows {
            let Some(Some(record)) = records.pop() else { continue };
            let Some(state) = self.partitions.get_mut(&row.partition) else { continue };
            match &mut state.replay {
                Replay::Groups(groups) => groups.apply(row.origin, &record),
                Replay::Transactions(transactions) => transactions.apply(row.origin, &record),
                Replay::Share(groups) => groups.apply(row.origin, &record),
                Replay::Remote(segments) => segments.apply(&record),
            }
        }
    }

    /// The rows of all partitions. What a state lacks becomes a warning in the report.
    pub(crate) fn finish(&mut self, report: &mut ScanReport) -> Result<Vec<RecordBatch>, ArrowError> {
        let topic = self.query.table.topic().name();
        for missing in report.missing.ranges().iter().filter(|each| each.range.reason != MissingReason::Compacted) {
            if let Some(state) = self.partitions.get_mut(&missing.partition.unwrap_or(-1)) {
                let range = (missing.range.first_offset, missing.range.last_offset);
                if state.past.end().is_none_or(|end| range.0 < end) {
                    state.lost.push(range);
                }
            }
        }
        for (partition, state) in &self.partitions {
            if let Some(time) = state.past.complete_from() {
                let why = "compaction has removed records, and with them keys that the log no longer shows";
                report.warnings.push(format!("{topic}-{partition}: {why}: complete only as of {time} ms or later"));
            }
        }
        let mut rows = Rows::new(columns(self.query.table));
        match self.query.table {
            Table::ConsumerOffsets => offsets::push(&self.partitions, &mut rows)?,
            Table::Groups => groups::push(&self.partitions, &mut rows)?,
            Table::Transactions => transactions::push(&self.partitions, &mut rows)?,
            Table::ShareGroupState => share::push(&self.partitions, &mut rows)?,
            Table::RemoteLogMetadata | Table::ClusterMetadata => remote::push(&self.partitions, &mut rows)?,
        }
        rows.take()
    }
}

impl State {
    /// Whether records that were lost after an offset may have changed the row of a record at it.
    fn may_be_stale(&self, record_offset: i64) -> Cell<'static> {
        self.lost.iter().any(|(_, last)| *last > record_offset).into()
    }

    /// What is known of a key's value.
    fn complete_from(&self) -> Cell<'static> {
        self.past.complete_from().into()
    }

    /// Calls a function with the name of the type and the fields of each key whose value is unknown.
    fn for_unknown(
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
