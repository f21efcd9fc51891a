"""The commit of a Spark write, killed at every step of it: readers and the next run find all of it or nothing."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pyarrow as pa
import pytest

import kafkacomp as kc
from commit_jobs import SEGMENT_BYTES, content, job, killed_at, staged
from kafkacomp import _kafkacomp, log, record
from kafkacomp._storage import commit_state
from kafkacomp.exceptions import CorruptRecordError
from kafkacomp.spark import _job_folder
from kafkacomp.spark._commit import commit, discard, new_staging, recover

VECTORS = Path(__file__).resolve().parents[1] / "vectors" / "modern"


def sound(target: Path) -> None:
    """Every segment has its companions, and they say what the segment says."""
    for folder in target.glob("*-[0-9]"):
        segments = sorted(folder.glob("*.log"))
        ends = [int(path.stem) for path in segments[1:]]
        ends.append(pa.table(kc.scan(folder, columns=("offset",))).num_rows)
        snapshots = sorted(int(path.stem) for path in folder.glob("*.snapshot"))
        assert snapshots == [end for end in ends if end]
        for path in segments:
            assert not log.verify_segment(path).findings
            assert path.with_suffix(".index").exists()
            assert path.with_suffix(".timeindex").exists()
        assert [
            entry.start_offset for entry in log.read_leader_epoch_checkpoint(folder / "leader-epoch-checkpoint")
        ] == [0]


def staging_folders(target: Path) -> list[str]:
    return [path.name for path in target.glob("kafkacomp-*")]


def test_a_log_begins_and_goes_on(tmp_path: Path) -> None:
    counts = {("t", 0): 300, ("t", 1): 5, ("u-v", 3): 1}
    assert job(tmp_path, counts)
    assert job(tmp_path, {("t", 0): 200, ("w", 0): 2}, first=1000)
    expected = {"t-0": [*range(300), *range(1000, 1200)], "t-1": [*range(5)], "u-v-3": [0], "w-0": [1000, 1001]}
    assert content(tmp_path) == expected
    sound(tmp_path)
    assert len(list((tmp_path / "t-0").glob("*.log"))) > 2
    assert (tmp_path / "t-0" / f"{300:020}.log").exists()
    assert not staging_folders(tmp_path)


def test_tasks_come_in_order_and_offsets_have_no_gaps(tmp_path: Path) -> None:
    staging = new_staging(tmp_path)
    files = [each for task in range(4) for each in staged(staging, task, {("t", 0): 50} | {("t", task): 1}, task * 100)]
    commit(tmp_path, staging, files, overwrite=False, segment_bytes=SEGMENT_BYTES)
    found = content(tmp_path)
    assert found["t-0"] == [0, *range(100, 150), *range(200, 250), *range(300, 350)]
    assert found["t-3"] == [300]
    sound(tmp_path)


def test_overwrite_removes_all_logs_and_nothing_else(tmp_path: Path) -> None:
    job(tmp_path, {("t", 0): 10, ("gone", 0): 10})
    (tmp_path / "t-0" / "partition.metadata").write_text("version: 0\ntopic_id: 9i3AcIJ9RfyTf8AvzXHxsA")
    (tmp_path / "photos-2024").mkdir()
    (tmp_path / "photos-2024" / "cat.jpg").touch()
    (tmp_path / "meta.properties").touch()
    job(tmp_path, {("t", 0): 3, ("new", 1): 3}, first=7, overwrite=True)
    assert content(tmp_path) == {"t-0": [7, 8, 9], "new-1": [7, 8, 9]}
    assert (tmp_path / "photos-2024" / "cat.jpg").exists()
    assert (tmp_path / "meta.properties").exists()
    assert log.read_partition_metadata(tmp_path / "t-0" / "partition.metadata").topic_id == "9i3AcIJ9RfyTf8AvzXHxsA"
    assert not (tmp_path / "gone-0").exists()


def test_nothing_written_is_nothing_new(tmp_path: Path) -> None:
    job(tmp_path, {("t", 0): 4})
    job(tmp_path, {})
    assert content(tmp_path) == {"t-0": [0, 1, 2, 3]}


def test_topic_id_is_written_where_there_is_none(tmp_path: Path) -> None:
    job(tmp_path, {("t", 0): 4}, topic_id="9i3AcIJ9RfyTf8AvzXHxsA")
    before = (tmp_path / "t-0" / "partition.metadata").read_bytes()
    job(tmp_path, {("t", 0): 4, ("t", 1): 1}, first=4, topic_id="AAAAAAAAAAAAAAAAAAAAAQ")
    assert (tmp_path / "t-0" / "partition.metadata").read_bytes() == before
    assert log.read_partition_metadata(tmp_path / "t-1" / "partition.metadata").topic_id == "AAAAAAAAAAAAAAAAAAAAAQ"


@pytest.mark.parametrize("vector", ["txn-open", "compact-txn", "restarts", "special-times"])
def test_a_log_of_a_broker_goes_on(tmp_path: Path, vector: str) -> None:
    """Producers, open transactions and leader epochs stay; the files that are there are not touched."""
    folder = tmp_path / f"{vector}-0"
    shutil.copytree(VECTORS / vector / folder.name, folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    rows = pa.table(kc.scan(folder))
    end = max(int(path.stem) for path in folder.glob("*.snapshot"))
    epochs = log.read_leader_epoch_checkpoint(folder / "leader-epoch-checkpoint")
    job(tmp_path, {(vector, 0): 100})
    after = pa.table(kc.scan(folder))
    assert after.slice(0, rows.num_rows).equals(rows)
    assert after["offset"].to_pylist()[rows.num_rows :] == list(range(end, end + 100))
    assert {name: (folder / name).read_bytes() for name in before} == before
    assert log.read_leader_epoch_checkpoint(folder / "leader-epoch-checkpoint") == epochs
    assert {
        batch.partition_leader_epoch for batch in record.read_batches((folder / f"{end:020}.log").read_bytes())
    } == {epochs[-1].epoch}
    producers = [log.read_producer_snapshot(folder / f"{offset:020}.snapshot") for offset in (end, end + 100)]
    assert sorted(map(str, producers[0])) == sorted(map(str, producers[1]))


def test_producers_are_found_without_snapshots(tmp_path: Path) -> None:
    folder = tmp_path / "txn-open-0"
    shutil.copytree(VECTORS / "txn-open" / folder.name, folder)
    last = max(folder.glob("*.snapshot"))
    known = log.read_producer_snapshot(last)
    for path in folder.glob("*.snapshot"):
        path.unlink()
    job(tmp_path, {("txn-open", 0): 1})
    found = log.read_producer_snapshot(max(folder.glob("*.snapshot")))
    # The broker had forgotten one that was silent for too long; a log tells nothing of that.
    assert set(map(str, known)) < set(map(str, found))


def test_a_damaged_end_is_not_built_upon(tmp_path: Path) -> None:
    job(tmp_path, {("t", 0): 10})
    segment = tmp_path / "t-0" / f"{0:020}.log"
    segment.write_bytes(segment.read_bytes()[:-1])
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    with pytest.raises(CorruptRecordError, match=segment.name):
        job(tmp_path, {("t", 0): 10, ("u", 0): 1})
    recover(tmp_path)
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before


def test_a_staged_file_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    staging = new_staging(tmp_path)
    (file,) = staged(staging, 0, {("t", 0): 10})
    with file.path.open("ab") as cut:
        cut.truncate(file.size - 1)
    with pytest.raises(OSError, match="driver and executors must share this folder"):
        commit(tmp_path, staging, [file], overwrite=False, segment_bytes=SEGMENT_BYTES)
    with pytest.raises(CorruptRecordError, match="batches"):
        _kafkacomp.assemble_log([file.path], tmp_path / "x-0", None, SEGMENT_BYTES, None)
    discard(tmp_path, staging)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".kafkacomp-lock"]


def test_a_batch_of_a_stream_is_written_once(tmp_path: Path) -> None:
    assert job(tmp_path, {("t", 0): 3}, batch=("query", 0))
    assert job(tmp_path, {("t", 0): 3}, first=3, batch=("query", 1))
    assert not job(tmp_path, {("t", 0): 3}, first=3, batch=("query", 1))
    assert not job(tmp_path, {("t", 0): 3}, first=0, batch=("query", 0))
    assert job(tmp_path, {("t", 0): 1}, first=6, batch=("another", 0))
    assert job(tmp_path, {("t", 0): 1}, first=7)
    assert not job(tmp_path, {("t", 0): 1}, first=9, batch=("another", 0))
    assert content(tmp_path) == {"t-0": [*range(8)]}
    assert not staging_folders(tmp_path)


@pytest.mark.parametrize("overwrite", [False, True])
def test_killed_in_its_commit_a_job_is_finished_or_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwrite: bool
) -> None:
    monkeypatch.setattr(commit_state, "PATIENCE", 0.0)
    first, second = {("t", 0): 150, ("t", 1): 3}, {("t", 0): 150, ("u", 0): 3, ("u", 1): 3}
    before = {"t-0": [*range(150)], "t-1": [0, 1, 2]}
    new = {"t-0": [*range(500, 650)], "u-0": [500, 501, 502], "u-1": [500, 501, 502]}
    after = new if overwrite else {**before, **new, "t-0": before["t-0"] + new["t-0"]}
    seen: list[str] = []
    was_killed = True
    for step in range(200):
        target = tmp_path / str(step)
        target.mkdir()
        job(target, first)
        was_killed = killed_at(step, lambda t=target: job(t, second, first=500, overwrite=overwrite))  # type: ignore[misc]
        try:
            found = content(target)
        except OSError as error:
            assert "the next write finishes it" in str(error)  # noqa: PT017 - one of three things that may be
            seen.append("refused")
        else:
            assert found in (before, after)
            seen.append("before" if found == before else "after")
        recover(target)
        assert content(target) == (before if seen[-1] == "before" else after)
        sound(target)
        assert content(target) == after or job(target, second, first=500, overwrite=overwrite)
        assert content(target) == after
        # What dies before its commit has begun stays for a day: nobody can tell it from a job that is running.
        if step > 3:
            assert not staging_folders(target)
        if not was_killed:
            break
        shutil.rmtree(target)
    assert not was_killed
    assert seen == sorted(seen, key=["before", "refused", "after"].index)
    assert set(seen) == {"before", "refused", "after"}


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("how", ["appended", "rolled"])
def test_what_others_append_behind_a_commit_that_was_cut_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, overwrite: bool
) -> None:
    """A broker that is started between the kill and the next job: its records stay, or there is an error."""
    monkeypatch.setattr(commit_state, "PATIENCE", 0.0)
    refused = finished = 0
    for step in range(200):
        target = tmp_path / str(step)
        target.mkdir()
        job(target, {("t", 0): 150, ("u", 0): 3})
        if not killed_at(step, lambda t=target: job(t, {("t", 0): 150, ("u", 0): 3}, first=500, overwrite=overwrite)):  # type: ignore[misc]
            break
        pending = commit_state.read_state(target).pending
        if pending is None:
            continue
        if overwrite and not (target / pending.staging / "old" / "t-0").exists():
            continue  # still the log that is to go
        (target / "t-0").mkdir(exist_ok=True)  # between an old log and the new one: the broker makes another
        segments = sorted((target / "t-0").glob("*.log"))
        rows = pa.table(kc.scan(target / "t-0", columns=("value",))).num_rows if segments else 0
        written = segments[-1] if how == "appended" and segments else target / "t-0" / f"{rows:020}.log"
        with written.open("ab") as file:
            file.write(intruder(rows))
        content_before = written.read_bytes()
        try:
            recover(target)
        except OSError as error:
            refused += 1
            assert error.filename == str(written)  # noqa: PT017 - one of two things that may be
            assert "delete" in str(error)  # noqa: PT017 - as above
            # Moved away, as the error says, what had been decided is finished.
            (target / "t-0").rename(tmp_path / f"away-{step}")
            recover(target)
            assert commit_state.read_state(target).pending is None
            written = tmp_path / f"away-{step}" / written.name
        else:
            finished += 1
            assert 9999 in content(target)["t-0"]
        assert written.read_bytes() == content_before
    assert refused > (0 if overwrite else 3)
    assert finished > 0


@pytest.mark.parametrize("empty", [b"", bytes(4096)])
def test_a_log_without_records_is_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty: bytes) -> None:
    """A broker's new log has a segment of the name that the first written one gets, which may be preallocated."""
    monkeypatch.setattr(commit_state, "PATIENCE", 0.0)
    rows = list(range(150))
    seen = []
    for step in range(200):
        target = tmp_path / str(step)
        (target / "t-0").mkdir(parents=True)
        (target / "t-0" / f"{0:020}.log").write_bytes(empty)
        was_killed = killed_at(step, lambda t=target: job(t, {("t", 0): 150}))  # type: ignore[misc]
        recover(target)
        seen.append(content(target))
        assert seen[-1] in ({}, {"t-0": rows})
        if not was_killed:
            break
        assert seen[-1] or job(target, {("t", 0): 150})
        assert content(target) == {"t-0": rows}
        sound(target)
    assert {} in seen[:-1]
    assert seen[-1]


