"""The options of ``spark.read.format("kafkacomp")``, checked before anything is read.

Names and meanings are those of Spark's Kafka source and of its file sources wherever they have the option. An option
that is not known is an error: one that is misspelt would otherwise be ignored.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE
from kafkacomp.spark._schema import TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OPTIONS", "Bounds", "ReadOptions", "parse"]

#: Every option, spelt as documented; Spark hands them over in any case.
OPTIONS = (
    "path",
    "paths",
    "columns",
    "includeHeaders",
    "topic",
    "partition",
    "startingOffsets",
    "endingOffsets",
    "isolationLevel",
    "kafka.isolation.level",
    "mode",
    "maxOutputSize",
    "format",
)

#: What one batch may decompress to in a worker, whose memory is shared with the JVM's executor.
MAX_OUTPUT_SIZE = 256 << 20
_KAFKA_COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
_SIZE = re.compile(r"(\d+)\s*(b|k|kb|m|mb|g|gb)?")
_UNITS = {"b": 0, "k": 10, "m": 20, "g": 30}
_LATEST, _EARLIEST = -1, -2

IsolationLevel = Literal["read_uncommitted", "read_committed"]
#: The family of log formats, as ``kafkacomp.scan`` has it.
Format = Literal["auto", "0.7", "0.8+"]
#: Offsets by topic and partition; ``None`` is an open end. Without any: all partitions from or to their ends.
Bounds = dict[tuple[str, int], int | None]


@dataclass(frozen=True)
class ReadOptions:
    """Checked options."""

    paths: tuple[str, ...]
    columns: tuple[str, ...]
    columns_given: bool
    topic: str | None
    partition: int | None
    starting_offsets: Bounds | None
    ending_offsets: Bounds | None
    isolation_level: IsolationLevel
    on_error: Literal["raise", "skip"]
    max_output_size: int
    log_format: Format


def parse(options: Mapping[str, str]) -> ReadOptions:
    """Check the options that Spark hands over.

    Raises:
        ValueError: an unknown option or a value that it cannot have, with the option's name.
    """
    known = {name.lower(): name for name in OPTIONS}
    given: dict[str, str] = {}
    for key, value in options.items():
        name = known.get(key.lower())
        if name is None:
            raise ValueError(f"unknown option {key!r}; there are {', '.join(OPTIONS)}")
        given[name] = value
    columns = _columns(given)
    return ReadOptions(
        paths=_paths(given),
        columns=columns,
        columns_given="columns" in given,
        topic=given.get("topic"),
        partition=_partition(given.get("partition")),
        starting_offsets=_offsets("startingOffsets", given.get("startingOffsets"), open_end=_EARLIEST),
        ending_offsets=_offsets("endingOffsets", given.get("endingOffsets"), open_end=_LATEST),
        isolation_level=_isolation_level(given),
        log_format=cast("Format", _one_of("format", given, "auto", "0.7", "0.8+")),
        on_error="skip" if _one_of("mode", given, "FAILFAST", "DROPMALFORMED") == "DROPMALFORMED" else "raise",
        max_output_size=_size("maxOutputSize", given.get("maxOutputSize")),
    )


def _paths(given: Mapping[str, str]) -> tuple[str, ...]:
    found = [given["path"]] if "path" in given else []
    if "paths" in given:  # several paths given to load() come as JSON
        try:
            several = json.loads(given["paths"])
        except ValueError:
            several = None
        if not isinstance(several, list) or not all(isinstance(each, str) for each in several):
            raise ValueError(f"paths must be a JSON list of strings, not {given['paths']!r}")
        found += several
    if not found:
        raise ValueError('no path: use .load("/path/of/segments") or the option path')
    # Hadoop writes local paths as file:/x, which is no URL with a host.
    return tuple(re.sub(r"^file:/(?!/)", "/", each) for each in found)


def _columns(given: Mapping[str, str]) -> tuple[str, ...]:
    headers = _boolean("includeHeaders", given.get("includeHeaders", "false"))
    if "columns" not in given:
        return (*_KAFKA_COLUMNS, "headers") if headers else _KAFKA_COLUMNS
    names = tuple(name.strip() for name in given["columns"].split(","))
    for name in names:
        if name not in TYPES:
            raise ValueError(f"unknown column {name!r} in columns; there are {', '.join(TYPES)}")
        if names.count(name) > 1:
            raise ValueError(f"column {name!r} is twice in columns")
    if "includeHeaders" in given and headers != ("headers" in names):
        raise ValueError("columns and includeHeaders disagree about headers; columns alone is enough")
    return names


def _partition(text: str | None) -> int | None:
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,10}", text) or int(text) >= 1 << 31:
        raise ValueError(f"partition must be a number from 0 to 2147483647, not {text!r}")
    return int(text)


def _offsets(name: str, text: str | None, *, open_end: int) -> Bounds | None:
    """Read ``earliest``, ``latest`` or JSON such as ``{"topic": {"0": 23, "1": -2}}``."""
    if text is None or _word(text, open_end):
        return None
    other = _LATEST if open_end == _EARLIEST else _EARLIEST
    if _word(text, other):
        raise _wrong_end(name, other)
    try:
        content = json.loads(text)
    except ValueError:
        content = None
    shape = f'{name} must be earliest, latest or JSON like {{"topic": {{"0": 23}}}}, not {text!r}'
    if not isinstance(content, dict):
        raise ValueError(shape)  # noqa: TRY004 - an option's value, not a type of this program
    bounds: Bounds = {}
    for topic, partitions in content.items():
        if not isinstance(partitions, dict):
            raise ValueError(shape)  # noqa: TRY004 - as above
        for partition, offset in partitions.items():
            if not partition.isdecimal() or type(offset) is not int or not _EARLIEST <= offset < 1 << 63:
                raise ValueError(shape)
            if offset == other:
                raise _wrong_end(f"{name} of {topic}-{partition}", other)
            bounds[topic, int(partition)] = None if offset == open_end else offset
    return bounds


def _word(text: str, end: int) -> bool:
    return text.strip().lower() == ("earliest" if end == _EARLIEST else "latest")


def _wrong_end(what: str, end: int) -> ValueError:
    word = "earliest (-2)" if end == _EARLIEST else "latest (-1)"
    return ValueError(f"{what} cannot be {word} in a batch read")


def _isolation_level(given: Mapping[str, str]) -> IsolationLevel:
    names = ("isolationLevel", "kafka.isolation.level")
    levels = {_one_of(name, given, "read_uncommitted", "read_committed") for name in names if name in given}
    if len(levels) > 1:
        raise ValueError("isolationLevel and kafka.isolation.level disagree; one of them is enough")
    return "read_committed" if "read_committed" in levels else "read_uncommitted"


def _one_of(name: str, given: Mapping[str, str], *allowed: str) -> str:
    value = given.get(name, allowed[0])
    for each in allowed:
        if value.strip().lower() == each.lower():
            return each
    raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")


def _boolean(name: str, value: str) -> bool:
    if value.strip().lower() not in {"true", "false"}:
        raise ValueError(f"{name} must be true or false, not {value!r}")
    return value.strip().lower() == "true"


def _size(name: str, text: str | None) -> int:
    if text is None:
        return MAX_OUTPUT_SIZE
    matched = _SIZE.fullmatch(text.strip().lower())
    size = int(matched[1]) << _UNITS[(matched[2] or "b")[0]] if matched else 0
    if not 1 <= size <= DEFAULT_MAX_OUTPUT_SIZE:
        raise ValueError(
            f"{name} must be a size like 268435456 or 256m, at most {DEFAULT_MAX_OUTPUT_SIZE}, not {text!r}"
        )
    return size
