"""Segments that a broker replaces between the plan of a read and its tasks: no record is missed, none comes twice."""

from __future__ import annotations

import pickle
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp.spark import _plan, _read, _rediscovery, _select
from spark.growing import Stream
from spark.test_plan import logs, make, reader_of, tasks_of

if TYPE_CHECKING:
    from pathlib import Path

    from kafkacomp._storage.partition import Partition
    from kafkacomp.spark._read import KafkaCompReader

COUNT = 3000
PIECE = "60000"


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (_rediscovery, _plan, _read):
        monkeypatch.setattr(module, "PAUSE", 0.0)


def batches(data: bytes) -> list[tuple[int, bytes]]:
    """Base offset and bytes of each."""
    found, at = [], 0
    while at < len(data):
        size = 12 + int.from_bytes(data[at + 8 : at + 12], "big")
        found.append((int.from_bytes(data[at : at + 8], "big"), data[at : at + size]))
        at += size
    return found


def offsets_of(data: bytes) -> list[int]:
    return list(pa.table(kc.scan(data, columns=["offset"]))["offset"].to_pylist())


def compact(folder: Path, group: list[Path], *, index: str, every: int = 3) -> list[int]:
    """Replace segments by one that lacks every third batch, as the cleaner does: another file of the first one's name.

    ``index`` says what becomes of the first one's: "old" stays as it was, or there is "none". The offsets that stay.
    """
    data = b"".join(path.read_bytes() for path in group)
    left = b"".join(batch for number, (_, batch) in enumerate(batches(data)) if number % every != 1)
    swap = folder / f"{group[0].name}.swap"
    swap.write_bytes(left)
    for path in group:
        path.rename(f"{path}.deleted")
        if path != group[0] or index == "none":
            path.with_suffix(".index").unlink()
    swap.rename(group[0])
    following = [int(path.stem) for path in logs(folder) if path not in group]
    cleaned_to = min((base for base in following if base > int(group[-1].stem)), default=COUNT)
    (folder.parent / "cleaner-offset-checkpoint").write_text(f"0\n1\nt 0 {cleaned_to}\n")
    return offsets_of(left)


def read(reader: KafkaCompReader, task: Any) -> list[int]:
    """The offsets of a task, which travels as Spark sends it."""
    reader, task = pickle.loads(pickle.dumps((reader, task)))  # noqa: S301 - our own
    return [row["offset"] for batch in reader.read(task) for row in batch.to_pylist()]


@pytest.mark.parametrize("mode", ["FAILFAST", "DROPMALFORMED"])
@pytest.mark.parametrize("index", ["old", "none"])
@pytest.mark.parametrize("merged", [1, 2, 4])
@pytest.mark.parametrize("split", [PIECE, "1g"])
def test_compaction_between_two_tasks(tmp_path: Path, split: str, merged: int, index: str, mode: str) -> None:
    """Whichever tasks read the old files and whichever the new one: each offset that is left comes once."""
    pristine = make(tmp_path / "pristine", count=COUNT, segment_bytes=400_000)
    total = len(logs(pristine))
    assert total > 4
    for switch in range(0, 30, 3 if split == PIECE else 1):
        folder = tmp_path / str(switch) / "t-0"
        shutil.copytree(pristine, folder)
        reader = reader_of(folder, columns="offset", splitSize=split, mode=mode)
        tasks = tasks_of(reader)
        if switch > len(tasks):
            break
        # Even ones in front of the rest, so that the switch does not only part the early from the late.
        order = tasks[::2] + tasks[1::2]
        found = [offset for task in order[:switch] for offset in read(reader, task)]
        left = compact(folder, logs(folder)[:merged], index=index)
        end = int(logs(folder)[1].stem)
        found += [offset for task in order[switch:] for offset in read(reader, task)]
        assert len(found) == len(set(found))
        assert {*left, *range(end, COUNT)} <= set(found) <= set(range(COUNT))


