"""The Java tools of tests/kafka/tools, called from Python."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from livekafka import maven

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PROJECT = Path(__file__).resolve().parent.parent / "tools"
JAVA_OPTIONS = (
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)
TOOL_TIMEOUT = 300.0

Header = tuple[str, bytes | None]
Batch = dict[str, Any]  # as Dump.java writes it, keys and values decoded


class ToolError(RuntimeError):
    """A tool failed; the message ends with what it printed."""


class ConsumedRecord(NamedTuple):
    """A record as KafkaConsumer gave it; timestamp types are Kafka's ids."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int
    leader_epoch: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]


class Tools:
    """Kafka's own clients; plans and results go through files in `folder`."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self._bootstrap = bootstrap
        self._folder = folder
        self._class_path = maven.class_path(PROJECT, "package")
        self._runs = 0

    def create_topics(self, topics: Iterable[Mapping[str, Any]]) -> None:
        """Creates topics given as {topic, partitions, configs}."""
        self._run("create-topic", {"bootstrap": self._bootstrap, "plan": self._plan(topics)})

    def produce(self, plan: Iterable[Mapping[str, Any]]) -> None:
        """Runs a plan of records and steps through KafkaProducer; Produce.java lists the steps."""
        self._run("produce", {"bootstrap": self._bootstrap, "plan": self._plan(plan)})

    def consume(self, topics: Iterable[str], isolation_level: str) -> list[ConsumedRecord]:
        """All records of the topics, as KafkaConsumer delivers them."""
        out = self._path("consumed")
        topic_names = ",".join(topics)
        self._run(
            "consume",
            {"bootstrap": self._bootstrap, "topics": topic_names, "isolation": isolation_level, "out": str(out)},
        )
        return [_consumed(json.loads(line)) for line in out.read_text().splitlines()]

    def describe_producers(self, topics: Iterable[str]) -> list[dict[str, Any]]:
        """What the broker knows of the producers of each topic's partition 0; -1 is no open transaction."""
        out = self._path("producers")
        names = ",".join(topics)
        self._run("describe-producers", {"bootstrap": self._bootstrap, "topics": names, "out": str(out)})
        return [json.loads(line) for line in out.read_text().splitlines()]

    def dump(self, segments: Iterable[Path]) -> dict[Path, list[Batch]]:
        """The batches of each segment with their records, as Kafka's FileRecords reads them."""
        out = self._path("dump")
        read: dict[Path, list[Batch]] = {segment: [] for segment in segments}
        self._run("dump", {"segments": ",".join(map(str, read)), "out": str(out)})
        for line in out.read_text().splitlines():
            batch = json.loads(line)
            for record in batch["records"]:
                record["key"], record["value"] = _bytes(record["key"]), _bytes(record["value"])
                record["headers"] = _headers(record["headers"])
            read[Path(batch.pop("segment"))].append(batch)
        return read

    def _plan(self, steps: Iterable[Mapping[str, Any]]) -> str:
        path = self._path("plan")
        with path.open("w") as plan:
            plan.writelines(json.dumps(_encoded(step)) + "\n" for step in steps)
        return str(path)

    def _path(self, kind: str) -> Path:
        self._runs += 1
        return self._folder / f"{self._runs:03}-{kind}.jsonl"

    def _run(self, tool: str, options: Mapping[str, str]) -> None:
        arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
        try:
            done = subprocess.run(
                ["java", *JAVA_OPTIONS, "-cp", self._class_path, "kafkacomp.tools.Main", tool, *arguments],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=TOOL_TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            printed = (error.stdout or b"").decode(errors="replace")
            raise ToolError(f"{tool} took more than {TOOL_TIMEOUT:.0f} s:\n{printed[-4000:]}") from None
        if done.returncode != 0:
            raise ToolError(f"{tool} failed:\n{done.stdout[-4000:]}")


def _encoded(step: Mapping[str, Any]) -> dict[str, Any]:
    """A step with its bytes in base64, two levels of headers down."""
    encoded = dict(step)
    for name in ("key", "value"):
        if name in encoded:
            encoded[name] = _base64(encoded[name])
    if "headers" in encoded:
        encoded["headers"] = [(name, _base64(value)) for name, value in encoded["headers"]]
    return encoded


def _base64(value: bytes | None) -> str | None:
    return None if value is None else base64.b64encode(value).decode()


def _bytes(value: str | None) -> bytes | None:
    return None if value is None else base64.b64decode(value)


def _headers(headers: list[list[Any]]) -> tuple[Header, ...]:
    return tuple((name, _bytes(value)) for name, value in headers)


def _consumed(line: dict[str, Any]) -> ConsumedRecord:
    return ConsumedRecord(
        topic=line["topic"],
        partition=line["partition"],
        offset=line["offset"],
        timestamp=line["timestamp"],
        timestamp_type=line["timestampType"],
        leader_epoch=line["leaderEpoch"],
        key=_bytes(line["key"]),
        value=_bytes(line["value"]),
        headers=_headers(line["headers"]),
    )
