"""Bare sets of Kafka 0.7 carried over: the same as a whole log of these bytes, and never a guess which Kafka it is."""

from __future__ import annotations

import csv
import random
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kafkacomp as kc
from kafkacomp import log, message_set, record
from kafkacomp._cli import main
from kafkacomp.record import RecordBatchBuilder

from .expect import roots
from .test_v07 import CASES, Case, by_name
from .test_v07_migrate import NESTED
from .test_v07_scan import deep

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

magics = pytest.mark.parametrize("magic", [0, 1, 2])


def by_log(data: bytes, magic: int, folder: Path, **options: Any) -> message_set.Converted:
    """What ``log.convert`` makes of these bytes as the only file of a partition: batches and map."""
    initial = options.pop("initial_offset", 0)
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "t-0").mkdir(parents=True)
    (folder / "t-0" / f"{initial:020}.kafka").write_bytes(data)
    log.convert(folder / "t-0", folder / "out", magic, offset_map=folder / "map.csv", log_format="0.7", **options)
    with (folder / "map.csv").open(newline="") as file:
        rows = [message_set.MappedPosition(int(row["position"]), int(row["offset"])) for row in csv.DictReader(file)]
    data = b"".join(path.read_bytes() for path in sorted((folder / "out").glob("*.log")))
    return message_set.Converted(data, rows)


def outcome(work: Callable[[], object]) -> tuple[object, tuple[Any, ...] | None]:
    """What it gives, or the error's kind and place."""
    try:
        return work(), None
    except kc.KafkaCompError as error:
        return None, (type(error), getattr(error, "kind", None), getattr(error, "position", None))


@magics
@by_name
def test_every_golden_file(case: Case, magic: int, tmp_path: Path) -> None:
    """As the log, also what is wrong; but for a cut end, which a set may have."""
    data = case.path.read_bytes()
    ours, ours_error = outcome(lambda: message_set.convert(data, magic, first_offset=7, initial_offset=100))
    wanted = [payload for _, payload in deep(case)]
    if ours is not None:
        assert isinstance(ours, message_set.Converted)
        rows = [(r.offset, r.key, r.value) for b in record.read_batches(ours.data) for r in b]
        assert rows == [(7 + n, None, payload) for n, payload in enumerate(wanted)]
        data = data[: message_set.valid_bytes(data)]
        assert record.convert(data, magic, first_offset=7, upgrade=True, log_format="0.7") == ours.data
        assert ours.offset_map[-1] == (100 + len(data), 7 + len(wanted))
    theirs, their_error = outcome(lambda: by_log(data, magic, tmp_path, first_offset=7, initial_offset=100))
    assert (ours, ours_error is None) == (theirs, their_error is None)


@st.composite
def message_sets(draw: st.DrawFn, depth: int = 3) -> bytes:
    """Sets of plain messages and wrappers in wrappers, of magic 0 and 1."""
    parts = []
    for _ in range(draw(st.integers(0, 6))):
        if depth and draw(st.booleans()):
            inner = [m for m, _ in message_set.read_messages(draw(message_sets(depth - 1)), deep=False)]
            parts.append(message_set.write_messages(inner, draw(st.sampled_from(["gzip", "snappy"]))))
        else:
            parts.append(message_set.write_messages([draw(st.binary(max_size=300))]))
    return b"".join(parts)


