"""Values of options: names in any case, sizes, switches and words, checked with the option's name in the error."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["boolean", "content", "known", "one_of", "size", "strings", "whole"]

_SIZE = re.compile(r"(\d{1,19})\s*(b|k|kb|m|mb|g|gb|t|tb)?")
_UNITS = {"b": 0, "k": 10, "m": 20, "g": 30, "t": 40}


def known(options: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Spell options, which Spark hands over in any case, as documented.

    Raises:
        ValueError: an option that is not among ``names``: one that is misspelt would otherwise be ignored.
    """
    spelt = {name.lower(): name for name in names}
    given = {}
    for key, value in options.items():
        name = spelt.get(key.lower())
        if name is None:
            raise ValueError(f"unknown option {key!r}; there are {', '.join(names)}")
        given[name] = value
    return given


def one_of(name: str, value: object, *allowed: str) -> str:
    """One of the allowed words, as it is spelt there."""
    for each in allowed:
        if isinstance(value, str) and value.strip().lower() == each.lower():
            return each
    raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")


def boolean(name: str, value: str) -> bool:
    """``true`` or ``false``."""
    return one_of(name, value, "true", "false") == "true"


def whole(name: str, text: str, least: int, most: int) -> int:
    """A whole number from ``least`` to ``most``."""
    if not re.fullmatch(r"\s*\d{1,19}\s*", text) or not least <= int(text) <= most:
        raise ValueError(f"{name} must be a number from {least} to {most}, not {text!r}")
    return int(text)


def size(name: str, text: str, most: int) -> int:
    """A number of bytes from 1 to ``most``, or with Spark's units: 64k, 128m, 1g; 1 k is 1024."""
    matched = _SIZE.fullmatch(text.strip().lower())
    found = int(matched[1]) << _UNITS[(matched[2] or "b")[0]] if matched else 0
    if not 1 <= found <= most:
        raise ValueError(f"{name} must be a size like 268435456 or 256m, at most {most}, not {text!r}")
    return found


def content(text: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    """What JSON holds; ``None`` if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def strings(name: str, text: str) -> list[str]:
    """A JSON list of strings."""
    found = content(text)
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValueError(f"{name} must be a JSON list of strings, not {text!r}")
    return found
