"""Every file of the modern set (Kafka 4.3.1) is read to exactly its expectation file."""

from __future__ import annotations

import shutil
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import record

from .expect import (
    TIMESTAMP_TYPES,
    Expected,
    ModernCase,
    expectations,
    modern_batches,
    modern_cases,
    modern_records,
    segment_expectation,
    segments,
)
from .reading import (
    DEFAULT_COLUMNS,
    ON_DEMAND_COLUMNS,
    Shallow,
    assert_same,
    control_type,
    deep,
    plain,
    scan_partly,
    scan_rows,
    shallow,
)

if TYPE_CHECKING:
    from pathlib import Path

CASES = modern_cases()
WHOLE = [case for case in CASES if not case.damaged]
DAMAGED = [case for case in CASES if case.damaged]
# Where no consumer can read (metadata log, checkpoints) there are only the records of Kafka's log reader.
CONSUMED = [case for case in WHOLE if case.about["expected"]]
COMMITTED = [case for case in WHOLE if case.about["readCommitted"]]

SIDE_FILES = (".index", ".timeindex", ".txnindex", ".snapshot")


def by_name(cases: list[ModernCase]) -> pytest.MarkDecorator:
    """One test a case."""
    return pytest.mark.parametrize("case", cases, ids=str)


def expected_shallow(line: dict[str, Any]) -> Shallow:
    """A line of batches.jsonl as :class:`Shallow`."""
    fields = {name: line[name] for name in Shallow.__dataclass_fields__}
    fields["timestampType"] = TIMESTAMP_TYPES[line["timestampType"]]
    return Shallow(**fields)


def copy_partition(partition: Path, target: Path, without: tuple[str, ...] = ()) -> Path:
    """A copy of a partition folder that leaves out files of some kinds."""
    copy = target / partition.name
    shutil.copytree(partition, copy, ignore=lambda _, names: [n for n in names if n.endswith(without)])
    return copy


# ------------------------------------------------------------------------------------------------ batches


@by_name(WHOLE)
def test_batches(case: ModernCase) -> None:
    """Every field of every batch header, and the types of control records."""
    for partition in case.partitions():
        for segment in segments(partition):
            lines, _ = modern_batches(segment)
            found, control = [], []
            for batch in record.read_batches(segment.read_bytes()):
                batch.ensure_valid()
                found.append(shallow(batch))
                if batch.is_control_batch:
                    control.append([control_type(plain(item.key)) for item in batch])
            assert_same(found, map(expected_shallow, lines), segment)
            assert control == [line["controlTypes"] for line in lines if "controlTypes" in line]


@by_name(WHOLE)
def test_records(case: ModernCase) -> None:
    """Records as the consumer got them, or as Kafka's log reader gives them where no consumer can read."""
    for partition in case.partitions():
        consumed = expectations(partition) / "expected.jsonl.gz"
        found: list[Expected] = []
        for segment in segments(partition):
            records = [r for batch in record.read_batches(segment.read_bytes()) for r in deep(batch)]
            if consumed.exists():
                found += [r for r in records if r.control_type is None]
            else:
                assert_same(records, modern_records(segment_expectation(segment, "records.jsonl.gz")), segment)
        if consumed.exists():
            assert_same(found, modern_records(consumed), partition)


@by_name(WHOLE)
def test_a_record_outlives_its_batch(case: ModernCase) -> None:
    """Records keep their bytes after the reader, its buffers and the batch are gone."""
    segment = segments(case.partitions()[0])[-1]
    kept = [item for batch in record.read_batches(bytearray(segment.read_bytes())) for item in batch]
    again = [item for batch in record.read_batches(memoryview(segment.read_bytes())) for item in batch]
    assert [(plain(r.key), plain(r.value)) for r in kept] == [(plain(r.key), plain(r.value)) for r in again]


# --------------------------------------------------------------------------------------------------- scan


