"""The vectors of internal topics: the folders of brokers, and what Kafka says of them."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent
#: The full sets next to the tree if they exist, otherwise the part in the tree.
VECTORS = (
    Path(os.environ.get("KAFKACOMP_VECTORS", TESTS.parent.parent / "shared" / "vectors")),
    TESTS / "vectors",
)

INTERNAL = next(each / "internal" for each in VECTORS if (each / "internal").is_dir())
#: The brokers and states of which there are log directories.
STATES = sorted(path.parent.relative_to(INTERNAL).as_posix() for path in INTERNAL.rglob("state.json"))
#: A state of the newest broker of which all vectors have the folders.
LATEST = max(state for state in STATES if state.startswith("kafka-4.3.1"))
#: The name of the class in front of Kafka's messages about unknown records.
EXCEPTION = "org.apache.kafka.coordinator.common.runtime.Deserializer$UnknownRecordTypeException: "


def log_dir(state: str) -> Path:
    """The log directory of a broker."""
    return INTERNAL / state / "data"


def answers(state: str) -> dict[str, Any]:
    """What the live broker answered just before it stopped."""
    found: dict[str, Any] = json.loads((INTERNAL / state / "state.json").read_text("utf-8"))
    return found


def folders(state: str, topic: str) -> list[Path]:
    """The folders of a topic's partitions."""
    return sorted(each for each in log_dir(state).iterdir() if each.name.rpartition("-")[0] == topic)


def lines(state: str, folder: Path) -> list[dict[str, Any]]:
    """The records of a partition's segments as Kafka's own converters print them, in their order."""
    found = []
    for segment in sorted(folder.glob("*.log")):
        expected = INTERNAL / state / "expect" / folder.name / f"{segment.name}.jsonl.gz"
        with gzip.open(expected, "rt", encoding="utf-8") as file:
            found += [json.loads(line) for line in file]
    return found
