"""The other side of a comparison: a program of its own, mostly in a JVM, that times a pass whenever it is asked to."""

from __future__ import annotations

import json
import subprocess
import time
from typing import IO, Any, Self

import make_segments

# The collector that served Java best on two cores; a heap in which a pass's garbage is hardly ever collected.
OPTIONS = ("-Xms2g", "-Xmx2g", "-XX:+UseSerialGC")
STOP_TIMEOUT = 20.0
CPUCLOCK_SCHED = 2


class Program:
    """A program that times a pass for each line of its input; warmed up when entered, idle but for `one_pass`."""

    def __init__(self, *command: str) -> None:
        self._command = command
        #: What the last pass counted.
        self.last: dict[str, Any] = {}

    def __enter__(self) -> Self:
        """Starts it and waits until it is warm."""
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self._line() != "ready":
            raise RuntimeError(f"did not start: {self._command}")
        return self

    def one_pass(self) -> float:
        """The seconds that a pass took."""
        stdin = _open(self._process.stdin)
        stdin.write("\n")
        stdin.flush()
        self.last = json.loads(self._line())
        return float(self.last["seconds"])

    def cpu_seconds(self) -> float:
        """The processor time of all its threads so far; of a JVM, its collector's and compiler's, too."""
        # The kernel's clock id of a process's time (clock_getcpuclockid(3), which Python does not have).
        return time.clock_gettime((~self._process.pid << 3) | CPUCLOCK_SCHED)

    def __exit__(self, *_: object) -> None:
        """Ends it: it stops when its input ends."""
        _open(self._process.stdin).close()
        try:
            self._process.wait(STOP_TIMEOUT)
        finally:
            self._process.kill()
            self._process.wait()
            _open(self._process.stdout).close()

    def _line(self) -> str:
        return _open(self._process.stdout).readline().strip()


def java(bench: str, warm_up_ms: int, *options: str) -> Program:
    """One of the programs in java/, in a JVM of its own."""
    start = ("java", *OPTIONS, "-cp", make_segments.class_path(), f"kafkacomp.bench.{bench}")
    return Program(*start, *options, "--warm-up-ms", str(warm_up_ms))


def _open(stream: IO[str] | None) -> IO[str]:
    if stream is None:
        raise RuntimeError("the stream is not a pipe")
    return stream
