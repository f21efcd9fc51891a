"""Control records: transaction markers, leader changes and the control records of KRaft."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkacomp import _kafkacomp

if TYPE_CHECKING:
    from kafkacomp._entries import ControlRecord


def parse_control_record(key: bytes | None, value: bytes | None) -> ControlRecord:
    """Decode the key and value of a record of a control batch.

    Raises:
        InvalidRecordError: they do not follow their type's schema.

    Example:
        >>> from kafkacomp import log
        >>> log.parse_control_record(bytes.fromhex("0000 0001"), bytes.fromhex("0000 00000007"))
        ControlRecord(type='COMMIT', type_id=1, fields={'version': 0, 'coordinatorEpoch': 7})
    """
    return _kafkacomp.parse_control_record(key, value)
