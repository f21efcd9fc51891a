"""One folder, every door: what is no log, what is left out of one, and what is selected before it is opened."""

from __future__ import annotations

import json
import logging
import os
import shutil
import struct
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from aiokafka.record.util import calc_crc32c

import kafkacomp as kc
from kafkacomp import _kafkacomp, log
from kafkacomp._cli.command import run
from kafkacomp._codecs.levels import parse_codecs

if TYPE_CHECKING:
    from collections.abc import Callable

HEX = "0123456789abcdef" * 2
FIRST = "0" * 20


def write(folder: Path, topic: str = "t", partition: int = 0, count: int = 3) -> Path:
    """Write a partition with ``count`` records, and return its folder."""
    kc.write(pa.table({"value": [f"{topic} {row}" for row in range(count)]}), folder, topic=topic, partition=partition)
    return folder / f"{topic}-{partition}"


@pytest.fixture
def messy(tmp_path: Path) -> Path:
    """A log directory with a stray directory, an orphan index, a misnamed segment and files of others."""
    logs = tmp_path / "logs"
    made = write(logs)
    shutil.copytree(made, logs / "foo")
    (made / f"{99:020}.index").write_bytes(b"")
    (made / "123.log").write_bytes((made / f"{FIRST}.log").read_bytes())
    (logs / "notes").mkdir()
    (logs / "notes" / "a.txt").write_bytes(b"12345")
    (logs / "notes.txt").write_bytes(b"123")
    return logs


