"""tools/third_party.py: the notices and the SBOM agree with Cargo.lock and with what the extension module contains."""

from __future__ import annotations

import json
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest

import kafkacomp as kc

ROOT = Path(__file__).resolve().parent.parent
TOOL: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "third_party.py"))
SBOM: dict[str, Any] = json.loads((ROOT / "kafkacomp.cyclonedx.json").read_text(encoding="utf-8"))
COMPONENTS = {each["purl"]: each for each in SBOM["components"]}
NOTICES = (ROOT / "THIRD-PARTY-NOTICES.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("expression", "licences"),
    [
        ("MIT OR Apache-2.0", ("Apache-2.0",)),
        ("MIT/Apache-2.0", ("Apache-2.0",)),
        ("Unlicense OR MIT", ("MIT",)),
        ("Apache-2.0 AND MIT", ("Apache-2.0", "MIT")),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", ("Apache-2.0", "Unicode-3.0")),
    ],
)
def test_licences_of_an_expression(expression: str, licences: tuple[str, ...]) -> None:
    assert TOOL["chosen"](expression) == licences


def test_an_unknown_licence_is_refused() -> None:
    with pytest.raises(SystemExit, match=r"'GPL-2\.0': expected one of Apache-2\.0, MIT"):
        TOOL["chosen"]("MIT AND GPL-2.0")


def test_a_missing_licence_text_is_refused(tmp_path: Path) -> None:
    """Apache-2.0 has its text in LICENSE; that of any other licence must be in the sources of the crate."""
    with pytest.raises(SystemExit, match="0 files for MIT"):
        TOOL["licence_text"](tmp_path, "MIT")
    for name in ("LICENSE-APACHE", "LICENSE-MIT"):
        (tmp_path / name).write_text(f"the text of {name}  \r\n")
    assert TOOL["licence_text"](tmp_path, "MIT") == "the text of LICENSE-MIT\n"


def test_sbom_has_the_versions_and_hashes_of_the_lock() -> None:
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    hashes = {f"pkg:cargo/{each['name']}@{each['version']}": each.get("checksum") for each in lock}
    crates = {purl: each for purl, each in COMPONENTS.items() if purl.startswith("pkg:cargo/")}
    assert len(crates) > 90
    for purl, each in crates.items():
        own = each["name"].startswith("kafkacomp-")
        assert [hashed["content"] for hashed in each.get("hashes", [])] == ([] if own else [hashes[purl]])


def test_every_dependency_is_a_component() -> None:
    refs = {SBOM["metadata"]["component"]["bom-ref"], *COMPONENTS}
    assert {each["ref"] for each in SBOM["dependencies"]} == refs
    assert {ref for each in SBOM["dependencies"] for ref in each["dependsOn"]} <= refs


def test_every_component_is_reached_from_the_package() -> None:
    edges = {each["ref"]: each["dependsOn"] for each in SBOM["dependencies"]}
    reached, new = set(), {SBOM["metadata"]["component"]["bom-ref"]}
    while new:
        reached |= new
        new = {ref for each in new for ref in edges[each]} - reached
    assert reached == set(edges)


def test_version_is_that_of_the_package() -> None:
    assert SBOM["metadata"]["component"]["version"] == kc.__version__


def test_c_libraries_have_the_versions_that_their_crates_name() -> None:
    """zstd-sys and libdeflate-sys have the version of the library in their own."""
    versions = {each["name"]: each["version"] for each in COMPONENTS.values() if each["purl"].startswith("pkg:github/")}
    assert set(versions) == {"zstd", "lz4", "xxHash", "libdeflate"}
    crates = {each["name"]: each["version"] for each in COMPONENTS.values() if each["purl"].startswith("pkg:cargo/")}
    assert crates["zstd-sys"].endswith(f"+zstd.{versions['zstd']}")
    assert crates["libdeflate-sys"].startswith(f"{versions['libdeflate']}.")


def test_notices_have_every_component_but_our_own() -> None:
    for each in COMPONENTS.values():
        listed = f"  {each['name']} {each.get('version', '')}".rstrip()
        assert (f"{listed}  (" in NOTICES) is not each["name"].startswith("kafkacomp-")


def test_no_trace_of_the_machine() -> None:
    assert not {"serialNumber", "timestamp"} & {*SBOM, *SBOM["metadata"]}
    assert str(ROOT) not in NOTICES + json.dumps(SBOM)
    assert str(Path.home()) not in NOTICES + json.dumps(SBOM)
