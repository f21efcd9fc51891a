"""Message sets of Kafka 0.7 beside sets of magic 0 (0.8, 0.9): same payloads and codec, scanned in turn in one run.

Both hold the same flights in wrappers of as many messages, written by this package with the same encoders; both go
through `kc.scan` on one thread, all default columns, checksums verified, out of memory. Both must give the same
values. A ratio is the processor time of magic 0 by that of 0.7, the median of the rounds: above 1 the old format is
read faster. `content` is by byte of payload, so the plain ratio of times; `file` is by byte of what is stored, of which
0.7 has less a message (10 bytes beside 26), so that it must be read in less time to reach 1. The side that goes first
changes from round to round; plain messages have no wrappers and are measured once.

The rules of 0.7 want each message's checksum verified, also inside a wrapper; those of magic 0 only the wrapper's. That
pass is included here.

Run: python benches/compare_message_set.py [--codecs none gzip] [--messages 60 1000] [--rounds 21]
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from typing import Any

import flights
import make_segments
import pyarrow as pa
from compare_java import machine
from reports import save

import kafkacomp as kc
from kafkacomp import message_set
from kafkacomp.record import RecordBatchBuilder

CODECS = ("none", "gzip", "snappy")
MESSAGES = (60, 1_000)  # about 16 KB and 265 KB before compression


def old(payloads: list[bytes], codec: str, count: int) -> bytes:
    """A log of Kafka 0.7: a wrapper for so many messages, or plain messages."""
    starts = range(0, len(payloads), count)
    return b"".join(message_set.write_messages(payloads[at : at + count], codec) for at in starts)


def new(payloads: list[bytes], codec: str, count: int) -> bytes:
    """The same in magic 0 of later releases."""
    out = []
    for at in range(0, len(payloads), count):
        builder = RecordBatchBuilder(0, codec, base_offset=at)
        for payload in payloads[at : at + count]:
            builder.append(value=payload)
        out.append(builder.build())
    return b"".join(out)


def scan(data: bytes, family: str) -> pa.Table:
    """All default columns."""
    reader = kc.scan({("flights", 0): data}, options=kc.ScanOptions(threads=1, log_format=family))
    return pa.RecordBatchReader.from_stream(reader).read_all()


def seconds(data: bytes, family: str) -> float:
    """The processor time of one scan, drained."""
    start = time.process_time()
    reader = kc.scan({("flights", 0): data}, options=kc.ScanOptions(threads=1, log_format=family))
    for _ in pa.RecordBatchReader.from_stream(reader):
        pass
    return time.process_time() - start


def compare(payloads: list[bytes], codec: str, count: int, rounds: int) -> dict[str, Any]:
    """One codec and number of messages in a wrapper."""
    sides: dict[str, bytes] = {"0.7": old(payloads, codec, count), "0.8+": new(payloads, codec, count)}
    for family, data in sides.items():
        if scan(data, family)["value"].to_pylist() != payloads:
            raise RuntimeError(f"{family}: {codec} does not give what went in")
    taken: dict[str, list[float]] = {family: [] for family in sides}
    for turn in range(rounds):
        for family in list(sides)[:: 1 if turn % 2 else -1]:
            taken[family].append(seconds(sides[family], family))
    content = sum(map(len, payloads))
    ratio = statistics.median(later / first for first, later in zip(taken["0.7"], taken["0.8+"], strict=True))
    return {
        "codec": codec,
        "messages": count,
        "mb_per_s": content / statistics.median(taken["0.7"]) / 1e6,
        "content": ratio,
        "file": ratio * len(sides["0.7"]) / len(sides["0.8+"]),
    }


def main() -> None:
    """Compares all and writes benches/results/compare-message-set.json."""
    parser = argparse.ArgumentParser(description="Kafka 0.7's message sets beside those of magic 0")
    parser.add_argument("--codecs", nargs="+", choices=CODECS, default=CODECS)
    parser.add_argument("--messages", nargs="+", type=int, default=MESSAGES)
    parser.add_argument("--megabytes", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=21)
    arguments = parser.parse_args()
    with flights.payload(make_segments.BUILD).open("rb") as rows:
        payloads = rows.read(arguments.megabytes << 20).split(b"\n")[:-1]
    results = []
    for codec, count in itertools.product(arguments.codecs, arguments.messages):
        if codec == "none" and count != arguments.messages[0]:
            continue
        result = compare(payloads, codec, count, arguments.rounds)
        results.append(result)
        text = "{codec:6} {messages:5} a wrapper {mb_per_s:6.0f} MB/s  content x{content:.2f}  file x{file:.2f}"
        print(text.format(**result), flush=True)
    save("compare-message-set", {"machine": machine(), "rounds": arguments.rounds, "results": results})


if __name__ == "__main__":
    main()
