"""The functions on separate executor processes; run by ``test_functions_cluster.py`` with a folder for PYTHONPATH.

Prints JSON: what ``decompress`` gave, or the error. The folder is on the executors' path alone.
"""

from __future__ import annotations

import json
import sys

from pyspark.errors import PythonException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody has it

import kafkacomp as kc
from kafkacomp.spark import decompress, records

session = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
session = session.config("spark.executor.memory", "512m").config("spark.sql.shuffle.partitions", "2")
spark = session.config("spark.executorEnv.PYTHONPATH", sys.argv[1]).getOrCreate()
spark.sparkContext.setLogLevel("OFF")
builder = kc.record.RecordBatchBuilder(compression_type="zstd")
builder.append(b"value")
rows = [(n, kc.compress(b"%d" % n, "lz4"), bytes(builder.build())) for n in range(100)]
frame = spark.createDataFrame(rows, "n int, data binary, fetched binary").repartition(4)
try:
    same = frame.select((decompress("data", "lz4") == F.col("n").cast("string").cast("binary")).alias("same"))
    found = [same.where("same").count(), records(frame, "fetched", columns=["offset"]).count()]
    sys.stdout.write(json.dumps({"found": found}))
except PythonException as error:
    sys.stdout.write(json.dumps({"error": str(error)}))
spark.stop()
