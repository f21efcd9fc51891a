"""The bytes of the batches of a log of the model. What is read of a record shows which one it is."""

from __future__ import annotations

import random
import struct
from typing import TYPE_CHECKING, NamedTuple

from checksums import crc32c
from corruption.logs import CODECS
from kafkacomp import record

if TYPE_CHECKING:
    from corruption.framing import Batch as RealBatch
    from corruption.logs import Log as RealLog
    from model import Batch

__all__ = ["FOREIGN", "Contents", "Format", "Made", "Real"]

#: The content of a record that no log has.
FOREIGN = -1
#: The producer of all transactions.
_PRODUCER = 7
_START = 1_700_000_000_000
#: The header of a batch of format 2.
_HEADER = 61


class Format(NamedTuple):
    """How batches are encoded."""

    magic: int
    codec: str
    #: Whether the batches with one offset are markers, and the others belong to transactions.
    is_transactional: bool = False


#: A batch without what damage alters: its records, its size, and its offsets from the first one on.
_Key = tuple[tuple[tuple[int, int], ...], int, int]


class Contents:
    """The bytes of batches."""

    #: The bytes of a unit.
    unit: int

    def __init__(self) -> None:
        #: The bytes of each batch, and its first offset there.
        self._built: dict[_Key, tuple[bytes, int]] = {}

    def bytes_of(self, batch: Batch) -> bytes:
        """Encode a batch, with the offset and the leader epoch that it has now."""
        key = batch.records, batch.size, batch.room
        if key not in self._built:
            self._built[key] = self.built(batch), batch.first
        data, first = self._built[key]
        if not data:
            return data
        altered = bytearray(data)
        (offset,) = struct.unpack_from(">q", data)
        struct.pack_into(">q", altered, 0, offset + batch.first - first)
        if data[16] == 2:
            struct.pack_into(">i", altered, 12, batch.epoch)
        return bytes(altered)

    def part(self, batch: Batch, number: int) -> bytes:
        """The bytes of a unit of a batch."""
        data = self.bytes_of(batch)
        return data[len(data) * number // batch.size : len(data) * (number + 1) // batch.size]

    def built(self, batch: Batch) -> bytes:
        """Encode a batch for the first time."""
        raise NotImplementedError

    def content_of(self, offset: int, key: bytes | None, value: bytes | None, *, is_control: bool) -> int:
        """Which record this is."""
        raise NotImplementedError


class Made(Contents):
    """Batches of records that are made up: their keys are their contents."""

    unit = 1024

    def __init__(self, form: Format, *, is_thinned: bool = False) -> None:
        super().__init__()
        self.form = form
        #: Whether batches lack records that they have elsewhere: a record must be the same in each.
        self.is_thinned = is_thinned

    def resized(self, batch: Batch) -> Batch:
        """The batch with the number of units that it has."""
        resized = batch._replace(size=max(1, -(-len(self.built(batch)) // self.unit)))
        self._built[resized.records, resized.size, resized.room] = self.built(batch), batch.first
        return resized

    @property
    def is_exact(self) -> bool:
        """Whether batches have the sizes that the model knows."""
        return self.form == Format(2, "none")

    def built(self, batch: Batch) -> bytes:  # noqa: D102 - of the base class
        if not batch.records:
            return _emptied(batch) if self.form.magic == 2 else b""
        if self.form.is_transactional and batch.room == 1:
            return self._marker(batch)
        if self.is_thinned:
            return self._of(batch, {content: 200 + content * 7919 % 1200 for _, content in batch.records})
        size = batch.size * self.unit
        last = batch.records[-1][1]
        # The length of a length may change.
        for extra in range(3):
            fill = size
            for _ in range(4):
                data = self._of(batch, {last: fill}, extra)
                if len(data) == size or self.form.codec != "none":
                    return data
                fill = max(0, fill + size - len(data))
        raise AssertionError(batch)

    def _of(self, batch: Batch, fill: dict[int, int], extra: int = 0) -> bytes:
        """A batch whose records have so many bytes of noise, the last one with blanks after its key."""
        builder = self._builder(batch)
        last = batch.records[-1][1]
        for delta, content in batch.records:
            value = None if content % 13 == 0 and content not in fill else b"value of %d" % content
            if value is not None:
                value += random.Random(content).randbytes(fill.get(content, 0))
            time = -1 if self.form.magic == 0 or content % 23 == 0 else _START + 10 * content + content * 7919 % 97
            key = b"%d" % content + b" " * (extra if content == last else 0)
            builder.append(value, key=key, timestamp=time, offset=batch.first + delta)
        if self.form.magic == 2:
            builder.override_last_offset(batch.last)
        return builder.build()

    def _builder(self, batch: Batch) -> record.RecordBatchBuilder:
        magic, codec, is_transactional = self.form
        settings = {} if magic < 2 else {"partition_leader_epoch": batch.epoch}
        if is_transactional:
            sequence = batch.records[0][1]
            settings |= {"producer_id": _PRODUCER, "producer_epoch": 0, "base_sequence": sequence}
        settings["base_offset"] = batch.first
        return record.RecordBatchBuilder(magic, codec, is_transactional=is_transactional, **settings)  # type: ignore[arg-type]

    def _marker(self, batch: Batch) -> bytes:
        ((_, content),) = batch.records
        builder = record.RecordBatchBuilder(
            2, "none", base_offset=batch.first, producer_id=_PRODUCER, producer_epoch=0, is_transactional=True,
            is_control_batch=True, partition_leader_epoch=batch.epoch,
        )  # fmt: skip
        builder.append_end_txn_marker(content % 2 == 0, coordinator_epoch=content, timestamp=_START + 10 * content)
        return builder.build()

    def content_of(  # noqa: D102 - of the base class
        self, offset: int, key: bytes | None, value: bytes | None, *, is_control: bool
    ) -> int:
        del offset  # a wrong one shows in the pair
        if is_control:
            return int.from_bytes(value[2:6], "big") if value else FOREIGN
        text = (key or b"").strip()
        return int(text) if text.isdigit() else FOREIGN


def _emptied(batch: Batch) -> bytes:
    """A batch of which compaction removed all records."""
    body = struct.pack(">hiqqqhii", 0, batch.last - batch.first, _START, _START, -1, -1, -1, 0)
    head = struct.pack(">qiibI", batch.first, _HEADER - 12, batch.epoch, 2, crc32c(body))
    return head + body


class Real(Contents):
    """Batches that brokers or other producers wrote. Those of other logs are made up."""

    def __init__(self, log: RealLog) -> None:
        super().__init__()
        sizes = sorted(len(batch.data) for batch in log.batches)
        #: A third of a batch: pages have parts of batches.
        self.unit = min(1024, max(16, sizes[len(sizes) // 2] // 3))
        self._of: dict[tuple[int, bytes | None], int] = {}
        self._by_value: dict[bytes | None, int] = {}
        self._others = Made(Format(log.batches[0].magic, CODECS[log.batches[0].magic][1]))
        self._others.unit = self.unit

    def batch_of(self, real: RealBatch) -> Batch:
        """A batch of the model."""
        from model import Batch  # noqa: PLC0415 - only types are imported above

        records = tuple((offset - real.first, self._number(offset, value)) for offset, value in real.records)
        epoch = struct.unpack_from(">i", real.data, 12)[0] if real.magic == 2 else 0
        batch = Batch(real.first, real.last, records, -(-len(real.data) // self.unit), epoch)
        self._built[batch.records, batch.size, batch.room] = real.data, real.first
        return batch

    def _number(self, offset: int, value: bytes | None) -> int:
        number = self._of.setdefault((offset, value), len(self._of) + 1)
        self._by_value.setdefault(value, number)
        return number

    def built(self, batch: Batch) -> bytes:  # noqa: D102 - of the base class
        return self._others.built(batch)

    def content_of(  # noqa: D102 - of the base class
        self, offset: int, key: bytes | None, value: bytes | None, *, is_control: bool
    ) -> int:
        found = self._of.get((offset, value)) or self._by_value.get(value)
        return found or self._others.content_of(offset, key, value, is_control=is_control)
