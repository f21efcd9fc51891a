//! The replayed transactions are those that the live broker answered just before it stopped.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{files, folders, records, states};
use kafkacomp_schemas::Topic;
use kafkacomp_schemas::transactions::{Transaction, Transactions};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn replayed(folder: &Path) -> Transactions {
    let mut transactions = Transactions::default();
    for segment in files(folder, ".log") {
        for record in records(&segment).iter().filter(|record| !record.is_control) {
            let decoded = Topic::TransactionState.decode(record.key.as_deref(), record.value.as_deref());
            transactions.apply(record.origin, &decoded);
        }
    }
    transactions
}

/// As in `state.json`: `topic-partition`, sorted.
fn partitions(transaction: &Transaction) -> Value {
    let names =
        transaction.partitions.iter().flat_map(|(topic, ids)| ids.iter().map(move |id| format!("{topic}-{id}")));
    let mut names: Vec<_> = names.collect();
    names.sort();
    json!(names)
}

#[test]
fn transactions_are_those_of_the_live_broker() {
    let (mut count, mut open, mut differences) = (0, 0, Vec::new());
    for state in states() {
        let name = state.to_str().unwrap();
        let broker: Value = serde_json::from_slice(&fs::read(state.join("state.json")).unwrap()).unwrap();
        // Brokers before 3.0 do not list transactions.
        let Some(mut expected) = broker["transactions"].as_object().cloned().filter(|listed| !listed.is_empty()) else {
            continue;
        };
        for folder in folders(&state, Topic::TransactionState) {
            for (id, transaction) in replayed(&folder).iter() {
                let Some(mut broker) = expected.remove(id) else {
                    differences.push(format!("{name}: {id}: not listed by the broker: {transaction:?}"));
                    continue;
                };
                let described = broker.get("description").unwrap_or(&broker).clone();
                let mut topics = described["topicPartitions"].clone();
                if let Some(topics) = topics.as_array_mut() {
                    topics.sort_by_key(ToString::to_string);
                }
                broker["topicPartitions"] = topics;
                for key in ["producerEpoch", "transactionTimeoutMs", "transactionStartTimeMs"] {
                    broker[key] = described[key].clone();
                }
                let compared = [
                    ("state", json!(transaction.state())),
                    ("producerId", json!(transaction.producer_id)),
                    ("producerEpoch", json!(transaction.producer_epoch)),
                    ("transactionTimeoutMs", json!(transaction.timeout_ms)),
                    ("transactionStartTimeMs", json!(transaction.start_timestamp)),
                    ("topicPartitions", partitions(transaction)),
                ];
                for (member, ours) in compared {
                    let is_told =
                        described.get(member).is_some() || broker.get(member).is_some_and(|told| !told.is_null());
                    if is_told && broker[member] != ours {
                        differences.push(format!("{name}: {id}: {member}: ours {ours}, broker {}", broker[member]));
                    }
                }
                count += 1;
                open += i32::from(transaction.is_open());
            }
        }
        differences.extend(expected.keys().map(|id| format!("{name}: {id}: not in the log")));
    }
    println!("{count} transactions, {open} of them open, {} differences", differences.len());
    assert!(count > 0);
    assert!(differences.is_empty(), "{} of {count}:\n{}", differences.len(), differences.join("\n"));
}
