"""How often a segment is opened: once by a reader, whichever way in is taken."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import kafkacomp as kc

if TYPE_CHECKING:
    from pathlib import Path

SEGMENTS = 100
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="inotify")

#: Calls that read all segments of a log directory, and the most opens of each segment on average.
READERS = {
    "kc.scan(logs, columns=['offset']).read_all()": 1.1,
    "[*kc.LogDir(logs)['t', 0].scan(columns=['offset'])]": 1.1,
    "kc.scan(logs + '/t-*', columns=['offset']).read_all()": 1.1,
    "kc.LogDir(logs).verify()": 1.1,
    "kc.log.verify_partition(logs + '/t-0')": 1.1,
    "kc.LogDir(logs)['t', 0].verify()": 1.1,
    "kc.LogDir(logs).info()": 1.1,
    "kc.LogDir(logs).info(deep=True)": 1.1,
    "run(['verify', logs])": 1.1,
    "run(['info', logs])": 1.1,
    "run(['export', logs, '-o', os.devnull, '--format', 'jsonl'])": 1.1,
    "kc.polars.scan(logs).select('offset').collect()": 2.0,
}

#: Watches a folder by inotify around a call, and prints the names of the files that were opened, one a line.
WATCH = """
import ctypes, os, struct, sys
import kafkacomp as kc
from kafkacomp._cli.command import run
logs, call = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
watch = libc.inotify_init1(os.O_NONBLOCK)
IN_OPEN = 0x20
assert libc.inotify_add_watch(watch, os.fsencode(logs + "/t-0"), IN_OPEN) > 0
exec(call)
names = []
while True:
    try:
        events = os.read(watch, 1 << 20)
    except BlockingIOError:
        break
    at = 0
    while at < len(events):
        _, _, _, size = struct.unpack_from("iIII", events, at)
        names.append(events[at + 16 : at + 16 + size].rstrip(b"\\0").decode())
        at += 16 + size
print("\\n".join(["opened:", *names]))
"""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("opens") / "logs"
    rows = pa.table({"value": [b"v" * 100] * SEGMENTS})
    kc.write(rows, folder, topic="t", batch_bytes=100, segment_bytes=100, compression_type="none")
    assert len(list((folder / "t-0").glob("*.log"))) == SEGMENTS
    return folder


@pytest.mark.parametrize("call", READERS)
def test_a_segment_is_opened_once(logs: Path, call: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WATCH, str(logs), call], capture_output=True, text=True, check=True, timeout=120,
        env={**os.environ, "PYTHONUTF8": "1"},
    )  # fmt: skip
    opened = done.stdout.rpartition("opened:\n")[2].split()
    counts = Counter(name for name in opened if name.endswith(".log"))
    assert len(counts) == SEGMENTS
    assert sum(counts.values()) <= READERS[call] * SEGMENTS, counts.most_common(3)
