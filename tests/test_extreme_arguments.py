"""Whatever a caller passes is taken or refused by an exception of Python's or of the package: no panic, no abort."""

from __future__ import annotations

import inspect
import itertools
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import kafkacomp as kc
from kafkacomp import arrow, broker, gzip, log, lz4, message_set, record, snappy, zstd

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NUMBERS = (0, -1, 1, 2**7, 2**15, 2**31 - 1, 2**31, -(2**31), 2**32, 2**63 - 1, 2**63, -(2**63), 2**64, -(2**64))
FLOATS = (0.0, -0.0, -1.0, 1e9, 1e18, 1e308, float("inf"), float("-inf"), float("nan"))
OTHERS: list[object] = [
    None,
    True,
    "",
    "x" * 300,
    "\0",
    "\ud800",
    b"",
    b"\0" * 100,
    [],
    [None],
    (),
    {},
    object(),
    1j,
]
VALUES = (*NUMBERS, *FLOATS, *OTHERS)
MODULES = (gzip, snappy, lz4, zstd, record, message_set, log, arrow, broker, kc)
#: They look at the network, other folders or standard streams, or are run in a process of their own below.
LEFT_OUT = {"open", "scan", "write", "recompress", "convert", "repair", "write_log", "read_text"}
BATCH = record.RecordBatchBuilder()
BATCH.append(b"value")
DATA = BATCH.build()


def attempt(call: Callable[..., Any], *args: Any, **options: Any) -> None:
    """Call; an exception must be one that a program can catch and understand."""
    try:
        made = call(*args, **options)
        if hasattr(made, "__next__"):
            for _ in itertools.islice(made, 3):
                pass
    except SystemError:
        raise
    except Exception:  # noqa: BLE001, S110 - any but SystemError; a panic is a BaseException and passes through
        pass


def functions() -> list[Any]:
    """Every public function and class of the modules that the package's users are given."""
    found = []
    for module in MODULES:
        for name in module.__all__:
            thing = getattr(module, name)
            if (
                callable(thing)
                and name not in LEFT_OUT
                and not (inspect.isclass(thing) and issubclass(thing, BaseException))
            ):
                found.append(pytest.param(thing, id=f"{module.__name__}.{name}"))
    return found


def parameters(call: Callable[..., Any]) -> tuple[int, list[str]]:
    """How many arguments must be there, and the names of the others."""
    try:
        given = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return 1, []
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed = [one for one in given if one.default is one.empty and one.kind not in kinds]
    return len(needed), [one.name for one in given if one.default is not one.empty]


@pytest.mark.parametrize("call", functions())
def test_every_argument_of_every_function(call: Callable[..., Any]) -> None:
    needed, optional = parameters(call)
    for value in VALUES:
        attempt(call, *[value] * needed)
        for name in optional:
            attempt(call, *[DATA] * needed, **{name: value})


METHODS = [
    name
    for name in dir(record.RecordBatchBuilder)
    if not name.startswith("_") and callable(getattr(record.RecordBatchBuilder, name))
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("compression_type", ["none", "gzip", "zstd"])
def test_every_argument_of_the_builder(method: str, compression_type: str) -> None:
    for value in VALUES:
        for count in range(4):
            builder = record.RecordBatchBuilder(compression_type=compression_type)
            builder.append(b"value")
            attempt(getattr(builder, method), *[value] * count)
            attempt(lambda builder=builder: builder.estimated_size_in_bytes)
            attempt(builder.build)


@pytest.mark.parametrize("name", [name for name in parameters(arrow.scan)[1] if name != "source"])
def test_every_argument_of_scan(name: str) -> None:
    for value in VALUES:
        attempt(arrow.scan, DATA, **{name: value})


# Sizes that no machine has, under a limit of address space: a process of its own, which must end by itself.
RISKY = """
import resource, sys
import kafkacomp as kc
from kafkacomp import arrow, gzip, log, lz4, message_set, record, snappy, zstd

resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
builder = record.RecordBatchBuilder(compression_type="gzip")
builder.set_estimated_compression_ratio(float(sys.argv[1]))
builder.append(b"x" * 1000)
assert len(builder.build()) < 1000
big = bytes(200 << 20)
for module in (gzip, snappy, lz4, zstd):
    compressed = module.compress(big)
    held = bytes(500 << 20)
    for take in (module.decompress, lambda data: module.open(__import__("io").BytesIO(data)).read()):
        try:
            take(compressed)
        except MemoryError:
            pass
    del held
try:
    record.RecordBatchBuilder().append(big, headers=[("h", big)] * 5)
except MemoryError:
    pass
"""


@pytest.mark.parametrize("ratio", ["1e9", "1e18", "3e38"])
def test_sizes_that_no_machine_has(ratio: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RISKY, ratio], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_paths_of_any_kind(tmp_path: Path) -> None:
    for call in (log.repair, log.recompress, log.convert):
        for value in VALUES:
            if isinstance(value, str) and value in {"", "x" * 300}:
                continue
            attempt(call, value, str(tmp_path / "never"))
    assert list(tmp_path.iterdir()) == []
