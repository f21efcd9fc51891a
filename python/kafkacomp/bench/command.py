"""The command: options, progress, outputs, exit status."""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

import kafkacomp
from kafkacomp import _environment
from kafkacomp._click import Size, parsed
from kafkacomp._codecs.levels import WHOLE, parse_codecs, parse_sizes
from kafkacomp._exit_status import CORRUPT, FINE
from kafkacomp._exit_status import run as ended
from kafkacomp._storage.new_file import new_file
from kafkacomp.bench import peers, plot, preset, table
from kafkacomp.bench.peers.ours import Ours
from kafkacomp.bench.report import Report
from kafkacomp.bench.runner import Plan, Run
from kafkacomp.bench.runner import run as measure
from kafkacomp.bench.stages import COMPRESS, DECOMPRESS, STAGES
from kafkacomp.bench.workload import AUTO, LINES, NONE, Source, Workload, cut, load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kafkacomp.bench.peers.base import Peer
    from kafkacomp.bench.preset import Compared

STANDARD_OUTPUT = "-"
_TERMINAL_WIDTH = 200
_MOST_THREADS = 1024


def run(arguments: list[str] | None) -> int:
    """Run the command and return the exit status."""
    # The report shows the command line as it was given.
    words = sys.argv[1:] if arguments is None else arguments
    command = partial(bench.main, words, prog_name="python -m kafkacomp.bench", standalone_mode=False, obj=words)
    return ended(command, _complain)


def _complain(message: str) -> None:
    click.echo(f"kafkacomp.bench: {message}", err=True)


def parse_threads(text: str) -> list[int]:
    """Parse numbers of threads; duplicates are dropped."""
    parts = [part.strip() for part in text.split(",")]
    for part in parts:
        if not part.isdecimal() or not 1 <= int(part) <= _MOST_THREADS:
            raise ValueError(f"{part!r} is not a number of threads: expected 1 to {_MOST_THREADS}")
    return list(dict.fromkeys(map(int, parts)))


def _stages(text: str) -> list[str]:
    names = list(dict.fromkeys(part.strip() for part in text.split(",")))
    unknown = [name for name in names if name not in STAGES]
    if unknown:
        raise ValueError(f"unknown stage {unknown[0]!r}: expected some of {', '.join(STAGES)}")
    return names


def _target(*endings: str) -> Callable[[str], str]:
    """Make a callback that checks the suffix of an output, so that an input given by mistake is not overwritten."""

    def parse(text: str) -> str:
        if text in endings or Path(text).suffix in endings:
            return text
        raise ValueError(f"{text!r} does not end in {' or '.join(ending for ending in endings if ending[0] == '.')}")

    return parse


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(kafkacomp.__version__, prog_name="kafkacomp.bench")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--codecs", callback=parsed(parse_codecs),
              help="Types and levels, such as none,snappy,lz4,zstd:-5,1,3,gzip:1-9.  "
                   "[default: all five at Kafka's default levels]")  # fmt: skip
@click.option("--batch-bytes", "sizes", callback=parsed(parse_sizes),
              help="Bytes of a batch before compression, such as 16k,1m; whole; stored.  "
                   "[default: stored for segments, 16k for anything else]")  # fmt: skip
@click.option("--threads", callback=parsed(parse_threads), default="1", show_default=True,
              help="Numbers of threads to measure, such as 1,2,8.")  # fmt: skip
@click.option("--records", type=click.Choice((AUTO, LINES, NONE)), default=AUTO, show_default=True,
              help="Records of files that are not segments; auto: lines of .jsonl, .ndjson, .csv, .tsv and .txt, "
                   "otherwise none.")  # fmt: skip
@click.option("--stages", callback=parsed(_stages), help=f"What to measure, of {','.join(STAGES)}.  [default: all]")
@click.option(
    "--rounds", type=click.IntRange(1, 1000), default=5, show_default=True, help="Samples taken of each figure."
)
@click.option("--sample-ms", type=click.IntRange(0, 60_000), default=100, show_default=True,
              help="The least milliseconds of a sample; the work is repeated until then.")  # fmt: skip
@click.option("--limit", type=Size(0),
              help="Maximum bytes to read from all inputs together.  [default: 64m, of a corpus 1024m]")  # fmt: skip
@click.option("--each", is_flag=True, help="Measure every input separately.")
@click.option("--compare", is_flag=False, flag_value=peers.ALL, metavar="[PEERS]",
              help="Also measure other libraries, after checking that their results equal ours: "
                   f"some of {','.join(peers.NAMES)}; without a value, all installed ones.")  # fmt: skip
@click.option("--preset", "has_preset", type=click.Choice([preset.NAME]),
              help="Repeat the measurement of a published table, and show both figures.")  # fmt: skip
@click.option("--json", "json_to", is_flag=False, flag_value=STANDARD_OUTPUT, metavar="[FILE.json]",
              callback=parsed(_target(STANDARD_OUTPUT, ".json")),
              help="Write the report to this file; without a name, or with -, to standard output.")  # fmt: skip
@click.option("--plot", "plot_to", metavar="FILE", callback=parsed(_target(*plot.SUFFIXES)),
              help="Draw ratio against speed to this .png, .svg or .html file.")  # fmt: skip
