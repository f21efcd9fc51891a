"""Read Kafka's internal topics as tables: committed offsets, groups, transactions, and the metadata of the cluster.

Each function reads a topic from the segments of one broker, without a broker, and returns a reader of Arrow batches.
``view="state"`` is the state after the last record, replayed as Kafka's coordinators load it; ``view="log"`` has every
record in its order, those that no known version of Kafka can decode with their bytes and the reason. ``as_of`` gives
the state at an earlier time.

A compacted topic does not keep its past: where compaction may have removed the value at that time, the row's ``status``
is ``unknown``, and ``completeFrom`` is the earliest time from which the answer is complete. The rules are in
``docs/internal-topics.md``.
"""

from __future__ import annotations

from kafkacomp.internal._names import topic_names
from kafkacomp.internal._read import ReadOptions
from kafkacomp.internal._tables import (
    cluster_metadata,
    consumer_offsets,
    groups,
    remote_log_metadata,
    share_group_state,
    transactions,
)

__all__ = [
    "ReadOptions",
    "cluster_metadata",
    "consumer_offsets",
    "groups",
    "remote_log_metadata",
    "share_group_state",
    "topic_names",
    "transactions",
]
