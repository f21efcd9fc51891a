"""What discovery makes of the folders of a broker: the log directory's checkpoints, files on their way in or out."""

from __future__ import annotations

import logging
import os
import pickle
import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import _kafkacomp, log, record
from kafkacomp._cli.command import run
from kafkacomp._storage.files import find
from kafkacomp.tiered.source import resolve

if TYPE_CHECKING:
    from collections.abc import Callable

MODERN = Path(__file__).resolve().parent / "vectors" / "modern"
RESTARTS = MODERN / "restarts" / "restarts-0"
FIRST = "0" * 20


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    """A log directory with the partitions a-b-3 and c-0."""
    for name in ("a-b-3", "c-0"):
        shutil.copytree(RESTARTS, tmp_path / name)
    return tmp_path


CHECKPOINTS = {
    "log-start-offset-checkpoint": "0\n1\na-b 3 17\n",
    "replication-offset-checkpoint": "0\n2\na-b 3 99\nc 0 100\n",
    "cleaner-offset-checkpoint": "0\n1\nc 0 55\n",
}


def bounds(source: object) -> dict[tuple[str | None, int | None], tuple[int | None, int | None, int | None]]:
    return {
        (each.topic, each.partition): (each.log_start_offset, each.high_watermark, each.cleaned_to)
        for each in resolve(source)
    }


def test_the_checkpoints_of_the_log_directory(log_dir: Path) -> None:
    """From the log directory, a partition's folder, or a segment; also from another file system, and after a pickle."""
    none = (None, None, None)
    assert bounds(log_dir) == {("a-b", 3): none, ("c", 0): none}
    for name, content in CHECKPOINTS.items():
        (log_dir / name).write_text(content)
    expected = {("a-b", 3): (17, 99, None), ("c", 0): (None, 100, 55)}
    assert bounds(log_dir) == expected
    assert bounds([log_dir / "a-b-3", log_dir / "c-0"]) == expected
    assert bounds(log_dir / "a-b-3" / f"{FIRST}.log") == {("a-b", 3): (17, 99, None)}
    assert bounds(log_dir.as_uri().replace("file:", "local:")) == expected
    assert bounds([pickle.loads(pickle.dumps(each)) for each in resolve(log_dir)]) == expected  # noqa: S301 - our own


