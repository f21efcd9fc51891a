//! The image of the cluster that the metadata log of `KRaft` and its snapshots describe, replayed as Kafka's `MetadataDelta` does.
//!
//! [`Metadata`] takes the records of a snapshot and then those of the log from the snapshot's end on, in the order of their offsets.
//! Records between `BEGIN_TRANSACTION_RECORD` and `END_TRANSACTION_RECORD` count from the end on.

mod broker;
mod security;
mod topic;

use crate::record::Decoded;
use crate::value::{Struct, Value};
pub use broker::{Broker, Endpoint};
pub use security::{Acl, DelegationToken, QuotaEntity, ScramCredential};
use std::borrow::Cow;
use std::collections::BTreeMap;
pub use topic::{Partition, Topic};

/// A UUID as it is in the records.
pub type Uuid = [u8; 16];

/// What the metadata log says of the cluster.
#[derive(Debug, Default, Clone)]
pub struct Metadata {
    image: Image,
    /// The image before the open transaction.
    before_transaction: Option<Box<Image>>,
}

/// The cluster after some record.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Image {
    /// Topics by name.
    pub topics: BTreeMap<String, Topic>,
    /// The names of the topics by id.
    names: BTreeMap<Uuid, String>,
    /// Registered brokers by id.
    pub brokers: BTreeMap<i32, Broker>,
    /// Finalized feature levels.
    pub features: BTreeMap<String, i16>,
    /// Configs by resource type and resource name; the name is empty for the defaults of all brokers.
    pub configs: BTreeMap<(i8, String), BTreeMap<String, String>>,
    /// ACLs by id.
    pub acls: BTreeMap<Uuid, Acl>,
    /// Quotas by entity and quota.
    pub quotas: BTreeMap<QuotaEntity, BTreeMap<String, f64>>,
    /// SCRAM credentials by user and mechanism.
    pub scram: BTreeMap<(String, i8), ScramCredential>,
    /// Delegation tokens by id.
    pub tokens: BTreeMap<String, DelegationToken>,
    /// The next producer id that the controller assigns.
    pub next_producer_id: Option<i64>,
}

impl Metadata {
    /// Applies a record. Records of unknown types are ignored, as are control records.
    pub fn apply(&mut self, record: &Decoded<'_>) {
        let Decoded::Framed { kind, value } = record else { return };
        match kind.name.as_str() {
            "BEGIN_TRANSACTION_RECORD" => self.before_transaction = Some(Box::new(self.image.clone())),
            "END_TRANSACTION_RECORD" => self.before_transaction = None,
            "ABORT_TRANSACTION_RECORD" => {
                if let Some(before) = self.before_transaction.take() {
                    self.image = *before;
                }
            }
            name => self.image.apply(name, &value.fields),
        }
    }

    /// The image after the last record that is not part of an open transaction.
    pub fn image(&self) -> &Image {
        self.before_transaction.as_deref().unwrap_or(&self.image)
    }
}

impl Image {
    /// The name of a topic.
    pub fn topic_name(&self, id: &Uuid) -> Option<&str> {
        self.names.get(id).map(String::as_str)
    }

    /// Whether all brokers are fenced, as after a clean stop of a cluster: leaders and ISRs are then not those from before the stop.
    pub fn is_stopped(&self) -> bool {
        !self.brokers.is_empty() && self.brokers.values().all(|broker| broker.is_fenced)
    }

