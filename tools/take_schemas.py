"""Take Kafka's message schemas from its published jars: python tools/take_schemas.py FOLDER [--check].

FOLDER has the jars of ``JARS``, whose hashes are checked. The schemas of the records of internal topics go to
``rust/kafkacomp-schemas/schemas`` with their checksums; ``--check`` compares instead.
"""

from __future__ import annotations

import hashlib
import sys
import zipfile
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "rust" / "kafkacomp-schemas" / "schemas"
VERSION = "4.4.0"

CONTROL = (
    "ControlRecordTypeSchema",
    "EndTxnMarker",
    "KRaftVersionRecord",
    "LeaderChangeMessage",
    "SnapshotFooterRecord",
    "SnapshotHeaderRecord",
    "VotersRecord",
)
PROTOCOL = ("ConsumerProtocolAssignment", "ConsumerProtocolSubscription")
REMOTE = (
    "RemoteLogSegmentMetadataRecord",
    "RemoteLogSegmentMetadataSnapshotRecord",
    "RemoteLogSegmentMetadataUpdateRecord",
    "RemotePartitionDeleteMetadataRecord",
)

#: Artifact of org.apache.kafka: SHA-256, folder in the jar, and the schemas for each folder (none named: all).
JARS: dict[str, tuple[str, str, dict[str, tuple[str, ...]]]] = {
    "kafka-clients": (
        "1ab07317eb6633241392449d329dbdc5d9251e6ffc4926860f42dd966e88bdf9",
        "common/message/",
        {"control": CONTROL, "consumer-protocol": PROTOCOL},
    ),
    "kafka-group-coordinator": (
        "3fc830ace54f6a13f9f536bc0564bf39a68797365a4c4b194bd7db4fb893b2bc",
        "common/message/",
        {"group-coordinator": ()},
    ),
    "kafka-metadata": (
        "6c52de74ecd670332e1e1324f5d40311275ac49b22699b6722e5fb07dd266fcb",
        "common/metadata/",
        {"metadata": ()},
    ),
    "kafka-share-coordinator": (
        "6969a7961ca98d37a039bbe0af0fe761d6b0dd07ca9666802f47821167afbb6e",
        "common/message/",
        {"share-coordinator": ()},
    ),
    "kafka-storage": (
        "9eaa4dafacc251080ece0efa8511283da5de6931e843457f6af87f02f9b50039",
        "message/",
        {"remote-log-metadata": REMOTE},
    ),
    "kafka-transaction-coordinator": (
        "1d5324d59776d6b7f324cfdc87647b1e88f9823332201c0324e7ae9f210d915d",
        "common/message/",
        {"transaction-coordinator": ()},
    ),
}


def read(folder: Path) -> dict[str, bytes]:
    """Return the schemas by their names in the tree, and the jars' notice."""
    found: dict[str, bytes] = {}
    for artifact, (sha256, inside, folders) in JARS.items():
        path = folder / f"{artifact}-{VERSION}.jar"
        if hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
            raise SystemExit(f"{path}: not the published jar")
        with zipfile.ZipFile(path) as jar:
            for target, names in folders.items():
                chosen = names or sorted(
                    Path(name).stem for name in jar.namelist() if name.startswith(inside) and name.endswith(".json")
                )
                found |= {f"{target}/{name}.json": jar.read(f"{inside}{name}.json") for name in chosen}
            found["NOTICE"] = jar.read("META-INF/NOTICE" if "META-INF/NOTICE" in jar.namelist() else "NOTICE")
    sums = [f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(found.items())]
    return found | {"SHA256SUMS": "".join(sums).encode()}


def main(arguments: list[str]) -> int:
    """Write the schemas or compare them; the exit status."""
    found = read(Path(arguments[0]))
    if "--check" not in arguments:
        for name, content in found.items():
            (TARGET / name).parent.mkdir(parents=True, exist_ok=True)
            (TARGET / name).write_bytes(content)
    there = {path.relative_to(TARGET).as_posix(): path.read_bytes() for path in TARGET.rglob("*") if path.is_file()}
    faults = sorted(name for name in found.keys() | there.keys() if found.get(name) != there.get(name))
    for name in faults:
        print(f"{name}: not what the jars have")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
