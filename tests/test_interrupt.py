"""Ctrl-C ends what looks through a file in which there is nothing to deliver: a terabyte of zeros, or of corrupt bytes."""

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
    "repair": "kc.log.repair(path, path + '.new')",
    "scan": "list(kc.scan(path, columns=['offset'], on_error='skip'))",
    "scan on threads": "list(kc.scan(path, columns=['offset'], on_error='skip', threads=3))",
    "strict scan": "list(kc.scan(path, columns=['offset']))",
    "committed": "list(kc.scan(path, columns=['offset'], on_error='skip', isolation_level='read_committed'))",
}

PROGRAM = """
import sys
import kafkacomp as kc
path = sys.argv[1]
print("ready", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
@pytest.mark.parametrize("content", ["zeros", "corrupt"])
def test_ctrl_c(tmp_path: Path, call: str, content: str) -> None:
    if content == "corrupt" and call == CALLS["strict scan"]:
        pytest.skip("ends at once")  # as it should
    path = tmp_path / "00000000000000000000.log"
    with path.open("wb") as file:
        file.write(BATCHES)
        if content == "corrupt":
            file.write(b"\7" * 100)
        file.truncate(1 << 40)
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(call=call), str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert output == "interrupted\n"
