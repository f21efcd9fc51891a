"""A Spark program in a process group of its own, which is killed as a whole."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Program"]

SCRIPT = Path(__file__).resolve().with_name("cluster_jobs.py")
TIMEOUT = 600.0


class Program:
    """A job of ``cluster_jobs.py``."""

    def __init__(self, folder: Path, job: str, **arguments: str) -> None:
        self.folder = folder
        self.command = [sys.executable, str(SCRIPT), job, json.dumps(arguments)]
        self.process: subprocess.Popen[str] | None = None

    def start(self, environment: Mapping[str, str] | None = None) -> None:
        """The JVM, its executors and their Python workers are of the same group and have the same ``environment``."""
        home = Path(pyspark.__file__).parent
        self.folder.mkdir(exist_ok=True)
        environment = {
            **os.environ,
            **(environment or {}),
            "SPARK_HOME": str(home),
            "SPARK_WORKER_DIR": str(self.folder / "work"),
        }
        environment |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        with (self.folder / "errors").open("w") as errors:
            self.process = subprocess.Popen(
                self.command, cwd=self.folder, env=environment, stderr=errors, text=True, start_new_session=True
            )

    def kill(self) -> None:
        """End all of it at once."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def finish(self) -> None:
        """Wait for it, which must succeed."""
        assert self.process is not None
        try:
            assert self.process.wait(TIMEOUT) == 0, (self.folder / "errors").read_text()[-4000:]
        finally:
            self.kill()

    def wait_for(self, condition: Callable[[], object], what: str) -> None:
        """Wait for something that it does."""
        deadline = time.monotonic() + TIMEOUT
        while not condition():
            assert self.process is not None
            assert self.process.poll() is None, f"{what}: {(self.folder / 'errors').read_text()[-4000:]}"
            assert time.monotonic() < deadline, what
            time.sleep(0.05)
