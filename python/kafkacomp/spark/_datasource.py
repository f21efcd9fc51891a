"""The data source ``kafkacomp``: which module does what.

The classes pickle by name, so kafkacomp must be installed where the executors are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from kafkacomp.spark import _read, _sink, _stream
from kafkacomp.spark._errors import EXPECTED, briefly
from kafkacomp.spark._serialize import Shipped

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType

__all__ = ["KafkaCompDataSource"]


class KafkaCompDataSource(Shipped, DataSource):
    """Kafka's log segments as a table with the columns of Spark's Kafka source."""

    @classmethod
    def name(cls) -> str:
        """The name for ``format``."""
        return "kafkacomp"

    @briefly
    def schema(self) -> StructType:
        """The columns that the options ask for; batches and streams have the same."""
        return _read.schema(self.options)

    @briefly
    def reader(self, schema: StructType) -> DataSourceReader:
        """What ``spark.read`` reads with."""
        return _read.reader(self.options, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - PySpark's name
        """What ``spark.readStream`` reads with; there is no need of a ``simpleStreamReader``."""
        try:
            return _stream.reader(self.options, schema)
        except EXPECTED as error:
            return _stream.RefusingStreamReader(error)

    @briefly
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """What ``df.write`` writes with."""
        return _sink.writer(self.options, schema, overwrite)

    @briefly
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 - as above
        """What ``df.writeStream`` writes with."""
        return _sink.stream_writer(self.options, schema, overwrite)
