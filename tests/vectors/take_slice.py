"""Copies the small slice of the full vector sets that lives in this folder: python take_slice.py PATH_OF_FULL_SETS.

What is taken is written down here and nowhere else; MANIFEST.md says where the full sets come from.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

# One or two of each kind: every codec, every client's framing, compaction, transactions, live and damaged files.
MODERN = [
    "aiokafka-lz4",
    "cluster-metadata",
    "compact",
    "compact-txn",
    "compact-zstd",
    "consumer-offsets",
    "damaged-restarts-flipped-attributes",
    "damaged-restarts-flipped-body",
    "damaged-restarts-flipped-crc",
    "damaged-restarts-garbage-tail",
    "damaged-restarts-mid-batch",
    "damaged-restarts-zero-tail",
    "java-not-idempotent",
    "kafka-python-lz4",
    "kafkajs-snappy",
    "librdkafka-lz4",
    "logappendtime-recompressed",
    "one-byte-values",
    "prealloc-zstd-live",
    "restarts",
    "sarama-lz4",
    "share-group-state",
    "single-record-batches",
    "special-times",
    "topic-gzip-from-lz4",
    "txn-open",
]

LEGACY_PICKED = [
    "upgrade/4-after-1.1.1/up-lz4.log",
    "upgrade/4-after-1.1.1/up-none.log",
    "class/0.8.2.2/lz4-text-63k-bd4.lz4",
    "class/0.8.2.2/lz4-text-63k-flushed.lz4",
    "class/0.8.2.2/lz4-text-64k+1-noflush.lz4",
    "class/0.10.0.1/lz4-text-64k+1-bd4-brokenhc.lz4",
    "class/0.10.0.1/lz4-text-64k+1-bd4-righthc.lz4",
    "class/0.10.0.1/lz4-text-63k-bd4-bsum-righthc.lz4",
    "class/0.10.0.1/lz4-text-64k+1-bd7-righthc.lz4",
    "class/0.10.0.1/lz4-text-0-bd4-righthc.lz4",
    "class/0.10.0.1/lz4-text-1-bd4-bsum-righthc.lz4",
]
LEGACY_LIMIT = 14_500
FETCH_LIMIT = 5_000

# Kafka 0.7: every file that is small together with its expectation, and some whose kind has no small one.
V07_LIMIT = 2_900
V07_PICKED = [
    "broker/async_listed-0/00000000000000000000.kafka",
    "broker/gz-0/00000000000000000000.kafka",
    "broker/sync_unlisted-0/00000000000000000000.kafka",
    "broker/nested-0/00000000000000000000.kafka",
    "mirror/nested-0/00000000000000000000.kafka",
    "sets/magic1-snappy-one-block.msgset",
    "sets/nested-four-deep.msgset",
    "sets/nested-gzip-in-gzip.msgset",
    "sets/nested-gzip-in-snappy.msgset",
    "sets/nested-siblings.msgset",
    "sets/nested-snappy-in-gzip.msgset",
    "sets/partial-after-wrapper-header.msgset",
    "sets/payload-is-a-set.msgset",
    "sets/wrapper-around-magic0.msgset",
]

ORACLE_LIMITS = {
    "gen": (4_000, 420_000),
    "lz4": (9_000, 200_000),
    "validate": (1_200, 150_000),
    "analyze": (1_200, 60_000),
    "convert": (1_500, 100_000),
}

# A partition of each kind of cluster.
TIERED = {
    "aiven-both": "gold-a-both-txn",
    "aiven-encrypted": "gold-a-encrypted-none",
    "aiven-heuristic": "gold-a-heuristic-gzip",
    "aiven-plain": "gold-a-plain-txn",
    "aiven-prefix": "gold-a-prefix-zstd",
    "aiven-zstd": "gold-a-zstd-txn",
    "local": "gold-copy-failed",
    "three": "gold3-unclean-borders",
}

# Internal topics: a broker of each way of storing groups, and all versions of their records in `injected`.
INTERNAL = ["kafka-0.10.2.2/clean", "kafka-2.8.2/clean", "kafka-3.9.1/clean", "kafka-4.3.1/injected"]


def copy(source: Path, name: str) -> None:
    """Copies one file to a place below this folder."""
    target = HERE / name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def take_modern(full: Path) -> None:
    """Whole cases, and the lines of cases.json about them."""
    cases = json.loads((full / "cases.json").read_text(encoding="utf-8"))
    for name in MODERN:
        for path in sorted((full / name).rglob("*")):
            if path.is_file():
                copy(path, f"modern/{path.relative_to(full).as_posix()}")
    kept = [case for case in cases if case["name"] in MODERN]
    (HERE / "modern" / "cases.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def pick_legacy(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The smallest file of each kind, broker, set of magics and codec; of the fetch answers, cut ones too."""
    best: dict[Any, dict[str, Any]] = {}
    for line in sorted(lines, key=lambda line: (line["size"], line["file"])):
        if "messages" not in line or "same_as" in line or not line["messages"]:
            continue
        limit = FETCH_LIMIT if line["kind"].startswith("fetch") else LEGACY_LIMIT
        if line["size"] > limit and line["file"] not in LEGACY_PICKED:
            continue
        key = (line["kind"], line["broker"] if "broker" in line else line["client"], *line["magics"], *line["codecs"])
        if line["kind"].startswith("fetch"):
            key = (line["kind"], line["broker"], line["truncated_bytes"] > 0, *line["magics"])
        elif line.get("compacted"):
            key += ("compacted",)
        elif line["kind"] == "producer wire":
            key = (line["kind"], line["broker"])
        elif line["kind"] == "class records":
            key = (line["kind"], *line["magics"], *line["codecs"])
        best.setdefault(line["file"] if line["file"] in LEGACY_PICKED else key, line)
    return list(best.values())