@by_name(CONSUMED)
def test_scan(case: ModernCase) -> None:
    """``kc.scan`` of a partition folder gives what a consumer gets, on one thread and on all."""
    for partition in case.partitions():
        expected = modern_records(expectations(partition) / "expected.jsonl.gz")
        assert_same(scan_rows(partition), expected, partition)
        assert_same(scan_rows(partition, threads=1, batch_rows=700), expected, partition)


@by_name(CONSUMED)
def test_scan_schema_topic_and_partition(case: ModernCase) -> None:
    """The default columns, their types, and topic and partition from the folder's name."""
    for partition in case.partitions():
        reader = kc.scan(partition)
        table = pa.table(reader)
        assert table.schema.names == DEFAULT_COLUMNS
        assert table.schema.field("timestamp").type == pa.timestamp("ms", "UTC")
        assert table.schema.field("headers").type == pa.list_(
            pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
        )
        simple = {"key": pa.binary(), "value": pa.binary(), "topic": pa.string(), "partition": pa.int32()}
        simple |= {"offset": pa.int64(), "timestampType": pa.int32()}
        assert {name: table.schema.field(name).type for name in simple} == simple
        topic, _, number = partition.name.rpartition("-")
        assert set(table.column("topic").to_pylist()) <= {topic}
        assert set(table.column("partition").to_pylist()) <= {int(number)}
        assert reader.report.records == table.num_rows
        assert not reader.report.skipped
        assert {each.reason for each in reader.report.missing} <= {"compacted"}


@by_name(WHOLE)
def test_scan_with_control_records_and_on_demand_columns(case: ModernCase) -> None:
    """``include_control`` gives every record, and the on-demand columns repeat what the batches say."""
    for partition in case.partitions():
        for segment in segments(partition):
            wanted = []
            for batch in record.read_batches(segment.read_bytes()):
                header = shallow(batch)
                wanted += [
                    {
                        "leaderEpoch": header.partitionLeaderEpoch,
                        "magic": 2,
                        "compressionType": header.compressionType,
                        "baseOffset": header.baseOffset,
                        "position": header.position,
                        "segment": segment.name,
                        "producerId": header.producerId,
                        "producerEpoch": header.producerEpoch,
                        "sequence": item.sequence,
                        "isTransactional": header.isTransactional,
                        "isControl": header.isControlBatch,
                    }
                    for item in batch
                ]
            found = pa.table(
                kc.scan(segment, columns=ON_DEMAND_COLUMNS, options=kc.ScanOptions(include_control=True))
            ).to_pylist()
            for row in found:
                row["segment"] = str(row["segment"]).replace("\\", "/").rpartition("/")[2]
            assert_same(found, wanted, segment)


