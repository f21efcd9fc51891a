//! The replayed positions of share groups are those that the live broker answered just before it stopped.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{files, folders, records, states};
use kafkacomp_schemas::share_groups::ShareGroups;
use kafkacomp_schemas::{Topic, json};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

#[test]
fn positions_of_share_groups_are_those_of_the_live_broker() {
    let (mut count, mut differences) = (0, Vec::new());
    for state in states() {
        let name = state.to_str().unwrap();
        let mut ours = BTreeMap::new();
        for folder in folders(&state, Topic::ShareGroupState) {
            let mut groups = ShareGroups::default();
            for record in files(&folder, ".log").iter().flat_map(|segment| records(segment)) {
                let decoded = Topic::ShareGroupState.decode(record.key.as_deref(), record.value.as_deref());
                groups.apply(record.origin, &decoded);
            }
            for (at, position) in groups.iter().filter(|(_, position)| position.start_offset.is_some()) {
                let key = (at.group.clone(), json::uuid(&at.topic_id), at.partition);
                assert!(ours.insert(key, (position.start_offset, position.leader_epoch)).is_none());
            }
        }
        let broker: Value = serde_json::from_slice(&fs::read(state.join("state.json")).unwrap()).unwrap();
        for (group, answers) in broker["groups"].as_object().unwrap() {
            for (topic, partitions) in answers["shareOffsets"].as_object().into_iter().flatten() {
                let id = broker["topics"][topic]["topicId"].as_str().unwrap_or_default();
                for (partition, expected) in partitions.as_object().unwrap() {
                    let found = ours.remove(&(group.clone(), id.to_owned(), partition.parse().unwrap()));
                    let start = found.and_then(|(start, _)| start);
                    if expected["startOffset"].as_i64() != start {
                        differences
                            .push(format!("{name}: {group} {topic} {partition}: ours {found:?}, broker {expected}"));
                    }
                    count += i32::from(start.is_some());
                }
            }
        }
        differences.extend(ours.iter().map(|(key, found)| format!("{name}: {key:?}: {found:?}: not of the broker")));
    }
    println!("{count} positions, {} differences", differences.len());
    assert!(count > 0);
    assert!(differences.is_empty(), "{} of {count}:\n{}", differences.len(), differences.join("\n"));
}
