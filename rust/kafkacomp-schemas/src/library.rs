//! The schemas of Kafka's internal records, parsed once.

use crate::schema::{Kind, Schema};
use crate::topic::Topic;
use std::sync::LazyLock;

/// The text of the schemas in a folder of `schemas/`.
macro_rules! folder {
    ($folder:literal: $($name:literal)*) => {
        ($folder, &[$(include_str!(concat!("../schemas/", $folder, "/", $name, ".json"))),*])
    };
}

/// The schemas by folder, one for each module of Kafka.
#[rustfmt::skip]
pub const SOURCES: &[(&str, &[&str])] = &[
    folder!("metadata":
        "AbortTransactionRecord" "AccessControlEntryRecord" "BeginTransactionRecord" "BrokerRegistrationChangeRecord"
        "ClearElrRecord" "ClientQuotaRecord" "ConfigRecord" "DelegationTokenRecord" "EndTransactionRecord"
        "FeatureLevelRecord" "FenceBrokerRecord" "NoOpRecord" "PartitionChangeRecord" "PartitionRecord"
        "ProducerIdsRecord" "RegisterBrokerRecord" "RegisterControllerRecord" "RemoveAccessControlEntryRecord"
        "RemoveDelegationTokenRecord" "RemoveTopicRecord" "RemoveUserScramCredentialRecord" "TopicRecord"
        "UnfenceBrokerRecord" "UnregisterBrokerRecord" "UnregisterControllerRecord" "UserScramCredentialRecord"
        "ZkMigrationRecord"),
    folder!("group-coordinator":
        "ConsumerGroupCurrentMemberAssignmentKey" "ConsumerGroupCurrentMemberAssignmentValue"
        "ConsumerGroupMemberMetadataKey" "ConsumerGroupMemberMetadataValue" "ConsumerGroupMetadataKey"
        "ConsumerGroupMetadataValue" "ConsumerGroupPartitionMetadataKey" "ConsumerGroupPartitionMetadataValue"
        "ConsumerGroupRegularExpressionKey" "ConsumerGroupRegularExpressionValue"
        "ConsumerGroupTargetAssignmentMemberKey" "ConsumerGroupTargetAssignmentMemberValue"
        "ConsumerGroupTargetAssignmentMetadataKey" "ConsumerGroupTargetAssignmentMetadataValue" "GroupMetadataKey"
        "GroupMetadataValue" "LegacyOffsetCommitKey" "LegacyOffsetCommitValue" "OffsetCommitKey" "OffsetCommitValue"
        "ShareGroupCurrentMemberAssignmentKey" "ShareGroupCurrentMemberAssignmentValue" "ShareGroupMemberMetadataKey"
        "ShareGroupMemberMetadataValue" "ShareGroupMetadataKey" "ShareGroupMetadataValue"
        "ShareGroupStatePartitionMetadataKey" "ShareGroupStatePartitionMetadataValue"
        "ShareGroupTargetAssignmentMemberKey" "ShareGroupTargetAssignmentMemberValue"
        "ShareGroupTargetAssignmentMetadataKey" "ShareGroupTargetAssignmentMetadataValue"
        "StreamsGroupCurrentMemberAssignmentKey" "StreamsGroupCurrentMemberAssignmentValue"
        "StreamsGroupMemberMetadataKey" "StreamsGroupMemberMetadataValue" "StreamsGroupMetadataKey"
        "StreamsGroupMetadataValue" "StreamsGroupTargetAssignmentMemberKey" "StreamsGroupTargetAssignmentMemberValue"
        "StreamsGroupTargetAssignmentMetadataKey" "StreamsGroupTargetAssignmentMetadataValue"
        "StreamsGroupTopologyKey" "StreamsGroupTopologyValue"),
    folder!("share-coordinator":
        "ShareSnapshotKey" "ShareSnapshotValue" "ShareUpdateKey" "ShareUpdateValue"),
    folder!("transaction-coordinator":
        "TransactionLogKey" "TransactionLogValue"),
    folder!("remote-log-metadata":
        "RemoteLogSegmentMetadataRecord" "RemoteLogSegmentMetadataSnapshotRecord"
        "RemoteLogSegmentMetadataUpdateRecord" "RemotePartitionDeleteMetadataRecord"),
    folder!("control":
        "ControlRecordTypeSchema" "EndTxnMarker" "KRaftVersionRecord" "LeaderChangeMessage" "SnapshotFooterRecord"
        "SnapshotHeaderRecord" "VotersRecord"),
    folder!("consumer-protocol":
        "ConsumerProtocolAssignment" "ConsumerProtocolSubscription"),
];

