"""Compares what kafkacomp.log makes of a record set with what Kafka's LogValidator and UnifiedLog made of it.

An answer of Kafka is a line as in the oracle's ``expected.jsonl.gz``; the Java program of tests/kafka writes the same.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import TYPE_CHECKING, Any

import kafkacomp as kc
import record_sets
from kafkacomp import broker, record

from .oracle import (
    LOG_OVERHEAD,
    RECORD_BATCH_OVERHEAD,
    SHALLOW,
    Verdict,
    compare_records,
    deep_records,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RECORD_OVERHEAD_V1 = 22

# Where kafkacomp means to differ from Kafka, and why.
RULES = {
    "skipped keys": "Kafka rebuilds from records whose keys it has skipped, and fails; the batch is rebuilt here",
    "length near 2^31": "Java's int overflows in size + 12 and throws; a batch that long is a cut tail here",
    "batch below its format's overhead": "Java finds out when a field is read; here it is an error at once",
    "lz4 block checksum cut": "Java throws a BufferUnderflowException, -1, where it lacks 4 bytes; a codec fails here",
    "snappy block near 2^31": "Java takes what a block claims for a negative number, -1; a codec fails here",
    "gzip length symbols": "libdeflate takes deflate's two unused length symbols for 258, zlib none; the CRC is right",
    "lz4 empty block": "behind a block of nothing Java's stream says end once, then reads on; here the content ends",
    "claimed memory": "Java takes memory for as many records as a header claims, and fails; here the records are read",
}


def config_of(cfg: dict[str, Any]) -> broker.ValidatorConfig:
    """The configuration of a case."""
    return broker.ValidatorConfig(
        source_compression_type=kc.CompressionType(cfg["src"]),
        target_compression_type=kc.CompressionType(cfg["tgt"]),
        compression_level=None if cfg["level"] in {"", None} else int(cfg["level"]),
        compacted=bool(cfg["compacted"]),
        to_magic=cfg["to_magic"],
        timestamp_type=record.TimestampType(cfg["tt"]),
        timestamp_before_max_ms=cfg["before"],
        timestamp_after_max_ms=cfg["after"],
        partition_leader_epoch=cfg["ple"],
        origin=broker.AppendOrigin[cfg["origin"]],
        inter_broker_protocol_version=None if cfg["ibp"] in {"latest", None} else cfg["ibp"],
    )


def intended(data: bytes, error: dict[str, Any] | None) -> str | None:
    """The rule that excuses a difference where Kafka throws ``error``."""
    name = "" if error is None else error["c"].rpartition(".")[2]
    if name == "UnsupportedOperationException" and "skipped" in str(error):
        return "skipped keys"
    if name == "OutOfMemoryError":
        return "claimed memory"
    position = 0
    while position + LOG_OVERHEAD + 5 <= len(data):
        size = int.from_bytes(data[position + 8 : position + 12], "big", signed=True)
        magic = data[position + 16]
        if size > 2**31 - 1 - LOG_OVERHEAD:
            return "length near 2^31"
        least = {1: RECORD_OVERHEAD_V1, 2: RECORD_BATCH_OVERHEAD - LOG_OVERHEAD}.get(magic, 0)
        if least > size >= 14 and position + LOG_OVERHEAD + size <= len(data):
            return "batch below its format's overhead"
        if size < 0:
            break
        position += LOG_OVERHEAD + size
    return None


def payloads(data: bytes, codec: kc.CompressionType) -> Iterator[bytes]:
    """What the batches of this codec hold, compressed."""
    for batch in record.read_batches(data, verify_crc=False):
        if batch.compression_type == codec:
            entry = data[batch.position : batch.position + batch.size_in_bytes]
            span = record_sets.payload_span(entry)
            if span is not None:
                yield entry[span.start : span.end]


def has_unused_length_symbol(data: bytes) -> bool:
    """Whether zlib refuses a symbol in one of the gzip members that kafkacomp reads, whose CRC proves the content."""
    for payload in payloads(data, kc.CompressionType.GZIP):
        try:
            zlib.decompress(payload, 31)
        except zlib.error as error:
            if "invalid literal/length code" in str(error):
                content = kc.decompress(payload, kc.CompressionType.GZIP)
                return zlib.crc32(content) == int.from_bytes(payload[-8:-4], "little")
    return False


def has_empty_lz4_block(data: bytes) -> bool:
    """Whether an LZ4 frame has a compressed block that holds nothing: one byte, a zero."""
    for payload in payloads(data, kc.CompressionType.LZ4):
        try:
            at = kc.lz4.get_frame_info(payload).header_length
        except kc.DecompressionError:
            continue
        checksum = 4 if payload[4] & 0x10 else 0
        while at + 4 <= len(payload):
            word = int.from_bytes(payload[at : at + 4], "little")
            if word == 1 and payload[at + 4 : at + 5] == b"\0":
                return True
            at += 4 + (word & 0x7FFFFFFF) + checksum
    return False


def compare_validation(data: bytes, cfg: dict[str, Any], out: dict[str, Any]) -> Verdict:
    """Compares LogValidator's answer."""
    verdict = Verdict()
    validator = broker.LogValidator(config_of(cfg))
    found, failure = _run(lambda: validator.validate_messages_and_assign_offsets(data, cfg["offset"], cfg["now"]))
    rule = intended(data, out.get("err"))
    if rule is not None:
        verdict.rules[rule] += 1
        if rule == "skipped keys" and found is not None:
            compare_renumbered(data, cfg, found, verdict)
        return verdict
    verdict.check_error("error", failure, out.get("err"))
    if failure is not None:
        errors = getattr(failure, "record_errors", ())
        wanted = [index for index, _ in out.get("record_errors", [])]
        verdict.check("record errors", [error.batch_index for error in errors], wanted)
    if found is not None and out["ok"]:
        _compare_result(found, out, verdict)
    return verdict


