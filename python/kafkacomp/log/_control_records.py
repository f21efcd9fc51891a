"""Control records: transaction markers, leader changes and the control records of KRaft."""

from __future__ import annotations

from kafkacomp import _kafkacomp
from kafkacomp._entries import ControlRecord

__all__ = ["ControlRecord", "parse_control_record"]


def parse_control_record(key: bytes | None, value: bytes | None) -> ControlRecord:
    """Decode the key and value of a record of a control batch.

    Raises:
        InvalidRecordError: they do not follow their type's schema.
    """
    return _kafkacomp.parse_control_record(key, value)
