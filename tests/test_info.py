"""``kafkacomp info`` and ``LogDir.info``: what is in a log directory, and how little is read for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from doc_places import corrupt_disk, orders
from kafkacomp import record
from kafkacomp._cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = Path(__file__).resolve().parent.parent / "examples" / "data"
NAME = "00000000000000000000.log"


def batches(size: int, total: int) -> Iterator[bytes]:
    """Batches of 16 records, each of about ``size`` bytes, with consecutive offsets."""
    values = [bytes([n]) * (size // 16) for n in range(16)]
    times = pa.array(range(1000, 1016), pa.timestamp("ms", "UTC"))
    table = pa.table({"offset": list(range(16)), "value": values, "timestamp": times})
    made = bytearray(record.build_batches(table, base_offset=0, compression_type="none", batch_bytes=1 << 30))
    offset, written = 0, 0
    while written < total:
        made[:8] = offset.to_bytes(8, "big")
        yield bytes(made)
        offset, written = offset + 16, written + len(made)


def segment(folder: Path, size: int, total: int) -> int:
    """Write a segment; the number of its records."""
    folder.mkdir(parents=True)
    count = 0
    with (folder / NAME).open("wb") as file:
        for batch in batches(size, total):
            file.write(batch)
            count += 16
    return count


def check_bytes_read(folder: Path, size: int, total: int, share: float) -> None:
    count = segment(folder, size, total)
    found = kc.LogDir(folder.parent).info()
    assert (found.records, found.is_exact, found.gaps, found.corrupt_bytes) == (count, True, 0, 0)
    assert (found.first_timestamp, found.last_timestamp) == (1000, 1015)
    assert found.partitions[0].last_offset == count - 1
    assert 0 < found.bytes_read < share * found.size


@pytest.mark.parametrize(
    ("size", "share"), [(4096, 0.02), (1 << 14, 0.02), (1 << 16, 0.02), (1 << 20, 0.02), (2500, 0.03), (300, 1.01)]
)
def test_the_headers_alone_are_read(tmp_path: Path, size: int, share: float) -> None:
    check_bytes_read(tmp_path / "t-0", size, 64 << 20 if size > 1000 else 1 << 20, share)


@pytest.mark.slow
def test_the_headers_alone_are_read_of_1_gib(tmp_path: Path) -> None:
    check_bytes_read(tmp_path / "t-0", 1 << 14, 1 << 30, 0.02)


def shown(capsys: pytest.CaptureFixture[str], status: int, *arguments: object) -> str:
    assert main(["info", *map(str, arguments)]) == status
    return capsys.readouterr().out


def as_json(capsys: pytest.CaptureFixture[str], status: int, *arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(shown(capsys, status, "--json", *arguments))
    return found


def test_topics_and_partitions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    orders(tmp_path)
    kc.write(pa.table({"value": [b"x"]}), tmp_path, topic="__consumer_offsets")
    out = shown(capsys, 0, tmp_path)
    assert out.index("orders") < out.index("internal topics:") < out.index("__consumer_offsets")
    assert "2 topics, 4 partitions" in out
    assert "3,001 records" in out
    found = as_json(capsys, 0, tmp_path)
    assert [(each["topic"], each["isInternal"]) for each in found["topics"]] == [
        ("__consumer_offsets", True), ("orders", False),
    ]  # fmt: skip
    parts = found["topics"][1]["partitions"]
    assert [(each["firstOffset"], each["lastOffset"], each["records"]) for each in parts] == 3 * [(0, 999, 1000)]
    assert "orders-2" in shown(capsys, 0, tmp_path, "--by=partition")
    assert [each["topic"] for each in as_json(capsys, 0, tmp_path, "--topics=ord*")["topics"]] == ["orders"]


def test_partitions_is_a_filter_as_in_other_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    orders(tmp_path)
    out = shown(capsys, 0, tmp_path, "--by", "partition", "--partitions", "0,2")
    assert [line.split()[0] for line in out.splitlines()[1:3]] == ["orders-0", "orders-2"]
    assert "1 topic, 2 partitions" in out
    found = as_json(capsys, 0, tmp_path, "--partitions", "1")
    assert [each["partition"] for each in found["topics"][0]["partitions"]] == [1]
    assert main(["info", str(tmp_path), "--partitions", "7"]) == 2
    assert "partition 7" in capsys.readouterr().err


def test_times_beyond_dates_have_their_unit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The year 9999 is the last one of a date; a time after it is not rounded to a second."""
    times = pa.array([1_700_000_000_123, 2**62 + 1])
    kc.write(pa.table({"value": [b"x", b"y"], "timestamp": times}), tmp_path, topic="t")
    out = shown(capsys, 0, tmp_path)
    assert "2023-11-14T22:13:20Z" in out.splitlines()[1]
    assert f"{2**62 + 1} ms" in out.splitlines()[1]
    assert f"time: 2023-11-14T22:13:20.123Z to {2**62 + 1} ms" in out


