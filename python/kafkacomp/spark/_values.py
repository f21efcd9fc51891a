"""Parse the values of options: names in any case, sizes, booleans and words; errors have the option's name."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kafkacomp._arguments import parse_size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def known(options: Mapping[str, str], names: Sequence[str], purpose: str = "") -> dict[str, str]:
    """Convert the names of options, which Spark passes in any case, to their documented spelling.

    Raises:
        ValueError: an option is not one of ``names``.
    """
    spelt = {name.lower(): name for name in names}
    given = {}
    for key, value in options.items():
        name = spelt.get(key.lower())
        if name is None:
            raise ValueError(f"unknown option {key!r}{purpose}: expected {', '.join(names)}")
        given[name] = value
    return given


def one_of(name: str, value: object, *allowed: str) -> str:
    """Return the allowed word that equals the value, in any case."""
    for each in allowed:
        if isinstance(value, str) and value.strip().lower() == each.lower():
            return each
    raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")


def boolean(name: str, value: str) -> bool:
    """Parse ``true`` or ``false``."""
    return one_of(name, value, "true", "false") == "true"


def whole(name: str, text: str, least: int, most: int) -> int:
    """Parse an integer from ``least`` to ``most``."""
    if not re.fullmatch(r"\s*\d{1,19}\s*", text) or not least <= int(text) <= most:
        raise ValueError(f"{name} must be a number from {least} to {most}, not {text!r}")
    return int(text)


def size(name: str, text: str, most: int) -> int:
    """Parse a number of bytes from 1 to ``most``, also with Spark's units: 64k, 128m, 1g; 1k is 1024."""
    with suppress(ValueError):
        if 1 <= (found := parse_size(text)) <= most:
            return found
    raise ValueError(f"{name} must be a size like 268435456 or 256m, at most {most}, not {text!r}")


def content(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Parse JSON; ``None`` if it is invalid."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def strings(name: str, text: str) -> list[str]:
    """Parse a JSON list of strings."""
    found = content(text)
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValueError(f"{name} must be a JSON list of strings, not {text!r}")
    return found
