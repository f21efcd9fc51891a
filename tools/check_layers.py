"""No import circle between the modules of a crate, and the order of kafkacomp-records' layers.

The imports of a module are its `use` declarations and the qualified paths in its code. A path is an import of the
module that it names, whose re-exports are not followed: `crate::record::RecordBatch` is an import of `record`.
Re-exports of a module's own children and what is under `cfg(test)` do not count; an inline module belongs to its file.
A circle is a strongly connected component of more than one module.

Run by `make lint-layers`; prints each fault and exits with 1 if there is one. Another tree can be given:
`python tools/check_layers.py FOLDER`, where FOLDER has `rust/kafkacomp-*/src`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import networkx as nx
import tree_sitter_rust
from tree_sitter import Language, Node, Parser

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
CRATES = (
    "kafkacomp-records",
    "kafkacomp-log",
    "kafkacomp-broker",
    "kafkacomp-arrow",
    "kafkacomp-schemas",
    "kafkacomp-internal",
    "kafkacomp-python",
)
#: A module of kafkacomp-records, and what nothing below it may import: the layers above it.
FORBIDDEN = {
    "compress": {"record", "message_set", "io"},
    "record": {"message_set", "io"},
    "message_set": {"record", "io"},
    "io": {"record", "message_set"},
}
#: What stands on no layer at all.
LAYERS = set(FORBIDDEN)

Module = tuple[str, ...]
PARSER = Parser(Language(tree_sitter_rust.language()))
#: A path in the arguments of a macro, which have no syntax tree.
MACRO_PATH = re.compile(rb"(?<![\w:])(?:crate|super|self)(?:\s*::\s*\w+)+")


def text(node: Node | None) -> str:
    """The source of a node."""
    return node.text.decode() if node is not None and node.text is not None else ""


def modules(source: Path) -> dict[Module, Path]:
    """Every module of a crate that has a file."""
    found = {}
    for path in sorted(source.rglob("*.rs")):
        parts = path.relative_to(source).with_suffix("").parts
        found[() if parts == ("lib",) else parts[:-1] if parts[-1] == "mod" else parts] = path
    return found


def is_test(item: Node) -> bool:
    """Whether an attribute in front of the item says `cfg(test)`."""
    before = item.prev_named_sibling
    while before is not None and before.type in {"attribute_item", "line_comment", "block_comment"}:
        if before.type == "attribute_item" and re.fullmatch(r"#\[\s*cfg\s*\(\s*test\s*\)\s*\]", text(before)):
            return True
        before = before.prev_named_sibling
    return False


def use_paths(node: Node, before: Module = ()) -> Iterator[Module]:
    """The paths of a `use` declaration's argument, its groups written out."""
    if node.type == "scoped_use_list":
        before += tuple(text(node.child_by_field_name("path")).split("::"))
        groups = node.child_by_field_name("list")
        for child in groups.named_children if groups is not None else []:
            yield from use_paths(child, before)
    elif node.type == "use_list":
        for child in node.named_children:
            yield from use_paths(child, before)
    elif node.type == "use_as_clause":
        yield from use_paths(node.children[0], before)
    elif node.type == "use_wildcard":
        yield before + tuple(text(node).removesuffix("::*").split("::")) if node.named_children else before
    elif node.type in {"identifier", "scoped_identifier", "self", "crate", "super"}:
        yield before + tuple(text(node).split("::"))


