"""Missing and overlapping offsets: ``failOnDataLoss`` governs what is missing, ``mode`` what is corrupt."""

from __future__ import annotations

import json
import logging
import random
import re
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

import kafkacomp as kc
from corruption.asking import faults_of
from corruption.inject import KINDS, applies, inject, intact
from corruption.logs import Log, built, real
from corruption.tools import SPARK
from kafkacomp.spark._options import parse
from kafkacomp.spark._plan import plan
from spark.growing import Stream
from spark.test_plan import rows, tasks

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

LOG = built(2, "zstd")
ALL = [offset for batch in LOG.batches for offset, _ in batch.records]
COMPACTED = next(log for log in real() if log.is_compacted)


def without(log: Log, folder: Path, number: int) -> tuple[Path, tuple[int, int]]:
    """A partition without one of its segments, and the offsets that it had."""
    injected = intact(log)
    batches = [piece.batch for piece in injected.segments[number].pieces if piece.batch]
    del injected.segments[number]
    return injected.write(folder), (batches[0].first, batches[-1].last)


def offsets(folder: Path, **options: str) -> list[int]:
    return [row["offset"] for row in rows(folder, columns="offset", **options)]


# ------------------------------------------------------------------------------------- missing offsets


@pytest.mark.parametrize("mode", ["FAILFAST", "DROPMALFORMED", "PERMISSIVE"])
def test_a_deleted_segment_is_data_loss_in_every_mode(
    tmp_path: Path, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder, (first, last) = without(LOG, tmp_path, 1)
    with pytest.raises(kc.KafkaCompError, match=f"topic-0: offsets {first} to {last} are missing"):
        offsets(folder, mode=mode)
    with caplog.at_level(logging.WARNING, "kafkacomp"):
        assert offsets(folder, mode=mode, failOnDataLoss="false") == [each for each in ALL if not first <= each <= last]
    assert f"{first} to {last}" in caplog.text


@pytest.mark.parametrize("number", [0, 1])
def test_an_empty_closed_segment_is_data_loss(tmp_path: Path, number: int) -> None:
    folder = intact(LOG).write(tmp_path)
    sorted(folder.glob("*.log"))[number].write_bytes(b"")
    lost = [batch.records for batch in LOG.segments[number]]
    first, last = lost[0][0][0], lost[-1][-1][0]
    with pytest.raises(kc.KafkaCompError, match=f"topic-0: offsets {first} to {last} are missing"):
        offsets(folder)
    stream = Stream(folder, {"columns": "topic,partition,offset"})
    with pytest.raises(kc.KafkaCompError, match=f"topic-0: offsets {first} to {last} are missing"):
        stream.run()
    assert offsets(folder, failOnDataLoss="false") == [each for each in ALL if not first <= each <= last]


def test_an_empty_last_segment_is_no_loss(tmp_path: Path) -> None:
    folder = intact(LOG).write(tmp_path)
    (folder / f"{ALL[-1] + 1:020}.log").write_bytes(b"")
    assert offsets(folder) == ALL


def test_what_was_not_asked_for_is_no_loss(tmp_path: Path) -> None:
    folder, (first, last) = without(LOG, tmp_path, 1)
    ends = {
        "startingOffsets": json.dumps({"topic": {"0": last + 1}}),
        "endingOffsets": json.dumps({"topic": {"0": -1}}),
    }
    assert offsets(folder, **ends) == [each for each in ALL if each > last]
    ends = {"startingOffsets": json.dumps({"topic": {"0": -2}}), "endingOffsets": json.dumps({"topic": {"0": first}})}
    assert offsets(folder, **ends) == [each for each in ALL if each < first]


def test_compaction_is_no_loss(tmp_path: Path) -> None:
    folder = intact(COMPACTED).write(tmp_path)
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n1\ntopic 0 1000000\n")
    wanted = [offset for batch in COMPACTED.batches for offset, _ in batch.records]
    assert offsets(folder) == wanted
    assert offsets(folder, splitSize="1000") == wanted


@pytest.mark.parametrize("split_size", ["128m", "1000"])
def test_a_known_loss_is_no_data_loss(tmp_path: Path, split_size: str) -> None:
    """Offsets that were corrupt, and a segment; the batches next to these are in the segments of other tasks."""
    (tmp_path / "old").mkdir()
    damaged, (first, last) = without(LOG, tmp_path / "old", 1)
    data = bytearray((path := min(damaged.glob("*.log"))).read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    folder = tmp_path / "new" / damaged.name
    kc.log.repair(damaged, folder)
    assert len(kc.log.verify_partition(folder).known_losses) == 2
    left = offsets(damaged, mode="DROPMALFORMED", failOnDataLoss="false")
    assert set(left).isdisjoint(range(first, last + 1))
    assert offsets(folder, splitSize=split_size) == left
    stream = Stream(folder, {"splitSize": split_size})
    stream.run()
    assert stream.offsets() == left
    (folder / "kafkacomp-repair.json").rename(tmp_path / "losses.json")
    with pytest.raises(kc.KafkaCompError, match="are missing"):
        offsets(folder, splitSize=split_size)


def test_the_row_of_a_corrupt_range_has_its_offsets(tmp_path: Path) -> None:
    injected = inject(LOG, "flipped bit: payload", random.Random(3))
    (broken,) = [
        piece.batch for each in injected.segments for piece in each.pieces if piece.batch and piece.state != "intact"
    ]
    folder = injected.write(tmp_path)
    found = rows(folder, mode="PERMISSIVE", columns="offset,_corrupt_record")
    (corrupt,) = [json.loads(row["_corrupt_record"]) for row in found if row["_corrupt_record"]]
    assert (corrupt["firstOffset"], corrupt["lastOffset"]) == (broken.first, broken.last)
    assert corrupt["reason"] == "corrupt"
    assert "crc" in corrupt["message"]
    assert corrupt["segment"] in corrupt["message"]


# ------------------------------------------------------------------------------------- overlap


def test_segments_with_offsets_in_common_are_read_once(tmp_path: Path) -> None:
    """Each task reads the offsets from the name of its segment to the next one."""
    injected = intact(LOG)
    injected.segments[1].pieces += injected.segments[2].pieces[:2]
    folder = injected.write(tmp_path)
    assert [len(each.partition.segments) for each in tasks(folder)] == [1, 1, 1, 1]
    for mode in ("FAILFAST", "DROPMALFORMED", "PERMISSIVE"):
        assert offsets(folder, mode=mode) == ALL
        assert offsets(folder, mode=mode, splitSize="200") == ALL


def test_copies_with_one_base_offset(tmp_path: Path) -> None:
    """Files of tiered storage after a change of leader: the order of their random names does not matter."""
    for number, names in enumerate((("a", "b"), ("b", "a"))):
        injected = intact(LOG)
        first = injected.segments[0]
        batches = [piece for segment in injected.segments for piece in segment.pieces]
        first.stem = f"{0:020}-{names[0] * 22}"
        longer = type(first)(0, batches, {}, f"{0:020}-{names[1] * 22}")
        injected.segments = [first, longer]
        folder = injected.write(tmp_path / str(number))
        assert offsets(folder) == ALL


def test_files_that_disagree(tmp_path: Path) -> None:
    injected = inject(LOG, "overlapping segments that disagree", random.Random(1))
    folder = injected.write(tmp_path)
    with pytest.raises(kc.KafkaCompError) as raised:
        offsets(folder)
    named = re.findall(r"\d{20}\.log", str(raised.value))
    assert len(set(named)) == 2
    found = offsets(folder, mode="DROPMALFORMED")
    assert found == ALL


def test_segments_that_do_not_overlap_are_tasks_of_their_own(tmp_path: Path) -> None:
    folder = intact(LOG).write(tmp_path)
    planned = plan(parse({"path": str(folder)}))
    assert [len(each.partition.segments) for each in planned] == [1] * len(LOG.segments)


# ------------------------------------------------------------------------------------- streams


def stream_of(folder: Path, **options: str) -> Stream:
    return Stream(folder, {"startingOffsets": "earliest", **options})


@pytest.mark.parametrize("mode", ["FAILFAST", "DROPMALFORMED"])
def test_a_stream_stops_at_missing_offsets(tmp_path: Path, mode: str) -> None:
    folder, (first, last) = without(LOG, tmp_path, 1)
    stream = stream_of(folder, mode=mode)
    with pytest.raises(kc.KafkaCompError, match=f"offsets {first} to {last} are missing"):
        stream.run()
    stream = stream_of(folder, mode=mode, failOnDataLoss="false")
    stream.run()
    assert stream.offsets() == [each for each in ALL if not first <= each <= last]


def test_a_stream_delivers_overlapping_segments_once(tmp_path: Path) -> None:
    injected = intact(LOG)
    injected.segments[0].pieces += injected.segments[1].pieces
    injected.segments[1].pieces = injected.segments[1].pieces[:2]
    stream = stream_of(injected.write(tmp_path))
    stream.run()
    assert stream.offsets() == ALL


# ------------------------------------------------------------------------------------- every kind

_SMALL = [built(0, "none"), built(1, "gzip"), built(2, "lz4"), COMPACTED]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("log", _SMALL, ids=str)
def test_every_kind(kind: str, log: Log, tmp_path: Path) -> None:
    if applies(kind, log):
        assert not faults_of(kind, log, 1, tmp_path, SPARK)


def test_with_spark(spark: SparkSession, tmp_path: Path) -> None:
    """What users see: the error names topic, partition and offsets."""
    folder, (first, last) = without(LOG, tmp_path, 2)

    def load(**options: Any) -> list[int]:
        frame = spark.read.format("kafkacomp").options(**options).load(str(folder)).select("offset")
        return sorted(row.offset for row in frame.collect())

    with pytest.raises(PySparkException, match=f"topic-0: offsets {first} to {last} are missing"):
        load()
    for mode in ("FAILFAST", "DROPMALFORMED", "PERMISSIVE"):
        assert load(mode=mode, failOnDataLoss="false") == [each for each in ALL if not first <= each <= last]
