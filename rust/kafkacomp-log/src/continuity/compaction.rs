//! Whether compaction explains that a partition lacks offsets where nothing is corrupt: the one rule for all tools.

use super::missing::{MissingRange, MissingReason};

/// Topics that count as compacted without a checkpoint of the cleaner. Brokers create the first two with
/// `cleanup.policy=compact`, and a schema registry its `_schemas`. `__share_group_state` is state by key as well, though brokers
/// up to 4.4 create it with `cleanup.policy=delete`. That of `__remote_log_metadata` is up to its owner, and the metadata
/// log is never compacted.
const COMPACTED_TOPICS: [&str; 4] = ["__consumer_offsets", "__transaction_state", "__share_group_state", "_schemas"];

/// What is known of a partition's compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compaction {
    /// Nothing shows that the partition was compacted.
    #[default]
    Unknown,
    /// `cleaner-offset-checkpoint` has this offset: the cleaner has processed the offsets below it, and no others.
    To(i64),
    /// The partition is compacted, and nothing shows how far.
    Somewhere,
}

impl Compaction {
    /// What the cleaner's checkpoint shows, or else the name of the topic.
    pub fn of(topic: Option<&str>, cleaned_to: Option<i64>) -> Self {
        match (cleaned_to, topic) {
            (Some(offset), _) => Self::To(offset),
            (None, Some(topic)) if COMPACTED_TOPICS.contains(&topic) => Self::Somewhere,
            (None, _) => Self::Unknown,
        }
    }

    /// The same after a search for batches with fewer records than offsets, which only compaction leaves.
    #[must_use]
    pub fn or_thinned(self, is_thinned: bool) -> Self {
        if is_thinned && self == Self::Unknown { Self::Somewhere } else { self }
    }

    /// Whether it explains that the offsets from `first` to before `until` are missing where nothing is corrupt.
    pub fn explains(self, first: i64, until: i64) -> bool {
        match self {
            Self::Unknown => first >= until,
            Self::To(offset) => until <= offset,
            Self::Somewhere => true,
        }
    }

    /// The parts of a missing range with their reasons: of a gap, the part that compaction explains, and the other one. A range
    /// that is missing for another reason is the only part.
    pub fn parts(self, range: MissingRange) -> impl Iterator<Item = MissingRange> {
        let end = range.last_offset.saturating_add(1);
        let cleaned = match self {
            Self::Unknown => range.first_offset,
            Self::To(offset) => offset.clamp(range.first_offset, end),
            Self::Somewhere => end,
        };
        let cleaned = if range.reason == MissingReason::Gap { cleaned } else { range.first_offset };
        let parts = [(range.first_offset, cleaned, MissingReason::Compacted), (cleaned, end, range.reason)];
        parts.into_iter().filter_map(|(from, until, reason)| MissingRange::between(from, until, reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(compaction: Compaction, reason: MissingReason) -> Vec<(i64, i64, MissingReason)> {
        let range = MissingRange { first_offset: 10, last_offset: 19, reason };
        compaction.parts(range).map(|part| (part.first_offset, part.last_offset, part.reason)).collect()
    }

    #[test]
    fn the_checkpoint_decides_then_the_topic_then_the_batches() {
        for topic in [None, Some("orders"), Some("__consumer_offsets")] {
            assert_eq!(Compaction::of(topic, Some(7)).or_thinned(true), Compaction::To(7));
        }
        for topic in ["__consumer_offsets", "__transaction_state", "__share_group_state", "_schemas"] {
            assert_eq!(Compaction::of(Some(topic), None), Compaction::Somewhere);
        }
        for topic in ["orders", "__cluster_metadata", "__remote_log_metadata", "_schemas2", "__Consumer_offsets"] {
            assert_eq!(Compaction::of(Some(topic), None), Compaction::Unknown);
            assert_eq!(Compaction::of(Some(topic), None).or_thinned(true), Compaction::Somewhere);
        }
    }

    #[test]
    fn a_gap_is_divided_where_the_cleaner_stopped() {
        use MissingReason::{Compacted, Corrupt, Gap};
        assert_eq!(parts(Compaction::Unknown, Gap), [(10, 19, Gap)]);
        assert_eq!(parts(Compaction::Somewhere, Gap), [(10, 19, Compacted)]);
        assert_eq!(parts(Compaction::To(15), Gap), [(10, 14, Compacted), (15, 19, Gap)]);
        assert_eq!(parts(Compaction::To(10), Gap), [(10, 19, Gap)]);
        assert_eq!(parts(Compaction::To(-1), Gap), [(10, 19, Gap)]);
        assert_eq!(parts(Compaction::To(20), Gap), [(10, 19, Compacted)]);
        for compaction in [Compaction::Unknown, Compaction::Somewhere, Compaction::To(15)] {
            assert_eq!(parts(compaction, Corrupt), [(10, 19, Corrupt)]);
        }
    }
}
