"""The pages of the API reference: one for each public module, with what its ``__all__`` lists."""

from __future__ import annotations

import ast
import pkgutil
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "kafkacomp"


def _source(name: str) -> Path:
    module = PACKAGE / name
    return module / "__init__.py" if module.is_dir() else module.with_suffix(".py")


def _public(source: Path) -> list[str]:
    """The names of ``__all__``, without importing the module: kafkacomp.spark needs PySpark."""
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == "__all__":
            return [str(name) for name in ast.literal_eval(node.value)]
    return []


def _summary(source: Path) -> str:
    text = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    return text.split("\n\n")[0].replace("\n", " ").replace("``", "`")


@cache
def modules() -> dict[str, list[str]]:
    """Public modules below the package, with their public names."""
    names = sorted(each.name for each in pkgutil.iter_modules([str(PACKAGE)]) if not each.name.startswith("_"))
    found = {name: _public(_source(name)) for name in names}
    return {name: public for name, public in found.items() if public not in ([], ["main"])}


def _root() -> str:
    """The page of the package itself: names that a submodule documents are links to it."""
    elsewhere = {name: module for module, names in modules().items() for name in names}
    own = [name for name in _public(PACKAGE / "__init__.py") if name not in elsewhere and name not in modules()]
    lines = ["# kafkacomp", "", "## Submodules", "", "| Module | |", "|---|---|"]
    lines += [f"| [`kafkacomp.{name}`]({name}.md) | {_summary(_source(name))} |" for name in modules()]
    lines += ["", "## Names of other modules", "", "| Name | Documented at |", "|---|---|"]
    for name in _public(PACKAGE / "__init__.py"):
        if name in elsewhere:
            module = elsewhere[name]
            lines.append(f"| `kafkacomp.{name}` | [`kafkacomp.{module}.{name}`][kafkacomp.{module}.{name}] |")
    members = [name for name in own if name != "__version__"]
    lines += ["", "## Names of the package", "", "::: kafkacomp", "    options:", f"      members: {members}"]
    lines += ["      show_docstring_description: false", "      filters: []", ""]
    return "\n".join(lines)


@cache
def pages() -> dict[str, str]:
    """Path below docs/ -> Markdown."""
    made = {"reference/api/kafkacomp.md": _root()}
    for name, public in modules().items():
        lines = [f"# kafkacomp.{name}", "", f"::: kafkacomp.{name}", "    options:", f"      members: {public}", ""]
        made[f"reference/api/{name}.md"] = "\n".join(lines)
    return made
