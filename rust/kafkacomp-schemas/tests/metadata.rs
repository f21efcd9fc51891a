//! The replayed metadata log is the image that Kafka's own classes make of it.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test")]

mod common;

use common::{files, folders, records, states};
use kafkacomp_schemas::metadata::{Image, Metadata};
use kafkacomp_schemas::{Topic, json::uuid};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// The offset in the name of a file.
fn offset(path: &Path) -> i64 {
    path.file_name().unwrap().to_str().unwrap()[..20].parse().unwrap()
}

/// Replays a snapshot, or nothing, and the log from its end on.
fn replayed(folder: &Path, snapshot: Option<&Path>) -> Image {
    let mut metadata = Metadata::default();
    let mut apply = |file: &Path, first| {
        for record in records(file).iter().filter(|record| !record.is_control && record.origin.offset >= first) {
            metadata.apply(&Topic::ClusterMetadata.decode(record.key.as_deref(), record.value.as_deref()));
        }
    };
    if let Some(snapshot) = snapshot {
        apply(snapshot, 0);
    }
    let first = snapshot.map_or(0, offset);
    for segment in files(folder, ".log") {
        apply(&segment, first);
    }
    metadata.image().clone()
}

fn resource(kind: i8, name: &str) -> String {
    let kind = match kind {
        2 => "TOPIC",
        4 => "BROKER",
        16 => "CLIENT_METRICS",
        32 => "GROUP",
        other => panic!("{other}"),
    };
    format!("{kind}:{name}")
}

/// The image as in `metadata-image.json`.
fn printed(image: &Image) -> Value {
    let topics = image.topics.iter().map(|(name, topic)| {
        let partitions = topic.partitions.iter().map(|(number, each)| {
            json!({
                "partition": number, "leader": each.leader, "leaderEpoch": each.leader_epoch,
                "partitionEpoch": each.partition_epoch, "replicas": each.replicas, "isr": each.isr,
                "addingReplicas": each.adding, "removingReplicas": each.removing, "elr": each.elr,
                "lastKnownElr": each.last_known_elr,
                "directories": each.directories.iter().map(uuid).collect::<Vec<_>>(),
            })
        });
        (name.clone(), json!({"topicId": uuid(&topic.id), "partitions": partitions.collect::<Vec<_>>()}))
    });
    let brokers = image.brokers.iter().map(|(id, each)| {
        let broker = json!({
            "rack": each.rack, "fenced": each.is_fenced, "inControlledShutdown": each.in_controlled_shutdown,
            "epoch": each.epoch, "incarnationId": uuid(&each.incarnation_id),
        });
        (id.to_string(), broker)
    });
    let acls = image.acls.iter().map(|(id, acl)| {
        format!(
            "{} StandardAcl[resourceType={}, resourceName={}, patternType={}, principal={}, host={}, operation={}, \
             permissionType={}]",
            uuid(id),
            acl.resource_type_name().unwrap(),
            acl.resource_name,
            acl.pattern_type_name().unwrap(),
            acl.principal,
            acl.host,
            acl.operation_name().unwrap(),
            acl.permission_type_name().unwrap(),
        )
    });
    let mut acls: Vec<_> = acls.collect();
    acls.sort();
    let configs = image.configs.iter().map(|((kind, name), configs)| (resource(*kind, name), json!(configs)));
    json!({
        "topics": topics.collect::<serde_json::Map<_, _>>(),
        "brokers": brokers.collect::<serde_json::Map<_, _>>(),
        "features": image.features,
        "configs": configs.collect::<serde_json::Map<_, _>>(),
        "acls": acls,
        "nextProducerId": image.next_producer_id,
    })
}

#[test]
fn the_image_is_that_of_kafka() {
    let mut count = 0;
    for state in states() {
        let Ok(text) = fs::read(state.join("expect/metadata-image.json")) else { continue };
        let mut expected: Value = serde_json::from_slice(&text).unwrap();
        let expected = expected.as_object_mut().unwrap();
        expected.remove("logEndOffset");
        let newest = expected.remove("snapshot").unwrap();
        let mut acls: Vec<String> = serde_json::from_value(expected["acls"].take()).unwrap();
        acls.sort();
        expected["acls"] = json!(acls);
        let [folder] = &folders(&state, Topic::ClusterMetadata)[..] else { panic!("one folder") };
        let begin = files(folder, ".log").first().map(|segment| records(segment)[0].origin.offset).unwrap();
        // Any snapshot whose end is in the log gives the same image, as does the log alone if it begins at 0.
        let mut snapshots: Vec<_> = files(folder, ".checkpoint").into_iter().map(Some).collect();
        snapshots.retain(|snapshot| offset(snapshot.as_deref().unwrap()) > 0);
        snapshots.retain(|snapshot| offset(snapshot.as_deref().unwrap()) >= begin);
        if begin == 0 {
            snapshots.push(None);
        }
        assert!(!snapshots.is_empty());
        println!("{}: {newest}, {} ways", state.display(), snapshots.len());
        for snapshot in snapshots {
            let ours = printed(&replayed(folder, snapshot.as_deref()));
            for (part, expected) in &*expected {
                assert_eq!(&ours[part], expected, "{} {snapshot:?} {part}", state.display());
                count += 1;
            }
        }
    }
    println!("{count} parts of images");
    assert!(count > 0);
}

#[test]
fn quotas_users_and_tokens_are_those_of_the_live_broker() {
    let mut count = 0;
    for state in states() {
        let folders = folders(&state, Topic::ClusterMetadata);
        let Some(folder) = folders.first() else { continue };
        let newest = files(folder, ".checkpoint").into_iter().rfind(|snapshot| offset(snapshot) > 0);
        let image = replayed(folder, newest.as_deref());
        let broker: Value = serde_json::from_slice(&fs::read(state.join("state.json")).unwrap()).unwrap();
        if let Some(expected) = broker["quotas"].as_array() {
            let ours = image.quotas.iter().map(|(entity, quotas)| {
                let entity: serde_json::Map<_, _> =
                    entity.0.iter().map(|(kind, name)| (kind.clone(), json!(name))).collect();
                json!({"entity": entity, "quotas": quotas})
            });
            assert_eq!(sorted(ours), sorted(expected.iter().cloned()), "{}", state.display());
            count += expected.len();
        }
        if let Some(expected) = broker["scram"].as_object() {
            let users = expected.iter().flat_map(|(user, credentials)| {
                credentials
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(move |each| json!([user, each["mechanism"], each["iterations"]]))
            });
            let ours = image.scram.iter().map(|((user, mechanism), credential)| {
                let mechanism = kafkacomp_schemas::metadata::ScramCredential::mechanism_name(*mechanism);
                json!([user, mechanism, credential.iterations])
            });
            assert_eq!(sorted(ours), sorted(users), "{}", state.display());
            count += expected.len();
        }
        if let Some(expected) = broker["delegationTokens"].as_array() {
            let ours = image.tokens.iter().map(|(id, each)| {
                json!({
                    "tokenId": id, "owner": each.owner, "requester": each.requester, "renewers": each.renewers,
                    "issueTimestamp": each.issue_timestamp, "maxTimestamp": each.max_timestamp,
                    "expiryTimestamp": each.expiry_timestamp,
                })
            });
            assert_eq!(sorted(ours), sorted(expected.iter().cloned()), "{}", state.display());
            count += expected.len();
        }
    }
    println!("{count} answers");
    assert!(count > 0);
}

fn sorted(values: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut values: Vec<_> = values.collect();
    values.sort_by_key(ToString::to_string);
    values
}
