"""``recompress``, ``convert`` and ``repair``, as functions and as commands: sources, targets, arguments, reports."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fsspec
import pyarrow as pa
import pytest

import kafkacomp as kc
from grouped import grouped
from kafkacomp import log, message_set, record
from kafkacomp._cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    #: Runs the command with these arguments: exit status, standard output, standard error.
    Run: TypeAlias = Callable[..., tuple[int, str, str]]

MODERN = Path(__file__).resolve().parent / "vectors" / "modern"
FIRST = f"{0:020}.log"
COLUMNS = [
    "offset",
    "timestamp",
    "key",
    "value",
    "headers",
    "leaderEpoch",
    "producerId",
    "isTransactional",
    "isControl",
]


def golden(name: str) -> Path:
    """A partition that Kafka 4.3.1 wrote."""
    return MODERN / name / f"{name}-0"


SOUND, TORN, FLIPPED = (golden(f"{name}") for name in ("restarts", "damaged-restarts-mid-batch",
                                                       "damaged-restarts-flipped-body"))  # fmt: skip


def read(source: Path | str, **options: Any) -> pa.Table:
    return pa.table(kc.scan(str(source), columns=COLUMNS, **grouped(include_control=True, **options)))


@pytest.fixture(name="run")
def _run(run_with: Callable[[Callable[[list[str]], int]], Run]) -> Run:
    return run_with(main)


# ------------------------------------------------------------------------------------------------- sources


def test_a_segment_is_a_source(tmp_path: Path) -> None:
    report = log.recompress(SOUND / FIRST, tmp_path / "new", compression_type="lz4")
    assert (report.partitions, report.segments, report.batches) == (1, 1, 14)
    assert report.bytes_in == (SOUND / FIRST).stat().st_size
    assert report.bytes_out == (tmp_path / "new" / FIRST).stat().st_size
    assert read(tmp_path / "new").equals(read(SOUND))


@pytest.mark.parametrize("count", [1, 2])
def test_a_folder_of_partitions_is_a_source(tmp_path: Path, count: int) -> None:
    """Also of one: the target has a folder for each."""
    names = ["restarts", "txn-open"][:count]
    for name in names:
        shutil.copytree(golden(name), tmp_path / "old" / f"{name}-0")
    report = log.repair(tmp_path / "old", tmp_path / "new")
    assert (report.partitions, report.is_complete, report.repairs) == (count, True, ())
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [f"{name}-0" for name in names]
    for name in names:
        assert read(tmp_path / "new" / f"{name}-0").equals(read(golden(name)))


def test_a_url_is_a_source(tmp_path: Path) -> None:
    """The side files come along from there, too."""
    memory = fsspec.filesystem("memory")
    memory.put(str(SOUND), "/rewrite/restarts-0", recursive=True)
    try:
        for number, url in enumerate((f"file://{SOUND}", "memory://rewrite/restarts-0", "memory://rewrite")):
            target = tmp_path / str(number)
            log.recompress(url, target, compression_type="gzip")
            folder = target / "restarts-0" if url.endswith("rewrite") else target
            assert read(folder).equals(read(SOUND))
            assert (folder / "partition.metadata").read_bytes() == (SOUND / "partition.metadata").read_bytes()
            assert (folder / "leader-epoch-checkpoint").read_bytes() == (SOUND / "leader-epoch-checkpoint").read_bytes()
    finally:
        memory.rm("/rewrite", recursive=True)


def test_side_files_that_are_corrupt(tmp_path: Path) -> None:
    """They are an error; for repair a warning, and left out."""
    old = shutil.copytree(SOUND, tmp_path / "old-0")
    (old / "leader-epoch-checkpoint").write_bytes(b"0\n1\nnonsense\n")
    for rewrite in (log.recompress, lambda source, target: log.convert(source, target, 2)):
        with pytest.raises(kc.CorruptRecordError, match="leader-epoch-checkpoint"):
            rewrite(old, tmp_path / "new")
        assert [path.name for path in tmp_path.iterdir()] == ["old-0"]
    report = log.repair(old, tmp_path / "new")
    assert ["leader-epoch-checkpoint" in warning for warning in report.warnings] == [True]
    assert read(tmp_path / "new").equals(read(SOUND))


# ------------------------------------------------------------------------------------------------- targets

REWRITES: dict[str, Callable[[Any, Any], object]] = {
    "recompress": log.recompress,
    "convert": lambda source, target: log.convert(source, target, 2),
    "repair": log.repair,
}


@pytest.mark.parametrize("what", REWRITES)
def test_targets_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    monkeypatch.chdir(tmp_path)
    old = shutil.copytree(SOUND, tmp_path / "logs" / "old-0")
    before = sorted(path.name for path in old.iterdir())
    rewrite = REWRITES[what]
    for url in ("s3://bucket/new", "file:///new", "memory://new"):
        with pytest.raises(ValueError, match="is a URL"):
            rewrite(old, url)
    for source, target in ((old, old / "new"), (old / FIRST, old / "new"), (old.parent, old.parent / "new")):
        with pytest.raises(ValueError, match="outside of it"):
            rewrite(source, target)
    for target in (old, old.parent, tmp_path):
        with pytest.raises((FileExistsError, ValueError)):
            rewrite(old, target)
    (tmp_path / "link").symlink_to(old)
    with pytest.raises(ValueError, match="outside of it"):
        rewrite(old, tmp_path / "link" / "new")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match="Not a directory"):
        rewrite(old, tmp_path / "file" / "new")
    assert sorted(path.name for path in old.iterdir()) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link", "logs"]
    # Folders above the target are made.
    rewrite(old, Path("a") / "b" / "new")
    assert read(tmp_path / "a" / "b" / "new").equals(read(SOUND))


@pytest.mark.parametrize("what", REWRITES)
def test_a_segment_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, what: str) -> None:
    """It may be rewritten next to itself; in a partition's folder, which a broker reads, it may not."""
    options = {"convert": ["--to-magic", "2"]}.get(what, [])
    loose = tmp_path / "loose"
    loose.mkdir()
    shutil.copy(SOUND / FIRST, loose)
    monkeypatch.chdir(loose)
    assert run(what, FIRST, "out", *options)[0] == 0
    assert read(loose / "out").equals(read(loose / FIRST))
    partition = shutil.copytree(SOUND, tmp_path / "restarts-0")
    before = sorted(path.name for path in partition.iterdir())
    monkeypatch.chdir(partition)
    for source in (FIRST, partition / FIRST, "."):
        status, _, err = run(what, source, "out", *options)
        assert status == 2
        assert f"out: the target is in the partition's folder {partition}, which is read: choose one outside" in err
    assert sorted(path.name for path in partition.iterdir()) == before