@by_name(CONSUMED)
def test_scan_bounds(case: ModernCase) -> None:
    """Offset and timestamp bounds cut by record, whatever the indexes say."""
    for partition in case.partitions():
        expected = modern_records(expectations(partition) / "expected.jsonl.gz")
        if not expected:
            continue
        first, last = expected[len(expected) // 3].offset, expected[2 * len(expected) // 3].offset
        wanted = [r for r in expected if first <= r.offset < last]
        assert_same(scan_rows(partition, start_offset=first, end_offset=last), wanted, partition)
        times = sorted(r.timestamp for r in expected)
        early, late = times[len(times) // 3], times[2 * len(times) // 3]
        wanted = [r for r in expected if early <= r.timestamp < late]
        assert_same(scan_rows(partition, start_time=early, end_time=late), wanted, partition)
        assert scan_rows(partition, start_offset=expected[-1].offset + 1) == []


@by_name(CONSUMED)
def test_scan_without_side_files(case: ModernCase, tmp_path: Path) -> None:
    """A log without its indexes reads the same."""
    for partition in case.partitions():
        bare = copy_partition(partition, tmp_path, SIDE_FILES)
        expected = modern_records(expectations(partition) / "expected.jsonl.gz")
        assert_same(scan_rows(bare), expected, partition)
        middle = expected[len(expected) // 2].offset if expected else 0
        wanted = [r for r in expected if r.offset >= middle]
        assert_same(scan_rows(bare, start_offset=middle), wanted, partition)


@by_name(COMMITTED)
@pytest.mark.parametrize("without", [(), (".txnindex",), SIDE_FILES], ids=["whole", "no-txnindex", "bare"])
def test_read_committed(case: ModernCase, without: tuple[str, ...], tmp_path: Path) -> None:
    """read_committed is what a read_committed consumer got, by .txnindex or by the abort markers."""
    for partition in case.partitions():
        path = expectations(partition) / "expected_read_committed.jsonl.gz"
        if not path.exists():
            continue
        source = copy_partition(partition, tmp_path, without) if without else partition
        expected = modern_records(path)
        assert_same(scan_rows(source, isolation_level="read_committed"), expected, partition)
        single = scan_rows(source, isolation_level="read_committed", threads=1, batch_rows=100)
        assert_same(single, expected, partition)
        middle = expected[len(expected) // 2].offset if expected else 0
        wanted = [r for r in expected if r.offset >= middle]
        found = scan_rows(source, isolation_level="read_committed", start_offset=middle)
        assert_same(found, wanted, partition)


@pytest.mark.parametrize("case", [c for c in WHOLE if c.live], ids=str)
def test_live_preallocated_folders(case: ModernCase) -> None:
    """A folder copied while the broker had it open: zeros follow the last batch, and that is no error."""
    for partition in case.partitions():
        segment = segments(partition)[-1]
        lines, stop = modern_batches(segment)
        assert stop is not None
        assert stop["position"] < segment.stat().st_size
        reader = kc.scan(partition, columns=["offset"])
        assert pa.table(reader).num_rows == len(modern_records(expectations(partition) / "expected.jsonl.gz"))
        assert not reader.report.skipped
        assert len(list(record.read_batches(segment.read_bytes()))) == len(lines)


# ------------------------------------------------------------------------------------------------ damaged


def undamaged(case: ModernCase) -> ModernCase:
    """The case that a damaged one was made from."""
    stem = case.name.removeprefix("damaged-")
    (source,) = [c for c in WHOLE if c.root == case.root and stem.startswith(c.name + "-")]
    return source


def good_and_bad(case: ModernCase) -> tuple[list[Expected], list[Expected], int | None]:
    """Records before the damage, records after it, and where the damaged or cut batch begins."""
    source = undamaged(case)
    (origin,) = source.partitions()
    (whole,) = segments(origin)
    (damaged,) = segments(case.partitions()[0])
    lines, stop = modern_batches(whole)
    seen, why = modern_batches(damaged)
    intact = {line["position"]: line for line in seen if line["valid"] and "recordsError" not in line}
    bad = [line["position"] for line in seen if line["position"] not in intact]
    if why is not None and "zero-tail" not in case.name:
        bad.append(why["position"])
    assert stop is None
    assert len(bad) <= 1
    records = modern_records(expectations(origin) / "expected.jsonl.gz")
    position = bad[0] if bad else None
    before = [line for line in lines if position is None or line["position"] < position]
    after = [line for line in lines if position is not None and line["position"] > position]
    # A cut file has nothing after the cut; a flipped bit leaves all later batches as they were.
    after = [line for line in after if line["position"] < damaged.stat().st_size]
    end = before[-1]["lastOffset"] if before else -1
    start = after[0]["baseOffset"] if after else None
    return (
        [r for r in records if r.offset <= end],
        [] if start is None else [r for r in records if r.offset >= start],
        position,
    )


@by_name(DAMAGED)
def test_damaged_batches(case: ModernCase) -> None:
    """Headers, checksum verdicts and readable records of a damaged file are those that Kafka's reader gave."""
    (segment,) = segments(case.partitions()[0])
    lines, stop = modern_batches(segment)
    batches = []
    try:
        for batch in record.read_batches(segment.read_bytes(), verify_crc=False):
            batches.append(batch)  # noqa: PERF402 (what came before the error counts)
    except kc.CorruptRecordError as error:
        # The garbage begins with a size beyond the file, where Kafka's file reader stops before it looks at the
        # magic; its buffer reader, which this one follows, looks at the magic first.
        assert "garbage-tail" in case.name
        assert stop is not None
        assert error.position == stop["position"]  # noqa: PT017
    if stop is not None and "Unknown compression type" in stop.get("error", ""):
        # Kafka's tool gave up at the header; an unknown codec is a matter of that batch's records here.
        unknown = batches[len(lines)]
        assert unknown.position == stop["position"]
        with pytest.raises(kc.UnknownServerError):
            list(unknown)
        assert not unknown.is_valid
        batches = batches[: len(lines)]
    assert_same(map(shallow, batches), map(expected_shallow, lines), segment)
    records: list[Expected] = []
    for batch, line in zip(batches, lines, strict=True):
        if not line["valid"]:
            with pytest.raises(kc.CorruptRecordError):
                batch.ensure_valid()
        if "recordsError" in line:
            kind = kc.InvalidRecordError if "InvalidRecordException" in line["recordsError"] else kc.CorruptRecordError
            with pytest.raises(kind):
                # Kafka's tool gives a batch's records together or not at all.
                list(deep(batch))
        else:
            records.extend(deep(batch))
    assert_same(records, modern_records(segment_expectation(segment, "records.jsonl.gz")), segment)


@by_name(DAMAGED)
def test_damaged_scan_raises(case: ModernCase) -> None:
    """``on_error="raise"``: the good records before the damage come, then an error names file and byte."""
    partition = case.partitions()[0]
    (segment,) = segments(partition)
    before, _, position = good_and_bad(case)
    rows, error = scan_partly(partition)
    assert_same(rows, before, partition)
    if position is None:
        assert error is None
    else:
        assert error is not None
        assert segment.name in str(error)
        assert str(position) in str(error)


@by_name(DAMAGED)
def test_damaged_scan_skips(case: ModernCase) -> None:
    """``on_error="skip"``: all good records come, and the report tells what was left out."""
    partition = case.partitions()[0]
    (segment,) = segments(partition)
    before, after, position = good_and_bad(case)
    reader = kc.scan(partition, on_error="skip")
    assert pa.table(reader).column("offset").to_pylist() == [r.offset for r in before + after]
    assert_same(scan_rows(partition, on_error="skip"), before + after, partition)
    skipped = list(reader.report.skipped)
    if position is None:
        assert not skipped
        return
    (entry,) = skipped
    assert str(entry.file).endswith(segment.name)
    assert entry.position == position
    lines, _ = modern_batches(segments(undamaged(case).partitions()[0])[0])
    later = [line["position"] for line in lines if position < line["position"] < segment.stat().st_size]
    end = later[0] if later else segment.stat().st_size
    assert entry.length == end - position
    assert entry.reason


@by_name([case for case in DAMAGED if "flipped-crc" in case.name])
def test_checksums_can_be_left_out(case: ModernCase) -> None:
    """``verify_crc=False``: a flipped bit in the CRC field itself harms no record."""
    partition = case.partitions()[0]
    (origin,) = undamaged(case).partitions()
    rows = scan_rows(partition, verify_crc=False)
    assert_same(rows, modern_records(expectations(origin) / "expected.jsonl.gz"), partition)


# ---------------------------------------------------------------------------------- traps of other readers


def trap_cases(prefix: str) -> list[ModernCase]:
    """The cases whose name begins so, of every root."""
    return [case for case in CASES if case.name.startswith(prefix)]


@by_name(trap_cases("compact"))
def test_compacted_topics_emptied_batches(case: ModernCase) -> None:
    """A batch that compaction emptied keeps its offsets, gives no records and stops nothing."""
    emptied = 0
    for partition in case.partitions():
        for segment in segments(partition):
            lines, _ = modern_batches(segment)
            for batch, line in zip(record.read_batches(segment.read_bytes()), lines, strict=True):
                if line["count"] == 0:
                    emptied += 1
                    assert batch.size_in_bytes == 61
                    assert list(batch) == []
                    assert (batch.base_offset, batch.last_offset) == (line["baseOffset"], line["lastOffset"])
                    assert batch.max_timestamp == line["maxTimestamp"]
    assert emptied == case.about["empty"]


@by_name(trap_cases("compact"))
def test_compacted_topics_delete_horizons(case: ModernCase) -> None:
    """A delete horizon takes the base timestamp's place; the records' own times come out right all the same."""
    horizons = 0
    for partition in case.partitions():
        expected = {r.offset: r for r in modern_records(expectations(partition) / "expected.jsonl.gz")}
        for segment in segments(partition):
            for batch in record.read_batches(segment.read_bytes()):
                if batch.delete_horizon_ms is None:
                    continue
                horizons += 1
                assert batch.base_timestamp == batch.delete_horizon_ms
                for item in deep(batch):
                    if item.control_type is None:
                        assert item == expected[item.offset]
                        assert item.timestamp < batch.delete_horizon_ms
    assert horizons == case.about["horizon"]


@by_name(trap_cases("compact"))
def test_compacted_topics_gaps_and_segment_names_below_the_first_offset(case: ModernCase) -> None:
    """Offsets have gaps, fewer records than the offset range says, and a file's name may be below its first."""
    gaps = below = 0
    for partition in case.partitions():
        expected = modern_records(expectations(partition) / "expected.jsonl.gz")
        assert_same(scan_rows(partition), expected, partition)
        offsets = [r.offset for r in expected]
        gaps += sum(right - left > 1 for left, right in pairwise(offsets))
        for segment in segments(partition):
            lines, _ = modern_batches(segment)
            if not lines or lines[0]["baseOffset"] == int(segment.stem):
                continue
            below += 1
            # From the name, from the first offset, and from inside the gap: the same first record.
            first = next(r for r in expected if r.offset >= int(segment.stem))
            for start in (int(segment.stem), lines[0]["baseOffset"], first.offset):
                assert scan_rows(partition, start_offset=start, end_offset=first.offset + 1) == [first]
    assert gaps > 0
    assert below > 0


@by_name(trap_cases("txn-open"))
@pytest.mark.parametrize("without", [(), (".txnindex",)], ids=["txnindex", "markers"])
def test_read_committed_open_transaction_and_later_epoch_markers(
    case: ModernCase, without: tuple[str, ...], tmp_path: Path
) -> None:
    """An open transaction stops at its first offset; markers of a later epoch end a transaction all the same."""
    (partition,) = case.partitions()
    source = copy_partition(partition, tmp_path, without)
    everything = modern_records(expectations(partition) / "expected.jsonl.gz")
    committed = modern_records(expectations(partition) / "expected_read_committed.jsonl.gz")
    open_since: dict[int, tuple[int, int]] = {}
    later_epoch = 0
    for segment in segments(partition):
        for batch in record.read_batches(segment.read_bytes()):
            if batch.is_control_batch:
                _, epoch = open_since.pop(batch.producer_id, (0, batch.producer_epoch))
                later_epoch += batch.producer_epoch > epoch
            elif batch.is_transactional:
                assert batch.base_offset is not None
                open_since.setdefault(batch.producer_id, (batch.base_offset, batch.producer_epoch))
    assert later_epoch > 0
    assert open_since
    last_stable = min(offset for offset, _ in open_since.values())
    assert committed[-1].offset < last_stable
    assert any(r.offset >= last_stable for r in everything)
    assert_same(scan_rows(source, isolation_level="read_committed"), committed, partition)
    assert scan_rows(source, isolation_level="read_committed", start_offset=last_stable) == []
    assert_same(scan_rows(source, isolation_level="read_uncommitted"), everything, partition)
