"""``verify``, ``repair``, ``recompress`` and ``convert`` of logs with missing, repeated or altered offsets."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from grouped import grouped
from kafkacomp import log, record
from kafkacomp._cli import main

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

VECTORS = Path(__file__).resolve().parent / "vectors"
SOURCE = VECTORS / "modern" / "restarts" / "restarts-0" / f"{0:020}.log"
DATA = SOURCE.read_bytes()
BATCHES = list(record.read_batches(DATA))
PIECES = [DATA[each.position : each.position + each.size_in_bytes] for each in BATCHES]
#: What all batches of a log are, from which parts are taken.
FIRSTS = [each.base_offset for each in BATCHES]
END = BATCHES[-1].last_offset + 1


def folder_of(path: Path, segments: dict[int, bytes]) -> Path:
    """A partition's folder with these segments."""
    path.mkdir(parents=True)
    for base, data in segments.items():
        (path / f"{base:020}.log").write_bytes(data)
    return path


def offsets(folder: Path, **options: Any) -> list[int]:
    found: list[int] = pa.table(kc.scan(folder, columns=["offset"], **grouped(include_control=True, **options)))[
        "offset"
    ].to_pylist()
    return found


def with_offset(piece: bytes, offset: int) -> bytes:
    return struct.pack(">q", offset) + piece[8:]


def with_epoch(piece: bytes, epoch: int) -> bytes:
    return piece[:12] + struct.pack(">i", epoch) + piece[16:]


def joined(pieces: Sequence[bytes], **changed: bytes) -> bytes:
    return b"".join(changed.get(f"at{index}", piece) for index, piece in enumerate(pieces))


def missing_of(report: Any) -> list[tuple[int, int, str]]:
    return [(each.first_offset, each.last_offset, each.reason) for each in report.missing]


@pytest.fixture(name="run")
def _run(run_with: Callable[..., Callable[..., tuple[int, str, str]]]) -> Callable[..., tuple[int, str, str]]:
    return run_with(main)


def test_an_altered_base_offset_is_restored_and_nothing_else_is_blamed(tmp_path: Path) -> None:
    for bit in (0, 1, 4, 17, 40, 62, 63):
        for at in (5, len(PIECES) - 2):
            piece = with_offset(PIECES[at], struct.unpack(">q", struct.pack(">Q", FIRSTS[at] ^ 1 << bit))[0])
            folder = folder_of(tmp_path / f"{bit}-{at}" / "t-0", {0: joined(PIECES, **{f"at{at}": piece})})
            report = log.verify_partition(folder)
            assert [each.position for each in report.findings] == [BATCHES[at].position], (bit, at)
            # A batch that may be where it says is not moved.
            may_be_there = bit == 17
            assert bool(report.missing) == may_be_there
            repaired = log.repair(folder, tmp_path / f"{bit}-{at}-new" / "t-0")
            stored = struct.unpack(">q", piece[:8])[0]
            if at == 0 or END <= stored < 1 << 31:
                # It has no batch before it; or the log may have its offsets, and then others are missing.
                assert [each.action for each in repaired.repairs] == ["quarantined"]
                assert missing_of(repaired) == [(FIRSTS[at], FIRSTS[at + 1] - 1, "corrupt")]
            else:
                assert [each.action for each in repaired.repairs] == ["restored"]
                assert (repaired.restored_batches, repaired.is_complete) == (1, True)
                assert next((tmp_path / f"{bit}-{at}-new" / "t-0").glob("*.log")).read_bytes() == DATA
            with pytest.raises(kc.CorruptRecordError, match="offset field"):
                log.recompress(folder, tmp_path / "refused")


