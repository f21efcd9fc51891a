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
    """The traffic of a topic."""

    replication_factor: float = 1
    #: How many times each record is read by consumers.
    consumers: float = 1
    #: GB (10^9 bytes) per day from producers, compressed as today; ``None``: by the records' timestamps.
    gb_per_day: float | None = None
    #: Days that records are kept; ``None``: storage is what is on disk.
    retention_days: float | None = None


@dataclass(frozen=True)
class Prices:
    """A price file."""

    currency: str = ""
    #: When the prices were looked up.
    date: str | None = None
    #: Prices by the names in the file, without those that it does not have.
    prices: Mapping[str, float] = field(default_factory=dict)
    traffic: Traffic = Traffic()
    topics: Mapping[str, Traffic] = field(default_factory=dict)

    def traffic_of(self, topic: str, share: float) -> Traffic:
        """Return the traffic of a topic; ``share`` is its share of the bytes of all topics."""
        own = self.topics.get(topic)
        if own is not None:
            return own
        everything = self.traffic.gb_per_day
        return replace(self.traffic, gb_per_day=None if everything is None else everything * share)


def example() -> str:
    """Return the text of the example file.

    Example:
        >>> from kafkacomp.advice import prices
        >>> prices.parse(prices.example(), "example", print).traffic.replication_factor
        3.0
    """
    return resources.files("kafkacomp.advice").joinpath("example-prices.toml").read_text(encoding="utf-8")


def load(prices: Prices | str | os.PathLike[str] | None, failed: Callable[[str], object]) -> Prices:
    """Read a price file; prices are returned unchanged.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not TOML, or longer than 1 MiB.

    Example:
        >>> from kafkacomp.advice import prices
        >>> prices.load(prices.Prices(currency="EUR"), print).currency
        'EUR'
    """
    if prices is None or isinstance(prices, Prices):
        return prices or Prices()
    with Path(prices).open(encoding="utf-8") as file:
        text = file.read(_MOST_CHARACTERS + 1)
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(f"{os.fspath(prices)}: more than {_MOST_CHARACTERS:,} characters")
    return parse(text, os.fspath(prices), failed)


def parse(text: str, name: str, failed: Callable[[str], object]) -> Prices:
    """Read a price file.

    Args:
        text: The content of the file.
        name: The name of the file in messages.
        failed: Called with a message for each unknown key and each invalid value; they are ignored.

    Raises:
        ValueError: it is not TOML.

    Example:
        >>> from kafkacomp.advice import prices
        >>> prices.parse("currency = 'EUR'", "my prices", print).currency
        'EUR'
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{name}: {error}") from None
    _known(content, _TOP, f"{name}: ", failed)
    currency = content.get("currency", "")
    if not isinstance(currency, str):
        failed(f"{name}: currency must be text, not {currency!r}")
        currency = ""
    date = content.get("date")
    given = _numbers(content, "prices", _PRICES, name, failed)
    traffic = _table(content, "traffic", name, failed)
    topics = _table(traffic, "topics", f"{name}: traffic", failed, separator=".")
    general = _traffic(traffic, Traffic(), f"{name}: traffic.", failed, also=("topics",))
    shared = replace(general, gb_per_day=None)
    return Prices(
        currency=currency,
        date=None if date is None else date.isoformat() if isinstance(date, dt.date) else str(date),
        prices=given,
        traffic=general,
        topics={
            topic: _traffic(_table(topics, topic, f"{name}: traffic.topics", failed, separator="."), shared,
                            f"{name}: traffic.topics.{topic}.", failed)
            for topic in topics
        },
    )  # fmt: skip


def _table(
    content: Mapping[str, Any], key: str, name: str, failed: Callable[[str], object], *, separator: str = ": "
) -> dict[str, Any]:
    found = content.get(key, {})
    if isinstance(found, dict):
        return found
    failed(f"{name}{separator}{key} must be a table, not {found!r}")
    return {}


def _known(content: Mapping[str, Any], names: tuple[str, ...], prefix: str, failed: Callable[[str], object]) -> None:
    for key in content:
        if key not in names:
            failed(f"{prefix}{key} is not known; there are {', '.join(names)}")


def _numbers(
    content: Mapping[str, Any], table: str, names: tuple[str, ...], name: str, failed: Callable[[str], object]
) -> dict[str, float]:
    given = _table(content, table, name, failed)
    prefix = f"{name}: {table}."
    _known(given, names, prefix, failed)
    found = {}
    for key in names:
        if key in given and _is_number(given[key], f"{prefix}{key}", failed):
            found[key] = float(given[key])
    return found


def _traffic(
    given: Mapping[str, Any], base: Traffic, prefix: str, failed: Callable[[str], object], *, also: tuple[str, ...] = ()
) -> Traffic:
    _known(given, (*_TRAFFIC, *also), prefix, failed)
    found = {}
    for key in _TRAFFIC:
        if key not in given or not _is_number(given[key], f"{prefix}{key}", failed):
            continue
        if key == "replication_factor" and not 1 <= given[key] <= _MOST_REPLICAS:
            failed(f"{prefix}{key} must be 1 to {_MOST_REPLICAS}, not {given[key]}")
            continue
        found[key] = float(given[key])
    return replace(base, **found)


def _is_number(value: object, name: str, failed: Callable[[str], object]) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        failed(f"{name} must be a number, not {value!r}")
        return False
    if not math.isfinite(value) or value < 0:
        failed(f"{name} must not be negative: {value}" if value < 0 else f"{name} must be finite, not {value}")
        return False
    return True
