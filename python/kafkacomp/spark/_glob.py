"""Paths with Hadoop's wildcards: ``*``, ``?``, ``[abc]``, ``[^a]``, ``{a,b}``, none of which matches a slash."""

from __future__ import annotations

import errno
import fnmatch
import re
from typing import TYPE_CHECKING

from kafkacomp._storage.discovery import find_in
from kafkacomp._storage.filesystem import open_filesystem
from kafkacomp._storage.listing import is_not_a_segment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkacomp._storage.discovery import Opener
    from kafkacomp._storage.filesystem import FileSystem
    from kafkacomp._storage.listing import Allowed
    from kafkacomp._storage.partition import Partition
    from kafkacomp._storage.stores import Entry

_MAGIC = re.compile(r"[*?\[{]")
_BRACES = re.compile(r"\{([^{}]*)\}")
_CLASS = re.compile(r"\[[^\]]+\]")
_SCHEME_ONLY = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/{0,2}")
#: A limit on the alternatives in braces, whose number multiplies.
_MOST_ALTERNATIVES = 10_000


def find(path: str, opened: Opener = open_filesystem, allowed: Allowed | None = None) -> Iterator[Partition]:
    """Find the partitions at a path or URL, or at all paths that its wildcards match.

    Matches that are index files or folders without segments are left out.

    Raises:
        FileNotFoundError: the path does not exist, nothing matches it, or the matches contain no segments.
    """
    magic = _MAGIC.search(path)
    if magic is None or _is_there(path, opened):
        yield from find_in(*opened(path), allowed)
        return
    matched = 0
    found = False
    for pattern in _alternatives(path):
        filesystem, entries = _matches(pattern, opened)
        for entry in entries:
            matched += 1
            for each in _partitions(filesystem, entry, allowed):
                found = True
                yield each
    if not found:
        reason = "no Kafka log segments in the matches of this path" if matched else "nothing matches this path"
        raise FileNotFoundError(errno.ENOENT, reason, path)


def matcher(pattern: str) -> re.Pattern[str]:
    """Compile a pattern that must match a file's whole name.

    Raises:
        ValueError: a bracket or brace is not closed, as in Hadoop.
    """
    alternatives = _alternatives(pattern)
    if any(re.search(r"[\[{]", _CLASS.sub("", each)) for each in alternatives):
        raise ValueError(f"pathGlobFilter {pattern!r} has a bracket or brace that is not closed")
    return re.compile("|".join(fnmatch.translate(_negations(each)) for each in alternatives))


def _is_there(path: str, opened: Opener) -> bool:
    """Whether a path that contains wildcard characters exists under this very name."""
    try:
        filesystem, inner = opened(path)
        filesystem.info(inner)
    except (OSError, ValueError):
        return False
    return True


def _matches(pattern: str, opened: Opener) -> tuple[FileSystem, Iterator[Entry]]:
    magic = _MAGIC.search(pattern)
    cut = pattern.rfind("/", 0, magic.start() if magic else len(pattern))
    base = pattern[:cut] if cut > 0 else "/" if cut == 0 else "."
    scheme = _SCHEME_ONLY.fullmatch(base)
    if scheme is not None:
        base = f"{scheme[1]}:///"
    filesystem, folder = opened(base)
    return filesystem, _walk(filesystem, folder, [part for part in pattern[cut + 1 :].split("/") if part])


def _walk(filesystem: FileSystem, folder: str, parts: list[str]) -> Iterator[Entry]:
    try:
        if _MAGIC.search(parts[0]):
            name = re.compile(fnmatch.translate(_negations(parts[0])))
            entries = [each for each in filesystem.list(folder) if _is_named(each, name, parts[0])]
        else:
            entries = [filesystem.info(f"{folder.rstrip('/')}/{parts[0]}")]
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in sorted(entries, key=lambda each: each.path):
        if len(parts) == 1:
            yield entry
        elif entry.is_dir:
            yield from _walk(filesystem, entry.path, parts[1:])


def _is_named(entry: Entry, name: re.Pattern[str], part: str) -> bool:
    own = entry.path.rstrip("/").rpartition("/")[2]
    return name.fullmatch(own) is not None and (part.startswith(".") or not own.startswith("."))


def _partitions(filesystem: FileSystem, entry: Entry, allowed: Allowed | None) -> Iterator[Partition]:
    if not entry.is_dir and is_not_a_segment(entry.path):
        return
    try:
        yield from find_in(filesystem, entry.path, allowed)
    except FileNotFoundError:
        if not entry.is_dir:
            raise


def _negations(part: str) -> str:
    return part.replace("[^", "[!")


def _alternatives(pattern: str) -> list[str]:
    """Expand braces, the innermost first."""
    patterns = [pattern]
    done: list[str] = []
    while patterns:
        each = patterns.pop()
        braces = _BRACES.search(each)
        if braces is None:
            done.append(each)
            continue
        patterns += [each[: braces.start()] + word + each[braces.end() :] for word in reversed(braces[1].split(","))]
        if len(patterns) + len(done) > _MOST_ALTERNATIVES:
            raise ValueError(f"{pattern}: more than {_MOST_ALTERNATIVES} alternatives in braces")
    return list(dict.fromkeys(done))
