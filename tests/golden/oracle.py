"""Compares one oracle case with Kafka's answer; knows the intended differences by name.

Java's exceptions are mapped to the package's by these rules (design: errors):

- a codec's failure inside a record set, whatever Java class it has: CorruptRecordError with the
  DecompressionError as cause,
- CorruptRecordException: CorruptRecordError, code 2,
- InvalidRecordException: InvalidRecordError, code 87,
- everything else, which Kafka answers with -1: UnknownServerError.
"""

from __future__ import annotations

import contextlib
import struct
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import kafkacomp as kc
import record_sets
from kafkacomp import record

from .expect import OracleCase, same_bytes
from .lz4_reference import FrameError, UndefinedContentError, decode_frame, decode_leading_frames
from .reading import headers_of, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

LOG_OVERHEAD = 12
RECORD_BATCH_OVERHEAD = 61
RECORD_OVERHEAD_V0 = 14
RECORD_OVERHEAD_V1 = 22
SNAPPY = 2
LZ4 = 3

# Where kafkacomp means to differ from Java's reader. Each rule names what Java does and why it is not followed.
RULES = {
    "zero tail": "Java throws at a size of 0; zeros up to the end are a preallocated file's tail here",
    "length near 2^31": "Java's int overflows in size + 12 and throws; a batch that long is a cut tail here",
    "batch below its format's overhead": "Java finds out when a field is read; here it is an error at once",
    "linked lz4 blocks": "Java refuses linked blocks; they are read here",
    "further lz4 frame": "Java stops at the first EndMark; a further frame is read here",
    "claimed memory": "Java takes what a record, message or block claims to need and dies; nothing is taken here",
    "snappy block near 2^31": "Java takes what a block claims for a negative number, -1; a codec fails here",
    "pieces of a damaged stream": "a failing read takes what it had with it, and Java reads large records whole",
    "lz4 match of distance 0": "both have liblz4 copy what the memory held before, which nobody can compare",
    "lz4 block checksum cut": "Java throws a BufferUnderflowException, -1, where it lacks 4 bytes; a codec fails here",
    "lz4 block without content": "Java's varint takes it for 0xff and reads on, where a block may fail; the end here",
    "wrong size": "Java ends at a size beyond the end; corruption here if checksums prove it wrong",
    "skippable lz4 frame": "Java takes a skippable frame for a bad magic; it is skipped here",
}

CODEC_CLASSES = ("KafkaException", "IOException", "SnappyError", "UncheckedIOException", "ZipException")


KINDS = dict.fromkeys((*CODEC_CLASSES, "CorruptRecordException"), kc.CorruptRecordError) | {
    "InvalidRecordException": kc.InvalidRecordError,
    "InvalidTimestampException": kc.InvalidTimestampError,
    "OffsetsOutOfOrderException": kc.OffsetsOutOfOrderError,
    "RecordTooLargeException": kc.RecordTooLargeError,
    "UnsupportedCompressionTypeException": kc.UnsupportedCompressionTypeError,
    "UnsupportedForMessageFormatException": kc.UnsupportedForMessageFormatError,
}


def kind_of(error: dict[str, Any]) -> type[kc.KafkaCompError]:
    """The class that stands for a Java exception."""
    return KINDS.get(error["c"].rpartition(".")[2], kc.UnknownServerError)


def is_codec(error: dict[str, Any]) -> bool:
    """Whether a codec failed."""
    return error["c"].rpartition(".")[2] in CODEC_CLASSES


