"""The loss file of a repaired or rewritten log: what it contains, and which missing offsets it makes known."""

from __future__ import annotations

import json
import random
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import log, record
from kafkacomp._cli import main
from kafkacomp._storage.losses import known_losses

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., tuple[int, str, str]]

TIME = 1_700_000_000_000
FILE = "kafkacomp-repair.json"
TOPIC_ID, OTHER_ID = "N3kFbQ2nT3yMZ0bC1qfS0g", "AAAAAAAAAAAAAAAAAAAAAQ"


@pytest.fixture(name="run")
def _run(run_with: Callable[..., Run]) -> Run:
    return run_with(main)


def batch(first: int, magic: int = 2, codec: str = "none", size: int = 10) -> bytes:
    builder = kc.record.RecordBatchBuilder(magic, codec, base_offset=first)
    for offset in range(first, first + size):
        builder.append(b"value %d" % offset, timestamp=-1 if magic == 0 else TIME + offset, offset=offset)
    return builder.build()


def rows_of(reader: kc.arrow.ScanReader) -> tuple[list[int], kc.ScanReport]:
    """The offsets of a scan, and its report."""
    return reader.read_all()["offset"].to_pylist(), reader.report


def flipped(piece: bytes) -> bytes:
    return piece[:-1] + bytes([piece[-1] ^ 1])