def intruder(offset: int) -> bytes:
    """A batch as a broker would append it."""
    builder = record.RecordBatchBuilder(base_offset=offset)
    builder.append(b"9999", timestamp=0)
    return bytes(builder.build())


def test_remains_of_a_dead_job_go_after_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = new_staging(tmp_path)
    staged(running, 0, {("t", 0): 1})
    job(tmp_path, {("t", 0): 1})
    assert staging_folders(tmp_path) == [running.name]
    with pytest.raises(FileNotFoundError):
        kc.scan(running)
    monkeypatch.setattr(_job_folder, "ABANDONED", -1.0)
    job(tmp_path, {("t", 0): 1}, first=1)
    assert not staging_folders(tmp_path)
    assert content(tmp_path) == {"t-0": [0, 1]}


def test_a_day_is_counted_from_the_last_file(tmp_path: Path) -> None:
    """A job that has staged something within a day may be running; what is decided stays whatever its age."""
    old = time.time() - _job_folder.ABANDONED - 60
    running, dead, begun = (new_staging(tmp_path) for _ in range(3))
    for staging in (running, dead, begun):
        staged(staging, 0, {("t", 0): 1})
    (begun / "out").mkdir()
    for path in (*running.iterdir(), *dead.iterdir(), running, dead):
        os.utime(path, (old, old))
    (running / "later.batches").touch()
    os.utime(running, (old, old))
    beside = [tmp_path / "t-0.0123456789abcdef0123456789abcdef-delete", tmp_path / "kafkacomp-0.0123-delete"]
    for path in beside:
        path.mkdir()
        os.utime(path, (old, old))
    recover(tmp_path)
    assert sorted(tmp_path.glob("*-delete")) == sorted([running, *beside])
    os.utime(running / "later.batches", (old, old))
    recover(tmp_path)
    assert sorted(tmp_path.glob("*-delete")) == sorted(beside)


