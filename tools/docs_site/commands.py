"""The reference of the command line, from click's own objects."""

from __future__ import annotations

import inspect

import click

from kafkacomp._cli.command import cli
from kafkacomp.bench.command import bench


def _text(command: click.Command) -> str:
    return inspect.cleandoc(command.help or "").replace("\b\n", "")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _options(command: click.Command, context: click.Context) -> list[str]:
    rows = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None:
            continue
        names, help_text = record
        rows.append(f"| `{_cell(names)}` | {_cell(help_text)} |")
    return ["| Option | |", "|---|---|", *rows, ""]


def _section(command: click.Command, name: str, level: int) -> list[str]:
    context = click.Context(command, info_name=name)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    lines = [f"{'#' * level} {name}", "", _text(command), "", "```text", usage, "```", "", *_options(command, context)]
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            if found is not None:
                lines += _section(found, f"{name} {child}", level + 1)
    return lines


def page() -> str:
    """Every command with its options."""
    lines = [
        "# Commands",
        "",
        "`pip install 'kafkacomp[cli,arrow]'`. What the commands read and print, and their exit statuses:",
        "[Output of the commands](../command-line.md).",
        "",
        *_section(cli, "kafkacomp", 2),
        *_section(bench, "python -m kafkacomp.bench", 2),
    ]
    return "\n".join(lines)
