"""What the builder and convert write, read by Kafka's own classes of each era, record by record.

Kafka 0.8.2 and 0.9 know magic 0 only and want the LZ4 header checksum of KIP-57, the broken one; 0.10 came with
magic 1, 0.11 with magic 2 and headers, 2.1 with zstd.
"""

from __future__ import annotations

import random
import subprocess
import zlib
from dataclasses import dataclass
from pathlib import Path

import pytest

import kafkacomp as kc
from header_checksums import Checksum, with_header_checksum
from kafkacomp import CompressionType, log, record
from kafkacomp.record import RecordBatchBuilder, TimestampType
from livekafka import maven

ERAS = Path(__file__).resolve().parent / "eras"
JAVA_TIMEOUT = 120.0


@dataclass(frozen=True)
class Era:
    """A version and what it can read."""

    version: str
    program: str
    magic: int
    zstd: bool = False
    standard_in_v0: bool = True  # LZ4's right header checksum in magic 0


OLDEST = [
    Era("0.8.2.2", "ReadMessageSets", 0, standard_in_v0=False),
    Era("0.9.0.1", "ReadMessageSets", 0, standard_in_v0=False),
]
LATER = [
    Era("0.10.2.2", "ReadMessageSets", 1),
    Era("0.11.0.3", "ReadRecords", 2),
    Era("2.8.2", "ReadRecords", 2, zstd=True),
    Era("3.9.2", "ReadRecords", 2, zstd=True),
    Era("4.3.1", "ReadRecords", 2, zstd=True),
]
each_era = pytest.mark.parametrize("era", OLDEST + LATER, ids=lambda era: era.version)


