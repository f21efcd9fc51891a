"""`tools/check_layers.py`: it sees circles and imports against the order of the layers."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

pytest.importorskip("tree_sitter_rust")
TOOL = Path(__file__).resolve().parent.parent / "tools" / "check_layers.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """The tool as a module."""
    spec = importlib.util.spec_from_file_location("check_layers", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def crate(folder: Path, files: dict[str, str]) -> Path:
    """A crate's `src` of these files."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("use crate::b::B;\n", "use crate::a::A;\n"),
        ("use super::b::B;\n", "use crate::{a::A, c};\n"),
        ("use crate::b;\n", "use super::a::{self, A};\n"),
        ("pub fn f() { crate::b::g() }\n", "pub fn g() -> bool { matches!(x(), super::a::A::X) }\n"),
        ("pub fn f(x: &crate::b::B<'_>) {}\n", "pub use crate::a::A;\n"),
    ],
)
def test_an_item_is_lifted_to_its_module(tool: ModuleType, tmp_path: Path, a: str, b: str) -> None:
    source = crate(tmp_path, {"lib.rs": "mod a;\nmod b;\nmod c;\n", "a.rs": a, "b.rs": b, "c.rs": ""})
    assert tool.circles(tool.graph(source)) == [[("a",), ("b",)]]


def test_what_does_not_count(tool: ModuleType, tmp_path: Path) -> None:
    """Re-exports of a module's children, tests, visibility, and what a `use` inside a string or comment names."""
    files = {
        "lib.rs": "pub mod a;\npub use a::A;\n",
        "a/mod.rs": "mod b;\n#[cfg(test)]\nmod tests;\npub use b::B;\npub struct A;\n",
        "a/b.rs": "use super::A;\n// use crate::c::C;\npub(in crate::c) struct B;\n"
        "#[cfg(test)]\nmod tests { use crate::c::C; }\n",
        "a/tests.rs": "use crate::c::C;\n",
        "c.rs": 'use crate::a::A;\nconst TEXT: &str = "use crate::d";\n',
    }
    assert tool.circles(tool.graph(crate(tmp_path, files))) == []


def test_layers_are_imported_from_above_only(tool: ModuleType, tmp_path: Path) -> None:
    files = {
        "lib.rs": "",
        "compress/mod.rs": "use crate::memory::reserve;\n",
        "record/mod.rs": "use crate::compress::Codec;\n",
        "message_set/mod.rs": "",
        "io/mod.rs": "use crate::compress::Codec;\nuse crate::message_set::Set;\n",
        "memory.rs": "use crate::record::Error;\n",
    }
    found = tool.forbidden(tool.graph(crate(tmp_path, files)))
    assert found == [(("io",), ("message_set",)), (("memory",), ("record",))]


@pytest.fixture(scope="module")
def judging(tool: ModuleType) -> ModuleType:
    """`tools/check_judging.py` as a module."""
    del tool  # which it imports
    spec = importlib.util.spec_from_file_location("check_judging", TOOL.with_name("check_judging.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("body", "is_found"),
    [
        ("batch.last_offset() < self.expected", True),
        ("header.span.first.is_some_and(|first| first > before.end)", True),
        ("{ let (first, last) = verified_offsets(batch); previous >= first }", True),
        ("order.place(header.span.first, header.last_offset) == Place::Next && expected", False),
        ("batch.last_offset() < end", False),
        ("count < expected", False),
    ],
)
def test_comparisons_with_the_batch_before(judging: ModuleType, tmp_path: Path, body: str, *, is_found: bool) -> None:
    code = f"fn f() -> bool {{ {body} }}\n#[cfg(test)]\nmod tests {{ fn g() {{ batch.last_offset() < expected; }} }}\n"
    files = {"lib.rs": "mod map;\nmod read;\n", "map.rs": code, "read.rs": code}
    found = [name for name, _ in judging.found_in(crate(tmp_path, files), "kafkacomp-log")]
    assert found == (["kafkacomp-log read::f"] if is_found else [])


def test_each_exception_is_needed(judging: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert judging.main(judging.ROOT) == 0
    assert not capsys.readouterr().out
