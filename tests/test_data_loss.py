"""Who says that data are missing: readers report it, and copies raise ``DataLossError`` once they are complete."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kafkacomp as kc
from golden.expect import SMALL
from grouped import grouped
from kafkacomp._cli import main
from kafkacomp._losses import unacknowledged
from kafkacomp.log import MissingRange

if TYPE_CHECKING:
    from collections.abc import Callable

#: The offsets of the records in the log, and the first and last missing ones.
OFFSETS, GAP = [*range(30), *range(40, 60)], (30, 39)


@pytest.fixture(name="log", scope="module")
def _log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A partition that lacks offsets in a segment."""
    rows = pa.table({"offset": OFFSETS, "value": [f"value {offset}" for offset in OFFSETS]})
    target = tmp_path_factory.mktemp("logs")
    return Path(kc.write(rows, target, topic="t", partition=0, compression_type="none", batch_bytes=1).path)


@pytest.fixture(name="corrupt")
def _corrupt(tmp_path: Path, log: Path) -> Path:
    """The same, with a byte of the last batch but one flipped."""
    folder = Path(shutil.copytree(log, tmp_path / "corrupt" / "t-0"))
    (segment,) = folder.glob("*.log")
    content = bytearray(segment.read_bytes())
    content[-100] ^= 1
    segment.write_bytes(content)
    return folder


def rows_of(source: Path, **options: Any) -> Any:
    return kc.scan(source, columns=["offset", "value"], **grouped(**options))


def written(source: Path, target: Path, **options: Any) -> kc.WriteReport:
    return kc.write(rows_of(source), target, topic="new", partition=0, **options)


def written_by_columns(source: Path, target: Path, **options: Any) -> kc.WriteReport:
    return kc.write(kc.scan(source, columns=["topic", "partition", "offset", "value"]), target, **options)


def written_filtered(source: Path, target: Path, **options: Any) -> kc.WriteReport:
    rows = kc.arrow.filter_rows(rows_of(source), value_contains="value")
    return kc.write(rows, target, topic="new", partition=0, **options)


COPIES: dict[str, Callable[..., Any]] = {
    "recompress": kc.log.recompress,
    "convert": lambda source, target, **options: kc.log.convert(source, target, 2, **options),
    "write": written,
    "write by columns": written_by_columns,
    "write filtered rows": written_filtered,
}


def ranges(report: Any) -> list[tuple[str | None, int | None, int, int, str]]:
    return [(each.topic, each.partition, each.first_offset, each.last_offset, each.reason) for each in report.missing]


@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_is_complete_before_it_is_refused(copy: str, log: Path, tmp_path: Path) -> None:
    function = COPIES[copy]
    with pytest.raises(kc.DataLossError, match=r"t-0: offsets 30 to 39 \(gap\).*allow_missing=True") as caught:
        function(log, tmp_path / "refused")
    report = caught.value.report
    assert ranges(report) == [("t", 0, *GAP, "gap")]
    assert pa.table(rows_of(tmp_path / "refused"))["offset"].to_pylist() == OFFSETS
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - our own
    assert (str(again), again.report) == (str(caught.value), report)
    # The report is the one that is returned otherwise.
    allowed = function(log, tmp_path / "allowed", allow_missing=True)
    assert str(allowed).replace("allowed", "refused") == str(report)
    assert pa.table(rows_of(tmp_path / "allowed"))["offset"].to_pylist() == OFFSETS


@pytest.mark.parametrize("copy", COPIES)
def test_an_intact_log_is_copied(copy: str, tmp_path: Path) -> None:
    """Compaction's gaps are not missing data."""
    source = SMALL / "modern" / "compact" / "compact-0"
    report = COPIES[copy](source, tmp_path / "new")
    assert report.missing
    assert {each.reason for each in report.missing} == {"compacted"}