@pytest.mark.parametrize("order", ["bytes", "records", "name"])
def test_sort(tmp_path: Path, capsys: pytest.CaptureFixture[str], order: str) -> None:
    kc.write(pa.table({"value": [b"x" * 9000]}), tmp_path, topic="b-large", compression_type="none")
    kc.write(pa.table({"value": [b"x"] * 9}), tmp_path, topic="c-many")
    kc.write(pa.table({"value": [b"x"]}), tmp_path, topic="a-small")
    names = [line.split()[0] for line in shown(capsys, 0, tmp_path, f"--sort={order}").splitlines()[1:4]]
    first = {"bytes": "b-large", "records": "c-many", "name": "a-small"}[order]
    assert names[0] == first


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_number_is_truncated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    orders(tmp_path)
    monkeypatch.setenv("COLUMNS", str(width))
    out = shown(capsys, 0, tmp_path, "--by=partition")
    assert "…" not in out
    found = as_json(capsys, 0, tmp_path)["topics"][0]["partitions"]
    assert all(f"{each['bytes']:,}" in out for each in found)


def test_what_is_corrupt_or_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corrupt_disk(tmp_path)
    # The headers of the batch with the flipped byte are right; its checksum is not looked at unless --deep is given.
    found = {each.partition: each for each in kc.LogDir(tmp_path).info(partitions=[2]).partitions}
    assert found[2].corrupt_bytes > 0
    out = shown(capsys, 1, tmp_path, "--deep")
    assert "missing: orders-1: offsets 0 to 324 (corrupt)" in out
    deep = kc.LogDir(tmp_path).info(deep=True)
    assert deep.records == pa.table(kc.scan(tmp_path, on_error="skip")).num_rows
    gap = sorted((tmp_path / "orders-0").glob("*.log"))
    assert len(gap) > 1
    kc.write(pa.table({"value": [b"x"] * 500}), tmp_path / "other", topic="g", segment_bytes=1 << 10, batch_bytes=200,
             compression_type="none")  # fmt: skip
    segments = sorted((tmp_path / "other" / "g-0").glob("*.log"))
    segments[1].unlink()
    first, last = int(segments[1].stem), int(segments[2].stem) - 1
    assert f"missing: g-0: offsets {first} to {last} (gap)" in shown(capsys, 1, tmp_path / "other")


