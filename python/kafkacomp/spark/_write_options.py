"""The options of ``df.write.format("kafkacomp")`` and the columns of the DataFrame, checked before any work."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    MapType,
    StringType,
    StructType,
    TimestampType,
)

from kafkacomp._batch_settings import BatchSettings
from kafkacomp._storage.filesystem import path_of_file_url
from kafkacomp._storage.names import check_topic
from kafkacomp._types import CompressionType
from kafkacomp.record import RecordBatchBuilder
from kafkacomp.spark._values import known, one_of, size, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


#: All options in their documented spelling; Spark passes option names in any case.
OPTIONS = (
    "path", "topic", "numPartitions", "topicId", "compression.type", "compression.level", "batch.size", "segment.bytes",
)  # fmt: skip
#: Further options that Spark passes when a stream is written.
STREAM_OPTIONS = ("checkpointLocation", "queryName")

_INT32_MAX = 2**31 - 1
_TOPIC_ID = re.compile(r"(?!A{21}[A-P])[A-Za-z0-9_-]{22}")  # the last 4 bits are unused
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_NAMES = tuple(each.name.lower() for each in CompressionType)


@dataclass(frozen=True)
class WriteOptions:
    """Checked options."""

    #: An absolute path.
    path: Path
    topic: str | None
    partitions: int | None
    topic_id: str | None
    compression_type: CompressionType
    level: int | None
    batch_bytes: int
    segment_bytes: int
    #: The location of a stream's checkpoint.
    checkpoint: str | None

    def settings(self) -> BatchSettings:
        """The options for building batches."""
        return BatchSettings(
            magic=2,
            compression_type=self.compression_type,
            level=self.level,
            partition_leader_epoch=0,
            write_limit=self.batch_bytes,
        )


def parse(options: Mapping[str, str], *, streaming: bool = False) -> WriteOptions:
    """Parse and check the options that Spark passes.

    Raises:
        ValueError: an option is unknown, or its value is not allowed; the message has the option's name.
    """
    given = known(options, (*OPTIONS, *STREAM_OPTIONS) if streaming else OPTIONS, " for writing")
    compression_type = one_of("compression.type", given.get("compression.type", "zstd"), *_NAMES)
    level = _level(given.get("compression.level"))
    try:
        RecordBatchBuilder(2, compression_type, level)
    except ValueError as error:
        raise ValueError(f"compression.level: {error}") from None
    if "topic" in given:
        check_topic(given["topic"], "topic: invalid name")
    if "topicId" in given and "topic" not in given:
        raise ValueError("topicId requires the option topic")
    if "topicId" in given and not _TOPIC_ID.fullmatch(given["topicId"]):
        text = given["topicId"]
        raise ValueError(f"topicId: {text!r} is not a Kafka Uuid: expected 22 characters of URL-safe base64")
    return WriteOptions(
        path=local_path(given),
        topic=given.get("topic"),
        partitions=whole("numPartitions", given["numPartitions"], 1, _INT32_MAX) if "numPartitions" in given else None,
        topic_id=given.get("topicId"),
        compression_type=CompressionType.for_name(compression_type),
        level=level,
        batch_bytes=size("batch.size", given.get("batch.size", "16k"), _INT32_MAX),
        segment_bytes=size("segment.bytes", given.get("segment.bytes", "1g"), _INT32_MAX),
        checkpoint=given.get("checkpointLocation"),
    )


def local_path(given: Mapping[str, str], what: str = "logs") -> Path:
    """Convert the option ``path`` to an absolute local path; ``what`` is written there.

    Raises:
        ValueError: the option is missing, or is a path of another file system.
    """
    path = given.get("path")
    if not path:
        raise ValueError('no path: use .save("/path/of/logs") or the option path')
    scheme = _SCHEME.match(path)
    if scheme is not None and scheme[1].lower() == "file":
        path = path_of_file_url(path)
    elif scheme is not None and "/" not in scheme[1]:
        raise ValueError(f"{path} is a URL: {what} are written to a local path that driver and executors share")
    return Path(os.path.abspath(path))  # noqa: PTH100 - no symlink is to be resolved


def _level(text: str | None) -> int | None:
    if text is None:
        return None
    if not re.fullmatch(r"\s*-?\d{1,9}\s*", text):
        raise ValueError(f"compression.level must be a whole number, not {text!r}")
    return int(text)


def _is_header(kind: DataType) -> bool:
    """Whether a type is that of ``headers`` in Spark's Kafka source, or a map."""
    if isinstance(kind, MapType):
        return isinstance(kind.keyType, StringType) and isinstance(kind.valueType, BinaryType | StringType)
    if not isinstance(kind, ArrayType) or not isinstance(kind.elementType, StructType):
        return False
    fields = {field.name: field.dataType for field in kind.elementType.fields}
    return (
        set(fields) == {"key", "value"}
        and isinstance(fields["key"], StringType)
        and isinstance(fields["value"], BinaryType | StringType)
    )


def check_columns(schema: StructType, topic: str | None) -> list[str]:
    """Check the columns to write; other columns are ignored, as in Spark's Kafka sink.

    Raises:
        ValueError: there is no column ``value``, neither an option nor a column ``topic``, or a column has another type
            or exists twice.
    """
    wanted: dict[str, tuple[Callable[[DataType], bool], str]] = {
        "key": (lambda kind: isinstance(kind, StringType | BinaryType), "string or binary"),
        "value": (lambda kind: isinstance(kind, StringType | BinaryType), "string or binary"),
        "headers": (_is_header, "array<struct<key:string,value:binary>> or map<string,binary>"),
        "topic": (lambda kind: isinstance(kind, StringType), "string"),
        "partition": (lambda kind: isinstance(kind, IntegerType), "int"),
        "timestamp": (lambda kind: isinstance(kind, TimestampType), "timestamp"),
    }
    found = []
    for field in schema.fields:
        if field.name not in wanted:
            continue
        is_right, kinds = wanted[field.name]
        if not is_right(field.dataType):
            raise ValueError(f"column {field.name!r} must be {kinds}, not {field.dataType.simpleString()}")
        if field.name in found:
            raise ValueError(f"the DataFrame has column {field.name!r} twice")
        found.append(field.name)
    if "value" not in found:
        raise ValueError(f"no column 'value': only this one of {', '.join(wanted)} is required")
    if topic is None and "topic" not in found:
        raise ValueError("no topic: give the option topic or a column 'topic'")
    return found