def test_readers_only_report(log: Path, corrupt: Path) -> None:
    for source, options in ((log, {}), (corrupt, {"on_error": "skip"})):
        reader = rows_of(source, **options)
        pa.table(reader)
        assert unacknowledged(reader.report)
        assert reader.error is None
    assert not kc.log.verify_partition(corrupt).is_intact


def test_what_was_skipped_is_missing_in_a_copy(corrupt: Path, tmp_path: Path) -> None:
    with pytest.raises(kc.DataLossError, match=r"skipped: .*: \d+ bytes at byte \d+ \(corrupt\)") as caught:
        kc.write(rows_of(corrupt, on_error="skip"), tmp_path, topic="new", partition=0)
    assert [each.reason for each in caught.value.report.missing] == ["gap", "corrupt"]
    assert len(caught.value.report.skipped) == 1


def test_rows_of_anything_else_have_no_source(log: Path, tmp_path: Path) -> None:
    report = kc.write(pa.table(rows_of(log)), tmp_path, topic="new", partition=0)
    assert (report.missing, report.skipped, report.more_missing) == ((), (), 0)


def test_a_bound_is_not_a_loss(log: Path, tmp_path: Path) -> None:
    report = kc.write(rows_of(log, start_offset=41), tmp_path, topic="new", partition=0)
    assert (report.records, report.missing) == (19, ())


