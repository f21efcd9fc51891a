"""Put the report of a measured run into README.md, between its comparison marks: no number there is typed by hand.

Run: python tools/fill_readme.py benches/results/NAME.md    (the file that benches/compare_java.py wrote)
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
MARKS = re.compile(r"(<!-- comparison:begin [^\n]*-->\n).*(<!-- comparison:end -->)", re.DOTALL)
#: Batch sizes that README shows; the report has more.
ROWS = re.compile(r"^\| \w+ \| (10|100k) \|.*\n", re.MULTILINE)
FACTS = ("date", "commit", "cpu", "java", "kafka-clients", "rounds")


def section(report: str) -> str:
    """What README shows of a report: where it was measured, and its tables."""
    facts = dict(re.findall(r"^- ([\w-]+): (.*)$", report, flags=re.MULTILINE))
    missing = [name for name in FACTS if name not in facts]
    if missing:
        message = f"the report does not say: {', '.join(missing)}"
        raise ValueError(message)
    tables = re.sub(r"\A.*?^## ", "### ", report, count=1, flags=re.MULTILINE | re.DOTALL).replace("\n## ", "\n### ")
    tables = ROWS.sub("", tables)
    where = "; ".join(f"{name} {facts[name]}" for name in FACTS)
    made = "Made by `python benches/compare_java.py`, whose head says what is compared; more sizes: `benches/results/`."
    return f"\n{made} Measured: {where}.\n\n{tables.strip()}\n\n"


def main(report: str) -> int:
    """Rewrite the part of README.md between the marks."""
    text = README.read_text(encoding="utf-8")
    filled, count = MARKS.subn(
        lambda marks: marks[1] + section(Path(report).read_text(encoding="utf-8")) + marks[2], text
    )
    if count != 1:
        print("README.md has no comparison marks")
        return 1
    README.write_text(filled, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
