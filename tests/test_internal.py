"""Internal topics as tables: records as Kafka's converters print them, states as the live brokers answered."""

from __future__ import annotations

import base64
import datetime as dt
import json
import struct
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from internal_topics import EXCEPTION, INTERNAL, STATES, answers, folders, lines, log_dir
from kafkacomp.internal._read import TABLES

if TYPE_CHECKING:
    from pathlib import Path

TOPICS = ("__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata")
READERS: dict[str, Any] = {TABLES[name][0]: getattr(kc.internal, name) for name in reversed(TABLES)}


def rows(table: Any, source: object, **options: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table(source, **options).read_all().to_pylist()
    return found


def ms(moment: dt.datetime | None) -> int | None:
    return None if moment is None else round(moment.timestamp() * 1000)


def as_line(row: dict[str, Any]) -> dict[str, Any]:
    """The row of a record in the form of the vectors, without what the table does not have."""
    line: dict[str, Any] = {"offset": row["recordOffset"], "timestamp": ms(row["recordTimestamp"])}
    if row["batchProducerId"] is not None:
        line |= {"producerId": row["batchProducerId"], "producerEpoch": row["batchProducerEpoch"]}
        line["transactional"] = row["isTransactional"]
    if row["reason"] is not None:
        bytes_of = {f"{name}Hex": row[f"{name}Bytes"] for name in ("key", "value")}
        return line | {"error": row["reason"]} | {name: each and each.hex() for name, each in bytes_of.items()}
    line["control" if row["isControl"] else "type"] = row["type"]
    if row["key"] is not None:
        line["key"] = json.loads(row["key"])
    return line | {
        "valueVersion": row["valueVersion"],
        "value": None if row["value"] is None else json.loads(row["value"]),
    }


@pytest.mark.parametrize("state", STATES)
def test_the_log_has_every_record_as_kafka_prints_it(state: str) -> None:
    compared = 0
    for topic in TOPICS:
        table = READERS[topic]
        more = {"show_secrets": True} if topic == "__cluster_metadata" else {}
        for folder in folders(state, topic):
            ours = [as_line(row) for row in rows(table, folder, view="log", **more)]
            expected = lines(state, folder)
            dropped = {"keyType", "apiKey", "controlType", "controlKeyVersion", "consumerProtocol"}
            kafka = [{name: each[name] for name in each if name not in dropped} for each in expected]
            for each in kafka:
                if "error" in each:
                    each["error"] = each["error"].replace(EXCEPTION, "")
            assert ours == kafka, folder
            compared += len(ours)
    assert compared > 0


@pytest.mark.parametrize("state", STATES)
def test_committed_offsets_are_those_of_the_live_broker(state: str) -> None:
    ours: dict[tuple[str, str, int], Any] = {}
    for row in rows(kc.internal.consumer_offsets, log_dir(state)):
        assert row["status"] in {"committed", "pending"}
        if row["status"] == "committed":
            place = (row["groupId"], row["topic"], row["partition"])
            assert place not in ours
            ours[place] = (row["committedOffset"], row["leaderEpoch"], row["metadata"])
    listed = answers(state)["groups"]
    broker = {
        (group, topic, int(partition)): (each["offset"], each["leaderEpoch"], each["metadata"])
        for group, answer in listed.items()
        for topic, partitions in (answer.get("offsets") or {}).items()
        for partition, each in partitions.items()
    }
    # A deleted group may have offsets until their tombstones are written: the broker is not asked for them.
    assert {place: found for place, found in ours.items() if place[0] in listed} == broker


@pytest.mark.parametrize("state", STATES)
def test_groups_are_those_of_the_live_broker(state: str) -> None:
    ours = {row["groupId"]: row for row in rows(kc.internal.groups, log_dir(state))}
    broker = answers(state)["groups"]
    assert list(ours) == sorted(broker, key=lambda name: name.encode())
    for name, answer in broker.items():
        row = ours[name]
        assert row["status"] == "known"
        in_memory = answer.get("state") in {"PreparingRebalance", "CompletingRebalance"}
        shown = {"type": row["type"], "state": row["state"], "protocolType": row["protocolType"]}
        expected = {each: answer.get(each) for each in shown}
        if in_memory:
            expected["state"] = "Stable"
        assert {each: shown[each] for each in shown if expected[each] is not None} == {
            each: value for each, value in expected.items() if value is not None
        }, name
        members = (answer.get("description") or {}).get("members")
        if members is not None:
            assert sorted(row["members"]) == sorted(each["memberId"] for each in members), name


@pytest.mark.parametrize("state", STATES)
def test_transactions_are_those_of_the_live_broker(state: str) -> None:
    broker = answers(state).get("transactions") or {}
    if not broker:
        return
    ours = {row["transactionalId"]: row for row in rows(kc.internal.transactions, log_dir(state))}
    assert ours.keys() == broker.keys()
    for name, answer in broker.items():
        row, described = ours[name], answer.get("description") or answer
        assert (row["state"], row["producerId"]) == (answer["state"], answer["producerId"])
        if "topicPartitions" in described:
            assert sorted(row["partitions"]) == sorted(described["topicPartitions"])
        assert ms(row["startTimestamp"]) == described.get("transactionStartTimeMs", ms(row["startTimestamp"]))


def _with_image() -> list[str]:
    return [state for state in STATES if (INTERNAL / state / "expect" / "metadata-image.json").is_file()]


@pytest.mark.parametrize("state", _with_image())
def test_cluster_metadata_is_the_image_of_kafka(state: str) -> None:
    image = json.loads((INTERNAL / state / "expect" / "metadata-image.json").read_text("utf-8"))
    source = log_dir(state)
    table = kc.internal.cluster_metadata
    assert {row["topic"]: row["topicId"] for row in rows(table, source)} == {
        name: topic["topicId"] for name, topic in image["topics"].items()
    }
    ours: dict[str, list[Any]] = {name: [] for name in image["topics"]}
    for row in rows(table, source, view="partitions"):
        ours[row["topic"]].append({name: row[name] for name in row if name not in {"topic", "topicId"}})
    assert ours == {name: topic["partitions"] for name, topic in image["topics"].items()}
    brokers = {
        str(row["brokerId"]): {
            "rack": row["rack"], "fenced": row["isFenced"], "inControlledShutdown": row["inControlledShutdown"],
            "epoch": row["epoch"], "incarnationId": row["incarnationId"],
        }
        for row in rows(table, source, view="brokers")
    }  # fmt: skip
    assert brokers == image["brokers"]
    assert {row["name"]: row["level"] for row in rows(table, source, view="features")} == image["features"]
    configs: dict[str, dict[str, str]] = {}
    for row in rows(table, source, view="configs"):
        configs.setdefault(f"{row['resourceType']}:{row['resourceName']}", {})[row["name"]] = row["value"]
    assert configs == image["configs"]
    assert len(rows(table, source, view="acls")) == len(image["acls"])


@pytest.mark.parametrize("state", _with_image())
def test_a_clean_stop_is_said(state: str, caplog: pytest.LogCaptureFixture) -> None:
    brokers = rows(kc.internal.cluster_metadata, log_dir(state), view="brokers")
    said = "all brokers are fenced" in caplog.text
    assert said == all(row["isFenced"] for row in brokers) == (not state.endswith("killed"))


@pytest.mark.parametrize("state", _with_image())
def test_secrets_are_hidden(state: str) -> None:
    source = log_dir(state)
    users = rows(kc.internal.cluster_metadata, source, view="users")
    tokens = rows(kc.internal.cluster_metadata, source, view="delegation_tokens")
    shown = rows(kc.internal.cluster_metadata, source, view="users", show_secrets=True)
    assert all(row["salt"] is row["storedKey"] is row["serverKey"] is None for row in users)
    assert all(row["salt"] and row["storedKey"] and row["serverKey"] for row in shown)
    assert all(row["tokenId"] == "(redacted)" for row in tokens)
    secrets = {json.dumps(each)[1:-1] for row in shown for each in _base64(row)}
    log = json.dumps(rows(kc.internal.cluster_metadata, source, view="log"), default=str)
    assert not [each for each in secrets if each in log]


def _base64(row: dict[str, Any]) -> list[str]:
    return [base64.b64encode(row[name]).decode() for name in ("salt", "storedKey", "serverKey")]


def test_every_prefix_of_a_whole_log_gives_the_state_of_that_time() -> None:
    """As of an offset, the state of a log without gaps is that of its first records."""
    whole = [each for each in STATES if each.endswith("clean")]
    for state, folder in ((each, folder) for each in whole for folder in folders(each, "__consumer_offsets")):
        records = lines(state, folder)
        if [each["offset"] for each in records] != list(range(len(records))):
            continue
        for end in range(0, len(records), 7):
            expected: dict[tuple[str, str, int], int] = {}
            for each in records[:end]:
                if each.get("type") == "OffsetCommit" and not each.get("transactional"):
                    place = (each["key"]["group"], each["key"]["topic"], each["key"]["partition"])
                    if each["value"] is None:
                        expected.pop(place, None)
                    else:
                        expected[place] = each["value"]["offset"]
            transactional = {
                (each["key"]["group"], each["key"]["topic"], each["key"]["partition"])
                for each in records
                if each.get("type") == "OffsetCommit" and each.get("transactional")
            }
            ours = {
                (row["groupId"], row["topic"], row["partition"]): row["committedOffset"]
                for row in rows(kc.internal.consumer_offsets, folder, as_of_offset=end)
                if row["status"] == "committed"
            }
            same = ours.keys() - transactional
            assert {place: ours[place] for place in same} == {
                place: found for place, found in expected.items() if place not in transactional
            }


def _commit(group: str, offset: int, *, at: int) -> dict[str, Any]:
    name = group.encode()
    key = b"\0\1" + struct.pack(">h", len(name)) + name + b"\0\1t\0\0\0\0"
    value = b"\0\3" + struct.pack(">qihq", offset, -1, 0, at)
    return {"key": key, "value": value, "timestamp": at}


@pytest.fixture(name="compacted")
def _compacted(tmp_path: Path) -> Path:
    """A log of which compaction has removed offsets 1 and 4."""
    found = [
        _commit("a", 1, at=1000) | {"offset": 0},
        _commit("b", 2, at=2000) | {"offset": 2},
        _commit("c", 3, at=3000) | {"offset": 3},
        _commit("d", 5, at=5000) | {"offset": 5},
    ]
    target = tmp_path / "compacted"
    kc.write(pa.Table.from_pylist(found), target, topic="__consumer_offsets", partition=0, allow_missing=True)
    return target


def test_what_compaction_has_removed_is_unknown(compacted: Path, caplog: pytest.LogCaptureFixture) -> None:
    def state(**options: Any) -> dict[str, Any]:
        found = rows(kc.internal.consumer_offsets, compacted, **options)
        return {row["groupId"]: row["committedOffset"] if row["status"] == "committed" else "unknown" for row in found}

    assert state() == {"a": 1, "b": 2, "c": 3, "d": 5}
    assert state(as_of_offset=1) == {"a": 1}, "nothing is missing before offset 1"
    assert state(as_of=999) == {}
    caplog.clear()
    assert state(as_of=2000) == {"a": 1, "b": 2, "c": "unknown", "d": "unknown"}
    assert "complete only as of 5000 ms or later" in caplog.text
    assert state(as_of=dt.datetime(1970, 1, 1, 0, 0, 5, tzinfo=dt.UTC)) == {"a": 1, "b": 2, "c": 3, "d": 5}
    unknown = [row for row in rows(kc.internal.consumer_offsets, compacted, as_of=3500) if row["status"] == "unknown"]
    assert [(row["groupId"], ms(row["completeFrom"])) for row in unknown] == [("d", 5000)]


def test_wrong_arguments_are_refused(compacted: Path) -> None:
    with pytest.raises(ValueError, match="view"):
        kc.internal.groups(compacted, view="topics")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="give one"):
        kc.internal.groups(compacted, as_of=1, as_of_offset=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'bogus'"):
        kc.internal.groups(compacted, bogus=1)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="__transaction_state"):
        kc.internal.transactions(compacted)


def test_a_metadata_log_without_its_snapshot_is_no_state(tmp_path: Path) -> None:
    target = tmp_path / "log"
    rows_of_log = pa.Table.from_pylist([{"value": b"\1\2\0\0", "offset": 7, "timestamp": 1}])
    kc.write(rows_of_log, target, topic="__cluster_metadata", partition=0)
    with pytest.raises(FileNotFoundError, match="begins at offset 7"):
        kc.internal.cluster_metadata(target).read_all()


def test_a_table_is_an_arrow_stream(compacted: Path) -> None:
    reader = kc.internal.consumer_offsets(compacted)
    table = pa.table(reader)
    assert table.num_rows == 4 == reader.num_rows
    assert table.schema.field("commitTimestamp").type == pa.timestamp("ms", "UTC")
    assert kc.internal.groups(compacted).to_polars().height == 4
