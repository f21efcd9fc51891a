"""Spark writing into the folder of a stopped broker, in a process of its own.

Run by `write`: python spark_write.py, with the request as JSON on standard input.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

TIMEOUT = 200.0


class Job(NamedTuple):
    """Rows from `first` to before `end`, from so many tasks, and the writer's options."""

    first: int
    end: int
    tasks: int
    options: dict[str, str]


def write(target: Path, jobs: list[Job]) -> None:
    """Runs the jobs one after another."""
    subprocess.run(
        [sys.executable, str(Path(__file__).resolve())],
        input=json.dumps({"target": str(target), "jobs": jobs}),
        text=True,
        timeout=TIMEOUT,
        check=True,
    )


def main() -> None:
    """Runs what is asked for."""
    from livekafka import spark  # noqa: PLC0415 - the path is set by then

    request = json.load(sys.stdin)
    session = spark.session([])
    for first, end, tasks, options in request["jobs"]:
        frame = session.range(first, end, 1, tasks).selectExpr(
            "if(id % 10 = 0, null, concat('key ', id % 100)) as key",
            "if(id % 7 = 0, null, concat('value ', id)) as value",
            "timestamp_millis(1700000000000 + id) as timestamp",
            "if(id % 3 = 0, null, array(struct('id' as key, encode(string(id), 'utf-8') as value),"
            " struct('none' as key, binary(null) as value))) as headers",
        )
        frame.write.format("kafkacomp").mode("append").options(**options).save(request["target"])
    session.stop()


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    main()
