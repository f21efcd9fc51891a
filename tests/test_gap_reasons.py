"""Why offsets are missing where nothing is corrupt: every reader and tool gives one answer, and ``verify`` one line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import kafkacomp as kc
from golden.expect import SMALL
from kafkacomp import log
from kafkacomp._cli.command import run
from kafkacomp.record import RecordBatchBuilder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

Losses = list[tuple[int, int, str]]

#: Topics that count as compacted by their names.
COMPACTED = ("__consumer_offsets", "__transaction_state", "__share_group_state", "_schemas")
OTHERS = ("orders", "__cluster_metadata", "__remote_log_metadata", "_schemas-1")


def batch(first: int, offsets: Sequence[int] = range(5)) -> bytes:
    """A batch whose records have these offsets, from ``first`` on."""
    builder = RecordBatchBuilder(base_offset=first)
    for offset in offsets:
        builder.append(key=b"k", value=b"v" * 50, timestamp=1000 + first, offset=first + offset)
    return bytes(builder.build())


def written(folder: Path, topic: str, segments: Mapping[int, Sequence[bytes]], cleaned_to: int | None = None) -> Path:
    """A partition's folder, with a checkpoint of the cleaner next to it if an offset is given."""
    partition = folder / f"{topic}-0"
    partition.mkdir(parents=True)
    for base, batches in segments.items():
        (partition / f"{base:020}.log").write_bytes(b"".join(batches))
    if cleaned_to is not None:
        content = f"0\n1\n{topic} 0 {cleaned_to}\n"
        (folder / "cleaner-offset-checkpoint").write_text(content, encoding="utf-8")
    return partition


def gappy() -> dict[int, list[bytes]]:
    """Gaps between batches, at the end of a segment, and of a segment."""
    return {0: [batch(0), batch(10), batch(30)], 40: [batch(40)], 100: [batch(100), batch(110)]}


GAPS = [(5, 9), (15, 29), (35, 39), (45, 99), (105, 109)]


def losses(missing: Sequence[kc.arrow.MissingRange]) -> Losses:
    """Offsets and reasons, adjacent ranges of two segments merged."""
    merged: Losses = []
    for each in missing:
        if merged and merged[-1][1] + 1 == each.first_offset and merged[-1][2] == each.reason:
            merged[-1] = (merged[-1][0], each.last_offset, each.reason)
        else:
            merged.append((each.first_offset, each.last_offset, each.reason))
    return merged


def answers(partition: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Losses]:
    """What each reader and tool says is missing."""
    found: dict[str, Losses] = {}
    for threads in (1, 2):
        reader = kc.scan(partition, columns=["offset"], options=kc.ScanOptions(threads=threads))
        for _ in reader:
            pass
        found[f"scan, {threads} threads"] = losses(reader.report.missing)
    found["verify"] = losses(log.verify_partition(partition).missing)
    found["info"] = losses(kc.LogDir(partition.parent)[partition.name.removesuffix("-0"), 0].info().missing)
    found["repair"] = losses(log.repair(partition, tmp_path / "repaired" / partition.name).missing)
    capsys.readouterr()
    run(["verify", str(partition), "--json"])
    report = json.loads(capsys.readouterr().out)
    found["command"] = losses(
        [
            kc.arrow.MissingRange(None, None, each["firstOffset"], each["lastOffset"], "", each["reason"])
            for each in report["missing"]
        ]
    )
    return found


