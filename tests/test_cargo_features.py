"""Features of Rust crates whose absence nothing else reports: the results are the same, only slower."""

from __future__ import annotations

import re
import subprocess
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


#: The crates that select codecs.
CRATES = ("kafkacomp-records", "kafkacomp-log", "kafkacomp-broker", "kafkacomp-arrow", "kafkacomp-internal")
#: What compiles C: bindings by their usual name, the compiler's driver, and a crate that has C sources itself.
COMPILES_C = re.compile(r"(.*-sys|cc|cmake|lzzzz)")


def dependencies(crate: str, *features: str) -> set[str]:
    """The crates that are compiled for a crate and these features, build scripts included."""
    command = ["cargo", "tree", "--locked", "-p", crate, "--edges", "no-dev", "--prefix", "none", *features]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return {line.split()[0] for line in output.splitlines() if line}


@pytest.mark.parametrize("crate", CRATES)
def test_pure_rust_compiles_no_c(crate: str) -> None:
    by_default = dependencies(crate)
    assert {"cc", "libdeflate-sys", "lzzzz", "zstd-sys"} <= {name for name in by_default if COMPILES_C.fullmatch(name)}
    in_rust = dependencies(crate, "--no-default-features", "--features", "pure-rust")
    assert {"flate2", "lz4_flex", "ruzstd", "snap"} <= in_rust
    assert [name for name in sorted(in_rust) if COMPILES_C.fullmatch(name)] == []


@pytest.mark.parametrize(
    ("feature", "library"), [("gzip", "libdeflater"), ("snappy", "snap"), ("lz4", "lzzzz"), ("zstd", "zstd")]
)
def test_each_codec_is_a_feature(feature: str, library: str) -> None:
    libraries = {"flate2", "libdeflater", "lz4_flex", "lzzzz", "ruzstd", "snap", "zstd"}
    assert dependencies("kafkacomp-log", "--no-default-features").isdisjoint(libraries)
    alone = dependencies("kafkacomp-log", "--no-default-features", "--features", feature) & libraries
    assert alone == ({library, "flate2"} if feature == "gzip" else {library})


def test_the_wheel_has_no_second_library_for_a_codec() -> None:
    assert dependencies("kafkacomp-python").isdisjoint({"lz4_flex", "ruzstd"})
