"""Allocations that fail: the answer is the right data or MemoryError. See README.md."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from faults import operations

HERE = Path(__file__).resolve().parent
NAMES = (
    *(
        f"{way}_{codec}"
        for way in ("compress", "decompress", "stream", "read_stream")
        for codec in ("gzip", "snappy", "lz4", "zstd")
    ),
    "scan",
    "scan_skip",
    "scan_skip_threads",
    "scan_alternating",
    "scan_views",
    "verify",
    "repair",
    "recompress",
    "merge",
    "convert",
    "write",
    "records",
    "build_batches",
    "decompress_cells",
    "compress_cells",
    "parse_cells",
    "messages",
    "write_messages",
    "committed",
    "side_files",
)

#: What the standard library, Python and Arrow allocate themselves is smaller, but for what data determine.
LARGE = (1 << 20, 1 << 62)
TIMEOUT = 600


class Place(NamedTuple):
    """What all runs share."""

    shim: Path
    folder: Path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs cc and glibc")
    folder = tmp_path_factory.mktemp("faults")
    shim = folder / "failing_malloc.so"
    source = HERE / "failing_malloc.c"
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", str(shim), str(source)], check=True)
    operations.make_log(folder / "log")
    return Place(shim, folder / "log")


def run(place: Place, tmp_path: Path, name: str, sizes: tuple[int, int], at_most: int) -> int:
    """Run an operation under the shim; how many allocations were refused."""
    folder = tmp_path / "log"
    shutil.copytree(place.folder, folder)
    return int(under_shim(place, [str(folder), name, *map(str, sizes), str(at_most)]).stdout.splitlines()[-1])


def under_shim(place: Place, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """The program with the shim before the C library."""
    command = [sys.executable, str(HERE / "operations.py"), *arguments]
    environment = {**os.environ, "LD_PRELOAD": str(place.shim), "ARROW_DEFAULT_MEMORY_POOL": "system"}
    environment["RUST_BACKTRACE"] = "0"
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert done.returncode == 0, f"{done.stdout[-500:]}\n{done.stderr[-3000:]}"
    return done


@pytest.mark.parametrize(
    "name",
    ["scan_skip", "scan_alternating", "scan_views", "repair", "decompress_zstd", "decompress_cells", "side_files"],
)
def test_a_failed_allocation_is_a_memory_error(place: Place, tmp_path: Path, name: str) -> None:
    assert run(place, tmp_path, name, LARGE, 3) > 0


#: Levels of codecs whose contexts have sizes of their own.
LEVELS = tuple(f"compress_{codec}_{level}" for codec, levels in operations.LEVELS.items() for level in levels)
#: An exception of C++ that pyarrow throws and does not catch; the shim shows the frames.
THROWN = r"""terminate called after throwing an instance of 'std::bad_alloc'
  what\(\):  std::bad_alloc
\S*failing_malloc\.so\(abort\S+
(?:\S*/libstdc\+\+\S+
)+\S*/pyarrow/libarrow"""
#: What ends a process for lack of less than a mebibyte: small allocations of Rust, of the loader for thread-locals, and
#: of pyarrow's C++.
ENDS = re.compile(rf"memory allocation of \d+ bytes failed|cannot allocate memory for thread-local data|{THROWN}")
QUICK_SIZES = ("compress_zstd_22", "decompress_gzip")
SLOW_SIZES = tuple(name for name in (*NAMES, *LEVELS) if name not in QUICK_SIZES)


@pytest.mark.parametrize(
    "name",
    [*QUICK_SIZES, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW_SIZES)],
)
def test_allocations_of_every_size_fail(place: Place, tmp_path: Path, name: str) -> None:
    """The contexts of zstd and libdeflate as well: no other exception, no data left out."""
    folder = tmp_path / "log"
    shutil.copytree(place.folder, folder)
    done = under_shim(place, [str(folder), name, "4096"])
    statuses = [int(line.rpartition(" ")[2]) for line in done.stdout.splitlines() if line.startswith("size ")]
    assert len(statuses) == int(done.stdout.splitlines()[-1])
    # Whatever did not end well must have ended by itself, for lack of a small allocation.
    assert len(ENDS.findall(done.stderr)) == sum(status != 0 for status in statuses), done.stderr[-3000:]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_large_allocation_may_fail(place: Place, tmp_path: Path, name: str) -> None:
    run(place, tmp_path, name, LARGE, 60)