def _run(call: Callable[[], Any]) -> tuple[Any, kc.KafkaCompError | None]:
    try:
        return call(), None
    except kc.KafkaCompError as error:
        return None, error


def _compare_result(found: broker.ValidationResult, out: dict[str, Any], verdict: Verdict) -> None:
    for name, wanted in (
        ("log_append_time_ms", "append_time"),
        ("max_timestamp_ms", "max_ts"),
        ("next_offset", "next_offset"),
        ("message_size_maybe_changed", "size_maybe_changed"),
    ):
        verdict.check(name, getattr(found, name), out[wanted])
    stats = found.record_validation_stats
    verdict.check("converted", stats.num_records_converted, out["converted"])
    verdict.check("temporary bytes", stats.temporary_memory_bytes, out["temporary_bytes"])
    stored = found.validated_records
    if out["exact"]:
        sha = (len(stored), hashlib.sha256(stored).hexdigest())
        verdict.check("stored bytes", sha, (out["size"], out["sha"]))
        return
    batches = list(record.read_batches(stored, verify_crc=False))
    wanted = out["read"]["batches"]
    verdict.check("batches", len(batches), len(wanted))
    for batch, expected in zip(batches, wanted, strict=False):
        for name, attribute in SHALLOW.items():
            if name in expected and name not in {"size", "crc"}:
                verdict.check(attribute, getattr(batch, attribute), expected[name])
        verdict.check("base offset", batch.base_offset, expected["base_offset"])
        verdict.check("compression type", int(batch.compression_type), expected["ct"])
        records, failure = deep_records(batch)
        compare_records(records, expected["recs"], verdict, "stored")
        verdict.check_error("reading back", failure, expected["err"])


def compare_renumbered(data: bytes, cfg: dict[str, Any], found: broker.ValidationResult, verdict: Verdict) -> None:
    """The records that came, numbered anew."""
    (batch,) = record.read_batches(data, verify_crc=False)
    (stored,) = record.read_batches(found.validated_records, verify_crc=False)
    verdict.check("rebuilt", found.message_size_maybe_changed, expected=True)
    before, after = list(batch), list(stored)
    verdict.check("offsets", [r.offset for r in after], [cfg["offset"] + index for index in range(len(before))])
    for name in ("key", "value", "headers"):
        verdict.check(name, [getattr(r, name) for r in after], [getattr(r, name) for r in before])
    verdict.check("valid", stored.is_valid, expected=True)


def compare_analysis(data: bytes, cfg: dict[str, Any], out: dict[str, Any]) -> Verdict:
    """Compares the answer of analyzeAndValidateRecords and trimInvalidBytes."""
    verdict = Verdict()

    def analyze() -> broker.LogAppendInfo:
        return broker.analyze_and_validate_records(
            data,
            origin=broker.AppendOrigin[cfg["origin"]],
            ignore_record_size=bool(cfg["ignore_size"]),
            require_offsets_monotonic=bool(cfg["monotonic"]),
            leader_epoch=cfg["epoch"],
            max_message_size=cfg["max_bytes"],
        )

    found, failure = _run(analyze)
    rule = intended(data, out.get("err"))
    if rule is not None:
        verdict.rules[rule] += 1
        return verdict
    verdict.check_error("error", failure, out.get("err"))
    if found is None or not out["ok"]:
        return verdict
    for name, wanted in (
        ("first_offset", "first_offset"),
        ("last_offset", "last_offset"),
        ("last_leader_epoch", "last_leader_epoch"),
        ("max_timestamp", "max_ts"),
        ("source_compression", "src"),
        ("valid_bytes", "valid_bytes"),
        ("first_or_last_offset_of_first_batch", "first_or_last"),
    ):
        verdict.check(name, getattr(found, name), out[wanted])
    verdict.check("trimmed", len(broker.trim_invalid_bytes(data, found)), out["trimmed"])
    return verdict


# ------------------------------------------------------------------------------------------ against a live LogValidator


def content_digest(stored: bytes, *, exact: bool) -> str:
    """The digest that the Java program gives: of all bytes, or of the one batch without size, checksum and encoding."""
    return hashlib.sha256(stored if exact else _content(stored)).hexdigest()[:24]


def _content(stored: bytes) -> bytes:
    magic = stored[16]
    start = {0: 26, 1: 34}.get(magic, RECORD_BATCH_OVERHEAD)
    codec = stored[17 if magic < 2 else 22] & 7
    header = bytearray(stored[:start])
    for field in (slice(8, 12), slice(12, 16) if magic < 2 else slice(17, 21)):
        header[field] = bytes(4)
    if magic < 2:
        header[-4:] = bytes(4)
    return bytes(header) + kc.decompress(stored[start:], kc.CompressionType(codec), magic=magic)
