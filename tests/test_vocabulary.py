"""One word for one thing: signatures, options of the command line and options of Spark against docs/glossary.md."""

from __future__ import annotations

import enum
import importlib
import inspect
import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import kafkacomp as kc
from kafkacomp import broker, log, message_set, record
from kafkacomp._cli.command import cli
from kafkacomp.spark import _options, _write_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GLOSSARY = Path(__file__).resolve().parent.parent / "docs" / "glossary.md"
CODECS = ("gzip", "lz4", "snappy", "zstd")
MODULES = ("", "record", "message_set", "log", "broker", "arrow", "advice", "spark", *CODECS)
#: Classes that describe results, and settings with the words of Kafka's configuration.
RESULTS = re.compile(
    r"(Report|Repair|Entry|Metadata|Info|Result|ControlRecord|Range|Prices|Traffic|ProducerCompression)$"
)
#: Words that a function has from elsewhere: of PEP 784, of Spark's functions, of Kafka's LogValidator.
BORROWED = {
    "kafkacomp.spark": {"col", "df", "column", "keep", "schema", "overwrite", "spark", "settings"},
    "LogAppendInfo": {"leader_epoch"},
    "kafkacomp.broker": {"leader_epoch", "config", "source", "broker", "records"},
    "Record": {"value", "key", "headers", "timestamp", "sequence", "is_valid"},
    "kafkacomp.advice": {"settings"},
    "LogDir": {"path"},
    "BrokerProfile": {"version"},
}


class Row(NamedTuple):
    """A row of the glossary's table of names."""

    python: frozenset[str]
    command_line: frozenset[str]
    spark: frozenset[str]
    refused: frozenset[str]


def rows() -> list[Row]:
    table = GLOSSARY.read_text(encoding="utf-8").partition("| Python | Command line |")[2]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    lists = [[cell.strip() for cell in line[1:].split("|")] for line in lines]
    return [Row(*(frozenset(re.findall("`([^`]+)`", row[index])) for index in (0, 1, 2, 4))) for row in lists]


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Each public function, class and method, with the name of its module or class."""
    for name in MODULES:
        module = importlib.import_module(f"kafkacomp.{name}" if name else "kafkacomp")
        for each in module.__all__:
            found = getattr(module, each)
            if inspect.isclass(found):
                if issubclass(found, BaseException | enum.Enum | tuple) or RESULTS.search(each):
                    continue
                yield each, found
                for method, value in vars(found).items():
                    if not method.startswith("_") and callable(value):
                        yield each, value
            elif inspect.isroutine(found):
                yield module.__name__, found


def parameters() -> dict[str, set[str]]:
    """The names of parameters, and where they occur."""
    names: dict[str, set[str]] = defaultdict(set)
    for where, function in functions():
        try:
            signature = inspect.signature(function)
        except ValueError:
            continue  # a class of the extension module that has no constructor
        for name, parameter in signature.parameters.items():
            if name != "self" and parameter.kind not in {parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL}:
                names[name].add(where)
    return names


def options() -> dict[str, set[str]]:
    """The long options of the command line, and the commands that have them."""
    names: dict[str, set[str]] = defaultdict(set)
    for command in cli.commands.values():
        for parameter in command.params:
            for name in (*parameter.opts, *parameter.secondary_opts):
                if name.startswith("--"):
                    names[name].add(str(command.name))
    return names


SPARK = frozenset(_options.OPTIONS) | frozenset(_write_options.OPTIONS)


def in_python(name: str) -> str:
    """The spelling of an option in Python."""
    name = name.strip("-").replace("-", "_").replace(".", "_")
    return re.sub("([A-Z])", r"_\1", name).lower()


def test_every_name_of_the_glossary_exists() -> None:
    python, command_line = parameters(), options()
    for row in rows():
        assert row.python <= python.keys(), row
        assert row.command_line <= command_line.keys(), row
        assert row.spark <= SPARK, row


def test_names_that_several_interfaces_have_are_in_the_glossary() -> None:
    python, command_line = set(parameters()), set(options())
    table = rows()
    for name in sorted(command_line | SPARK):
        spelt = in_python(name)
        where = [row for row in table if name in row.command_line | row.spark]
        if spelt in python:
            assert where, f"{name} and {spelt} are not in docs/glossary.md"


def test_names_that_many_functions_have_are_in_the_glossary() -> None:
    known = {name for row in rows() for name in row.python}
    for name, found in parameters().items():
        places = found - {f"kafkacomp.{codec}" for codec in CODECS} - set(BORROWED)
        places = {each for each in places if not re.match("Gzip|Snappy|LZ4|Zstd|BatchReader|BatchStream", each)}
        if len(places) >= 3:
            assert name in known, f"{name} of {', '.join(sorted(places))} is not in docs/glossary.md"


def test_no_signature_and_no_option_has_another_word() -> None:
    table = rows()
    for row in table:
        for word in row.refused:
            allowed = {name for each in table for name in each.python}
            places = parameters().get(word, set()) - {place for place, words in BORROWED.items() if word in words}
            assert not places or word in allowed, f"{word} of {places}: the word is {row}"
            option = "--" + word.replace("_", "-")
            allowed_options = {name for each in table for name in each.command_line}
            assert option not in options() or option in allowed_options, f"{option}: the word is {row}"


def test_compression_types_are_names() -> None:
    """Defaults are what a caller would write, in Python, on the command line and in Spark."""
    for where, function in functions():
        try:
            parameter = inspect.signature(function).parameters.get("compression_type")
        except ValueError:
            continue
        if parameter is not None and parameter.default is not parameter.empty:
            assert type(parameter.default) is str, (where, parameter)
    for command in cli.commands.values():
        for each in command.params:
            if each.name == "compression_type":
                assert isinstance(each.default, str), command.name
    assert str(_write_options.parse({"path": "/x", "topic": "t"}).compression_type) == "zstd"


WITH_TYPES: dict[str, Callable[[Any], object]] = {
    "compress": lambda kind: kc.compress(b"", kind),
    "decompress": lambda kind: kc.decompress(b"", kind),
    "open": lambda kind: kc.open("missing", kind),
    "write": lambda kind: kc.write({}, "missing", topic="t", compression_type=kind),  # type: ignore[arg-type]
    "RecordBatchBuilder": lambda kind: record.RecordBatchBuilder(compression_type=kind),
    "build_batches": lambda kind: record.build_batches({}, compression_type=kind),  # type: ignore[arg-type]
    "estimate": lambda kind: record.estimate_batch_size_upper_bound(b"", compression_type=kind),
    "recompress": lambda kind: log.recompress("missing", "target", compression_type=kind),
    "write_messages": lambda kind: message_set.write_messages([], kind),
    "ValidatorConfig": lambda kind: broker.ValidatorConfig(source_compression_type=kind, target_compression_type="lz4"),
}


@pytest.mark.parametrize("entry", WITH_TYPES)
def test_wrong_compression_types_are_refused_by_name(entry: str) -> None:
    for wrong in (None, True, 1.5, b"zstd", ["zstd"]):
        with pytest.raises(TypeError, match=r"compression_type must be a CompressionType or its name, not \w+$"):
            WITH_TYPES[entry](wrong)
    with pytest.raises(
        ValueError, match="invalid compression type 'lz5': expected one of none, gzip, snappy, lz4, zstd"
    ):
        WITH_TYPES[entry]("lz5")


def test_none_is_no_level_but_the_default() -> None:
    assert kc.compress(b"x", "gzip", compression_level=None) == kc.compress(b"x", "gzip")
