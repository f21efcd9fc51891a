//! The state of `__transaction_state` as a transaction coordinator loads it: the last value of each transactional id.

use crate::json::Origin;
use crate::record::Decoded;
use crate::value::{Struct, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Kafka's names of the statuses, by number.
pub const STATUSES: [&str; 8] = [
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
];

/// The transactional ids of a partition of `__transaction_state`.
#[derive(Debug, Default, Clone)]
pub struct Transactions(BTreeMap<String, Transaction>);

/// The last record of a transactional id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    /// The offset of the record.
    pub record_offset: i64,
    /// The producer's id.
    pub producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// The timeout in milliseconds.
    pub timeout_ms: i32,
    /// The status: a number that [`Transaction::state`] names.
    pub status: i8,
    /// The partitions of the open transaction, sorted by topic.
    pub partitions: BTreeMap<String, Vec<i32>>,
    /// When the transaction began, in milliseconds; none if none has. That of a complete transaction stays.
    pub start_timestamp: Option<i64>,
    /// When the record was made, in milliseconds.
    pub last_update_timestamp: i64,
}

impl Transactions {
    /// Applies a record. Records must come in the order of their offsets; those of other types are ignored.
    pub fn apply(&mut self, origin: Origin, record: &Decoded<'_>) {
        let Decoded::Keyed { kind, key, value } = record else { return };
        let Some(id) = key.fields.text("transactionalId") else { return };
        if kind.name != "TransactionLog" {
            return;
        }
        match value {
            Some(value) => drop(self.0.insert(id.into_owned(), Transaction::read(origin.offset, &value.fields))),
            None => drop(self.0.remove(&*id)),
        }
    }

    /// Transactional ids and their last records, sorted.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Transaction)> {
        self.0.iter().map(|(id, transaction)| (id.as_str(), transaction))
    }
}

impl Transaction {
    fn read(record_offset: i64, value: &Struct<'_>) -> Self {
        let int = |name| value.int(name).unwrap_or(-1);
        let mut partitions: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let topics = value.get("transactionPartitions");
        let topics = topics.as_deref().and_then(Value::elements).unwrap_or_default();
        for topic in topics.iter().filter_map(Value::fields) {
            let ids = topic.get("partitionIds");
            let ids = ids.as_deref().and_then(Value::elements).unwrap_or_default();
            let ids = ids.iter().filter_map(Value::int).map(|id| id as i32);
            partitions.entry(topic.text("topic").map(Cow::into_owned).unwrap_or_default()).or_default().extend(ids);
        }
        Self {
            record_offset,
            producer_id: int("producerId"),
            producer_epoch: int("producerEpoch") as i16,
            timeout_ms: int("transactionTimeoutMs") as i32,
            status: int("transactionStatus") as i8,
            partitions,
            start_timestamp: value.int("transactionStartTimestampMs").filter(|start| *start >= 0),
            last_update_timestamp: int("transactionLastUpdateTimestampMs"),
        }
    }

    /// Kafka's name of the status; none if it is a number that no known version has.
    pub fn state(&self) -> Option<&'static str> {
        STATUSES.get(usize::try_from(self.status).ok()?).copied()
    }

    /// Whether a transaction is open: it was neither committed nor aborted.
    pub fn is_open(&self) -> bool {
        matches!(self.status, 1..=3)
    }
}