@dataclass
class Verdict:
    """What a comparison found."""

    differences: list[str] = field(default_factory=list)
    rules: Counter[str] = field(default_factory=Counter)

    def check(self, what: str, found: object, expected: object) -> None:
        """Notes a difference."""
        if found != expected:
            self.differences.append(f"{what}: found {str(found)[:300]}, Kafka has {str(expected)[:300]}")

    def check_error(self, what: str, found: BaseException | None, expected: dict[str, Any] | None) -> None:
        """Notes an error of another kind, or one too many or too few."""
        if expected is not None and expected["c"] == "BufferUnderflowException":
            self.rules["lz4 block checksum cut"] += 1
            expected = {**expected, "c": "KafkaException"}
        if expected is None or found is None:
            self.check(what, None if found is None else repr(found), expected)
            return
        kind = kind_of(expected)
        self.check(f"{what} ({expected['c']}: {expected['m']})", type(found).__name__, kind.__name__)
        if isinstance(found, kc.KafkaCompError):
            self.check(f"{what}: error code", found.error_code, kind.error_code)
        if is_codec(expected):
            self.check(f"{what}: its cause", isinstance(found.__cause__, kc.DecompressionError), expected=True)


@dataclass
class Reading:
    """The batches that came, and what ended the iteration."""

    batches: list[record.RecordBatch]
    error: kc.KafkaCompError | None


def read(data: bytes) -> Reading:
    """Reads the batches of a case."""
    reading = Reading([], None)
    iterator: Iterator[record.RecordBatch] = iter(record.read_batches(data, verify_crc=False))
    while True:
        try:
            reading.batches.append(next(iterator))
        except StopIteration:
            return reading
        except kc.KafkaCompError as error:
            reading.error = error
            return reading


def intended_batches(case: OracleCase, verdict: Verdict) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """Kafka's batches and its error, after the rules that concern the framing."""
    batches, error = case.outcome["batches"], case.outcome["err"]
    rest = case.data[case.outcome["end"] :]
    if error is not None and rest.count(0) == len(rest):
        verdict.rules["zero tail"] += 1
        error = None
    elif error is not None and error["m"].startswith("newLimit < 0"):
        assert int.from_bytes(rest[8:12], "big") > 2**31 - 1 - LOG_OVERHEAD
        verdict.rules["length near 2^31"] += 1
        error = None
    for index, batch in enumerate(batches):
        size = batch["size"] - (LOG_OVERHEAD if batch["magic"] < 2 else 0)
        least = {1: RECORD_OVERHEAD_V1, 2: RECORD_BATCH_OVERHEAD}.get(batch["magic"], 0)
        if size < least:
            verdict.rules["batch below its format's overhead"] += 1
            return batches[:index], {"c": "CorruptRecordException", "m": "too small", "code": 2, "at": batch["pos"]}
    return batches, error


def has_wrong_size(data: bytes, error: kc.KafkaCompError) -> bool:
    """Whether the batch that an error calls incomplete is intact with a lower size, or an intact batch follows."""
    if not isinstance(error, kc.CorruptRecordError) or "incomplete batch" not in str(error) or error.position is None:
        return False
    rest = data[error.position :]
    lengths = range(LOG_OVERHEAD + RECORD_OVERHEAD_V0, len(rest))
    shorter = (rest[:8] + (length - LOG_OVERHEAD).to_bytes(4, "big") + rest[12:length] for length in lengths)
    return any(map(begins_intact, shorter)) or any(begins_intact(rest[at:]) for at in range(1, len(rest)))


def begins_intact(data: bytes) -> bool:
    """Whether bytes begin with a batch whose checksum is right."""
    try:
        batch = next(iter(record.read_batches(data, verify_crc=True)), None)
    except kc.KafkaCompError:
        return False
    return batch is not None


def compare(case: OracleCase) -> Verdict:
    """Compares what kafkacomp reads from a case's bytes with Kafka's answer."""
    verdict = Verdict()
    batches, error = intended_batches(case, verdict)
    reading = read(case.data)
    verdict.check("batches", [b.position for b in reading.batches], [b["pos"] for b in batches])
    if error is None and reading.error is not None and has_wrong_size(case.data, reading.error):
        verdict.rules["wrong size"] += 1
    else:
        verdict.check_error("iteration", reading.error, error)
    if error is not None and isinstance(reading.error, kc.CorruptRecordError):
        verdict.check("position of the error", reading.error.position, error.get("at", case.outcome["end"]))
    for found, expected in zip(reading.batches, batches, strict=False):
        compare_batch(case, found, with_claims_refused(expected, verdict), verdict)
    return verdict


