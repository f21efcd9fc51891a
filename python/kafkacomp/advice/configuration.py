"""The configuration to set for producers, the topic or the broker, and the consequences of each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkacomp._types import CompressionType
from kafkacomp.advice.settings import TODAY

if TYPE_CHECKING:
    from kafkacomp.advice.cost import Circumstances
    from kafkacomp.advice.topic import Cell

#: A producer's default batch.size: smaller batches were sent before they were full, because of linger.ms.
DEFAULT_BATCH_SIZE: Final = 16384
#: The most time to fill a batch, ms. A saving that requires a longer linger.ms is not advised.
LONGEST_LINGER_MS: Final = 1000
#: The default of linger.ms since Kafka 4.0.
_DEFAULT_LINGER_MS: Final = 5
#: The default of a broker's message.max.bytes and a topic's max.message.bytes.
_MAX_MESSAGE_BYTES: Final = 1_048_588


class Lines(NamedTuple):
    """The configuration to set for producers, the topic or the broker.

    Attributes:
        place: Where to set it: ``producer``, ``topic`` or ``broker``.
        lines: The lines to set.
        implies: The consequences of setting them.
    """

    place: str
    lines: list[str]
    implies: str


def lines_for(cell: Cell, about: Circumstances, fill_ms: float | None) -> list[Lines]:
    """Return the configuration for a cell: of producers, which is preferred, and of the topic and the broker."""
    from kafkacomp import broker  # noqa: PLC0415 - the command line starts without it

    codec = cell.codec
    stored = broker.target_compression_type(about.compression_type, codec.type)
    producer = [f"compression.type={codec.type}", *_level(codec.type, codec.level)]
    producer += batching(cell.batch_size, fill_ms)
    implies = (
        "the producers compress; less is sent, replicated, stored and fetched; the broker stores batches as they arrive"
    )
    if stored is not codec.type:
        implies = (
            f"the topic's compression.type is {about.compression_type}: the broker would compress what comes again, "
            f"as {stored}, so set the topic, too"
        )
    if codec.type is CompressionType.ZSTD:
        implies += "; clients and brokers before 2.1 have no zstd"
    if codec.level is not None:
        implies += f"; producers before 3.8 have no compression.{codec.type}.level"
    if cell.batch_size != TODAY:
        implies += "; a batch waits up to linger.ms for more records, which is necessary at the topic's rate"
    elif codec.type is not CompressionType.NONE:
        implies += "; if today's batches end at batch.size, compressed ones contain more records, which saves more"
    if cell.batch_bytes > _MAX_MESSAGE_BYTES:
        implies += f"; batches above {_MAX_MESSAGE_BYTES} bytes need max.message.bytes and max.request.size raised"
    found = [Lines("producer", producer, implies)]
    if stored is not codec.type:
        found.append(Lines("topic", ["compression.type=producer"], "the broker stores what producers send"))
        return found
    kind = "uncompressed" if codec.type is CompressionType.NONE else str(codec.type)
    work = (
        "only where producers cannot be changed: the leader decompresses what comes in another type and compresses it "
        f"again ({cell.compress_seconds:.2f} s of a core per GB more), and producers send as much as today; what comes "
        f"as {kind} keep the producer's level"
    )
    level = _level(codec.type, codec.level)
    found.append(Lines("topic", [f"compression.type={kind}", *level], work))
    found.append(
        Lines(
            "broker",
            [f"compression.type={kind}"],
            "as for the topic, but for every topic without its own compression.type",
        )
    )
    return found


def batching(batch_size: int, fill_ms: float | None) -> list[str]:
    """Return the configuration with which a producer's batches are as large as a cell's; none for today's.

    ``batch.size`` keeps its default if that is sufficient; ``linger.ms`` then lets the batches fill.
    """
    if batch_size == TODAY:
        return []
    size = [f"batch.size={batch_size}"] if batch_size > DEFAULT_BATCH_SIZE else []
    wait = _DEFAULT_LINGER_MS if fill_ms is None else max(_DEFAULT_LINGER_MS, math.ceil(fill_ms))
    return [*size, f"linger.ms={wait}"]


def _level(kind: CompressionType, level: int | None) -> list[str]:
    return [] if level is None else [f"compression.{kind}.level={level}"]
