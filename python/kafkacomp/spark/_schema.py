"""The columns as Spark types: those of Spark's Kafka source, and what a scan can add.

Arrow's side of it is what ``pyspark.sql.pandas.types.to_arrow_schema(schema, timezone="UTC")`` makes of these, field
by field (names inside ``headers`` and nullability too): Spark 4.2 and later compare it with every reader's batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["TYPES", "check_schema", "struct_of"]

_HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])

#: The Spark type of each column of a scan; all are nullable, as in Spark's Kafka source.
TYPES: dict[str, DataType] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
    "headers": ArrayType(_HEADER),
    "leaderEpoch": IntegerType(),
    "magic": ByteType(),
    "compressionType": StringType(),
    "baseOffset": LongType(),
    "position": LongType(),
    "segment": StringType(),
    "producerId": LongType(),
    "producerEpoch": ShortType(),
    "sequence": IntegerType(),
    "isTransactional": BooleanType(),
    "isControl": BooleanType(),
}


def struct_of(names: Iterable[str], corrupt_column: str | None = None) -> StructType:
    """The schema of these columns, of which one may be that of damage."""
    types = TYPES if corrupt_column is None else {**TYPES, corrupt_column: StringType()}
    return StructType([StructField(name, types[name]) for name in names])


def check_schema(schema: StructType, corrupt_column: str) -> None:
    """Refuse a schema that a user gave and the columns do not have.

    Raises:
        ValueError: with the name of the column.
    """
    seen = set()
    types = {**TYPES, corrupt_column: StringType()}
    for field in schema.fields:
        known = types.get(field.name)
        if known is None:
            raise ValueError(f"unknown column {field.name!r} in the schema; there are {', '.join(types)}")
        if field.dataType != known:
            kinds = known.simpleString(), field.dataType.simpleString()
            if kinds[0] == kinds[1]:
                raise ValueError(f"column {field.name!r} is nullable in all its parts, which the schema denies")
            raise ValueError(f"column {field.name!r} is {kinds[0]}, not {kinds[1]} as the schema says")
        if not field.nullable:
            raise ValueError(f"column {field.name!r} is nullable, which the schema denies")
        if field.name in seen:
            raise ValueError(f"column {field.name!r} is twice in the schema")
        seen.add(field.name)
    if not seen:
        raise ValueError(f"the schema has no column; there are {', '.join(types)}")