SHALLOW = {
    "size": "size_in_bytes",
    "magic": "magic",
    "last_offset": "last_offset",
    "crc": "crc",
    "tt": "timestamp_type",
    "max_ts": "max_timestamp",
    "base_ts": "base_timestamp",
    "count": "records_count",
    "ple": "partition_leader_epoch",
    "pid": "producer_id",
    "pepoch": "producer_epoch",
    "bseq": "base_sequence",
    "lseq": "last_sequence",
    "txn": "is_transactional",
    "ctl": "is_control_batch",
    "dh": "delete_horizon_ms",
    "valid": "is_valid",
}


def compare_batch(case: OracleCase, found: record.RecordBatch, expected: dict[str, Any], verdict: Verdict) -> None:
    """Compares the header, the checksum's verdict and the records of one batch."""
    where = f"batch at {expected['pos']}"
    for name, attribute in SHALLOW.items():
        if name in expected:
            verdict.check(f"{where}: {attribute}", getattr(found, attribute), expected[name])
    try:
        found.ensure_valid()
    except kc.KafkaCompError as error:
        verdict.check_error(f"{where}: ensure_valid", error, expected["ev"])
    else:
        verdict.check_error(f"{where}: ensure_valid", None, expected["ev"])
    if isinstance(expected["ct"], dict):
        with contextlib.suppress(kc.UnknownServerError):
            verdict.check(f"{where}: compression type", found.compression_type, "an error")
    else:
        verdict.check(f"{where}: compression type", int(found.compression_type), expected["ct"])
    records, failure = deep_records(found)
    if took_memory(expected):
        verdict.rules["claimed memory"] += 1
        return
    if "rule" in expected:
        verdict.rules[expected["rule"]] += 1
    elif expected["ct"] == LZ4 and intended_lz4(case, found, expected, records, failure, verdict):
        return
    compare_base_offset(found, expected, verdict, where)
    wanted = expected["recs"]
    if (rule := place_rule(case, expected, len(records), failure)) is not None:
        verdict.rules[rule] += 1
        common = min(len(records), len(wanted))
        compare_records(records[:common], wanted[:common], verdict, where)
        return
    compare_records(records, wanted, verdict, where)
    verdict.check_error(f"{where}: records", failure, expected["err"])


def took_memory(expected: dict[str, Any]) -> bool:
    """Whether Java took what a record, message or block claims to need, and had no more."""
    return "OutOfMemoryError" in {(expected["err"] or {}).get("c"), _thrown(expected["base_offset"])}


def with_claims_refused(expected: dict[str, Any], verdict: Verdict) -> dict[str, Any]:
    """The batch; if Java took what a snappy block claims for a negative number, with a codec's failure instead."""
    if expected["ct"] != SNAPPY or (expected["err"] or {}).get("c") != "NegativeArraySizeException":
        return expected
    verdict.rules["snappy block near 2^31"] += 1
    return {**expected, "err": {**expected["err"], "c": "KafkaException"}}


def place_rule(case: OracleCase, expected: dict[str, Any], count: int, failure: kc.KafkaCompError | None) -> str | None:
    """The rule by which both sides fail, but not at the same place, or not in the same way."""
    if fails_after_empty_block(case, expected, count, failure):
        return "lz4 block without content"
    return "pieces of a damaged stream" if differs_by_pieces(expected, count, failure) else None


