"""Choose rows of a scan by key, value, headers and number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kafkacomp._arguments import OFFSETS, integer
from kafkacomp._extras import pa, pc
from kafkacomp.arrow._reader import Rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from typing_extensions import CapsuleType

    from kafkacomp.arrow._reader import ScanReader
    from kafkacomp.arrow._report import ScanReport
    from kafkacomp.exceptions import KafkaCompError


def filter_rows(
    reader: ScanReader,
    *,
    key: bytes | str | None = None,
    key_regex: str | None = None,
    value_contains: bytes | str | None = None,
    header: Mapping[str, bytes | str] | None = None,
    limit: int | None = None,
) -> FilteredReader:
    """Select the rows of a scan that satisfy all given conditions.

    The conditions are evaluated by Arrow's compute functions on each batch of rows. To select by topic,
    partition, offset or time, use the arguments of :func:`kafkacomp.scan`, which skips other segments and batches
    without decompressing them.

    >>> import kafkacomp as kc
    >>> from kafkacomp.arrow import filter_rows
    >>> for batch in filter_rows(kc.scan(example), value_contains="3", limit=1):
    ...     print(batch.column("offset").to_pylist())
    [3]

    Args:
        reader: The result of :func:`kafkacomp.scan`, with the columns that the conditions need.
        key: The key of the rows. A string stands for its UTF-8 bytes.
        key_regex: A regular expression in RE2's syntax that matches a part of the key, byte by byte.
        value_contains: Bytes that the value contains. A string stands for its UTF-8 bytes.
        header: Names and values of headers, all of which a row must have. If a row has several headers of a name, one
            of them must have the value.
        limit: The most rows to return; the scan stops after them.

    Returns:
        A reader with the interface of the scan's reader, which yields only these rows.

    Raises:
        ValueError: the reader lacks a column that a condition needs; ``limit`` is negative; or the regular expression
            is invalid.
        TypeError: an argument is of another type.
        ModuleNotFoundError: pyarrow is not installed.
    """
    conditions = Conditions.of(key=key, key_regex=key_regex, value_contains=value_contains, header=header)
    if limit is not None:
        integer("limit", limit, OFFSETS)
    return FilteredReader(reader, conditions, limit)


class FilteredReader(Rows):
    """The result of :func:`filter_rows`, with the interface of the scan's reader."""

    def __init__(self, reader: ScanReader, conditions: Conditions, limit: int | None) -> None:
        if not hasattr(reader, "__arrow_c_stream__"):
            raise TypeError(f"reader must be the result of scan, not {type(reader).__name__}")
        self._reader = reader
        self._schema = pa.schema(reader)
        self._conditions = conditions
        self._left = limit
        self._rows = 0
        self._is_exhausted = False
        for name in conditions.columns:
            if name not in self._schema.names:
                raise ValueError(f"the condition on {name} needs the column {name}: add it to the columns of the scan")

    def __arrow_c_schema__(self) -> CapsuleType:
        capsule: CapsuleType = self._schema.__arrow_c_schema__()
        return capsule

    def __arrow_c_stream__(self, requested_schema: CapsuleType | None = None) -> CapsuleType:
        rows = pa.RecordBatchReader.from_batches(self._schema, iter(self))
        capsule: CapsuleType = rows.__arrow_c_stream__(requested_schema)
        return capsule

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        while self._left is None or self._left > 0:
            batch = next(self._reader, None)
            if batch is None:
                break
            rows = self._conditions.rows(batch)
            if self._left is not None:
                rows = rows.slice(0, min(self._left, rows.num_rows))
                self._left -= rows.num_rows
            if rows.num_rows:
                self._rows += rows.num_rows
                yield rows
        self._reader.close()
        self._is_exhausted = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the scan and free its memory and files."""
        self._reader.close()

    @property
    def error(self) -> KafkaCompError | OSError | None:
        """The exception that ended the scan, of which an Arrow stream passes on only the text; ``None`` without one."""
        return self._reader.error

    @property
    def has_control_records(self) -> bool:
        """Whether control records are rows."""
        return self._reader.has_control_records

    @property
    def num_rows(self) -> int | None:
        """The number of rows, once all were read; ``None`` before."""
        return self._rows if self._is_exhausted else None

    @property
    def report(self) -> ScanReport:
        """The report of the scan, which counts the rows before they are filtered."""
        return self._reader.report


@dataclass(frozen=True)
class Conditions:
    """Conditions on the key, the value and the headers of a row."""

    key: bytes | None = None
    key_regex: str | None = None
    value_contains: bytes | None = None
    header: tuple[tuple[str, bytes], ...] = ()

    @classmethod
    def of(
        cls,
        *,
        key: bytes | str | None = None,
        key_regex: str | None = None,
        value_contains: bytes | str | None = None,
        header: Mapping[str, bytes | str] | None = None,
    ) -> Conditions:
        """Check the arguments of :func:`filter_rows`; raises the same errors."""
        if key_regex is not None and not isinstance(key_regex, str):
            raise TypeError(f"key_regex must be a str, not {type(key_regex).__name__}")
        if key_regex is not None:
            try:
                pc.match_substring_regex(pa.array([b""], pa.binary()), key_regex)
            except pa.ArrowInvalid as error:
                raise ValueError(f"invalid key_regex {key_regex!r}: {error}") from None
        return cls(_bytes("key", key), key_regex, _bytes("value_contains", value_contains), _headers(header))

    @property
    def columns(self) -> list[str]:
        """The columns that the conditions need."""
        about = {
            "key": self.key is not None or self.key_regex is not None,
            "value": self.value_contains is not None,
            "headers": bool(self.header),
        }
        return [name for name, is_wanted in about.items() if is_wanted]

    def rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that satisfy all conditions."""
        if self.key is not None:
            batch = batch.filter(pc.equal(batch["key"], self.key))
        if self.key_regex is not None:
            batch = batch.filter(pc.match_substring_regex(batch["key"], self.key_regex))
        if self.value_contains is not None:
            batch = batch.filter(pc.match_substring(batch["value"], self.value_contains))
        for name, value in self.header:
            batch = batch.filter(_with_header(batch["headers"], name, value))
        return batch


def _with_header(headers: Any, name: str, value: bytes) -> Any:  # noqa: ANN401 - arrays of pyarrow
    """Whether the headers of each row have this one."""
    pairs, rows = pc.list_flatten(headers), pc.list_parent_indices(headers)
    wanted = pc.and_(
        pc.equal(pc.struct_field(pairs, "key"), name),
        pc.equal(pc.struct_field(pairs, "value"), value),
    )
    numbers = pa.array(range(len(headers)), rows.type)
    return pc.is_in(numbers, value_set=rows.filter(wanted))


def _bytes(name: str, value: object) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    raise TypeError(f"{name} must be bytes or a str, not {type(value).__name__}")


def _headers(header: object) -> tuple[tuple[str, bytes], ...]:
    if header is None:
        return ()
    if not isinstance(header, Mapping):
        raise TypeError(f"header must be a mapping of names to values, not {type(header).__name__}")
    return tuple((name, _bytes(f"header {name!r}", value) or b"") for name, value in header.items())