@settings(max_examples=60, deadline=None)
@given(
    data=message_sets(),
    magic=st.integers(0, 2),
    first_offset=st.sampled_from([0, 1, 2**31, 2**62 - 1]),
    batch_bytes=st.sampled_from([1, 500, 16384]),
)
def test_a_set_becomes_what_its_log_becomes(
    data: bytes, magic: int, first_offset: int, batch_bytes: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Byte for byte, and the same map."""
    options: dict[str, Any] = {"first_offset": first_offset, "batch_bytes": batch_bytes}
    converted = message_set.convert(data, magic, initial_offset=5000, **options)
    assert converted == by_log(data, magic, tmp_path_factory.getbasetemp() / "logs", initial_offset=5000, **options)
    assert record.convert(bytearray(data), magic, upgrade=True, log_format="0.7", **options) == converted.data
    read = [message.payload for message, _ in message_set.read_messages(data)]
    rows = [(r.offset, r.value) for b in record.read_batches(converted.data) for r in b]
    assert rows == [(first_offset + n, payload) for n, payload in enumerate(read)]
    if any(read):
        assert record.convert(data, magic, upgrade=True, **options) == converted.data


def test_a_set_is_cut_anywhere() -> None:
    """What its end cuts is left out, and the map ends there; a set that is one cut entry is an error."""
    parts = [message_set.write_messages([b"%d" % n] * 3, codec) for n, codec in enumerate(["gzip", "snappy", "gzip"])]
    data = b"".join(parts)
    whole = [0, len(parts[0]), len(parts[0] + parts[1]), len(data)]
    for end in range(4, len(data) + 1):
        count = sum(at <= end for at in whole) - 1
        if count == 0:
            with pytest.raises(kc.MessageSetError) as caught:
                message_set.convert(data[:end], 2)
            assert caught.value.kind == "invalid_message_size"
            continue
        converted = message_set.convert(data[:end], 2)
        assert converted.offset_map == [(at, 3 * n) for n, at in enumerate(whole[: count + 1])]
        assert converted.data == message_set.convert(data[: whole[count]], 2).data


def test_never_a_guess() -> None:
    """The content tells, or the caller; without ``upgrade`` a set of 0.7 is refused, later ones are as they were."""
    old = message_set.write_messages([b"value"] * 3, "gzip")
    builder = RecordBatchBuilder(1, "gzip", base_offset=5 << 32)
    builder.append(b"value")
    new = builder.build()
    assert [r.value for b in record.read_batches(record.convert(old, 2, upgrade=True)) for r in b] == [b"value"] * 3
    assert record.convert(new, 2, upgrade=True) == record.convert(new, 2, upgrade=True, log_format="0.8+") != new
    for form in ("auto", "0.7"):
        with pytest.raises(ValueError, match="use upgrade=True"):
            record.convert(old, 2, log_format=form)
    damaged = bytearray(old)
    damaged[7] ^= 1
    for data in (bytes(damaged), old[:20], old[:4], new[:12]):
        with pytest.raises(ValueError, match="give log_format"):
            record.convert(data, 2, upgrade=True)
    with pytest.raises(kc.MessageSetError):
        record.convert(damaged, 2, upgrade=True, log_format="0.7")
    first = bytes(8) + new[8:]
    for cut in (*(first[:size] for size in range(40)), old[:3], b"\xff" * 11):
        assert record.convert(cut, 2, upgrade=True) == b""
    assert record.convert(new[:12], 1) == record.convert(b"", 1) == record.convert(b"", 2, upgrade=True) == b""
    with pytest.raises(ValueError, match="format must be"):
        record.convert(new, 1, log_format="0.8")  # type: ignore[arg-type]
    for argument in ({"to_magic": 3}, {"first_offset": 2**62}, {"batch_bytes": 0}, {"initial_offset": -1}):
        with pytest.raises(ValueError, match=next(iter(argument))):
            message_set.convert(old, **{"to_magic": 2, **argument})
    with pytest.raises(TypeError):
        message_set.convert("text", 2)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(3))
def test_damage_and_bombs(seed: int) -> None:
    """A flipped bit is an error or what reading gives; what is above the cap is an error."""
    rng = random.Random(seed)
    inner = message_set.write_messages([rng.randbytes(rng.randrange(40)) for _ in range(5)], "snappy")
    nested = [m for m, _ in message_set.read_messages(inner, deep=False)]
    data = message_set.write_messages([*nested, b"x"], "gzip") + message_set.write_messages([b"plain"])
    for bit in range(len(data) * 8):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        read, read_error = outcome(lambda: [m.payload for m, _ in message_set.read_messages(flipped)])  # noqa: B023
        converted, error = outcome(lambda: message_set.convert(flipped, 2).data)  # noqa: B023
        assert error == read_error
        if isinstance(converted, bytes):
            assert [r.value for b in record.read_batches(converted) for r in b] == read
    bomb = message_set.write_messages([bytes(1 << 22)], "gzip")
    for _ in range(3):
        bomb = message_set.write_messages([m for m, _ in message_set.read_messages(bomb, deep=False)], "gzip")
    with pytest.raises(kc.OutputLimitError):
        message_set.convert(bomb, 2, max_output_size=1 << 20)


@pytest.mark.parametrize("command", ["recompress", "repair"])
def test_other_rewriting_is_refused(
    command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would move offsets, which are byte positions; nothing is written."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="byte positions"):
        getattr(log, command)(NESTED, tmp_path / "t-0")
    for source in (NESTED, next(NESTED.glob("*.kafka")), roots("v07")[0] / "broker"):
        assert main([command, str(source), "new"]) == 2
        assert "convert it instead" in capfd.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_torn_tail_is_cut_by_writing_the_log_anew(tmp_path: Path) -> None:
    """As the design notes say: no offset moves, and it can be carried over then."""
    (path,) = NESTED.glob("*.kafka")
    data = path.read_bytes()
    names = message_set.write_log([data[:-1]], tmp_path, topic="t")
    kept = (tmp_path / "t-0" / names[0]).read_bytes()
    assert kept == data[: message_set.valid_bytes(data[:-1])] != data
    log.convert(tmp_path / "t-0", tmp_path / "new", 2)


def test_there_are_cases() -> None:
    """An empty parametrization would pass."""
    assert CASES
