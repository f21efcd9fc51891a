"""kafkacomp and Python's other libraries on the flights rows: `python -m kafkacomp.bench --compare`.

Batches of one record and of 16 KB; Kafka's default levels, and gzip 9, which the Python clients write with. Java and
Rust have comparisons of their own: compare_java.py, compare_build.py, kafka-protocol/.

Run: python benches/compare_peers.py [--batches 16k 1] [--rounds 5] [--compare aiokafka,cramjam,…]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import make_segments

from kafkacomp.bench import main as bench

RESULTS = Path(__file__).resolve().parent / "results"
# How much of the segment is read: enough for the larger sizes, not too much for batches of one record.
LIMITS = {"1": "4m", "16k": "16m", "1m": "16m"}
PEERS = "zlib,isal,lz4,cramjam,zstandard,aiokafka"
CODECS = "none,gzip:-1,9,snappy,lz4,zstd"


def main() -> None:
    """Measures what the arguments ask for and writes benches/results/compare-peers.json."""
    parser = argparse.ArgumentParser(description="kafkacomp against Python's other libraries")
    parser.add_argument("--batches", nargs="+", choices=LIMITS, default=["16k", "1"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--compare", default=PEERS)
    arguments = parser.parse_args()
    reports = {}
    with tempfile.TemporaryDirectory() as folder:
        for batch in arguments.batches:
            segment = make_segments.make("none", batch).path
            out = Path(folder) / f"{batch}.json"
            options = ("--codecs", CODECS, "--limit", LIMITS[batch], "--rounds", str(arguments.rounds))
            status = bench([str(segment), *options, "--compare", arguments.compare, "--json", str(out)])
            if status:
                raise SystemExit(status)
            reports[batch] = json.loads(out.read_text().replace(str(make_segments.BUILD), "build/bench"))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "compare-peers.json").write_text(lines(reports))


def lines(reports: dict[str, dict[str, Any]]) -> str:
    """JSON with one result a line: a run has hundreds, and each has a dozen figures."""
    texts = []
    for batch, report in reports.items():
        head = json.dumps(report | {"results": []}, ensure_ascii=False)
        results = ",\n ".join(json.dumps(result) for result in report["results"])
        texts.append(f"{json.dumps(batch)}: " + head.replace('"results": []', f'"results": [\n {results}\n]', 1))
    return "{\n" + ",\n".join(texts) + "\n}\n"


if __name__ == "__main__":
    main()
