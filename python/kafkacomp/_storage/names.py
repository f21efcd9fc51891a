"""The names of files and folders in a broker's log directory.

Their meaning is decided by the core (``kafkacomp_log::listing::names``); here are the paths around them, and the rule
for topics that are written.
"""

from __future__ import annotations

import os
import re
from typing import Final

from kafkacomp._kafkacomp import (
    INTERNAL_TOPICS,
    is_segment,
    is_tiered_segment,
    leading_offset,
    owner_of,
    partition_of,
    segment_offset,
)

__all__ = [
    "INTERNAL_TOPICS",
    "SWAP",
    "basename",
    "check_topic",
    "is_segment",
    "is_tiered_segment",
    "leading_offset",
    "owner_of",
    "parent_of",
    "partition_of",
    "segment_offset",
    "side_file",
]

_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
#: What separates names in paths of Windows.
_SEPARATORS = re.compile(r"[/\\]")
#: The suffix of a file that has not replaced others yet.
SWAP: Final = ".swap"


def check_topic(topic: str, what: str = "invalid topic name") -> None:
    """Raise ValueError for names that a broker refuses for new topics, TypeError for what is no string."""
    if not isinstance(topic, str):
        raise TypeError(f"topic must be a str, not {type(topic).__name__}")
    if not _TOPIC.fullmatch(topic) or topic in {".", ".."}:
        raise ValueError(f"{what} {topic!r}: 1 to 249 letters, digits, dots, underscores and dashes")


def side_file(segment: str, suffix: str) -> str:
    """The path of a segment's side file; that of a ``.swap`` segment is a ``.swap`` file, too."""
    if segment.endswith(SWAP):
        return side_file(segment.removesuffix(SWAP), suffix) + SWAP
    name = basename(segment)
    stem = name.rpartition(".")[0] or name
    return f"{segment[: len(segment) - len(name)]}{stem}.{suffix}"


def basename(path: str) -> str:
    """The last name of a path."""
    path = path.rstrip("/")
    return _SEPARATORS.split(path)[-1] if os.name == "nt" else path.rpartition("/")[2]


def parent_of(path: str) -> str:
    """A path without its last name and the separator before it."""
    return path.rstrip("/")[: -len(basename(path))].rstrip("/")
