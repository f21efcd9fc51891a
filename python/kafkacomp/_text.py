"""Text for terminals and for JSON: names and payloads are others' data, and a terminal obeys what is in them."""

from __future__ import annotations

import datetime as dt
import json
import re

__all__ = ["json_text", "printable", "time_text"]

#: The end of the year 9999, of Python's last date, in milliseconds.
_LAST_DATE = 253402300799999

#: In JSON, which escapes the control characters of ASCII itself: C1, the separators and marks that change the order of
#: what is shown, and lone surrogates, which are bytes of file names that are not UTF-8.
_UNSAFE = re.compile("[\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]")


def printable(text: str) -> str:
    """The text with escapes in place of what a terminal could take for a command, or show in another order.

    These are control characters, also those of bidirectional text, and what file names have that is not Unicode.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def json_text(value: object) -> str:
    """A value as JSON on one line, with escapes for what a terminal could obey."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


def time_text(milliseconds: int | None) -> str:
    """A timestamp in UTC, in ISO 8601; as a number if Python's dates do not reach so far; empty for ``None``."""
    if milliseconds is None:
        return ""
    if not 0 <= milliseconds <= _LAST_DATE:
        return str(milliseconds)
    seconds, rest = divmod(milliseconds, 1000)
    time = dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{time}.{rest:03}Z" if rest else f"{time}Z"
