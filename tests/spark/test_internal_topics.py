"""Internal topics as tables in Spark: the rows are those of kafkacomp.internal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import kafkacomp as kc
from internal_topics import LATEST, log_dir

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE = log_dir(LATEST)


@pytest.mark.parametrize(
    ("table", "options"),
    [
        ("consumer_offsets", {}),
        ("consumer_offsets", {"view": "log"}),
        ("groups", {}),
        ("transactions", {}),
        ("share_group_state", {}),
        ("cluster_metadata", {"view": "partitions"}),
    ],
)
def test_rows_are_those_of_the_library(spark: SparkSession, table: str, options: dict[str, str]) -> None:
    reader: Any = spark.read.format("kafkacomp").option("internal", table).options(**options)
    frame = reader.load(str(SOURCE))
    expected = getattr(kc.internal, table)(SOURCE, **options).read_all()
    assert frame.columns == expected.column_names
    names = [name for name in expected.column_names if "imestamp" not in name and name != "completeFrom"]
    ours = [row.asDict(recursive=True) for row in frame.select(*names).collect()]
    assert [
        {name: bytes(value) if isinstance(value, bytearray) else value for name, value in row.items()} for row in ours
    ] == expected.select(names).to_pylist()


def test_other_options_are_refused(spark: SparkSession) -> None:
    reader: Any = spark.read.format("kafkacomp").option("internal", "groups").option("startingOffsets", "earliest")
    with pytest.raises(Exception, match="unknown option"):
        reader.load(str(SOURCE))