def test_repair_leaves_out_and_reports(corrupt: Path, tmp_path: Path) -> None:
    report = kc.log.repair(corrupt, tmp_path / "new")
    assert not report.is_complete
    assert [each.reason for each in report.missing] == ["gap", "corrupt"]


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_export_names_what_is_missing(
    on_error: str, log: Path, corrupt: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, named = {
        "raise": (log, ["offsets 30 to 39 (gap)"]),
        "skip": (corrupt, ["offsets 30 to 39 (gap), 58 (corrupt)", "(corrupt)"]),
    }[on_error]
    command = ["export", str(source), "-o", str(tmp_path / "out.parquet"), "--on-error", on_error, "--json", "--force"]
    for options, status in (([], 1), (["--allow-missing"], 0)):
        assert main([*command, *options]) == status
        out, err = capsys.readouterr()
        assert all(f"missing: t-0: {each}" in err or "bytes at byte" in err for each in named), err
        report = json.loads(out)
        assert [each["firstOffset"] for each in report["missing"]] == [30, 58][: len(named)]
        assert len(report["skipped"]) == (on_error == "skip")
        assert pq.read_table(tmp_path / "out.parquet")["offset"].to_pylist() == [
            offset for offset in OFFSETS if on_error == "raise" or offset != 58
        ]


def test_verify_counts_all_that_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In segments and between them; in text, in JSON and in Python."""
    rows = pa.table({"offset": OFFSETS, "value": [f"value {offset}" for offset in OFFSETS]})
    folder = Path(
        kc.write(rows, tmp_path, topic="t", partition=0, compression_type="none", batch_bytes=1, segment_bytes=700).path
    )
    segments = sorted(folder.glob("*.log"))
    assert len(segments) > 4
    lost = range(int(segments[1].stem), int(segments[2].stem))
    for path in folder.glob(f"{segments[1].stem}.*"):
        path.unlink()
    assert kc.log.verify_partition(folder).missing_offsets_count == len(lost) + 10
    assert main(["verify", str(folder)]) == 1
    out = capsys.readouterr().out
    assert f"offsets: {50 - len(lost)} covered, {len(lost) + 10} missing\n" in out
    main(["verify", str(folder), "--json"])
    report = json.loads(capsys.readouterr().out)
    assert (report["offsetsMissing"], report["offsetsCompacted"]) == (len(lost) + 10, 0)
    assert report["offsetsCovered"] == 50 - len(lost)


def test_offsets_of_two_segments_are_counted_once(
    tmp_path: Path, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(log, tmp_path / "t-0"))
    (segment,) = folder.glob("*.log")
    batches = [each for each in kc.record.read_batches(segment.read_bytes()) if each.base_offset >= 20]
    (folder / f"{20:020}.log").write_bytes(segment.read_bytes()[batches[0].position :])
    assert kc.LogDir(tmp_path).verify().covered_offsets_count == len(OFFSETS)
    main(["verify", str(tmp_path)])
    assert f"offsets: {len(OFFSETS)} covered, 10 missing\n" in capsys.readouterr().out


def test_commands_print_a_loss_once(corrupt: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = Path(shutil.copytree(corrupt, tmp_path / "other" / "t-0"))
    main(["export", str(corrupt), "-o", str(tmp_path / "out.csv"), "--on-error", "skip"])
    err = capsys.readouterr().err
    assert (err.count("30 to 39"), err.count("bytes at byte")) == (1, 1), err
    main(["diff", str(corrupt), str(other)])
    assert capsys.readouterr().err.count("30 to 39") == 2  # each log lacks them


def test_what_compaction_removed_is_counted_separately(capsys: pytest.CaptureFixture[str]) -> None:
    source = SMALL / "modern" / "compact" / "compact-0"
    assert main(["verify", str(source), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    removed = sum(each["lastOffset"] - each["firstOffset"] + 1 for each in report["missing"])
    assert (report["offsetsMissing"], report["offsetsCompacted"]) == (0, removed)
    assert removed
    assert main(["verify", str(source)]) == 0
    assert f" covered, 0 missing, {removed:,} removed by compaction\n" in capsys.readouterr().out


def test_further_ranges_are_losses_unless_compaction_explains_listed_ones() -> None:
    """A report lists what compaction does not explain first."""

    def report(*reasons: Any, more: int) -> Any:
        missing = tuple(MissingRange("t", 0, at, at, "x", reason) for at, reason in enumerate(reasons))
        return kc.ScanReport(0, 0, 0, 0, (), (), missing, more)

    assert unacknowledged(report("gap", more=3)).more_missing == 3
    assert not unacknowledged(report("compacted", more=3))
    assert unacknowledged(report("compacted", "limit", more=3)).more_missing == 0


@pytest.mark.parametrize(
    ("options", "is_missing"),
    [
        ([], True),
        (["--start-offset", "35"], True),
        (["--start-offset", "40"], False),
        (["--end-offset", "30"], False),
        (["--end-offset", "31"], True),
        (["--first", "30"], False),
        (["--first", "31"], True),
        (["--last", "20"], False),
        (["--last", "21"], True),
        (["--limit", "5"], False),
    ],
)
def test_dump_within_bounds(
    options: list[str], is_missing: bool, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["dump", str(log), *options]) == int(is_missing)
    assert ("missing: t-0: offsets" in capsys.readouterr().err) == is_missing


def test_diff_of_logs_that_lack_the_same(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options, status in (([], 1), (["--allow-missing"], 0)):
        assert main(["diff", str(log), str(log), "--json", *options]) == status
        report = json.loads(capsys.readouterr().out)
        assert report["same"]
        assert [each["firstOffset"] for each in report["missing"]] == [30, 30]


def test_a_missing_file_of_kafka_0_7(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its offsets are positions, so that names and lengths show it."""
    content = (SMALL / "v07" / "broker" / "gz-0" / f"{0:020}.kafka").read_bytes()
    folder = tmp_path / "gz-0"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number * len(content):020}.kafka").write_bytes(content)
    for command in (["info"], ["info", "--deep"], ["dump"], ["verify"]):
        assert main([*command, str(folder)]) == 0, capsys.readouterr()
    (folder / f"{len(content):020}.kafka").unlink()
    for command in (["info"], ["info", "--deep"], ["dump"], ["verify"]):
        assert main([*command, str(folder)]) == 1
        out, err = capsys.readouterr()
        assert f"offsets {len(content)} to {2 * len(content) - 1} " in out + err, command


def test_info_says_by_what_it_judges(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option, said in (([], "only headers: --deep verifies every batch"), (["--deep"], "verified: every batch")):
        assert main(["info", str(log), *option, "--allow-missing"]) == 0
        assert said in capsys.readouterr().out
