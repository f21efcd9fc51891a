"""Whole numbers that must fit their fields."""

from __future__ import annotations

import operator
from typing import Final

__all__ = ["BATCH_BYTES", "DEFAULT_BATCH_BYTES", "INT16", "INT32", "INT64", "MAGICS", "OFFSETS", "integer"]

INT16: Final = (-(2**15), 2**15 - 1)
INT32: Final = (-(2**31), 2**31 - 1)
INT64: Final = (-(2**63), 2**63 - 1)
OFFSETS: Final = (0, 2**63 - 1)
MAGICS: Final = (0, 2)
BATCH_BYTES: Final = (1, 2**31 - 1)
DEFAULT_BATCH_BYTES: Final = 16384  # a producer's batch.size


def integer(name: str, value: int, limits: tuple[int, int]) -> int:
    """The number itself; TypeError if it is none (a bool is none), ValueError if it does not fit its field."""
    if isinstance(value, bool):
        raise TypeError(f"{name} must be an int, not a bool")
    number = operator.index(value)
    if not limits[0] <= number <= limits[1]:
        raise ValueError(f"{name} must be {limits[0]} to {limits[1]}, not {number}")
    return number
