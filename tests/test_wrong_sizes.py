"""Bytes and file objects with a wrong size or foreign bytes in the middle: reading resumes after them, as in a log."""

from __future__ import annotations

import io
import random
import zlib
from dataclasses import dataclass, field
from typing import Any

import fsspec
import pyarrow as pa
import pytest

import kafkacomp as kc
from checksums import crc32c
from golden.expect import SMALL
from kafkacomp import record
from kafkacomp.arrow import parse_cells

BATCHES = 30
FORMATS = [
    *[(2, codec) for codec in ("none", "gzip", "snappy", "lz4", "zstd")],
    *[(magic, codec) for magic in (0, 1) for codec in ("none", "gzip", "snappy", "lz4")],
]
KINDS = ("foreign", "slice", "zeros", "overwritten", "zeroed", "larger", "smaller", "negative", "greatest")
Row = tuple[int, bytes]


@dataclass
class Log:
    """Intact batches one after another."""

    batches: list[bytes] = field(default_factory=list)
    rows: list[list[Row]] = field(default_factory=list)

    @property
    def data(self) -> bytes:
        """The bytes of all batches."""
        return b"".join(self.batches)

    def begin(self, number: int) -> int:
        """Where a batch begins."""
        return sum(map(len, self.batches[:number]))


def a_log(magic: int, codec: str, rng: random.Random) -> Log:
    """Batches of the same offsets as a broker gives them."""
    made, base = Log(), 0
    for _ in range(BATCHES):
        # An uncompressed message of magic 0 or 1 is a batch.
        count = 1 if magic < 2 and codec == "none" else rng.choice((1, 5, 12))
        values = [rng.randbytes(rng.choice((10, 60, 200))) + b" text" * rng.randrange(9) for _ in range(count)]
        keys = [b"key %d" % (base + number) for number in range(count)]
        table = pa.table({"key": keys, "value": values})
        made.batches.append(record.build_batches(table, base_offset=base, magic=magic, compression_type=codec))
        made.rows.append([(base + number, value) for number, value in enumerate(values)])
        base += count
    return made


