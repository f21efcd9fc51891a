"""Spark reads a bucket of an S3 server: credentials and endpoint by options, and by the environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from golden.reading import assert_same
from golden.tiered import TieredCase, cases
from s3_server import ACCESS_KEY, BUCKET, SECRET_KEY, S3Server
from spark.test_tiered import COLUMNS, expected, rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

LOCAL: TieredCase = next(case for case in cases() if case.name == "gold-copy-failed-0")
BOTH: TieredCase = next(case for case in cases() if case.name == "gold-a-both-txn-0")
ONE_CASE = pytest.mark.parametrize("case", [LOCAL, BOTH], ids=str)


@pytest.fixture(scope="module")
def shared() -> Iterator[S3Server]:
    """The server with two partitions, and what decides about one of them."""
    with S3Server() as server:
        for case in (LOCAL, BOTH):
            server.upload(case.folder, key_of(case))
        for folder in (*BOTH.metadata.glob("__remote_log_metadata-*"), BOTH.leader / BOTH.name):
            server.upload(folder, f"backup/{folder.name}")
        yield server


@pytest.fixture
def server(shared: S3Server) -> S3Server:
    """The same, without faults."""
    shared.reset()
    return shared


def key_of(case: TieredCase) -> str:
    return f"{case.cluster.name}/{case.folder.relative_to(case.storage).as_posix()}"


def options(server: S3Server, case: TieredCase, **more: str) -> dict[str, Any]:
    """Everything by options."""
    found = {
        "columns": COLUMNS,
        "splitSize": "16k",
        "storageOptions": json.dumps(
            {
                "endpoint_url": server.endpoint, "key": ACCESS_KEY, "secret": SECRET_KEY,
                "client_kwargs": {"region_name": "us-east-1"}, "config_kwargs": {"retries": {"max_attempts": 1}},
            }
        ),
        "remoteLogMetadata": str(case.metadata),
        "localLogDir": str(case.leader),
    }  # fmt: skip
    if case.keys:
        found["encryptionKeys"] = json.dumps({key_id: str(path) for key_id, path in case.keys.items()})
    return found | more


@ONE_CASE
@pytest.mark.parametrize("isolation_level", ["read_uncommitted", "read_committed"])
def test_what_the_consumer_read(spark: SparkSession, server: S3Server, case: TieredCase, isolation_level: str) -> None:
    given = options(server, case, isolationLevel=isolation_level)
    frame = spark.read.format("kafkacomp").options(**given).load(f"s3://{BUCKET}/{key_of(case)}")
    assert frame.rdd.getNumPartitions() > 1
    assert_same(rows(frame), expected(case, isolation_level), case.folder)


def test_metadata_and_log_directory_in_the_bucket(spark: SparkSession, server: S3Server) -> None:
    backup = f"s3://{BUCKET}/backup"
    given = options(server, BOTH, remoteLogMetadata=backup, localLogDir=backup)
    frame = spark.read.format("kafkacomp").options(**given).load(f"s3://{BUCKET}/{key_of(BOTH)}")
    assert_same(rows(frame), expected(BOTH, "read_uncommitted"), BOTH.folder)


def test_a_failure_that_passes(spark: SparkSession, server: S3Server) -> None:
    left = ["503", "reset"]

    def fault(method: str, path: str, _range: str | None) -> str | None:
        return left.pop() if method == "GET" and path.endswith(".log") and left else None

    frame = spark.read.format("kafkacomp").options(**options(server, BOTH)).load(f"s3://{BUCKET}/{key_of(BOTH)}")
    server.fault = fault
    assert_same(rows(frame), expected(BOTH, "read_uncommitted"), BOTH.folder)
    assert sorted(server.failed) == ["503", "reset"]


@pytest.mark.parametrize("mode", ["FAILFAST", "DROPMALFORMED"])
def test_a_failure_that_stays(spark: SparkSession, server: S3Server, mode: str) -> None:
    """The job fails; its error names the object and shows no credential."""
    given = options(server, BOTH, mode=mode)
    frame = spark.read.format("kafkacomp").options(**given).load(f"s3://{BUCKET}/{key_of(BOTH)}")
    assert frame.count() == len(BOTH.expected())
    server.fault = lambda _method, path, _range: "503" if path.endswith(".log") else None
    with pytest.raises(Exception, match=rf"{BUCKET}/{key_of(BOTH)}/[^ ]*\.log") as raised:
        frame.collect()
    assert SECRET_KEY not in str(raised.value)


#: A query whose credentials are in the environment alone.
WITH_ENVIRONMENT = """
import json, sys
from pyspark.sql import SparkSession
url, options = sys.argv[1], json.loads(sys.argv[2])
spark = (
    SparkSession.builder.master("local[2]").config("spark.driver.memory", "1g").config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false").getOrCreate()
)
frame = spark.read.format("kafkacomp").options(**options).load(url)
print("OFFSETS", json.dumps(sorted(row["offset"] for row in frame.collect())))
spark.stop()
"""


@ONE_CASE
def test_credentials_of_the_environment(server: S3Server, case: TieredCase) -> None:
    """Of the driver and of the executors, which here have the same; also the keys of segments."""
    given = options(server, case)
    environment = os.environ | {
        "AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY, "AWS_ENDPOINT_URL": server.endpoint,
        "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
    }  # fmt: skip
    del given["storageOptions"]
    if "encryptionKeys" in given:
        environment["KAFKACOMP_ENCRYPTION_KEYS"] = given.pop("encryptionKeys")
    url = f"s3://{BUCKET}/{key_of(case)}"
    done = subprocess.run(
        [sys.executable, "-c", WITH_ENVIRONMENT, url, json.dumps(given)],
        check=False, capture_output=True, text=True, timeout=300, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("OFFSETS"))
    assert json.loads(line.removeprefix("OFFSETS")) == [each.offset for each in case.expected()]
    assert SECRET_KEY not in done.stdout + done.stderr
