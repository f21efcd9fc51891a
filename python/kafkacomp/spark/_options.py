"""The options of ``spark.read.format("kafkacomp")`` and ``spark.readStream``, checked before anything is read.

An option that Spark's Kafka source or its file sources have has the same name and meaning here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from kafkacomp._arguments import check_names
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE
from kafkacomp._log_format import LOG_FORMATS
from kafkacomp.spark._bounds import (
    BOUND_OPTIONS,
    EARLIEST,
    LATEST,
    Bounds,
    Times,
    bounds,
    check_times,
    is_latest_unmatched,
    times,
)
from kafkacomp.spark._schema import TYPES
from kafkacomp.spark._values import boolean, content, known, one_of, size, strings, whole
from kafkacomp.tiered.keys import EncryptionKeys
from kafkacomp.tiered.source import SourceOptions, Tiered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkacomp._log_format import LogFormat

#: All options in their documented spelling; Spark passes option names in any case.
OPTIONS = (
    "path", "paths", "pathGlobFilter", "columns", "includeHeaders", "topic", "partition", "subscribe",
    "subscribePattern", "assign", *BOUND_OPTIONS, "failOnDataLoss", "isolationLevel", "kafka.isolation.level", "mode",
    "columnNameOfCorruptRecord", "splitSize", "filterPushdown", "maxOutputSize", "logFormat", "horizon",
    "remoteLogMetadata", "localLogDir", "encryptionKeys", "storageOptions", "maxOffsetsPerTrigger",
)  # fmt: skip
#: Options for batch reads only, and for streams only.
_BATCH_ONLY = (
    "remoteLogMetadata", "localLogDir", "encryptionKeys", "storageOptions", "endingOffsets", "endingTimestamp",
    "endingOffsetsByTimestamp", "filterPushdown", "pathGlobFilter",
)  # fmt: skip
_STREAM_ONLY = ("maxOffsetsPerTrigger",)

#: The most bytes that one Kafka batch may decompress to; workers share memory with the JVM of the executor.
MAX_OUTPUT_SIZE = "256m"
SPLIT_SIZE = "128m"
HORIZON = "4m"
_NOT_STORAGE_OPTIONS = 'storageOptions must be a JSON object like {"endpoint_url": "http://minio:9000"}'
_KAFKA_COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
_MOST = (1 << 63) - 1

IsolationLevel = Literal["read_uncommitted", "read_committed"]
#: What happens at corruption, as in Spark's file sources.
Mode = Literal["FAILFAST", "DROPMALFORMED", "PERMISSIVE"]


@dataclass(frozen=True)
class ReadOptions:
    """Checked options."""

    paths: tuple[str, ...]
    path_glob_filter: str | None
    #: The columns to read, including ``corrupt_column`` if it was selected.
    columns: tuple[str, ...]
    columns_given: bool
    corrupt_column: str
    #: A filter; also the topic and partition of segments whose folder is not named by them.
    topic: str | None
    partition: int | None
    #: Filters: names of topics; a regular expression for whole names of topics; topics with partitions.
    subscribe: tuple[str, ...] | None
    subscribe_pattern: str | None
    assign: frozenset[tuple[str, int]] | None
    starting_offsets: Bounds
    ending_offsets: Bounds
    starting_times: Times
    ending_times: Times
    latest_unmatched: bool
    fail_on_data_loss: bool
    isolation_level: IsolationLevel
    mode: Mode
    #: The approximate bytes of a segment that one task reads.
    split_size: int
    filter_pushdown: bool
    max_output_size: int
    log_format: LogFormat
    #: The bytes of a partition in an object store up to which it is judged at a gap; ``None`` for any number.
    horizon: int | None
    max_offsets_per_trigger: int | None
    #: The options for tiered storage and other file systems, whose repr contains no keys or credentials.
    opening: SourceOptions

    @property
    def is_committed(self) -> bool:
        """Whether only committed records are read."""
        return self.isolation_level == "read_committed"

    @property
    def on_error(self) -> Literal["raise", "skip"]:
        """The ``on_error`` argument of a scan for this mode."""
        return "raise" if self.mode == "FAILFAST" else "skip"


def parse(options: Mapping[str, str], *, streaming: bool | None = False) -> ReadOptions:
    """Parse and check the options that Spark passes.

    Args:
        options: The options as Spark passes them.
        streaming: Whether they are for ``readStream``; ``None`` accepts both, to determine the schema.

    Raises:
        ValueError: an option is unknown, or its value is not allowed; the message has the option's name.
    """
    given = known(options, OPTIONS)
    if streaming is not None:
        for name in _BATCH_ONLY if streaming else _STREAM_ONLY:
            if name in given:
                right, wrong = ("spark.read", "spark.readStream") if streaming else ("spark.readStream", "spark.read")
                raise ValueError(f"{name} is an option of {right}, not of {wrong}")
    mode = cast("Mode", one_of("mode", given.get("mode", "FAILFAST"), "FAILFAST", "DROPMALFORMED", "PERMISSIVE"))
    corrupt_column = _corrupt_column(given)
    limit = given.get("maxOffsetsPerTrigger")
    check_times(times("starting", given), times("ending", given))
    return ReadOptions(
        paths=paths_of(given),
        path_glob_filter=given.get("pathGlobFilter"),
        columns=_columns(given, mode, corrupt_column),
        columns_given="columns" in given,
        corrupt_column=corrupt_column,
        topic=_topic(given),
        partition=_partition(given),
        subscribe=_subscribe(given),
        subscribe_pattern=_pattern(given),
        assign=_assign(given),
        starting_offsets=bounds(
            "starting", given, LATEST if streaming else EARLIEST, LATEST if streaming is False else None
        ),
        ending_offsets=bounds("ending", given, LATEST, EARLIEST),
        starting_times=times("starting", given),
        ending_times=times("ending", given),
        latest_unmatched=is_latest_unmatched(given),
        fail_on_data_loss=boolean("failOnDataLoss", given.get("failOnDataLoss", "true")),
        isolation_level=_isolation_level(given),
        mode=mode,
        split_size=size("splitSize", given.get("splitSize", SPLIT_SIZE), _MOST),
        filter_pushdown=boolean("filterPushdown", given.get("filterPushdown", "false")),
        max_output_size=size("maxOutputSize", given.get("maxOutputSize", MAX_OUTPUT_SIZE), DEFAULT_MAX_OUTPUT_SIZE),
        log_format=cast("LogFormat", one_of("logFormat", given.get("logFormat", "auto"), *LOG_FORMATS)),
        horizon=_horizon(given.get("horizon", HORIZON)),
        max_offsets_per_trigger=None if limit is None else whole("maxOffsetsPerTrigger", limit, 1, _MOST),
        opening=SourceOptions(tiered=_tiered(given), storage_options=storage_options_of(given)),
    )


def paths_of(given: Mapping[str, str]) -> tuple[str, ...]:
    """The paths to read; ValueError if there are none."""
    found = [given["path"]] if "path" in given else []
    if "paths" in given:  # Spark passes several paths of load() as JSON
        found += strings("paths", given["paths"])
    if not found:
        raise ValueError('no path: use .load("/path/of/segments") or the option path')
    # Hadoop writes local paths as file:/x, without the slashes before a host.
    return tuple(re.sub(r"^file:/(?!/)", "/", each) for each in found)


def _tiered(given: Mapping[str, str]) -> Tiered | None:
    found = Tiered(
        remote_log_metadata=given.get("remoteLogMetadata"),
        local_log_dir=given.get("localLogDir"),
        encryption_keys=_encryption_keys(given),
    )
    return None if found == Tiered() else found


def _encryption_keys(given: Mapping[str, str]) -> EncryptionKeys | None:
    if "encryptionKeys" not in given:
        return None
    keys = content(given["encryptionKeys"])
    if not isinstance(keys, dict) or not all(isinstance(each, str) for each in keys.values()):
        # The message omits the text, which may be a key.
        raise ValueError('encryptionKeys must be JSON like {"key id": "/path/of/private.pem"}')
    return EncryptionKeys(keys)


def storage_options_of(given: Mapping[str, str]) -> dict[str, object] | None:
    """The options with which fsspec opens URLs."""
    if "storageOptions" not in given:
        return None
    options = content(given["storageOptions"])
    if not isinstance(options, dict):
        # The message omits the text, which may contain credentials.
        raise ValueError(_NOT_STORAGE_OPTIONS)  # noqa: TRY004 - as all options
    return options


def _horizon(text: str) -> int | None:
    return None if text == "none" else size("horizon", text, _MOST)


def _corrupt_column(given: Mapping[str, str]) -> str:
    name = given.get("columnNameOfCorruptRecord", "_corrupt_record")
    if not name or name in TYPES:
        raise ValueError(f"columnNameOfCorruptRecord: {name!r} is the name of another column: choose a new name")
    return name


def _columns(given: Mapping[str, str], mode: Mode, corrupt_column: str) -> tuple[str, ...]:
    headers = boolean("includeHeaders", given.get("includeHeaders", "false"))
    if "columns" not in given:
        more = (("headers",) if headers else ()) + ((corrupt_column,) if mode == "PERMISSIVE" else ())
        return (*_KAFKA_COLUMNS, *more)
    names = tuple(name.strip() for name in given["columns"].split(","))
    check_names("columns", names, [*TYPES, corrupt_column])
    if "includeHeaders" in given and headers != ("headers" in names):
        raise ValueError("columns and includeHeaders disagree about the column headers: give columns only")
    return names


def _topic(given: Mapping[str, str]) -> str | None:
    if given.get("topic") == "":
        raise ValueError("topic must be the name of a topic, not ''")
    return given.get("topic")


def _partition(given: Mapping[str, str]) -> int | None:
    return whole("partition", given["partition"], 0, (1 << 31) - 1) if "partition" in given else None


def _subscribe(given: Mapping[str, str]) -> tuple[str, ...] | None:
    chosen = [name for name in ("topic", "subscribe", "subscribePattern", "assign") if name in given]
    if len(chosen) > 1:
        raise ValueError(f"{' and '.join(chosen)} cannot be given together: choose one of them")
    if "subscribe" not in given:
        return None
    topics = tuple(each.strip() for each in given["subscribe"].split(","))
    if not all(topics):
        raise ValueError(f"subscribe must be names of topics separated by commas, not {given['subscribe']!r}")
    return topics


def _pattern(given: Mapping[str, str]) -> str | None:
    pattern = given.get("subscribePattern")
    if pattern is not None:
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(f"subscribePattern {pattern!r} is not a regular expression: {error}") from None
    return pattern


def _assign(given: Mapping[str, str]) -> frozenset[tuple[str, int]] | None:
    if "assign" not in given:
        return None
    shape = f'assign must be JSON like {{"topic": [0, 1]}}, not {given["assign"]!r}'
    topics = content(given["assign"])
    if not isinstance(topics, dict) or not topics:
        raise ValueError(shape)
    found = set()
    for topic, partitions in topics.items():
        if not isinstance(partitions, list) or not all(type(each) is int and each >= 0 for each in partitions):
            raise ValueError(shape)
        found |= {(topic, each) for each in partitions}
    return frozenset(found)


def _isolation_level(given: Mapping[str, str]) -> IsolationLevel:
    names = ("isolationLevel", "kafka.isolation.level")
    levels = {one_of(name, given[name], "read_uncommitted", "read_committed") for name in names if name in given}
    if len(levels) > 1:
        raise ValueError("isolationLevel and kafka.isolation.level disagree: give only one of them")
    return "read_committed" if "read_committed" in levels else "read_uncommitted"
