"""Kafka's consumer path in a JVM of its own that times a pass whenever it is asked to (java/.../ConsumerBench.java)."""

from __future__ import annotations

import json
import subprocess
import time
from typing import IO, TYPE_CHECKING, Self

import make_segments

if TYPE_CHECKING:
    from pathlib import Path

# The collector that served Java best on two cores; a heap in which a pass's garbage is hardly ever collected.
OPTIONS = ("-Xms2g", "-Xmx2g", "-XX:+UseSerialGC")
STOP_TIMEOUT = 20.0
CPUCLOCK_SCHED = 2


class JavaConsumer:
    """One segment, one way of reading and delivering; warmed up when entered, idle but for `one_pass`."""

    def __init__(self, path: Path, mode: str, deliver: str, warm_up_ms: int) -> None:
        self._arguments = ("--file", str(path), "--mode", mode, "--deliver", deliver, "--warm-up-ms", str(warm_up_ms))
        self.records = 0
        self.digest = 0

    def __enter__(self) -> Self:
        """Starts the JVM and waits until it is warm."""
        self._process = subprocess.Popen(
            ["java", *OPTIONS, "-cp", make_segments.class_path(), "kafkacomp.bench.ConsumerBench", *self._arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if self._line() != "ready":
            raise RuntimeError(f"the Java baseline did not start: {self._arguments}")
        return self

    def one_pass(self) -> float:
        """The seconds that reading the whole segment once took."""
        stdin = _open(self._process.stdin)
        stdin.write("\n")
        stdin.flush()
        done = json.loads(self._line())
        self.records, self.digest = done["records"], done["digest"]
        return float(done["seconds"])

    def cpu_seconds(self) -> float:
        """The processor time that the JVM has had so far, its collector and compiler included."""
        # The kernel's clock id of a process's time (clock_getcpuclockid(3), which Python does not have).
        return time.clock_gettime((~self._process.pid << 3) | CPUCLOCK_SCHED)

    def __exit__(self, *_: object) -> None:
        """Ends the JVM: it stops when its input ends."""
        _open(self._process.stdin).close()
        try:
            self._process.wait(STOP_TIMEOUT)
        finally:
            self._process.kill()
            self._process.wait()
            _open(self._process.stdout).close()

    def _line(self) -> str:
        return _open(self._process.stdout).readline().strip()


def _open(stream: IO[str] | None) -> IO[str]:
    if stream is None:
        raise RuntimeError("the stream is not a pipe")
    return stream
