"""kafkacomp and Python's other libraries on the flights rows: `python -m kafkacomp.bench --compare`.

Batches of one record and of 16 KB; Kafka's default levels, and gzip 9, which the Python clients write with. Java and
Rust have comparisons of their own: compare_java.py, compare_build.py, kafka-protocol/.

Then, in the same run, the scan to Arrow of the same records in turn with its limit: the checksum of each batch, the
codec's own library, and a copy of what comes out, because the default `binary` copies key and value
(`rust/kafkacomp-arrow/benches/limits.rs`). The share is the limit's median time by the scan's.

Run: python benches/compare_peers.py [--batches 16k 1] [--rounds 5] [--compare aiokafka,cramjam,…]
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import compare_limits
import make_segments
from java_baseline import Program
from turns import in_turn

from kafkacomp import record
from kafkacomp._codecs.levels import parse_codecs
from kafkacomp.bench import main as bench
from kafkacomp.bench.batches import build
from kafkacomp.bench.peers import ours

if TYPE_CHECKING:
    from kafkacomp._codecs.levels import Codec

RESULTS = Path(__file__).resolve().parent / "results"
# How much of the segment is read: enough for the larger sizes, not too much for batches of one record.
LIMITS = {"1": "4m", "16k": "16m", "1m": "16m"}
PEERS = "zlib,isal,lz4,cramjam,zstandard,aiokafka"
CODECS = "none,gzip:-1,9,snappy,lz4,zstd"
LIMIT, SCAN = "limit", "scan"


def main() -> None:
    """Measures what the arguments ask for and writes benches/results/compare-peers.json."""
    parser = argparse.ArgumentParser(description="kafkacomp against Python's other libraries")
    parser.add_argument("--batches", nargs="+", choices=LIMITS, default=["16k", "1"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--compare", default=PEERS)
    arguments = parser.parse_args()
    program = compare_limits.build()
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
            reports[batch]["limits"] = [
                limit(program, recompressed(segment, LIMITS[batch], codec, Path(folder)), codec, arguments.rounds)
                for codec in parse_codecs(CODECS)
            ]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "compare-peers.json").write_text(lines(reports))


def recompressed(segment: Path, limit: str, codec: Codec, folder: Path) -> Path:
    """A segment of the batches that `bench` reads, with the codec."""
    with segment.open("rb") as file:
        data = file.read(int(limit.removesuffix("m")) << 20)
    path = folder / f"{codec.type}.log"
    with path.open("wb") as out:
        for batch in record.read_batches(data):
            rows = [(each.timestamp, each.key, each.value, each.headers) for each in batch]
            out.write(build(rows, codec, batch.base_offset))
    return path


def limit(program: str, path: Path, codec: Codec, rounds: int) -> dict[str, Any]:
    """The median seconds of a scan to Arrow and of its limit, and the limit's by the scan's."""
    data = path.read_bytes()

    def scan() -> float:
        start = time.perf_counter()
        ours.scan(data, 1)
        return time.perf_counter() - start

    with Program(program, "--scanner", "limit_copy", "0", str(path)) as least:
        sides = {LIMIT: (least.one_pass, least.cpu_seconds), SCAN: (scan, time.process_time)}
        passes, _ = in_turn(sides, rounds)
    seconds = {name: statistics.median(taken) for name, taken in passes.items()}
    share = seconds[LIMIT] / seconds[SCAN]
    print(f"{codec}: {share:.2f} of the checksum, the codec and a copy", flush=True)
    return {"compression_type": str(codec.type), "level": codec.level, "seconds": seconds, "share": share}


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
