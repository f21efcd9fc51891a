"""The examples in docstrings run as they stand."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import _kafkacomp, exceptions, message_set, record

MODULES = sorted(
    each.name
    for each in pkgutil.walk_packages(kc.__path__, "kafkacomp.")
    if not each.name.startswith("kafkacomp.bench") and "__main__" not in each.name
)


def examples() -> list[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [each for name in MODULES for each in finder.find(importlib.import_module(name), name)]
    return [each for each in found if each.examples]


@pytest.fixture(name="example", scope="module")
def _example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory with five records of one topic."""
    folder = tmp_path_factory.mktemp("logs")
    rows = {
        "key": [f"customer-{row % 2}" for row in range(5)],
        "value": [f"order {row}" for row in range(5)],
        "timestamp": [1_700_000_000_000 + row for row in range(5)],
    }
    kc.write(pa.table(rows), folder, topic="orders", partition=3, compression_type="none")
    return folder


@pytest.fixture(name="offsets_log", scope="module")
def _offsets_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory with one commit of a group."""
    folder = tmp_path_factory.mktemp("offsets")
    key = b"\0\1\0\7billing\0\6orders\0\0\0\3"
    value = b"\0\3" + struct.pack(">qihq", 5, -1, 0, 1_700_000_000_000)
    rows = pa.table({"key": [key], "value": [value], "timestamp": [1_700_000_000_000]})
    kc.write(rows, folder, topic="__consumer_offsets", partition=7)
    return folder


@pytest.mark.parametrize("test", examples(), ids=lambda test: test.name)
def test_example(test: doctest.DocTest, example: Path, offsets_log: Path, tmp_path: Path) -> None:
    test.globs |= {"example": example, "offsets_log": offsets_log, "target": tmp_path / "target"}
    told: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test, out=told.append)
    assert runner.failures == 0, "".join(told)


def test_the_model_has_examples() -> None:
    names = {test.name for test in examples()}
    assert {"kafkacomp.log._log_dir.LogDir", "kafkacomp.log._model.LogPartition"} <= names
    assert "kafkacomp.log._model.LogSegment" in names


#: Public modules: each name of their ``__all__`` has an example.
PUBLIC = (
    "", "advice", "advice.prices", "advice.settings", "arrow", "broker", "exceptions", "gzip", "internal", "log", "lz4",
    "message_set", "polars", "record", "snappy", "spark", "typing", "zstd",
)  # fmt: skip
#: Classes that users do not create: the function or class whose example shows them.
SHOWN_BY = {
    "arrow.FilteredReader": "arrow.filter_rows",
    "arrow.ArrowArray": "arrow.decompress_cells",
    "arrow.ScanReader": "scan",
    "advice.Prices": "advice.prices.load",
    "broker.LogAppendInfo": "broker.analyze_and_validate_records",
    "broker.RecordError": "broker.LogValidator",
    "broker.RecordValidationStats": "broker.LogValidator",
    "broker.ValidationResult": "broker.LogValidator",
    "internal.ReadOptions": "internal.consumer_offsets",
    "internal.cluster_metadata": "internal.consumer_offsets",
    "internal.remote_log_metadata": "internal.consumer_offsets",
    "internal.share_group_state": "internal.consumer_offsets",
    "internal.transactions": "internal.consumer_offsets",
    "log.AbortedTxn": "log.read_transaction_index",
    "log.BatchCounts": "LogDir.info",
    "log.CodecCounts": "log.verify_segment",
    "log.ControlRecord": "log.parse_control_record",
    "log.LeaderEpochEntry": "log.read_leader_epoch_checkpoint",
    "log.OffsetCheckpointEntry": "log.read_offset_checkpoint",
    "log.OffsetPosition": "log.read_offset_index",
    "log.OpenTransaction": "LogDir.info",
    "log.PartitionInfo": "LogDir.info",
    "log.PartitionMetadata": "log.read_partition_metadata",
    "log.ProducerEntry": "log.read_producer_snapshot",
    "log.Repair": "log.repair",
    "log.RewriteReport": "log.recompress",
    "log.SegmentInfo": "LogDir.info",
    "log.SegmentSummary": "LogDir.info",
    "log.TimestampOffset": "log.read_time_index",
    "log.TopicInfo": "LogDir.info",
    "message_set.Message": "message_set.read_messages",
    "message_set.MappedPosition": "message_set.convert",
    "message_set.MessageReader": "message_set.read_messages",
    "record.BatchReader": "record.read_batches",
    "record.BatchStream": "record.open_batches",
    "record.Record": "record.read_batches",
    "record.RecordBatch": "record.read_batches",
}
#: Names without an example.
WITHOUT = {
    "typing.ArrowArray": "a protocol for annotations",
    "typing.ArrowStream": "a protocol for annotations",
}


def _found(name: str) -> Any:
    found: Any = kc
    for part in name.split("."):
        found = importlib.import_module("kafkacomp.advice.prices") if part == "prices" else getattr(found, part)
    return found


def _has_example(found: Any) -> bool:
    members = vars(found).values() if inspect.isclass(found) else ()
    # Other attributes have the docstring of their type, and that of int has an example.
    own = [found, *(each for each in members if inspect.isroutine(each) or isinstance(each, property | classmethod))]
    return any(">>>" in (each.__doc__ or "") for each in own)


def test_every_public_function_and_class_has_an_example() -> None:
    seen = set()
    for name in PUBLIC:
        module = importlib.import_module(f"kafkacomp.{name}" if name else "kafkacomp")
        for each in module.__all__:
            found = getattr(module, each)
            full = f"{name}.{each}" if name else each
            if not (inspect.isclass(found) or inspect.isroutine(found)):
                continue
            if inspect.isclass(found) and issubclass(found, Exception):
                assert ">>>" in (exceptions.__doc__ or ""), full
                continue
            names = {full, *(other for other in SHOWN_BY | WITHOUT if _found(other) is found)}
            if _has_example(found):
                assert not names & (SHOWN_BY | WITHOUT).keys(), f"{full} has an example: remove it from the list"
                continue
            listed = names & (SHOWN_BY | WITHOUT).keys()
            assert listed, f"{full} has no example in its docstring"
            seen |= listed
            for other in listed & SHOWN_BY.keys():
                assert _has_example(_found(SHOWN_BY[other])), f"{SHOWN_BY[other]} has no example, which shows {full}"
    assert seen == SHOWN_BY.keys() | WITHOUT.keys()


def test_the_package_names_where_each_task_starts() -> None:
    names = re.findall(r":(?:func|class|meth|mod):`(?:kafkacomp\.)?([\w.]+)`", kc.__doc__ or "")
    assert len(names) > 12
    for name in names:
        found: Any = kc
        for part in name.split("."):
            found = getattr(found, part)
        assert found.__doc__, name


#: Classes of the extension module that users get, whose documentation on the site is that of the stub.
IN_RUST = (
    message_set.Message, message_set.MessageReader, record.BatchReader, record.BatchStream, record.Record,
    record.RecordBatch, _kafkacomp.RecordBatchBuilder, _kafkacomp.ScanReader, _kafkacomp.ArrowArray,
)  # fmt: skip


def _words(text: str) -> str:
    """The words of a docstring without markup, which Rust and Python write differently."""
    return " ".join(re.sub(r":(?:func|class|meth|mod):|`", "", text).split())


@pytest.mark.parametrize("found", IN_RUST, ids=lambda found: found.__name__)
def test_help_of_a_class_in_rust_is_that_of_its_stub(found: type) -> None:
    stub = ast.parse(Path(_kafkacomp.__file__).with_name("_kafkacomp.pyi").read_text(encoding="utf-8"))
    (described,) = (each for each in stub.body if isinstance(each, ast.ClassDef) and each.name == found.__name__)
    methods = [each for each in described.body if isinstance(each, ast.FunctionDef)]
    documented: list[ast.ClassDef | ast.FunctionDef] = [described, *methods]
    for node in documented:
        text = ast.get_docstring(node)
        if text is not None and not node.name.startswith("__"):
            shown = found.__doc__ if node is described else getattr(found, node.name).__doc__
            assert _words(shown or "").startswith(_words(text)), node.name