def write(folder: Path, segments: dict[int, list[bytes]], topic_id: str | None = TOPIC_ID) -> Path:
    folder.mkdir(parents=True)
    for base, pieces in segments.items():
        (folder / f"{base:020}.log").write_bytes(b"".join(pieces))
    if topic_id is not None:
        (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")
    return folder


def damaged(folder: Path, topic_id: str | None = TOPIC_ID) -> Path:
    """Offsets 10 to 19 are corrupt, and the segment with 40 to 59 is missing."""
    first = [batch(0), flipped(batch(10)), batch(20), batch(30)]
    return write(folder, {0: first, 60: [batch(60), batch(70), batch(80)], 90: [batch(90)]}, topic_id)


LOST = [(10, 19, "corrupt"), (40, 59, "gap")]


def known(report: Any) -> list[tuple[int, int, str]]:
    return [each[2:5] for each in report.known_losses]


def missing(report: Any) -> list[tuple[int, int, str]]:
    return [each[2:4] + each[5:] for each in report.missing]


def lose(folder: Path, *firsts: int) -> None:
    """Remove the batches that begin at these offsets."""
    for path in folder.glob("*.log"):
        data = path.read_bytes()
        kept = [each for each in record.read_batches(data) if each.base_offset not in firsts]
        path.write_bytes(b"".join(data[each.position : each.position + each.size_in_bytes] for each in kept))
        for suffix in (".index", ".timeindex"):
            path.with_suffix(suffix).unlink(missing_ok=True)


def test_the_file_names_what_is_lost_and_the_batches_around_it(tmp_path: Path) -> None:
    report = log.repair(damaged(tmp_path / "old" / "t-0"), tmp_path / "new" / "t-0")
    file = json.loads((tmp_path / "new" / "t-0" / FILE).read_text())
    (first, second) = file.pop("losses")
    (repair,) = file.pop("repairs")
    assert repair["action"] == "quarantined"
    assert file == {
        "version": 1,
        "topic": "t",
        "topicId": TOPIC_ID,
        "partition": 0,
        "compactedTo": None,
        "moreLosses": 0,
        "lost": {"offsets": 30, "firstTimestamp": TIME + 9, "lastTimestamp": TIME + 60},
        "positions": [],
        "moreRepairs": 0,
    }
    batches = {
        each.base_offset: {
            "lastOffset": each.last_offset,
            "crc": each.crc,
            "firstTimestamp": TIME + each.base_offset,
            "lastTimestamp": TIME + each.last_offset,
        }
        for path in (tmp_path / "new" / "t-0").glob("*.log")
        for each in record.read_batches(path.read_bytes())
    }
    fields = ("firstOffset", "lastOffset", "reason")
    assert first == dict(zip(fields, LOST[0], strict=True)) | {"before": batches[0], "after": batches[20]}
    assert second == dict(zip(fields, LOST[1], strict=True)) | {"before": batches[30], "after": batches[60]}
    assert report.lost == (log.LostOffsets("t", 30, TIME + 9, TIME + 60),)
    assert report.known_losses == ()
    assert not report.is_complete


def test_without_a_loss_there_is_no_file(tmp_path: Path) -> None:
    source = write(tmp_path / "old" / "t-0", {0: [batch(0), batch(10)]})
    writers: tuple[Callable[[Path, Path], Any], ...] = (
        log.repair,
        log.recompress,
        lambda old, new: log.convert(old, new, 1),
    )
    for number, function in enumerate(writers):
        report = function(source, tmp_path / str(number))
        assert report.lost == ()
        assert not (tmp_path / str(number) / FILE).exists()


def test_a_known_loss_is_no_error(tmp_path: Path, run: Run) -> None:
    target = tmp_path / "new" / "t-0"
    log.repair(damaged(tmp_path / "old" / "t-0"), target)
    report = log.verify_partition(target)
    assert (report.is_intact, report.findings) == (True, ())
    assert known(report) == LOST
    assert missing(report) == [(10, 19, "gap"), (40, 59, "gap")]
    assert kc.LogDir(tmp_path / "new")["t", 0].verify() == report
    assert known(kc.LogDir(tmp_path / "new").verify()) == LOST
    for argument in (target, tmp_path / "new"):
        status, out, _ = run("verify", argument)
        assert status == 0
        assert "known loss: t-0: offsets 10 to 19 (corrupt), 40 to 59 (gap)" in out
        status, out, _ = run("verify", "--json", argument)
        shown = json.loads(out)
        assert (status, shown["ok"], shown["errors"]) == (0, True, [])
        assert [each["reason"] for each in shown["knownLosses"]] == ["corrupt", "gap"]
        assert [each["firstOffset"] for each in shown["missing"]] == [10, 40]
    for deep in (False, True):
        assert known(kc.LogDir(target).info(deep=deep).partitions[0]) == LOST
    (target / FILE).unlink()
    report = log.verify_partition(target)
    assert (report.is_intact, known(report)) == (False, [])
    assert missing(report) == [(10, 19, "gap"), (40, 59, "gap")]
    assert run("verify", target)[0] == 1


def test_a_file_from_elsewhere(tmp_path: Path, run: Run) -> None:
    """As in a broker, into whose folder it is not copied."""
    target = tmp_path / "new" / "t-0"
    log.repair(damaged(tmp_path / "old" / "t-0"), target)
    file = (target / FILE).rename(tmp_path / "losses.json")
    assert run("verify", target)[0] == 1
    assert run("verify", target, "--known-losses", file)[0] == 0
    for given in (file, str(file), [file]):
        assert known(log.verify_partition(target, known_losses=given)) == LOST
        assert known(kc.LogDir(tmp_path / "new")["t", 0].verify(known_losses=given)) == LOST
        assert known(kc.LogDir(tmp_path / "new").verify(known_losses=given)) == LOST
    for function in (log.recompress, log.repair):
        report = function(target, tmp_path / function.__name__ / "t-0", known_losses=file)
        assert known(report) == LOST
        assert known(log.verify_partition(tmp_path / function.__name__ / "t-0")) == LOST
    assert run("repair", target, tmp_path / "a", "--known-losses", file)[0] == 0
    assert run("convert", "--to-magic", "1", target, tmp_path / "b", "--known-losses", file)[0] == 0
    assert run("verify", tmp_path / "a", tmp_path / "b")[0] == 0
    assert known(rows_of(kc.scan(target, known_losses=file))[1]) == LOST
    assert known(rows_of(kc.scan(target))[1]) == []
    # A segment alone is judged by its folder.
    segment = target / f"{0:020}.log"
    assert run("verify", segment, "--known-losses", file)[0] == 0


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b'{"version": 2}', b"[" * 100_000])
def test_a_file_that_is_no_loss_file(tmp_path: Path, run: Run, content: bytes, caplog: Any) -> None:
    target = tmp_path / "new" / "t-0"
    log.repair(damaged(tmp_path / "old" / "t-0"), target)
    (target / FILE).write_bytes(content)
    assert known(log.verify_partition(target)) == []
    assert FILE in caplog.text
    with pytest.raises(ValueError, match="not a loss file"):
        log.verify_partition(target, known_losses=target / FILE)
    assert run("verify", target, "--known-losses", target / FILE)[0] == 2
    assert run("verify", target, "--known-losses", tmp_path / "none")[0] == 2


