"""Every message set of Kafka 0.7 is read to exactly what release 0.7.2 says of it.

One rule is ours: Kafka parses the next message of a wrapper before it hands out one, so that an error inside loses
the good messages before it, one a level. Ours come out. ``LOST_BY_LOOK_AHEAD`` counts them, file by file.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import kafkacomp as kc
from kafkacomp import message_set

from .expect import label, read_json_lines, roots

if TYPE_CHECKING:
    from pathlib import Path

# Good messages that Kafka's deep iterator loses before it throws; in all other files it loses none.
LOST_BY_LOOK_AHEAD = {
    "sets/badcrc-inner-last-gzip": 1,
    "sets/badcrc-inner-last-snappy": 1,
    "sets/badcrc-inner-middle-gzip": 1,
    "sets/badcrc-inner-middle-snappy": 1,
    "sets/badcrc-nested-inner": 2,
    "sets/codec-3-inside-gzip": 1,
    "sets/inner-negative-size": 1,
    "sets/inner-size-zero": 1,
    "sets/magic-2-inside-gzip": 1,
}

KINDS = {
    "kafka.common.InvalidMessageSizeException": "invalid_message_size",
    "java.lang.IndexOutOfBoundsException": "entry_too_small",
    "kafka.common.UnknownMagicByteException": "unknown_magic",
    "kafka.message.InvalidMessageException": "crc",
    "kafka.common.UnknownCodecException": "unknown_codec",
    "java.io.IOException": "decompression",
    "java.io.EOFException": "decompression",
    "java.util.zip.ZipException": "decompression",
}

# How many files the full set has, and how many of them fail shallow and deep: none may be passed over.
FULL_COUNT, FULL_SHALLOW_ERRORS, FULL_DEEP_ERRORS = 256, 62, 94


@dataclass(frozen=True, eq=False)
class Case:
    """A file and what Kafka says of it."""

    root: Path
    path: Path

    @property
    def name(self) -> str:
        """The path below the root without its suffix."""
        return self.path.relative_to(self.root).with_suffix("").as_posix()

    def lines(self) -> list[dict[str, Any]]:
        """The expectation."""
        return list(read_json_lines(self.path.with_name(f"{self.path.stem}.expected.jsonl.gz")))

    def __str__(self) -> str:
        """The test id."""
        return f"{label(self.root)}/{self.name}"


class Shown(NamedTuple):
    """A message as an expectation gives it; the shallow ones have no payload."""

    offset: int
    size: int
    magic: int
    attributes: int | None
    codec: str | None
    crc: int
    valid: bool
    payload_size: int
    payload: str | None


CASES = [
    Case(root, path)
    for root in roots("v07")
    for path in sorted(root.rglob("*"))
    if path.suffix in {".msgset", ".kafka"}
]
by_name = pytest.mark.parametrize("case", CASES, ids=str)


def codec(message: message_set.Message) -> str | None:
    """The codec's name, None for one that nobody knows."""
    try:
        return str(message.compression_type)
    except kc.MessageSetError as error:
        assert error.kind == "unknown_codec"  # noqa: PT017
        return None


def shown(item: message_set.MessageAndOffset, *, payload: bool) -> Shown:
    message, offset = item
    return Shown(
        offset,
        message.size_in_bytes,
        message.magic,
        message.attributes,
        codec(message),
        message.crc,
        message.is_valid,
        len(message.payload),
        base64.b64encode(message.payload).decode() if payload else None,
    )


def read(data: bytes, *, initial_offset: int, deep: bool) -> tuple[list[Shown], kc.MessageSetError | None]:
    """Messages until the end or an error, behind which there must be nothing."""
    found: list[Shown] = []
    messages = message_set.read_messages(data, initial_offset=initial_offset, deep=deep)
    try:
        found.extend(shown(item, payload=deep) for item in messages)
    except kc.MessageSetError as error:
        assert next(messages, None) is None
        return found, error
    return found, None


