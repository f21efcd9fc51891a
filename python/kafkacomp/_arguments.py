"""Checks of arguments that many functions share: each rule is written once, and its message names the argument."""

from __future__ import annotations

import numbers
import operator
import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, SupportsIndex, TypeVar, cast

from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE
from kafkacomp._types import CompressionType

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

INT16: Final[tuple[int, int]] = (-(2**15), 2**15 - 1)
INT32: Final[tuple[int, int]] = (-(2**31), 2**31 - 1)
INT64: Final[tuple[int, int]] = (-(2**63), 2**63 - 1)
OFFSETS: Final[tuple[int, int]] = (0, 2**63 - 1)
PARTITIONS: Final[tuple[int, int]] = (0, 2**31 - 1)
MAGICS: Final[tuple[int, int]] = (0, 2)
BATCH_BYTES: Final[tuple[int, int]] = (1, 2**31 - 1)
SEGMENT_BYTES: Final[tuple[int, int]] = (1, 2**31 - 1)
_THREADS: Final = (1, 1024)
PATH_OR_BYTES: Final = "a path or bytes-like"
DEFAULT_BATCH_BYTES: Final = 16384  # a producer's batch.size

_Item = TypeVar("_Item")
_SIZE = re.compile(r"([0-9]{1,19})\s*([kmgt]?)b?", re.IGNORECASE)
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}


def integer(name: str, value: object, limits: tuple[int, int] | None) -> int:
    """Check an integer; ``None`` is no limits.

    Raises:
        TypeError: it is not an int; a bool is not one.
        ValueError: it is out of range.
    """
    if isinstance(value, bool):
        raise TypeError(f"{name} must be an int, not bool")
    try:
        number = operator.index(value)  # type: ignore[arg-type] # that is what is checked
    except TypeError:
        raise TypeError(f"{name} must be an int, not {type(value).__name__}") from None
    if limits is not None and not limits[0] <= number <= limits[1]:
        raise ValueError(f"{name} must be {limits[0]} to {limits[1]}, not {number}")
    return number


def check_bools(**given: object) -> None:
    """Check arguments that are true or false; TypeError."""
    for name, value in given.items():
        if type(value).__name__ not in {"bool", "bool_"}:  # the other one is numpy's
            raise TypeError(f"{name} must be a bool, not {type(value).__name__}")


def check_numbers(**given: object) -> None:
    """Check arguments that are a number or ``None``; TypeError."""
    for name, value in given.items():
        if value is not None and not isinstance(value, numbers.Real):
            raise TypeError(f"{name} must be a number, or None, not {type(value).__name__}")


def path_text(name: str, path: object) -> str:
    """The text of a path or URL.

    Raises:
        TypeError: it is not a path; bytes are not one.
        ValueError: it is empty, which would be the current folder, or contains a NUL.
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"{name} must be a path, a str or os.PathLike, not {type(path).__name__}")
    if not (text := os.fsdecode(path)):
        raise ValueError(f"{name} is empty: give a path; '.' is the current folder")
    if "\0" in text:
        raise ValueError(f"{name} must be a path, which contains no NUL, not {text!r}")
    return text


def items_of(name: str, items: Iterable[_Item], what: str) -> Iterator[_Item]:
    """Iterate over an argument; TypeError if it is not iterable, or a string."""
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise TypeError(f"{name} must be an iterable of {what}, not {type(items).__name__}")
    return iter(items)


def bytes_view(name: str, data: object, what: str = "bytes-like") -> memoryview:
    """View bytes; TypeError, which says that the argument must be ``what``, for other objects."""
    try:
        return memoryview(data)  # type: ignore[arg-type] # that is what is checked
    except TypeError:
        raise TypeError(f"{name} must be {what}, not {type(data).__name__}") from None


def level_of(compression_level: int | None, limits: tuple[int, int] | None = None) -> int | None:
    """Check that a level is an integer; the core knows the levels of each compression type."""
    return None if compression_level is None else integer("compression_level", compression_level, limits)


def one_of(name: str, value: object, allowed: Collection[str]) -> None:
    """Check that a value is one of those listed; ValueError lists them."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, not {value!r}")