@pytest.mark.parametrize("given", [3, b"losses.json", [None]])
def test_an_argument_that_is_no_path_is_named(tmp_path: Path, given: Any) -> None:
    source = write(tmp_path / "t-0", {0: [batch(0)]})
    with pytest.raises(TypeError, match="known_losses"):
        log.verify_partition(source, known_losses=given)
    with pytest.raises(TypeError, match="known_losses"):
        log.recompress(source, tmp_path / "new", known_losses=given)
    with pytest.raises(TypeError, match="known_losses"):
        kc.scan(source, known_losses=given)


def test_wrong_values_in_a_file(tmp_path: Path) -> None:
    target = tmp_path / "new" / "t-0"
    log.repair(damaged(tmp_path / "old" / "t-0"), target)
    sound = json.loads((target / FILE).read_text())
    for change in (
        {"topic": 3}, {"partition": "0"}, {"partition": True}, {"topicId": 1}, {"compactedTo": -1},
        {"losses": [sound["losses"][0] | {"reason": "because"}]},
        {"losses": [sound["losses"][0] | {"firstOffset": 20}]},
        {"losses": [sound["losses"][0] | {"lastOffset": None}]},
        {"losses": [sound["losses"][0] | {"before": {"lastOffset": 9}}]},
        {"losses": [3]}, {"losses": None},
    ):  # fmt: skip
        (target / FILE).write_text(json.dumps(sound | change))
        with pytest.raises(ValueError, match="not a loss file"):
            log.verify_partition(target, known_losses=target / FILE)


