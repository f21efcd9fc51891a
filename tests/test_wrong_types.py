"""An argument of the wrong type is named before any work begins."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from grouped import grouped
from kafkacomp import log

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: An argument of `scan`, a value of a wrong type, and what it must be.
SCAN: list[tuple[str, Any, str]] = [
    ("columns", 5, "a collection of names, not int"),
    ("columns", "offset", "a collection of names, not the string 'offset'"),
    ("columns", [5], "a collection of names, not of int"),
    ("columns", b"offset", "a collection of names, not of int"),
    ("topics", 5, "a collection of names, not 5"),
    ("topics", [5], "a collection of names, not of int"),
    ("partitions", 5, "a collection of numbers, not 5"),
    ("partitions", ["0"], "an int, not str"),
    ("start_offset", "0", "an int or a mapping of .* not str"),
    ("end_offset", [0], "an int or a mapping of .* not list"),
    ("start_time", "2024", "milliseconds since the epoch, or a datetime with a time zone, not str"),
    ("threads", "2", "an int, not str"),
    ("batch_rows", 1.5, "an int, not float"),
    ("arrow_batch_bytes", "1k", "an int, not str"),
    ("visible_only", 1, "a bool, not int"),
    ("verify_crc", None, "a bool, not NoneType"),
    ("progress", 5, "callable, or None, not int"),
]


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    kc.write(pa.table({"value": [b"first", b"second"]}), tmp_path / "logs", topic="orders")
    return tmp_path / "logs"


def _write(folder: Path, **options: Any) -> object:
    return kc.write(pa.table({"value": [b"third"]}), folder.parent / "new", **options)


def _convert(folder: Path, **options: Any) -> object:
    return log.convert(folder, folder.parent / "new", to_magic=1, **options)


def _verify_partition(folder: Path, **options: Any) -> object:
    return log.verify_partition(folder / "orders-0", **options)


@pytest.mark.parametrize(("name", "value", "wanted"), SCAN)
def test_scan(name: str, value: Any, wanted: str, folder: Path) -> None:
    with pytest.raises(TypeError, match=f"^{name} must be {wanted}"):
        kc.scan(folder, **grouped(**{name: value}))


@pytest.mark.parametrize(
    "call",
    [
        lambda folder, **options: log.recompress(folder, folder.parent / "new", compression_type="gzip", **options),
        lambda folder, **options: log.convert(folder, folder.parent / "new", to_magic=1, **options),
        lambda folder, **options: log.repair(folder, folder.parent / "new", **options),
        kc.advise,
        lambda folder, **options: log.verify_segment(folder / "orders-0" / f"{0:020}.log", **options),
        lambda folder, **options: kc.LogDir(folder).verify(**options),
    ],
    ids=["recompress", "convert", "repair", "advise", "verify_segment", "LogDir.verify"],
)
def test_progress(call: Callable[..., object], folder: Path) -> None:
    with pytest.raises(TypeError, match=r"^progress must be callable, or None, not int$"):
        call(folder, progress=5)
    assert [each.name for each in folder.parent.iterdir()] == ["logs"]


@pytest.mark.parametrize(
    ("call", "name", "value", "wanted"),
    [
        (_write, "topic", 5, "a str, not int"),
        (_write, "topic", b"orders", "a str, not bytes"),
        (_convert, "upgrade", 1, "a bool, not int"),
        (_convert, "first_offset", "0", "an int, not str"),
        (_convert, "offset_map", 5, "a path, .* not int"),
        (kc.advise, "assume_rate", "500k", "a number, or None, not str"),
        (kc.advise, "max_latency_ms", [5], "a number, or None, not list"),
        (kc.advise, "prices", 5, "a path, .* not int"),
        (_verify_partition, "max_output_size", "1g", "an int, not str"),
    ],
)
def test_others(call: Callable[..., object], name: str, value: Any, wanted: str, folder: Path) -> None:
    with pytest.raises(TypeError, match=f"^{name} must be {wanted}"):
        call(folder, **{name: value})
    assert [each.name for each in folder.parent.iterdir()] == ["logs"]


def test_output_limits_out_of_range(folder: Path) -> None:
    for value in (-1, 0, 2**70):
        with pytest.raises(ValueError, match=r"^max_output_size must be 1 to "):
            _verify_partition(folder, max_output_size=value)


#: What no parameter takes by accident.
WRONG: tuple[object, ...] = (5, None, [], {}, "", b"", object(), "a\0b")
MODULES = (kc, kc.log, kc.record, kc.message_set, kc.arrow, kc.advice, kc.gzip, kc.lz4, kc.snappy, kc.zstd)


def functions(folder: Path) -> Iterator[tuple[str, Callable[..., Any], dict[str, Any]]]:
    """Public functions and methods, with values for the parameters that have no default."""
    segment = folder / "orders-0" / f"{0:020}.log"
    data = segment.read_bytes()
    given: dict[str, Any] = {
        "batch_size": 100, "compression_type": "gzip", "data": data, "file": segment, "fields": [], "frame_buffer": b"",
        "key": b"\0\0\0\1", "messages": [b"payload"], "other": folder, "out": bytearray(9), "position": 0,
        "reader": kc.scan(folder),
        "records": data, "rows": pa.table({"value": [b"third"]}), "sets": [b""], "source": folder / "orders-0",
        "timestamp": 0, "to_magic": 1, "topic": "orders", "value": bytes(6),
    }  # fmt: skip
    logs = kc.LogDir(folder)
    owners = [*MODULES, logs, logs["orders", 0], logs["orders", 0].segments[0]]
    found = {
        (getattr(owner, "__name__", type(owner).__name__), name): getattr(owner, name)
        for owner in owners
        for name in [*getattr(owner, "__all__", [each for each in dir(type(owner)) if not each.startswith("_")])]
    }
    found["LogDir", "[]"] = logs.__getitem__
    for (owner, name), function in found.items():
        if inspect.isfunction(function) or inspect.ismethod(function):
            required = [
                each.name
                for each in inspect.signature(function).parameters.values()
                if each.default is each.empty and each.kind in {each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY}
            ]
            made = {each: folder.parent / "made" if each == "target" else given.get(each, 0) for each in required}
            yield f"{owner}.{name}", function, made


def test_every_parameter_of_every_function(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a value, or the error names it: no words of Python or of a library about something inside."""
    monkeypatch.chdir(folder.parent)
    wrong = []
    for where, function, given in functions(folder):
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
                continue
            for value in WRONG:
                shutil.rmtree(folder.parent / "made", ignore_errors=True)
                try:
                    result = function(**given | {parameter.name: value})
                    if isinstance(result, Iterator):
                        list(result)
                except Exception as error:  # noqa: BLE001 - whatever there is
                    text = " ".join([str(error), *getattr(error, "__notes__", [])])
                    is_named = parameter.name.rpartition("source_")[2] in text or not isinstance(error, TypeError)
                    if not is_named or isinstance(error, AttributeError | IndexError) or "embedded null" in text:
                        wrong.append(f"{where}({parameter.name}={value!r}): {type(error).__name__}: {text}")
    assert not wrong, "\n".join(wrong)
