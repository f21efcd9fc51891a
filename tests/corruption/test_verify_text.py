"""``verify`` tells people and programs the same, and each fault once."""

from __future__ import annotations

import json
import random
import re
from typing import TYPE_CHECKING

import pytest

from corruption.inject import KINDS, applies, inject
from corruption.logs import all_logs
from corruption.tools import command

if TYPE_CHECKING:
    from pathlib import Path

LOGS = [
    log for log in all_logs() if log.name in {"built v0 none", "built v1 lz4", "built v2 zstd", "real v2 compacted"}
]
CASES = [(kind, log.name) for kind in KINDS for log in LOGS if applies(kind, log)]
_RANGE = re.compile(r"([0-9]+)(?: to ([0-9]+))? \(([a-z]+)\)")


@pytest.mark.parametrize(("kind", "name"), CASES, ids=lambda value: value.replace(" ", "-"))
def test_text_and_json_agree(kind: str, name: str, tmp_path: Path) -> None:
    """The same errors, warnings, missing ranges and exit status; no error twice; one error for each missing range."""
    (log,) = (each for each in LOGS if each.name == name)
    folder = inject(log, kind, random.Random(f"text {kind} {name}")).write(tmp_path)
    status, out, _ = command("verify", folder, "--json", "--threads", "1")
    text_status, text, _ = command("verify", folder, "--threads", "1")
    report = json.loads(out)
    assert text_status == status == (1 if report["errors"] else 0)
    lines = text.splitlines()
    for level in ("error", "warning"):
        wanted = [f"{level}: {each['file']}: {each['message']}" for each in report[f"{level}s"]]
        assert [line for line in lines if line.startswith(f"{level}: ")] == wanted
        assert len(set(wanted)) == len(wanted)
    listed = [
        (int(first), int(last or first), reason)
        for line in lines
        if line.startswith("missing: ")
        for first, last, reason in _RANGE.findall(line)
    ]
    missing = [(each["firstOffset"], each["lastOffset"], each["reason"]) for each in report["missing"]]
    assert listed == missing[: len(listed)]
    assert len(listed) == min(len(missing), 20)
    spans = [(each["firstOffset"], each["lastOffset"]) for each in report["errors"] if each["firstOffset"] is not None]
    # The two ends of a page are corrupt, and the same offsets are missing for both.
    assert len(set(spans)) == len(spans) or kind == "page overwritten by a later page"
