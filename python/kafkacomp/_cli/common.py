"""What all commands share: exit status, messages, the progress bar, options."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

import kafkacomp
from kafkacomp._text import json_text, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "CORRUPT",
    "FAILED",
    "FINE",
    "INTERRUPTED",
    "MAX_OUTPUT_SIZE",
    "PIPE_CLOSED",
    "WRONG_USE",
    "complain",
    "log_format",
    "progress_bar",
    "say",
    "say_json",
]

FINE, CORRUPT, WRONG_USE, FAILED, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 3, 130, 141

MAX_OUTPUT_SIZE = click.option(
    "--max-output-size",
    type=click.IntRange(1, kafkacomp.DEFAULT_MAX_OUTPUT_SIZE),
    default=kafkacomp.DEFAULT_MAX_OUTPUT_SIZE,
    show_default=True,
    help="The most bytes that one batch's records may decompress to.",
)


def log_format(*names: str) -> Callable[[Any], Any]:
    """The option that tells Kafka 0.7's logs from later ones."""
    return click.option(
        *names, type=click.Choice(("auto", "0.7", "0.8+")), default="auto", show_default=True,
        help="Of which Kafka a log is; auto is to see by its content.",
    )  # fmt: skip


def complain(message: str) -> None:
    """Say something on standard error."""
    click.echo(f"kafkacomp: {printable(message)}", err=True)


def say(line: str) -> None:
    """Write a line for people to standard output."""
    click.echo(printable(line))


def say_json(value: object) -> None:
    """Write a value to standard output as one line of JSON."""
    click.echo(json_text(value))


@contextmanager
def progress_bar(what: str, total: int | None) -> Iterator[Callable[..., object]]:
    """A bar on standard error if that is a terminal.

    What it gives is called with the bytes done since the last call and, if it was not known at first, the total.
    """
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    columns = (TextColumn(what), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda step, known=None: bar.update(task, advance=step, total=known)
