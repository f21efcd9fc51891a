"""One noun and its verbs: what a LogDir, a partition and a segment can do, and the objects that its functions share."""

from __future__ import annotations

import inspect
from dataclasses import FrozenInstanceError, fields
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import log
from kafkacomp.log import _verbs
from kafkacomp.record import build_batches
from kafkacomp.typing import ScanArguments, SourceArguments

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LOCATION = {"store", "storage_options", "tiered"}
VERBS: dict[str, tuple[Callable[..., object], type, set[str]]] = {
    "scan": (kc.scan, ScanArguments, {"source"}),
    "diff": (log.diff, _verbs.DiffArguments, {"source", "other"}),
    "recompress": (log.recompress, _verbs.RecompressArguments, {"source", "target"}),
    "convert": (log.convert, _verbs.ConvertArguments, {"source", "target", "to_magic"}),
    "repair": (log.repair, _verbs.RepairArguments, {"source", "target"}),
    "advise": (kc.advise, _verbs.AdviseArguments, {"source", "settings"}),
}


@pytest.fixture
def logs(tmp_path: Path) -> kc.LogDir:
    rows = pa.table({"value": [b"a", b"b", b"c"], "timestamp": pa.array([1000, 2000, 3000], pa.int64())})
    kc.write(rows, tmp_path / "logs", topic="orders", compression_type="lz4")
    return kc.LogDir(tmp_path / "logs")


@pytest.mark.parametrize("name", VERBS)
def test_a_method_takes_what_its_function_takes(name: str) -> None:
    function, arguments, positional = VERBS[name]
    assert set(arguments.__annotations__) | positional | LOCATION == set(inspect.signature(function).parameters)
    for kind in (kc.LogDir, kc.LogPartition, kc.LogSegment):
        assert callable(getattr(kind, name))


def test_a_scan_has_few_parameters() -> None:
    parameters = inspect.signature(kc.scan).parameters
    assert len(parameters) <= 17
    assert set(SourceArguments.__annotations__) | {"source"} == set(parameters)


def test_every_part_has_the_verbs(logs: kc.LogDir, tmp_path: Path) -> None:
    partition = logs["orders", 0]
    for number, each in enumerate([logs, partition, partition.segments[0]]):
        assert each.scan(columns=["offset"]).read_all().num_rows == 3
        target = tmp_path / str(number)
        assert each.recompress(target / "recompressed", compression_type="gzip").missing == ()
        assert each.convert(target / "converted", 1).missing == ()
        assert each.repair(target / "repaired").is_complete
        assert each.advise().topics[0].figures.name == "orders"
        assert each.diff(logs).is_same


def test_the_first_difference_of_each_partition(logs: kc.LogDir, tmp_path: Path) -> None:
    kc.write(pa.table({"value": [b"a", b"x", b"c"]}), tmp_path / "other", topic="orders")
    kc.write(pa.table({"value": [b"a"]}), tmp_path / "other" / "more", topic="payments")
    report = logs.diff(tmp_path / "other")
    assert not report.is_same
    first = report.differences[0]
    assert (first.topic, first.partition, first.offset) == ("orders", 0, 0)
    assert report.to_dict()["same"] is False
    assert log.diff(tmp_path / "other", tmp_path / "other", topics=["pay*"]).num_records == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("visible_only", 1), ("include_control", "no"), ("batch_rows", 0), ("arrow_batch_bytes", 0), ("threads", 0),
        ("timestamp_unit", "m"), ("binary_type", "bytes"), ("verify_crc", None), ("max_output_size", -1),
        ("log_format", "1"), ("horizon", -1),
    ],
)  # fmt: skip
def test_a_wrong_option_is_an_error_where_it_is_given(name: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=name):
        kc.ScanOptions(**{name: value})


def test_options_are_immutable_and_have_a_default_each() -> None:
    options = kc.ScanOptions()
    with pytest.raises(FrozenInstanceError):
        options.threads = 3  # type: ignore[misc]
    defaults: dict[str, Any] = {each.name: each.default for each in fields(kc.ScanOptions)}
    assert kc.ScanOptions(**defaults) == options
    with pytest.raises(TypeError, match="options must be a ScanOptions, not dict"):
        kc.scan(b"", options={"threads": 1})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="tiered must be a Tiered, not dict"):
        kc.scan(b"", tiered={"encryption_keys": {}})  # type: ignore[arg-type]


def test_keys_are_in_no_repr() -> None:
    assert "secret" not in repr(kc.Tiered(encryption_keys={"key": "secret"}))


def test_a_mapping_names_what_has_no_name(logs: kc.LogDir) -> None:
    data = build_batches(pa.table({"value": [b"x", b"y"]}))
    columns = ["topic", "partition", "offset"]
    rows = kc.scan({("orders", 7): data, ("payments", 0): [data]}, columns=columns).read_all().to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        ("orders", 7, 0), ("orders", 7, 1), ("payments", 0, 0), ("payments", 0, 1),
    ]  # fmt: skip
    chosen = kc.scan({("orders", 7): data, ("payments", 0): data}, topics=["pay*"], columns=columns).read_all()
    assert set(chosen["topic"].to_pylist()) == {"payments"}
    assert kc.scan({("orders", 0): logs.path}, columns=columns).read_all().num_rows == 3
    with pytest.raises(ValueError, match=r"source has \('t', 0\) for another partition: .* is of orders-0"):
        kc.scan({("t", 0): logs.path})
    for key in ("orders", ("orders",), ("orders", "0"), ("", 0), ("orders", -1)):
        with pytest.raises(ValueError, match="keys of source must be"):
            kc.scan({key: data})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="empty collection"):
        kc.scan({})