def java(era: Era, sets: list[bytes], folder: Path) -> list[str]:
    """A line for each set by the classes of an era."""
    class_path = maven.class_path(ERAS / f"kafka-{era.version}", "process-resources")
    source = folder / f"{era.program}.java"
    code = (ERAS / "src" / f"{era.program}.java").read_text()
    if era.version == "4.3.1":
        code = code.replace("org.apache.kafka.common.record.", "org.apache.kafka.common.record.internal.")
    source.write_text(code)
    data = folder / "sets.bin"
    data.write_bytes(b"".join(len(one).to_bytes(4, "big") + one for one in sets))
    command = ["java", "-cp", class_path, str(source), str(data)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=JAVA_TIMEOUT, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(sets), done.stderr
    return lines


def content(value: bytes | None) -> str:
    """As the programs print it."""
    return "-" if value is None else f"{len(value)}:{zlib.crc32(value):x}"


@dataclass
class Set:
    """A record set, what is in it, and what it is."""

    data: bytes
    expected: str
    what: str


def make(rng: random.Random, magic: int, codec: CompressionType) -> Set:
    """One batch (plain messages before magic 2 if not compressed) of random records and settings."""
    appended = magic > 0 and rng.random() < 0.3
    producer = magic == 2 and rng.random() < 0.4
    fields = {
        "base_offset": rng.choice([0, rng.randrange(1 << 40)]),
        "timestamp_type": TimestampType.LOG_APPEND_TIME if appended else TimestampType.CREATE_TIME,
        "log_append_time": rng.randrange(1 << 41) if appended else -1,
        "producer_id": rng.randrange(1 << 40) if producer else -1,
        "producer_epoch": rng.randrange(1 << 15) if producer else -1,
        "base_sequence": rng.randrange(1 << 31) if producer else -1,
        "is_transactional": producer and rng.random() < 0.5,
        "partition_leader_epoch": rng.randrange(100) if magic == 2 else -1,
    }
    if magic == 2 and rng.random() < 0.2:
        fields["delete_horizon_ms"] = rng.randrange(1 << 41)
    level = None
    if rng.random() < 0.5:
        level = {1: rng.randint(1, 9), 3: rng.randint(1, 17), 4: rng.randint(-5, 19)}.get(codec)
    builder = RecordBatchBuilder(magic, codec, level, **fields)  # type: ignore[arg-type]
    expected = ["ok"]
    for _ in range(rng.choice([1, 2, 10, 300])):
        key, value = (
            rng.choice([None, b"", rng.randbytes(rng.randrange(40)), b"text " * rng.randrange(60)]) for _ in range(2)
        )
        if rng.random() < 0.01:
            value = rng.randbytes(100_000)
        headers = []
        if magic == 2 and rng.random() < 0.3:
            headers = [(f"h{i}", rng.choice([None, b"", b"v" * i])) for i in range(rng.randrange(1, 4))]
        timestamp = rng.choice([-1, rng.randrange(1 << 41)])
        offset = builder.next_offset + rng.choice([0, 0, rng.randrange(1000)])
        builder.append(value, key=key, timestamp=timestamp, headers=headers, offset=offset)
        time = -1 if magic == 0 else fields["log_append_time"] if appended else timestamp
        pairs = "".join(f"{name}={content(header)};" for name, header in headers)
        expected.append(f"{offset},{time},{content(key)},{content(value)},{pairs}")
    return Set(builder.build(), " ".join(expected), f"magic {magic} {codec} {level} {fields}")


def lowered(rng: random.Random, made: Set, magic: int) -> Set:
    """The same records in an older format."""
    data = record.convert(made.data, magic)
    records = [line.split(",") for line in made.expected.split(" ")[1:]]
    expected = [f"{o},{t if magic else -1},{k},{v}," for o, t, k, v, _ in records]
    return Set(data, " ".join(["ok", *expected]), f"{made.what} converted to {magic} ({rng.random()})")


@each_era
def test_every_era_reads_what_we_write(era: Era, tmp_path: Path) -> None:
    """The same offsets, times, keys, values and headers, of every magic and codec that the version has."""
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    codecs = [codec for codec in CompressionType if codec != CompressionType.ZSTD]
    sets = [make(rng, magic, codec) for magic in range(era.magic + 1) for codec in codecs for _ in range(12)]
    if era.zstd:
        sets += [make(rng, 2, CompressionType.ZSTD) for _ in range(12)]
    newer = [make(rng, 2, codec) for codec in codecs for _ in range(6)]
    sets += [lowered(rng, one, magic) for magic in range(min(era.magic, 1) + 1) for one in newer]
    if era.magic == 2:
        older = [make(rng, magic, codec) for magic in (0, 1) for codec in codecs for _ in range(6)]
        sets += [Set(record.convert(one.data, 2, upgrade=True), one.expected, f"{one.what} lifted") for one in older]
    for one, line in zip(sets, java(era, [one.data for one in sets], tmp_path), strict=True):
        assert line == one.expected, f"seed {seed}: {one.what}"


@each_era
def test_lz4_header_checksum_of_magic_0(era: Era, tmp_path: Path) -> None:
    """0.8.2 and 0.9 read the broken one only; from 0.10 on it is not looked at."""
    made = make(random.Random(57), 0, CompressionType.LZ4)
    broken, right = java(era, [made.data, with_header_checksum(made.data, "right")], tmp_path)
    assert broken == made.expected
    if era.standard_in_v0:
        assert right == made.expected
    else:
        assert right.startswith("error"), right


@pytest.mark.parametrize("era", LATER, ids=lambda era: era.version)
def test_repaired_batches_are_read(era: Era, tmp_path: Path) -> None:
    """Magic 1 and 2 with KIP-57's broken LZ4 header checksum, or an odd one: refused as it is, read once repaired."""
    rng = random.Random(58)
    made = [make(rng, magic, CompressionType.LZ4) for magic in range(1, era.magic + 1) for _ in range(12)]
    checksums: list[Checksum] = ["broken", "neither"]
    damaged = [with_header_checksum(one.data, checksums[number % 2]) for number, one in enumerate(made)]
    repaired = []
    for number, data in enumerate(damaged):
        folder, target = tmp_path / str(number), tmp_path / f"repaired-{number}"
        folder.mkdir()
        (batch,) = record.read_batches(made[number].data)
        base_offset = batch.base_offset if batch.magic == 2 else next(iter(batch)).offset
        (folder / f"{base_offset:020}.log").write_bytes(data)
        report = log.repair(folder, target)
        assert (report.fixed_batches, report.is_complete) == (1, True)
        repaired.append(next(target.glob("*.log")).read_bytes())
    assert repaired == [one.data for one in made]
    lines = java(era, damaged + repaired, tmp_path)
    assert all(line.startswith("error") for line in lines[: len(made)])
    assert lines[len(made) :] == [one.expected for one in made]


def test_control_batches_and_markers(tmp_path: Path) -> None:
    """A marker is read as the control record that it is."""
    builder = RecordBatchBuilder(
        compression_type="none", is_control_batch=True, is_transactional=True, producer_id=5, producer_epoch=1
    )
    builder.append_end_txn_marker(is_commit=True, coordinator_epoch=3, timestamp=9)
    data = builder.build()
    ((line,), (found,)) = (java(era, [data], tmp_path) for era in LATER[-2:])
    key, value = bytes([0, 0, 0, 1]), bytes([0, 0, 0, 0, 0, 3])
    assert line == found == f"ok 0,9,{content(key)},{content(value)},"
    assert kc.record.convert(data, 1) == b""
