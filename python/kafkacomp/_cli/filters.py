"""The filters of ``dump`` and ``export``: topics, partitions, offsets and times, and conditions on records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from kafkacomp._cli.batches import time_of
from kafkacomp._cli.common import bound, names_of, numbers_of, together
from kafkacomp._click import parsed
from kafkacomp._extras import pa
from kafkacomp._storage.partition import Partition
from kafkacomp._storage.selection import ByName
from kafkacomp.arrow._filter import Conditions
from kafkacomp.arrow._scan import milliseconds
from kafkacomp.exceptions import KafkaCompError

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Sequence

    from kafkacomp._storage.files import Files, SourceFile
    from kafkacomp.record import Record, RecordBatch

#: The options that choose partitions.
partition_options = together(
    click.option("--topics", callback=parsed(names_of), metavar="NAMES",
                 help="Read only these topics: names or globs such as orders-*, separated by commas."),
    click.option("--partitions", callback=parsed(numbers_of), metavar="NUMBERS",
                 help="Read only partitions with these numbers, separated by commas."),
)  # fmt: skip
#: The options that choose partitions, offsets and times.
bound_options = together(
    partition_options,
    click.option("--start-offset", type=click.IntRange(0),
                 help="The first offset, inclusive; default: the start of each partition."),
    click.option("--end-offset", type=click.IntRange(0),
                 help="The end offset, exclusive; default: the end of each partition."),
    click.option("--start-time", callback=bound, metavar="TIME",
                 help="The first timestamp, inclusive: milliseconds since the epoch, or ISO 8601 with a time zone."),
    click.option("--end-time", callback=bound, metavar="TIME",
                 help="The end time, exclusive: in the same form as --start-time."),
)  # fmt: skip
#: The options that choose records by their content.
row_options = together(
    click.option("--key", help="Select records with this key, in UTF-8."),
    click.option("--key-regex", metavar="REGEX", help="Select records whose key contains a match of this RE2 regex."),
    click.option("--value-contains", metavar="TEXT", help="Select records whose value contains this text."),
    click.option("--header", multiple=True, metavar="NAME=VALUE",
                 help="Select records with this header. Can be repeated; a record must then have all of them."),
    click.option("--limit", type=click.IntRange(0), help="Stop after this number of records."),
)  # fmt: skip


def conditions_of(
    key: str | None, key_regex: str | None, value_contains: str | None, header: Sequence[str]
) -> Conditions | None:
    """Check the options that choose records by their content; ``None`` without any.

    Raises:
        ValueError: an invalid regular expression; a header without a value.
    """
    pairs = {}
    for each in header:
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise ValueError(f"--header {each!r}: expected NAME=VALUE")
        pairs[name] = value
    if (key, key_regex, value_contains) == (None, None, None) and not pairs:
        return None
    return Conditions.of(key=key, key_regex=key_regex, value_contains=value_contains, header=pairs)


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The bounds of the batches and records that ``dump`` shows."""

    topics: Sequence[str] | None = None
    partitions: Sequence[int] | None = None
    start_offset: int | None = None
    end_offset: int | None = None
    start_time: int | None = None
    end_time: int | None = None
    conditions: Conditions | None = None

    @classmethod
    def of(
        cls,
        *,
        start_offset: int | None,
        end_offset: int | None,
        start_time: int | dt.datetime | None,
        end_time: int | dt.datetime | None,
        **others: Any,  # noqa: ANN401 - the fields
    ) -> Bounds:
        """Check the options; ValueError for bounds that contradict each other."""
        times = milliseconds("start_time", start_time), milliseconds("end_time", end_time)
        for name, (first, end) in {"offset": (start_offset, end_offset), "time": times}.items():
            if first is not None and end is not None and first > end:
                raise ValueError(f"--start-{name} {first} is above --end-{name} {end}: swap them")
        return cls(start_offset=start_offset, end_offset=end_offset, start_time=times[0], end_time=times[1], **others)

    @property
    def are_of_batches(self) -> bool:
        """Whether they apply to batches, so that files without batches are left out."""
        return self != Bounds(topics=self.topics, partitions=self.partitions)

    @property
    def choice(self) -> ByName | None:
        """The choice of partitions."""
        return ByName.of(self.topics, self.partitions)

    def files(self, found: Files) -> list[SourceFile]:
        """Choose files by the topic and partition of their folder.

        Raises:
            ValueError: no topic matches a name or glob, or no topic has a partition with one of the numbers.
        """
        owners = {file.name: file.owner for file in found.files}
        others = [Partition(each.topic, each.partition) for each in found.partitions]
        listed = [Partition(*owner) for owner in dict.fromkeys(owners.values())] + others
        choice = self.choice
        chosen = {(each.topic, each.partition) for each in (listed if choice is None else choice.select(listed))}
        return [file for file in found.files if owners[file.name] in chosen]

    def has_batch(self, batch: RecordBatch) -> bool:
        """Whether the batch may have records within the bounds: by its header or, for times, its records."""
        first = batch.base_offset if batch.magic >= 2 else None  # noqa: PLR2004 - the format that declares it
        if self.start_offset is not None and batch.last_offset < self.start_offset:
            return False
        if self.end_offset is not None and first is not None and first >= self.end_offset:
            return False
        if (self.start_time, self.end_time) == (None, None) or batch.max_timestamp >= (self.start_time or 0):
            return True
        # Some writers understated the greatest timestamp in the header.
        try:
            return any(self._has_time(each) for each in batch)
        except KafkaCompError:
            return False

    def records(self, records: Iterable[Record]) -> list[Record]:
        """The records within the bounds that satisfy the conditions."""
        chosen = [each for each in records if self._has_record(each)]
        if self.conditions is None or not chosen:
            return chosen
        header = pa.struct([("key", pa.string()), ("value", pa.binary())])
        headers = [[{"key": name, "value": value} for name, value in each.headers] for each in chosen]
        rows = pa.record_batch(
            {
                "key": pa.array([each.key for each in chosen], pa.binary()),
                "value": pa.array([each.value for each in chosen], pa.binary()),
                "headers": pa.array(headers, pa.list_(header)),
                "index": pa.array(range(len(chosen)), pa.int64()),
            }
        )
        return [chosen[index] for index in self.conditions.rows(rows)["index"].to_pylist()]

    def _has_record(self, record: Record) -> bool:
        if self.start_offset is not None and record.offset < self.start_offset:
            return False
        if self.end_offset is not None and record.offset >= self.end_offset:
            return False
        return self._has_time(record)

    def _has_time(self, record: Record) -> bool:
        if (self.start_time, self.end_time) == (None, None):
            return True
        time = time_of(record)
        return (
            time is not None
            and (self.start_time is None or time >= self.start_time)
            and (self.end_time is None or time < self.end_time)
        )
