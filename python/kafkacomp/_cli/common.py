"""Shared by all commands: exit status, messages, the progress bar, options."""

from __future__ import annotations

import datetime as dt
import os
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

import kafkacomp
from kafkacomp._log_format import LOG_FORMATS
from kafkacomp._text import json_text, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "CORRUPT",
    "FAILED",
    "FINE",
    "INTERRUPTED",
    "LOG_FORMAT",
    "MAX_OUTPUT_SIZE",
    "PIPE_CLOSED",
    "TERMINATED",
    "WRONG_USE",
    "bound",
    "complain",
    "names_of",
    "numbers_of",
    "progress_bar",
    "quiet_option",
    "say",
    "say_json",
]

FINE, CORRUPT, WRONG_USE, FAILED, INTERRUPTED, PIPE_CLOSED, TERMINATED = 0, 1, 2, 3, 130, 141, 143

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
MAX_OUTPUT_SIZE = click.option(
    "--max-output-size",
    type=click.IntRange(1, kafkacomp.DEFAULT_MAX_OUTPUT_SIZE),
    default=kafkacomp.DEFAULT_MAX_OUTPUT_SIZE,
    show_default=True,
    help="The most bytes that one batch's records may decompress to.",
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


@contextmanager
def progress_bar(what: str, total: int | None) -> Iterator[Callable[..., object]]:
    """Show a bar on standard error if it is a terminal, --quiet is not given, and the work takes over two seconds.

    The result is called with the bytes done since the last call and, if it was not known at first, the total.
    """
    context = click.get_current_context(silent=True)
    if not sys.stderr.isatty() or (context is not None and context.meta.get(QUIET)):
        yield lambda *_: None
        return
    columns = (TextColumn(what), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=total)
    begun, starting = time.monotonic(), threading.Lock()

    def advance(step: int, known: int | None = None) -> None:
        bar.update(task, advance=step, total=known)
        if time.monotonic() - begun > _PATIENCE and not bar.live.is_started:
            with starting:
                bar.start()

    try:
        yield advance
    finally:
        bar.stop()


def _be_quiet(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.meta[QUIET] = value


def quiet_option() -> click.Option:
    """The option --quiet, which every command has."""
    return click.Option(
        ["--quiet"], is_flag=True, expose_value=False, callback=_be_quiet, help="Do not show a progress bar."
    )


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
