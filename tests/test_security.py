"""The limits that SECURITY.md lists are those of the code."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import kafkacomp as kc
from kafkacomp.tiered.manifest import MAX_CHUNKS
from kafkacomp.tiered.objects import _MAX_MANIFEST

ROOT = Path(__file__).resolve().parent.parent


def constant(name: str) -> int:
    """A constant of the core's limits."""
    source = (ROOT / "rust" / "kafkacomp-records" / "src" / "limits.rs").read_text()
    found = re.search(rf"pub const {name}: \w+ = ([^;]+);", source)
    assert found is not None, name
    return int(eval(found[1].replace("i32::MAX as usize", "2**31 - 1"), {"__builtins__": {}}))  # noqa: S307 - our own


def test_limits_and_their_defaults() -> None:
    text = (ROOT / "SECURITY.md").read_text()
    listed = [int(each) for each in re.findall(r"^\| [^|]+ \| (\d+)[^|]* \|", text, re.MULTILINE)]
    parameters = inspect.signature(kc.ScanOptions).parameters
    assert listed == [
        kc.DEFAULT_MAX_OUTPUT_SIZE,
        constant("MAX_MESSAGE_SET_NESTING"),
        _MAX_MANIFEST,
        MAX_CHUNKS,
        constant("MAX_ZSTD_WINDOW"),
        parameters["arrow_batch_bytes"].default,
        constant("MAX_POOLED_BUFFER"),
        constant("MAX_KEPT_CONTEXTS"),
    ]
    assert constant("DEFAULT_MAX_OUTPUT_SIZE") == kc.DEFAULT_MAX_OUTPUT_SIZE == parameters["max_output_size"].default