def checked_columns(names: Iterable[str], known: Collection[str]) -> list[str]:
    """Check that columns exist, and that each is named once."""
    chosen = names_of("columns", names)
    check_names("columns", chosen, known)
    if not chosen:
        raise ValueError(f"columns must have each name once, and at least one: expected some of {', '.join(known)}")
    return chosen


def names_of(argument: str, names: object) -> list[str]:
    """List the names of a collection; TypeError for a single string, and for what is not a collection of strings."""
    if isinstance(names, str):
        raise TypeError(f"{argument} must be a collection of names, not the string {names!r}")
    if not isinstance(names, Iterable):
        raise TypeError(f"{argument} must be a collection of names, not {type(names).__name__}")
    chosen = list(names)
    for name in chosen:
        if not isinstance(name, str):
            raise TypeError(f"{argument} must be a collection of names, not of {type(name).__name__}")
    return chosen


def check_progress(progress: object) -> None:
    """Check a callback before the work begins; TypeError."""
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be callable, or None, not {type(progress).__name__}")


def check_names(argument: str, names: Sequence[str], known: Collection[str]) -> None:
    """Check that columns exist, and that each is named once; ValueError."""
    for name in names:
        if name not in known:
            raise ValueError(f"{argument}: unknown column {name!r}: expected some of {', '.join(known)}")
        if names.count(name) > 1:
            raise ValueError(f"{argument}: column {name!r} is given twice")


def checked_max_output_size(max_output_size: int) -> int:
    """Check the limit on decompressed bytes."""
    return integer("max_output_size", max_output_size, (1, DEFAULT_MAX_OUTPUT_SIZE))


def optional_max_output_size(max_output_size: int | None) -> int | None:
    """Check a limit that may be ``None`` for no limit."""
    if max_output_size is None:
        return None
    number = integer("max_output_size", max_output_size, None)
    if number < 1:
        raise ValueError(f"max_output_size must be at least 1, or None, not {number}")
    return number


def compression_type_of(compression_type: object) -> CompressionType:
    """Find the compression type that a name or an id stands for.

    Raises:
        TypeError: it is neither.
        ValueError: the compression type is unknown.
    """
    if isinstance(compression_type, CompressionType):
        return compression_type
    if isinstance(compression_type, str):
        return CompressionType.for_name(compression_type)
    # Not isinstance of SupportsIndex: for a protocol that takes longer than to compress a small record.
    if isinstance(compression_type, bool) or not hasattr(compression_type, "__index__"):
        given = "None" if compression_type is None else type(compression_type).__name__
        raise TypeError(f"compression_type must be a CompressionType or its name, not {given}")
    return CompressionType.for_id(operator.index(cast("SupportsIndex", compression_type)))


def checked_magic(magic: int) -> int:
    """Check a message format."""
    if magic not in (2, 1, 0):  # the default is compared first
        raise ValueError(f"magic must be 0, 1 or 2, not {magic!r}")
    return magic


def check_to_magic(to_magic: object) -> None:
    """Check the message format of a log; ValueError."""
    if to_magic not in (0, 1, 2):
        raise ValueError(f"to_magic must be 0 (Kafka 0.8, 0.9), 1 (0.10) or 2 (0.11 and later), not {to_magic!r}")


def available_cores() -> int:
    """Count the cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def checked_threads(threads: int | None) -> int:
    """Check a number of threads; ``None`` means one for each core that this process may run on."""
    return integer("threads", available_cores() if threads is None else threads, _THREADS)


def parse_size(text: str) -> int:
    """Read a number of bytes, such as ``4096``, ``64k``, ``16m`` or ``1g``.

    Raises:
        ValueError: the text is not a size.
    """
    matched = _SIZE.fullmatch(text.strip())
    if matched is None:
        raise ValueError(f"{text!r} is not a size: expected a number of bytes such as 4096, 64k, 16m or 1g")
    size = int(matched[1]) << _UNITS[matched[2].lower()]
    return integer("a size", size, OFFSETS)