/// A type of records: its number, its name and the schemas of its keys and values.
#[derive(Debug)]
pub struct RecordType {
    /// The number.
    pub id: i16,
    /// The name as Kafka prints it: `OffsetCommit` in a coordinator's topic, `TOPIC_RECORD` in the metadata log.
    pub name: String,
    /// The schema of the keys; none where the value has the type.
    pub key: Option<Schema>,
    /// The schema of the values.
    pub value: Schema,
}

/// The library has each type once.
impl PartialEq for RecordType {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

/// All schemas.
#[derive(Debug)]
pub struct Library {
    /// The record types of each topic, in the order of [`Topic::ALL`].
    topics: Vec<Vec<RecordType>>,
    data: Vec<Schema>,
}

static LIBRARY: LazyLock<Library> = LazyLock::new(Library::load);

impl Library {
    /// Kafka's schemas.
    pub fn kafka() -> &'static Self {
        &LIBRARY
    }

    /// A schema that does not parse is left out, and its records are shown as unknown; a test shows that all parse.
    fn load() -> Self {
        let parsed = |folder: &str| {
            let texts = SOURCES.iter().filter(|(name, _)| *name == folder).flat_map(|(_, texts)| texts.iter());
            texts.filter_map(|text| Schema::parse(text).ok()).collect::<Vec<_>>()
        };
        Self {
            topics: Topic::ALL.iter().map(|topic| record_types(*topic, parsed(topic.folder()))).collect(),
            data: [parsed("control"), parsed("consumer-protocol")].into_iter().flatten().collect(),
        }
    }

    /// The record types of a topic, by number.
    pub fn record_types(&self, topic: Topic) -> &[RecordType] {
        self.topics.get(topic as usize).map_or(&[], Vec::as_slice)
    }

    /// A record type of a topic.
    pub fn record_type(&self, topic: Topic, id: i16) -> Option<&RecordType> {
        let types = self.record_types(topic);
        types.binary_search_by_key(&id, |each| each.id).ok().and_then(|position| types.get(position))
    }

    /// A schema of control records or of the consumer protocol.
    pub fn data(&self, name: &str) -> Option<&Schema> {
        self.data.iter().find(|schema| schema.name == name)
    }
}

/// Pairs the keys and values of a topic.
fn record_types(topic: Topic, schemas: Vec<Schema>) -> Vec<RecordType> {
    let (mut keys, values): (Vec<_>, Vec<_>) =
        schemas.into_iter().partition(|schema| schema.kind == Kind::CoordinatorKey);
    let mut found: Vec<_> = values
        .into_iter()
        .filter_map(|value| {
            let id = value.api_key?;
            let key = keys.iter().position(|key| key.api_key == Some(id)).map(|position| keys.swap_remove(position));
            let is_complete = (value.kind == Kind::CoordinatorValue) == key.is_some();
            let name = match (&key, topic) {
                (Some(_), _) => value.name.trim_end_matches("Value").to_owned(),
                (None, Topic::ClusterMetadata) => with_underscores(&value.name),
                (None, _) => value.name.clone(),
            };
            is_complete.then_some(RecordType { id, name, key, value })
        })
        .collect();
    found.sort_by_key(|each| each.id);
    found
}

/// `TopicRecord` as `TOPIC_RECORD`.
fn with_underscores(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push('_');
        }
        words.extend(letter.to_uppercase());
    }
    words
}
