"""Shared by all commands: exit status, messages, the progress bar, options."""

from __future__ import annotations

import datetime as dt
import os
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

import kafkacomp
from kafkacomp._click import Size
from kafkacomp._log_format import LOG_FORMATS
from kafkacomp._text import json_text, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TextIO

Command = TypeVar("Command", bound="Callable[..., Any]")

#: The key of a context's value for --quiet.
QUIET = "kafkacomp.quiet"
#: Seconds after which a progress bar appears.
_PATIENCE = 2.0

LOG_FORMAT = click.option(
    "--log-format",
    type=click.Choice(LOG_FORMATS),
    default="auto",
    show_default=True,
    help="Log format: 0.7 (message sets) or 0.8+ (batches); auto detects it from the content.",
)
KNOWN_LOSSES = click.option(
    "--known-losses",
    multiple=True,
    metavar="FILE",
    help="A kafkacomp-repair.json whose losses are known, too; can be repeated. Default: only those of the folders.",
)
MAX_OUTPUT_SIZE = click.option(
    "--max-output-size",
    type=Size(1, kafkacomp.DEFAULT_MAX_OUTPUT_SIZE),
    default=kafkacomp.DEFAULT_MAX_OUTPUT_SIZE,
    show_default=True,
    help="The most bytes that one batch's records may decompress to, such as 512m.",
)
ALLOW_MISSING = click.option(
    "--allow-missing",
    is_flag=True,
    help="Do not exit with 1 for missing data, which are still reported: offsets that compaction does not explain, and "
    "what a copy left out.",
)


def complain(message: str) -> None:
    """Print a message to standard error; on a terminal in colour, unless NO_COLOR is set."""
    colour = "yellow" if message.startswith("warning:") else "red"
    name = click.style("kafkacomp:", fg=colour, bold=True)
    click.echo(f"{name} {printable(message)}", err=True, color=False if os.environ.get("NO_COLOR") else None)


def say(line: str) -> None:
    """Print a line of text to standard output."""
    click.echo(printable(line))


def say_json(value: object) -> None:
    """Print a value to standard output as one line of JSON."""
    click.echo(json_text(value))


def _progress(*columns: ProgressColumn) -> Progress:
    # Standard output is not redirected: the command writes rows to it meanwhile.
    return Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False)


class Bar:
    """A bar that appears on standard error after two seconds; or nothing, if it is not to be shown."""

    def __init__(self, what: str, total: int | None, *, is_shown: bool) -> None:
        self._is_shown = is_shown
        self._done = 0
        if is_shown:
            columns = (TextColumn(what), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
            self._bar = _progress(*columns)
            self._task = self._bar.add_task(what, total=total)
            self._since = time.monotonic()
            self._starting = threading.Lock()

    def __call__(self, step: int, known: int | None = None) -> None:
        """Advance by ``step`` bytes; ``known`` is the total, if it was unknown at first."""
        if not self._is_shown:
            return
        self._bar.update(self._task, advance=step, total=known)
        if time.monotonic() - self._since > _PATIENCE and not self._bar.live.is_started:
            with self._starting:
                self._bar.start()

    def at(self, done: int, total: int) -> None:
        """Show that ``done`` bytes of ``total`` are done."""
        step, self._done = done - self._done, done
        self(step, total)

    def clear(self) -> None:
        """Remove the bar; it appears again two seconds after the last output to the terminal."""
        if self._is_shown:
            self._since = time.monotonic()
            if self._bar.live.is_started:
                self._bar.stop()


class _AboveBar:
    """Standard output on the terminal that a bar is on: the bar is removed before anything is written."""

    def __init__(self, out: TextIO, bar: Bar) -> None:
        self._out = out
        self._bar = bar

    def write(self, text: str) -> int:
        self._bar.clear()
        return self._out.write(text)


def beside(bar: Bar) -> TextIO:
    """Standard output for rows that are written while a bar may be shown."""
    return _AboveBar(sys.stdout, bar) if sys.stdout.isatty() else sys.stdout  # type: ignore[return-value] # what is used


@contextmanager
def progress_bar(what: str, total: int | None) -> Iterator[Bar]:
    """Show a bar on standard error if it is a terminal, --quiet is not given, and the work takes over two seconds.

    The result is called with the bytes done since the last call and, if it was not known at first, the total.
    """
    bar = Bar(what, total, is_shown=_shows_progress())
    try:
        yield bar
    finally:
        bar.clear()


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """After two seconds show what is waited for, and for how long: work whose size is not known, such as a listing."""
    if not _shows_progress():
        yield
        return
    bar = _progress(TextColumn(what), TimeElapsedColumn())
    bar.add_task(what, total=None)
    timer = threading.Timer(_PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if bar.live.is_started:
            bar.stop()


def _shows_progress() -> bool:
    context = click.get_current_context(silent=True)
    return sys.stderr.isatty() and not (context is not None and context.meta.get(QUIET))


def _be_quiet(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.meta[QUIET] = value


def quiet_option() -> click.Option:
    """The option --quiet, which every command has."""
    return click.Option(
        ["--quiet"], is_flag=True, expose_value=False, callback=_be_quiet, help="Do not show a progress bar."
    )


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def bound(_: click.Context, option: click.Parameter, value: str | None) -> int | dt.datetime | None:
    """Parse milliseconds, or a date and time with a time zone."""
    if value is None:
        return None
    try:
        return int(value)
    except ValueError:
        pass
    try:
        moment = dt.datetime.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(f"{value!r}: expected milliseconds or ISO 8601", param=option) from None
    if moment.tzinfo is None:
        raise click.BadParameter(f"{value!r} has no time zone: add Z or +01:00", param=option)
    return moment


def names_of(text: str) -> list[str]:
    """Parse names separated by commas."""
    return [name.strip() for name in text.split(",")]


def numbers_of(text: str) -> list[int]:
    """Parse numbers separated by commas; ValueError for other text."""
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise ValueError(f"{text!r} is not a list of partitions: expected numbers such as 0,1,2") from None
