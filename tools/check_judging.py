"""Nothing but `log::map` decides which batches belong to a log.

Outside of it, no function compares the offsets of a batch with those of the batches before it: it asks
`log::map::InOrder` whether batches are in order, and the map what to do if they are not. A function is found that reads
offsets of a batch and compares something with a name for what was before, such as `expected`. `ALLOWED` has the
exceptions with their reasons.

Run by `make lint-layers`; prints each fault and exits with 1 if there is one. Another tree can be given:
`python tools/check_judging.py FOLDER`, where FOLDER has `rust/kafkacomp-*/src`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.check_layers import PARSER, ROOT, is_test, modules, test_modules, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

#: The crates where batches of logs are read.
PLACES = ("kafkacomp-log", "kafkacomp-arrow")
#: What decides.
MAP = ("map",)
#: Reads the offsets of a batch.
OFFSETS = re.compile(
    r"\.last_offset\(\)|\.base_offset\(\)|\bheader\.last_offset\b|\.span\b|\.offset_field\b|\bverified_offsets\("
)
#: What was before a batch.
BEFORE = re.compile(r"\b(?:before|counted_to|expected|highest|known_to|pending|previous)\b")
COMPARISONS = {"<", "<=", ">", ">=", "==", "!="}
#: Functions that compare, each with the reason.
ALLOWED = {
    "kafkacomp-log maintain::partition::deliver::whole": (
        "reads a file that a light survey has settled; if that was wrong, the work begins again with all files verified"
    ),
    "kafkacomp-log maintain::verify::read::batch": "where offsets are missing, index entries may skip batches",
    "kafkacomp-log read::summary::add": "counts what headers show; if they contradict one another, it estimates",
    "kafkacomp-log write::resume::take": "which batches the snapshot has that a log of our own is resumed from",
    "kafkacomp-arrow decode::chunk_offsets::unwrapped": "only decoding shows the first offset of a compressed message",
    "kafkacomp-arrow lookup::splits::indexed": "whether an index entry leads to its batch",
    "kafkacomp-arrow plan::continuity::observe": "the comparisons of each batch that is read, in line",
    "kafkacomp-arrow plan::continuity::judge": "ends a chunk where the partition is judged; decodes wrappers",
}


def functions(node: Node) -> Iterator[Node]:
    """The functions in a node, tests apart."""
    if is_test(node):
        return
    if node.type == "function_item":
        yield node
    else:
        for child in node.named_children:
            yield from functions(child)


def comparisons(node: Node) -> Iterator[Node]:
    """The comparisons in a node."""
    if node.type == "binary_expression" and text(node.child_by_field_name("operator")) in COMPARISONS:
        yield node
    for child in node.named_children:
        yield from comparisons(child)


def found_in(source: Path, crate: str) -> Iterator[tuple[str, str]]:
    """The functions of a crate that compare, each with the first comparison; its folder `src` is given."""
    known = modules(source)
    tests = test_modules(known)
    for module, path in known.items():
        if module[: len(MAP)] == MAP or any(module[: len(test)] == test for test in tests):
            continue
        for function in functions(PARSER.parse(path.read_bytes()).root_node):
            if OFFSETS.search(text(function)):
                compared = [" ".join(text(each).split()) for each in comparisons(function)]
                found = [each for each in compared if BEFORE.search(each) and "Place::" not in each]
                name = "::".join((*module, text(function.child_by_field_name("name"))))
                yield from ((f"{crate} {name}", each) for each in found[:1])


def main(tree: Path) -> int:
    """Check every crate that reads logs; 1 if any has a fault."""
    found = dict(each for crate in PLACES for each in found_in(tree / "rust" / crate / "src", crate))
    faults = [f"{name}: `{how}`: ask kafkacomp_log::map::InOrder" for name, how in found.items() if name not in ALLOWED]
    faults += [f"{name} does not compare offsets: remove it from ALLOWED" for name in ALLOWED if name not in found]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT))
