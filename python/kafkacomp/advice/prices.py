"""Prices and traffic from a TOML file; ``example-prices.toml`` is an example.

There are no built-in prices. Unknown keys and invalid numbers are reported and ignored.
"""

from __future__ import annotations

import datetime as dt
import math
import os
import tomllib
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kafkacomp._arguments import path_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Prices", "Traffic", "example", "load", "parse"]

_PRICES: Final = ("storage_gb_month", "network_in_gb", "network_replication_gb", "network_out_gb", "vcpu_hour")
_TRAFFIC: Final = ("replication_factor", "consumers", "gb_per_day", "retention_days")
_TOP: Final = ("currency", "date", "prices", "traffic")
_MOST_REPLICAS: Final = 1000
#: The most bytes of a file; a device has no end.
_MOST_CHARACTERS: Final = 1 << 20


@dataclass(frozen=True)
class Traffic:
    """The traffic of a topic, for the cost of the network and of storage.

    Attributes:
        replication_factor: Replicas of each partition.
        consumers: How many times each record is read by consumers.
        gb_per_day: GB (10^9 bytes) per day that producers send, compressed as today; ``None``: the rate is computed
            from the timestamps of the records.
        retention_days: Days for which records are kept; ``None``: the stored bytes are those on disk.

    Example:
        >>> from kafkacomp.advice import prices
        >>> prices.Prices(traffic=prices.Traffic(replication_factor=3, consumers=2)).traffic.gb_per_day is None
        True
    """

    replication_factor: float = 1
    consumers: float = 1
    gb_per_day: float | None = None
    retention_days: float | None = None


@dataclass(frozen=True)
class Prices:
    """The content of a price file: prices and traffic.

    Attributes:
        currency: The currency of the prices.
        date: The date on which the prices were looked up.
        prices: The prices in the file, by name.
        traffic: The traffic of topics that are not in ``topics``.
        topics: The traffic of single topics, by name.
    """

    currency: str = ""
    date: str | None = None
    prices: Mapping[str, float] = field(default_factory=dict)
    traffic: Traffic = Traffic()
    topics: Mapping[str, Traffic] = field(default_factory=dict)

    def traffic_of(self, topic: str, share: float) -> Traffic:
        """Return the traffic of a topic, which has this share (0 to 1) of the bytes of all topics."""
        own = self.topics.get(topic)
        if own is not None:
            return own
        everything = self.traffic.gb_per_day
        return replace(self.traffic, gb_per_day=None if everything is None else everything * share)


def example() -> str:
    """Return the text of an example of a price file.

    Example:
        >>> from kafkacomp.advice import prices
        >>> prices.parse(prices.example(), "example", print).traffic.replication_factor
        3.0
    """
    return resources.files("kafkacomp.advice").joinpath("example-prices.toml").read_text(encoding="utf-8")


def load(prices: Prices | str | os.PathLike[str] | None, failed: Callable[[str], object]) -> Prices:
    """Read a price file.

    Args:
        prices: The path of the file; :class:`Prices` are returned unchanged, and ``None`` becomes empty prices.
        failed: Called with a message for each unknown key and each invalid value; they are ignored.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not TOML, or longer than 1 MiB.

    Example:
        >>> from kafkacomp.advice import prices
        >>> prices.load(prices.Prices(currency="EUR"), print).currency
        'EUR'
    """
    if prices is None or isinstance(prices, Prices):
        return prices or Prices()
    with Path(path_text("prices", prices)).open(encoding="utf-8") as file:
        text = file.read(_MOST_CHARACTERS + 1)
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(f"{os.fspath(prices)}: more than {_MOST_CHARACTERS:,} characters")
    return parse(text, os.fspath(prices), failed)


def parse(text: str, name: str, failed: Callable[[str], object]) -> Prices:
    """Parse the content of a price file.

    Args:
        text: The content of the file.
        name: The name of the file in messages.
        failed: Called with a message for each unknown key and each invalid value; they are ignored.

    Raises:
        ValueError: the text is not TOML.

    Example:
        >>> from kafkacomp.advice import prices
        >>> prices.parse("currency = 'EUR'", "my prices", print).currency
        'EUR'
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{name}: {error}") from None
    top = _Table(content, f"{name}: ", failed)
    top.check_names(_TOP)
    currency = content.get("currency", "")
    if not isinstance(currency, str):
        failed(f"{name}: currency must be text, not {currency!r}")
        currency = ""
    date = content.get("date")
    given = top.table("prices").numbers(_PRICES)
    traffic = top.table("traffic")
    topics = traffic.table("topics")
    general = Traffic(**traffic.numbers(_TRAFFIC, also=("topics",)))
    shared = replace(general, gb_per_day=None)
    return Prices(
        currency=currency,
        date=None if date is None else date.isoformat() if isinstance(date, dt.date) else str(date),
        prices=given,
        traffic=general,
        topics={topic: replace(shared, **topics.table(topic).numbers(_TRAFFIC)) for topic in topics.values},
    )


class _Table:
    """A table of the file. What is wrong in it is passed to ``failed``, and left out."""

    def __init__(self, values: Mapping[str, Any], prefix: str, failed: Callable[[str], object]) -> None:
        self.values = values
        self._prefix = prefix
        self._failed = failed

    def check_names(self, names: tuple[str, ...]) -> None:
        for key in self.values:
            if key not in names:
                self._failed(f"{self._prefix}{key} is an unknown key: expected some of {', '.join(names)}")

    def table(self, key: str) -> _Table:
        found = self.values.get(key, {})
        if not isinstance(found, dict):
            self._failed(f"{self._prefix}{key} must be a table, not {found!r}")
            found = {}
        return _Table(found, f"{self._prefix}{key}.", self._failed)

    def numbers(self, names: tuple[str, ...], *, also: tuple[str, ...] = ()) -> dict[str, float]:
        """The numbers of these names; the table may have the names in ``also``, too."""
        self.check_names((*names, *also))
        found = {}
        for key in names:
            problem = _problem(key, self.values[key]) if key in self.values else None
            if problem is not None:
                self._failed(f"{self._prefix}{key} {problem}")
            elif key in self.values:
                found[key] = float(self.values[key])
        return found


def _problem(key: str, value: object) -> str | None:
    """Why a value is not a price, an amount or a number of replicas; ``None`` if it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"must be a number, not {value!r}"
    if value < 0:
        return f"must not be negative: {value}"
    if not math.isfinite(value):
        return f"must be finite, not {value}"
    if key == "replication_factor" and not 1 <= value <= _MOST_REPLICAS:
        return f"must be 1 to {_MOST_REPLICAS}, not {value}"
    return None