def test_a_decided_job_is_not_discarded(tmp_path: Path) -> None:
    """Spark aborts a job whose commit failed, also where it failed behind the decision."""
    job(tmp_path, {("t", 0): 2})
    staging = tmp_path
    for step in range(200):
        staging = new_staging(tmp_path)
        files = staged(staging, 0, {("t", 0): 1}, first=2)
        killed_at(step, lambda s=staging, f=files: commit(tmp_path, s, f, overwrite=False, segment_bytes=SEGMENT_BYTES))  # type: ignore[misc]
        if commit_state.read_state(tmp_path).pending is not None:
            break
        discard(tmp_path, staging)
        assert content(tmp_path) == {"t-0": [0, 1]}
    discard(tmp_path, staging)
    recover(tmp_path)
    assert content(tmp_path) == {"t-0": [0, 1, 2]}


def test_a_state_of_another_version_is_not_guessed_at(tmp_path: Path) -> None:
    job(tmp_path, {("t", 0): 2})
    for text, reason in (('{"version": 2}', "not 2"), ("{", "JSON"), ("[]", "not None")):
        (tmp_path / commit_state.NAME).write_text(text)
        with pytest.raises(OSError, match=reason):
            kc.scan(tmp_path)


def appended(target: Path) -> None:
    """Append ten records."""
    job(target, {("t", 0): 10}, first=5000)


