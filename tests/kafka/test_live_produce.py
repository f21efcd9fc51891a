"""The profile of 4.3 beside a live 4.3.1: the code and the refused records of every record set, and what is stored.

The record sets are the matrix's, where the full set of vectors is, and some made here.
"""

from __future__ import annotations

import struct
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import kafkacomp as kc
from golden.test_produce_matrix import CASES, blobs, digests, settings
from kafkacomp import broker, record
from livekafka import produce
from livekafka.broker import Broker
from livekafka.tools import Tools

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# What hangs on more than the bytes: transactional ids and producers' sequences.
OUT_OF_REACH = ("null-records", "transactional-no-id-m2", "producer-id-seq5-m2")


class Case(NamedTuple):
    """A record set for a topic of this configuration."""

    name: str
    config: dict[str, str]
    data: bytes


def made() -> Iterator[Case]:
    """A few of each kind."""
    for codec in kc.CompressionType:
        builder = record.RecordBatchBuilder(2, codec)
        for index in range(4):
            builder.append(b"value" * index, key=None if index == 2 else b"key", timestamp=1_700_000_000_000 + index)
        good = builder.build()
        for config in ({}, {"cleanup.policy": "compact"}, {"compression.type": "zstd"}, {"compression.type": "gzip"}):
            yield Case(f"good-{codec}", config, good)
        yield Case(f"append-time-{codec}", {"message.timestamp.type": "LogAppendTime"}, good)
        yield Case(f"old-{codec}", {"message.timestamp.before.max.ms": "3600000"}, good)
        yield Case(f"two-{codec}", {}, good + good)
        yield Case(f"cut-{codec}", {}, good[:-1])
        for at, form, value in ((0, ">q", 7), (17, ">I", 1), (23, ">i", 9), (57, ">i", 9)):
            changed = bytearray(good)
            struct.pack_into(form, changed, at, value)
            yield Case(f"field-at-{at}-{codec}", {}, bytes(changed))
    for magic in (0, 1):
        builder = record.RecordBatchBuilder(magic, "lz4")
        builder.append(b"value", key=b"key", timestamp=-1 if magic == 0 else 1_700_000_000_000)
        yield Case(f"magic-{magic}", {}, builder.build())
    yield Case("nothing", {}, b"")


def of_matrix() -> Iterator[Case]:
    """The matrix's cases, but for settings that 4.x does not have."""
    for case in CASES:
        config = {name: value for name, value in case["topic_config"].items() if name != "message.format.version"}
        most = config.pop("message.timestamp.difference.max.ms", None)
        if most is not None:
            config |= {"message.timestamp.before.max.ms": most, "message.timestamp.after.max.ms": most}
        if case["id"] not in OUT_OF_REACH and config.keys() >= case["topic_config"].keys() - {
            "message.timestamp.difference.max.ms"
        }:
            yield Case(case["id"], config, blobs()[case["sent_sha256"]])


def topic_of(case: Case) -> str:
    """Cases share a topic with others of its configuration; those with a producer's state have one of their own."""
    if "producer" in case.name:
        return case.name
    return "-".join(["t", *(f"{name}.{value}" for name, value in sorted(case.config.items()))])


def test_every_answer(tmp_path: Path) -> None:
    """The same code, the same refused records, the same bytes or content."""
    cases = [*made(), *of_matrix()]
    topics = {topic_of(case): case.config for case in cases}
    different = []
    with Broker(tmp_path) as broker:
        tools = Tools(broker.bootstrap, tmp_path)
        tools.create_topics([{"topic": name, "configs": config} for name, config in topics.items()])
        for case in cases:
            topic = topic_of(case)
            answer = produce.send(broker.port, topic, case.data)
            found = differs(case, answer, stored_from(broker.partition_folder(topic), answer.base_offset))
            if found is not None:
                different.append(f"{case.name} {case.config}: {found}")
    assert not different, f"{len(different)} of {len(cases)}\n" + "\n".join(different[:20])


def stored_from(folder: Path, offset: int) -> bytes:
    """What is in the log from this offset on; segments roll where record times lie far apart."""
    if offset < 0:
        return b""
    newest = max(path for path in folder.glob("*.log") if int(path.stem) <= offset)
    data = newest.read_bytes()
    starts = [batch.position for batch in record.read_batches(data) if batch.last_offset >= offset]
    return data[starts[0] :] if starts else b""


def differs(case: Case, answer: produce.Answer, stored: bytes) -> str | None:
    """What the profile answers otherwise."""
    about: dict[str, Any] = {"topic_config": case.config}
    chosen = settings(about, {"produce_version": produce.VERSION}, stored)
    chosen["now"] = answer.log_append_time if answer.log_append_time >= 0 else time.time_ns() // 1_000_000
    for side in ("before", "after"):
        if f"message.timestamp.{side}.max.ms" in case.config:
            chosen[f"timestamp_{side}_max_ms"] = int(case.config[f"message.timestamp.{side}.max.ms"])
    try:
        found = broker.BrokerProfile("4.3").append(case.data, offset=max(answer.base_offset, 0), **chosen)
    except kc.KafkaCompError as error:
        indexes = tuple(refused.batch_index for refused in getattr(error, "record_errors", ()))
        same = (error.error_code, indexes) == (answer.error_code, answer.record_errors)
        return None if same else f"{error!r} {error.error_code} {indexes}, the broker {answer}"
    if answer.error_code != 0:
        return f"accepted, the broker {answer}"
    same = found == stored or digests(found) == digests(stored)
    return None if same else f"stored {found.hex()[:300]}, the broker {stored.hex()[:300]}"
