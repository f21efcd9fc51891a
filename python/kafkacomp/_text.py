"""Format text for terminals and JSON. Names and payloads are untrusted: a terminal would execute control sequences."""

from __future__ import annotations

import datetime as dt
import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The end of the year 9999, the last one of Python's dates, in milliseconds.
_LAST_DATE = 253402300799999

_KIBI = 1024
_SIZE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")

#: Characters to escape in JSON in addition to those of ASCII: C1, separators, marks that change the display order, and
#: lone surrogates, which stand for bytes of file names that are not UTF-8.
_UNSAFE = re.compile("[\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]")
#: Those and the control characters of ASCII but the tab and the end of a line.
_UNSAFE_IN_LINES = re.compile(f"[\x00-\x08\x0b-\x1f]|{_UNSAFE.pattern}")


def printable(text: str) -> str:
    """Escape characters that a terminal could execute or display in another order.

    These are control characters, including those for bidirectional text, and bytes of file names that are not UTF-8.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def json_text(value: object) -> str:
    """Format a value as one line of JSON, with control characters escaped."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


def escaped_lines(text: str) -> str:
    """Escape control characters in lines of JSON or CSV, in the notation of JSON; lines of JSON keep their meaning."""
    return _UNSAFE_IN_LINES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def camel_case(fields: Mapping[str, object]) -> dict[str, Any]:
    """Rename fields for JSON: ``first_offset`` as ``firstOffset``."""
    words = {name: name.split("_") for name in fields}
    return {first + "".join(map(str.title, rest)): fields[name] for name, (first, *rest) in words.items()}


def json_fields(value: object, *names: str) -> dict[str, Any]:
    """The attributes of these names for JSON."""
    return camel_case({name: getattr(value, name) for name in names})


def count_text(number: int, noun: str) -> str:
    """A number with its noun, which gets an s unless the number is 1; a plural in es is given as ``batch|es``."""
    singular, _, ending = noun.partition("|")
    return f"{number:,} {singular}{'' if number == 1 else ending or 's'}"


def size_text(size: float, *, exact: bool = False) -> str:
    """Format a number of bytes in binary units, with one decimal unless it is a multiple of the unit.

    With ``exact`` the greatest unit that divides the number is used.

    >>> size_text(16384), size_text(1000), size_text(1_500_000), size_text(1_500_000, exact=True)
    ('16 KiB', '1000 B', '1.4 MiB', '1500000 B')
    """
    value, units = float(size), iter(_SIZE_UNITS)
    unit = next(units)
    for larger in units:
        if abs(value) < _KIBI or (exact and value % _KIBI):
            break
        value, unit = value / _KIBI, larger
    return f"{value:.0f} {unit}" if unit == "B" or value % 1 == 0 else f"{value:,.1f} {unit}"


def time_text(milliseconds: int | None, *, to_the_second: bool = False) -> str:
    """Format a timestamp in ISO 8601 and UTC; before 1970 and after 9999 in milliseconds; empty for ``None``.

    >>> time_text(1700000000123), time_text(1700000000123, to_the_second=True), time_text(-5)
    ('2023-11-14T22:13:20.123Z', '2023-11-14T22:13:20Z', '-5 ms')
    """
    if milliseconds is None:
        return ""
    if not 0 <= milliseconds <= _LAST_DATE:
        return f"{milliseconds} ms"
    seconds, rest = divmod(milliseconds, 1000)
    time = dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{time}.{rest:03}Z" if rest and not to_the_second else f"{time}Z"


def duration_text(seconds: float) -> str:
    """Format a duration in the largest unit of which it has at least two.

    >>> duration_text(7200), duration_text(90), duration_text(0.005)
    ('2.0 hours', '90.0 s', '5 ms')
    """
    for unit, size in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:,.1f} s" if seconds >= 1 else f"{seconds * 1000:,.0f} ms"
