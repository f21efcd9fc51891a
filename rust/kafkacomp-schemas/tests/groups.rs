//! The replayed groups and offsets are those that the live broker answered just before it stopped.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{files, folders, records, states};
use kafkacomp_schemas::groups::{Group, Groups, Offsets};
use kafkacomp_schemas::json::{Origin, Producer};
use kafkacomp_schemas::{Topic, decode_control};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Replays a partition's folder.
fn replayed(folder: &Path) -> Groups {
    let mut groups = Groups::default();
    for segment in files(folder, ".log") {
        for record in records(&segment) {
            let (key, value) = (record.key.as_deref(), record.value.as_deref());
            let control = record.is_control.then(|| decode_control(key, value));
            groups.apply(record.origin, &control.unwrap_or_else(|| Topic::ConsumerOffsets.decode(key, value)));
        }
    }
    groups
}

/// All partitions of `__consumer_offsets` of a broker.
fn partitions(state: &Path) -> Vec<Groups> {
    folders(state, Topic::ConsumerOffsets).iter().map(|folder| replayed(folder)).collect()
}

/// Offsets as in `state.json`.
fn offsets(groups: &Groups, id: &str) -> Value {
    let mut topics: BTreeMap<String, BTreeMap<String, Value>> = BTreeMap::new();
    for (topic, partition, commit) in groups.offsets(id).into_iter().flat_map(Offsets::iter) {
        let value = json!({"offset": commit.offset, "leaderEpoch": commit.leader_epoch, "metadata": commit.metadata});
        topics.entry(topic.to_owned()).or_default().insert(partition.to_string(), value);
    }
    json!(topics)
}

/// States of a rebalance are in the broker's memory only; the log has the group as it was before.
fn is_in_memory_only(member: &str, broker: &Value, ours: &Value) -> bool {
    member == "state" && (broker == "PreparingRebalance" || broker == "CompletingRebalance") && ours == "Stable"
}

