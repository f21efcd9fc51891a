"""The content of a window: its stored batches, and their records as Arrow rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import kafkacomp
from kafkacomp._extras import pa, parquet, pc
from kafkacomp._kafkacomp import json_lines
from kafkacomp._types import CompressionType
from kafkacomp.advice.formats import MODERN
from kafkacomp.advice.sampling import LINES, LOG
from kafkacomp.advice.segments import read_window
from kafkacomp.advice.settings import ASSUMED_BATCH_SIZE
from kafkacomp.exceptions import KafkaCompError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkacomp.advice.formats import Format
    from kafkacomp.advice.sampling import Window
    from kafkacomp.record import RecordBatch

#: The most bytes of a window to keep in memory, before compression.
MOST_PLAIN: Final = 32 << 20

#: The most timestamps to keep of a window.
_MOST_STAMPS: Final = 64

_COLUMNS: Final = ("key", "value", "timestamp", "headers")
#: The first line's timestamp, 2024-01-01T00:00:00Z; lines are one millisecond apart, as in a busy topic.
_FIRST_TIMESTAMP: Final = 1_704_067_200_000


class Batch(NamedTuple):
    """A stored batch, or one that a producer would build by default."""

    kind: CompressionType
    #: Bytes on disk; None for records that are not in a log.
    stored: int | None
    records: int
    #: The records before compression, in the topic's message format.
    section: bytes
    #: The stored records, if they are in the topic's message format.
    packed: bytes | None


@dataclass
class Content:
    """The part of a window that was read."""

    batches: list[Batch] = field(default_factory=list)
    #: All records of ``batches``, in their order.
    rows: pa.RecordBatch | None = None
    #: Bytes on disk that compression does not change: control batches, and batches emptied by compaction.
    kept: int = 0
    #: Timestamps of some records in milliseconds, in order; -1 for records without one. Empty if unknown.
    stamps: list[int] = field(default_factory=list)
    #: Whether the window was read completely; otherwise it has more records than are kept in memory.
    whole: bool = True

    def payload(self) -> list[int]:
        """The bytes of keys, values and headers before each row; the last entry is the total."""
        if self.rows is None:
            return [0]
        sizes = _filled(pc.binary_length(self.rows.column("value")))
        if "key" in self.rows.schema.names:
            sizes = pc.add(sizes, _filled(pc.binary_length(self.rows.column("key"))))
        total, sums = 0, [0]
        headers = self.rows.column("headers") if "headers" in self.rows.schema.names else None
        more = headers.to_pylist() if headers is not None and headers.null_count < len(headers) else None
        for at, size in enumerate(sizes.to_pylist()):
            total += size
            if more is not None:
                total += sum(len(each["key"]) + len(each["value"] or b"") for each in more[at] or ())
            sums.append(total)
        return sums


class _Stored(NamedTuple):
    """A batch before its records are known as rows."""

    kind: CompressionType
    stored: int
    records: int
    section: bytes | None
    packed: bytes | None
    data: bytes


def read(window: Window, form: Format, max_output_size: int, failed: Callable[[str], object]) -> Content:
    """Read a window.

    Args:
        window: The window to read.
        form: The topic's message format; batches of older formats count as if they were in this format.
        max_output_size: The most bytes that the records of one batch may decompress to.
        failed: Called with a description of corrupt bytes; reading continues after them.
    """
    if window.source.kind != LOG:
        return _of_records(_lines(window) if window.source.kind == LINES else _parquet(window), form)
    return _of_log(window, form, max_output_size, failed)


# ------------------------------------------------------------------------------------------------- stored batches
def _of_log(window: Window, form: Format, cap: int, failed: Callable[[str], object]) -> Content:
    content = Content()
    found = list(_stored(window, form, cap, content, failed))
    try:
        rows = _scanned([each.data for each in found], cap)
        if rows.num_rows != sum(each.records for each in found):
            raise ValueError("batches and records do not agree")  # noqa: TRY301 - the same way out
    except (KafkaCompError, ValueError):
        found = [each for each in found if _reads(each, window, cap, failed)]
        rows = _scanned([each.data for each in found], cap)
    if form.name != MODERN:
        # A topic of an older format may have batches of format 2, whose headers its own batches could not have.
        rows = rows.select([name for name in _COLUMNS if name != "headers"])
    content.rows = rows
    content.stamps = _stamps(rows)
    content.batches = list(_batches(_grouped(found, form), rows, form))
    return content


def _stored(
    window: Window, form: Format, cap: int, content: Content, failed: Callable[[str], object]
) -> Iterator[_Stored]:
    plain = 0
    reader = read_window(window, cap)
    while plain < MOST_PLAIN:
        try:
            batch = next(reader, None)
            if batch is None:
                return
            batch.ensure_valid()
            if batch.is_control_batch or batch.records_count == 0:
                content.kept += batch.size_in_bytes
                continue
            data, kind, count = bytes(batch), batch.compression_type, batch.records_count
            packed = _packed(batch, form)
            section = None
            if packed is not None:
                section = kafkacomp.decompress(packed, kind, magic=form.magic, max_output_size=cap)
            records = sum(1 for _ in batch) if count is None else count
        except KafkaCompError as error:
            failed(_where(window, error))  # a wrong size or magic ends the iteration, other corruption only the batch
            continue
        plain += len(data if section is None else section)
        yield _Stored(kind, len(data), records, section, packed, data)
    content.whole = next(reader, None) is None


def _packed(batch: RecordBatch, form: Format) -> bytes | None:
    """Return the records as stored if they are those of a batch of the topic's format; a wrapper must have no key."""
    if batch.magic != form.magic or (form.name != MODERN and batch.compression_type is CompressionType.NONE):
        return None
    packed = batch.stored_records
    return packed if batch.size_in_bytes - len(packed) == form.overhead else None


