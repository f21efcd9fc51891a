"""A Spark session delivers of damaged logs what a scan delivers, as a batch and as a stream.

There are 20 cases, and 200 in the slow tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doors.answers import Source
from promises.cases import case
from spark.test_doors import check

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    "number", [pytest.param(each, marks=[] if each < 20 else [pytest.mark.slow]) for each in range(200)]
)
def test_a_session_delivers_what_a_scan_delivers(spark: SparkSession, number: int, tmp_path: Path) -> None:
    check(spark, Source(case(number).write(tmp_path), tmp_path), split_sizes=1)
