//! The state of a topic's partitions, replayed as their coordinators load them.

mod groups;
mod offsets;
mod partition;
mod remote;
mod share;
mod superseding;
mod transactions;

use crate::query::{Query, Table};
use crate::row::Row;
use crate::table::{ColumnOf, Rows};
use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use kafkacomp_arrow::{Partition, ScanReport};
use kafkacomp_log::MissingReason;
use partition::State;
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

/// The states of all partitions.
#[derive(Debug)]
pub(crate) struct States {
    query: Query,
    /// What the checkpoints say of each partition.
    cleaned_to: BTreeMap<i32, i64>,
    partitions: BTreeMap<i32, State>,
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
        let state = self.partitions.entry(row.partition).or_insert_with(|| State::new(query, cleaned_to));
        // Remote log metadata is not compacted: its keys do not matter.
        let key = row.key.filter(|_| !row.is_control && query.table != Table::RemoteLogMetadata);
        let counts = state.past.counts(row.at(), key);
        if counts {
            state.last = row.at();
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
            state.apply(row.origin, &record);
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
