"""Kafka's Java classes: a JVM for each combination, which times a pass on request (java/KafkaPeer.java).

The jars are those of ``--kafka-jars`` (the ``libs`` of Kafka 3.8 to 4.0); otherwise Maven downloads kafka-clients once
into the user's cache. The program is run from its source file, which requires a JDK.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from kafkacomp.bench.peers.base import LENGTH, MissingPeerError, NotComparableError, Peer, WrongResultError, blocks
from kafkacomp.bench.stages import ARROW, BUILD, COMPRESS, DECOMPRESS, ITERATE, Cell, Pass
from kafkacomp.bench.timing import Timing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kafkacomp.bench.peers.base import Read

#: The garbage collector that was fastest on two cores, and a heap that is rarely collected during a pass.
_OPTIONS: Final = ("-Xms1g", "-Xmx2g", "-XX:+UseSerialGC")
#: The warm-up after which passes take the same time.
_WARM_UP: Final = 2.0
_START_TIMEOUT: Final = 60.0
_MAVEN_TIMEOUT: Final = 600.0
_STOP_TIMEOUT: Final = 10.0
_CPUCLOCK_SCHED: Final = 2
_RECORD: Final = struct.Struct(">qq")


@dataclass(frozen=True)
class Jars:
    """The place of kafka-clients and its dependencies."""

    #: A folder of jars, or None for Maven.
    folder: Path | None = None

    def class_path(self) -> str:
        """Return the argument of ``java -cp``.

        Raises:
            MissingPeerError: there is no JDK, the folder does not exist, or Maven cannot download the jars.
        """
        if shutil.which("java") is None:
            raise MissingPeerError("the peer java needs a JDK: no java is on the PATH")
        folder = self.folder or _from_maven()
        if not any(folder.glob("kafka-clients-*.jar")):
            raise MissingPeerError(f"the peer java needs kafka-clients, and {folder} has no kafka-clients-*.jar")
        return str(folder / "*")


def _from_maven() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kafkacomp" / "kafka-clients-3.9.2"
    if cache.is_dir():
        return cache
    mvn = shutil.which("mvn")
    if mvn is None:
        raise MissingPeerError(
            "the peer java needs kafka-clients: give --kafka-jars a folder of jars, or install Maven"
        )
    cache.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix="kafka-clients-", dir=cache.parent))
    pom = unfinished / "pom.xml"
    pom.write_bytes(_shipped("pom.xml"))
    command = [mvn, "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={unfinished}"]
    try:
        done = subprocess.run(  # noqa: S603 - Maven as the PATH has it, with words of our own
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_MAVEN_TIMEOUT, check=False
        )
        if done.returncode:
            raise MissingPeerError(f"Maven did not get kafka-clients: {done.stdout[-500:].strip()}")
        # Another run may have created the folder meanwhile.
        with contextlib.suppress(OSError):
            unfinished.rename(cache)
    except subprocess.TimeoutExpired:
        raise MissingPeerError(f"Maven did not get kafka-clients in {_MAVEN_TIMEOUT:.0f} s") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return cache


def _shipped(name: str) -> bytes:
    return resources.files("kafkacomp.bench").joinpath("java", name).read_bytes()


class Java(Peer):
    """kafka-clients: codec streams, MemoryRecordsBuilder, and reading as the consumer does."""

    name = "java"

    def __init__(self, jars: Jars) -> None:
        self._class_path = jars.class_path()
        self._version = ""
        self._folder = tempfile.TemporaryDirectory(prefix="kafkacomp-bench-")
        self._cell: Cell | None = None
        self._process: subprocess.Popen[str] | None = None

    @property
    def version(self) -> str:
        """The versions of kafka-clients and of the JVM, after it has started."""
        return self._version

    def prepare(self, stage: str, cell: Cell) -> Pass:
        """Prepare a pass in the JVM on one thread, and warm it up."""
        if stage == ARROW:
            raise NotComparableError("has no Arrow: compare the stage iterate")
        if cell.threads != 1:
            raise NotComparableError("measured on one thread")
        self._for(cell)
        start = time.perf_counter()
        while time.perf_counter() - start < _WARM_UP:
            self._ask(stage)

        def one_pass() -> Timing:
            cpu = self._cpu()
            wall = int(self._ask(stage)) / 1e9
            after = self._cpu()
            return Timing(wall, None if cpu is None or after is None else after - cpu)

        return one_pass

    def compress_all(self, cell: Cell) -> list[bytes]:
        """Compress with Kafka's output stream."""
        return list(self._results(COMPRESS, cell))

    def decompress_all(self, cell: Cell) -> list[bytes]:
        """Decompress with Kafka's input stream."""
        return list(self._results(DECOMPRESS, cell))

    def build_all(self, cell: Cell) -> bytes:
        """By MemoryRecordsBuilder."""
        return b"".join(self._results(BUILD, cell))

    def records(self, cell: Cell) -> Read:
        """By streamingIterator."""
        self._for(cell)
        path = self._path("results")
        self._ask(f"{ITERATE} {path}")
        return _records(path.read_bytes())

    def close(self) -> None:
        """End the JVM: it stops when its input ends."""
        self._stop()
        self._folder.cleanup()

    def _results(self, stage: str, cell: Cell) -> Iterator[bytes]:
        self._for(cell)
        path = self._path("results")
        self._ask(f"{stage} {path}")
        yield from map(bytes, blocks(memoryview(path.read_bytes())))

    def _path(self, name: str) -> Path:
        return Path(self._folder.name) / name

    def _for(self, cell: Cell) -> None:
        """Return a JVM that has read the data of this combination."""
        if self._cell is cell:
            return
        self._stop()
        _write(self._path("plain"), cell.plain)
        _write(self._path("compressed"), cell.compressed)
        self._path("log").write_bytes(cell.log)
        program = self._path("KafkaPeer.java")
        program.write_bytes(_shipped("KafkaPeer.java"))
        level = "-" if cell.codec.level is None else str(cell.codec.level)
        files = (str(self._path(name)) for name in ("plain", "compressed", "log"))
        self._process = subprocess.Popen(  # noqa: S603 - java as the PATH has it, with words of our own
            ["java", *_OPTIONS, "-cp", self._class_path, str(program), str(cell.codec.type), level, *files],  # noqa: S607
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._path("errors").open("w"), text=True,
        )  # fmt: skip
        timer = threading.Timer(_START_TIMEOUT, self._process.kill)
        timer.start()
        try:
            self._version = self._line()
        finally:
            timer.cancel()
        self._cell = cell

    def _ask(self, question: str) -> str:
        if self._process is None:
            raise WrongResultError("the JVM has ended")
        stdin = _open(self._process.stdin)
        stdin.write(question + "\n")
        stdin.flush()
        return self._line()

    def _line(self) -> str:
        line = "" if self._process is None else _open(self._process.stdout).readline().strip()
        if not line:
            words = self._path("errors").read_text().strip()
            self._stop()
            raise WrongResultError(f"Kafka's Java failed (supported: kafka-clients 3.8 to 4.0): {words[-400:]}")
        return line

    def _cpu(self) -> float | None:
        """Return the processor time of the JVM with its garbage collector and compiler; Linux only."""
        if self._process is None or sys.platform != "linux":
            return None
        # The kernel's clock id of a process's time (clock_getcpuclockid(3), which Python does not have).
        return time.clock_gettime((~self._process.pid << 3) | _CPUCLOCK_SCHED)

    def _stop(self) -> None:
        process, self._process, self._cell = self._process, None, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            _open(process.stdin).close()
        try:
            process.wait(_STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        finally:
            _open(process.stdout).close()


def _write(path: Path, blocks: Iterable[bytes]) -> None:
    with path.open("wb") as out:
        for block in blocks:
            out.write(LENGTH.pack(len(block)) + block)


def _records(data: bytes) -> Read:
    at = 0

    def piece() -> bytes | None:
        nonlocal at
        (length,) = LENGTH.unpack_from(data, at)
        at += LENGTH.size
        if length < 0:
            return None
        at += length
        return data[at - length : at]

    while at < len(data):
        offset, timestamp = _RECORD.unpack_from(data, at)
        at += _RECORD.size
        key, value = piece(), piece()
        (count,) = LENGTH.unpack_from(data, at)
        at += LENGTH.size
        headers = [((piece() or b"").decode(), piece()) for _ in range(count)]
        yield offset, timestamp, key, value, headers


def _open(stream: IO[str] | None) -> IO[str]:
    if stream is None:
        raise RuntimeError("the stream is not a pipe")
    return stream
