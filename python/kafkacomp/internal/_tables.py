"""A function for each table that is made of an internal topic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from kafkacomp.internal._read import ReadOptions, read

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from kafkacomp._storage.partition import Source
    from kafkacomp.arrow import ScanReader

View = Literal["state", "log"]
ClusterView = Literal[
    "topics", "partitions", "brokers", "features", "configs", "acls", "quotas", "users", "delegation_tokens", "log"
]


def consumer_offsets(source: Source, *, view: View = "state", **options: Unpack[ReadOptions]) -> ScanReader:
    """Read committed offsets from ``__consumer_offsets``.

    Args:
        source: A log directory, the folders of the topic's partitions, or URLs of these.
        view: ``state`` has a row for each group and partition: groupId, topic, partition, status, committedOffset,
            leaderEpoch (-1 in the record is null), metadata, commitTimestamp, expireTimestamp, isExpired, topicId,
            producerId, mayBeStale, completeFrom, recordPartition, recordOffset. ``status`` is ``committed``;
            ``pending`` for an offset in an open transaction, which counts from its COMMIT marker on; or ``unknown``.
            ``isExpired`` is a mark only: an offset counts until its tombstone is written. ``log`` has every record.
        **options: See :class:`ReadOptions`.

    Raises:
        ValueError, TypeError: an argument has an unknown value, or the source does not have the topic.
        FileNotFoundError: a path does not exist.
        CorruptRecordError, OSError: while reading.

    Example:
        >>> import kafkacomp as kc
        >>> rows = kc.internal.consumer_offsets(offsets_log).read_all().to_pylist()
        >>> [(row["groupId"], row["topic"], row["partition"], row["committedOffset"]) for row in rows]
        [('billing', 'orders', 3, 5)]
    """
    return read("consumer_offsets", view, source, show_secrets=False, options=options)


def groups(source: Source, *, view: View = "state", **options: Unpack[ReadOptions]) -> ScanReader:
    """Read groups of all types from ``__consumer_offsets``.

    Args:
        source: A log directory, the folders of the topic's partitions, or URLs of these.
        view: ``state`` has a row for each group that the coordinator lists: groupId, type (``Classic``, ``Consumer``,
            ``Share``, ``Streams``), state, status (``known``, ``unknown``), protocolType, protocol, epoch (of a classic
            group its generation), assignmentEpoch, leader, members (ids), isSimple, mayBeStale, completeFrom,
            recordPartition. A classic group with members is ``Stable``: the states of its rebalance are in no record.
            ``log`` has every record about groups.
        **options: See :class:`ReadOptions`.

    Raises:
        ValueError, TypeError, FileNotFoundError, CorruptRecordError, OSError: as :func:`consumer_offsets`.

    Example:
        >>> import kafkacomp as kc
        >>> kc.internal.groups(offsets_log).read_all().select(["groupId", "type", "state"]).to_pylist()
        [{'groupId': 'billing', 'type': 'Classic', 'state': 'Empty'}]
    """
    return read("groups", view, source, show_secrets=False, options=options)


def transactions(source: Source, *, view: View = "state", **options: Unpack[ReadOptions]) -> ScanReader:
    """Read transactional ids from ``__transaction_state``.

    Args:
        source: A log directory, the folders of the topic's partitions, or URLs of these.
        view: ``state`` has a row for each transactional id: transactionalId, state (Kafka's name, such as ``Ongoing``),
            status (``known``, ``unknown``), isOpen, producerId, producerEpoch, timeoutMs, startTimestamp,
            lastUpdateTimestamp, partitions (``topic-partition``), mayBeStale, completeFrom, recordPartition,
            recordOffset. ``log`` has every record.
        **options: See :class:`ReadOptions`.

    Raises:
        ValueError, TypeError, FileNotFoundError, CorruptRecordError, OSError: as :func:`consumer_offsets`.
    """
    return read("transactions", view, source, show_secrets=False, options=options)


def share_group_state(source: Source, *, view: View = "state", **options: Unpack[ReadOptions]) -> ScanReader:
    """Read the positions of share groups from ``__share_group_state``.

    Args:
        source: A log directory, the folders of the topic's partitions, or URLs of these.
        view: ``state`` has a row for each group and partition: groupId, topicId (:func:`topic_names` has the names),
            partition, status (``known``, ``unknown``), startOffset (null before it is initialized), stateEpoch,
            leaderEpoch, mayBeStale, completeFrom, recordPartition, recordOffset. ``log`` has every record, with the
            batches in flight in the JSON of ``value``.
        **options: See :class:`ReadOptions`.

    Raises:
        ValueError, TypeError, FileNotFoundError, CorruptRecordError, OSError: as :func:`consumer_offsets`.
    """
    return read("share_group_state", view, source, show_secrets=False, options=options)


def remote_log_metadata(source: Source, *, view: View = "state", **options: Unpack[ReadOptions]) -> ScanReader:
    """Read the segments in tiered storage from ``__remote_log_metadata``.

    Args:
        source: A log directory, the folders of the topic's partitions, or URLs of these.
        view: ``state`` has a row for each segment: topic, topicId, partition, segmentId, state (such as
            ``COPY_SEGMENT_FINISHED``), startOffset, endOffset (inclusive), size in bytes, brokerId, maxTimestamp,
            eventTimestamp, leaderEpochs, leaderEpochStartOffsets, customMetadata, mayBeStale, recordPartition. ``log``
            has every record.
        **options: See :class:`ReadOptions`.

    Raises:
        ValueError, TypeError, FileNotFoundError, CorruptRecordError, OSError: as :func:`consumer_offsets`.
    """
    return read("remote_log_metadata", view, source, show_secrets=False, options=options)


def cluster_metadata(
    source: Source, *, view: ClusterView = "topics", show_secrets: bool = False, **options: Unpack[ReadOptions]
) -> ScanReader:
    """Read the metadata of a KRaft cluster from ``__cluster_metadata`` and its snapshots.

    The state is that of the newest complete ``.checkpoint`` file which is not after ``as_of``, and of the records from
    its end on. Snapshots are read from local folders only. After a clean stop all brokers are fenced, leaders are -1
    and ISRs empty: a warning says so.

    Args:
        source: A log directory or the folder ``__cluster_metadata-0``, or URLs of these.
        view: One row for each of: ``topics`` (topic, topicId, partitions, replicationFactor, configs), ``partitions``
            (topic, topicId, partition, leader, leaderEpoch, partitionEpoch, replicas, isr, addingReplicas,
            removingReplicas, elr, lastKnownElr, directories), ``brokers``, ``features``, ``configs`` (of topics,
            brokers, groups and client metrics), ``acls``, ``quotas``, ``users`` (SCRAM credentials),
            ``delegation_tokens``. ``log`` has every record.
        show_secrets: Whether SCRAM keys, ids of delegation tokens and the values of secret configs are shown;
            otherwise they are null or ``(redacted)``.
        **options: See :class:`ReadOptions`.

    Raises:
        ValueError, TypeError, CorruptRecordError: as :func:`consumer_offsets`.
        FileNotFoundError: a path does not exist; or the log does not begin at offset 0, and no complete snapshot shows
            the state at its beginning or before ``as_of``.
        OSError: while reading.
    """
    return read("cluster_metadata", view, source, show_secrets=show_secrets, options=options)