def take_legacy(full: Path) -> None:
    """Some files with their expectations, and the lines of files.jsonl and lz4.jsonl about them."""
    lines = [json.loads(line) for line in (full / "files.jsonl").read_text(encoding="utf-8").splitlines()]
    picked = {line["file"]: line for line in pick_legacy(lines)}
    frames = [json.loads(line) for line in (full / "class" / "lz4.jsonl").read_text(encoding="utf-8").splitlines()]
    frames = [frame for frame in frames if frame["file"] in LEGACY_PICKED]
    for name in [*picked, *(frame["file"] for frame in frames)]:
        copy(full / name, f"legacy/{name}")
        stem = name.rpartition(".")[0]
        for extra in ("batches.jsonl", "expected.jsonl.gz"):
            if (full / f"{stem}.{extra}").is_file():
                copy(full / f"{stem}.{extra}", f"legacy/{stem}.{extra}")
    for name, kept in (("files.jsonl", picked.values()), ("class/lz4.jsonl", frames)):
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in kept)
        (HERE / "legacy" / name).write_text(text, encoding="utf-8")


def take_oracle(full: Path) -> None:
    """The first small cases of a folder, renumbered in place and size, with their own numbers kept."""
    for kind, (limit, budget) in ORACLE_LIMITS.items():
        data = (full / kind / "cases.bin").read_bytes()
        taken, lines = bytearray(), []
        with gzip.open(full / kind / "expected.jsonl.gz", "rt", encoding="utf-8") as cases:
            for text in cases:
                case = json.loads(text)
                if case["len"] <= limit and len(taken) + case["len"] <= budget:
                    piece = data[case["at"] : case["at"] + case["len"]]
                    lines.append(json.dumps({**case, "at": len(taken)}, separators=(",", ":")) + "\n")
                    taken += piece
        folder = HERE / "oracle" / kind
        folder.mkdir(parents=True)
        (folder / "cases.bin").write_bytes(taken)
        packed = gzip.compress("".join(lines).encode(), mtime=0)
        (folder / "expected.jsonl.gz").write_bytes(packed)


def take_v07(full: Path) -> None:
    """Files with what Kafka 0.7.2 said of them."""
    for data in sorted(path for path in full.rglob("*") if path.suffix in {".msgset", ".kafka"}):
        expected = data.with_name(f"{data.stem}.expected.jsonl.gz")
        name = data.relative_to(full).as_posix()
        if name in V07_PICKED or data.stat().st_size + expected.stat().st_size <= V07_LIMIT:
            copy(data, f"v07/{name}")
            copy(expected, f"v07/{expected.relative_to(full).as_posix()}")
    for name in ("consumer-commits.jsonl.gz", "producer-behaviour.jsonl"):
        copy(full / name, f"v07/{name}")


def take_tiered(full: Path) -> None:
    """A partition's objects, its leader's folder, the remote log metadata, the keys, and the expectations."""
    for cluster, topic in TIERED.items():
        root = full / cluster
        about = json.loads((root / "expect" / f"{topic}-0.expect" / "partition.json").read_text(encoding="utf-8"))
        leader = root / f"broker-{about['leader']}"
        brokers = [*root.glob("broker-*/__remote_log_metadata-*"), leader / f"{topic}-0"]
        folders = [root / "keys", root / "expect" / f"{topic}-0.expect", *brokers]
        files = [path for folder in folders for path in folder.rglob("*")]
        files += [path for path in (root / "storage").rglob("*") if f"{topic}-" in path.as_posix()]
        files += [
            *leader.glob("*-checkpoint"),
            root / "config.json",
            root / "expect" / "__remote_log_metadata.events.jsonl",
        ]
        for path in sorted({path for path in files if path.is_file() and not path.name.endswith(".batches.jsonl")}):
            copy(path, f"tiered/{path.relative_to(full).as_posix()}")


def take_internal(full: Path) -> None:
    """The internal topics of some brokers with their JSON lines and states, and the JSON lines for `tiered`."""
    for state in INTERNAL:
        root = full / state
        data = [path for path in root.glob("data/**/*") if path.suffix in {".log", ".checkpoint"}]
        data = [path for path in data if path.parent.name.startswith("__") or path.name == "bootstrap.checkpoint"]
        for path in sorted([root / "state.json", *data, *root.glob("expect/**/*.jsonl.gz")]):
            copy(path, f"internal/{path.relative_to(full).as_posix()}")
    for cluster in TIERED:
        for path in sorted((full / "remote-log-metadata" / cluster).rglob("*.jsonl.gz")):
            copy(path, f"internal/{path.relative_to(full).as_posix()}")


TAKEN = {
    "modern": take_modern,
    "legacy": take_legacy,
    "oracle": take_oracle,
    "v07": take_v07,
    "tiered": take_tiered,
    "internal": take_internal,
}


def main() -> None:
    """Replaces the folders and their checksums."""
    full = Path(sys.argv[1])
    for name, take in TAKEN.items():
        shutil.rmtree(HERE / name, ignore_errors=True)
        take(full / name)
    sums = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(HERE).as_posix()}\n"
        for name in sorted(TAKEN)
        for path in sorted((HERE / name).rglob("*"))
        if path.is_file()
    ]
    (HERE / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")


if __name__ == "__main__":
    main()