def bench(  # noqa: PLR0917 - click hands everything over by name
    paths: tuple[Path, ...], sizes: list[int | str] | None, compare: str | None, has_preset: str | None,
    json_to: str | None, plot_to: str | None, limit: int | None,
    **axes: Any,  # noqa: ANN401 - checked by click
) -> int:  # fmt: skip
    """Measure Kafka's codecs on your own data.

    PATHS are files, segments, folders of a broker's log, or zip archives; without any, a small sample is measured. Exit
    status: 0 fine, 1 corrupt input or a peer with another result, 2 wrong use.
    """
    _check_use(has_preset, axes, compare, plot_to)
    limit = limit or (1 << 30 if has_preset else 64 << 20)
    sources = load(paths, records=NONE if has_preset else axes["records"], limit=limit)
    workloads = _workloads(sources, sizes or [WHOLE if has_preset else None], each=axes["each"])
    found, missing = peers.peers(compare)
    done, compared = Run(), None
    if has_preset:
        compared = _compare(workloads, axes)
    else:
        done = _measure(workloads, found, axes)
    words = shlex.join(["python", "-m", "kafkacomp.bench", *click.get_current_context().obj])
    described = _environment.describe(words, {peer.name: peer.version for peer in found if peer.version})
    done.left_out |= missing
    report = Report(described, sources, done, compared)
    _give(report, json_to, plot_to)
    return CORRUPT if done.wrong else FINE


def _check_use(has_preset: str | None, axes: dict[str, Any], compare: str | None, plot_to: str | None) -> None:
    if plot_to:
        plot.check()
        if axes["stages"] and not {COMPRESS, DECOMPRESS} & set(axes["stages"]):
            raise click.UsageError(f"--plot needs the stage {COMPRESS} or {DECOMPRESS}")
    if has_preset and (axes["codecs"] or axes["stages"] or compare or plot_to):
        raise click.UsageError("--preset has its own codecs, stages and peers: leave these options and --plot out")


def _workloads(sources: list[Source], sizes: Sequence[int | str | None], *, each: bool) -> list[Workload]:
    if each:
        groups = [(source.name, [source]) for source in sources]
    else:
        name = sources[0].name if len(sources) == 1 else f"{len(sources)} inputs"
        groups = [(name, sources)]
    return [cut(name, group, size) for name, group in groups for size in sizes]


def _compare(workloads: list[Workload], axes: dict[str, Any]) -> Compared:
    """Measure the rows of the published table."""
    published = preset.load_table()
    whole = Workload("corpus", workloads[0].batch_bytes, [block for each in workloads for block in each.blocks])
    with _progress(preset.measured_rows(published) * (axes["rounds"] + 1)) as advance:
        least = axes["sample_ms"] / 1000
        return preset.compare(published, whole, rounds=axes["rounds"], least=least, advance=advance)


def _measure(workloads: list[Workload], found: list[Peer], axes: dict[str, Any]) -> Run:
    plan = Plan(
        workloads,
        codecs=axes["codecs"] or parse_codecs("none,gzip,snappy,lz4,zstd"),
        threads=axes["threads"],
        stages=axes["stages"] or STAGES,
        rounds=axes["rounds"],
        least=axes["sample_ms"] / 1000,
        peers=found,
    )
    with _progress(plan.steps()) as advance:
        return measure(plan, advance)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int, str], object]]:
    """Show a progress bar on standard error if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _steps, _what: None
        return
    columns = (BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda steps, what: bar.update(task, advance=steps, description=what)


def _give(report: Report, json_to: str | None, plot_to: str | None) -> None:
    if json_to:
        _write(json_to, json.dumps(report.as_dict(), indent=1, ensure_ascii=False) + "\n")
    if plot_to:
        plot.draw(report.run.results, Path(plot_to), report.heading())
    # Standard output contains the report then.
    _show(report, to_error=json_to == STANDARD_OUTPUT)


def _write(target: str, text: str) -> None:
    if target == STANDARD_OUTPUT:
        click.echo(text, nl=False)
    else:
        with new_file(Path(target), replace=True) as path:
            path.write_text(text, encoding="utf-8", newline="")


def _show(report: Report, *, to_error: bool) -> None:
    stream = sys.stderr if to_error else sys.stdout
    width = None if stream.isatty() else _TERMINAL_WIDTH
    console = Console(file=stream, highlight=False, markup=False, width=width)
    for line in report.heading():
        console.print(line, soft_wrap=True)
    for each in table.tables(report.run.results):
        console.print()
        console.print(each)
    if report.preset is not None:
        console.print()
        console.print(table.preset_table(report.preset))
        for note in (*report.preset.notes, f"published: {report.preset.source}"):
            console.print(note, soft_wrap=True)
    left_out = sum(source.left_out for source in report.inputs)
    if left_out:
        console.print(f"--limit left out {left_out:,} bytes of the inputs", soft_wrap=True)
    if report.run.results:
        console.print(
            f"\nmedians ± half the interquartile range; x: duration relative to {Ours.name} "
            "in the same round (above 1: slower)",
            soft_wrap=True,
        )
    for what, why in report.run.left_out.items():
        console.print(f"left out: {what}: {why}", soft_wrap=True)
    for what, why in report.run.wrong.items():
        _complain(f"wrong result: {what}: {why}")