def test_a_loss_of_another_log_does_not_count(tmp_path: Path) -> None:
    target = tmp_path / "new" / "t-0"
    log.repair(damaged(tmp_path / "old" / "t-0"), target)
    file = shutil.copy(target / FILE, tmp_path / "losses.json")
    # The id of the topic, if both have one.
    for topic_id, expected in ((OTHER_ID, []), (None, LOST)):
        other = shutil.copytree(target, tmp_path / f"{topic_id}" / "t-0")
        (other / "partition.metadata").unlink()
        if topic_id is not None:
            (other / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")
        assert known(log.verify_partition(other)) == expected
    # The same offsets, but another batch beside them: on one side.
    for first, expected in ((0, [LOST[1]]), (20, [LOST[1]]), (30, [LOST[0]]), (60, [LOST[0]])):
        other = shutil.copytree(target, tmp_path / f"{first}" / "t-0")
        for path in other.glob("*.log"):
            path.write_bytes(path.read_bytes().replace(batch(first), batch(first, codec="gzip")))
        report = log.verify_partition(other, known_losses=file)
        assert known(report) == expected
        assert not report.is_intact
    # Another name does not matter: the partition may have been restored as another one.
    other = shutil.copytree(target, tmp_path / "renamed" / "u-7")
    report = log.verify_partition(other)
    assert known(report) == LOST
    assert {each[:2] for each in report.known_losses} == {("u", 7)}


def new_losses(report: log.PartitionReport) -> list[tuple[int, int]]:
    """The missing ranges of a report without those that are known."""
    known_offsets = {at for each in report.known_losses for at in range(each.first_offset, each.last_offset + 1)}
    new = [
        at
        for each in report.missing
        for at in range(each.first_offset, each.last_offset + 1)
        if at not in known_offsets
    ]
    starts = [at for at in new if at - 1 not in new]
    return [(at, next(end for end in range(at, at + len(new)) if end + 1 not in new)) for at in starts]


def test_the_known_losses_of_a_scan_are_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the log at its end and for all of its reports."""
    target = tmp_path / "repaired" / "t-0"
    log.repair(damaged(tmp_path / "old" / "t-0"), target)
    found = []

    def find(*given: Any) -> Any:
        found.append(given)
        return known_losses(*given)

    monkeypatch.setattr("kafkacomp.arrow._reader.known_losses", find)
    reader = kc.scan(target)
    reader.read_all()
    assert [known(reader.report) for _ in range(3)] == [LOST] * 3
    assert len(found) == 1


@pytest.mark.parametrize("to_magic", [0, 1, 2])
def test_a_scan_logs_new_losses_only(tmp_path: Path, to_magic: int, caplog: pytest.LogCaptureFixture) -> None:
    """However the rows are read: by iteration, or by a consumer of the stream."""
    repaired, target = tmp_path / "repaired" / "t-0", tmp_path / "converted" / "t-0"
    log.repair(damaged(tmp_path / "old" / "t-0"), repaired)
    log.convert(repaired, target, to_magic)
    caplog.clear()
    for read in (kc.arrow.ScanReader.read_all, pa.table):
        reader = kc.scan(target)
        assert read(reader)["offset"].to_pylist() == [at for at in range(100) if not (9 < at < 20 or 39 < at < 60)]
        assert (known(reader.report), reader.report.warnings, caplog.messages) == (LOST, (), [])
    lose(target, 70)
    kc.scan(target).read_all()
    assert caplog.messages == [f"missing: t-0: offsets 70{' to 79' if to_magic == 2 else ''} (gap)"]
    caplog.clear()
    (target / FILE).unlink()
    kc.scan(target).read_all()
    assert "offsets 10 to 19 (gap), 40 to" in caplog.text


def test_what_is_lost_beyond_a_known_loss_is_new(tmp_path: Path, run: Run) -> None:
    original = tmp_path / "new" / "t-0"
    log.repair(damaged(tmp_path / "old" / "t-0"), original)
    for number, (lost, expected, new) in enumerate(
        (
            ((20,), [LOST[0], LOST[1]], [(20, 29)]),
            ((0,), [LOST[0], LOST[1]], [(0, 9)]),
            ((30,), [LOST[0], LOST[1]], [(30, 39)]),
            ((60,), [LOST[0], LOST[1]], [(60, 69)]),
            ((80,), LOST, [(80, 89)]),
            # Neither of the two batches around the loss shows any longer that it is this one.
            ((30, 60), [LOST[0]], [(30, 69)]),
            # The batch between the two losses: what is missing has a known batch on each of its sides.
            ((20, 30), LOST, [(20, 39)]),
        )
    ):
        folder = shutil.copytree(original, tmp_path / str(number) / "t-0")
        lose(folder, *lost)
        report = log.verify_partition(folder)
        assert known(report) == expected, lost
        assert new_losses(report) == new, lost
        assert not report.is_intact
        # One error for all gaps of the partition.
        assert len([each for each in report.findings if each.is_error]) == 1
        status, out, _ = run("verify", "--json", folder)
        assert status == 1
        assert len(json.loads(out)["knownLosses"]) == len(expected)


def test_segments_that_were_deleted_since(tmp_path: Path) -> None:
    """Retention removes the first segments; the log then begins with a loss, or within one."""
    for base in (10, 14):
        target = tmp_path / f"{base}-new" / "t-0"
        first = [batch(0), *([flipped(batch(10, size=base - 10))] if base > 10 else [])]
        segments = {0: first, base: [flipped(batch(base, size=20 - base)), batch(20)], 30: [batch(30)]}
        log.repair(write(tmp_path / f"{base}" / "t-0", segments), target)
        assert log.verify_partition(target).is_intact
        for path in target.glob(f"{0:020}.*"):
            path.unlink()
        report = log.verify_partition(target)
        assert (report.is_intact, [each[:2] for each in known(report)]) == (True, [(base, 19)])


def test_a_segment_that_is_deleted_while_the_log_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "new" / "t-0"
    log.repair(damaged(tmp_path / "old" / "t-0"), target)
    segment = target / f"{60:020}.log"

    def find_without_segment(*given: Any) -> Any:
        segment.unlink()
        return known_losses(*given)

    reader = kc.scan(target)
    rows = reader.read_all().num_rows
    monkeypatch.setattr("kafkacomp.arrow._reader.known_losses", find_without_segment)
    # A report is final when all is read.
    assert (reader.report.records, known(reader.report)) == (rows, LOST)
    reader = kc.scan(target)
    assert reader.read_all().num_rows == rows
    assert (reader.report.records, known(reader.report)) == (rows, [])


def test_a_loss_at_the_start_of_the_log(tmp_path: Path) -> None:
    source = write(tmp_path / "old" / "t-0", {0: [flipped(batch(0)), batch(10)], 20: [batch(20)]})
    target = tmp_path / "new" / "t-0"
    log.repair(source, target)
    (loss,) = json.loads((target / FILE).read_text())["losses"]
    assert (loss["firstOffset"], loss["lastOffset"], loss["before"]) == (0, 9, None)
    assert loss["after"]["lastOffset"] == 19
    report = log.verify_partition(target)
    assert (report.is_intact, known(report)) == (True, [(0, 9, "corrupt")])


def test_known_losses_are_carried_on(tmp_path: Path) -> None:
    """Each writer names the batches of its own log."""
    folder = tmp_path / "new" / "t-0"
    log.repair(damaged(tmp_path / "old" / "t-0"), folder)
    writers: tuple[Callable[[Path, Path], Any], ...] = (
        lambda old, new: log.recompress(old, new, compression_type="gzip"),
        lambda old, new: log.convert(old, new, 1),
        log.repair,
        lambda old, new: log.convert(old, new, 2),
        lambda old, new: log.recompress(old, new, merge=True, segment_bytes=300),
    )
    for number, function in enumerate(writers):
        target = tmp_path / str(number) / "t-0"
        report = function(folder, target)
        assert known(report) == LOST
        assert report.lost == (log.LostOffsets("t", 30, TIME + 9, TIME + 60),) or number in {1, 2}
        assert not [each for each in report.warnings if "missing" in each]
        found = log.verify_partition(target)
        assert (found.is_intact, known(found)) == (True, LOST)
        folder = target
    # A repair of what is known to be incomplete loses nothing.
    assert log.repair(folder, tmp_path / "last" / "t-0").is_complete


def test_a_compacted_log_tells_its_losses_from_compaction(tmp_path: Path) -> None:
    builder = record.RecordBatchBuilder(base_offset=0)
    for offset in (0, 3, 9):
        builder.append(b"value", offset=offset, timestamp=TIME)
    pieces = [builder.build(), batch(10), flipped(batch(20)), batch(30), batch(50)]
    source = write(tmp_path / "old" / "t-0", {0: pieces})
    target = tmp_path / "new" / "t-0"
    log.repair(source, target)
    report = log.verify_partition(target)
    assert missing(report) == [(20, 29, "gap"), (40, 49, "compacted")]
    assert (report.is_intact, known(report)) == (True, [(20, 29, "corrupt")])


def test_control_records_that_a_conversion_drops_are_known(tmp_path: Path) -> None:
    producer = {"producer_id": 7, "producer_epoch": 0, "is_transactional": True}
    builder = record.RecordBatchBuilder(2, "none", base_offset=0, base_sequence=0, **producer)  # type: ignore[arg-type]
    builder.append(b"value", timestamp=TIME)
    marker = record.RecordBatchBuilder(2, "none", base_offset=1, is_control_batch=True, **producer)  # type: ignore[arg-type]
    marker.append_end_txn_marker(is_commit=True, timestamp=TIME)
    source = write(tmp_path / "old" / "t-0", {0: [builder.build(), marker.build(), batch(2), batch(20)]})
    target = tmp_path / "new" / "t-0"
    with pytest.raises(kc.DataLossError):
        log.convert(source, target, 1)
    report = log.verify_partition(target)
    assert missing(report) == [(1, 1, "gap"), (12, 19, "gap")]
    assert (report.is_intact, known(report)) == (True, [(1, 1, "control"), (12, 19, "gap")])


@pytest.mark.parametrize(("magic", "codec"), [(0, "none"), (0, "snappy"), (1, "none"), (1, "gzip"), (2, "zstd")])
def test_after_a_repair_or_a_conversion_verify_passes(tmp_path: Path, magic: int, codec: str) -> None:
    rng = random.Random(f"{magic} {codec}")
    size = 1 if codec == "none" and magic < 2 else 5
    for turn in range(4):
        pieces = [batch(first, magic, codec, size) for first in range(0, 40 * size, size)]
        for at in rng.sample(range(38), 6):
            pieces[at] = flipped(pieces[at])
        segments = {0: pieces[:15], 15 * size: pieces[15:25], 25 * size: pieces[25:]}
        if turn % 2:
            del segments[15 * size]
        source = write(tmp_path / str(turn) / "t-0", segments, rng.choice([None, TOPIC_ID]))
        before = log.verify_partition(source)
        repaired, converted = tmp_path / f"{turn}-repaired" / "t-0", tmp_path / f"{turn}-converted" / "t-0"
        log.repair(source, repaired)
        log.convert(repaired, converted, rng.choice([0, 1, 2]) if codec != "zstd" else 2)
        for folder in (repaired, converted):
            report = log.verify_partition(folder)
            assert report.is_intact
            assert known(report) == missing(before)
            assert report.missing
            (folder / FILE).unlink()
            report = log.verify_partition(folder)
            assert joined(missing(report)) == joined(missing(before))
            assert {each.reason for each in report.missing} == {"gap"}


def joined(ranges: list[tuple[int, int, str]]) -> list[tuple[int, int]]:
    """Adjacent ranges as one, whatever their segments and reasons."""
    found: list[tuple[int, int]] = []
    for first, last, _ in ranges:
        if found and found[-1][1] + 1 == first:
            found[-1] = found[-1][0], last
        else:
            found.append((first, last))
    return found


def test_the_command_shows_what_is_lost(tmp_path: Path, run: Run) -> None:
    for name in ("t-0", "t-1", "u-0"):
        damaged(tmp_path / "old" / name)
    status, out, _ = run("repair", tmp_path / "old", tmp_path / "new")
    assert status == 1
    span = "after 2023-11-14T22:13:20.009Z and before 2023-11-14T22:13:20.060Z"
    assert f"lost: t: 60 offsets, {span}\n" in out
    assert f"lost: u: 30 offsets, {span}\n" in out
    status, out, _ = run("recompress", "--json", tmp_path / "new", tmp_path / "again")
    shown = json.loads(out)
    assert shown["lost"] == [
        {"topic": topic, "offsets": offsets, "firstTimestamp": TIME + 9, "lastTimestamp": TIME + 60}
        for topic, offsets in (("t", 60), ("u", 30))
    ]
    assert len(shown["knownLosses"]) == 6
    assert run("verify", tmp_path / "new", tmp_path / "again")[0] == 0


def test_an_export_shows_known_losses(tmp_path: Path, run: Run) -> None:
    target = tmp_path / "new" / "t-0"
    log.repair(damaged(tmp_path / "old" / "t-0"), target)
    status, out, err = run("export", tmp_path / "new", "-o", tmp_path / "one.parquet", "--json")
    assert (status, [each["reason"] for each in json.loads(out)["knownLosses"]]) == (0, ["corrupt", "gap"])
    assert "known loss: t-0: offsets 10 to 19 (corrupt), 40 to 59 (gap)" in err
    file = (target / FILE).rename(tmp_path / "losses.json")
    status, out, err = run("export", tmp_path / "new", "-o", tmp_path / "two.parquet", "--json")
    assert (status, json.loads(out)["knownLosses"]) == (1, [])
    assert "missing: t-0: offsets 10 to 19 (gap), 40 to 59 (gap)" in err
    status, out, _ = run("export", target, "-o", tmp_path / "three.parquet", "--json", "--known-losses", file)
    assert (status, len(json.loads(out)["knownLosses"])) == (0, 2)
    lose(target, 30)
    status, _, err = run("export", target, "-o", tmp_path / "four.parquet", "--known-losses", file)
    assert status == 1
    assert "missing: t-0: offsets 30 to 39 (gap)" in err


@pytest.mark.parametrize("command", [["info"], ["info", "--deep"], ["dump"], ["dump", "--deep", "--start-offset", "5"]])
def test_info_and_dump_accept_known_losses(tmp_path: Path, run: Run, command: list[str]) -> None:
    target = tmp_path / "new" / "t-0"
    log.repair(damaged(tmp_path / "old" / "t-0"), target)
    status, out, _ = run(*command, target)
    assert status == 0
    if command[0] == "info":
        assert [line for line in out.splitlines() if line.startswith(("known loss: ", "missing: "))] == [
            "known loss: t-0: offsets 10 to 19 (corrupt), 40 to 59 (gap)",
        ]
        assert len(json.loads(run(*command, target, "--json")[1])["topics"][0]["partitions"][0]["knownLosses"]) == 2
    lose(target, 30)
    assert run(*command, target)[0] == 1
    (target / FILE).unlink()
    assert run(*command, target)[0] == 1


def test_rows_of_a_log_with_known_losses_are_written(tmp_path: Path) -> None:
    """What is known is acknowledged, by every function that makes a copy."""
    target = tmp_path / "new" / "t-0"
    log.repair(damaged(tmp_path / "old" / "t-0"), target)
    report = kc.write(kc.scan(target), tmp_path / "written", topic="t", partition=0)
    assert known(report) == LOST
    reader = kc.scan(target)
    assert sum(rows.num_rows for rows in reader) == 70
    assert known(reader.report) == LOST
    (target / FILE).unlink()
    with pytest.raises(kc.DataLossError):
        kc.write(kc.scan(target), tmp_path / "again", topic="t", partition=0)
    with pytest.raises(kc.DataLossError):
        log.recompress(target, tmp_path / "recompressed")
