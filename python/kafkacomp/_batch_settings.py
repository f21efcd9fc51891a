"""The settings of a batch to build, as the core takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kafkacomp._arguments import INT16, INT32, INT64, MAGICS, OFFSETS, compression_type_of, integer, level_of
from kafkacomp._types import TimestampType

if TYPE_CHECKING:
    from kafkacomp._types import CompressionTypeLike

NO_TIMESTAMP: Final = -1
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_PARTITION_LEADER_EPOCH: Final = -1

#: The ranges of the fields that are numbers.
_RANGES: Final = {
    "magic": MAGICS,
    "base_offset": OFFSETS,
    "log_append_time": INT64,
    "producer_id": INT64,
    "producer_epoch": INT16,
    "base_sequence": INT32,
    "partition_leader_epoch": INT32,
    "write_limit": (0, INT32[1]),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSettings:
    """The fields of a batch, and the size at which it is full.

    Raises:
        ValueError: a number does not fit its field; or ``log_append_time`` is given with CREATE_TIME. The core checks
            what depends on the magic and the compression type.
        TypeError: a number is not an int.
    """

    magic: int
    compression_type: CompressionTypeLike
    level: int | None
    base_offset: int = 0
    timestamp_type: TimestampType = TimestampType.CREATE_TIME
    log_append_time: int = NO_TIMESTAMP
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    base_sequence: int = NO_SEQUENCE
    is_transactional: bool = False
    is_control_batch: bool = False
    partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH
    delete_horizon_ms: int | None = None
    write_limit: int = INT32[1]

    def __post_init__(self) -> None:
        """Check the fields, and convert them to the types of the core."""
        checked: dict[str, int | None] = {"level": level_of(self.level, INT32)}
        checked |= {name: integer(name, getattr(self, name), limits) for name, limits in _RANGES.items()}
        timestamp_type = TimestampType(self.timestamp_type)
        if self.log_append_time != NO_TIMESTAMP and timestamp_type != TimestampType.LOG_APPEND_TIME:
            raise ValueError("log_append_time requires timestamp_type=LOG_APPEND_TIME")
        if self.delete_horizon_ms is not None:
            checked["delete_horizon_ms"] = integer("delete_horizon_ms", self.delete_horizon_ms, OFFSETS)
        checked |= {
            "compression_type": int(compression_type_of(self.compression_type)),
            "timestamp_type": int(timestamp_type),
            "is_transactional": bool(self.is_transactional),
            "is_control_batch": bool(self.is_control_batch),
        }
        for name, number in checked.items():
            object.__setattr__(self, name, number)
