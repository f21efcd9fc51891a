"""Control records: transaction markers, leader changes and the control records of KRaft."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkacomp import _kafkacomp

if TYPE_CHECKING:
    from kafkacomp._entries import ControlRecord


def parse_control_record(key: bytes | None, value: bytes | None) -> ControlRecord:
    """Decode the key and value of a record of a control batch.

    Args:
        key: The key, which contains the type of the control record.
        value: The value, which follows the schema of the type.

    Returns:
        The type and the fields of the value. Types that are unknown here are ``UNKNOWN``, without fields.

    Raises:
        InvalidRecordError: they do not follow the schema of their type.

    Example:
        >>> from kafkacomp import log
        >>> log.parse_control_record(bytes.fromhex("0000 0001"), bytes.fromhex("0000 00000007"))
        ControlRecord(type='COMMIT', type_id=1, fields={'version': 0, 'coordinatorEpoch': 7})
    """
    return _kafkacomp.parse_control_record(key, value)
