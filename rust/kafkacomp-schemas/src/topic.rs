//! The internal topics of Kafka.

/// An internal topic of Kafka.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// `__consumer_offsets`: committed offsets and groups.
    ConsumerOffsets,
    /// `__transaction_state`: transactional ids.
    TransactionState,
    /// `__share_group_state`: positions of share groups.
    ShareGroupState,
    /// `__cluster_metadata`: the metadata log of `KRaft`, also its snapshots.
    ClusterMetadata,
    /// `__remote_log_metadata`: segments in tiered storage.
    RemoteLogMetadata,
}

impl Topic {
    /// All topics.
    pub const ALL: [Self; 5] = [
        Self::ConsumerOffsets,
        Self::TransactionState,
        Self::ShareGroupState,
        Self::ClusterMetadata,
        Self::RemoteLogMetadata,
    ];

    /// The topic's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::ConsumerOffsets => "__consumer_offsets",
            Self::TransactionState => "__transaction_state",
            Self::ShareGroupState => "__share_group_state",
            Self::ClusterMetadata => "__cluster_metadata",
            Self::RemoteLogMetadata => "__remote_log_metadata",
        }
    }

    /// The topic of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|topic| topic.name() == name)
    }

    /// The folder of its schemas.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::ConsumerOffsets => "group-coordinator",
            Self::TransactionState => "transaction-coordinator",
            Self::ShareGroupState => "share-coordinator",
            Self::ClusterMetadata => "metadata",
            Self::RemoteLogMetadata => "remote-log-metadata",
        }
    }
}
