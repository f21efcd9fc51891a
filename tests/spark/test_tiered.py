"""Tiered storage from Spark: what the consumer read, and no key anywhere."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from golden.expect import label, shorten
from golden.reading import assert_same
from golden.tiered import TieredCase, cases

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

CASES = cases()
COLUMNS = "key,value,offset,timestamp,timestampType,leaderEpoch,headers"


def read(spark: SparkSession, case: TieredCase, **more: str) -> DataFrame:
    """The partition with all that is known of it."""
    options: dict[str, Any] = {"columns": COLUMNS, "localLogDir": str(case.leader), **more}
    options["remoteLogMetadata"] = str(case.metadata)
    if case.keys and "encryptionKeys" not in more:
        options["encryptionKeys"] = json.dumps({key_id: str(path) for key_id, path in case.keys.items()})
    return spark.read.format("kafkacomp").options(**options).load(str(case.folder))


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    """Offset, key, value and headers in the order of offsets."""
    return sorted(
        (
            row["offset"],
            None if row["key"] is None else bytes(row["key"]),
            shorten(None if row["value"] is None else bytes(row["value"])),
            tuple(
                (header["key"], None if header["value"] is None else bytes(header["value"]))
                for header in row["headers"] or ()
            ),
            row["timestampType"],
            row["leaderEpoch"],
        )
        for row in frame.collect()
    )


def in_time(case: TieredCase) -> Any:
    """The full set takes minutes."""
    marks = [pytest.mark.slow] if label(case.cluster) == "full" else []
    return pytest.param(case, id=str(case), marks=marks)


def expected(case: TieredCase, isolation_level: str) -> list[tuple[Any, ...]]:
    return [
        (each.offset, each.key, each.value, each.headers, each.timestamp_type, each.leader_epoch)
        for each in case.expected(isolation_level)
    ]


@pytest.mark.parametrize("case", [in_time(case) for case in CASES])
@pytest.mark.parametrize("isolation_level", ["read_uncommitted", "read_committed"])
def test_what_the_consumer_read(spark: SparkSession, case: TieredCase, isolation_level: str) -> None:
    frame = read(spark, case, isolationLevel=isolation_level, splitSize="16k")
    assert frame.rdd.getNumPartitions() > 1
    assert_same(rows(frame), expected(case, isolation_level), case.folder)


def test_bounds(spark: SparkSession) -> None:
    case = next(case for case in CASES if case.name == "gold3-unclean-borders-0")
    bounds = [json.dumps({"gold3-unclean-borders": {"0": offset}}) for offset in (360, 410)]
    frame = read(spark, case, startingOffsets=bounds[0], endingOffsets=bounds[1])
    assert [row[0] for row in rows(frame)] == [*range(360, 410)]


def test_a_missing_key(spark: SparkSession, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.keys)
    with pytest.raises(Exception, match="its private key is not given"):
        read(spark, case, encryptionKeys=json.dumps({"other": str(next(iter((case.keys or {}).values())))})).collect()
    with pytest.raises(Exception, match="encryptionKeys must be JSON"):
        read(spark, case, encryptionKeys=str(tmp_path)).collect()


def test_keys_of_the_environment(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Executors have the keys, the driver need not know them."""
    case = next(case for case in CASES if case.keys)
    text = json.dumps({key_id: str(path) for key_id, path in (case.keys or {}).items()})
    monkeypatch.setenv("KAFKACOMP_ENCRYPTION_KEYS", text)
    options = {"columns": COLUMNS, "localLogDir": str(case.leader), "remoteLogMetadata": str(case.metadata)}
    frame = spark.read.format("kafkacomp").options(**options).load(str(case.folder))
    from kafkacomp.spark._read import reader  # noqa: PLC0415 - private names

    made = reader({**options, "path": str(case.folder)}, frame.schema)
    batches = [batch for task in made.partitions() for batch in made.read(task)]
    assert sum(batch.num_rows for batch in batches) == len(case.expected())


def test_no_key_in_plans_and_reprs(spark: SparkSession) -> None:
    """A key that is given as PEM text, and not as a path, is an option of Spark's like any other."""
    case = next(case for case in CASES if case.keys)
    pems = {key_id: path.read_text() for key_id, path in (case.keys or {}).items()}
    secret = next(iter(pems.values())).splitlines()[3]
    frame = read(spark, case, encryptionKeys=json.dumps(pems))
    query = frame._jdf.queryExecution()
    assert frame.count() == len(case.expected())
    texts = [query.toString(), query.explainString(_mode(spark, "extended")), query.explainString(_mode(spark, "cost"))]
    texts += [query.explainString(_mode(spark, "formatted")), repr(frame), query.analyzed().toJSON()]
    assert not any(secret in text for text in texts)


def _mode(spark: SparkSession, name: str) -> Any:
    return spark._jvm.org.apache.spark.sql.execution.ExplainMode.fromString(name)  # type: ignore[union-attr]  # Java's
