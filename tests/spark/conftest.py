"""One small Spark session for all tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyspark
import pytest
from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from collections.abc import Iterator


# Without the fix of SPARK-54217, an idle Python worker that Spark gives to a task may be one that it closed when an
# earlier job failed: "Socket is closed" of PySpark 3.5, ClosedChannelException of 4.0. The second attempt of the task
# gets another worker.
MASTER = "local[2, 2]" if pyspark.__version__.startswith(("3.", "4.0.")) else "local[2]"


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session on two cores; the format is known to it without being registered."""
    session = (
        SparkSession.builder.master(MASTER)
        .appName("kafkacomp tests")
        .config("spark.driver.memory", "1g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