def fails_after_empty_block(
    case: OracleCase, expected: dict[str, Any], count: int, failure: kc.KafkaCompError | None
) -> bool:
    """Whether an LZ4 block without content ends the records, and Java reads on and finds the frame damaged."""
    is_end = isinstance(failure, kc.InvalidRecordError) and count == len(expected["recs"])
    if expected["ct"] != LZ4 or expected["magic"] != 2 or not is_end or not is_codec(expected["err"] or {"c": ""}):
        return False
    entry = case.data[expected["pos"] : expected["pos"] + expected["size"]]
    span = record_sets.payload_span(entry)
    try:
        return span is not None and decode_frame(entry[span.start : span.end]).ended_by_empty_block
    except (FrameError, UndefinedContentError):
        return False


def differs_by_pieces(expected: dict[str, Any], count: int, failure: kc.KafkaCompError | None) -> bool:
    """Whether only the place differs at which a codec's stream is seen to fail.

    Both sides fail, one of them at least in the codec; the other may have seen first that its records are wrong. Of a
    wrapper, no record is read then, and only Java reads on after a large message.
    """
    if failure is None or expected["err"] is None:
        return False
    # The reference decoder takes a damaged block whose end liblz4 does not; then only the place differs here too.
    if expected["ct"] == LZ4 and "rule" not in expected:
        return False
    theirs, ours = is_codec(expected["err"]), isinstance(failure.__cause__, kc.DecompressionError)
    if expected["magic"] < 2:
        return theirs and not ours and count == len(expected["recs"]) == 0
    return (theirs or ours) and (theirs != ours or count != len(expected["recs"]))


def _thrown(value: Any) -> str | None:
    """The exception that came in a field's place."""
    return value["!"] if isinstance(value, dict) else None


def compare_base_offset(found: record.RecordBatch, expected: dict[str, Any], verdict: Verdict, where: str) -> None:
    """A wrapper's base offset stands in its compressed records; where Kafka fails at it, so or null here."""
    try:
        base_offset = found.base_offset
    except kc.KafkaCompError:
        base_offset = None
    wanted = expected["base_offset"]
    verdict.check(f"{where}: base_offset", base_offset, None if isinstance(wanted, dict) else wanted)


def deep_records(batch: record.RecordBatch) -> tuple[list[record.Record], kc.KafkaCompError | None]:
    """The records that come before an error, and the error."""
    records: list[record.Record] = []
    try:
        records.extend(batch)
    except kc.KafkaCompError as error:
        # list.extend keeps what came before the iterator failed.
        return records, error
    return records, None


def compare_records(found: list[record.Record], expected: list[list[Any]], verdict: Verdict, where: str) -> None:
    """Compares records one by one."""
    verdict.check(f"{where}: number of records", len(found), len(expected))
    for index, (item, line) in enumerate(zip(found, expected, strict=False)):
        offset, timestamp, timestamp_type, key, value, headers, sequence, valid = line
        at = f"{where}: record {index}"
        verdict.check(at, (item.offset, item.timestamp, int(item.timestamp_type)), (offset, timestamp, timestamp_type))
        verdict.check(f"{at}: sequence", item.sequence, sequence)
        verdict.check(f"{at}: its own CRC right", item.is_valid, valid)
        if not same_bytes(key, plain(item.key)):
            verdict.check(f"{at}: key", item.key, key)
        if not same_bytes(value, plain(item.value)):
            verdict.check(f"{at}: value", item.value, value)
        pairs = headers_of(item.headers)
        same = len(pairs) == len(headers) and all(
            name == wanted and same_bytes(content, got)
            for (name, got), (wanted, content) in zip(pairs, headers, strict=True)
        )
        if not same:
            verdict.check(f"{at}: headers", pairs, headers)


# ----------------------------------------------------------------------------------- LZ4 that Java does not read


class LeadingFrames(NamedTuple):
    """What LZ4 frames hold that Java reads otherwise, by which rule, and whether the last of them is cut or damaged."""

    rule: str
    #: None where nobody can say.
    content: bytes | None
    cut: bool


