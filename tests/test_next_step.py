"""Wrong first tries at the tasks of docs/tutorial.md: the error says what to write instead."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import arrow, broker, log, record

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TRIES: dict[str, tuple[Callable[[Any], object], type[Exception], str]] = {
    "a topic": (
        lambda logs: kc.LogDir(logs)["orders"],  # type: ignore[index]
        KeyError,
        r"no partition 'orders' in .*: give topic and partition, as in logs\['orders', 3\]; expected one of orders-0",
    ),
    "a partition that does not exist": (
        lambda logs: kc.LogDir(logs)["orders", 1],
        KeyError,
        r"no partition \('orders', 1\) in .*: expected one of orders-0",
    ),
    "one topic": (
        lambda logs: kc.scan(logs, topics="orders"),
        TypeError,
        r"topics must be a collection of names, not the string 'orders': use \['orders'\]",
    ),
    "one partition": (
        lambda logs: kc.scan(logs, partitions=0),  # type: ignore[arg-type]
        TypeError,
        r"partitions must be a collection of numbers, not 0: use \[0\]",
    ),
    "a time as text": (
        lambda logs: kc.scan(logs, start_time="2026-01-02T08:00:00Z"),  # type: ignore[arg-type]
        TypeError,
        "start_time must be milliseconds since the epoch, or a datetime with a time zone, not str",
    ),
    "rows of a path": (
        lambda logs: arrow.filter_rows(logs, key="k"),
        TypeError,
        "reader must be the result of scan, not PosixPath|WindowsPath",
    ),
    "a version in place of a message format": (
        lambda logs: log.convert(logs, logs / "new", to_magic="0.10"),  # type: ignore[arg-type]
        ValueError,
        r"to_magic must be 0 \(Kafka 0.8, 0.9\), 1 \(0.10\) or 2 \(0.11 and later\), not '0.10'",
    ),
    "an unknown broker": (
        lambda _: broker.BrokerProfile("0.7"),
        ValueError,
        "no profile of broker version '0.7': expected one of 0.8.2, .*, 2.8, ",
    ),
    "a broker's version as a number": (
        lambda _: broker.BrokerProfile(2.8),  # type: ignore[arg-type]
        TypeError,
        "version must be a str such as '2.8', not float",
    ),
    "batches of a path": (
        lambda logs: record.read_batches(str(logs)),  # type: ignore[arg-type]
        TypeError,
        "data must be bytes-like, not str: to read a file, use open_batches",
    ),
    "an empty path": (
        lambda _: kc.scan(""),
        ValueError,
        r"source is empty: give a path; '\.' is the current folder",
    ),
    "an empty target": (
        lambda _: kc.write(pa.table({"value": ["x"]}), "", topic="new"),
        ValueError,
        r"target is empty: give a path; '\.' is the current folder",
    ),
    "a log directory as bytes": (
        lambda _: kc.LogDir(b"logs"),  # type: ignore[arg-type]
        TypeError,
        "path must be a path, a str or os.PathLike, not bytes",
    ),
    "several sources to rewrite": (
        lambda logs: log.recompress([logs], logs / "new"),  # type: ignore[arg-type]
        TypeError,
        "source must be a path, a str or os.PathLike, not list",
    ),
    "an index that does not exist": (
        lambda _: log.read_offset_index(None, 0),  # type: ignore[arg-type]
        TypeError,
        "source must be a path or bytes-like, not NoneType",
    ),
    "a base offset as text": (
        lambda _: log.read_offset_index(b"", "0"),  # type: ignore[arg-type]
        TypeError,
        "base_offset must be an int, not str",
    ),
    "a file that is open for writing": (
        lambda _: kc.scan(io.BufferedWriter(io.BytesIO())),
        TypeError,
        "<BufferedWriter>: the file object is not open for reading: open it with mode 'rb'",
    ),
    "a level as text": (
        lambda _: kc.compress(b"", "zstd", compression_level="3"),  # type: ignore[arg-type]
        TypeError,
        "compression_level must be an int, not str",
    ),
    "a switch as text": (
        lambda logs: kc.scan(logs, options=kc.ScanOptions(verify_crc="no")),  # type: ignore[arg-type]
        TypeError,
        "verify_crc must be a bool, not str",
    ),
    "no column": (
        lambda logs: kc.scan(logs, columns=[]),
        ValueError,
        "columns must have each name once, and at least one: expected some of key, ",
    ),
    "a producer's type in place of the topic's": (
        lambda _: broker.BrokerProfile("2.8").append(b"", compression_type="none"),
        ValueError,
        "compression.type must be one of uncompressed, zstd, .*, producer, not 'none'",
    ),
    "advice on a number": (
        lambda _: kc.advise(5),  # type: ignore[arg-type]
        TypeError,
        "source must be a path, bytes, a LogDir, LogPartition or LogSegment, or a collection of these, not int",
    ),
    "rows that are not Arrow data": (
        lambda logs: kc.write([{"value": "x"}], logs, topic="new"),  # type: ignore[arg-type]
        TypeError,
        "rows must be Arrow data, such as a table of pyarrow or a data frame of polars .*, not list",
    ),
    "a bound of a partition that does not exist": (
        lambda logs: kc.scan(logs, start_offset={("orders", 1): 5}),
        ValueError,
        r"start_offset: no partition \('orders', 1\) in the source: expected some of \('orders', 0\)",
    ),
    "key and value by position": (
        lambda _: record.RecordBatchBuilder().append(b"key", b"value"),  # type: ignore[call-arg]
        TypeError,
        r"only the value is positional: write append\(value, key=key\)",
    ),
    "zstd in an old format": (
        lambda _: record.convert(record.build_batches(pa.table({"value": ["x"]})), to_magic=1),
        kc.UnsupportedCompressionTypeError,
        "the batch at byte 0 is compressed with zstd, which formats before magic 2 do not have: recompress it first",
    ),
    "rows without a topic": (
        lambda logs: kc.write(pa.table({"value": ["x"]}), logs),
        ValueError,
        "the rows have no column 'topic': add the column, or give the argument topic",
    ),
    "a target that exists": (
        lambda logs: kc.write(pa.table({"value": ["x"]}), logs, topic="orders"),
        FileExistsError,
        "the target exists: choose another one, or remove it: .*orders-0",
    ),
}


@pytest.mark.parametrize("name", TRIES)
def test_the_error_says_what_to_write(name: str, tmp_path: Path) -> None:
    kc.write(pa.table({"value": ["x"]}), tmp_path, topic="orders")
    attempt, error, message = TRIES[name]
    with pytest.raises(error, match=message):
        attempt(tmp_path)
