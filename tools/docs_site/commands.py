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


def _value(option: click.Option) -> str:
    if option.is_flag:
        return ""
    if isinstance(option.type, click.Choice):
        return ", ".join(f"`{choice}`" for choice in option.type.choices)
    if isinstance(option.type, click.Path):
        return "path"
    if isinstance(option.type, click.types.IntParamType):
        return "integer"
    return "number" if isinstance(option.type, click.types.FloatParamType) else "text"


def _options(command: click.Command, context: click.Context) -> list[str]:
    rows = []
    for option in command.get_params(context):
        record = option.get_help_record(context)
        if isinstance(option, click.Option) and record is not None:
            names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
            rows.append(f"| {names} | {_value(option)} | {_cell(record[1])} |")
    return ["| Option | Value | Meaning |", "|---|---|---|", *rows, ""]


def _section(command: click.Command, name: str, level: int) -> list[str]:
    context = click.Context(command, info_name=name, help_option_names=["-h", "--help"])
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