def expected(lines: list[dict[str, Any]], kind: str) -> tuple[list[Shown], str | None]:
    """The lines of one iterator, and the kind of its error."""
    (end,) = [line for line in lines if line["t"] == f"{kind}_end"]
    fields: list[list[Any]] = [[line.get(name) for name in Shown._fields] for line in lines if line["t"] == kind]
    found = [Shown(*values) for values in fields]
    assert len(found) == end["count"]
    return found, None if end["error"] is None else KINDS[end["error"]["class"]]


@by_name
def test_shallow(case: Case) -> None:
    """Entries, where to go on after each, where it stops and why, and the valid bytes."""
    data, lines = case.path.read_bytes(), case.lines()
    initial = lines[0]["initial_offset"]
    assert len(data) == lines[0]["bytes"]
    wanted, kind = expected(lines, "shallow")
    found, error = read(data, initial_offset=initial, deep=False)
    assert found == wanted
    assert (error and error.kind) == kind
    (end,) = [line for line in lines if line["t"] == "shallow_end"]
    if error is None:
        assert message_set.valid_bytes(data, initial) == end["valid_bytes"]
    else:
        # The error stands at the entry behind the last good one.
        assert error.position == (wanted[-1].offset - initial if wanted else 0)
        assert end["valid_bytes"] is None
        with pytest.raises(kc.MessageSetError) as caught:
            message_set.valid_bytes(data, initial)
        assert (caught.value.kind, caught.value.position) == (kind, error.position)


@by_name
def test_deep(case: Case) -> None:
    """Messages with payload and offset, where it stops and why; what look-ahead loses is counted."""
    data, lines = case.path.read_bytes(), case.lines()
    initial = lines[0]["initial_offset"]
    wanted, kind = expected(lines, "deep")
    found, error = read(data, initial_offset=initial, deep=True)
    assert found[: len(wanted)] == wanted
    assert (error and error.kind) == kind
    lost = found[len(wanted) :]
    assert len(lost) == LOST_BY_LOOK_AHEAD.get(case.name, 0)
    if error is not None:
        # The error names the outermost entry, which is where messages before it in the same wrapper lead back to.
        starts = [line["position"] for line in lines if line["t"] == "shallow"]
        shallow_end = starts and wanted_end(lines)
        assert error.position in {*starts, shallow_end or 0}
        assert {item.offset - initial for item in lost} <= {error.position}
        assert isinstance(error.__cause__, kc.DecompressionError) == (kind == "decompression")


def wanted_end(lines: list[dict[str, Any]]) -> int:
    """The byte behind the last entry that the shallow iterator gives."""
    last = [line for line in lines if line["t"] == "shallow"][-1]
    return int(last["position"]) + 4 + int(last["size"])


@by_name
def test_buffers_that_may_change_are_copied(case: Case) -> None:
    """A bytearray and a memoryview read like bytes, and messages outlive reader and buffer."""
    data = case.path.read_bytes()
    initial = case.lines()[0]["initial_offset"]
    wanted, _ = read(data, initial_offset=initial, deep=True)
    for kind in (bytearray, memoryview):
        kept: list[message_set.MessageAndOffset] = []
        try:
            for item in message_set.read_messages(kind(data), initial_offset=initial):
                kept.append(item)  # noqa: PERF402 (what came before the error counts)
        except kc.MessageSetError:
            pass
        assert [shown(item, payload=True) for item in kept] == wanted


def test_nothing_is_passed_over() -> None:
    """The slice is there, whatever else is, and the full set is whole where it is."""
    names = {str(case) for case in CASES}
    assert {f"small/{name}" for name in LOST_BY_LOOK_AHEAD} <= names
    full = [case for case in CASES if label(case.root) == "full"]
    if full:
        ends = [line for case in full for line in case.lines() if line["t"] in {"shallow_end", "deep_end"}]
        failed = [line["t"] for line in ends if line["error"] is not None]
        assert len(full) == FULL_COUNT
        assert failed.count("shallow_end") == FULL_SHALLOW_ERRORS
        assert failed.count("deep_end") == FULL_DEEP_ERRORS