class Imports:
    """The other modules that a module imports, in `found`."""

    def __init__(self, module: Module, path: Path, known: dict[Module, Path]) -> None:
        """Read the module's file; `known` are all modules of the crate."""
        self.module = module
        self.known = known
        self.found: set[Module] = set()
        self.visit(PARSER.parse(path.read_bytes()).root_node, module)

    def lift(self, here: Module, parts: Module, *, is_reexport: bool = False) -> None:
        """Take a path, written in the (maybe inline) module `here`, as an import of the module that it names."""
        head, *rest = (part.strip() for part in parts)
        if head == "crate":
            at: Module = ()
        elif head == "self":
            at = here
        elif head == "super":
            at = here[:-1]
        elif (*here, head) in self.known:
            at, rest = here, [head, *rest]
        else:
            return  # another crate, or a name that a `use` brings, which counts by itself
        while rest and (rest[0] == "super" or (*at, rest[0]) in self.known):
            at, rest = (at[:-1] if rest[0] == "super" else (*at, rest[0])), rest[1:]
        if at not in self.known:
            return  # an inline module
        is_child = at[: len(self.module)] == self.module
        if at != self.module and not (is_reexport and is_child):
            self.found.add(at)

    def use(self, node: Node, here: Module) -> None:
        """Take a `use` declaration."""
        is_reexport = any(child.type == "visibility_modifier" for child in node.children)
        argument = node.child_by_field_name("argument")
        for parts in use_paths(argument) if argument is not None else ():
            self.lift(here, parts, is_reexport=is_reexport)

    def visit(self, node: Node, here: Module) -> None:
        """Take all paths in a node."""
        if is_test(node) or node.type == "visibility_modifier":
            return  # `pub(in crate::log)` imports nothing
        if node.type == "use_declaration":
            self.use(node, here)
        elif node.type == "token_tree":
            for match in MACRO_PATH.finditer(node.text or b""):
                self.lift(here, tuple(match[0].decode().split("::")))
        else:
            if node.type in {"scoped_identifier", "scoped_type_identifier"} and text(node)[0] not in "<[(":
                self.lift(here, tuple(re.sub(r"<.*", "", part) for part in text(node).split("::")))
            elif node.type == "mod_item" and node.child_by_field_name("body") is not None:
                here = (*here, text(node.child_by_field_name("name")))
            for child in node.named_children:
                self.visit(child, here)


def test_modules(known: dict[Module, Path]) -> set[Module]:
    """Modules that a file declares under `cfg(test)`."""
    return {
        (*module, text(item.child_by_field_name("name")))
        for module, path in known.items()
        for item in PARSER.parse(path.read_bytes()).root_node.named_children
        if item.type == "mod_item" and is_test(item)
    }


def graph(source: Path) -> nx.DiGraph[Module]:
    """The imports of a crate's modules; its folder `src` is given."""
    known = modules(source)
    tests = test_modules(known)
    made: nx.DiGraph[Module] = nx.DiGraph()
    for module, path in known.items():
        if any(module[: len(test)] == test for test in tests):
            continue
        made.add_node(module)
        made.add_edges_from((module, other) for other in Imports(module, path, known).found)
    return made


def circles(made: nx.DiGraph[Module]) -> list[list[Module]]:
    """The strongly connected components of more than one module, the largest first."""
    found = [sorted(component) for component in nx.strongly_connected_components(made) if len(component) > 1]
    return sorted(found, key=lambda component: (-len(component), component))


def forbidden(made: nx.DiGraph[Module]) -> list[tuple[Module, Module]]:
    """The imports of kafkacomp-records against the order of its layers."""

    def is_upward(module: Module, other: Module) -> bool:
        layer = module[0] if module else ""
        if layer in LAYERS:
            return bool(other) and other[0] in FORBIDDEN[layer]
        return bool(module) and bool(other) and other[0] in LAYERS  # `lib.rs` stands above all

    return sorted((module, other) for module, other in made.edges if is_upward(module, other))


def name(module: Module) -> str:
    """As Rust writes it."""
    return "::".join(("crate", *module))


def main(tree: Path) -> int:
    """Check every crate; 1 if any has a fault."""
    faults = []
    for crate in CRATES:
        made = graph(tree / "rust" / crate / "src")
        for circle in circles(made):
            edges = [f"{name(a)} -> {name(b)}" for a, b in made.edges if a in circle and b in circle]
            faults.append(f"{crate}: a circle of {len(circle)} modules:\n  " + "\n  ".join(sorted(edges)))
        if crate == "kafkacomp-records":
            faults += [
                f"{crate}: {name(a)} imports {name(b)}, a layer that it must not know" for a, b in forbidden(made)
            ]
        print(f"{crate}: {made.number_of_nodes()} modules, {made.number_of_edges()} imports")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT))
