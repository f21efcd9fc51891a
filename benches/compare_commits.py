"""Has a commit made something slower? Two commits, built alike, compared by instruction counts or by paired ratios.

Absolute times of two runs say nothing on a machine that others use. So either instructions are counted (callgrind; the
same to a hundredth of a percent whatever else runs, blind to caches and to instructions that take longer), or both
packages work in turn, round by round, and each round gives a ratio. `.` is the working tree as it is.

Paired, something is slower if three quarters of its rounds are beyond the tolerance; counted, if the count is.
The exit status is 1 then.

Run: python benches/compare_commits.py main . [--count] [--codecs none zstd] [--batches 16k 1] [--work scan compress]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import IO, Any, Self

import make_segments

from kafkacomp import record

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "commits"
PASS = ROOT / "benches" / "commit_pass.py"
WORK = ("scan", "iterate", "decompress", "compress", "build")
TURN = 0.2  # seconds that a side works before it is the other's turn
# So few batches that callgrind, which is some fifty times slower, is done in seconds.
COUNTED_BYTES = 1 << 20
# The first passes grow the buffers, and threads wait for each other in another order in each run: by three passes, a
# scan of one package counted 6 to 11% more or less than by 40.
COUNTED_PASSES = (3, 18)
TIMEOUT = 1800.0


def main() -> int:
    """Builds both, compares, prints a table; 1 if something is slower."""
    parser = argparse.ArgumentParser(description="two commits of kafkacomp against each other")
    parser.add_argument("base", help="a commit, or . for the working tree")
    parser.add_argument("head", help="as base")
    parser.add_argument("--count", action="store_true", help="instructions (needs valgrind) instead of paired times")
    parser.add_argument("--codecs", nargs="+", choices=make_segments.CODECS, default=make_segments.CODECS)
    parser.add_argument("--batches", nargs="+", choices=make_segments.BATCHES, default=["16k", "1"])
    parser.add_argument("--work", nargs="+", choices=WORK, default=WORK)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--tolerance", type=float, default=None, help="default: 0.02 counted, 0.10 paired")
    parser.add_argument("--json", type=Path, help="the report")
    arguments = parser.parse_args()
    if arguments.count and shutil.which("valgrind") is None:
        parser.error("--count needs valgrind")
    tolerance = arguments.tolerance or (0.02 if arguments.count else 0.10)
    packages = [package(arguments.base), package(arguments.head)]
    results = []
    for codec in arguments.codecs:
        for batch in arguments.batches:
            segment = make_segments.make(codec, batch).path
            compare = counted if arguments.count else paired
            for work, found in compare(packages, segment, arguments.work, arguments.rounds).items():
                result = {"work": work, "codec": codec, "batch": batch, **found}
                result["slower"] = found["at_least"] > 1 + tolerance
                results.append(result)
                print(_line(result), flush=True)
    if arguments.json:
        described = [_describe(name) for name in (arguments.base, arguments.head)]
        report = {"base": described[0], "head": described[1], "by": "instructions" if arguments.count else "pairs"}
        arguments.json.write_text(json.dumps({**report, "tolerance": tolerance, "results": results}, indent=1) + "\n")
    slower = sum(result["slower"] for result in results)
    print(f"{len(results)} compared, {slower} slower by more than {tolerance:.0%}")
    return 1 if slower else 0


def package(commit: str) -> Path:
    """The folder with the package as that commit builds it."""
    if commit == ".":
        source, name = ROOT, "tree"
    else:
        name = _git("rev-parse", "--verify", f"{commit}^{{commit}}")
        source = BUILD / "sources" / name
        if not source.exists():
            tree = subprocess.run(["git", "archive", name], cwd=ROOT, check=True, capture_output=True, timeout=TIMEOUT)
            with tarfile.open(fileobj=io.BytesIO(tree.stdout)) as archive:
                archive.extractall(source, filter="data")
    made = BUILD / name
    if made.exists() and commit != ".":
        return made
    wheels = BUILD / f"{name}-wheel"
    for folder in (made, wheels):
        shutil.rmtree(folder, ignore_errors=True)
    maturin = [str(Path(sys.executable).parent / "maturin"), "build", "--release", "--interpreter", sys.executable]
    subprocess.run(
        [*maturin, "--out", str(wheels)],
        cwd=source,
        # One each: cargo would take a file of the other tree, if it is older, for the one that it has built.
        env=os.environ | {"CARGO_TARGET_DIR": str(ROOT / "target" if commit == "." else BUILD / f"{name}-target")},
        check=True,
        timeout=TIMEOUT,
    )
    with zipfile.ZipFile(next(wheels.glob("*.whl"))) as wheel:
        wheel.extractall(made)  # noqa: S202 - made above
    return made


def paired(packages: list[Path], segment: Path, work: list[str], rounds: int) -> dict[str, dict[str, Any]]:
    """The ratio of head's seconds by base's, from rounds in which both work."""
    found = {}
    with contextlib.ExitStack() as stack:
        sides = [stack.enter_context(Side(each, segment)) for each in packages]
        for name in work:
            if any(side.one_pass(name) is None for side in sides):
                continue
            ratios = []
            for turn in range(rounds):
                # Who begins changes, for whoever comes second finds the machine as the first has left it.
                order = sides if turn % 2 else sides[::-1]
                seconds = {side: side.turn(name) for side in order}
                ratios.append(seconds[sides[1]] / seconds[sides[0]])
            quarters = statistics.quantiles(ratios, n=4, method="inclusive")
            found[name] = {"ratio": quarters[1], "at_least": quarters[0], "at_most": quarters[2]}
    return found


def counted(packages: list[Path], segment: Path, work: list[str], rounds: int) -> dict[str, dict[str, Any]]:
    """The ratio of head's instructions by base's, for a pass; `rounds` do not matter."""
    del rounds
    piece = BUILD / "piece" / segment.parent.name / segment.name
    piece.parent.mkdir(parents=True, exist_ok=True)
    # Whole batches: looking for others after a truncated one costs as much as 100 of them.
    batches = record.read_batches(segment.read_bytes()[:COUNTED_BYTES])
    piece.write_bytes(b"".join(bytes(batch) for batch in batches))
    found = {}
    for name in work:
        counts = [_instructions(each, piece, name) for each in packages]
        if None not in counts:
            base, head = (float(count or 0) for count in counts)
            found[name] = {"ratio": head / base, "at_least": head / base, "at_most": head / base, "counts": counts}
    return found


def _instructions(package: Path, segment: Path, name: str) -> float | None:
    totals = []
    for passes in COUNTED_PASSES:
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, str(PASS)]
        done = subprocess.run(
            [*command, str(segment), name, str(passes)],
            env=_environment(package),
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT,
        )
        total = re.search(r"Collected : (\d+)", done.stderr)
        if done.returncode or total is None:
            if "AttributeError" in done.stderr:
                return None
            raise RuntimeError(done.stderr[-2000:])
        totals.append(int(total[1]))
    return (totals[1] - totals[0]) / (COUNTED_PASSES[1] - COUNTED_PASSES[0])


class Side:
    """A process that works with one of the packages, one pass for each line."""

    def __init__(self, package: Path, segment: Path) -> None:
        self._package, self._segment = package, segment

    def __enter__(self) -> Self:
        """Starts it and waits until it has read the segment."""
        self._process = subprocess.Popen(
            [sys.executable, str(PASS), str(self._segment)],
            env=_environment(self._package),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if _pipe(self._process.stdout).readline().strip() != "ready":
            raise RuntimeError(f"{self._package.name} does not start")
        return self

    def one_pass(self, name: str) -> float | None:
        """Its seconds; None if this package cannot do it."""
        stdin = _pipe(self._process.stdin)
        stdin.write(name + "\n")
        stdin.flush()
        answer = _pipe(self._process.stdout).readline().strip()
        return None if answer == "missing" else float(answer)

    def turn(self, name: str) -> float:
        """The average pass of a turn."""
        passes: list[float] = []
        while sum(passes) < TURN:
            passes.append(self.one_pass(name) or 0.0)
        return statistics.fmean(passes)

    def __exit__(self, *_: object) -> None:
        """Ends it: it stops when its input ends."""
        _pipe(self._process.stdin).close()
        self._process.wait(20)
        _pipe(self._process.stdout).close()


def _environment(package: Path) -> dict[str, str]:
    # Before what is installed; hashes fixed, or every run would take another number of instructions, as by OpenBLAS's
    # idle threads, which spin.
    fixed = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return os.environ | fixed | {"PYTHONPATH": str(package)}


def _pipe(stream: IO[str] | None) -> IO[str]:
    if stream is None:
        raise RuntimeError("the stream is not a pipe")
    return stream


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True, timeout=TIMEOUT)
    return done.stdout.strip()


def _describe(commit: str) -> str:
    return _git("describe", "--always", "--dirty") if commit == "." else _git("rev-parse", "--short", commit)


def _line(result: dict[str, Any]) -> str:
    spread = (
        "" if result["at_least"] == result["at_most"] else f" ({result['at_least']:.3f} to {result['at_most']:.3f})"
    )
    flag = "  SLOWER" if result["slower"] else ""
    head = f"{result['work']:10} {result['codec']:6} {result['batch']:>4}"
    return f"{head}  head takes {result['ratio']:.3f} times as long as base{spread}{flag}"


if __name__ == "__main__":
    sys.exit(main())
