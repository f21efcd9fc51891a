"""The loss file of a partition: the offsets that a log which was rewritten lacks, and why.

A function that rewrites a log and leaves offsets out writes ``kafkacomp-repair.json`` into the partition's folder::

    {
      "version": 1,
      "topic": "orders", "topicId": "N3kFbQ2nT3yMZ0bC1qfS0g", "partition": 1,
      "compactedTo": null,
      "losses": [
        {
          "firstOffset": 325, "lastOffset": 399, "reason": "corrupt",
          "before": {"lastOffset": 324, "crc": 3735928559, "firstTimestamp": 1700000000000, "lastTimestamp": ...},
          "after": {"lastOffset": 449, "crc": 3405691582, "firstTimestamp": 1700000002000, "lastTimestamp": ...}
        }
      ],
      "moreLosses": 0,
      "lost": {"offsets": 75, "firstTimestamp": 1700000000900, "lastTimestamp": 1700000002000},
      "positions": [],
      "repairs": [], "moreRepairs": 0
    }

``before`` and ``after`` are the batches next to the missing offsets in the log that was written, ``null`` at its start
and its end; ``crc`` is the checksum in their headers, which does not cover the offset. ``compactedTo`` is the offset up
to which compaction explains missing offsets, as ``cleaner-offset-checkpoint`` or the batches of the source showed.
``positions`` are the missing bytes of a log of Kafka 0.7, whose messages got new offsets. The lists have at most 10,000
entries; ``moreLosses`` and ``moreRepairs`` are the numbers of further ones.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, get_args

from kafkacomp._text import camel_case

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kafkacomp.arrow._report import MissingRange

LOSS_FILE: Final = "kafkacomp-repair.json"
_VERSION: Final = 1
_MAX_OFFSET: Final = 2**63 - 1

#: Why the offsets of a loss are missing, as the source of the log had them: as in
#: :class:`kafkacomp.arrow.MissingRange`; or they were control records (``control``), which message formats 0 and 1 do
#: not have; or the scan that the rows came from did not return them (``excluded``).
LossReason: TypeAlias = Literal["corrupt", "gap", "limit", "unreadable", "vanished", "control", "excluded"]


class AdjacentBatch(NamedTuple):
    """A batch before or after missing offsets.

    Attributes:
        last_offset: Its last offset.
        crc: The checksum in its header.
        first_timestamp: The timestamp of its first record in milliseconds; ``None`` without timestamps.
        last_timestamp: Its greatest timestamp in milliseconds; ``None`` without timestamps.

    Example:
        >>> import kafkacomp as kc
        >>> import pyarrow as pa
        >>> rows = pa.table({"offset": [0, 1, 5], "value": ["a", "b", "c"], "timestamp": [1000, 2000, 3000]})
        >>> log = kc.write(rows, target, topic="orders", partition=0).path
        >>> _ = kc.log.repair(log, target / "new" / "orders-0")
        >>> (loss,) = kc.log.verify_partition(target / "new" / "orders-0").known_losses
        >>> loss.before.last_offset, loss.before.last_timestamp, loss.after.last_offset, loss.after.first_timestamp
        (1, 2000, 5, 3000)
    """

    last_offset: int
    crc: int
    first_timestamp: int | None
    last_timestamp: int | None


class KnownLoss(NamedTuple):
    """Missing offsets of a log that its loss file names.

    Attributes:
        topic: The topic, if known.
        partition: The partition, if known.
        first_offset: The first missing offset.
        last_offset: The last missing offset, inclusive.
        reason: Why they are missing: ``corrupt``, ``gap``, ``limit``, ``unreadable`` or ``vanished``, as in
            :class:`kafkacomp.arrow.MissingRange`, in the log that was repaired or rewritten; ``control`` if they were
            control records, which message formats 0 and 1 do not have; ``excluded`` if the scan whose rows
            :func:`kafkacomp.write` wrote did not return them: control records, or records outside its bounds.
        before: The batch before them; ``None`` at the start of the log.
        after: The batch after them; ``None`` at the end of the log.

    Example:
        >>> import kafkacomp as kc
        >>> import pyarrow as pa
        >>> rows = pa.table({"offset": [0, 1, 5], "value": ["a", "b", "c"]})
        >>> log = kc.write(rows, target, topic="orders", partition=0).path
        >>> _ = kc.log.repair(log, target / "repaired" / "orders-0")
        >>> report = kc.log.verify_partition(target / "repaired" / "orders-0")
        >>> report.is_intact, [(each.first_offset, each.last_offset, each.reason) for each in report.known_losses]
        (True, [(2, 4, 'gap')])
    """

    topic: str | None
    partition: int | None
    first_offset: int
    last_offset: int
    reason: LossReason
    before: AdjacentBatch | None
    after: AdjacentBatch | None


class LostOffsets(NamedTuple):
    """The offsets that the logs of a topic lack, without those that compaction removed.

    Attributes:
        topic: The topic, if known.
        offsets: Their number, which is the number of records that were lost at most.
        first_timestamp: The greatest timestamp of the batch before the first of them, in milliseconds; ``None`` if it
            is unknown.
        last_timestamp: The first timestamp of the batch after the last of them, in milliseconds; ``None`` if it is
            unknown. Records with earlier and later timestamps may be lost, too, if the timestamps of the log are not in
            order.

    Example:
        >>> import kafkacomp as kc
        >>> import pyarrow as pa
        >>> rows = pa.table({"offset": [0, 1, 5], "value": ["a", "b", "c"], "timestamp": [1000, 2000, 3000]})
        >>> log = kc.write(rows, target, topic="orders", partition=0).path
        >>> kc.log.repair(log, target / "new" / "orders-0").lost
        (LostOffsets(topic='orders', offsets=3, first_timestamp=2000, last_timestamp=3000),)
    """

    topic: str | None
    offsets: int
    first_timestamp: int | None
    last_timestamp: int | None


@dataclass(frozen=True)
class LossFile:
    """The content of a loss file."""

    topic: str | None
    topic_id: str | None
    partition: int | None
    #: The offset up to which compaction explains missing offsets.
    compacted_to: int | None
    losses: tuple[KnownLoss, ...]


def parsed(content: bytes, name: str) -> LossFile:
    """Parse a loss file.

    Raises:
        ValueError: it is not valid, or of another version.
    """
    try:
        found = json.loads(content)
        _check_version(found["version"])
        topic, partition = _text(found["topic"]), _number(found["partition"], is_optional=True)
        losses = tuple(_loss(topic, partition, each) for each in found["losses"])
        topic_id, compacted_to = _text(found["topicId"]), _number(found["compactedTo"], is_optional=True)
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{name}: not a loss file of kafkacomp: {type(error).__name__}: {error}") from None
    except ValueError as error:
        raise ValueError(f"{name}: not a loss file of kafkacomp: {error}") from None
    return LossFile(topic, topic_id, partition, compacted_to, losses)


def _check_version(version: object) -> None:
    if version != _VERSION:
        raise ValueError(f"version {version!r}: expected {_VERSION}")


def _loss(topic: str | None, partition: int | None, found: Any) -> KnownLoss:  # noqa: ANN401 - of JSON
    first, last, reason = _number(found["firstOffset"]), _number(found["lastOffset"]), found["reason"]
    if first is None or last is None or first > last or reason not in get_args(LossReason):
        raise ValueError(f"a loss of offsets {first} to {last} with the reason {reason!r}")
    return KnownLoss(topic, partition, first, last, reason, _adjacent(found["before"]), _adjacent(found["after"]))


def _adjacent(found: Any) -> AdjacentBatch | None:  # noqa: ANN401 - of JSON
    if found is None:
        return None
    last, crc = _number(found["lastOffset"]), _number(found["crc"])
    times = (_number(found[name], is_optional=True) for name in ("firstTimestamp", "lastTimestamp"))
    return AdjacentBatch(last or 0, crc or 0, *times)


def _number(found: object, *, is_optional: bool = False) -> int | None:
    if found is None and is_optional:
        return None
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found <= _MAX_OFFSET:
        raise ValueError(f"{found!r} is not a number from 0 to {_MAX_OFFSET}")
    return found


def _text(found: object) -> str | None:
    if found is not None and not isinstance(found, str):
        raise ValueError(f"{found!r} is not a text")
    return found


def known_loss_fields(loss: KnownLoss) -> dict[str, Any]:
    """The fields of a known loss for JSON."""
    around = {name: getattr(loss, name) for name in ("before", "after")}
    return camel_case(loss._asdict()) | {
        name: None if batch is None else camel_case(batch._asdict()) for name, batch in around.items()
    }


def lost_offsets(losses: Iterable[KnownLoss]) -> tuple[LostOffsets, ...]:
    """Add up losses by topic."""
    found: dict[str | None, LostOffsets] = {}
    for each in losses:
        topic = each.topic
        known = found.get(topic, LostOffsets(topic, 0, None, None))
        before = None if each.before is None else each.before.last_timestamp
        after = None if each.after is None else each.after.first_timestamp
        found[topic] = LostOffsets(
            topic,
            known.offsets + each.last_offset - each.first_offset + 1,
            min((time for time in (known.first_timestamp, before) if time is not None), default=None),
            max((time for time in (known.last_timestamp, after) if time is not None), default=None),
        )
    return tuple(found.values())


def serialized(
    file: LossFile,
    *,
    more_losses: int,
    positions: Sequence[MissingRange],
    repairs: Sequence[dict[str, Any]],
    more_repairs: int,
) -> bytes:
    """Format a loss file; ``positions`` are the missing bytes of a log of Kafka 0.7, whose offsets are new."""
    lost = lost_offsets(file.losses) or (LostOffsets(file.topic, 0, None, None),)
    content = {
        "version": _VERSION,
        "topic": file.topic,
        "topicId": file.topic_id,
        "partition": file.partition,
        "compactedTo": file.compacted_to,
        "losses": [
            {name: value for name, value in known_loss_fields(each).items() if name not in {"topic", "partition"}}
            for each in file.losses
        ],
        "moreLosses": more_losses,
        "lost": {name: value for name, value in camel_case(lost[0]._asdict()).items() if name != "topic"},
        "positions": [
            {"firstPosition": each.first_offset, "lastPosition": each.last_offset, "reason": each.reason}
            for each in positions
        ],
        "repairs": list(repairs),
        "moreRepairs": more_repairs,
    }
    return json.dumps(content, indent=1).encode()
