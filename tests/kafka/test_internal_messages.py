"""Random messages that Kafka's classes wrote are decoded by kafkacomp-schemas as Kafka's JSON converters print them."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from livekafka import messages

ROOT = Path(__file__).resolve().parents[2]
#: Of each schema and version.
COUNT = 200


@pytest.mark.slow
def test_messages_of_kafkas_classes(tmp_path: Path) -> None:
    seed = int(os.environ.get("KAFKACOMP_SEED") or random.randrange(2**32))
    file = tmp_path / "messages.tsv.gz"
    assert messages.write(seed, COUNT, file) > 100 * COUNT
    command = [os.environ.get("CARGO", "cargo"), "test", "--release", "--locked", "-p", "kafkacomp-schemas"]
    done = subprocess.run(
        [*command, "--test", "written_by_kafka"],
        cwd=ROOT,
        env={**os.environ, "KAFKACOMP_MESSAGES": str(file)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"KAFKACOMP_SEED={seed}\n" + done.stdout[-4000:] + done.stderr[-4000:]
