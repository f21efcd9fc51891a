"""Kafka's small enumerations, and what an Arrow table is to a type checker."""

from __future__ import annotations

import enum
import os
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from typing_extensions import Buffer, CapsuleType


class CompressionType(enum.IntEnum):
    """A compression type of Kafka; the value is the id in the attributes of a batch (``CompressionType``).

    Functions accept the member, its name or its id.

    Example:
        >>> from kafkacomp import CompressionType
        >>> CompressionType.for_name("lz4"), CompressionType.for_id(4), str(CompressionType.GZIP)
        (<CompressionType.LZ4: 3>, <CompressionType.ZSTD: 4>, 'gzip')
    """

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4

    @classmethod
    def for_id(cls, id: int) -> CompressionType:  # noqa: A002 - Kafka's name
        """Find the compression type with this id, 0 to 4.

        Raises:
            ValueError: the id is unknown.
        """
        try:
            return cls(id)
        except ValueError:
            ids = ", ".join(f"{int(member)} ({member})" for member in cls)
            raise ValueError(f"invalid compression type id {id!r}: expected one of {ids}") from None

    @classmethod
    def for_name(cls, name: str) -> CompressionType:
        """Find the compression type with this name, which is in lower case as in Kafka's configuration.

        Raises:
            ValueError: the name is unknown.
        """
        for member in cls:
            if member.name.lower() == name:
                return member
        names = ", ".join(member.name.lower() for member in cls)
        raise ValueError(f"invalid compression type {name!r}: expected one of {names}")

    def __str__(self) -> str:
        """Return the name as in Kafka's configuration."""
        return self.name.lower()


class TimestampType(enum.IntEnum):
    """The origin of a record's timestamp (KIP-32).

    ``CREATE_TIME`` is set by the producer, ``LOG_APPEND_TIME`` by the broker. Messages of magic 0 have no timestamps
    and the type ``NO_TIMESTAMP_TYPE``.

    Example:
        >>> from kafkacomp.record import TimestampType
        >>> TimestampType(1)
        <TimestampType.LOG_APPEND_TIME: 1>
    """

    NO_TIMESTAMP_TYPE = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


#: A local path.
StrPath: TypeAlias = str | os.PathLike[str]
#: A compression type or its name: ``none``, ``gzip``, ``snappy``, ``lz4``, ``zstd``.
CompressionTypeLike: TypeAlias = CompressionType | str
#: The headers of a record: pairs of key and value, or a mapping, which has each key once.
Headers: TypeAlias = "Iterable[tuple[str, Buffer | None]] | Mapping[str, Buffer | None]"


class RecordColumns(NamedTuple):
    """The fields of all records of a batch: a list for each field, with one element for each record.

    Attributes:
        offsets: The absolute offsets.
        timestamps: Milliseconds since the epoch; -1 without a timestamp.
        keys: The keys; ``None`` for null.
        values: The values; ``None`` for null.
    """

    offsets: list[int]
    timestamps: list[int]
    keys: list[bytes | None]
    values: list[bytes | None]


class ArrowArray(Protocol):
    """An Arrow array or record batch by the PyCapsule interface."""

    def __arrow_c_array__(self, requested_schema: CapsuleType | None = None, /) -> tuple[object, object]:
        """Schema and array."""


class ArrowStream(Protocol):
    """A stream of Arrow arrays or record batches by the PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: CapsuleType | None = None, /) -> object:
        """The stream."""


#: Rows to write: a table, a data frame, a scan, a record batch.
ArrowRows: TypeAlias = ArrowArray | ArrowStream
#: An Arrow array, or a stream of them (a chunked array).
ArrowColumn: TypeAlias = ArrowArray | ArrowStream
