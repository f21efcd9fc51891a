"""Features of Rust crates whose absence nothing else reports: the results are the same, only slower."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("manifest", "table"), [("Cargo.toml", ("workspace", "dependencies")), ("rust/fuzz/Cargo.toml", ("dependencies",))]
)
def test_zlib_rs_detects_the_processor(manifest: str, table: tuple[str, ...]) -> None:
    """It is a default feature of flate2; whoever switches the defaults off has to name it."""
    dependencies = tomllib.loads((ROOT / manifest).read_text(encoding="utf-8"))
    for name in table:
        dependencies = dependencies[name]
    flate2 = dependencies["flate2"]
    assert flate2.get("default-features", True) or "runtime_detection" in flate2["features"]
