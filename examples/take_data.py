"""Takes the demo's data from the full vector sets: python examples/take_data.py PATH_OF_FULL_SETS.

The sets (their making is told in tests/vectors/MANIFEST.md) hold segments that real brokers wrote, and beside each
what Kafka's own code read from it. This copies some small segments into ``data/<broker>/<topic>-<partition>/`` and
writes ``data/expected.json``: per topic the number of records, the bytes of their values, and a SHA-256 over all of
their offsets, times, keys and values. kafkacomp has no part in it.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent / "data"

# Broker -> topics; segments, wherever they stand in the legacy set.
LEGACY = {
    "kafka-0.8.2.2": ("broker-0.8.2.2", ["sp-none", "sp-gzip", "sp-snappy", "cmp-lz4"]),
    "kafka-0.9.0.1": ("broker-0.9.0.1", ["sp-none", "sp-gzip", "sp-snappy", "cmp-lz4"]),
    "kafka-0.10.0.1": ("broker-0.10.0.1", ["lat-none", "f09-gzip", "v0p-snappy", "ct-lz4"]),
    "kafka-0.11.0.3": ("broker-0.11.0.3", ["ct01103-snappy", "lat01103-gzip", "hdr01103-none", "txn01103-lz4"]),
    "kafka-0.9-to-1.1": ("upgrade/4-after-1.1.1", ["up-lz4"]),
    "kafka-2.8.2": ("broker-2.8.2", ["tz-zstd"]),
}
MODERN = {
    "kafka-4.3.1": [
        "java-not-idempotent",
        "librdkafka-gzip",
        "logappendtime-none",
        "one-byte-values",
        "sarama-lz4",
        "sarama-zstd",
        "txn-open",
    ]
}
#: Broker -> its compacted topics, with the first offset that was not cleaned: that of the active segment. The sets have
#: no checkpoints, without which a gap that compaction left looks like a loss.
CLEANED = {"kafka-0.8.2.2": {"cmp-lz4": 125}, "kafka-0.9.0.1": {"cmp-lz4": 125}}
SIDE_FILES = {".log", ".index", ".timeindex", ".txnindex"}


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The objects of a .jsonl or .jsonl.gz file."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def summary(records: list[dict[str, Any]]) -> dict[str, Any]:
    """What the demo compares: the same sums and the same digest that its SQL makes."""
    digest = hashlib.sha256()
    values = 0
    for number, record in enumerate(sorted(records, key=lambda each: each["offset"])):
        key, value = (None if record[name] is None else base64.b64decode(record[name]) for name in ("key", "value"))
        values += len(value or b"")
        texts = ("null" if each is None else each.hex() for each in (key, value))
        line = " ".join((str(record["offset"]), str(record["timestamp"]), *texts))
        digest.update(("\n" if number else "").encode() + line.encode())
    return {"records": len(records), "value_bytes": values, "sha256": digest.hexdigest()}


def legacy(root: Path, broker: str, folder: str, topic: str) -> dict[str, Any]:
    """Copy a topic of the legacy set; its expectation without the control records, which no consumer sees."""
    target = DATA / broker / f"{topic}-0"
    target.mkdir(parents=True)
    records = []
    for source in sorted((root / folder).glob(f"{topic}.*log")):
        matched = re.fullmatch(rf"{re.escape(topic)}\.(?:(\d{{20}})\.)?log", source.name)
        if matched is None:
            continue
        shutil.copyfile(source, target / f"{matched[1] or '0' * 20}.log")
        stem = source.name.removesuffix(".log")
        control = {
            each["position"] for each in lines_of(source.with_name(f"{stem}.batches.jsonl")) if each.get("control")
        }
        found = lines_of(source.with_name(f"{stem}.expected.jsonl.gz"))
        records += [each for each in found if each["position"] not in control]
    return summary(records)


def modern(root: Path, broker: str, case: str) -> dict[str, Any]:
    """Copy a case of the modern set; its expectations come from a real KafkaConsumer."""
    source = root / case / f"{case}-0"
    target = DATA / broker / source.name
    target.mkdir(parents=True)
    for path in sorted(source.iterdir()):
        if path.suffix in SIDE_FILES:
            shutil.copyfile(path, target / path.name)
    expected = source.with_name(source.name + ".expect")
    found = summary(lines_of(expected / "expected.jsonl.gz"))
    committed = expected / "expected_read_committed.jsonl.gz"
    if committed.exists():
        found["read_committed"] = summary(lines_of(committed))
    return found


def main() -> None:
    """Take everything anew."""
    full = Path(sys.argv[1])
    for broker in [*LEGACY, *MODERN]:
        shutil.rmtree(DATA / broker, ignore_errors=True)
    expected: dict[str, dict[str, Any]] = {}
    for broker, (folder, topics) in LEGACY.items():
        expected[broker] = {topic: legacy(full / "legacy", broker, folder, topic) for topic in topics}
    for broker, topics_cleaned in CLEANED.items():
        lines = ["0", str(len(topics_cleaned)), *(f"{topic} 0 {offset}" for topic, offset in topics_cleaned.items())]
        (DATA / broker / "cleaner-offset-checkpoint").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for broker, cases in MODERN.items():
        expected[broker] = {case: modern(full / "modern", broker, case) for case in cases}
    (DATA / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
