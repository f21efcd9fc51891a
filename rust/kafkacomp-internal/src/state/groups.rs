//! Groups of all types.

use super::partition::{Replay, State};
use crate::table::{Cell, ColumnOf, Kind, Rows};
use arrow_schema::ArrowError;
use kafkacomp_schemas::groups::Group;
use kafkacomp_schemas::{Decoded, Topic};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const COLUMNS: &[ColumnOf] = &[
    ("groupId", Kind::Text),
    ("type", Kind::Text),
    ("state", Kind::Text),
    ("status", Kind::Text),
    ("protocolType", Kind::Text),
    ("protocol", Kind::Text),
    ("epoch", Kind::Int32),
    ("assignmentEpoch", Kind::Int32),
    ("leader", Kind::Text),
    ("members", Kind::Texts),
    ("isSimple", Kind::Bool),
    ("mayBeStale", Kind::Bool),
    ("completeFrom", Kind::Time),
    ("recordPartition", Kind::Int32),
];

/// Appends a row for each group, sorted by id.
pub(super) fn push(partitions: &BTreeMap<i32, State>, rows: &mut Rows) -> Result<(), ArrowError> {
    let mut groups = BTreeMap::new();
    for (number, state) in partitions {
        if let Replay::Groups(replay) = &state.replay {
            let unknown = unknown(state)?;
            let known = replay.groups().filter(|(id, _)| !unknown.contains(*id));
            groups.extend(known.map(|(id, group)| ((id.to_owned(), *number), (state, Some(group)))));
            groups.extend(unknown.into_iter().map(|id| ((id, *number), (state, None))));
        }
    }
    for ((id, number), (state, group)) in &groups {
        if let Some(group) = group {
            row(rows, *number, state, id, group)?;
        } else {
            let mut cells = vec![id.as_str().into(), Cell::Null, Cell::Null, "unknown".into()];
            cells.extend(std::iter::repeat_n(Cell::Null, 8));
            cells.extend([state.complete_from(), (*number).into()]);
            rows.push(&cells)?;
        }
    }
    Ok(())
}

/// The groups of which a record may lack. The first record of an offset after the point does not change a group that is there.
fn unknown(state: &State) -> Result<BTreeSet<String>, ArrowError> {
    let (mut unknown, mut by_offset) = (BTreeSet::new(), BTreeSet::new());
    state.for_unknown(Topic::ConsumerOffsets, |name, key| {
        let Some(id) = key.text("group").or_else(|| key.text("groupId")) else { return Ok(()) };
        let of_offset = matches!(name, "OffsetCommit" | "LegacyOffsetCommit");
        let ids = if of_offset { &mut by_offset } else { &mut unknown };
        ids.insert(id.into_owned());
        Ok(())
    })?;
    if !by_offset.is_empty() {
        for key in state.past.seen() {
            if let Decoded::Keyed { key, .. } = Topic::ConsumerOffsets.decode(Some(key), None)
                && let Some(id) = key.fields.text("group").or_else(|| key.fields.text("groupId"))
            {
                by_offset.remove(&*id);
            }
        }
    }
    unknown.append(&mut by_offset);
    Ok(unknown)
}

fn row(rows: &mut Rows, number: i32, state: &State, id: &str, group: &Group) -> Result<(), ArrowError> {
    let (protocol, epoch, assignment_epoch, leader, members, is_simple) = match group {
        Group::Classic(group) => {
            let members = group.members.clone();
            let epoch = (!group.is_simple).then_some(group.generation);
            (group.protocol.as_deref(), epoch, None, group.leader.as_deref(), members, group.is_simple)
        }
        Group::Modern { epoch, assignment_epoch, members, .. } => {
            let members = members.keys().cloned().collect();
            (None, Some(*epoch), Some(*assignment_epoch), None, members, false)
        }
    };
    rows.push(&[
        id.into(),
        group.kind().name().into(),
        group.state().into(),
        "known".into(),
        group.protocol_type().into(),
        protocol.into(),
        epoch.into(),
        assignment_epoch.into(),
        leader.into(),
        Cell::Texts(members),
        is_simple.into(),
        state.may_be_stale(-1),
        Cell::Null,
        number.into(),
    ])
}
