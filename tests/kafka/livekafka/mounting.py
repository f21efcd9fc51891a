"""Putting partition folders that a broker did not write in the place of those that it did.

A stopped broker finds again what its folder holds if the topic's id in partition.metadata is its own. After a clean
stop, with the recovery point at the log's end, it trusts indexes and producer snapshots; with neither it reads the log
and makes them anew.
"""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

from livekafka import maven

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from livekafka.broker import Broker

CLEAN = ".kafka_cleanshutdown"
DUMP_TIMEOUT = 60.0


def mount(broker: Broker, topic: str, write: Callable[[Path], object]) -> Path:
    """Replaces partition 0 of a topic by the folder that `write` makes; the broker must not run."""
    folder = broker.partition_folder(topic)
    metadata = (folder / "partition.metadata").read_bytes()
    shutil.rmtree(folder)
    write(folder)
    (folder / "partition.metadata").write_bytes(metadata)
    return folder


def trust(broker: Broker, ends: dict[str, int]) -> None:
    """Makes the next start of the broker one after a clean stop, with these logs flushed to their ends."""
    checkpoint = broker.log_dir / "recovery-point-offset-checkpoint"
    version, _, *lines = checkpoint.read_text().splitlines()
    others = [line for line in lines if line.split()[0] not in ends]
    kept = [*others, *(f"{topic} 0 {end}" for topic, end in ends.items())]
    checkpoint.write_text("\n".join([version, str(len(kept)), *kept]) + "\n")
    assert (broker.log_dir / CLEAN).exists()


def distrust(broker: Broker, topics: list[str]) -> None:
    """Makes the next start of the broker one after a crash, with nothing of these logs known to be on the disk."""
    trust(broker, dict.fromkeys(topics, 0))
    (broker.log_dir / CLEAN).unlink()


def dump_log(project: Path, files: list[Path], *options: str) -> list[str]:
    """The lines that kafka-dump-log prints."""
    class_path = maven.class_path(project, "process-resources")
    names = ",".join(map(str, files))
    command = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", class_path]
    command += ["org.apache.kafka.tools.DumpLogSegments", "--files", names, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DUMP_TIMEOUT, check=True)
    return done.stdout.splitlines()
