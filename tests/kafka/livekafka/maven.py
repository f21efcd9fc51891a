"""Class paths made by Maven.

Each project folder holds a pom.xml that copies its runtime jars to target/jars. Maven runs once per state of the
project's own files (its sources may stand in the folder above, shared by several): a stamp beside the jars holds their
hash, and a lock keeps parallel test runs apart.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MAVEN_TIMEOUT = 600.0


class MavenError(RuntimeError):
    """Maven is missing or failed; the message ends with what it printed."""


def class_path(project: Path, phase: str) -> str:
    """The class path of a project: its classes, if it has any, and its jars; built first where that is still to do."""
    target = project / "target"
    target.mkdir(exist_ok=True)
    stamp = target / "stamp"
    state = _state(project)
    with (target / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != state:
            # A jar of an older pom.xml would stay on the class path beside its successor.
            shutil.rmtree(target / "jars", ignore_errors=True)
            _maven(project, phase)
            stamp.write_text(state)
    return os.pathsep.join((str(target / "classes"), str(target / "jars" / "*")))


def _state(project: Path) -> str:
    digest = hashlib.sha256()
    sources = project if (project / "src").is_dir() else project.parent
    for path in sorted((project / "pom.xml", *sources.glob("src/**/*.java"))):
        digest.update(str(path.relative_to(sources)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _maven(project: Path, phase: str) -> None:
    try:
        done = subprocess.run(
            ["mvn", "-q", "-B", phase],
            cwd=project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=MAVEN_TIMEOUT,
            check=False,
        )
    except FileNotFoundError:
        raise MavenError("mvn is not installed") from None
    except subprocess.TimeoutExpired:
        raise MavenError(f"mvn {phase} in {project} took more than {MAVEN_TIMEOUT:.0f} s") from None
    if done.returncode != 0:
        raise MavenError(f"mvn {phase} in {project} failed:\n{done.stdout[-4000:]}")