def test_each_checkpoint_is_read_once(log_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kafkacomp._storage.filesystem import _Local  # noqa: PLC0415 - a private name

    read: list[str] = []
    original = _Local.read

    def counted(self: _Local, path: str) -> bytes | None:
        read.append(Path(path).name)
        return original(self, path)

    monkeypatch.setattr(_Local, "read", counted)
    found = resolve(log_dir)
    assert not read or read == [".kafkacomp-commit"] * len(read)
    for each in found * 2:
        assert (each.log_start_offset, each.high_watermark, each.cleaned_to) == (None, None, None)
    assert sorted(name for name in read if name in CHECKPOINTS) == sorted(CHECKPOINTS)


@pytest.mark.parametrize("name", CHECKPOINTS)
@pytest.mark.parametrize("content", [b"", b"\0" * 40, b"1\n0\n", b"0\n1\nc 0 99999999999999999999\n", None])
def test_a_checkpoint_that_says_nothing(
    log_dir: Path, name: str, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    """An empty one has no entries, as a broker creates it; one that cannot be read is a warning that names it."""
    if content is None:
        (log_dir / name).mkdir()
    else:
        (log_dir / name).write_bytes(content)
    with caplog.at_level(logging.WARNING, "kafkacomp"):
        assert set(bounds(log_dir).values()) == {(None, None, None)}
    warnings = [record.getMessage() for record in caplog.records]
    assert [str(log_dir / name) in each for each in warnings] == ([] if content == b"" else [True])


SECOND, THIRD = f"{40:020}", f"{70:020}"
SIDES = ("log", "index", "timeindex")


def batches(first: int, end: int) -> bytes:
    """A batch for every ten offsets."""
    data = b""
    for base in range(first, end, 10):
        builder = record.RecordBatchBuilder(base_offset=base)
        for offset in range(base, min(base + 10, end)):
            builder.append(b"%d" % offset, timestamp=offset)
        data += bytes(builder.build())
    return data


def write(folder: Path, base: int, end: int, suffix: str = "") -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{base:020}.log{suffix}").write_bytes(batches(base, end))
    for kind in SIDES[1:]:
        (folder / f"{base:020}.{kind}{suffix}").write_bytes(b"")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A partition with the segments 0 to 39, 40 to 69 and 70 to 99."""
    made = tmp_path / "t-0"
    for base, end in ((0, 40), (40, 70), (70, 100)):
        write(made, base, end)
    return made


def segments(source: object) -> list[str]:
    (found,) = resolve(source)
    return [Path(each.name).name for each in found.segments]


def rows(source: Any) -> list[int]:
    return [int(each) for each in pa.table(kc.scan(source, columns=["value"]))["value"].to_pylist()]


def verified(folder: Path) -> set[str]:
    return {file.path.name for file in find([folder]) if file.kind == "log"}


@pytest.mark.parametrize("side", [(), ("deleted",), ("deleted", "cleaned")])
def test_a_swap_may_be_the_only_copy(folder: Path, side: tuple[str, ...], caplog: pytest.LogCaptureFixture) -> None:
    """Killed after the old segments were renamed or removed; later .cleaned files do not give an earlier swap up."""
    for kind in SIDES:
        (folder / f"{FIRST}.{kind}").rename(folder / f"{FIRST}.{kind}.deleted")
        (folder / f"{SECOND}.{kind}").unlink()
        if "deleted" not in side:
            (folder / f"{FIRST}.{kind}.deleted").unlink()
    write(folder, 0, 70, ".swap")
    if "cleaned" in side:
        write(folder, 70, 80, ".cleaned")
    with caplog.at_level(logging.WARNING, "kafkacomp"):
        assert segments(folder) == [f"{FIRST}.log.swap", f"{THIRD}.log"]
    assert f"{FIRST}.log.swap" in caplog.text
    assert str(folder) in caplog.text
    assert rows(folder) == [*range(100)]
    assert verified(folder) == set(segments(folder))
    assert not [finding for path in segments(folder) for finding in log.verify_segment(folder / path).findings]
    log.recompress(folder, folder.with_name("again"))
    assert rows(folder.with_name("again")) == [*range(100)]
    assert log.repair(folder, folder.with_name("repaired")).is_complete
    assert rows(folder.with_name("repaired")) == [*range(100)]


def test_a_swap_replaces_all_old_segments_in_its_range(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(folder, 0, 70, ".swap")
    with caplog.at_level(logging.WARNING, "kafkacomp"):
        assert segments(folder) == [f"{FIRST}.log.swap", f"{THIRD}.log"]
    assert all(name in caplog.text for name in (f"{FIRST}.log.swap", f"{FIRST}.log,", f"{SECOND}.log"))
    assert rows(folder) == [*range(100)]
    assert rows([folder]) == [*range(100)]
    assert verified(folder) == {f"{FIRST}.log.swap", f"{THIRD}.log"}
    found = {file.path.name for file in find([folder])}
    assert not found & {f"{base}.{kind}" for base in (FIRST, SECOND) for kind in SIDES}


def test_the_swaps_of_a_split_replace_one_segment(folder: Path) -> None:
    write(folder, 40, 50, ".swap")
    write(folder, 50, 70, ".swap")
    assert segments(folder) == [f"{FIRST}.log", f"{SECOND}.log.swap", f"{50:020}.log.swap", f"{THIRD}.log"]
    assert rows(folder) == [*range(100)]


@pytest.mark.parametrize("cleaned", [40, 50])
def test_swaps_with_cleaned_files_are_given_up(folder: Path, cleaned: int, caplog: pytest.LogCaptureFixture) -> None:
    """Killed while .cleaned files of one group were renamed to .swap: the old segments are there still."""
    write(folder, 50, 70, ".swap")
    write(folder, cleaned, 50, ".cleaned")
    with caplog.at_level(logging.WARNING, "kafkacomp"):
        assert segments(folder) == [f"{FIRST}.log", f"{SECOND}.log", f"{THIRD}.log"]
    assert f"{50:020}.log.swap" in caplog.text
    assert rows(folder) == [*range(100)]
    assert verified(folder) == set(segments(folder))


def test_a_swap_that_is_given_up_is_logged_where_its_old_segment_is(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(folder, 40, 70, ".swap")
    write(folder, 0, 40, ".cleaned")
    with caplog.at_level(logging.WARNING, "kafkacomp"):
        assert segments(folder) == [f"{FIRST}.log", f"{SECOND}.log", f"{THIRD}.log"]
    assert f"{SECOND}.log.swap: not read" in caplog.text


def test_a_corrupt_swap_does_not_replace_what_is_there(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(folder, 40, 70, ".swap")
    swap = folder / f"{SECOND}.log.swap"
    second = len(batches(40, 50))
    swap.write_bytes(swap.read_bytes()[:second] + b"\xff" * 40 + swap.read_bytes()[second + 40 :])
    with caplog.at_level(logging.WARNING, "kafkacomp"):
        assert rows(folder) == [*range(100)]
    assert swap.name in caplog.text
    (folder / f"{SECOND}.log").unlink()
    with pytest.raises(pa.ArrowInvalid, match=swap.name):
        rows(folder)


def test_the_indexes_of_a_swapped_segment(tmp_path: Path) -> None:
    """Aborted transactions are in .txnindex.swap, which a broker renames after the segment."""
    source = MODERN / "txn-open" / "txn-open-0"
    committed = pa.table(kc.scan(source, isolation_level="read_committed"))
    assert committed.num_rows < pa.table(kc.scan(source)).num_rows
    for name, suffixes in (("both", ("log", "index", "timeindex", "txnindex")), ("indexes", ("index", "txnindex"))):
        made = tmp_path / name / "txn-open-0"
        shutil.copytree(source, made)
        for suffix in suffixes:
            for path in made.glob(f"*.{suffix}"):
                path.rename(f"{path}.swap")
        for url in (str(made), made.as_uri().replace("file:", "local:")) if name == "both" else (str(made),):
            assert pa.table(kc.scan(url, isolation_level="read_committed")).equals(committed)


def test_a_log_with_a_swap_is_not_appended_to(folder: Path) -> None:
    staged = folder.with_name("x.batches")
    staged.write_bytes(batches(0, 10))
    write(folder, 40, 70, ".swap")
    with pytest.raises(OSError, match="starts") as raised:
        _kafkacomp.assemble_log([staged], folder.with_name("out"), folder, 1 << 20, None)
    assert raised.value.filename == str(folder / f"{SECOND}.log.swap")


@pytest.mark.parametrize(
    "name",
    ["99999999999999999999.log", f"{2**63:020}.log", "9" * 20 + "-" + "A" * 22 + ".log", "12.log", "9" * 20 + ".kafka"],
)
def test_a_name_that_is_almost_a_segments(folder: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    """In a folder it is a warning, to verify an error; named itself it is a record set; its indexes are nothing."""
    (folder / name).write_bytes(batches(0, 10))
    for suffix in ("index", "timeindex", "snapshot", "log.swap", "log.cleaned", "log.deleted"):
        (folder / f"{name.partition('.')[0]}.{suffix}").write_bytes(b"" if "." not in suffix else batches(0, 10))
    with caplog.at_level(logging.WARNING, "kafkacomp"):
        assert rows(folder) == [*range(100)]
    assert name in caplog.text
    assert rows(folder.parent) == [*range(100)]
    assert name not in verified(folder)
    caplog.clear()
    if not name.endswith("kafka"):
        with caplog.at_level(logging.WARNING, "kafkacomp"):
            assert rows(folder / name) == [*range(10)]
        assert name in caplog.text
        assert not [each for each in log.verify_segment(folder / name).findings if each.is_error]
    assert run(["verify", str(folder)]) == 1
    assert run(["dump", str(folder)]) == 0
    assert run(["dump", str(folder / name)]) in {0, 1}


@pytest.mark.parametrize(
    "name", ["t-2147483648", "t-9999999999", "t-²", "t-\N{ARABIC-INDIC DIGIT FIVE}", "t", os.fsdecode(b"\xff-0")]
)
def test_a_name_that_is_almost_a_partitions(tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path / "t-2147483647", 0, 20)
    write(tmp_path / name, 0, 10)
    with caplog.at_level(logging.WARNING, "kafkacomp"):
        table = pa.table(kc.scan(tmp_path, columns=["partition"]))
    assert set(table["partition"].to_pylist()) == {2147483647}
    assert str(tmp_path / name) in caplog.text
    assert rows(tmp_path / name) == [*range(10)]
    assert run(["verify", str(tmp_path)]) == 0
    assert run(["dump", "--deep", str(tmp_path / name)]) == 0


def test_partitions_of_an_unlikely_number_in_tiered_storage(tmp_path: Path) -> None:
    folders = [tmp_path / f"t-{'A' * 22}" / partition for partition in ("9" * 10, "9" * 30, "²")]
    for made in folders:
        made.mkdir(parents=True)
        (made / f"{FIRST}-{'B' * 22}.log").write_bytes(batches(0, 10))
    with pytest.raises(FileNotFoundError):
        kc.scan(tmp_path)
    assert [rows(made) for made in folders] == [[*range(10)]] * 3


@pytest.mark.parametrize("layout", ["{topic}-{id}/{partition}", "kafka-tiered-storage/{topic}-{partition}-{id}"])
@pytest.mark.parametrize("topic_id", ["A" * 22, "A-B_C-D_E-0123456-1234", "--_-_-_-_-_-_-_-_-_-_0"])
def test_topics_of_tiered_storage(
    tmp_path: Path, layout: str, topic_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Aiven's plugin and Kafka's LocalTieredStorage; ids may have dashes and digits at their ends."""
    made = tmp_path / layout.format(topic="a-1-b", partition=12, id=topic_id)
    made.mkdir(parents=True)
    (made / f"{FIRST}-{topic_id[::-1]}.log").write_bytes(batches(0, 10))
    for source in (tmp_path, made, made / f"{FIRST}-{topic_id[::-1]}.log"):
        (found,) = resolve(source)
        assert (found.topic, found.partition) == ("a-1-b", 12)
        assert [file.owner for file in find([source])] == [("a-1-b", 12)]
    assert run(["verify", "--json", str(tmp_path)]) == 0
    assert '"topic": "a-1-b"' in capsys.readouterr().out
    assert run(["dump", "--topics", "a-1-b", str(tmp_path)]) == 0


@pytest.mark.parametrize(
    "name", ["out.%s-delete", "t-0.%s-delete", "kafkacomp-2.%s-delete", "x.%s-stray", ".%s-future"]
)
@pytest.mark.parametrize("below", ["", "a", "a/b"])
def test_marked_folders_are_not_part_of_a_log(tmp_path: Path, name: str, below: str) -> None:
    """At no depth, and whatever is in them."""
    write(tmp_path / "t-0", 0, 20)
    marked = tmp_path / below / (name % ("0123456789abcdef" * 2))
    marked.mkdir(parents=True)
    write(marked / "t-0", 0, 20)
    write(marked, 0, 20)
    assert rows(tmp_path) == [*range(20)]
    assert len(verified(tmp_path)) == 1
    assert len([file for file in find([tmp_path]) if file.kind == "log"]) == 1
    shutil.rmtree(tmp_path / "t-0")
    with pytest.raises(FileNotFoundError):
        kc.scan(tmp_path)


@pytest.mark.parametrize("job", [log.recompress, log.repair, partial(log.convert, to_magic=2)])
@pytest.mark.parametrize("one", [True, False])
def test_the_metadata_log_brings_its_snapshots(tmp_path: Path, job: Callable[[Path, Path], object], one: bool) -> None:
    source = tmp_path / "source" / "__cluster_metadata-0"
    shutil.copytree(MODERN / "cluster-metadata" / source.name, source)
    target = tmp_path / "made"
    job(source if one else source.parent, target)
    made = target if one else target / source.name
    for name in ("00000000000000000266-0000000001.checkpoint", "quorum-state"):
        assert (made / name).read_bytes() == (source / name).read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made", "source"]
    assert run(["verify", str(target)]) == 0
    with pytest.raises(FileExistsError):
        job(source, target)
    with pytest.raises(ValueError, match=r"quorum-state|checkpoint"):
        log.convert(source, tmp_path / "down", 1)


def test_an_empty_checkpoint_is_no_corruption(tmp_path: Path) -> None:
    source = tmp_path / "restarts-0"
    shutil.copytree(RESTARTS, source)
    (source / "leader-epoch-checkpoint").write_bytes(b"")
    (tmp_path / "cleaner-offset-checkpoint").write_bytes(b"")
    log.recompress(source, tmp_path / "out" / "restarts-0")
    assert run(["verify", str(tmp_path)]) == 0
    assert run(["dump", str(tmp_path)]) == 0


def test_a_partition_in_two_folders(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As of two log directories, which no broker starts with: each is read, with a warning."""
    for name in ("disk-1", "disk-2"):
        shutil.copytree(RESTARTS, tmp_path / name / "c-0")
    sources = [str(tmp_path / name) for name in ("disk-1", "disk-2")]
    rows = sum(batch.num_rows for batch in kc.scan(sources, columns=["offset"]))
    assert rows == 2 * sum(batch.num_rows for batch in kc.scan(RESTARTS, columns=["offset"]))
    told = [each.getMessage() for each in caplog.records if "in 2 folders" in each.getMessage()]
    assert told
    assert all(f"{source}/c-0" in each for source in sources for each in told)