def test_a_piece_of_another_file_is_not_taken_for_its_own(tmp_path: Path) -> None:
    """All tasks read the new file: exactly what it has, also within offsets that were asked for."""
    folder = make(tmp_path, count=COUNT, segment_bytes=400_000)
    bounds = {"startingOffsets": '{"t": {"0": 100}}', "endingOffsets": '{"t": {"0": 1500}}'}
    reader = reader_of(folder, columns="offset", splitSize=PIECE, **bounds)
    tasks = tasks_of(reader)
    left = compact(folder, logs(folder)[:3], index="old")
    rest = range(int(logs(folder)[1].stem), COUNT)
    found = [offset for task in tasks for offset in read(reader, task)]
    assert found == [offset for offset in (*left, *rest) if 100 <= offset < 1500]


def test_a_segment_that_rolled_while_it_was_listed(tmp_path: Path) -> None:
    """What came between the listing of a segment's length and that of the next segment is read."""
    folder = make(tmp_path, count=COUNT, segment_bytes=400_000)
    first = logs(folder)[0]
    whole = first.read_bytes()
    part = b"".join(batch for _, batch in batches(whole)[:-5])
    for split in (PIECE, "1g"):
        first.write_bytes(part)
        reader = reader_of(folder, columns="offset", splitSize=split)
        tasks = tasks_of(reader)
        first.write_bytes(whole)
        assert [offset for task in tasks for offset in read(reader, task)] == list(range(COUNT))


def test_a_listing_that_is_overtaken_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments are merged behind the listing, before the first is opened to be cut."""
    folder = make(tmp_path, count=COUNT, segment_bytes=400_000)
    reader = reader_of(folder, columns="offset", splitSize=PIECE)
    left: list[int] = []
    select = _select.select

    def overtaken(options: Any) -> list[Partition]:
        found = select(options)
        if not left:
            left.extend(compact(folder, logs(folder)[:3], index="none"))
        return found

    monkeypatch.setattr(_plan, "select", overtaken)
    tasks = tasks_of(reader)
    rest = range(int(logs(folder)[1].stem), COUNT)
    assert [offset for task in tasks for offset in read(reader, task)] == [*left, *rest]


def test_compressed_messages_of_old_formats_are_found_again(small_vectors: Path, tmp_path: Path) -> None:
    """Their headers have the last offset alone; the splits have the first one of the messages too."""
    log = small_vectors / "legacy" / "broker-0.10.0.1" / "ct-lz4.log"
    folder = tmp_path / "t-0"
    folder.mkdir()
    target = folder / f"{0:020}.log"
    shutil.copyfile(log, target)
    wanted = offsets_of(log.read_bytes())
    reader = reader_of(folder, columns="offset", splitSize="500")
    tasks = tasks_of(reader)
    assert len(tasks) > 2
    assert [offset for task in tasks for offset in read(reader, task)] == wanted
    rest = b"".join(batch for _, batch in batches(log.read_bytes())[1:])
    target.write_bytes(rest)
    assert [offset for task in tasks for offset in read(reader, task)] == offsets_of(rest)


def test_a_segment_that_retention_deletes(tmp_path: Path) -> None:
    folder = make(tmp_path, count=COUNT, segment_bytes=400_000)
    for is_loss in ("true", "false"):
        reader = reader_of(folder, columns="offset", failOnDataLoss=is_loss)
        tasks = tasks_of(reader)
        first, second, *_ = logs(folder)
        first.unlink()
        if is_loss == "true":
            with pytest.raises(FileNotFoundError, match=f"the broker has deleted or replaced it.*{first.name}"):
                read(reader, tasks[0])
        else:
            assert read(reader, tasks[0]) == []
        assert read(reader, tasks[1])[0] == int(second.stem)


@pytest.mark.parametrize("index", ["old", "none"])
def test_a_stream_over_a_log_that_is_compacted(tmp_path: Path, index: str) -> None:
    folder = make(tmp_path, count=COUNT, segment_bytes=400_000)
    stream = Stream(tmp_path, {"splitSize": PIECE})
    assert stream.position is not None
    tasks = stream.reader.partitions(stream.position, stream.latest(stream.position))
    order = [*tasks[::2], *tasks[1::2]]
    found = [offset for _, _, offset in stream.read_tasks(order[:7])]
    left = compact(folder, logs(folder)[:3], index=index)
    found += [offset for _, _, offset in stream.read_tasks(order[7:])]
    assert len(found) == len(set(found))
    assert {*left, *range(int(logs(folder)[1].stem), COUNT)} <= set(found) <= set(range(COUNT))