/// Epochs and the ids of the members, sorted, as far as the broker has described them.
fn description(group: &Group) -> [(&'static str, Value); 3] {
    match group {
        Group::Classic(group) => {
            let mut ids = group.members.clone();
            ids.sort();
            [("members", json!(ids)), ("groupEpoch", Value::Null), ("targetAssignmentEpoch", Value::Null)]
        }
        Group::Modern { epoch, assignment_epoch, members, .. } => [
            ("members", json!(members.keys().collect::<Vec<_>>())),
            ("groupEpoch", json!(epoch)),
            ("targetAssignmentEpoch", json!(assignment_epoch)),
        ],
    }
}

#[test]
fn groups_and_offsets_are_those_of_the_live_broker() {
    let (mut count, mut commits, mut differences) = (0, 0, Vec::new());
    for state in states() {
        let name = state.to_str().unwrap();
        let broker: Value = serde_json::from_slice(&fs::read(state.join("state.json")).unwrap()).unwrap();
        let mut expected = broker["groups"].as_object().unwrap().clone();
        for groups in partitions(&state) {
            for (id, group) in groups.groups() {
                let Some(mut broker) = expected.remove(id) else {
                    differences.push(format!("{name}: {id}: not listed by the broker: {group:?}"));
                    continue;
                };
                let offsets = offsets(&groups, id);
                commits += groups.offsets(id).map_or(0, |offsets| offsets.iter().count());
                // Where there is a description, it has the members and the epochs; old brokers answered less.
                let described = broker.get("description").unwrap_or(&broker).clone();
                for (member, _) in description(group) {
                    broker[member] = described[member].clone();
                }
                if let Some(members) = described["members"].as_array() {
                    let mut ids: Vec<_> = members.iter().map(|each| each["memberId"].as_str().unwrap()).collect();
                    ids.sort_unstable();
                    broker["members"] = json!(ids);
                }
                let compared = [
                    ("type", json!(group.kind().name())),
                    ("state", json!(group.state())),
                    ("protocolType", json!(group.protocol_type())),
                    ("offsets", offsets),
                    ("isSimple", json!(matches!(group, Group::Classic(group) if group.is_simple))),
                ];
                for (member, ours) in compared.into_iter().chain(description(group)) {
                    // Share groups have no offsets here.
                    let theirs = &broker[member];
                    if !theirs.is_null() && *theirs != ours && !is_in_memory_only(member, theirs, &ours) {
                        differences.push(format!("{name}: {id}: {member}:\n  ours   {ours}\n  broker {theirs}"));
                    }
                }
                count += 1;
            }
        }
        differences.extend(expected.keys().map(|id| format!("{name}: {id}: not in the log")));
    }
    println!("{count} groups with {commits} offsets, {} differences", differences.len());
    assert!(differences.is_empty(), "{} of {count}:\n{}", differences.len(), differences.join("\n"));
}

const GROUP: &[u8] = b"\0\x01\0\x01g\0\x01t\0\0\0\0";

fn commit(offset: u8) -> Vec<u8> {
    [&b"\0\x03\0\0\0\0\0\0\0"[..], &[offset], &[0xff; 4], &[0; 2], &[0; 8]].concat()
}

/// Applies a commit, a tombstone or a marker of producer 9.
fn apply(groups: &mut Groups, offset: i64, is_transactional: bool, value: Option<&[u8]>, marker: Option<u8>) {
    let producer = Some(Producer { id: if is_transactional { 9 } else { -1 }, epoch: 0, is_transactional });
    let origin = Origin { offset, timestamp: 0, producer };
    match marker {
        Some(id) => groups.apply(origin, &decode_control(Some(&[0, 0, 0, id]), Some(&[0; 6]))),
        None => groups.apply(origin, &Topic::ConsumerOffsets.decode(Some(GROUP), value)),
    }
}

fn committed(groups: &Groups) -> Option<i64> {
    groups.offsets("g").and_then(|offsets| offsets.get("t", 0)).map(|commit| commit.offset)
}

#[test]
fn an_offset_of_a_transaction_counts_from_its_marker_on_and_only_above_the_existing_record() {
    let mut groups = Groups::default();
    apply(&mut groups, 0, true, Some(&commit(1)), None);
    assert_eq!((committed(&groups), groups.pending().iter().count()), (None, 1));
    assert_eq!(groups.groups().count(), 1, "the group is listed");
    apply(&mut groups, 1, true, None, Some(1));
    assert_eq!((committed(&groups), groups.pending().iter().count()), (Some(1), 0));

    apply(&mut groups, 2, true, Some(&commit(2)), None);
    apply(&mut groups, 3, false, Some(&commit(3)), None);
    apply(&mut groups, 4, true, None, Some(1));
    assert_eq!(committed(&groups), Some(3), "the plain commit came later");

    apply(&mut groups, 5, true, Some(&commit(5)), None);
    apply(&mut groups, 6, true, None, Some(0));
    assert_eq!(committed(&groups), Some(3), "aborted");
}

#[test]
fn a_tombstone_ends_an_offset_also_in_an_open_transaction() {
    let mut groups = Groups::default();
    apply(&mut groups, 0, false, Some(&commit(1)), None);
    apply(&mut groups, 1, true, Some(&commit(2)), None);
    apply(&mut groups, 2, false, None, None);
    assert_eq!((committed(&groups), groups.pending().iter().count()), (None, 0));
    apply(&mut groups, 3, true, None, Some(1));
    assert_eq!(committed(&groups), None);
}

/// Applies a record whose key has the type and the group `g`.
fn apply_type(groups: &mut Groups, id: u8, value: Option<&[u8]>) {
    let origin = Origin { offset: 100, timestamp: 0, producer: None };
    let key = [0, id, 0, 1, b'g'];
    let record = Topic::ConsumerOffsets.decode(Some(&key), value);
    assert!(!matches!(record, kafkacomp_schemas::Decoded::Unknown { .. }), "{record:?}");
    groups.apply(origin, &record);
}

#[test]
fn a_tombstone_ends_only_a_group_of_its_type() {
    let mut groups = Groups::default();
    apply(&mut groups, 0, false, Some(&commit(1)), None);
    apply_type(&mut groups, 3, None);
    assert_eq!(groups.groups().count(), 1, "a tombstone of a consumer group does not end a classic one");
    apply_type(&mut groups, 2, None);
    assert_eq!(groups.groups().count(), 0);
    assert_eq!(committed(&groups), Some(1), "offsets have tombstones of their own");
    assert_eq!(groups.committed().count(), 1);
}

#[test]
fn the_partitions_of_a_share_group_do_not_make_a_group() {
    let mut groups = Groups::default();
    let partitions = [0, 0, 1, 1, 1, 0];
    apply_type(&mut groups, 15, Some(&partitions));
    assert_eq!(groups.groups().count(), 0);
    // An epoch, a hash, and no tagged fields.
    apply_type(&mut groups, 11, Some(&[0; 2 + 4 + 8 + 1]));
    assert_eq!(groups.groups().map(|(id, group)| (id, group.kind().name())).collect::<Vec<_>>(), [("g", "Share")]);
}
