"""``kafkacomp tiered``, and the options of the commands that read tiered storage."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kafkacomp._cli.common import complain, say_json, together, waiting
from kafkacomp._cli.tables import Column, show_table, width_of_output
from kafkacomp._click import parsed
from kafkacomp._exit_status import CORRUPT, FINE
from kafkacomp._storage.files import list_files
from kafkacomp._storage.filesystem import open_filesystem
from kafkacomp._storage.listing import failure_text
from kafkacomp._text import printable
from kafkacomp.log._rows import NOT_FILES
from kafkacomp.tiered.inspect import SegmentInfo, inspect
from kafkacomp.tiered.resolve import TieredOptions
from kafkacomp.tiered.source import SourceOptions, Tiered

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkacomp._storage.files import Files
    from kafkacomp._storage.partition import Partition
    from kafkacomp._storage.selection import Choice
    from kafkacomp.exceptions import CorruptRecordError

_STORAGE_OPTION = "--storage-option"
_COLUMNS = (
    Column("partition", is_name=True), Column("segment", is_name=True), Column("state", is_name=True),
    Column("offsets", is_name=True), Column("epochs", 3, is_name=True), Column("size", 2), Column("stored", 2),
    Column("chunks", 4, is_name=True), Column("key", 5, is_name=True), Column("read", 1, is_name=True),
)  # fmt: skip


def _key(text: str) -> tuple[str, str]:
    key_id, equals, path = text.partition("=")
    if not equals or not key_id or not path:
        # The message omits the text, which may be a key.
        raise ValueError("expected ID=PATH, the id of a key pair and the path of its private key")
    return key_id, path


def _storage_option(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        # The message omits the text, which may be a credential.
        raise ValueError("expected NAME=VALUE")
    if value[:1] not in {"{", "["} and value not in {"true", "false", "null"}:
        return name, value
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        raise ValueError(f"the value of {name} begins like JSON, but is not valid JSON") from None


def without_credentials(arguments: Iterable[str]) -> list[str]:
    """The arguments of a command for display, without the values of storage options."""
    found: list[str] = []
    for argument in arguments:
        option, equals, value = argument.partition("=")
        if found[-1:] == [_STORAGE_OPTION]:
            found.append(f"{option}=...")
        elif option == _STORAGE_OPTION and equals:
            found.append(f"{option}={value.partition('=')[0]}=...")
        else:
            found.append(argument)
    return found


#: An option of all commands that read URLs.
STORAGE_OPTIONS = click.option(
    _STORAGE_OPTION,
    "storage_options",
    multiple=True,
    metavar="NAME=VALUE",
    callback=parsed(lambda values: dict(map(_storage_option, values)) or None),
    help="An option with which fsspec opens the file system of a URL, such as a credential or an endpoint. Can be "
    "repeated. A value that is a JSON object or array, true, false or null is parsed.",
)


ENCRYPTION_KEYS = click.option(
    "--encryption-key",
    "encryption_keys",
    multiple=True,
    metavar="ID=PATH",
    callback=parsed(lambda values: dict(map(_key, values)) or None),
    help="Tiered storage: a private key in PEM form, by the id of its key pair. Can be repeated.",
)


#: The options that :data:`tiered_options` and :data:`STORAGE_OPTIONS` add to a command.
TIERED = ("storage_options", "remote_log_metadata", "local_log_dir", "encryption_keys")


def opening_of(
    storage_options: dict[str, object] | None = None,
    remote_log_metadata: str | None = None,
    local_log_dir: str | None = None,
    encryption_keys: dict[str, str] | None = None,
) -> SourceOptions:
    """Where the data are, by the options of a command."""
    tiered = Tiered(
        remote_log_metadata=remote_log_metadata, local_log_dir=local_log_dir, encryption_keys=encryption_keys
    )
    return SourceOptions(storage_options=storage_options, tiered=None if tiered == Tiered() else tiered)


def files_of(
    sources: Iterable[str],
    encryption_keys: dict[str, str] | None,
    storage_options: dict[str, object] | None,
    choice: Choice | None = None,
) -> Files:
    """List the files at paths and URLs; segments that Aiven's plugin has stored are decoded."""
    opening = opening_of(encryption_keys=encryption_keys, storage_options=storage_options)
    with waiting("listing files"):
        return list_files(sources, opening.opened, opening.chunked, choice)


def partitions_of(
    paths: object,
    choice: Choice | None = None,
    **opening: Any,  # noqa: ANN401 - handed on
) -> tuple[list[Partition], dict[str, str]]:
    """The partitions of paths, and why manifests could not be read: the other segments are read nevertheless."""
    unreadable: dict[str, str] = {}

    def failed(path: str, error: OSError | CorruptRecordError) -> None:
        if isinstance(error, OSError) and error.errno not in NOT_FILES:
            raise error
        unreadable[path] = failure_text(path, error)

    with waiting("listing segments"):
        return opening_of(**opening).resolve(paths, failed=failed, choice=choice), unreadable


#: The options of the commands that read tiered storage.
tiered_options = together(
    click.option("--remote-log-metadata", type=click.Path(),
                 help="Tiered storage: a folder with the partitions of __remote_log_metadata."),
    click.option(
        "--local-log-dir", type=click.Path(),
        help="Tiered storage: the log directory of the partitions' leader, or the partition's folder in it.",
    ),
    ENCRYPTION_KEYS,
    STORAGE_OPTIONS,
)  # fmt: skip


@click.command()
@click.argument("path")
@tiered_options
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each segment.")
def tiered(path: str, as_json: bool, **options: Any) -> int:  # noqa: ANN401 - handed on
    """List the segments of a remote storage.

    For each segment the state, offsets, leader epochs and sizes are shown, and the offsets that are read. PATH is a
    folder or URL of a remote storage of Kafka's LocalTieredStorage or Aiven's plugin, or a folder in it. Without
    --remote-log-metadata the states are unknown; without --local-log-dir the valid offsets of overlapping segments are
    unknown. The exit status is 1 if a manifest cannot be read or two segments have the same id.
    """
    opened = partial(open_filesystem, storage_options=options["storage_options"])
    with waiting("reading manifests"):
        found = inspect(path, TieredOptions.of(**options), opened)
    problems = [each for each in found if each.problem is not None]
    for each in problems:
        complain(f"{each.topic}-{each.partition}: segment {each.id}: {each.problem}")
    status = CORRUPT if problems else FINE
    if as_json:
        for each in found:
            say_json(each.as_dict())
        return status
    show_table(_COLUMNS, [_cells(each) for each in found], width=width_of_output())
    return status


def _cells(each: SegmentInfo) -> list[str]:
    offsets = "" if each.end_offset is None else f"{each.start_offset} to {each.end_offset}"
    epochs = ", ".join(f"{epoch}: {start}" for epoch, start in sorted((each.leader_epochs or {}).items()))
    valid = each.valid_offsets
    read = "" if valid is None else ", ".join(f"{first} to {last}" for first, last in valid) or "nothing"
    numbers = ["" if number is None else f"{number:,}" for number in (each.size, each.stored_size)]
    name = f"{each.topic}-{each.partition}"
    return [
        printable(name), printable(each.id), each.state or "", offsets or f"from {each.start_offset}", epochs, *numbers,
        each.chunks or "", printable(each.key_id or ""), read,
    ]  # fmt: skip
