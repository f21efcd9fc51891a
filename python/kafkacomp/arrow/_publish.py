"""Publish logs that were written from rows, with the loss file of what the scan of these rows did not return."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from kafkacomp._extras import pa
from kafkacomp._storage.new_losses import publish
from kafkacomp.arrow._filter import FilteredReader
from kafkacomp.arrow._reader import ScanReader

if TYPE_CHECKING:
    from kafkacomp._kafkacomp import NewLog, WrittenLog
    from kafkacomp._types import ArrowRows
    from kafkacomp.arrow._report import ScanReport


class Publisher:
    """Publishes the logs that are written from ``rows``; ``topic`` and ``partition`` are those given for all rows."""

    def __init__(self, rows: ArrowRows, topic: str | None, partition: int | None, topic_id: str | None) -> None:
        scan = rows if isinstance(rows, ScanReader | FilteredReader) else None
        if scan is not None and scan.has_control_records:
            raise ValueError("the rows of a scan with include_control=True: control records would become records")
        # Without their offsets, the records get new ones, which have no gap.
        self._has_offsets = scan is not None and "offset" in pa.schema(scan).names
        self._scan = scan
        self._topic, self._partition, self._topic_id = topic, partition, topic_id

    @cached_property
    def report(self) -> ScanReport | None:
        """The report of the scan, after all of its rows were read; ``None`` if the rows are not those of a scan."""
        return None if self._scan is None else self._scan.report

    def publish(self, log: NewLog, topic: str, partition: int) -> WrittenLog:
        """Publish the log of a partition, after all of its rows were read."""
        lacking = {} if self.report is None or not self._has_offsets else self._lacking(self.report, topic, partition)
        written = publish(log, topic, self._topic_id, partition, **lacking).log
        assert written is not None  # noqa: S101 - it is published once
        return written

    def _lacking(self, found: ScanReport, topic: str, partition: int) -> dict[str, Any]:
        """What the scan did not return of a partition."""

        def is_own(name: str | None, number: int | None) -> bool:
            # What is given for all rows may differ from the names in the scan, and what has no name is all of one log.
            is_topic = self._topic is not None or name in {None, topic}
            return is_topic and (self._partition is not None or number in {None, partition})

        missing = [each for each in found.missing if is_own(each.topic, each.partition)]
        return {
            "missing": missing,
            "more_missing": found.more_missing,
            "known": [each for each in found.known_losses if is_own(each.topic, each.partition)],
            "compacted_to": max((each.last_offset + 1 for each in missing if each.reason == "compacted"), default=None),
            "others": "excluded",
        }
