"""Kafka's small enumerations, and what an Arrow table is to a type checker."""

from __future__ import annotations

import enum
import os
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from typing_extensions import Buffer, CapsuleType


class CompressionType(enum.IntEnum):
    """Kafka's compression types, by the id in a batch's attributes (``CompressionType``)."""

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
        """Find the compression type with this name, in lower case as in configurations.

        Raises:
            ValueError: the name is unknown.
        """
        for member in cls:
            if member.name.lower() == name:
                return member
        names = ", ".join(member.name.lower() for member in cls)
        raise ValueError(f"invalid compression type {name!r}: expected one of {names}")

    def __str__(self) -> str:
        """The name as configurations have it."""
        return self.name.lower()


class TimestampType(enum.IntEnum):
    """Where a record's timestamp comes from (KIP-32)."""

    NO_TIMESTAMP_TYPE = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


#: A local path.
StrPath: TypeAlias = str | os.PathLike[str]
#: A compression type or its name: ``none``, ``gzip``, ``snappy``, ``lz4``, ``zstd``.
CompressionTypeLike: TypeAlias = CompressionType | str
#: The headers of a record: pairs of key and value, or a mapping, which has each key once.
Headers: TypeAlias = "Iterable[tuple[str, Buffer | None]] | Mapping[str, Buffer | None]"
#: The positions at which two files of a log of Kafka 0.7 begin; ``None`` for a later log.
Positions: TypeAlias = tuple[int, int] | None


class RecordColumns(NamedTuple):
    """Fields of all records of a batch: one list for each field, one entry for each record."""

    #: The absolute offsets.
    offsets: list[int]
    #: Milliseconds since the epoch; -1 without a timestamp.
    timestamps: list[int]
    #: The keys; ``None`` for null.
    keys: list[bytes | None]
    #: The values; ``None`` for null.
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
