"""The columns as Spark types: those of Spark's Kafka source, and the further columns of a scan.

The Arrow schema of batches must equal ``pyspark.sql.pandas.types.to_arrow_schema(schema, timezone="UTC")`` field by
field, including the names inside ``headers`` and nullability: Spark 4.2 and later compare them.
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
    """The schema of these columns; ``corrupt_column`` is the one for corrupt ranges."""
    types = TYPES if corrupt_column is None else {**TYPES, corrupt_column: StringType()}
    return StructType([StructField(name, types[name]) for name in names])


def check_schema(schema: StructType, corrupt_column: str) -> None:
    """Refuse a user's schema that does not fit the columns.

    Raises:
        ValueError: the message has the name of the column.
    """
    seen = set()
    types = {**TYPES, corrupt_column: StringType()}
    for field in schema.fields:
        known = types.get(field.name)
        if known is None:
            raise ValueError(f"the schema has an unknown column {field.name!r}: expected {', '.join(types)}")
        if field.dataType != known:
            kinds = known.simpleString(), field.dataType.simpleString()
            if kinds[0] == kinds[1]:
                raise ValueError(f"the schema must declare all fields of column {field.name!r} as nullable")
            raise ValueError(f"the schema must declare column {field.name!r} as {kinds[0]}, not {kinds[1]}")
        if not field.nullable:
            raise ValueError(f"the schema must declare column {field.name!r} as nullable")
        if field.name in seen:
            raise ValueError(f"the schema has column {field.name!r} twice")
        seen.add(field.name)
    if not seen:
        raise ValueError(f"the schema is empty: expected some of {', '.join(types)}")
