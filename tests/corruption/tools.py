"""Each tool on the same folder: its rows, its error, what it names as missing, in one form."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import logging
import pickle
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import kafkacomp as kc
from grouped import grouped
from kafkacomp import log
from kafkacomp._cli.command import run
from kafkacomp._losses import unacknowledged
from missing_ranges import ranges_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from missing_ranges import Range

__all__ = ["SPARK", "TOOLS", "Answer", "Row", "command"]

#: No log here has so many offsets.
ABSURD = 100_000

Row = tuple[int, "bytes | None"]

_LOGGER = logging.getLogger("kafkacomp")


@dataclass
class Answer:
    """What a tool did."""

    #: Records delivered, or in the log that was written; ``None`` where a tool gives none.
    rows: list[Row] | None
    #: What ended it.
    error: Exception | None = None
    #: Ranges named as missing: first offset, last offset, reason.
    missing: list[Range] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    #: File and byte of what it says is corrupt.
    faults: list[tuple[str, int]] = field(default_factory=list)
    #: Command line only.
    status: int | None = None

    @property
    def named(self) -> set[int]:
        """Every offset that is named as missing, but for those of absurd ranges."""
        return {each for first, last, _ in self.missing if last - first < ABSURD for each in range(first, last + 1)}

    @property
    def absurd(self) -> list[Range]:
        """Ranges that are empty, or of offsets that the log never had."""
        return [each for each in self.missing if not 0 <= each[1] - each[0] < ABSURD]


def _scan(folder: Path, **options: Any) -> Answer:
    reader = kc.scan(folder, columns=["offset", "value"], **grouped(include_control=True, **options))
    rows: list[Row] = []
    error: Exception | None = None
    try:
        for batch in reader:
            rows += zip(batch.column("offset").to_pylist(), batch.column("value").to_pylist(), strict=True)
    except (kc.KafkaCompError, OSError, ValueError) as raised:
        error = raised
    report = reader.report
    faults = [(each.file.rpartition("/")[2], each.position) for each in report.skipped]
    return Answer(rows, error, ranges_of(report.missing), [*report.warnings, *unacknowledged(report).lines()], faults)


def scan_strict(folder: Path) -> Answer:
    """``scan``."""
    return _scan(folder, options=kc.ScanOptions(threads=1))


def scan_strict_threads(folder: Path) -> Answer:
    """``scan`` with several threads."""
    return _scan(folder, options=kc.ScanOptions(threads=3))


def scan_skip(folder: Path) -> Answer:
    """``scan(on_error="skip")``."""
    return _scan(folder, on_error="skip", options=kc.ScanOptions(threads=1))


def scan_skip_threads(folder: Path) -> Answer:
    """The same with several threads, and small batches."""
    return _scan(folder, on_error="skip", options=kc.ScanOptions(threads=3, batch_rows=7))


def command(*arguments: object) -> tuple[int, str, str]:
    """Exit status, standard output and standard error of the command."""
    out, err = io.StringIO(), io.StringIO()
    before = _LOGGER.level
    _LOGGER.setLevel(logging.WARNING)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = run([str(each) for each in arguments])
    finally:
        _LOGGER.setLevel(before)
    return status, out.getvalue(), err.getvalue()


def export(folder: Path) -> Answer:
    """``kafkacomp export --on-error skip``."""
    target = folder.parent / "rows.jsonl"
    status, out, err = command(
        "export", folder, "-o", target, "--on-error", "skip", "--json", "--include-control",
        "--bytes", "base64", "--columns", "offset,value", "--force",
    )  # fmt: skip
    if not target.exists():
        return Answer(None, kc.KafkaCompError(err), status=status)
    rows: list[Row] = []
    for line in target.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        rows.append((row["offset"], None if row["value"] is None else base64.b64decode(row["value"])))
    target.unlink()
    return Answer(rows, None, ranges_of(json.loads(out)["missing"]), err.splitlines(), status=status)


def verify(folder: Path) -> Answer:
    """``kafkacomp verify``."""
    status, out, err = command("verify", folder, "--json", "--threads", "1")
    if not out:
        return Answer(None, kc.KafkaCompError(err), status=status)
    report = json.loads(out)
    faults = [(each["file"].rpartition("/")[2], each["position"]) for each in report["errors"]]
    warnings = [f"{each['file']}: {each['message']}" for each in report["warnings"]]
    return Answer(None, None, ranges_of(report["missing"]), warnings, faults, status)


def _rewritten(rewrite: Callable[[Path, Path], Any], folder: Path, target: Path) -> Answer:
    try:
        report = rewrite(folder, target)
    except (kc.KafkaCompError, OSError, ValueError) as error:
        return Answer(None, error)
    again = _scan(target, options=kc.ScanOptions(threads=1)) if any(target.glob("**/*.log")) else Answer([])
    missing = ranges_of(report.missing)
    faults = [(each.file.rpartition("/")[2], each.position) for each in getattr(report, "repairs", ())]
    warnings = list(getattr(report, "warnings", ()))
    answer = Answer(again.rows, again.error, missing or again.missing, [*warnings, *again.warnings], faults)
    answer.status = run_quietly("verify", target)
    return answer


def run_quietly(*arguments: object) -> int:
    """The exit status of a command."""
    return command(*arguments)[0]


def repair(folder: Path) -> Answer:
    """``log.repair``, and a strict scan of the log that it wrote."""
    return _rewritten(log.repair, folder, folder.parent / "repaired")


def recompress(folder: Path) -> Answer:
    """``log.recompress``, and a strict scan of the log that it wrote."""
    return _rewritten(
        lambda source, target: log.recompress(source, target, compression_type="gzip", threads=1, allow_missing=True),
        folder,
        folder.parent / "recompressed",
    )


#: Column of the table -> tool.
TOOLS: dict[str, Callable[[Path], Answer]] = {
    "scan": scan_strict,
    "scan, 3 threads": scan_strict_threads,
    "scan, skip": scan_skip,
    "scan, skip, 3 threads": scan_skip_threads,
    "export, skip": export,
    "verify": verify,
    "repair": repair,
    "recompress": recompress,
}


def _spark(folder: Path, **options: str) -> Answer:
    """What the tasks of a batch read give, in the order in which they were planned."""
    from kafkacomp.spark import KafkaCompDataSource  # noqa: PLC0415 - takes a second

    source = KafkaCompDataSource({"path": str(folder), "columns": "offset,value", **options})
    rows: list[Row] = []
    corrupt: list[dict[str, Any]] = []
    try:
        reader = pickle.loads(pickle.dumps(source.reader(source.schema())))  # noqa: S301 - our own
        for task in pickle.loads(pickle.dumps(reader.partitions())):  # noqa: S301 - our own
            for batch in reader.read(task):
                for row in batch.to_pylist():
                    found = json.loads(row.get("_corrupt_record") or "null")
                    if found is None:
                        rows.append((row["offset"], row["value"]))
                    elif found["firstOffset"] is not None and found["lastOffset"] is not None:
                        corrupt.append(found)
    except (kc.KafkaCompError, OSError, ValueError) as error:
        return Answer(rows, error)
    return Answer(rows, None, ranges_of(corrupt))


def spark_failfast(folder: Path) -> Answer:
    """``spark.read`` with its defaults: it stops at corruption and at missing offsets."""
    return _spark(folder)


def spark_drop(folder: Path, split_size: int = 300) -> Answer:
    """``mode=DROPMALFORMED``; the segments are split."""
    return _spark(folder, mode="DROPMALFORMED", failOnDataLoss="false", splitSize=str(split_size))


def spark_drop_loss(folder: Path) -> Answer:
    """``mode=DROPMALFORMED``, which still stops at missing offsets."""
    return _spark(folder, mode="DROPMALFORMED")


def spark_permissive(folder: Path) -> Answer:
    """``mode=PERMISSIVE``."""
    columns = "offset,value,_corrupt_record"
    return _spark(folder, mode="PERMISSIVE", failOnDataLoss="false", columns=columns)


#: The same for Spark's data source, asked as Spark asks it but without a JVM.
SPARK: dict[str, Callable[[Path], Answer]] = {
    "Spark FAILFAST": spark_failfast,
    "Spark DROPMALFORMED": spark_drop,
    "Spark DROPMALFORMED, failOnDataLoss": spark_drop_loss,
    "Spark PERMISSIVE": spark_permissive,
}
