"""The cost of a codec at a batch size: bytes on disk and on the network, processor time, and money for a month.

The work of a broker is that of :class:`kafkacomp.broker.LogValidator`: a batch that arrives in the type to store is
validated in place, for which its records are decompressed once; a batch of another type is decompressed and
recompressed; followers store the bytes of the leader. The topic's ``compression.type`` determines the type to store
(:func:`kafkacomp.broker.target_compression_type`); levels have no influence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kafkacomp.advice.rate import assumed_rate, rate_of, unknown_rate

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    from kafkacomp.advice.prices import Prices, Traffic
    from kafkacomp.advice.rate import Rate
    from kafkacomp.advice.topic import Cell, TopicFigures

    #: Amounts or money of a month by kind.
    Month: TypeAlias = dict[str, float | None]

DAYS_A_MONTH: Final = 365.25 / 12
_GIGABYTE: Final = 1e9
_DAY: Final = 86400.0
_HOUR: Final = 3600.0
#: Kinds of cost, each with its price. Amounts are GB (10^9 bytes) on all brokers' disks, GB per month, and hours of one
#: core per month.
KINDS: Final = {
    "storage": "storage_gb_month",
    "networkIn": "network_in_gb",
    "networkReplication": "network_replication_gb",
    "networkOut": "network_out_gb",
    "cpuProducers": "vcpu_hour",
    "cpuBrokers": "vcpu_hour",
    "cpuConsumers": "vcpu_hour",
}


@dataclass(frozen=True)
class Circumstances:
    """The settings and the rate that a recommendation depends on, in addition to the topic's bytes."""

    prices: Prices
    traffic: Traffic
    rate: Rate
    #: The most milliseconds that a batch may take longer; None for no limit.
    max_latency_ms: float | None = None
    #: The topic's compression.type today.
    compression_type: str = "producer"


@dataclass(frozen=True)
class Bill:
    """Money for a month by kind; None for a kind without a price or a known amount."""

    by_kind: Month

    @property
    def total(self) -> float | None:
        """The sum of the known kinds; None if no kind is known."""
        return sum_of_known(self.by_kind.values())

    @property
    def missing(self) -> list[str]:
        """The kinds that the total does not include."""
        return [kind for kind, money in self.by_kind.items() if money is None]


def sum_of_known(numbers: Iterable[float | None]) -> float | None:
    """Return the sum of the known numbers; None if none is known."""
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def broker_seconds(sent: Cell, stored: Cell) -> float:
    """Return the processor seconds of the leader for 1 GB of records."""
    if sent.codec.type is stored.codec.type:
        return stored.decompress_seconds  # in place; 0 for uncompressed batches
    return sent.decompress_seconds + stored.compress_seconds


def amounts(topic: TopicFigures, sent: Cell, stored: Cell, traffic: Traffic, rate: Rate) -> Month:
    """Return the amounts of a month by kind, or None for each if the topic's rate is unknown.

    Producers send the batches of one cell, and brokers store those of another: if the topic recompresses, ``stored`` is
    the cell of the same batches in the topic's codec.
    """
    if rate.bytes_per_second is None:
        return dict.fromkeys(KINDS)
    today_in = rate.bytes_per_second / _GIGABYTE * _DAY * DAYS_A_MONTH
    disk_today = topic.size / _GIGABYTE
    if traffic.retention_days is not None:
        disk_today = today_in / DAYS_A_MONTH * traffic.retention_days
    disk = disk_today * factor(topic, stored) * traffic.replication_factor
    plain = today_in * topic.plain_size / topic.size if topic.size else 0.0
    stored_gb = today_in * factor(topic, stored)
    return {
        "storage": disk,
        "networkIn": today_in * factor(topic, sent),
        "networkReplication": stored_gb * (traffic.replication_factor - 1),
        "networkOut": stored_gb * traffic.consumers,
        "cpuProducers": plain * sent.compress_seconds / _HOUR,
        "cpuBrokers": plain * broker_seconds(sent, stored) / _HOUR,
        "cpuConsumers": plain * stored.decompress_seconds * traffic.consumers / _HOUR,
    }


def factor(topic: TopicFigures, cell: Cell) -> float:
    """Return the bytes with a cell's batches divided by today's; control batches do not change."""
    total = topic.total.size
    own = total / (total + topic.kept) if total else 0.0
    return 1 - own * topic.saving(cell)[0]


def rate_in(topic: TopicFigures, traffic: Traffic, assumed: float | None) -> Rate:
    """Return the rate of a topic: that of the price file, else by its timestamps, else the assumed one.

    Args:
        topic: The topic.
        traffic: The traffic of this topic.
        assumed: Bytes per second if the price file and the timestamps do not have a rate.
    """
    if traffic.gb_per_day is not None:
        return assumed_rate(traffic.gb_per_day * _GIGABYTE / _DAY, "price file")
    if topic.stored:
        stamps = [topic.stamps[number] for number in sorted(topic.stamps)]
        found = rate_of(topic.size, stamps, topic.files)
    else:
        found = unknown_rate("the records are not in a log")
    return found if found.bytes_per_second is not None or assumed is None else assumed_rate(assumed, "assumed")


def bill(month: Month, prices: Prices) -> Bill:
    """Return the money for these amounts by kind."""
    found: Month = {}
    for kind, number in month.items():
        price = prices.prices.get(KINDS[kind])
        found[kind] = None if price is None or number is None else price * number
    return Bill(found)
