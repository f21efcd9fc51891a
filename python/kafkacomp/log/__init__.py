"""Read the files of a broker's log directory; verify, recompress, convert and repair logs.

:class:`kafkacomp.LogDir` is the model of a log directory, and :func:`kafkacomp.scan` reads its records.
:func:`recompress`, :func:`convert` and :func:`repair` write a new log and do not change the source.
:class:`kafkacomp.broker.LogValidator` shows what a broker does with a record set.

====================================================== =============================================
file                                                   function
====================================================== =============================================
``.index``                                             :func:`read_offset_index`
``.timeindex``                                         :func:`read_time_index`
``.txnindex``                                          :func:`read_transaction_index`
``.snapshot``                                          :func:`read_producer_snapshot`
``leader-epoch-checkpoint``                            :func:`read_leader_epoch_checkpoint`
``recovery-point-offset-checkpoint`` and similar       :func:`read_offset_checkpoint`
``partition.metadata``                                 :func:`read_partition_metadata`
a control record's key and value                       :func:`parse_control_record`
``.log``, with its indexes                             :func:`verify_segment`
a partition's folder                                   :func:`verify_partition`
====================================================== =============================================

Each function takes a path or the file's content. Corruption raises :class:`kafkacomp.CorruptRecordError`, with the
file and the byte.
"""

from __future__ import annotations

from kafkacomp._entries import (
    AbortedTxn,
    ControlRecord,
    LeaderEpochEntry,
    OffsetCheckpointEntry,
    OffsetPosition,
    PartitionMetadata,
    ProducerEntry,
    TimestampOffset,
)
from kafkacomp._storage.listing import OtherFile
from kafkacomp._storage.loss_file import AdjacentBatch, KnownLoss, LostOffsets
from kafkacomp.arrow._report import MissingRange
from kafkacomp.log._check import verify_partition, verify_segment
from kafkacomp.log._checkpoint_files import (
    read_leader_epoch_checkpoint,
    read_offset_checkpoint,
    read_partition_metadata,
)
from kafkacomp.log._control_records import parse_control_record
from kafkacomp.log._detect import detect_log_format
from kafkacomp.log._diff import Difference, DiffReport, diff
from kafkacomp.log._directory import FileCoverage, LogDirReport
from kafkacomp.log._info import (
    BatchCounts,
    LogDirInfo,
    OpenTransaction,
    PartitionInfo,
    SegmentInfo,
    SegmentSummary,
    TopicInfo,
)
from kafkacomp.log._log_dir import LogDir
from kafkacomp.log._model import LogPartition, LogSegment
from kafkacomp.log._rewrite import Repair, RepairReport, RewriteReport, convert, recompress, repair
from kafkacomp.log._side_files import read_offset_index, read_producer_snapshot, read_time_index, read_transaction_index
from kafkacomp.log._verify import CodecCounts, Finding, PartitionReport, SegmentReport

__all__ = [
    "AbortedTxn",
    "AdjacentBatch",
    "BatchCounts",
    "CodecCounts",
    "ControlRecord",
    "DiffReport",
    "Difference",
    "FileCoverage",
    "Finding",
    "KnownLoss",
    "LeaderEpochEntry",
    "LogDir",
    "LogDirInfo",
    "LogDirReport",
    "LogPartition",
    "LogSegment",
    "LostOffsets",
    "MissingRange",
    "OffsetCheckpointEntry",
    "OffsetPosition",
    "OpenTransaction",
    "OtherFile",
    "PartitionInfo",
    "PartitionMetadata",
    "PartitionReport",
    "ProducerEntry",
    "Repair",
    "RepairReport",
    "RewriteReport",
    "SegmentInfo",
    "SegmentReport",
    "SegmentSummary",
    "TimestampOffset",
    "TopicInfo",
    "convert",
    "detect_log_format",
    "diff",
    "parse_control_record",
    "read_leader_epoch_checkpoint",
    "read_offset_checkpoint",
    "read_offset_index",
    "read_partition_metadata",
    "read_producer_snapshot",
    "read_time_index",
    "read_transaction_index",
    "recompress",
    "repair",
    "verify_partition",
    "verify_segment",
]
