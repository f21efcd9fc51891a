"""Show what recompressing a log saves: measured by rewriting it, and as the HTML report of `kafkacomp advise`.

Run: python examples/recompression_savings.py LOG_DIRECTORY REPORT.html
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import kafkacomp as kc

CODECS = ("none", "snappy", "lz4", "zstd", "gzip")


def main(source: str, target: str) -> None:
    """Print a line per compression type, with small batches joined and without, and write the report."""
    for merge in (False, True):
        print("small batches joined:" if merge else "batches as they are:")
        for compression_type in CODECS:
            with tempfile.TemporaryDirectory() as folder:
                begin = time.perf_counter()
                report = kc.log.recompress(
                    source, Path(folder) / "rewritten", compression_type=compression_type, merge=merge
                )
                seconds = time.perf_counter() - begin
            saved = 1 - report.bytes_out / report.bytes_in
            print(f"  {compression_type:6} {report.bytes_out:12,} bytes, saves {saved:6.1%}, {seconds:.2f} s")

    # The rate is assumed: it decides what a month costs, not what is saved.
    Path(target).write_text(kc.advise(source, assume_rate=500_000).to_html(), encoding="utf-8")
    print("report:", target)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