def test_a_log_that_was_longer_is_not_appended_to(tmp_path: Path) -> None:
    """The new records would get the offsets of those that are lost."""
    job(tmp_path, {("t", 0): 300})
    before = content(tmp_path)
    last = max((tmp_path / "t-0").glob("*.log"))
    whole = last.read_bytes()
    checkpoint = tmp_path / "recovery-point-offset-checkpoint"
    checkpoint.write_text("0\n1\nt 0 310\n")
    with pytest.raises(CorruptRecordError, match=r"ends at offset 300, but the log had reached offset 310"):
        appended(tmp_path)
    assert content(tmp_path) == before
    # Without it, the snapshot of the end shows that a batch was lost.
    checkpoint.unlink()
    last.write_bytes(whole[: len(whole) - len(bytes(list(record.read_batches(whole))[-1]))])
    with pytest.raises(CorruptRecordError, match=r"the log had reached offset 300"):
        appended(tmp_path)
    last.write_bytes(whole)
    appended(tmp_path)


def test_a_log_whose_last_segment_is_not_its_end_is_not_appended_to(tmp_path: Path) -> None:
    job(tmp_path, {("t", 0): 300})
    segments = sorted((tmp_path / "t-0").glob("*.log"))
    # A copy of the beginning, as after an interrupted compaction.
    content_of = list(record.read_batches(segments[-1].read_bytes()))
    assert len(content_of) > 1
    (tmp_path / "t-0" / f"{int(segments[-1].stem) + 1:020}.log").write_bytes(b"")
    with pytest.raises(CorruptRecordError, match="but the log at offset 300"):
        appended(tmp_path)


def test_a_log_whose_batches_are_out_of_order_is_not_appended_to(tmp_path: Path) -> None:
    job(tmp_path, {("t", 0): 300})
    last = max((tmp_path / "t-0").glob("*.log"))
    *batches, one, two = [bytes(each) for each in record.read_batches(last.read_bytes())]
    last.write_bytes(b"".join([*batches, two, one]))
    with pytest.raises(CorruptRecordError):
        appended(tmp_path)
