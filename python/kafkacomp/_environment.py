"""The machine and the versions of a run, which every output contains."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import os
import platform
import re
from pathlib import Path
from typing import TYPE_CHECKING

import kafkacomp
from kafkacomp._arguments import available_cores

if TYPE_CHECKING:
    from collections.abc import Mapping

_OTHERS = ("pyarrow", "altair")


def describe(command: str, others: Mapping[str, str]) -> dict[str, object]:
    """Return machine, versions and command line; `others` are further versions by name."""
    load = os.getloadavg() if hasattr(os, "getloadavg") else None
    versions = {"kafkacomp": kafkacomp.__version__}
    for name in _OTHERS:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    versions |= others
    return {
        "command": command,
        "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "machine": {
            "cpu": _cpu(),
            "cores": available_cores(),
            "memory_bytes": _memory(),
            "load_average": None if load is None else round(load[0], 2),
            "system": f"{platform.system()} {platform.release()} {platform.machine()}",
            "python": f"{platform.python_implementation()} {platform.python_version()}",
        },
        "versions": versions,
    }


def _cpu() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
