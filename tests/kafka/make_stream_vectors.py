"""Write the vectors of rust/kafkacomp-records/tests/codec_streams.rs: damaged data, and what Kafka makes of them.

Run from anywhere: python tests/kafka/make_stream_vectors.py
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "kafka")]

import kafkacomp as kc  # noqa: E402 (the path comes first)
from codec_peers import damaged  # noqa: E402
from livekafka import streams  # noqa: E402

FOLDER = TESTS.parent / "rust" / "kafkacomp-records" / "tests" / "kafka_streams"
COUNT = 240
# The streams of gzip and zstd are read in pieces of 16 KiB, that of snappy in pieces of 2 KiB: some beyond both.
SIZES = (0, 100, 2100, 5000, 5000, 36_000)


def main() -> None:
    """Make the cases, have Kafka answer, keep both."""
    rng = random.Random(2026)
    cases: list[streams.Case] = []
    while len(cases) < COUNT:
        codec, data = damaged(rng, SIZES)
        magic = rng.choice((0, 2)) if codec == "lz4" else 2
        cases.append(streams.Case(kc.CompressionType.for_name(codec), magic, data))
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        streams.decompress(cases, Path(made))
        for name in ("cases.bin", "outcomes.txt"):
            shutil.copy(Path(made) / name, FOLDER / name)


if __name__ == "__main__":
    main()