def leading_lz4_frames(entry: bytes, payload: record_sets.Span | None) -> LeadingFrames | None:
    """What kafkacomp means to read from frames that Java refuses; ``None`` if it reads no more than Java."""
    if payload is None:
        return None
    try:
        return _leading_frames(entry[payload.start : payload.end], check_header=entry[record_sets.MAGIC_AT] > 0)
    except UndefinedContentError:
        return LeadingFrames("lz4 match of distance 0", None, cut=False)


def _leading_frames(payload: bytes, *, check_header: bool) -> LeadingFrames | None:
    frames, rest = decode_leading_frames(payload, check_header=check_header)
    contents = [frame for frame in frames if not frame.skippable]
    skippable = bool(frames) and frames[0].skippable
    content: bytes | None = b"".join(frame.content for frame in contents)
    linked = any(frame.linked for frame in contents)
    cut = not contents and not (skippable and not rest)
    if cut:
        try:
            decode_frame(rest, check_header=check_header)
        except FrameError as error:
            content, linked = error.content, error.linked
    if content is None or not (skippable or linked or len(contents) > 1):
        return None
    rule = "skippable lz4 frame" if skippable else "linked lz4 blocks" if linked else "further lz4 frame"
    return LeadingFrames(rule, content, cut)


def intended_lz4(
    case: OracleCase,
    batch: record.RecordBatch,
    expected: dict[str, Any],
    records: list[record.Record],
    error: kc.KafkaCompError | None,
    verdict: Verdict,
) -> bool:
    """Whether a rule for LZ4 frames decides this batch; if so, it is compared with the reference decoder's content."""
    entry = case.data[batch.position : batch.position + batch.size_in_bytes]
    leading = leading_lz4_frames(entry, record_sets.payload_span(entry))
    if leading is None or leading.cut:
        return False
    rule, content = leading.rule, leading.content
    verdict.rules[rule] += 1
    if content is None:
        return True
    where = f"batch at {expected['pos']} ({rule})"
    if batch.magic == 2:
        twin, twin_error = deep_records(uncompressed_twin(case.data, batch, content))
        wanted = [(r.offset, plain(r.value)) for r in twin]
        verdict.check(f"{where}: error", type(error), type(twin_error))
    else:
        wanted = inner_messages(content, batch)
        verdict.check(f"{where}: error", error, None)
    verdict.check(where, [(r.offset, plain(r.value)) for r in records], wanted)
    return True


def uncompressed_twin(data: bytes, batch: record.RecordBatch, content: bytes) -> record.RecordBatch:
    """The batch of magic 2 as it would be without compression."""
    header = bytearray(data[batch.position : batch.position + RECORD_BATCH_OVERHEAD])
    header[8:12] = (RECORD_BATCH_OVERHEAD - LOG_OVERHEAD + len(content)).to_bytes(4, "big")
    header[22] &= ~7
    (twin,) = record.read_batches(bytes(header) + content, verify_crc=False)
    return twin


def inner_messages(content: bytes, batch: record.RecordBatch) -> list[tuple[int, bytes | None]]:
    """Offsets and values of the messages of a wrapper's content, taken apart by hand."""
    found: list[tuple[int, bytes | None]] = []
    at = 0
    while at < len(content):
        offset, size = struct.unpack_from(">qi", content, at)
        key_at = at + (18 if content[at + 16] == 0 else 26)
        (key,) = struct.unpack_from(">i", content, key_at)
        value_at = key_at + 4 + max(key, 0)
        (value,) = struct.unpack_from(">i", content, value_at)
        found.append((offset, None if value < 0 else content[value_at + 4 : value_at + 4 + value]))
        at += LOG_OVERHEAD + size
    base = batch.last_offset - found[-1][0] if batch.magic == 1 and batch.last_offset != 0 else 0
    return [(base + offset, value) for offset, value in found]
