"""Missing ranges in one form, whichever report has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Range", "ranges_of"]

#: First offset, last offset, reason.
Range = tuple[int, int, str]


def ranges_of(missing: Iterable[Any]) -> list[Range]:
    """The ranges of a report, or of its JSON, with adjacent ones of the same reason joined."""
    found: list[Range] = []
    for each in missing:
        if isinstance(each, dict):
            first, last, reason = each["firstOffset"], each["lastOffset"], each["reason"]
        else:
            first, last, reason = each.first_offset, each.last_offset, each.reason
        # An empty range is a fault of the report, and stays visible.
        if found and first <= last and (found[-1][1] + 1, found[-1][2]) == (first, reason):
            found[-1] = (found[-1][0], last, reason)
        else:
            found.append((first, last, reason))
    return found
