"""Tables of internal topics: ``spark.read.format("kafkacomp").option("internal", "consumer_offsets")``.

One task reads a table, because a state needs all records of its topic, which is small beside the data.
"""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from kafkacomp import internal
from kafkacomp._kafkacomp import internal_tables
from kafkacomp.spark._errors import EXPECTED, plain
from kafkacomp.spark._options import MAX_OUTPUT_SIZE, paths_of, storage_options_of
from kafkacomp.spark._serialize import SentToExecutors
from kafkacomp.spark._values import boolean, known, one_of, size, whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql.datasource import InputPartition
    from pyspark.sql.types import StructType

    from kafkacomp.arrow import ScanReader

#: The option that selects a table, and those that may be given with it.
INTERNAL = "internal"
_OPTIONS = (
    "path", "paths", INTERNAL, "view", "asOf", "asOfOffset", "showSecrets", "mode", "maxOutputSize", "storageOptions",
)  # fmt: skip
_VIEWS = {name: tuple(views) for name, _, views in internal_tables()}
_MOST = (1 << 63) - 1
#: Timestamps are in UTC; PySpark 4.0 has no argument for that, because they always are.
_UTC: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}


def is_internal(options: Mapping[str, str]) -> bool:
    """Whether the options select a table of an internal topic."""
    return any(name.lower() == INTERNAL for name in options)


def _arguments(options: Mapping[str, str]) -> tuple[str, list[str], dict[str, Any]]:
    """The table, the paths and the arguments of its function."""
    given = known(options, _OPTIONS)
    table = one_of(INTERNAL, given[INTERNAL], *_VIEWS)
    arguments: dict[str, Any] = {
        "view": one_of("view", given.get("view", _VIEWS[table][0]), *_VIEWS[table]),
        "on_error": "raise" if one_of("mode", given.get("mode", "FAILFAST"), "FAILFAST", "DROPMALFORMED") == "FAILFAST"
        else "skip",
        "max_output_size": size("maxOutputSize", given.get("maxOutputSize", MAX_OUTPUT_SIZE), _MOST),
        "storage_options": storage_options_of(given),
        "threads": 1,
    }  # fmt: skip
    for option, name in (("asOf", "as_of"), ("asOfOffset", "as_of_offset")):
        if option in given:
            arguments[name] = whole(option, given[option], 0, _MOST)
    if boolean("showSecrets", given.get("showSecrets", "false")):
        if table != "cluster_metadata":
            raise ValueError(f"showSecrets belongs to cluster_metadata: {table} has no secrets")
        arguments["show_secrets"] = True
    return table, list(paths_of(given)), arguments


def _read(table: str, paths: list[str], arguments: dict[str, Any]) -> ScanReader:
    reader: ScanReader = getattr(internal, table)(paths, **arguments)
    return reader


def schema(options: Mapping[str, str]) -> StructType:
    """The columns of the table's view."""
    with _read(*_arguments(options)) as reader:
        return from_arrow_schema(reader.schema)


class InternalReader(SentToExecutors, DataSourceReader):
    """Reads a table in one task."""

    def __init__(self, options: Mapping[str, str], columns: StructType) -> None:
        """Check the options, and whether the columns are those of the table."""
        self._what = _arguments(options)
        self._columns = columns
        expected = schema(options)
        if columns != expected:
            raise ValueError(f"the columns of {self._what[0]} are {expected.simpleString()}: give no other schema")

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002 - there is one
        """The rows as Arrow batches."""
        try:
            with _read(*self._what) as reader:
                kind = to_arrow_schema(self._columns, **_UTC)
                for batch in reader:
                    yield batch.cast(kind)
        except EXPECTED as error:
            raise plain(error) from None
