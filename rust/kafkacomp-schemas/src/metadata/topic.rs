//! Topics and their partitions.

use super::{Uuid, int, list};
use crate::value::{Struct, Value};
use std::collections::BTreeMap;

/// A leader in a change that leaves it as it is.
const NO_LEADER_CHANGE: i64 = -2;

/// A topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    /// Its id.
    pub id: Uuid,
    /// Its partitions by number.
    pub partitions: BTreeMap<i32, Partition>,
}

/// A partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// The leader; -1 if there is none.
    pub leader: i32,
    /// The epoch of the leader.
    pub leader_epoch: i32,
    /// The number of changes of the partition.
    pub partition_epoch: i32,
    /// The brokers that have a replica; the first is preferred as the leader.
    pub replicas: Vec<i32>,
    /// The replicas that are in sync.
    pub isr: Vec<i32>,
    /// Replicas that a reassignment adds.
    pub adding: Vec<i32>,
    /// Replicas that a reassignment removes.
    pub removing: Vec<i32>,
    /// Replicas outside the ISR that have all committed records (KIP-966).
    pub elr: Vec<i32>,
    /// The last known members of the ELR (KIP-966).
    pub last_known_elr: Vec<i32>,
    /// The log directory of each replica.
    pub directories: Vec<Uuid>,
}

fn brokers(value: &Struct<'_>, name: &str) -> Option<Vec<i32>> {
    list(value, name, |id| id.int().map(|id| id as i32))
}

fn directories(value: &Struct<'_>) -> Option<Vec<Uuid>> {
    list(value, "directories", |id| if let Value::Uuid(id) = id { Some(*id) } else { None })
}

impl Partition {
    pub(super) fn read(value: &Struct<'_>) -> Self {
        let brokers = |name| brokers(value, name).unwrap_or_default();
        let replicas = brokers("replicas");
        Self {
            leader: int(value, "leader") as i32,
            leader_epoch: int(value, "leaderEpoch") as i32,
            partition_epoch: int(value, "partitionEpoch") as i32,
            isr: brokers("isr"),
            adding: brokers("addingReplicas"),
            removing: brokers("removingReplicas"),
            elr: brokers("eligibleLeaderReplicas"),
            last_known_elr: brokers("lastKnownElr"),
            directories: directories(value).unwrap_or_default(),
            replicas,
        }
    }

    /// Applies a change: what is null in it stays as it is.
    pub(super) fn change(&mut self, value: &Struct<'_>) {
        let set = |to: &mut Vec<i32>, name| {
            if let Some(changed) = brokers(value, name) {
                *to = changed;
            }
        };
        set(&mut self.replicas, "replicas");
        set(&mut self.isr, "isr");
        set(&mut self.adding, "addingReplicas");
        set(&mut self.removing, "removingReplicas");
        set(&mut self.elr, "eligibleLeaderReplicas");
        set(&mut self.last_known_elr, "lastKnownElr");
        if let Some(changed) = directories(value) {
            self.directories = changed;
        }
        let leader = int(value, "leader");
        if leader != NO_LEADER_CHANGE {
            self.leader = leader as i32;
            self.leader_epoch = self.leader_epoch.wrapping_add(1);
        }
        self.partition_epoch = self.partition_epoch.wrapping_add(1);
    }

    pub(super) fn clear_elr(&mut self) {
        self.elr.clear();
        self.last_known_elr.clear();
    }
}