def test_urls_are_no_targets_of_message_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="is a URL"):
        message_set.write_log([message_set.write_messages([b"a"])], "s3://bucket", topic="t", partition=0)
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"compression_type": "gzip", "compression_level": 10}, "levels"),
        ({"compression_type": "snappy", "compression_level": 1}, "levels"),
        ({"compression_type": "brotli"}, "brotli"),
        ({"batch_bytes": 0}, "batch_bytes"),
        ({"segment_bytes": 0}, "segment_bytes"),
        ({"segment_bytes": 1 << 31}, "segment_bytes"),
        ({"threads": 0}, "threads"),
        ({"threads": 10_000}, "threads"),
        ({"max_output_size": 0}, "max_output_size"),
        ({"max_output_size": 1 << 31}, "max_output_size"),
    ],
    ids=str,
)
def test_arguments_out_of_range(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        log.recompress(SOUND, tmp_path / "new", **options)
    assert list(tmp_path.iterdir()) == []


def test_what_a_format_does_not_have(tmp_path: Path) -> None:
    """Zstd before magic 2, going down and in place; a format that there is none of."""
    with pytest.raises(kc.UnsupportedCompressionTypeError):
        log.convert(SOUND, tmp_path / "new", 1)
    log.recompress(SOUND, tmp_path / "lz4", compression_type="lz4")
    log.convert(tmp_path / "lz4", tmp_path / "old", 1)
    expected = "magic 1 has no zstd: choose another compression type, such as lz4, or convert to magic 2 first"
    with pytest.raises(kc.UnsupportedCompressionTypeError, match=expected):
        log.recompress(tmp_path / "old", tmp_path / "new")
    for magic in (-1, 3, None):
        with pytest.raises(ValueError, match="to_magic"):
            log.convert(SOUND, tmp_path / "new", magic)  # type: ignore[arg-type]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lz4", "old"]


def test_lines_about_missing_offsets_are_those_of_other_commands(tmp_path: Path, run: Run) -> None:
    """A line for a partition; what compaction explains is not missing."""
    for what in ("recompress", "repair"):
        status, out, _ = run(what, golden("compact"), tmp_path / f"compact {what}")
        assert (status, re.findall("^missing: .*", out, re.MULTILINE)) == (0, [])
    values = pa.table({"offset": [*range(10), *range(20, 30), *range(40, 50)], "value": ["v"] * 30})
    kc.write(values, tmp_path / "log", topic="t", batch_bytes=1)
    status, out, _ = run("recompress", tmp_path / "log", tmp_path / "gaps")
    assert (status, re.findall("^missing: .*", out, re.MULTILINE)) == (
        1,
        ["missing: t-0: offsets 10 to 19 (gap), 30 to 39 (gap)"],
    )


def test_progress_rises_to_the_total(tmp_path: Path) -> None:
    total = sum(path.stat().st_size for path in MODERN.glob("txn-open/*/*.log"))
    rewrites: list[Callable[..., object]] = [log.recompress, log.repair]
    for number, rewrite in enumerate(rewrites):
        steps: list[tuple[int, int]] = []

        def step(done: int, of: int, steps: list[tuple[int, int]] = steps) -> None:
            steps.append((done, of))

        rewrite(golden("txn-open"), tmp_path / str(number), progress=step)
        assert {of for _, of in steps} == {total}
        assert steps == sorted(steps)
        assert steps[-1][0] == total

    def interrupted(_done: int, _of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        log.recompress(SOUND, tmp_path / "new", progress=interrupted)
    assert not (tmp_path / "new").exists()


# ------------------------------------------------------------------------------------------------- repair


@pytest.mark.parametrize("quarantine", [True, False])
def test_what_is_left_out_is_kept_or_dropped(tmp_path: Path, quarantine: bool) -> None:
    report = log.repair(FLIPPED, tmp_path / "new", quarantine=quarantine)
    (repair,) = report.repairs
    assert (repair.action, repair.quarantined_at) == (("quarantined", 0) if quarantine else ("dropped", None))
    assert (report.corrupt_ranges, report.corrupt_bytes, report.is_complete) == (1, repair.length, False)
    data = (FLIPPED / FIRST).read_bytes()
    kept = tmp_path / "new" / "kafkacomp-quarantine.bin"
    assert kept.exists() == quarantine
    if quarantine:
        assert kept.read_bytes() == data[repair.position : repair.position + repair.length]
    (told,) = json.loads((tmp_path / "new" / "kafkacomp-repair.json").read_text())["repairs"]
    assert (told["position"], told["length"], told["reason"]) == (repair.position, repair.length, repair.reason)
    assert (told["firstOffset"], told["lastOffset"]) == (repair.first_offset, repair.last_offset)
    rest = data[: repair.position] + data[repair.position + repair.length :]
    assert (tmp_path / "new" / FIRST).read_bytes() == rest


def test_a_truncated_batch_is_left_out(tmp_path: Path) -> None:
    report = log.repair(TORN, tmp_path / "new")
    (repair,) = report.repairs
    assert repair.action == "truncated"
    data = (TORN / FIRST).read_bytes()
    assert repair.position + repair.length == len(data)
    assert (tmp_path / "new" / FIRST).read_bytes() == data[: repair.position]
    # A preallocated file is not corrupt.
    report = log.repair(golden("damaged-restarts-zero-tail"), tmp_path / "zeros")
    assert (report.repairs, report.is_complete) == ((), True)
    assert report.zero_tail_bytes > 0
    assert read(tmp_path / "zeros").equals(read(golden("damaged-restarts-zero-tail")))


def test_a_lost_end_of_a_transaction_is_a_warning(tmp_path: Path) -> None:
    """Its records wait for an end that may be what was left out."""
    old = shutil.copytree(golden("compact-txn"), tmp_path / "compact-txn-0")
    segment = max(path for path in old.glob("*.log") if path.stat().st_size)
    data = bytearray(segment.read_bytes())
    marker = [batch for batch in record.read_batches(bytes(data)) if batch.is_control_batch][-1]
    data[marker.position + marker.size_in_bytes - 1] ^= 1
    segment.write_bytes(data)
    report = log.repair(old, tmp_path / "new")
    assert report.corrupt_ranges == 1
    assert len(report.warnings) <= 1
    assert all("transaction is open" in warning for warning in report.warnings)
    opened = log.repair(golden("txn-open"), tmp_path / "open")
    assert opened.warnings == ()


# ------------------------------------------------------------------------------------------------- commands


def test_command_recompress(run: Run, tmp_path: Path) -> None:
    status, out, err = run(
        "recompress", SOUND, tmp_path / "a", "-c", "lz4", "--compression-level", "12", "--segment-bytes", "20000"
    )
    assert (status, err) == (0, "")
    assert out.startswith(f"{tmp_path / 'a'}: 1 partition, ")
    assert read(tmp_path / "a").equals(read(SOUND))
    status, out, _ = run("recompress", SOUND, tmp_path / "b", "--merge", "--batch-bytes", "100000", "--json")
    assert status == 0
    assert json.loads(out)["batches"] < 14
    assert read(tmp_path / "b").equals(read(SOUND))


def test_sizes_may_have_units(run: Run, tmp_path: Path) -> None:
    reports = []
    for number, (batch, segment, limit) in enumerate([("2k", "64k", "1g"), ("2048", "65536", str(1 << 30))]):
        sizes = ("--batch-bytes", batch, "--segment-bytes", segment, "--max-output-size", limit)
        status, out, err = run("recompress", SOUND, tmp_path / str(number), "--merge", *sizes, "--json")
        assert (status, err) == (0, "")
        reports.append(json.loads(out))
    assert reports[0] == reports[1]


def test_command_convert(run: Run, tmp_path: Path) -> None:
    run("recompress", SOUND, tmp_path / "a", "-c", "gzip")
    assert run("convert", tmp_path / "a", tmp_path / "b", "--to-magic", "1")[0] == 0
    assert run("convert", tmp_path / "b", tmp_path / "c", "--to-magic", "2", "--no-upgrade")[0] == 0
    assert run("convert", tmp_path / "b", tmp_path / "d", "--to-magic", "2", "--json")[0] == 0
    magics = [{b.magic for b in record.read_batches((tmp_path / name / FIRST).read_bytes())} for name in "abcd"]
    assert magics == [{2}, {1}, {1}, {2}]
    columns = ["offset", "timestamp", "key", "value"]
    assert read(tmp_path / "d").select(columns).equals(read(SOUND).select(columns))


def test_command_repair(run: Run, tmp_path: Path) -> None:
    status, out, err = run("repair", FLIPPED, tmp_path / "a")
    assert (status, err) == (1, "")
    assert out.startswith(f"quarantined: {FLIPPED / FIRST}: ")
    assert "1 corrupt range of " in out
    status, out, _ = run("repair", FLIPPED, tmp_path / "b", "--corrupt", "drop", "--json")
    assert status == 1
    report = json.loads(out)
    assert report["corruptRanges"] == 1
    assert "firstOffset" in report["repairs"][0]
    assert "firstOffset" in report["missing"][0]
    assert not re.search(r'"\w+_\w+":', out)
    assert not (tmp_path / "b" / "kafkacomp-quarantine.bin").exists()
    assert run("repair", SOUND, tmp_path / "c")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("recompress", SOUND), 2, "Missing argument 'TARGET'"),
        (("recompress", SOUND, "NEW", "-c", "brotli"), 2, "brotli"),
        (("recompress", SOUND, "NEW", "-c", "gzip", "--compression-level", "10"), 2, "gzip has compression levels"),
        (("recompress", SOUND, "NEW", "-c", "none", "--compression-level", "1"), 2, "none has no compression levels"),
        (("recompress", SOUND, "NEW", "--threads", "0"), 2, "--threads"),
        (("recompress", SOUND, "NEW", "--batch-bytes", "16q"), 2, "'16q' is not a size"),
        (("recompress", SOUND, "NEW", "--segment-bytes", "2g"), 2, "2147483648 is not in the range"),
        (("recompress", SOUND / "nothing", "NEW"), 2, "No such file"),
        (("recompress", SOUND, "s3://bucket/new"), 2, "is a URL"),
        (("recompress", SOUND, SOUND / "new"), 2, "outside of it"),
        (("recompress", FLIPPED, "NEW"), 1, "is corrupt"),
        (("recompress", SOUND, "NEW", "--max-output-size", "10"), 1, "more than 10 bytes"),
        (("convert", SOUND, "NEW"), 2, "--to-magic"),
        (("convert", SOUND, "NEW", "--to-magic", "3"), 2, "--to-magic"),
        (("convert", SOUND, "NEW", "--to-magic", "1"), 2, "zstd, which formats before magic 2 do not have"),
        (("convert", SOUND, "NEW", "--to-magic", "1", "--first-offset", "5"), 2, "0.7"),
        (("repair", SOUND, "NEW", "--corrupt", "burn"), 2, "burn"),
        (("repair", SOUND, "THERE"), 2, "the target exists: choose another one, or remove it"),
    ],
    ids=lambda given: given[0] + " " + " ".join(str(part) for part in given[2:]) if isinstance(given, tuple) else "",
)
def test_command_refuses(run: Run, tmp_path: Path, arguments: tuple[Any, ...], status: int, message: str) -> None:
    """Exit status 1 for damage, 2 for wrong use; nothing is made, and what was there stays."""
    (tmp_path / "THERE").mkdir()
    found, out, err = run(*(tmp_path / part if part in {"NEW", "THERE"} else part for part in arguments))
    assert (found, out) == (status, "")
    assert message in err
    assert [path.name for path in tmp_path.rglob("*")] == ["THERE"]
