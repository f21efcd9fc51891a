"""A Spark query over a broker's folder, in a process of its own that a test may kill.

Run as ``python -m livekafka.following`` in tests/kafka, with the request as JSON on standard input: it follows ``logs``
and writes to ``out``, until the file ``stop`` is there. Then it reads what is left, and leaves all rows in ``result``.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from livekafka.spark import session

COLUMNS = "topic,partition,offset,key"


def main() -> None:
    """Follows until it is told to stop."""
    import pyarrow as pa  # noqa: PLC0415 - only in the process with Spark

    request = json.load(sys.stdin)
    spark = session([])
    options = {"columns": COLUMNS, "startingOffsets": "earliest", **request["options"]}
    frame = spark.readStream.format("kafkacomp").options(**options).load(request["logs"])
    writer = frame.writeStream.format("parquet").option("path", request["out"])
    writer = writer.option("checkpointLocation", request["checkpoint"])
    query = writer.trigger(processingTime="200 milliseconds").start()
    while query.isActive and not Path(request["stop"]).exists():
        time.sleep(0.1)
    error = query.exception()
    if error is not None:
        raise error
    query.processAllAvailable()
    query.stop()
    table = spark.read.parquet(request["out"]).toArrow()
    with pa.ipc.new_file(request["result"], table.schema) as out:
        out.write_table(table)
    spark.stop()


if __name__ == "__main__":
    main()