def damaged(log: Log, at: int, kind: str, rng: random.Random) -> tuple[bytes, set[int]] | None:
    """The log with damage before or in batch ``at``, and the batches that it touches; ``None`` if it does not count.

    The offset and the leader epoch of a batch are not covered by its checksum.
    """
    data, begin, size = bytearray(log.data), log.begin(at), len(log.batches[at])
    length = rng.choice((1, 2, 5, 16, 17, 30, 61, 100, 1000, 4096))
    if kind in ("foreign", "slice", "zeros"):
        start = rng.randrange(len(data))
        inserted = {"foreign": rng.randbytes(length), "slice": data[start : start + length], "zeros": bytes(length)}
        data[begin:begin] = inserted[kind]
        return bytes(data), set()
    if kind in ("overwritten", "zeroed"):
        start = begin + rng.choice((0, 8, rng.randrange(size)))
        end = min(start + length, len(data))
        data[start:end] = rng.randbytes(end - start) if kind == "overwritten" else bytes(end - start)
        touched = [n for n in range(BATCHES) if data[log.begin(n) :][: len(log.batches[n])] != log.batches[n]]
        for number in touched:
            first, batch = log.begin(number), log.batches[number]
            if data[first + 8 : first + 12] + data[first + 17 : first + len(batch)] == batch[8:12] + batch[17:]:
                return None
        is_tail = not any(data[start:])
        return None if is_tail or not touched else (bytes(data), set(touched))
    stated = size - 12
    wrong = {
        "larger": rng.choice((stated + 1, 2 * stated, len(data), stated + len(log.batches[(at + 1) % BATCHES]))),
        "smaller": rng.choice((0, 1, 13, 14, stated - 1, stated // 2)),
        "negative": rng.choice((-1, -(2**31))),
        "greatest": 2**31 - 1,
    }
    data[begin + 8 : begin + 12] = wrong[kind].to_bytes(4, "big", signed=True)
    return bytes(data), {at}


def is_intact(batch: bytes) -> bool:
    """Whether the checksum of a batch is right."""
    if batch[16] == 2:
        return int.from_bytes(batch[17:21], "big") == crc32c(batch[21:])
    return int.from_bytes(batch[12:16], "big") == zlib.crc32(batch[16:])


def ends_for_kafka(data: bytes) -> bool:
    """Whether Kafka's consumer comes to the end without an error.

    ``ByteBufferLogInputStream.nextBatch`` ends where less is left than a batch states, if its size and its magic are
    possible.
    """
    at = 0
    while len(data) - at >= 12:
        end = at + 12 + int.from_bytes(data[at + 8 : at + 12], "big", signed=True)
        if end < at + 12 + 14:
            return False
        if len(data) - at < 17:
            return True
        if data[at + 16] > 2:
            return False
        if end > len(data):
            return True
        if not is_intact(data[at:end]):
            return False
        at = end
    return True


def skipped(source: Any) -> tuple[list[Row], kc.arrow.ScanReport]:
    """What a scan delivers that skips corrupt bytes."""
    reader = kc.scan(source, columns=["offset", "value"], on_error="skip", options=kc.ScanOptions(log_format="0.8+"))
    table = pa.table(reader)
    return list(zip(table["offset"].to_pylist(), table["value"].to_pylist(), strict=True)), reader.report


def refuses(data: bytes) -> bool:
    """Whether every strict reader refuses the bytes; they must agree."""
    answers = []
    for read in (
        lambda: pa.table(kc.scan(data, columns=["offset"], options=kc.ScanOptions(log_format="0.8+"))),
        lambda: list(kc.scan(io.BytesIO(data), columns=["offset"], options=kc.ScanOptions(log_format="0.8+"))),
        lambda: [list(batch) for batch in record.read_batches(data)],
        lambda: [list(batch) for batch in record.open_batches(data)],
        lambda: parse_cells(pa.array([data]), columns=["offset"]),
    ):
        try:
            read()
        except (kc.CorruptRecordError, kc.InvalidRecordError, pa.ArrowInvalid):
            answers.append(True)
        else:
            answers.append(False)
    assert len(set(answers)) == 1, answers
    return answers[0]


def check(magic: int, codec: str, seed: int, positions: list[int]) -> None:
    rng = random.Random(f"{magic} {codec} {seed}")
    log = a_log(magic, codec, rng)
    ends = [rows[-1][0] + 1 for rows in log.rows]
    for at in positions:
        for kind in KINDS:
            found = damaged(log, at, kind, rng)
            if found is None:
                continue
            data, touched = found
            rows, report = skipped(data)
            intact = [row for number, batch in enumerate(log.rows) if number not in touched for row in batch]
            place = (magic, codec, seed, at, kind)
            assert set(rows) >= set(intact), place
            assert set(rows) <= {row for batch in log.rows for row in batch}, place
            if kind == "slice":
                continue  # it may contain whole batches
            assert skipped(io.BytesIO(data))[0] == rows, place
            if BATCHES - 1 in touched and ends_for_kafka(data):
                continue  # nothing intact follows, and Kafka takes it for the end of a response
            assert report.skipped or kind == "zeros", place
            lost = {offset for number in touched for offset, _ in log.rows[number]} - {offset for offset, _ in rows}
            first, end = intact[0][0], ends[max(set(range(BATCHES)) - touched)]
            missing = {each for gap in report.missing for each in range(gap.first_offset, gap.last_offset + 1)}
            assert missing == {each for each in lost if first < each < end}, place
            assert refuses(data), place


@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_no_intact_batch_is_lost(magic: int, codec: str) -> None:
    check(magic, codec, 1, [0, 1, 14, 28, 29])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_no_intact_batch_is_lost_anywhere(magic: int, codec: str, seed: int) -> None:
    check(magic, codec, seed, list(range(BATCHES)))


def test_the_position_of_the_error() -> None:
    """One foreign byte before the third of 30 batches: the error names it, and nothing is lost."""
    log = a_log(2, "zstd", random.Random(7))
    begin = log.begin(2)
    data = log.data[:begin] + b"\x01" + log.data[begin:]
    for source in (data, io.BytesIO(data)):
        with pytest.raises(kc.CorruptRecordError) as caught:
            list(kc.scan(source, columns=["offset"]))
        assert caught.value.position == begin
    batches = record.read_batches(data)
    with pytest.raises(kc.CorruptRecordError) as caught:
        list(batches)
    assert (caught.value.position, batches.position) == (begin, begin)
    rows, report = skipped(data)
    assert rows == [row for batch in log.rows for row in batch]
    assert [(each.position, each.length) for each in report.skipped] == [(begin, 1)]


def test_a_file_of_fsspec(tmp_path: object) -> None:
    log = a_log(1, "gzip", random.Random(8))
    data = bytearray(log.data)
    data[log.begin(3) + 8 : log.begin(3) + 12] = (2**31 - 1).to_bytes(4, "big")
    path = f"{tmp_path}/capture.bin"
    with fsspec.open(path, "wb") as file:
        file.write(data)
    wanted = [row for number, batch in enumerate(log.rows) if number != 3 for row in batch]
    with fsspec.open(path, "rb") as file:
        assert skipped(file)[0] == wanted
    assert skipped(path)[0] == wanted


# ------------------------------------------------------------------------------------ ends of intact responses
SEGMENT = (SMALL / "modern" / "restarts" / "restarts-0" / "00000000000000000000.log").read_bytes()


def a_response(value: bytes, base: int, magic: int, codec: str) -> tuple[bytes, int]:
    """Two batches, of which the second has the value; and where that begins."""
    first = record.build_batches(pa.table({"value": [b"first"]}), base_offset=base, magic=magic, compression_type=codec)
    table = pa.table({"value": [value]})
    second = record.build_batches(table, base_offset=base + 1, magic=magic, compression_type=codec, batch_bytes=1 << 26)
    return first + second, len(first)


@pytest.mark.parametrize(("magic", "codec"), [(2, "none"), (2, "snappy"), (1, "none"), (1, "snappy"), (0, "none")])
@pytest.mark.parametrize("base", [0, 7, 500_000])
def test_a_segment_in_a_truncated_value(magic: int, codec: str, base: int) -> None:
    """A backup: whole batches in the last value of a response, which are not batches of the response."""
    rng = random.Random(f"{magic} {codec} {base}")
    noise = pa.table({"value": [rng.randbytes(900) for _ in range(40)]})
    stored = record.build_batches(noise, base_offset=1_000_000, compression_type="none", batch_bytes=5000)
    for backup in (SEGMENT, stored):
        response, begin = a_response(backup, base, magic, codec)
        for _ in range(12):
            cut = response[: rng.randrange(begin + 1, len(response))]
            assert not refuses(cut)
            rows, report = skipped(cut)
            assert (rows, list(report.skipped), list(report.missing)) == ([(base, b"first")], [], [])


def test_filler_of_a_broker_at_the_end() -> None:
    """A broker from 2.0 on fills a response with the header of a batch that no response can contain."""
    log = a_log(1, "none", random.Random(9))
    filler = (-1).to_bytes(8, "big", signed=True) + (100_000).to_bytes(4, "big") + bytes(5000)
    rows, report = skipped(log.data + filler)
    assert (rows, list(report.skipped)) == ([row for batch in log.rows for row in batch], [])


def test_a_checksum_proves_a_wrong_size_across_a_gap() -> None:
    """Compaction removed the batches after it, so that the next offset proves nothing."""
    log = a_log(0, "none", random.Random(10))
    kept = [batch for number, batch in enumerate(log.batches) if number not in range(11, 20)]
    data = bytearray(b"".join(kept))
    begin = log.begin(10)
    data[begin + 8 : begin + 12] = (1 << 20).to_bytes(4, "big")
    assert zlib.crc32(log.batches[10][16:]) == int.from_bytes(log.batches[10][12:16], "big")
    rows, _ = skipped(bytes(data))
    assert rows == [row for number, batch in enumerate(log.rows) if number not in range(10, 20) for row in batch]
    assert refuses(bytes(data))