@pytest.mark.parametrize("topic", [*COMPACTED, *OTHERS])
def test_the_topic_alone(tmp_path: Path, topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a checkpoint and thinned batches, the name of an internal topic decides."""
    partition = written(tmp_path, topic, gappy())
    reason = "compacted" if topic in COMPACTED else "gap"
    for door, found in answers(partition, tmp_path, capsys).items():
        assert found == [(*each, reason) for each in GAPS], door
    errors = [each for each in log.verify_partition(partition).findings if each.is_error]
    assert len(errors) == (0 if topic in COMPACTED else 1)
    assert run(["verify", str(partition)]) == len(errors)


@pytest.mark.parametrize("topic", ["__consumer_offsets", "orders"])
@pytest.mark.parametrize("cleaned_to", [0, 7, 40, 100, 110])
def test_the_checkpoint_decides(
    tmp_path: Path, topic: str, cleaned_to: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also for a topic that is compacted, and in the middle of a gap."""
    partition = written(tmp_path, topic, gappy(), cleaned_to)
    wanted = []
    for first, last in GAPS:
        parts = [(first, min(last, cleaned_to - 1), "compacted"), (max(first, cleaned_to), last, "gap")]
        wanted += [each for each in parts if each[0] <= each[1]]
    for door, found in answers(partition, tmp_path, capsys).items():
        assert found == wanted, door


def test_a_thinned_batch_shows_compaction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One is enough for the partition, in whichever segment."""
    for number, at in enumerate((0, 40, 100)):
        segments = gappy()
        segments[at][0] = batch(at, (0, 4))
        folder = tmp_path / str(number)
        partition = written(folder, "orders", segments)
        for door, found in answers(partition, folder, capsys).items():
            assert found == [(*each, "compacted") for each in GAPS], door
        assert log.verify_partition(partition).findings == ()


def test_one_line_for_the_partition(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says how much is missing, where it begins, and what would show that it is no loss."""
    partition = written(tmp_path, "orders", gappy())
    (finding,) = log.verify_partition(partition).findings
    assert finding.is_error
    assert finding.file == str(partition / f"{0:020}.log")
    assert finding.position == len(batch(0))
    assert (finding.first_offset, finding.last_offset) == (None, None)
    assert finding.message == (
        f"offsets 5 to 9 are missing before byte {len(batch(0))}, where nothing is corrupt, and 4 more ranges, "
        "85 offsets in all. If the topic is compacted, copy the broker's cleaner-offset-checkpoint into the parent "
        "folder of the partition's folder: it shows which gaps compaction left."
    )
    assert run(["verify", str(partition)]) == 1
    captured = capsys.readouterr()
    assert (captured.out + captured.err).count("where nothing is corrupt") == 1
    # With the checkpoint, nothing more would help.
    written(tmp_path / "cleaned", "orders", gappy(), 40)
    (finding,) = log.verify_partition(tmp_path / "cleaned" / "orders-0").findings
    assert finding.message.startswith("offsets 45 to 99 are missing before byte ")
    assert finding.message.endswith(", where nothing is corrupt, and 1 more ranges, 60 offsets in all")
    assert "cleaner-offset-checkpoint" not in finding.message


def test_one_gap_has_its_offsets(tmp_path: Path) -> None:
    partition = written(tmp_path, "orders", {0: [batch(0), batch(10)]})
    (finding,) = log.verify_partition(partition).findings
    assert (finding.first_offset, finding.last_offset, finding.is_error) == (5, 9, True)
    assert finding.message.startswith(
        f"offsets 5 to 9 are missing before byte {len(batch(0))}, where nothing is corrupt. "
    )


def test_a_segment_alone(tmp_path: Path) -> None:
    """The check of one segment uses the same rule: the topic in the folder's name, and the checkpoint above it."""
    for number, (topic, cleaned_to, wanted) in enumerate(
        [
            ("orders", None, [(5, 9, "gap"), (15, 29, "gap")]),
            ("__consumer_offsets", None, [(5, 29, "compacted")]),
            ("orders", 20, [(5, 9, "compacted"), (15, 19, "compacted"), (20, 29, "gap")]),
        ]
    ):
        partition = written(tmp_path / str(number), topic, gappy(), cleaned_to)
        of_path = log.verify_segment(partition / f"{0:020}.log")
        of_model = kc.LogDir(partition.parent)[topic, 0].segments[0].verify()
        for report in (of_path, of_model):
            reasons = {each.reason for each in report.missing}
            assert reasons == {reason for *_, reason in wanted}
            assert report.errors == sum(each.reason == "gap" for each in report.missing)
            gaps = [(each.first_offset, each.last_offset) for each in report.findings]
            assert gaps == [(each.first_offset, each.last_offset) for each in report.missing if each.reason == "gap"]


def test_what_the_cleaner_of_0_8_left(tmp_path: Path) -> None:
    """It writes each message alone, so that no batch is thinned: all gaps are one error, none with the checkpoint."""
    name = SMALL / "legacy" / "broker-0.8.2.2"
    for codec, base in (("gzip", 95), ("lz4", 125), ("snappy", 0)):
        folder = tmp_path / codec
        partition = folder / f"cmp-{codec}-0"
        partition.mkdir(parents=True)
        content = (name / f"cmp-{codec}.{base:020}.log").read_bytes()
        (partition / f"{base:020}.log").write_bytes(content)
        report = log.verify_partition(partition)
        if not report.missing:
            continue
        assert len(report.findings) == 1
        end = report.segments[str(partition / f"{base:020}.log")].last_offset or 0
        checkpoint = f"0\n1\ncmp-{codec} 0 {end}\n"
        (folder / "cleaner-offset-checkpoint").write_text(checkpoint, encoding="utf-8")
        assert log.verify_partition(partition).findings == ()