def test_bytes_that_are_read_again_are_no_share(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("this is a text, and no log")
    assert "(some of their 26 more than once)" in shown(capsys, 1, tmp_path / "notes.txt")


def test_a_wrong_size_hides_only_its_batch(tmp_path: Path) -> None:
    """Where a size leads to no batch, the batch is verified, and the walk resumes at the next intact one."""
    count = segment(tmp_path / "t-0", 4096, 100_000)
    path = tmp_path / "t-0" / NAME
    content = bytearray(path.read_bytes())
    size = int.from_bytes(content[8:12], "big") + 12
    for at, change in ((3 * size + 10, 0x20), (9 * size + 11, 0x01), (15 * size + 8, 0x40)):
        content[at] ^= change
    path.write_bytes(content)
    found = kc.LogDir(tmp_path).info()
    assert found.records == pa.table(kc.scan(tmp_path, on_error="skip")).num_rows == count - 48
    assert [(each.first_offset, each.last_offset, each.reason) for each in found.partitions[0].missing] == [
        (48, 63, "corrupt"), (144, 159, "corrupt"), (240, 255, "corrupt"),
    ]  # fmt: skip
    assert found.corrupt_bytes == 3 * size


def test_open_transactions(small_vectors: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a committed reader does not see, because no marker ends it."""
    folder = small_vectors / "modern" / "txn-open"
    found = kc.LogDir(folder).info().partitions[0].open_transactions
    committed = pa.table(kc.scan(folder, isolation_level="read_committed")).column("offset")
    assert min(each.first_offset for each in found) > max(committed.to_pylist())
    rows = pa.table(kc.scan(folder, columns=["offset", "producerId"], start_offset=found[0].first_offset)).to_pylist()
    for each in found:
        own = [row["offset"] for row in rows if row["producerId"] == each.producer_id]
        assert (each.first_offset, each.last_offset, each.records) == (own[0], own[-1], len(own))
    assert f"open transaction: txn-open-0: producer {found[0].producer_id}" in shown(capsys, 0, folder)


@pytest.mark.parametrize(
    "folder", sorted(EXAMPLES.glob("kafka-0.*/*-0")), ids=lambda each: f"{each.parent.name}/{each.name}"
)
def test_compressed_messages_are_estimated(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = kc.LogDir(folder).info()
    wanted = pa.table(kc.scan(folder, columns=["offset"])).num_rows
    assert found.records == wanted if found.is_exact else found.records >= wanted
    magics = {each.message_format for each in found.counts if each.compression_type != "none"}
    assert found.is_exact == (not magics & {"0", "1"})
    status = 0 if not found.gaps else 1
    assert ("about" in shown(capsys, status, folder)) == (not found.is_exact)
    deep = kc.LogDir(folder).info(deep=True)
    assert (deep.records, deep.is_exact) == (wanted, True)
    assert deep.ratio is not None


VECTORS = ["modern/restarts", "modern/txn-open", "modern/damaged-restarts-flipped-body"]


def check_deep_counts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By compression type, as a check has them; records as a scan gives them."""
    deep = kc.LogDir(folder).info(deep=True)
    main(["verify", "--json", str(folder)])
    report = json.loads(capsys.readouterr().out)
    for codec in {each["compressionType"] for each in report["counts"]}:
        verified = [each for each in report["counts"] if each["compressionType"] == codec]
        ours = [each for each in deep.counts if each.compression_type == codec]
        for name, field in (("batches", "batches"), ("storedBytes", "stored_bytes"), ("recordsBytes", "records_bytes")):
            assert abs(sum(each[name] for each in verified) - sum(getattr(each, field) for each in ours)) < len(ours)
    assert deep.records == sum(each.records for each in deep.counts) == pa.table(
        kc.scan(folder, columns=["offset"], on_error="skip")
    ).num_rows  # fmt: skip


@pytest.mark.parametrize("name", VECTORS)
def test_deep_counts_are_those_of_verify(name: str, small_vectors: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = small_vectors / name
    if not folder.exists():
        pytest.skip("of the full set")
    check_deep_counts(folder, capsys)


@pytest.mark.parametrize(
    "folder", sorted(EXAMPLES.glob("kafka-0.*/*-0")), ids=lambda each: f"{each.parent.name}/{each.name}"
)
def test_deep_counts_of_old_formats(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check_deep_counts(folder, capsys)


def test_deep_counts_of_a_corrupt_disk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corrupt_disk(tmp_path)
    check_deep_counts(tmp_path, capsys)


def test_the_ratio_is_known_with_deep_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No header has the size of the records."""
    orders(tmp_path)
    assert " n/a " in shown(capsys, 0, tmp_path)
    assert as_json(capsys, 0, tmp_path)["ratio"] is None
    assert as_json(capsys, 0, tmp_path, "--deep")["ratio"] > 0
