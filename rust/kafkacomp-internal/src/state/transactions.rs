//! Transactional ids.

use super::partition::{Replay, State};
use crate::table::{Cell, ColumnOf, Kind, Rows, time};
use arrow_schema::ArrowError;
use kafkacomp_schemas::Topic;
use kafkacomp_schemas::transactions::Transaction;
use std::collections::BTreeMap;

pub(crate) const COLUMNS: &[ColumnOf] = &[
    ("transactionalId", Kind::Text),
    ("state", Kind::Text),
    ("status", Kind::Text),
    ("isOpen", Kind::Bool),
    ("producerId", Kind::Int64),
    ("producerEpoch", Kind::Int16),
    ("timeoutMs", Kind::Int32),
    ("startTimestamp", Kind::Time),
    ("lastUpdateTimestamp", Kind::Time),
    ("partitions", Kind::Texts),
    ("mayBeStale", Kind::Bool),
    ("completeFrom", Kind::Time),
    ("recordPartition", Kind::Int32),
    ("recordOffset", Kind::Int64),
];

/// Appends a row for each transactional id, sorted.
pub(super) fn push(partitions: &BTreeMap<i32, State>, rows: &mut Rows) -> Result<(), ArrowError> {
    let mut found = Vec::new();
    for (number, state) in partitions {
        if let Replay::Transactions(replay) = &state.replay {
            found.extend(replay.iter().map(|(id, transaction)| (id, *number, state, transaction)));
        }
    }
    found.sort_unstable_by_key(|(id, number, ..)| (*id, *number));
    for (id, number, state, transaction) in found {
        row(rows, number, state, id, transaction)?;
    }
    for (number, state) in partitions {
        state.for_unknown(Topic::TransactionState, |_, key| {
            let id = key.text("transactionalId").map_or(Cell::Null, Cell::Text);
            let mut cells = vec![id, Cell::Null, "unknown".into()];
            cells.extend(std::iter::repeat_n(Cell::Null, 8));
            cells.extend([state.complete_from(), (*number).into(), Cell::Null]);
            rows.push(&cells)
        })?;
    }
    Ok(())
}

fn row(rows: &mut Rows, number: i32, state: &State, id: &str, of: &Transaction) -> Result<(), ArrowError> {
    let partitions = of.partitions.iter().flat_map(|(topic, ids)| ids.iter().map(move |id| format!("{topic}-{id}")));
    rows.push(&[
        id.into(),
        of.state().into(),
        "known".into(),
        of.is_open().into(),
        of.producer_id.into(),
        of.producer_epoch.into(),
        of.timeout_ms.into(),
        of.start_timestamp.into(),
        time(of.last_update_timestamp),
        Cell::Texts(partitions.collect()),
        state.may_be_stale(of.record_offset),
        Cell::Null,
        number.into(),
        of.record_offset.into(),
    ])
}
