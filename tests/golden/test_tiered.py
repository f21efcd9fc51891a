"""Every partition of the tiered set is read to what Kafka's consumer got."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import logging
import pickle
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from grouped import grouped
from kafkacomp.tiered.lineage import valid_ranges
from kafkacomp.tiered.metadata import RemoteLogMetadata, SegmentState, parse_event
from kafkacomp.tiered.objects import ChunkedSegment

from .expect import label, read_json_lines
from .reading import assert_same, scan_rows
from .tiered import TieredCase, cases, clusters

if TYPE_CHECKING:
    from pathlib import Path

CASES = cases()
ONE_CASE = pytest.mark.parametrize("case", CASES, ids=str)


def name_of(cluster: Path) -> str:
    """Of which set a cluster is."""
    return f"{label(cluster)}-{cluster.name}"


ONE_CLUSTER = pytest.mark.parametrize("cluster", clusters(), ids=name_of)


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Warnings about what is not known are expected here."""
    caplog.set_level(logging.ERROR, "kafkacomp")


@ONE_CASE
@pytest.mark.parametrize("isolation_level", ["read_uncommitted", "read_committed"])
def test_what_the_consumer_read(case: TieredCase, isolation_level: str) -> None:
    found = scan_rows(case.folder, isolation_level=isolation_level, **case.known)
    assert_same(found, case.expected(isolation_level), case.folder)


@ONE_CASE
@pytest.mark.parametrize("threads", [1, 3])
def test_missing_offsets_are_those_without_records(case: TieredCase, threads: int) -> None:
    """Nothing is reported that Kafka has dropped, and nothing that it has."""
    reader = kc.scan(case.folder, columns=["offset"], **grouped(threads=threads, include_control=True, **case.known))
    offsets = pa.table(reader)["offset"].to_pylist()
    about = case.partition
    assert offsets == list(range(about["logStartOffset"], about["logEndOffset"]))
    assert reader.report.missing == ()
    assert reader.report.warnings == ()


@pytest.mark.parametrize("cluster", [each for each in clusters() if each.name != "three"], ids=name_of)
def test_the_whole_storage_at_once(cluster: Path) -> None:
    """From the root of the storage, under any prefix. In the cluster of three brokers each partition has its leader."""
    own = [case for case in CASES if case.cluster == cluster]
    table = pa.table(kc.scan(cluster / "storage", columns=["topic", "partition", "offset"], **grouped(**own[0].known)))
    found: dict[str, list[int]] = {}
    for topic, partition, offset in zip(*(column.to_pylist() for column in table.columns), strict=True):
        found.setdefault(f"{topic}-{partition}", []).append(offset)
    assert found == {case.name: [each.offset for each in case.expected()] for case in own}


