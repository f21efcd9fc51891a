"""What brokers from 0.8.2.2 to 3.9.1 answered to hand-made record sets and stored: each profile beside its broker."""

from __future__ import annotations

import base64
import json
from functools import cache
from typing import Any

import pytest

import kafkacomp as kc
from kafkacomp import broker, record

from .expect import read_json_lines, roots
from .validating import content_digest

# What a profile cannot answer, and why: (case, broker) or (case, broker, version of the request); None is any.
OUT_OF_REACH = {
    ("null-records", None): "there is no record set",
    ("transactional-no-id-m2", None): "53: the request names no transactional id",
    ("producer-id-seq5-m2", "0.11.0.3"): "the sequence is held against the producer's state",
    ("producer-id-seq5-m2", "1.1.1"): "the sequence is held against the producer's state",
}


def matrix() -> list[dict[str, Any]]:
    """The cases, if the full set is there."""
    for root in roots("legacy"):
        if (root / "produce_matrix.json").is_file():
            cases: list[dict[str, Any]] = json.loads((root / "produce_matrix.json").read_text(encoding="utf-8"))[
                "cases"
            ]
            return cases
    return []


@cache
def blobs() -> dict[str, bytes]:
    """All bytes by their SHA-256."""
    (path,) = [path for root in roots("legacy") if (path := root / "produce_matrix.blobs.jsonl.gz").is_file()]
    return {line["sha256"]: base64.b64decode(line["bytes"]) for line in read_json_lines(path)}


def settings(case: dict[str, Any], result: dict[str, Any], stored: bytes | None) -> dict[str, Any]:
    """The topic's settings, and the circumstances that only what was stored tells."""
    config = case["topic_config"]
    chosen: dict[str, Any] = {"produce_version": result["produce_version"], "now": 1_780_000_000_000}
    if "compression.type" in config:
        chosen["compression_type"] = config["compression.type"]
    chosen["compacted"] = config.get("cleanup.policy") == "compact"
    chosen["message_format_version"] = config.get("message.format.version")
    if config.get("message.timestamp.type") == "LogAppendTime":
        chosen["timestamp_type"] = record.TimestampType.LOG_APPEND_TIME
    if "message.timestamp.difference.max.ms" in config:
        most = int(config["message.timestamp.difference.max.ms"])
        chosen |= {"timestamp_before_max_ms": most, "timestamp_after_max_ms": most}
    if stored:
        try:
            first = next(iter(record.read_batches(stored)))
        except (kc.KafkaCompError, StopIteration):
            return chosen
        if first.timestamp_type == record.TimestampType.LOG_APPEND_TIME:
            chosen["now"] = first.max_timestamp
        if first.magic >= 2:
            chosen["partition_leader_epoch"] = first.partition_leader_epoch
    return chosen


def differs(case: dict[str, Any], result: dict[str, Any]) -> str | None:
    """What the profile answers otherwise than the broker."""
    sent = blobs()[case["sent_sha256"]]
    stored = blobs()[result["stored_sha256"]] if result.get("stored_sha256") else b""
    profile = broker.BrokerProfile(result["broker"])
    try:
        found = profile.append(sent, **settings(case, result, stored))
    except kc.KafkaCompError as error:
        code = error.error_code
        return None if code == result.get("error_code") else f"{error!r}: {code}, the broker answered {result}"
    if result.get("error_code") != 0:
        return f"stored {len(found)} bytes, the broker answered {result}"
    if found == stored:
        return None
    if not found or not stored or digests(found) != digests(stored):
        return f"stored {found.hex()[:300]}, the broker {stored.hex()[:300]} {result.get('stored_is')}"
    return None


def digests(stored: bytes) -> list[str]:
    """One for each batch, by what does not depend on the encoder."""
    found = []
    for batch in record.read_batches(stored):
        piece = stored[batch.position : batch.position + batch.size_in_bytes]
        found.append(content_digest(piece, exact=batch.compression_type == kc.CompressionType.NONE))
    return found


CASES = matrix()


@pytest.mark.skipif(not CASES, reason="needs the full set of vectors")
def test_every_case() -> None:
    """The same code for every case, and the same content stored."""
    found: list[str] = []
    compared = 0
    for case in CASES:
        for result in case["results"]:
            if {(case["id"], None), (case["id"], result["broker"])} & OUT_OF_REACH.keys():
                continue
            compared += 1
            difference = differs(case, result)
            if difference is not None:
                found.append(f"{case['id']} {result['broker']} v{result['produce_version']}: {difference}")
    assert not found, f"{len(found)} of {compared}\n" + "\n".join(found[:20])
    assert compared > 4000
