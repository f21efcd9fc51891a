"""Every option of public functions and of subcommands takes a value or refuses it by an error that says why.

The values are those of ``test_extreme_arguments``; here the other arguments are valid, so that an option that nothing
checks comes as far as the work.
"""

from __future__ import annotations

import inspect
import io
import itertools
from typing import TYPE_CHECKING, Any

import click
import pyarrow as pa
import pytest

import kafkacomp as kc
from kafkacomp import broker, gzip, log, lz4, message_set, record, snappy, zstd
from kafkacomp._cli import main
from kafkacomp._cli.command import cli
from kafkacomp._codecs.levels import parse_codecs
from kafkacomp.advice import Settings
from test_extreme_arguments import VALUES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS = pa.table({"value": [b"v" * 50] * 100})
NUMBERS = itertools.count()
SEGMENT = f"{0:020}.log"
TOPIC: dict[str, Any] = {"topic": "t"}
MAGIC: dict[str, Any] = {"to_magic": 2}
QUICK: dict[str, Any] = {"settings": Settings(codecs=tuple(parse_codecs("none")), batch_sizes=(1,))}
CONFIG: dict[str, Any] = {"source_compression_type": "none", "target_compression_type": "lz4"}


def new(folder: Path) -> Path:
    return folder / f"new{next(NUMBERS)}-0"


def stream(module: Any, options: dict[str, Any]) -> None:
    """Write a file and read it; an option that only one of the modes has is refused in the other."""
    sink = io.BytesIO()
    with module.open(sink, **({"mode": "wb"} | options)) as file:
        file.write(b"value")
    with module.open(io.BytesIO(module.compress(b"value")), **options) as file:
        file.read(3)


def validated(data: bytes, options: dict[str, Any]) -> None:
    broker.LogValidator(broker.ValidatorConfig(**(CONFIG | options))).validate_messages_and_assign_offsets(data)


#: What has the options, and a call with them; it gets a partition's folder, its segment's content and a new folder.
Call = tuple["Callable[..., Any]", "Callable[[Path, bytes, Path, dict[str, Any]], Any]"]
CALLS: dict[str, Call] = {
    "scan": (kc.scan, lambda source, _data, _made, given: list(kc.scan(source, **given))),
    "ScanOptions": (
        kc.ScanOptions,
        lambda source, _data, _made, given: list(kc.scan(source, options=kc.ScanOptions(**given))),
    ),
    "Tiered": (kc.Tiered, lambda source, _data, _made, given: list(kc.scan(source, tiered=kc.Tiered(**given)))),
    "diff": (log.diff, lambda source, _data, _made, given: log.diff(source, source, **given)),
    "write": (kc.write, lambda _source, _data, made, given: kc.write(ROWS, made, **(TOPIC | given))),
    "recompress": (log.recompress, lambda source, _data, made, given: log.recompress(source, made, **given)),
    "repair": (log.repair, lambda source, _data, made, given: log.repair(source, made, **given)),
    "convert": (log.convert, lambda source, _data, made, given: log.convert(source, made, **(MAGIC | given))),
    "verify_segment": (log.verify_segment, lambda source, _d, _m, given: log.verify_segment(source / SEGMENT, **given)),
    "verify_partition": (log.verify_partition, lambda source, _d, _m, given: log.verify_partition(source, **given)),
    "LogDir": (
        log.LogDir,
        lambda source, _data, _made, given: log.LogDir(source.parent, **given).partitions,
    ),
    "advise": (kc.advise, lambda source, _data, _made, given: kc.advise(source, **(QUICK | given))),
    "Settings": (Settings, lambda _source, _data, _made, given: Settings(**given)),
    "build_batches": (record.build_batches, lambda _source, _d, _m, given: record.build_batches(ROWS, **given)),
    "record.convert": (record.convert, lambda _source, data, _made, given: record.convert(data, 2, **given)),
    "read_batches": (
        record.read_batches,
        lambda _source, data, _made, given: [list(batch) for batch in record.read_batches(data, **given)],
    ),
    "open_batches": (
        record.open_batches,
        lambda source, _data, _made, given: list(record.open_batches(source / SEGMENT, **given)),
    ),
    "write_log": (
        message_set.write_log,
        lambda _source, _data, made, given: message_set.write_log([b"a"], made, **(TOPIC | given)),
    ),
    "write_messages": (
        message_set.write_messages,
        lambda _source, _data, _made, given: message_set.write_messages([b"a"], **given),
    ),
    "ValidatorConfig": (broker.ValidatorConfig, lambda _source, data, _made, given: validated(data, given)),
    "validate": (
        broker.LogValidator.validate_messages_and_assign_offsets,
        lambda _source, data, _made, given: broker.LogValidator(
            broker.ValidatorConfig(**CONFIG)
        ).validate_messages_and_assign_offsets(data, **given),
    ),
    "LogValidator": (
        lambda config=None: config,
        lambda _source, _data, _made, given: broker.LogValidator(given["config"]),
    ),
    "trim_invalid_bytes": (
        lambda info=None: info,
        lambda _source, data, _made, given: broker.trim_invalid_bytes(data, given["info"]),
    ),
    "analyze": (
        broker.analyze_and_validate_records,
        lambda _source, data, _made, given: broker.analyze_and_validate_records(data, **given),
    ),
    **{
        f"{module.__name__}.open": (module.open, lambda _s, _d, _m, given, module=module: stream(module, given))  # type: ignore[misc]
        for module in (gzip, snappy, lz4, zstd)
    },
    **{
        f"{module.__name__}.compress": (
            module.compress,
            lambda _s, data, _m, given, module=module: module.decompress(module.compress(data, **given)),  # type: ignore[misc]
        )
        for module in (gzip, lz4, zstd)
    },
}
#: An ``OSError`` is about a path, a ``MemoryError`` about memory that no machine has.
REFUSED = (ValueError, TypeError, OverflowError, OSError, MemoryError, kc.KafkaCompError)


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    kc.write(ROWS, tmp_path / "logs", topic="t", compression_type="none")
    return tmp_path / "logs" / "t-0"


