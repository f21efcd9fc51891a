"""Rules of the house that no linter knows: short files, and no trace of the machine or registry something was made on.

Run by `make lint`; exits with 1 and one line for each fault.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_LINES = 500
MAX_TEST_LINES = 700
#: The stub of the extension module, which is one module however large.
MAX_STUB_LINES = 950

# Made by tools, or by Kafka itself, and read by nobody from top to bottom.
GENERATED = re.compile(
    r"^((.*/)?Cargo\.lock|requirements/[^/]+\.txt|docs/.*\.svg|THIRD-PARTY-NOTICES\.txt|kafkacomp\.cyclonedx\.json)$"
)
EVIDENCE = ("tests/vectors/", "examples/data/", "benches/results/")

LEAKS = {
    # A registry is the business of whoever installs; a lock holds versions and hashes only.
    "host of a registry": re.compile(
        rb"pypi\.org|pythonhosted\.org|(index|static)\.crates\.io|repo1?\.maven|proxy\.golang|registry\.npmjs|deb\.debian"
    ),
    "path of one machine": re.compile(rb"(?<![\w.~-])/(work|root|home|Users)/\w"),
}


def tracked() -> list[str]:
    """The files that git has, and those it would take: what is ignored does not count."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]  # fixed words
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout  # noqa: S603 (as above)
    return sorted(name for name in output.decode().split("\0") if name and (ROOT / name).is_file())


def max_lines(name: str) -> int:
    """The most lines that a file may have."""
    if name.endswith(".pyi"):
        return MAX_STUB_LINES
    return MAX_TEST_LINES if re.search(r"(^|/)tests(/|\.rs$)", name) else MAX_LINES


def faults(name: str) -> list[str]:
    """What is wrong with one file."""
    content = (ROOT / name).read_bytes()
    if name.startswith(EVIDENCE) or b"\0" in content[:8192]:
        return []  # kept as it was made, or binary
    found = []
    lines = content.splitlines()
    if len(lines) > max_lines(name) and not GENERATED.match(name):
        found.append(f"{name}: {len(lines)} lines, {max_lines(name)} are the limit: split it by concept")
    for number, line in enumerate(lines, 1):
        found += [
            f"{name}:{number}: {what}: {match[0].decode(errors='replace')}"
            for what, pattern in LEAKS.items()
            if (match := pattern.search(line))
        ]
    return found


def main() -> int:
    """Check every file; 1 if any has a fault."""
    names = tracked()
    found = [fault for name in names for fault in faults(name)]
    for fault in found:
        print(fault)
    print(f"{len(names)} files, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
