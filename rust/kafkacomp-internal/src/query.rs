//! What is asked of an internal topic: which table, which view of it, and as of when.

use crate::as_of::AsOf;
use kafkacomp_schemas::Topic;

/// A table that is made of an internal topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// Committed offsets, from `__consumer_offsets`.
    ConsumerOffsets,
    /// Groups of all types, from `__consumer_offsets`.
    Groups,
    /// Transactional ids, from `__transaction_state`.
    Transactions,
    /// Positions of share groups, from `__share_group_state`.
    ShareGroupState,
    /// Segments in remote storage, from `__remote_log_metadata`.
    RemoteLogMetadata,
    /// The metadata of the cluster, from `__cluster_metadata`.
    ClusterMetadata,
}

/// A view of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Every record in its order.
    Log,
    /// What is true after the last record; of all tables but that of the cluster.
    State,
    /// Topics of the cluster.
    Topics,
    /// Partitions of the topics.
    Partitions,
    /// Registered brokers.
    Brokers,
    /// Finalized features.
    Features,
    /// Configs of topics, brokers, groups and client metrics.
    Configs,
    /// Access control lists.
    Acls,
    /// Client quotas.
    Quotas,
    /// Users with SCRAM credentials.
    Users,
    /// Delegation tokens.
    DelegationTokens,
}

/// A question about an internal topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query {
    /// The table.
    pub table: Table,
    /// The view of it.
    pub view: View,
    /// The records that count; `None` for all.
    pub as_of: Option<AsOf>,
    /// Whether SCRAM keys, ids of delegation tokens and the values of secret configs are shown.
    pub show_secrets: bool,
}

impl Table {
    /// All tables.
    pub const ALL: [Self; 6] = [
        Self::ConsumerOffsets,
        Self::Groups,
        Self::Transactions,
        Self::ShareGroupState,
        Self::RemoteLogMetadata,
        Self::ClusterMetadata,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::ConsumerOffsets => "consumer_offsets",
            Self::Groups => "groups",
            Self::Transactions => "transactions",
            Self::ShareGroupState => "share_group_state",
            Self::RemoteLogMetadata => "remote_log_metadata",
            Self::ClusterMetadata => "cluster_metadata",
        }
    }

    /// The table with this name.
    pub fn for_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.name() == name)
    }

    /// The topic that it is made of.
    pub fn topic(self) -> Topic {
        match self {
            Self::ConsumerOffsets | Self::Groups => Topic::ConsumerOffsets,
            Self::Transactions => Topic::TransactionState,
            Self::ShareGroupState => Topic::ShareGroupState,
            Self::RemoteLogMetadata => Topic::RemoteLogMetadata,
            Self::ClusterMetadata => Topic::ClusterMetadata,
        }
    }

    /// Its views.
    pub fn views(self) -> &'static [View] {
        if self == Self::ClusterMetadata { &View::OF_CLUSTER } else { &[View::State, View::Log] }
    }
}

impl View {
    const OF_CLUSTER: [Self; 10] = [
        Self::Topics,
        Self::Partitions,
        Self::Brokers,
        Self::Features,
        Self::Configs,
        Self::Acls,
        Self::Quotas,
        Self::Users,
        Self::DelegationTokens,
        Self::Log,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::State => "state",
            Self::Topics => "topics",
            Self::Partitions => "partitions",
            Self::Brokers => "brokers",
            Self::Features => "features",
            Self::Configs => "configs",
            Self::Acls => "acls",
            Self::Quotas => "quotas",
            Self::Users => "users",
            Self::DelegationTokens => "delegation_tokens",
        }
    }
}
