"""Executors that are processes of their own: what a task needs reaches them, and their errors reach the driver."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyspark

import kafkacomp as kc

TIMEOUT = 240
# A Python process has one Spark context, and that of the other tests is local.
PROGRAM = """
import json, sys
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

request = json.load(sys.stdin)


def session(**settings):
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    common = {
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    for name, value in {**common, **settings}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def read(path, **options):
    return spark.read.format("kafkacomp").options(**options).load(path)


def error_of(path):
    try:
        read(path, columns="offset").count()
    except PySparkException as error:
        return str(error)


spark = session()
committed = read(request["logs"], isolationLevel="read_committed", splitSize="5k")
answer = {
    "tasks": committed.rdd.getNumPartitions(),
    "offsets": [row.offset for row in committed.select("offset").collect()],
    "remote": read("local://" + request["logs"], columns="offset", splitSize="5k").count(),
    "executors": spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1,
}
answer["damaged"] = error_of(request["damaged"])


def write():
    spark.range(0, 100, 1, 4).selectExpr("cast(id as string) as value").write.format("kafkacomp").mode("append").option(
        "topic", "t"
    ).save(request["written"])


write()
spark.stop()
spark = session(**{"spark.executorEnv.PYTHONPATH": request["blocked"]})
answer["missing"] = error_of(request["logs"])
try:
    write()
except PySparkException as error:
    answer["missing_writing"] = str(error)
spark.stop()
json.dump(answer, open(request["answer"], "w"))
"""


# What Python imports when it starts: as if kafkacomp were not installed.
BLOCKED = """
import sys


class NotInstalled:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] == "kafkacomp":
            raise ModuleNotFoundError(f"No module named {name!r}")


sys.meta_path.insert(0, NotInstalled)
"""


def test_executors_of_their_own(small_vectors: Path, tmp_path: Path) -> None:
    logs = small_vectors / "modern" / "txn-open"
    damaged = small_vectors / "modern" / "damaged-restarts-flipped-body"
    answer = tmp_path / "answer.json"
    (tmp_path / "sitecustomize.py").write_text(BLOCKED)
    request = {"logs": str(logs), "damaged": str(damaged), "answer": str(answer), "blocked": str(tmp_path)}
    request["written"] = str(tmp_path / "written")
    # Executors are started by Spark's own scripts, in a work folder below its home.
    (tmp_path / "driver").mkdir()
    home = Path(pyspark.__file__).parent
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_WORKER_DIR": str(tmp_path / "work")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
        cwd=tmp_path / "driver",
        env=environment,
    )
    shutil.rmtree(home / "work", ignore_errors=True)
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(answer.read_text())
    assert found["executors"] == 2
    assert found["tasks"] > 5
    wanted = pa.table(kc.scan(logs, columns=["offset"], isolation_level="read_committed"))["offset"].to_pylist()
    assert found["offsets"] == wanted
    assert found["remote"] == pa.table(kc.scan(logs, columns=["offset"])).num_rows
    assert f"{'0' * 20}.log: record batch at byte " in found["damaged"]
    for error in (found["missing"], found["missing_writing"]):
        assert re.search(r"ImportError: kafkacomp cannot be imported on \S+ by \S+ \(No module", error)
    written = pa.table(kc.scan(request["written"], columns=["offset", "value"])).to_pylist()
    assert [(row["offset"], int(row["value"])) for row in written] == [(number, number) for number in range(100)]