@ONE_CASE
def test_bounds_of_offsets(case: TieredCase) -> None:
    expected = case.expected()
    for start, end in ((expected[len(expected) // 3].offset, expected[len(expected) * 2 // 3].offset), (0, 1)):
        found = scan_rows(case.folder, start_offset=start, end_offset=end, **case.known)
        assert_same(found, [each for each in expected if start <= each.offset < end], case.folder)


@ONE_CASE
def test_the_local_folder_of_the_partition_alone(case: TieredCase) -> None:
    """Its epochs and log start decide, but for copies whose bytes are others: there are none in the set."""
    found = scan_rows(case.folder, local_log_dir=case.leader / case.name, encryption_keys=case.keys)
    assert_same(found, case.expected(), case.folder)


CONFLICTS = "unclean"


@ONE_CASE
def test_the_storage_alone(case: TieredCase) -> None:
    """Right over the remote range; records from before the log start cannot be told from others."""
    if CONFLICTS in case.name:
        conflict = r"has another record than in .* give remote_log_metadata .* local_log_dir"
        with pytest.raises(kc.CorruptRecordError, match=conflict):
            list(kc.scan(case.folder))
        return
    about = case.partition
    last = about["latestTieredOffset"]
    found = scan_rows(case.folder, encryption_keys=case.keys)
    expected = [each for each in case.expected() if each.offset <= last]
    before = [each for each in found if each.offset < about["logStartOffset"]]
    assert not before or case.name in {"gold-delete-left-0", "gold-delete-records-0", "gold-delete-started-0"}
    assert_same(found[len(before) :], expected, case.folder)


def test_topics_of_one_name() -> None:
    for case in (case for case in CASES if case.name == "gold-recreated-0"):
        topic = [each for each in case.storage.rglob("gold-recreated-*") if each.is_dir()]
        assert len(topic) == 2
        with pytest.raises(kc.KafkaCompError, match=r"2 topics of this name,.* give remote_log_metadata, or read one"):
            kc.scan([str(each) for each in topic])
        assert_same(scan_rows([str(each) for each in topic], **case.known), case.expected(), case.folder)
        assert len(scan_rows(case.folder)) == len([e for e in case.expected() if e.offset <= 317])


@ONE_CLUSTER
def test_the_records_of_the_metadata_topic(cluster: Path) -> None:
    """Each field of each event, as Kafka's RemoteLogMetadataSerde has it."""
    broker = next(cluster.glob("broker-*/__remote_log_metadata-0")).parent
    table = pa.table(
        kc.scan(sorted(broker.glob("__remote_log_metadata-*")), columns=["partition", "offset", "value"])
    ).to_pylist()
    found = [event(row) for row in table]
    expected = sorted(
        read_json_lines(cluster / "expect" / "__remote_log_metadata.events.jsonl"),
        key=lambda each: (each["metadataPartition"], each["metadataOffset"]),
    )
    assert_same(found, expected, cluster)


def event(row: dict[str, Any]) -> dict[str, Any]:
    """An event in the form of the expectation file."""
    decoded: Any = parse_event(row["value"])
    name = decoded.remote_log_segment_id.topic_id_partition
    custom = decoded.custom_metadata
    found = {
        "metadataPartition": row["partition"],
        "metadataOffset": row["offset"],
        "type": type(decoded).__name__.removesuffix("Record"),
        "topicId": name.id,
        "topic": name.name,
        "partition": name.partition,
        "brokerId": decoded.broker_id,
        "eventTimestampMs": decoded.event_timestamp_ms,
        "id": decoded.remote_log_segment_id.id,
        "state": SegmentState(decoded.remote_log_segment_state).name,
        "customMetadata": custom if custom is None else base64.b64encode(custom).decode(),
    }
    if decoded.API_KEY == 0:
        found |= {
            "startOffset": decoded.start_offset,
            "endOffset": decoded.end_offset,
            "maxTimestampMs": decoded.max_timestamp_ms,
            "segmentSizeInBytes": decoded.segment_size_in_bytes,
            "txnIdxEmpty": decoded.txn_index_empty,
            "segmentLeaderEpochs": {str(each.leader_epoch): each.offset for each in decoded.segment_leader_epochs},
        }
    return found


@ONE_CLUSTER
def test_states_and_the_plan_of_a_broker(cluster: Path) -> None:
    """What the metadata manager lists, and which segment it finds at each offset."""
    for case in (case for case in CASES if case.cluster == cluster):
        about, metadata = case.partition, RemoteLogMetadata.read(case.metadata)
        segments = metadata.segments(about["topicId"], about["partition"])
        listed = {each["id"]: each for each in case.remote_segments()}
        assert {each.id: each.state.name for each in segments} == {name: each["state"] for name, each in listed.items()}
        epochs = sorted((int(epoch), start) for epoch, start in about["leaderEpochs"].items())
        finished = metadata.finished(about["topicId"], about["partition"])
        found: dict[str, list[tuple[int, int]]] = {}
        start = about["logStartOffset"]
        for each in valid_ranges(finished, epochs, start):
            found.setdefault(each.segment.id, []).append((max(each.first, start), each.end - 1))
        planned: dict[str, list[tuple[int, int]]] = {}
        for line in read_json_lines(case.expect / "read-plan.jsonl"):
            if line.get("id") is None:
                continue
            ranges = planned.setdefault(line["id"], [])
            if ranges and ranges[-1][1] + 1 == line["fromOffset"]:
                ranges[-1] = (ranges[-1][0], line["toOffset"])
            else:
                ranges.append((line["fromOffset"], line["toOffset"]))
        assert found == planned, case


@pytest.mark.parametrize("case", [case for case in CASES if (case.expect / "originals.jsonl").exists()], ids=str)
def test_the_original_bytes(case: TieredCase) -> None:
    """Size and SHA-256 of each object's original."""
    from kafkacomp.tiered.resolve import TieredOptions  # noqa: PLC0415 - as above
    from kafkacomp.tiered.source import resolve  # noqa: PLC0415 - private names

    (partition,) = resolve(case.folder, tiered=TieredOptions.of(encryption_keys=case.keys))
    sources = {each.name.rpartition("/")[2]: each.source for each in partition.segments}
    names = {"offset": "index", "timestamp": "timeindex", "producerSnapshot": "snapshot",
             "leaderEpoch": "leader_epoch_checkpoint", "transaction": "txnindex"}  # fmt: skip
    for line in read_json_lines(case.expect / "originals.jsonl"):
        source = sources[f"{line['startOffset']:020}-{line['id']}.log"]
        assert isinstance(source, ChunkedSegment)
        file = source.open_segment()
        content = io.BytesIO()
        position = 0
        while part := file.read_at(7777, position):
            content.write(part)
            position += len(part)
        assert digest(content.getvalue()) == line["log"]
        for name, suffix in names.items():
            data = source.side_file(suffix)
            assert (data if data is None else digest(data)) == line[name], (line["id"], name)


def digest(data: bytes) -> dict[str, Any]:
    """Size and SHA-256."""
    return {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def test_the_small_set_has_each_cluster() -> None:
    assert {each.name for each in clusters()} >= {
        "aiven-both", "aiven-encrypted", "aiven-heuristic", "aiven-plain", "aiven-prefix", "aiven-zstd",
        "local", "three",
    }  # fmt: skip
    assert json.loads((clusters()[0] / "config.json").read_text())


@ONE_CASE
def test_the_model_of_a_log(case: TieredCase) -> None:
    """Offsets, epochs and ids as the leader has them; all of it is intact, and pickles."""
    about = case.partition
    logs = kc.LogDir(case.folder, **grouped(**case.known))
    partition = logs[about["topic"], about["partition"]]
    assert (partition.start_offset, partition.end_offset) == (about["logStartOffset"], about["logEndOffset"])
    assert partition.topic_id == about["topicId"]
    report = partition.verify()
    assert (report.is_intact, report.missing) == (True, ())
    assert not [each for each in report.findings if each.file.endswith("index")]
    secrets = [path.read_text().splitlines()[3] for path in (case.keys or {}).values()]
    shown = (
        repr(logs) + repr(partition) + repr(partition.segments) + repr(kc.LogDir(case.folder, **grouped(**case.known)))
    )
    assert not any(secret in shown for secret in secrets)
    again = pickle.loads(pickle.dumps(logs))  # noqa: S301 - our own
    assert_same(scan_rows(again), case.expected(), case.folder)