def command(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    capsys.readouterr()
    status = run([str(each) for each in arguments])
    said = capsys.readouterr()
    return status, said.out, said.err


# ------------------------------------------------------------------------------------- what is no log


def test_the_report_of_a_directory(messy: Path) -> None:
    report = kc.LogDir(messy).verify()
    others = {Path(each.path).name: (each.size, each.is_error) for each in report.other_files}
    size = (messy / "t-0" / f"{FIRST}.log").stat().st_size
    foo = sum(each.stat().st_size for each in (messy / "foo").iterdir())
    assert others == {
        "foo": (foo, False),
        f"{99:020}.index": (0, True),
        "123.log": (size, True),
        "notes": (5, False),
        "notes.txt": (3, False),
    }
    assert {Path(each.file).name for each in report.errors} == {f"{99:020}.index", "123.log"}
    assert {Path(each.file).name for each in report.warnings} == {"foo", "notes", "notes.txt"}
    assert (report.is_intact, report.segments_count, [each.topic for each in report.partitions]) == (False, 1, ["t"])
    assert {each[0] for each in report.counts} == {"t"}
    found = json.loads(json.dumps(report.to_dict()))
    assert [Path(each["path"]).name for each in found["otherFiles"]] == list(others)
    assert kc.LogDir(messy).other_files == tuple(report.other_files)


def test_the_command_prints_the_report(messy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = command(capsys, "verify", "--json", messy)
    assert status == 1
    assert json.loads(out) == kc.LogDir(messy).verify().to_dict()
    status, out, err = command(capsys, "verify", messy)
    assert status == 1
    for name, kind in {"foo": "warning", "notes": "warning", "123.log": "error", f"{99:020}.index": "error"}.items():
        (line,) = [each for each in out.splitlines() if f"{name}:" in each]
        assert line.startswith(f"{kind}: ")
        assert name not in err


def test_other_doors_warn_once(messy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Status 0, the rows of the log alone, and one warning for each file or folder."""
    calls: dict[str, tuple[object, ...]] = {
        "info": (messy,),
        "dump": (messy,),
        "export": (messy, "-o", tmp_path / "out.csv"),
        "recompress": (messy, tmp_path / "recompressed"),
        "convert": (messy, tmp_path / "converted", "--to-magic=2"),
        "repair": (messy, tmp_path / "repaired"),
        "advise": (messy, "--codecs", "none", "--batch-sizes", "1k"),
    }
    for name, arguments in calls.items():
        status, out, err = command(capsys, name, *arguments)
        assert status == 0, (name, out, err)
        warnings = [each for each in err.splitlines() if "warning: " in each and "skipped: " in each]
        for other in ("foo", f"{99:020}.index", "123.log", "notes", "notes.txt"):
            assert len([each for each in warnings if f"{other}: skipped" in each]) == 1, (name, other, err)
            assert "bytes)" in next(each for each in warnings if f"{other}: skipped" in each)
        assert f"foo{os.sep}" not in out
    for made in ("recompressed", "converted", "repaired"):
        assert sorted(each.name for each in (tmp_path / made).iterdir()) == ["t-0"]
    assert (tmp_path / "out.csv").read_text().count("\n") == 4


def test_python_warns_of_what_belonged_to_a_log(messy: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "kafkacomp"):
        assert pa.table(kc.scan(messy)).num_rows == 3
    assert all(name in caplog.text for name in ("foo", f"{99:020}.index", "123.log"))
    assert "notes" not in caplog.text


def test_a_command_leaves_the_levels_of_loggers_as_they_were(messy: Path, tmp_path: Path) -> None:
    loggers = [logging.getLogger(name) for name in ("kafkacomp", "kafkacomp.foreign", "kafkacomp.losses")]
    before = [each.level for each in loggers]
    try:
        for each in loggers:
            each.setLevel(logging.ERROR)
        assert run(["export", str(messy), "-o", str(tmp_path / "out.csv")]) == 0
        assert [each.level for each in loggers] == [logging.ERROR] * 3
    finally:
        for each, level in zip(loggers, before, strict=True):
            each.setLevel(level)


def test_files_of_brokers_and_of_kafkacomp_are_no_others(tmp_path: Path) -> None:
    made = write(tmp_path)
    for name in (".lock", "meta.properties", ".kafka_cleanshutdown", "cleaner-offset-checkpoint", ".kafkacomp-commit"):
        (tmp_path / name).touch()
    for name in ("kafkacomp-repair.json", "kafkacomp-quarantine.bin", f"{5:020}.snapshot", f"{5:020}.log.deleted"):
        (made / name).touch()
    (tmp_path / ".kafkacomp-commit").unlink()
    assert kc.LogDir(tmp_path).other_files == ()
    assert not kc.LogDir(tmp_path).verify().warnings


def test_a_folder_in_a_partition_is_listed_and_not_read(tmp_path: Path) -> None:
    made = write(tmp_path)
    shutil.copytree(made, made / "copy-0")
    (other,) = kc.LogDir(tmp_path).verify().other_files
    assert (Path(other.path).name, other.is_error) == ("copy-0", False)
    assert pa.table(kc.scan(tmp_path)).num_rows == 3


# ------------------------------------------------------------------------------------- folders of deleted partitions


@pytest.mark.parametrize("mark", ["delete", "future", "stray"])
def test_a_marked_folder_is_named_and_readable(
    tmp_path: Path, mark: str, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path)
    gone = write(tmp_path, "a-b", 7, 5).rename(tmp_path / f"a-b-7.{HEX}-{mark}")
    size = sum(each.stat().st_size for each in gone.iterdir())
    (other,) = kc.LogDir(tmp_path).other_files
    assert (other.path, other.size, other.is_error) == (str(gone), size, False)
    assert "a-b-7" in other.reason
    assert "give the path of this folder" in other.reason
    assert ("only copy" in other.reason) == (mark == "stray")
    with caplog.at_level(logging.WARNING, "kafkacomp"):
        assert pa.table(kc.scan(tmp_path)).num_rows == 3
    assert str(gone) in caplog.text
    for source in (gone, gone / f"{FIRST}.log"):
        rows = pa.table(kc.scan(source, columns=["topic", "partition"])).to_pylist()
        assert rows == [{"topic": "a-b", "partition": 7}] * 5
    assert list(kc.LogDir(gone)) == [("a-b", 7)]
    assert kc.LogDir(gone).verify().is_intact
    log.repair(gone, tmp_path / "new" / "repaired")
    assert pa.table(kc.scan(tmp_path / "new" / "repaired")).num_rows == 5
    status, out, _ = command(capsys, "verify", "--json", gone)
    assert (status, json.loads(out)["counts"][0]["topic"]) == (0, "a-b")
    status, out, _ = command(capsys, "dump", "--topics", "a-b", "--json", gone)
    assert status == 0
    assert out


def test_checkpoints_are_not_of_marked_folders(tmp_path: Path) -> None:
    gone = write(tmp_path).rename(tmp_path / f"t-0.{HEX}-stray")
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\nt 0 2\n")
    assert kc.LogDir(gone)["t", 0].start_offset == 0


def test_a_truncated_topic_has_its_prefix_and_its_id(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Kafka keeps such a name at 255 bytes; the rest of the topic is nowhere but in the id."""
    topic_id = "AAAAAAAAAAAAAAAAAAAAAQ"
    suffix = f"-12.{HEX}-delete"
    prefix = "x" * (255 - len(suffix))
    gone = write(tmp_path, "x" * 240, 12).rename(tmp_path / f"{prefix}{suffix}")
    (gone / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")
    with caplog.at_level(logging.WARNING, "kafkacomp"):
        (partition,) = kc.LogDir(gone).partitions
    assert (partition.topic, partition.partition, partition.topic_id) == (prefix, 12, topic_id)
    assert topic_id in caplog.text
    write(tmp_path)
    (other,) = kc.LogDir(tmp_path).other_files
    assert topic_id in other.reason
    assert f"{prefix}...-12" in other.reason


def test_a_folder_with_deleted_segments_only_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path)
    gone = write(tmp_path, "u")
    for path in gone.iterdir():
        path.rename(f"{path}.deleted")
    with pytest.raises(FileNotFoundError, match=r"\.log\.deleted"):
        kc.scan(gone)
    (other,) = kc.LogDir(tmp_path).other_files
    assert (other.path, other.is_error) == (str(gone), False)
    assert ".log.deleted" in other.reason
    status, out, _ = command(capsys, "verify", tmp_path)
    assert status == 0
    assert ".log.deleted" in out
    with pytest.raises(FileNotFoundError, match="stray"):
        marked = tmp_path / "one"
        marked.mkdir()
        (tmp_path / "t-0").rename(marked / f"t-0.{HEX}-stray")
        kc.scan(marked)


def test_a_topic_that_begins_with_a_dash(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "-x")
    monkeypatch.chdir(tmp_path)
    for name in ("info", "verify", "dump"):
        status, _, err = command(capsys, name, "-x-0")
        assert status == 2
        assert "write ./-x-0" in err
        assert command(capsys, name, "./-x-0")[0] == 0
    assert command(capsys, "export", "./-x-0", "-o", "out.csv")[0] == 0
    assert pa.table(kc.scan("-x-0", columns=["topic"]))["topic"].to_pylist() == ["-x"] * 3
    assert list(kc.LogDir(".")) == [("-x", 0)]
    status, _, err = command(capsys, "info", "--nothing")
    assert status == 2
    assert "write ./" not in err


def test_two_disks_are_both_read_and_never_merged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("disk-1", "disk-2"):
        write(tmp_path / name)
        write(tmp_path / name, name.replace("disk-", "only"))
    with caplog.at_level(logging.WARNING, "kafkacomp"):
        assert pa.table(kc.scan(tmp_path)).num_rows == 12
        logs = kc.LogDir(tmp_path)
        assert [each.topic for each in logs.partitions] == ["t", "t", "only1", "only2"] or len(logs.partitions) == 4
    assert caplog.text.count("in 2 folders") == 2
    folders = sorted(each.path for each in logs.partitions if each.topic == "t")
    assert folders == [str(tmp_path / name / "t-0") for name in ("disk-1", "disk-2")]
    with pytest.raises(ValueError, match="in 2 folders") as raised:
        logs["t", 0]
    assert all(each in str(raised.value) for each in folders)
    assert logs["only1", 0].topic == "only1"
    assert pa.table(logs.scan()).num_rows == 12
    assert len(logs.select(topics=["t"])) == 2
    assert sum(each.records for each in logs.info().partitions) == 12
    assert logs.verify().segments_count == 4
    status, out, _ = command(capsys, "verify", "--json", tmp_path)
    assert (status, json.loads(out)["segments"]) == (0, 4)
    assert ["in 2 folders" in each["message"] for each in json.loads(out)["warnings"]] == [True]
    for name in ("info", "dump"):
        status, _, err = command(capsys, name, tmp_path)
        assert (status, err.count("in 2 folders")) == (0, 1)
    for job in (log.repair, log.recompress):
        with pytest.raises(ValueError, match="in 2 folders"):
            job(tmp_path, tmp_path.with_name("out"))
        assert not tmp_path.with_name("out").exists()


# ------------------------------------------------------------------------------------- other systems


def redpanda() -> bytes:
    """The header of a batch of Redpanda, which is little-endian, and its records."""
    body = struct.pack(
        "<iqbIhiqqqhii", 61 + 10, 5, 1, 0xABCD, 0, 0, 1_700_000_000_000, 1_700_000_000_000, -1, -1, -1, 1
    )
    return struct.pack("<I", calc_crc32c(body)) + body + bytes(10)


@pytest.mark.parametrize("name", ["5-1-v1.log", "record-set.bin"])
@pytest.mark.parametrize("door", ["dump", "verify", "info", "export"])
def test_segments_of_redpanda(tmp_path: Path, name: str, door: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "kafka" / "orders" / "0_17" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(redpanda())
    sources = [path, path.parent, tmp_path] if name.endswith(".log") else [path]
    options = ["-o", str(tmp_path / "out.csv")] if door == "export" else []
    for source in sources:
        status, _, err = command(capsys, door, source, *options)
        assert status == 2
        assert f"{path}: this is a segment of Redpanda, which kafkacomp does not read" in err
    with pytest.raises(ValueError, match="Redpanda"):
        kc.scan(redpanda())


@pytest.mark.parametrize("door", ["dump", "verify", "info", "export"])
def test_manifests_of_icebergs(tmp_path: Path, door: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Of Aiven's plugin in its Iceberg mode: the manifests are Puffin files, and there are no logs."""
    folder = tmp_path / f"t-{'A' * 22}" / "0"
    folder.mkdir(parents=True)
    path = folder / f"{FIRST}-{'B' * 22}.rsm-manifest"
    path.write_bytes(b"PFA1" + bytes(40) + b"PFA1")
    options = ["-o", str(tmp_path / "out.csv")] if door == "export" else []
    for source in (folder, tmp_path):
        status, out, err = command(capsys, door, source, *options)
        assert status == 2, (out, err)
        assert f"{path}: this is an Iceberg manifest (Puffin), which kafkacomp does not read" in err
    (tmp_path / "any.puffin").write_bytes(path.read_bytes())
    status, _, err = command(capsys, door, tmp_path / "any.puffin", *options)
    assert status == 2
    assert "this is an Iceberg manifest (Puffin), which kafkacomp does not read" in err


# ------------------------------------------------------------------------------------- selection before opening


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of segments that are opened."""
    found: list[str] = []
    original = _kafkacomp.inspect

    def inspect(paths: list[str]) -> list[_kafkacomp.Inspected]:
        found.extend(paths)
        return original(paths)

    monkeypatch.setattr(_kafkacomp, "inspect", inspect)
    return found


def spark_select(folder: Path, **options: str) -> int:
    from kafkacomp.spark._options import parse  # noqa: PLC0415 - needs PySpark
    from kafkacomp.spark._select import select  # noqa: PLC0415 - needs PySpark

    return sum(len(each.segments) for each in select(parse({"path": str(folder), **options})))


DOORS: dict[str, Callable[[Path], object]] = {
    "scan": lambda folder: kc.scan(folder, topics=["t"], partitions=[0]),
    "glob": lambda folder: kc.scan(folder, topics=["t*"], partitions=[0]),
    "LogDir": lambda folder: kc.LogDir(folder)["t", 0].end_offset,
    "LogDir.scan": lambda folder: kc.LogDir(folder).scan(topics=["t"]),
    "LogDir.select": lambda folder: kc.LogDir(folder).select(topics=["t"])[0].end_offset,
    "LogPartition.scan": lambda folder: kc.LogDir(folder)["t", 0].scan(),
    "polars": lambda folder: kc.polars.scan(folder, topics=["t"]).collect(),
    "subscribe": lambda folder: spark_select(folder, subscribe="t"),
    "subscribePattern": lambda folder: spark_select(folder, subscribePattern="t+"),
    "assign": lambda folder: spark_select(folder, assign='{"t": [0]}'),
    "info": lambda folder: run(["info", "--topics", "t", str(folder)]),
    "diff": lambda folder: run(["diff", "--topics", "t", str(folder), str(folder)]),
}


@pytest.mark.parametrize("door", DOORS)
def test_no_segment_of_another_topic_is_opened(tmp_path: Path, opened: list[str], door: str) -> None:
    write(tmp_path)
    for number in range(3):
        write(tmp_path, f"other{number}")
    DOORS[door](tmp_path)
    assert opened
    assert {Path(each).parent.name for each in opened} == {"t-0"}


@pytest.mark.parametrize("door", [*DOORS, "dump"])
def test_an_unreadable_folder_of_another_topic(tmp_path: Path, door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Listing it fails; the errors of a run as root are made here, since nothing is forbidden to root."""
    write(tmp_path)
    write(tmp_path, "other")
    write(tmp_path, "zother")
    scandir = os.scandir

    def refusing(path: str) -> object:
        if str(path).endswith("other-0"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    use = DOORS[door] if door in DOORS else lambda folder: run(["dump", "--topics", "t", str(folder)])
    status = use(tmp_path)
    assert door not in {"info", "diff", "dump"} or status == 0
    with pytest.raises(PermissionError):
        kc.scan(tmp_path)
    with pytest.raises(PermissionError):
        kc.scan(tmp_path, topics=["*other"])
    with pytest.raises(PermissionError):
        kc.LogDir(tmp_path).topics  # noqa: B018


def test_a_choice_that_matches_nothing_names_what_there_is(tmp_path: Path) -> None:
    for topic in ("t", "u"):
        write(tmp_path, topic, 3)
    with pytest.raises(ValueError, match="no topic matches 'x': expected one of t, u"):
        kc.scan(tmp_path, topics=["x"])
    with pytest.raises(ValueError, match=r"no topic has a partition 1: expected one of \[3\]"):
        kc.scan(tmp_path, partitions=[1])
    with pytest.raises(ValueError, match="the source does not have x: expected some of t, u"):
        spark_select(tmp_path, subscribe="x")


def test_a_log_directory_whose_name_is_like_a_partitions(tmp_path: Path) -> None:
    """Its partitions are found also if its own name is not among the topics."""
    write(tmp_path / "broker-1")
    write(tmp_path / "broker-1", "u")
    assert pa.table(kc.scan(tmp_path, topics=["t"])).num_rows == 3


# ------------------------------------------------------------------------------------- LogDir in place of a path


def test_functions_take_the_model(tmp_path: Path) -> None:
    made = write(tmp_path / "logs")
    write(tmp_path / "logs", "u")
    logs = kc.LogDir(tmp_path / "logs")
    jobs: list[Callable[..., object]] = [log.recompress, log.repair, partial(log.convert, to_magic=2)]
    for number, job in enumerate(jobs):
        job(logs, tmp_path / f"all{number}")
        assert sorted(each.name for each in (tmp_path / f"all{number}").iterdir()) == ["t-0", "u-0"]
        job(logs["t", 0], tmp_path / f"one{number}")
        assert pa.table(kc.scan(tmp_path / f"one{number}")).num_rows == 3
        assert (tmp_path / f"one{number}" / f"{FIRST}.log").exists()
        job(logs["t", 0].segments[0], tmp_path / f"segment{number}")
        with pytest.raises(ValueError, match="target is in"):
            job(logs, tmp_path / "logs" / "inside")
    assert log.verify_partition(logs["t", 0]) == log.verify_partition(made)
    segment = logs["t", 0].segments[0]
    assert log.verify_segment(segment) == segment.verify()
    with pytest.raises(ValueError, match="contains 2 partitions"):
        log.verify_partition(logs)
    settings = kc.advice.Settings(codecs=tuple(parse_codecs("none")), batch_sizes=(1024,))
    for source in (logs, [logs], logs["t", 0], logs["t", 0].segments[0]):
        assert "t" in [each.figures.name for each in kc.advise(source, settings).topics]
    assert kc.polars.scan(logs).collect().height == 6
    assert kc.polars.scan(logs["u", 0]).collect().height == 3


@pytest.mark.parametrize(
    "option",
    [
        {"storage_options": {"a": 1}},
        {"store": object()},
        {"tiered": kc.Tiered(local_log_dir="x")},
    ],
    ids=lambda option: next(iter(option)),
)
def test_arguments_for_opening_belong_to_the_directory(tmp_path: Path, option: dict[str, Any]) -> None:
    write(tmp_path)
    (name,) = option
    logs = kc.LogDir(tmp_path)
    calls: list[Callable[..., object]] = [
        logs.scan,
        logs["t", 0].scan,
        logs["t", 0].segments[0].scan,
        lambda **given: kc.scan(logs, **given),
        lambda **given: kc.polars.scan(logs, **given),
        lambda **given: log.recompress(logs, tmp_path / "out", **given),
        lambda **given: kc.advise(logs, **given),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=rf"{name} belongs to LogDir\(path, {name}="):
            call(**option)
