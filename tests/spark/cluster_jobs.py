"""Jobs for tests with clusters, in a process that they may kill.

Run with the name of a job and its arguments as JSON; see the functions. The session has executors of their own unless
the master is given.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # py4j has no types
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

TASKS, ROWS = 4, 2000
#: The task whose first attempt comes to grief.
UNLUCKY = 2


def session(master: str = "local-cluster[2,1,1024]", *, speculation: bool = True, attempts: int = 4) -> SparkSession:
    """Short of memory; a second attempt of a slow task begins soon."""
    settings = {
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100",
        "spark.speculation": str(speculation).lower(),
        "spark.speculation.interval": "200ms",
        "spark.speculation.quantile": "0.5",
        "spark.speculation.minTaskRuntime": "3s",
        "spark.task.maxFailures": str(attempts),
    }
    builder = SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def grief(kind: str, told: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What rows pass through: in the middle of the unlucky task's first attempt something happens."""

    def passing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        unlucky = context.partitionId() == UNLUCKY and context.attemptNumber() == 0
        for number, batch in enumerate(batches):
            yield batch
            if number == 2 and unlucky:
                Path(told).touch()
                if kind == "slow":
                    time.sleep(20)
                elif kind == "failing":
                    raise ValueError("the first attempt fails")
                else:
                    kill(kind)

    return passing


def kill(kind: str) -> None:
    """Kill the Python worker that writes, or the executor: parent and brother of this process, which is another one."""
    daemon = os.getppid()
    if kind == "executor":
        os.kill(int(_stat(daemon)[1]), signal.SIGKILL)
    else:
        for each in Path("/proc").glob("[0-9]*"):
            if int(each.name) != os.getpid() and _stat(int(each.name))[1] == str(daemon):
                os.kill(int(each.name), signal.SIGKILL)
    time.sleep(20)


def _stat(process: int) -> list[str]:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["", ""]


def write(target: str, told: str, kind: str, master: str) -> None:
    """Write numbers as values, a job for each kind of grief; each must succeed."""
    spark = session(master)
    for each in kind.split(","):
        frame = spark.range(0, ROWS, 1, TASKS).selectExpr("cast(id as string) as value", "id % 3 as n")
        frame = frame.mapInArrow(grief(each, f"{told}-{each}"), frame.schema)
        frame = frame.selectExpr("value", "cast(n as int) as partition")
        save = frame.write.format("kafkacomp").mode("append").options(topic=each, numPartitions=3)
        save.option("batch.size", "200").save(target)
    # What goes on behind the end of its job has the time to leave something.
    time.sleep(25 if "slow" in kind else 0)
    spark.stop()


def unlucky(job: Any, kind: str, told: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The tasks of an export: after some rows of the unlucky one's first attempt something happens."""

    def exporting(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from kafkacomp.spark._export_files import TaskFiles  # noqa: PLC0415 - in the worker

        write = TaskFiles.write
        context = TaskContext.get()
        assert context is not None
        is_unlucky = context.partitionId() == UNLUCKY and context.attemptNumber() == 0

        def grieving(files: TaskFiles, batch: pa.RecordBatch) -> None:
            write(files, batch)
            if is_unlucky and files.rows and not Path(told).exists():
                Path(told).touch()
                if kind == "failing":
                    raise ValueError("the first attempt fails")
                if kind in {"worker", "executor"}:
                    of_executor = int(_stat(os.getppid())[1])
                    os.kill(of_executor if kind == "executor" else os.getpid(), signal.SIGKILL)
                time.sleep(20)

        TaskFiles.write = grieving  # type: ignore[method-assign,assignment]
        try:
            yield from job(batches)
        finally:
            TaskFiles.write = write  # type: ignore[method-assign]

    return exporting


def export(source: str, target: str, told: str, kind: str, master: str) -> None:
    """Export logs, a job for each kind of grief; each must succeed."""
    from kafkacomp.spark import export as exporting  # noqa: PLC0415 - not in the workers

    spark = session(master)
    frames: Any = type(spark.range(1))  # a subclass of DataFrame, which has a method of its own
    plain = frames.mapInArrow
    for each in kind.split(","):

        def shadowed(frame: DataFrame, job: Any, schema: Any, kind: str = each) -> DataFrame:
            found: DataFrame = plain(frame, unlucky(job, kind, f"{told}-{kind}"), schema)
            return found

        frames.mapInArrow = shadowed
        exporting(spark, source, f"{target}/{each}", partition_by="partition", columns=["offset", "partition", "value"])
    # What goes on behind the end of its job has the time to leave something.
    time.sleep(25 if "slow" in kind else 0)
    spark.stop()


def follow(source: str, sink: str, out: str, checkpoint: str, stop: str) -> None:
    """Follow logs into Parquet or into logs until there is a file ``stop``; then what is left."""
    spark = session()
    options = {"startingOffsets": "earliest", "splitSize": "4k"}
    frame = spark.readStream.format("kafkacomp").options(**options).load(source)
    told = frame.selectExpr("topic", "partition", "offset", "concat_ws('/', topic, partition, offset) as value")
    if sink == "kafkacomp":
        told = told.selectExpr("value", "topic as key", "'copy' as topic")
    writer = told.writeStream.format(sink).option("path", out).option("checkpointLocation", checkpoint)
    query = writer.trigger(processingTime="100 milliseconds").start()
    while query.isActive and not Path(stop).exists():
        time.sleep(0.1)
    error = query.exception()
    if error is not None:
        raise error
    query.processAllAvailable()
    query.stop()
    if sink == "parquet":
        rows = [row.value for row in spark.read.parquet(out).select("value").collect()]
        Path(f"{out}.json").write_text(json.dumps(rows))
    spark.stop()


def read(source: str, unlucky: str, cases: str, out: str) -> None:
    """Read a log through ``unlucky_files.py``, once for each case of a fault and a mode."""
    spark = session("local-cluster[1,2,1024]", speculation=False, attempts=2)
    found: list[dict[str, Any]] = []
    for fault, mode in json.loads(cases):
        for met in Path(unlucky).glob("met-*"):
            met.unlink()
        Path(unlucky, "fault").write_text(fault)
        options = {
            "mode": mode,
            "failOnDataLoss": str(mode == "FAILFAST").lower(),
            "splitSize": "1m",
            "columns": "offset,value",
        }
        try:
            frame = spark.read.format("kafkacomp").options(**options).load(source)
            rows = [[row.offset, row.size] for row in frame.selectExpr("offset", "length(value) as size").collect()]
        except (PySparkException, Py4JJavaError) as error:
            found.append({"error": str(error)})
        else:
            found.append({"rows": sorted(rows)})
        found[-1]["met"] = bool(list(Path(unlucky).glob("met-*")))
    Path(out).write_text(json.dumps(found))
    spark.stop()


def main() -> None:
    """Run a job."""
    jobs: dict[str, Callable[..., Any]] = {"write": write, "export": export, "follow": follow, "read": read}
    jobs[sys.argv[1]](**json.loads(sys.argv[2]))


if __name__ == "__main__":
    main()
