"""The classes that are made of Kafka's message schemas."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import kafkacomp as kc
from kafkacomp.tiered.messages.reader import Reader
from kafkacomp.tiered.metadata import CustomMetadata, RemoteLogMetadata, SegmentState, parse_event

ROOT = Path(__file__).resolve().parent.parent


def test_the_modules_are_what_the_schemas_make() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "make_messages.py", "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def record(start: int = 0, *, state: int = 0, tail: bytes = b"\0") -> bytes:
    """A segment of the topic t with all ids zero."""
    segment_id = b"\x02t" + bytes(16) + bytes(4) + b"\0" + bytes(16) + b"\0"
    numbers = start.to_bytes(8, "big") + (start + 9).to_bytes(8, "big") + bytes(4) + bytes(8) + bytes(8)
    epochs = b"\x02" + bytes(4) + start.to_bytes(8, "big") + b"\0"
    return b"\1\0\0" + segment_id + numbers + epochs + bytes(4) + b"\0" + bytes([state]) + tail


def update(state: int) -> bytes:
    segment_id = b"\x02t" + bytes(16) + bytes(4) + b"\0" + bytes(16) + b"\0"
    return b"\1\1\0" + segment_id + bytes(4) + bytes(8) + b"\0" + bytes([state]) + b"\0"


DELETED_PARTITION = b"\1\2\0" + b"\x02t" + bytes(16) + bytes(4) + b"\0" + bytes(4) + bytes(8) + b"\2" + b"\0"
ZERO_ID = "A" * 22


def states(*events: bytes) -> list[str]:
    metadata = RemoteLogMetadata()
    for event in events:
        metadata.add(parse_event(event))
    return [each.state.name for each in metadata.segments(ZERO_ID, 0)]


def test_states_follow_one_another() -> None:
    """As Kafka's RemoteLogSegmentState.isValidTransition has it; a state may come again, as after a refused delete."""
    assert states(record()) == ["COPY_SEGMENT_STARTED"]
    assert states(record(), update(1)) == ["COPY_SEGMENT_FINISHED"]
    assert states(record(), update(1), update(2), update(2)) == ["DELETE_SEGMENT_STARTED"]
    assert states(record(), update(1), update(2), update(3)) == []
    assert states(record(), update(2)) == ["DELETE_SEGMENT_STARTED"]
    assert states(record(), update(1), update(2), update(1)) == ["DELETE_SEGMENT_STARTED"]
    assert states(record(), update(1), update(3)) == ["COPY_SEGMENT_FINISHED"]
    assert states(update(1)) == []
    assert states(record(), update(1), DELETED_PARTITION) == []


def test_a_tag_of_a_later_version_is_left_out() -> None:
    assert parse_event(record(tail=b"\1\5\3abc")) == parse_event(record())
    known = parse_event(record(tail=b"\2\0\1\1\5\3abc"))
    assert (known.txn_index_empty, parse_event(record()).txn_index_empty) == (True, False)  # type: ignore[union-attr]  # it is a segment


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\2\0\0",
        b"\1\7\0",
        b"\1\3\0",
        b"\1\0\1" + record()[3:],
        record() + b"\0",
        record()[:-1],
        record(tail=b"\2\5\0\5\0"),
        b"\1\0\0" + b"\xff\xff\xff\xff\x0f",
        b"\1\0\0" + b"\xff" * 6,
    ],
)
def test_what_is_no_event(value: bytes) -> None:
    with pytest.raises(kc.InvalidRecordError):
        parse_event(value)


def test_every_prefix_of_an_event_is_an_error() -> None:
    whole = record(tail=b"\1\0\1\1")
    for length in range(len(whole)):
        with pytest.raises(kc.InvalidRecordError):
            parse_event(whole[:length])


def test_an_array_of_more_elements_than_bytes() -> None:
    """No memory is taken for it."""
    with pytest.raises(kc.InvalidRecordError, match="an array of"):
        Reader(b"\xff\xff\xff\xff\x0f").array(lambda source: source.int8())


def test_custom_metadata() -> None:
    assert CustomMetadata.parse(b"\0") == CustomMetadata()
    assert CustomMetadata.parse(b"\2\0\1\x0a\7\1x") == CustomMetadata(remote_size=5)
    with pytest.raises(kc.InvalidRecordError):
        CustomMetadata.parse(b"\1\0\x0b" + b"\xff" * 11)


def test_states_have_kafkas_ids() -> None:
    assert [state.value for state in SegmentState] == [0, 1, 2, 3]
