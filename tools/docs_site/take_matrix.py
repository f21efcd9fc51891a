"""Make docs/data/produce-matrix.csv from the recorded answers of eight brokers.

The recording is `produce_matrix.json` of the full vector sets, which tests/vectors/MANIFEST.md describes.

Run: python tools/docs_site/take_matrix.py PATH/legacy/produce_matrix.json
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parents[2] / "docs" / "data" / "produce-matrix.csv"
#: How the stored bytes compare with those that were sent -> what the table says.
STORED = {
    "the bytes as sent": "as sent",
    "as sent, but base offset / leader epoch set": "header fields set",
    "as sent, but offsets set": "offsets set",
    "payload as sent, batch header rewritten": "header rewritten",
    "rewritten": "rebuilt",
}
SILENT = {"connection closed by broker": "connection closed", "timeout": "no answer"}


def answer(result: dict[str, Any]) -> str:
    """One broker's answer to one produce version."""
    code = result.get("error_code")
    if code is None:
        return SILENT[result["error"]]
    if code != 0:
        return f"{code} {result['error']}"
    if not result.get("stored"):
        return "ok: nothing stored"
    # What the recording's own reader could not parse has no codec.
    batches = {
        (each["magic"], each.get("codec", "unreadable"), each.get("lz4", {}).get("hc_rule"))
        for each in result["stored"]
    }
    kinds = []
    for magic, codec, rule in sorted(batches, key=str):
        checksum = "" if rule is None else f" HC {rule}"
        kinds.append(f"v{magic} {codec}{checksum}")
    return f"ok: {STORED[result['stored_is']]}, {' + '.join(kinds)}"


def cell(results: list[dict[str, Any]]) -> str:
    """All produce versions of one broker; one text if they agree."""
    answers = {f"produce v{each['produce_version']}": answer(each) for each in results}
    if len(set(answers.values())) == 1:
        return next(iter(answers.values()))
    return "; ".join(f"{version}: {text}" for version, text in answers.items())


def main(source: str) -> None:
    """Write a row for each case."""
    cases = json.loads(Path(source).read_text(encoding="utf-8"))["cases"]
    brokers = list(dict.fromkeys(result["broker"] for case in cases for result in case["results"]))
    with TARGET.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["case", "group", "sent", "format", "topic settings", *brokers])
        for case in cases:
            settings = ", ".join(f"{name}={value}" for name, value in case["topic_config"].items())
            cells = [cell([each for each in case["results"] if each["broker"] == broker]) for broker in brokers]
            rows.writerow([case["id"], case["group"], case["what"], f"v{case['magic']}", settings, *cells])


if __name__ == "__main__":
    main(*sys.argv[1:])