def test_an_altered_leader_epoch_is_restored(tmp_path: Path) -> None:
    epoch = BATCHES[5].partition_leader_epoch
    assert BATCHES[4].partition_leader_epoch == epoch == BATCHES[6].partition_leader_epoch
    # With the epoch of the batches after the next one, that one could be the altered one.
    for bit in (10, 30):
        piece = with_epoch(PIECES[5], epoch ^ 1 << bit)
        folder = folder_of(tmp_path / str(bit) / "t-0", {0: joined(PIECES, at5=piece)})
        report = log.verify_partition(folder)
        assert [each.position for each in report.findings] == [BATCHES[5].position], bit
        repaired = log.repair(folder, tmp_path / f"{bit}-new" / "t-0")
        assert [each.action for each in repaired.repairs] == ["restored"]
        assert (tmp_path / f"{bit}-new" / "t-0" / f"{0:020}.log").read_bytes() == DATA


def test_a_repeated_batch_is_written_once(tmp_path: Path) -> None:
    for number, data in enumerate(
        (
            b"".join([*PIECES[:6], PIECES[5], *PIECES[6:]]),
            b"".join([*PIECES[:6], PIECES[2], *PIECES[6:]]),
            b"".join([*PIECES, PIECES[-1]]),
            b"".join([*PIECES, PIECES[1]]),
        )
    ):
        folder = folder_of(tmp_path / str(number) / "t-0", {0: data})
        report = log.verify_partition(folder)
        assert (len(report.findings), report.missing) == (1, ()), number
        assert next(iter(report.segments.values())).repeated_batches == 1
        repaired = log.repair(folder, tmp_path / f"{number}-new" / "t-0")
        assert [each.action for each in repaired.repairs] == ["repeat dropped"]
        assert (repaired.is_complete, repaired.repeated_batches) == (True, 1)
        assert (tmp_path / f"{number}-new" / "t-0" / f"{0:020}.log").read_bytes() == DATA
        recompressed = log.recompress(folder, tmp_path / f"{number}-gzip" / "t-0", compression_type="gzip")
        assert ["repeats" in each for each in recompressed.warnings] == [True]
        assert offsets(tmp_path / f"{number}-gzip" / "t-0") == list(range(END))