    fn apply(&mut self, name: &str, value: &Struct<'_>) {
        match name {
            "TOPIC_RECORD" => {
                let (name, id) = (text(value, "name"), uuid(value, "topicId"));
                self.names.insert(id, name.clone());
                self.topics.insert(name, Topic { id, partitions: BTreeMap::new() });
            }
            "REMOVE_TOPIC_RECORD" => {
                if let Some(name) = self.names.remove(&uuid(value, "topicId")) {
                    self.topics.remove(&name);
                    self.configs.remove(&(TOPIC_RESOURCE, name));
                }
            }
            "PARTITION_RECORD" => {
                if let Some(topic) = self.topic_of(value) {
                    topic.partitions.insert(int(value, "partitionId") as i32, Partition::read(value));
                }
            }
            "PARTITION_CHANGE_RECORD" => {
                let id = int(value, "partitionId") as i32;
                if let Some(partition) = self.topic_of(value).and_then(|topic| topic.partitions.get_mut(&id)) {
                    partition.change(value);
                }
            }
            "CLEAR_ELR_RECORD" => {
                let name = text(value, "topicName");
                for (_, topic) in self.topics.iter_mut().filter(|(each, _)| name.is_empty() || **each == name) {
                    topic.partitions.values_mut().for_each(Partition::clear_elr);
                }
            }
            "CONFIG_RECORD" => self.config(value),
            "FEATURE_LEVEL_RECORD" => match int(value, "featureLevel") as i16 {
                0 => drop(self.features.remove(&text(value, "name"))),
                level => drop(self.features.insert(text(value, "name"), level)),
            },
            "PRODUCER_IDS_RECORD" => self.next_producer_id = Some(int(value, "nextProducerId")),
            "REGISTER_BROKER_RECORD" => drop(self.brokers.insert(int(value, "brokerId") as i32, Broker::read(value))),
            "UNREGISTER_BROKER_RECORD" => drop(self.brokers.remove(&(int(value, "brokerId") as i32))),
            "BROKER_REGISTRATION_CHANGE_RECORD" => {
                if let Some(broker) = self.brokers.get_mut(&(int(value, "brokerId") as i32)) {
                    broker.change(value);
                }
            }
            "FENCE_BROKER_RECORD" | "UNFENCE_BROKER_RECORD" => {
                if let Some(broker) = self.brokers.get_mut(&(int(value, "id") as i32)) {
                    broker.is_fenced = name == "FENCE_BROKER_RECORD";
                }
            }
            _ => self.security(name, value),
        }
    }

    fn topic_of(&mut self, value: &Struct<'_>) -> Option<&mut Topic> {
        self.names.get(&uuid(value, "topicId")).and_then(|name| self.topics.get_mut(name))
    }

    fn config(&mut self, value: &Struct<'_>) {
        let resource = (int(value, "resourceType") as i8, text(value, "resourceName"));
        let name = text(value, "name");
        match value.text("value") {
            Some(set) => drop(self.configs.entry(resource).or_default().insert(name, set.into_owned())),
            None => remove_from(&mut self.configs, &resource, &name),
        }
    }

    fn security(&mut self, name: &str, value: &Struct<'_>) {
        match name {
            "CLIENT_QUOTA_RECORD" => {
                let entity = QuotaEntity::read(value);
                let key = text(value, "key");
                match (value.get("remove").as_deref(), value.get("value").as_deref()) {
                    (Some(Value::Bool(false)), Some(Value::Float64(limit))) => {
                        self.quotas.entry(entity).or_default().insert(key, *limit);
                    }
                    _ => remove_from(&mut self.quotas, &entity, &key),
                }
            }
            "ACCESS_CONTROL_ENTRY_RECORD" => drop(self.acls.insert(uuid(value, "id"), Acl::read(value))),
            "REMOVE_ACCESS_CONTROL_ENTRY_RECORD" => drop(self.acls.remove(&uuid(value, "id"))),
            "USER_SCRAM_CREDENTIAL_RECORD" => {
                let key = (text(value, "name"), int(value, "mechanism") as i8);
                self.scram.insert(key, ScramCredential::read(value));
            }
            "REMOVE_USER_SCRAM_CREDENTIAL_RECORD" => {
                self.scram.remove(&(text(value, "name"), int(value, "mechanism") as i8));
            }
            "DELEGATION_TOKEN_RECORD" => {
                self.tokens.insert(text(value, "tokenId"), DelegationToken::read(value));
            }
            "REMOVE_DELEGATION_TOKEN_RECORD" => drop(self.tokens.remove(&text(value, "tokenId"))),
            _ => {}
        }
    }
}

/// The number of topics in Kafka's `ConfigResource.Type`.
pub const TOPIC_RESOURCE: i8 = 2;

/// Removes a name from the map of a key, and the map with its last name.
fn remove_from<K: Ord, V>(map: &mut BTreeMap<K, BTreeMap<String, V>>, key: &K, name: &str) {
    if let Some(names) = map.get_mut(key) {
        names.remove(name);
        if names.is_empty() {
            map.remove(key);
        }
    }
}

fn text(value: &Struct<'_>, name: &str) -> String {
    value.text(name).map(Cow::into_owned).unwrap_or_default()
}

fn int(value: &Struct<'_>, name: &str) -> i64 {
    value.int(name).unwrap_or(-1)
}

fn uuid(value: &Struct<'_>, name: &str) -> Uuid {
    match value.get(name).as_deref() {
        Some(Value::Uuid(id)) => *id,
        _ => [0; 16],
    }
}

/// The elements of an array; none if it is null.
fn list<T>(value: &Struct<'_>, name: &str, each: impl Fn(&Value<'_>) -> Option<T>) -> Option<Vec<T>> {
    let found = value.get(name)?;
    Some(found.elements()?.iter().filter_map(each).collect())
}
