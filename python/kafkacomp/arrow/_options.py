"""How a scan reads: what a caller seldom sets, in one object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypedDict, get_args

from kafkacomp._arguments import check_bools, checked_max_output_size, checked_threads, integer, one_of
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE, MAX_BATCH_BYTES
from kafkacomp._log_format import LogFormat, check_log_format

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeAlias

    from kafkacomp._types import StrPath
    from kafkacomp.tiered.source import Tiered

    Offsets: TypeAlias = int | Mapping[tuple[str, int], int] | None
    Time: TypeAlias = int | dt.datetime | None

BinaryType = Literal["binary", "large_binary", "binary_view"]
IsolationLevel = Literal["read_uncommitted", "read_committed"]
OnError = Literal["raise", "skip"]
TimestampUnit = Literal["s", "ms", "us", "ns", "int64"]
#: What these types allow; a scan checks against them, and ``get_args`` is not called for each.
BINARY_TYPES, ISOLATION_LEVELS, ON_ERROR, TIMESTAMP_UNITS = map(
    get_args, (BinaryType, IsolationLevel, OnError, TimestampUnit)
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ScanOptions:
    """How :func:`kafkacomp.scan` reads; none of these fields changes which partitions, offsets or times are read.

    Args:
        visible_only: Whether records that consumers do not see are left out: those below the log start offset, and from
            the high watermark on, according to the checkpoint files of the log directory. The report counts them in any
            case.
        include_control: Whether control records are rows.
        batch_rows: The most rows of an Arrow batch.
        arrow_batch_bytes: The most bytes of column data of an Arrow batch; one larger record gets a batch of its own.
        threads: Decoding threads; default: one per core that the process may use. The order is the same for any number.
            The thread that reads the result is one of them if all sources are local files or in memory.
        timestamp_unit: The unit of the timestamp column, or ``int64`` for milliseconds since the epoch as integers. A
            timestamp out of the unit's range becomes the nearest one in the range; ``report.clamped_timestamps`` counts
            them. A record without a timestamp, which Kafka stores as -1, has null.
        binary_type: The Arrow type of keys, values and header values. With ``binary_view`` values are not copied: they
            are views of the decompressed Kafka batches or, if these are not compressed, of the chunks that were read.
            An Arrow batch keeps at most four times the bytes of its rows in memory: if rows refer to less than a
            quarter of a buffer, their values are copied. Values of compressed batches of Kafka 0.7 are always copied.
            pyarrow, polars, DuckDB and pandas take views, Spark does not. ``large_binary`` has 64-bit offsets.
        verify_crc: Whether checksums are verified.
        max_output_size: The most bytes that the records of one batch may decompress to.
        log_format: ``0.7``, ``0.8+``, or ``auto``, which detects it from the content of each segment or, if that does
            not decide, from its name (``.kafka`` or ``.log``). In logs of 0.7, an offset is the byte position in the
            partition from which to fetch next; messages in a wrapper have the position of the wrapper, except the last
            one. Bounds are positions of top-level entries, of which all messages are returned. Key, headers and
            timestamp are null.
        horizon: In object stores, where reading takes requests: which batches belong to a partition is judged by all of
            its segments at a gap or at corrupt bytes only if they together have at most so many bytes; otherwise a
            warning says that other segments were not searched for what is missing. ``None`` judges each partition
            before it is read, with the same result as in a local file system.

    Raises:
        ValueError, TypeError: a field has an unknown value, is out of range or of another type.

    Example:
        >>> import kafkacomp as kc
        >>> options = kc.ScanOptions(timestamp_unit="int64", threads=1)
        >>> kc.scan(example, columns=["timestamp"], end_offset=1, options=options).read_all()["timestamp"].to_pylist()
        [1700000000000]
    """

    visible_only: bool = False
    include_control: bool = False
    batch_rows: int = 65536
    arrow_batch_bytes: int = 8 << 20
    threads: int | None = None
    timestamp_unit: TimestampUnit = "ms"
    binary_type: BinaryType = "binary"
    verify_crc: bool = True
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE
    log_format: LogFormat = "auto"
    horizon: int | None = 4 << 20

    def __post_init__(self) -> None:
        one_of("timestamp_unit", self.timestamp_unit, TIMESTAMP_UNITS)
        one_of("binary_type", self.binary_type, BINARY_TYPES)
        check_log_format(self.log_format)
        check_bools(visible_only=self.visible_only, include_control=self.include_control, verify_crc=self.verify_crc)
        integer("batch_rows", self.batch_rows, (1, 2**31 - 1))
        integer("arrow_batch_bytes", self.arrow_batch_bytes, (1, MAX_BATCH_BYTES))
        checked_max_output_size(self.max_output_size)
        checked_threads(self.threads)
        if self.horizon is not None:
            integer("horizon", self.horizon, (0, 2**63 - 1))


def check_options(options: object) -> None:
    """Refuse ``options`` of another type."""
    if not isinstance(options, ScanOptions):
        raise TypeError(f"options must be a ScanOptions, not {type(options).__name__}")


@dataclass(frozen=True, kw_only=True, slots=True)
class ScanSettings:
    """The checked arguments of a scan, as Rust reads them."""

    columns: list[str]
    start_time: int | None
    end_time: int | None
    isolation_level: IsolationLevel
    on_error: OnError
    #: ``options.threads``, or its default.
    threads: int
    options: ScanOptions


class ScanArguments(TypedDict, total=False):
    """Keyword arguments of :func:`kafkacomp.scan` for a source that was opened, as a :class:`kafkacomp.LogDir`.

    >>> from typing import Unpack
    >>> from kafkacomp import LogDir
    >>> from kafkacomp.typing import ScanArguments
    >>> def count(logs: LogDir, **arguments: Unpack[ScanArguments]) -> int:
    ...     return logs.scan(**arguments).read_all().num_rows
    """

    columns: Iterable[str] | None
    topics: Iterable[str] | None
    partitions: Iterable[int] | None
    start_offset: Offsets
    end_offset: Offsets
    start_time: Time
    end_time: Time
    isolation_level: IsolationLevel
    on_error: OnError
    known_losses: StrPath | Sequence[StrPath]
    progress: Callable[[int, int], object] | None
    options: ScanOptions


class SourceArguments(ScanArguments, total=False):
    """All keyword arguments of :func:`kafkacomp.scan`.

    >>> import kafkacomp as kc
    >>> from kafkacomp.typing import SourceArguments
    >>> committed: SourceArguments = {"isolation_level": "read_committed", "storage_options": {"anon": True}}
    >>> kc.scan("s3://bucket/prefix", **committed)  # doctest: +SKIP
    """

    store: object
    storage_options: Mapping[str, object] | None
    tiered: Tiered | None
