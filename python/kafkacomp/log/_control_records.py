"""Control records: transaction markers, leader changes and what KRaft stores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kafkacomp import _kafkacomp

__all__ = ["ControlRecord", "parse_control_record"]


@dataclass(frozen=True)
class ControlRecord:
    """A control record's content."""

    #: ABORT, COMMIT, LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION, KRAFT_VOTERS or UNKNOWN.
    type: str
    #: The id in the key.
    type_id: int
    #: The value's fields, under the names of Kafka's schemas; none for UNKNOWN.
    fields: dict[str, Any]


def parse_control_record(key: bytes | None, value: bytes | None) -> ControlRecord:
    """Decode the key and value of a record of a control batch.

    Raises:
        InvalidRecordError: they do not follow their type's schema.
    """
    return ControlRecord(*_kafkacomp.parse_control_record(key, value))
