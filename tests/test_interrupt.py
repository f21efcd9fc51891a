"""Ctrl-C ends what looks through a file with nothing to deliver: a terabyte of zeros, or of corrupt bytes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from golden.expect import SMALL

if TYPE_CHECKING:
    from pathlib import Path

BATCHES = (SMALL / "modern" / "restarts" / "restarts-0" / "00000000000000000000.log").read_bytes()

#: What would take minutes or hours.
CALLS = {
    "verify": "kc.log.verify_segment(path)",
    "repair": "kc.log.repair(path, sys.argv[2])",
    "scan": "list(kc.scan(path, columns=['offset'], on_error='skip'))",
    "scan on threads": "list(kc.scan(path, columns=['offset'], on_error='skip', options=kc.ScanOptions(threads=3)))",
    "strict scan": "list(kc.scan(path, columns=['offset']))",
    "unverified": "list(kc.scan(path, columns=['offset'], on_error='skip', options=kc.ScanOptions(verify_crc=False)))",
    "Arrow consumer": "consume(path)",
    "batches": "for _ in kc.LogDir(sys.argv[3]).partitions[0].segments[0].batches(): pass",
    "greatest timestamp": "kc.LogDir(sys.argv[3]).partitions[0].segments[0].max_timestamp",
    "committed": "list(kc.scan(path, columns=['offset'], on_error='skip', isolation_level='read_committed'))",
}

#: What ends where corruption begins.
ENDS = {("strict scan", "corrupt"), ("batches", "corrupt"), ("greatest timestamp", "corrupt")}

PROGRAM = """
import signal, sys
import pyarrow as pa
import kafkacomp as kc


def consume(path):
    reader = kc.scan(path, columns=['offset'], on_error='skip')
    try:
        pa.table(reader)
    except pa.ArrowInvalid as error:
        assert "KeyboardInterrupt" in str(error), error
        raise reader.error


# A shell starts what runs in the background with SIGINT ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
path = sys.argv[1]
print("ready", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(
    ("call", "content"),
    [
        (call, content)
        for call in CALLS
        for content in ("zeros", "corrupt", "a false size")
        if (call, content) not in ENDS
    ],
)
def test_ctrl_c(tmp_path: Path, call: str, content: str) -> None:
    path = tmp_path / "t-0" / "00000000000000000000.log"
    path.parent.mkdir()
    with path.open("wb") as file:
        file.write(BATCHES)
        if content == "corrupt":
            file.write(b"\7" * 100)
        elif content == "a false size":
            file.write(bytes(8) + (0x7FFF_FFF0).to_bytes(4, "big") + bytes(4) + b"\2" + bytes(44))
        file.truncate(1 << 40)
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            PROGRAM.format(call=CALLS[call]),
            str(path),
            str(tmp_path / "repaired" / "t-0"),
            str(tmp_path),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert output == "interrupted\n"