def _where(window: Window, error: KafkaCompError) -> str:
    text = str(error)
    return text if window.source.name in text else f"{window.source.name}: {text}"


def _reads(each: _Stored, window: Window, cap: int, failed: Callable[[str], object]) -> bool:
    try:
        count = _scanned([each.data], cap).num_rows
    except KafkaCompError as error:
        failed(f"{window.source.name}: {error}")
        return False
    if count != each.records:
        failed(f"{window.source.name}: a batch declares {each.records} records and has {count}")
        return False
    return True


def _scanned(data: list[bytes], cap: int) -> pa.RecordBatch:
    reader = kafkacomp.scan(
        b"".join(data),
        columns=_COLUMNS,
        options=kafkacomp.ScanOptions(threads=1, timestamp_unit="int64", max_output_size=cap, log_format="0.8+"),
    )
    rows = _one(reader.read_all())
    # A batch builder takes no timestamp below -1, which stands for none, and they hardly matter for sizes.
    times = pc.max_element_wise(rows["timestamp"], -1)
    return rows.set_column(rows.schema.get_field_index("timestamp"), "timestamp", times)


def _one(table: pa.Table) -> pa.RecordBatch:
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], table.schema)


def _grouped(found: list[_Stored], form: Format) -> list[list[_Stored]]:
    """Group uncompressed messages of formats before 2 by the default ``batch.size``; other batches stay alone."""
    groups: list[list[_Stored]] = []
    size, last_is_plain = 0, False
    for each in found:
        is_plain = each.kind is CompressionType.NONE and form.name != MODERN
        size += each.stored
        if is_plain and last_is_plain and size <= ASSUMED_BATCH_SIZE:
            groups[-1].append(each)
        else:
            groups.append([each])
            size = each.stored
        last_is_plain = is_plain
    return groups


def _batches(groups: list[list[_Stored]], rows: pa.RecordBatch, form: Format) -> Iterator[Batch]:
    """Iterate over the batches of groups, whose records are the rows."""
    at = 0
    for group in groups:
        kind, section, packed = group[0].kind, group[0].section, group[0].packed
        records = sum(each.records for each in group)
        if section is None:
            section = form.section(rows.slice(at, records))
        yield Batch(kind, sum(each.stored for each in group), records, section, packed)
        at += records


# ---------------------------------------------------------------------------------------------- files of records
def _of_records(rows: pa.RecordBatch, form: Format) -> Content:
    """Group records into batches as a producer does by default; none are stored today."""
    content = Content(rows=rows)
    at = 0
    while at < rows.num_rows:
        builder = kafkacomp.record.RecordBatchBuilder(form.magic, CompressionType.NONE, write_limit=ASSUMED_BATCH_SIZE)
        count = builder.append_arrow(rows.slice(at))
        section = builder.build()[form.plain_overhead :]
        content.batches.append(Batch(CompressionType.NONE, None, count, section, None))
        at += count
    return content


def _lines(window: Window) -> pa.RecordBatch:
    """Read the lines that begin in a window, each of which is the value of a record; empty lines are skipped."""
    with open(window.source.source, "rb") as file:  # noqa: PTH123 - a source's path is a string
        file.seek(max(window.start - 1, 0))
        if window.start:
            file.readline()
        values = []
        while file.tell() < window.end:
            line = file.readline()
            if not line:
                break
            if stripped := line.rstrip(b"\r\n"):
                values.append(stripped)
    return _timed(values)


def _timed(values: list[bytes]) -> pa.RecordBatch:
    times = pa.array(range(_FIRST_TIMESTAMP, _FIRST_TIMESTAMP + len(values)), pa.int64())
    return pa.RecordBatch.from_arrays([pa.array(values, pa.binary()), times], names=["value", "timestamp"])


def _parquet(window: Window) -> pa.RecordBatch:
    """Read the rows at the window's place in the file.

    With a column ``value`` they are records, as ``kafkacomp export`` writes them; otherwise each row becomes a JSON
    object.
    """
    with parquet.ParquetFile(window.source.source) as file:
        total = file.metadata.num_rows
        first = total * window.start // window.source.size
        behind = total * window.end // window.source.size
        names = set(file.schema_arrow.names)
        columns = [name for name in _COLUMNS if name in names] if "value" in names else None
        picked, at = [], 0
        for group in range(file.num_row_groups):
            size = file.metadata.row_group(group).num_rows
            if at + size > first and at < behind:
                for piece in file.iter_batches(batch_size=8192, row_groups=[group], columns=columns):
                    low, high = max(first - at, 0), min(behind - at, piece.num_rows)
                    if low < high:
                        picked.append(piece.slice(low, high - low))
                    at += piece.num_rows
                    if at >= behind:
                        break
            else:
                at += size
    table = pa.Table.from_batches(picked, schema=picked[0].schema) if picked else file.schema_arrow.empty_table()
    if "value" in names:
        return _one(table)
    return _timed(json_lines(table).splitlines())


def _stamps(rows: pa.RecordBatch) -> list[int]:
    if "timestamp" not in rows.schema.names or not rows.num_rows:
        return []
    times = rows.column("timestamp").cast(pa.int64())
    return [time.as_py() if time.is_valid else -1 for time in times[:: -(-rows.num_rows // _MOST_STAMPS)]]


def _filled(lengths: pa.Array) -> pa.Array:
    return pc.fill_null(lengths.cast(pa.int64()), 0)
