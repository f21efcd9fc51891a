"""A single-node KRaft broker on free loopback ports, its logs in a folder of the caller's."""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from livekafka import maven

if TYPE_CHECKING:
    from types import TracebackType
    from typing import IO, Self

PROJECT = Path(__file__).resolve().parent.parent / "broker"
START_TIMEOUT = 60.0
STOP_TIMEOUT = 60.0
JAVA_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true")
NO_LIMIT = 2**63 - 1
# Any 16 bytes but not random ones: an id that begins with a dash would be taken for an option.
CLUSTER_ID = base64.urlsafe_b64encode(b"kafkacomp tests!").decode().rstrip("=")

# ms: a transaction that is left open must outlive all tests of a session, on any machine.
LONGEST_TRANSACTION = 4 * 3_600_000
# One node plays both roles. Replication 1 throughout; record times of any year; compaction often enough for a test to
# wait for it; nothing is deleted or rolled by age (a record of 1970 beside one of today would roll).
PROPERTIES = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.backoff.ms": "500",
    "log.initial.task.delay.ms": "500",
    "log.message.timestamp.after.max.ms": str(NO_LIMIT),
    "log.message.timestamp.before.max.ms": str(NO_LIMIT),
    "log.retention.ms": "-1",
    "log.roll.ms": str(NO_LIMIT),
    "message.max.bytes": str(16 << 20),
    "num.io.threads": "2",
    "num.network.threads": "2",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.max.timeout.ms": str(LONGEST_TRANSACTION),
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
}


class BrokerError(RuntimeError):
    """The broker did not start or stop; the message ends with the last lines of its log."""


class Broker:
    """A broker whose `log_dir` holds the folders of its topics' partitions, readable while it runs and after `stop`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log_dir = folder / "data"
        self.output = folder / "broker.log"
        self.port, controller_port = _free_ports(2)
        self.bootstrap = f"127.0.0.1:{self.port}"
        self._class_path = maven.class_path(PROJECT, "process-resources")
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        self._configuration = folder / "server.properties"
        addresses = {
            "listeners": f"PLAINTEXT://{self.bootstrap},CONTROLLER://127.0.0.1:{controller_port}",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap}",
            "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
            "log.dirs": str(self.log_dir),
        }
        lines = (f"{name}={value}\n" for name, value in (PROPERTIES | addresses).items())
        self._configuration.write_text("".join(lines))

    def start(self) -> None:
        """Formats the log folder if it is new, starts the broker and waits until it takes connections."""
        self._log = self.output.open("ab")
        if not (self.log_dir / "meta.properties").exists():
            format_storage = ("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(self._configuration))
            try:
                done = self._java(*format_storage).wait(START_TIMEOUT)
            except subprocess.TimeoutExpired:
                self.kill()
                raise BrokerError(f"formatting took more than {START_TIMEOUT:.0f} s\n{self.tail()}") from None
            if done != 0:
                raise BrokerError(f"formatting {self.log_dir} failed\n{self.tail()}")
        process = self._java("kafka.Kafka", str(self._configuration))
        deadline = time.monotonic() + START_TIMEOUT
        while not self._answers():
            if process.poll() is not None:
                raise BrokerError(f"the broker ended with status {process.returncode}\n{self.tail()}")
            if time.monotonic() > deadline:
                self.kill()
                raise BrokerError(f"the broker did not answer in {START_TIMEOUT:.0f} s\n{self.tail()}")
            time.sleep(0.1)

    def stop(self) -> None:
        """Stops the broker as an operator would: it rolls nothing, flushes its logs and marks them clean."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            raise BrokerError(f"the broker did not stop in {STOP_TIMEOUT:.0f} s\n{self.tail()}") from None
        finally:
            self.kill()
        if not (self.log_dir / ".kafka_cleanshutdown").exists():
            raise BrokerError(f"the broker did not stop cleanly\n{self.tail()}")

    def kill(self) -> None:
        """Ends the process and whatever it started, if it still runs."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None
        if self._log is not None:
            self._log.close()
            self._log = None

    def partition_folder(self, topic: str, partition: int = 0) -> Path:
        """Where the broker keeps the segments of a partition."""
        return self.log_dir / f"{topic}-{partition}"

    def tail(self, lines: int = 40) -> str:
        """The last lines that the broker wrote."""
        return "\n".join(self.output.read_text(errors="replace").splitlines()[-lines:])

    def __enter__(self) -> Self:
        """Starts the broker."""
        try:
            self.start()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops the broker; after a failure without ceremony."""
        if error is None:
            self.stop()
        else:
            self.kill()

    def _java(self, *arguments: str) -> subprocess.Popen[bytes]:
        log4j = f"-Dlog4j2.configurationFile={PROJECT / 'log4j2.properties'}"
        # Where the system has it, setpriv ends the broker with the test run, however that ends.
        end_with_parent = ("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()
        self._process = subprocess.Popen(
            [*end_with_parent, "java", *JAVA_OPTIONS, log4j, "-cp", self._class_path, *arguments],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        return self._process

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return True
        except OSError:
            return False


def _free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago: held together, so that they differ, then given back."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for held in sockets:
            held.bind(("127.0.0.1", 0))
        return [held.getsockname()[1] for held in sockets]