@pytest.mark.parametrize("name", CALLS)
def test_every_option(partition: Path, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    function, call = CALLS[name]
    monkeypatch.chdir(tmp_path)
    data = (partition / SEGMENT).read_bytes()
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = [each for each in inspect.signature(function).parameters.values() if each.kind not in kinds]
    options = [each.name for each in parameters if each.default is not each.empty or name == "ValidatorConfig"]
    assert options
    for option, value in itertools.product(options, VALUES):
        text = ""
        try:
            call(partition, data, new(tmp_path), {option: value})
        except REFUSED as error:
            text = str(error) or type(error).__name__
        except BaseException as error:
            raise AssertionError(f"{option}={value!r}: {error!r}") from error
        assert text not in {each.__name__ for each in REFUSED if each is not MemoryError}, f"{option}={value!r}"
    assert pa.table(kc.scan(partition)).num_rows == 100


LONG = "9" * 5000
WORDS = ("", "-1", "0", "1", "inf", "-inf", "nan", "1e400", f"{2**63 - 1}", f"{2**63}", LONG, "\x1b[2J", "a=b", "\0")
COMMANDS: dict[str, Callable[[Path, Path], list[str]]] = {
    "advise": lambda source, _: [str(source), "--codecs", "none", "--batch-sizes", "1"],
    "convert": lambda source, made: [str(source), str(made), "--to-magic", "2"],
    "diff": lambda source, _: [str(source), str(source)],
    "dump": lambda source, _: [str(source)],
    "export": lambda source, made: [str(source), "--output", f"{made}.csv"],
    "groups": lambda source, _: [str(source)],
    "info": lambda source, _: [str(source)],
    "recompress": lambda source, made: [str(source), str(made)],
    "repair": lambda source, made: [str(source), str(made)],
    "tiered": lambda source, _: [str(source)],
    "topics": lambda source, _: [str(source)],
    "transactions": lambda source, _: [str(source)],
    "validate": lambda source, _: [str(source / SEGMENT)],
    "verify": lambda source, _: [str(source)],
}


@pytest.mark.parametrize("command", sorted(cli.commands))
def test_every_option_of_a_subcommand(
    partition: Path,
    command: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """An exit status of the documented ones; whatever else an exception would be comes through ``main``."""
    monkeypatch.chdir(tmp_path)
    options = [each for each in cli.commands[command].params if isinstance(each, click.Option) and not each.is_flag]
    assert options
    for option, word in itertools.product(options, WORDS):
        arguments = COMMANDS[command](partition, new(tmp_path))
        status = main([command, *arguments, f"{option.opts[-1]}={word}"])
        shown = capsys.readouterr()
        assert status in {0, 1, 2, 3}, f"{option.opts[-1]}={word[:50]!r}"
        assert "\x1b" not in shown.out + shown.err
        assert shown.err or status in {0, 1}
