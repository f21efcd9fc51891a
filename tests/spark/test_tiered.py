"""Tiered storage from Spark: what the consumer read, and no key anywhere."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from golden.expect import label, read_json_lines, shorten
from golden.reading import assert_same
from golden.tiered import TieredCase, cases
from kafkacomp.spark._plan import SegmentPartition
from kafkacomp.spark._read import reader
from kafkacomp.tiered.objects import ChunkedSegment

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

CASES = cases()
BIG = [case for case in CASES if case.name == "gold-a-plain-none-big-0" and (case.expect / "remote").is_dir()]
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


@pytest.mark.skipif(not BIG, reason="needs the full set of vectors")
def test_splits_begin_where_chunks_do(spark: SparkSession) -> None:
    """At the first batch that begins in a chunk; a chunk in which a batch of the one before ends is fetched twice."""
    case = BIG[0]
    options = {"path": str(case.folder), "localLogDir": str(case.leader), "remoteLogMetadata": str(case.metadata)}
    made = reader({**options, "splitSize": "40k"}, read(spark, case).schema)
    cuts = 0
    for task in made.partitions():
        assert isinstance(task, SegmentPartition)
        for segment in task.partition.segments:
            if segment.range is None or segment.range[0] == 0 or not isinstance(segment.source, ChunkedSegment):
                continue
            chunk_size = segment.source.manifest.chunks.chunk_size
            stem = segment.name.rpartition("/")[2].removesuffix(".log")
            lines = read_json_lines(case.expect / "remote" / f"{stem}.batches.jsonl")
            before = max(line["position"] for line in lines if line["position"] < segment.range[0])
            assert before < segment.range[0] // chunk_size * chunk_size <= segment.range[0]
            cuts += 1
    assert cuts == 3


@pytest.mark.parametrize("case", [in_time(case) for case in CASES])
def test_the_storage_alone(spark: SparkSession, case: TieredCase) -> None:
    """The same as ``kc.scan`` gives: what a consumer got of the remote offsets, or an error where lineages conflict."""
    options = {"columns": COLUMNS, "splitSize": "16k"}
    if case.keys:
        options["encryptionKeys"] = json.dumps({key_id: str(path) for key_id, path in case.keys.items()})
    frame = spark.read.format("kafkacomp").options(**options).load(str(case.folder))
    if "unclean" in case.name:
        with pytest.raises(Exception, match=r"has another record than in .* give remote_log_metadata .* local_log_dir"):
            frame.collect()
        return
    about = case.partition
    found = [row for row in rows(frame) if row[0] >= about["logStartOffset"]]
    tiered = [row for row in expected(case, "read_uncommitted") if row[0] <= about["latestTieredOffset"]]
    assert_same(found, tiered, case.folder)


def test_bounds(spark: SparkSession) -> None:
    case = next(case for case in CASES if case.name == "gold3-unclean-borders-0")
    bounds = [json.dumps({"gold3-unclean-borders": {"0": offset}}) for offset in (360, 410)]
    frame = read(spark, case, startingOffsets=bounds[0], endingOffsets=bounds[1])
    assert [row[0] for row in rows(frame)] == [*range(360, 410)]


def test_a_missing_key(spark: SparkSession, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.keys)
    with pytest.raises(Exception, match="whose private key is not available"):
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


#: A query over encrypted segments, with the event log on; the keys come as text, the credentials as options.
WITH_EVENT_LOG = """
import json, pathlib, sys, urllib.request
from pyspark.sql import SparkSession
folder, metadata, leader, key, logs, credential = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[1]").config("spark.driver.memory", "1g").config("spark.ui.enabled", "true")
    .config("spark.ui.port", "0").config("spark.eventLog.enabled", "true").config("spark.eventLog.compress", "false")
    .config("spark.eventLog.dir", logs)
    .config("spark.ui.showConsoleProgress", "false").getOrCreate()
)
keys = json.dumps({"key1": pathlib.Path(key).read_text()})
known = {"remoteLogMetadata": metadata, "localLogDir": leader, "encryptionKeys": keys}
frame = spark.read.format("kafkacomp").options(**known).load(folder)
assert frame.count() > 100
frame.explain("extended")
try:
    url = "nosuchstore://bucket/x"
    spark.read.format("kafkacomp").options(storageOptions=json.dumps({"secret": credential}), path=url).load().count()
except Exception as error:
    print(error)
ui = spark.sparkContext.uiWebUrl
for page in ("/environment/", "/SQL/", "/SQL/execution/?id=0", "/jobs/", "/stages/stage/?id=0&attempt=0"):
    print(urllib.request.urlopen(ui + page).read().decode())
spark.stop()
"""


@pytest.mark.slow
def test_no_key_and_no_credential_in_the_event_log_and_the_ui(tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name == "gold-a-both-txn-0")
    key = next(iter((case.keys or {}).values()))
    logs, credential = tmp_path / "logs", "credential-0123456789"
    logs.mkdir()
    arguments = [case.folder, case.metadata, case.leader, key, logs, credential]
    done = subprocess.run(
        [sys.executable, "-c", WITH_EVENT_LOG, *map(str, arguments)],
        check=False, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    files = [path for path in logs.rglob("*") if path.is_file() and path.suffix != ".crc"]
    written = "".join(path.read_text(errors="replace") for path in files)
    assert "SparkListenerSQLExecutionStart" in written
    assert "Environment" in done.stdout
    for secret in (key.read_text().splitlines()[3], credential):
        for text in (written, done.stdout, done.stderr):
            assert secret not in text
