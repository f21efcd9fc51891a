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
    from collections.abc import Mapping

    from kafkacomp.advice.prices import Prices, Traffic
    from kafkacomp.advice.rate import Rate
    from kafkacomp.advice.topic import Cell, TopicFigures

DAYS_A_MONTH: Final = 365.25 / 12
_GIGABYTE: Final = 1e9
_DAY: Final = 86400.0
_HOUR: Final = 3600.0
#: Kinds of cost, each with its price.
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
class Amounts:
    """The amounts of a month; all are None if the topic's rate is unknown."""

    #: GB (10^9 bytes) on all brokers' disks.
    disk_gb: float | None
    #: GB per month.
    in_gb: float | None
    replication_gb: float | None
    out_gb: float | None
    #: Hours of one core per month.
    producer_hours: float | None
    broker_hours: float | None
    consumer_hours: float | None

    def by_kind(self) -> dict[str, float | None]:
        """Return the amounts by kind, in the units of the prices."""
        return dict(
            zip(
                KINDS,
                (
                    self.disk_gb, self.in_gb, self.replication_gb, self.out_gb,
                    self.producer_hours, self.broker_hours, self.consumer_hours,
                ),
                strict=True,
            )
        )  # fmt: skip


@dataclass(frozen=True)
class Bill:
    """Money for a month by kind; None for a kind without a price or a known amount."""

    by_kind: Mapping[str, float | None]

    @property
    def total(self) -> float | None:
        """The sum of the known kinds; None if no kind is known."""
        known = [money for money in self.by_kind.values() if money is not None]
        return sum(known) if known else None

    @property
    def missing(self) -> list[str]:
        """The kinds that the total does not include."""
        return [kind for kind, money in self.by_kind.items() if money is None]


def broker_seconds(sent: Cell, stored: Cell) -> float:
    """Return the processor seconds of the leader for 1 GB of records."""
    if sent.codec.type is stored.codec.type:
        return stored.decompress_seconds  # in place; 0 for uncompressed batches
    return sent.decompress_seconds + stored.compress_seconds


def amounts(topic: TopicFigures, sent: Cell, stored: Cell, traffic: Traffic, rate: Rate) -> Amounts:
    """Return the amounts of a month if producers send the batches of one cell and brokers store those of another.

    If the topic recompresses, ``stored`` is the cell of the same batches in the topic's codec.
    """
    if rate.bytes_per_second is None:
        return Amounts(None, None, None, None, None, None, None)
    today_in = rate.bytes_per_second / _GIGABYTE * _DAY * DAYS_A_MONTH
    disk_today = topic.size / _GIGABYTE
    if traffic.retention_days is not None:
        disk_today = today_in / DAYS_A_MONTH * traffic.retention_days
    disk = disk_today * factor(topic, stored) * traffic.replication_factor
    plain = today_in * topic.plain_size / topic.size if topic.size else 0.0
    stored_gb = today_in * factor(topic, stored)
    return Amounts(
        disk_gb=disk,
        in_gb=today_in * factor(topic, sent),
        replication_gb=stored_gb * (traffic.replication_factor - 1),
        out_gb=stored_gb * traffic.consumers,
        producer_hours=plain * sent.compress_seconds / _HOUR,
        broker_hours=plain * broker_seconds(sent, stored) / _HOUR,
        consumer_hours=plain * stored.decompress_seconds * traffic.consumers / _HOUR,
    )


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


def bill(amount: Amounts, prices: Prices) -> Bill:
    """Return the money for these amounts by kind."""
    found: dict[str, float | None] = {}
    for kind, number in amount.by_kind().items():
        price = prices.prices.get(KINDS[kind])
        found[kind] = None if price is None or number is None else price * number
    return Bill(found)