def test_gaps_are_named(tmp_path: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    gap = (FIRSTS[4], FIRSTS[6] - 1, "gap")
    cases = {
        "between batches": {0: b"".join([*PIECES[:4], *PIECES[6:]])},
        "a segment": {0: b"".join(PIECES[:4]), FIRSTS[6]: b"".join(PIECES[6:])},
        "at an end": {0: b"".join(PIECES[:4]), FIRSTS[6]: b"".join(PIECES[6:8]), FIRSTS[8]: b"".join(PIECES[8:])},
        "at a start": {0: b"".join(PIECES[:4]), FIRSTS[4]: b"".join(PIECES[6:])},
    }
    for name, segments in cases.items():
        folder = folder_of(tmp_path / name / "t-0", segments)
        status, out, _ = run("verify", "--json", folder)
        told = json.loads(out)
        assert status == 1, name
        assert [(each["firstOffset"], each["lastOffset"]) for each in told["errors"]] == [gap[:2]], name
        ranges = [(each["firstOffset"], each["lastOffset"], each["reason"]) for each in told["missing"]]
        assert ranges == [gap], name
        assert f"missing: t-0: offsets {gap[0]} to {gap[1]} (gap)" in run("verify", folder)[1]
        repaired = log.repair(folder, tmp_path / f"{name} repaired" / "t-0")
        assert (missing_of(repaired), repaired.is_complete, repaired.repairs) == ([gap], False, ()), name
        allowed: dict[str, Any] = {"compression_type": "gzip", "allow_missing": True}
        recompressed = log.recompress(folder, tmp_path / f"{name} gzip" / "t-0", **allowed)
        assert (missing_of(recompressed), len(recompressed.warnings)) == ([gap], 1), name
        converted = log.convert(folder, tmp_path / f"{name} converted" / "t-0", 2, allow_missing=True)
        assert missing_of(converted) == [gap], name


def test_the_cleaner_checkpoint_explains_gaps(tmp_path: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    folder = folder_of(tmp_path / "logs" / "t-0", {0: b"".join([*PIECES[:4], *PIECES[6:]])})
    (tmp_path / "logs" / "cleaner-offset-checkpoint").write_text(f"0\n1\nt 0 {FIRSTS[6]}\n", encoding="ascii")
    status, out, _ = run("verify", folder)
    assert status == 0
    assert f"missing: t-0: offsets {FIRSTS[4]} to {FIRSTS[6] - 1} (compacted)" in out
    repaired = log.repair(folder, tmp_path / "new")
    assert (missing_of(repaired), repaired.is_complete) == ([(FIRSTS[4], FIRSTS[6] - 1, "compacted")], True)


def test_zeros_are_one_fault(tmp_path: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    """In the middle of a segment, at the end of a closed one, and all of one, with indexes next to it."""
    half = FIRSTS[7]
    for name, zeroed in (("middle", range(2, 5)), ("end", range(4, 7)), ("all", range(7))):
        first = b"".join(bytes(len(p)) if index in zeroed else p for index, p in enumerate(PIECES[:7]))
        folder = folder_of(tmp_path / name / "t-0", {0: first, half: b"".join(PIECES[7:])})
        shutil.copy(SOURCE.with_suffix(".timeindex"), folder)
        entries = [struct.pack(">ii", each.last_offset, each.position) for each in BATCHES[:7]]
        (folder / f"{0:020}.index").write_bytes(b"".join(entries))
        (folder / f"{0:020}.timeindex").unlink()
        lost = (FIRSTS[zeroed[0]], FIRSTS[zeroed[-1] + 1] - 1, "corrupt")
        status, out, _ = run("verify", "--json", folder)
        told = json.loads(out)
        assert status == 1
        assert [(each["firstOffset"], each["lastOffset"]) for each in told["errors"]] == [lost[:2]], name
        assert told["corruptBatches"] == 1
        repaired = log.repair(folder, tmp_path / f"{name}-new" / "t-0")
        assert missing_of(repaired) == [lost]
        assert [(each.first_offset, each.last_offset) for each in repaired.repairs] == [lost[:2]]
        assert offsets(tmp_path / f"{name}-new" / "t-0") == [o for o in range(END) if not lost[0] <= o <= lost[1]]
        with pytest.raises(kc.CorruptRecordError):
            log.recompress(folder, tmp_path / "refused")


def test_a_wrong_index_elsewhere_is_still_found(tmp_path: Path) -> None:
    data = bytearray(DATA)
    data[BATCHES[3].position + 100] ^= 1
    folder = folder_of(tmp_path / "t-0", {0: bytes(data)})
    entries = [(each.last_offset, each.position) for each in BATCHES]
    entries[9] = (entries[9][0], entries[9][1] + 1)
    (folder / f"{0:020}.index").write_bytes(b"".join(struct.pack(">ii", *each) for each in entries))
    found = log.verify_segment(folder / f"{0:020}.log").findings
    assert [(each.file, each.position) for each in found] == [("log", BATCHES[3].position), ("index", 9 * 8)]


def test_overlapping_files_are_written_once(tmp_path: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    """Whatever the random ids in the names are."""
    ids = ("AAAAAAAAAAAAAAAAAAAAAA", "zzzzzzzzzzzzzzzzzzzzzg")
    for number, (one, other) in enumerate((ids, ids[::-1])):
        folder = tmp_path / str(number) / "t-AAAAAAAAAAAAAAAAAAAAAQ" / "0"
        folder.mkdir(parents=True)
        (folder / f"{0:020}-{one}.log").write_bytes(b"".join(PIECES[:6]))
        (folder / f"{0:020}-{other}.log").write_bytes(b"".join(PIECES[:10]))
        (folder / f"{FIRSTS[8]:020}-mmmmmmmmmmmmmmmmmmmmmA.log").write_bytes(b"".join(PIECES[8:]))
        status, out, _ = run("verify", "--json", folder)
        told = json.loads(out)
        assert (status, told["errors"], told["missing"]) == (0, [], [])
        assert all("have" in each["message"] or "are also in" in each["message"] for each in told["warnings"])
        for what in (log.repair, log.recompress, lambda source, target: log.convert(source, target, 2)):
            target = tmp_path / f"{number}-new" / "t-0"
            report = what(folder, target)
            assert any("written once" in each for each in report.warnings)
            assert offsets(target) == list(range(END))
            shutil.rmtree(target)


def test_files_that_disagree(tmp_path: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    builder = record.RecordBatchBuilder(base_offset=FIRSTS[5])
    for offset in range(FIRSTS[5], FIRSTS[6]):
        builder.append(b"other", timestamp=0, offset=offset)
    folder = folder_of(tmp_path / "t-0", {0: b"".join(PIECES[:8]), FIRSTS[5]: builder.build() + b"".join(PIECES[6:])})
    status, out, _ = run("verify", folder)
    assert status == 1
    assert f"different records at offset {FIRSTS[5]}" in out
    for what in (log.recompress, lambda source, target: log.convert(source, target, 2)):
        with pytest.raises(kc.CorruptRecordError, match=f"{0:020}.*{FIRSTS[5]:020}.*at offset {FIRSTS[5]}"):
            what(folder, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    # `repair` writes the records of the later file, and keeps the others.
    report = log.repair(folder, tmp_path / "new")
    assert ([each.action for each in report.repairs], missing_of(report)) == (["quarantined"], [])
    assert (tmp_path / "new" / "kafkacomp-quarantine.bin").read_bytes() == PIECES[5]
    rows = pa.table(kc.scan(tmp_path / "new", options=kc.ScanOptions(include_control=True)))
    assert rows["offset"].to_pylist() == list(range(END))
    assert rows["value"].to_pylist()[FIRSTS[5] : FIRSTS[6]] == [b"other"] * (FIRSTS[6] - FIRSTS[5])


@pytest.mark.parametrize(("one", "other"), [(4, 5), (4, 6), (4, 8), (3, 11)])
def test_swapped_batches_are_put_in_order(tmp_path: Path, one: int, other: int) -> None:
    """All of them are valid: nothing is lost, and none but those between the two are blamed."""
    pieces = list(PIECES)
    pieces[one], pieces[other] = pieces[other], pieces[one]
    data = b"".join(pieces)
    folder = folder_of(tmp_path / "t-0", {0: data})
    places = [data.index(PIECES[other]), data.index(PIECES[one])]
    report = log.verify_partition(folder)
    assert not report.is_intact
    # Of two neighbours, only one has to move; of three batches, any two.
    found = [each.position for each in report.findings]
    assert all(places[0] <= each <= places[1] for each in found)
    assert (len(found), missing_of(report)) == (1 if other == one + 1 else 2, [])
    repaired = log.repair(folder, tmp_path / "new" / "t-0")
    assert missing_of(repaired) == []
    assert {each.action for each in repaired.repairs} == {"reordered"}
    assert all(places[0] <= each.position <= places[1] for each in repaired.repairs)
    assert (tmp_path / "new" / "t-0" / f"{0:020}.log").read_bytes() == b"".join(PIECES)
    with pytest.raises(kc.CorruptRecordError, match=f"byte {repaired.repairs[0].position} "):
        log.recompress(folder, tmp_path / "recompressed" / "t-0")


def test_a_limit_is_not_corruption(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "t-0", {0: DATA})
    with pytest.raises(kc.OutputLimitError, match=r"byte \d+"):
        log.repair(folder, tmp_path / "new", max_output_size=15_000)
    assert not (tmp_path / "new").exists()


def test_a_segment_with_a_wrong_name(tmp_path: Path) -> None:
    """Its batches are right, and nothing is lost."""
    segments = {0: b"".join(PIECES[:4]), FIRSTS[4] + 7: b"".join(PIECES[4:8]), FIRSTS[8]: b"".join(PIECES[8:])}
    folder = folder_of(tmp_path / "t-0", segments)
    report = log.verify_partition(folder)
    assert missing_of(report) == []
    assert not report.is_intact
    repaired = log.repair(folder, tmp_path / "new" / "t-0")
    assert (missing_of(repaired), repaired.is_complete) == ([], True)
    assert offsets(tmp_path / "new" / "t-0") == list(range(END))
