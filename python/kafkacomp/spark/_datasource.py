"""The data source ``kafkacomp``: connects Spark's interface to the modules that read and write.

The classes pickle by name, so kafkacomp must be installed on the executors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from kafkacomp.spark import _internal, _read, _sink, _stream
from kafkacomp.spark._errors import EXPECTED, briefly
from kafkacomp.spark._serialize import SentToExecutors

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType


class KafkaCompDataSource(SentToExecutors, DataSource):
    """The data source ``kafkacomp``: Kafka's log segments as a table with the columns of Spark's Kafka source.

    Options of ``spark.read``: ``columns``, ``includeHeaders``, ``topic``, ``partition``, ``subscribe``,
    ``subscribePattern``, ``assign``, ``startingOffsets``, ``endingOffsets``, ``startingTimestamp``,
    ``endingTimestamp``, ``failOnDataLoss``, ``isolationLevel``, ``mode``, ``splitSize``, ``maxOutputSize`` and others;
    ``internal`` selects a table of :mod:`kafkacomp.internal`, with ``view``, ``asOf``, ``asOfOffset``, ``showSecrets``;
    of ``df.write``: ``topic``, ``numPartitions``, ``topicId``, ``compression.type``, ``compression.level``,
    ``batch.size`` and ``segment.bytes``. An unknown option is an error that lists all of them; ``docs/spark.md``
    describes each.

    Example:
        >>> df = spark.read.format("kafkacomp").load("/backup/kafka-logs")  # doctest: +SKIP
        >>> df.where("topic = 'orders'").select("partition", "offset", "value").show()  # doctest: +SKIP
    """

    @classmethod
    def name(cls) -> str:
        """Return the name for ``format``."""
        return "kafkacomp"

    @briefly
    def schema(self) -> StructType:
        """Return the columns that the options select; they are the same for batch reads and streams."""
        return _internal.schema(self.options) if _internal.is_internal(self.options) else _read.schema(self.options)

    @briefly
    def reader(self, schema: StructType) -> DataSourceReader:
        """Create the reader of ``spark.read``."""
        if _internal.is_internal(self.options):
            return _internal.InternalReader(self.options, schema)
        return _read.reader(self.options, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - PySpark's name
        """Create the reader of ``spark.readStream``; ``simpleStreamReader`` is not needed."""
        try:
            return _stream.reader(self.options, schema)
        except EXPECTED as error:
            return _stream.RefusingStreamReader(error)

    @briefly
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Create the writer of ``df.write``."""
        return _sink.writer(self.options, schema, overwrite)

    @briefly
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 - as above
        """Create the writer of ``df.writeStream``."""
        return _sink.stream_writer(self.options, schema, overwrite)
