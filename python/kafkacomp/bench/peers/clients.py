"""Python's Kafka clients: their codecs, their batch builders and their readers of records."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from kafkacomp import CompressionType
from kafkacomp._codecs.levels import DEFAULT_LEVELS
from kafkacomp.bench.peers.base import NotComparableError, Peer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kafkacomp._codecs.levels import Codec
    from kafkacomp.bench.batches import Row
    from kafkacomp.bench.peers.base import Bytes, Read
    from kafkacomp.bench.stages import Cell

#: The gzip level of aiokafka and kafka-python, which cannot be changed.
_GZIP_LEVEL: Final = 9
#: Larger than any batch of a workload.
_BATCH_SIZE: Final = 1 << 31
_GZIP, _LZ4, _ZSTD = CompressionType.GZIP, CompressionType.LZ4, CompressionType.ZSTD


class _Client(Peer):
    """The common part of both clients, one of which began as a copy of the other."""

    #: The client's modules: codec functions, batch builder, reader of record sets.
    modules: ClassVar[tuple[str, str, str]]
    #: The levels at which its batch builder compresses.
    fixed_levels: ClassVar[dict[CompressionType, int]]

    def __init__(self) -> None:
        self.codec, self.default_records, self.memory_records = map(import_module, self.modules)

    def function(self, codec: Codec, name: str) -> Any:  # noqa: ANN401 - the client's
        """Return the codec's function ``encode`` or ``decode``."""
        if codec.type is CompressionType.NONE:
            raise NotComparableError("has no codec for none")
        return getattr(self.codec, f"{codec.type}_{name}")

    def compressor(self, codec: Codec) -> Bytes:
        """Return the codec's function if it accepts the level."""
        encode = self.function(codec, "encode")
        gzip_level = {"compresslevel": 6 if codec.level == -1 else codec.level}
        arguments = gzip_level if codec.type is _GZIP else self.arguments(codec)
        return lambda data: encode(data, **arguments)

    def arguments(self, codec: Codec) -> dict[str, int | None]:
        """Return the arguments that pass the level to the functions of other codecs than gzip."""
        raise NotImplementedError

    def decompressor(self, codec: Codec, largest: int) -> Bytes:
        """Return the codec's function."""
        del largest
        return cast("Bytes", self.function(codec, "decode"))

    def builder(self, codec: Codec) -> Callable[[Sequence[Row], int], bytes]:
        """Return its builder, which always begins at offset 0, as producers do."""
        if codec.level != self.fixed_levels.get(codec.type):
            raise NotComparableError(f"its builder has no levels: {codec.type} is not built at {codec.level}")
        kind = self.default_records.DefaultRecordBatchBuilder
        ours = int(codec.type)

        def build(rows: Sequence[Row], base_offset: int) -> bytes:
            del base_offset
            made = kind(2, ours, 0, -1, -1, -1, _BATCH_SIZE)
            for at, (timestamp, key, value, headers) in enumerate(rows):
                made.append(at, timestamp, key, value, list(headers))
            return bytes(made.build())

        return build

    def iterate(self, log: bytes) -> None:
        """Read as its fetcher does: verify the CRC, read every field."""
        records = self.memory_records.MemoryRecords(log)
        while (batch := records.next_batch()) is not None:
            if not batch.validate_crc():
                raise RuntimeError(f"{self.name} finds a wrong checksum")
            for each in batch:
                _ = each.offset, each.timestamp, each.key, each.value, each.headers

    def records(self, cell: Cell) -> Read:
        """Read the records for the comparison with ours."""
        records = self.memory_records.MemoryRecords(cell.log)
        while (batch := records.next_batch()) is not None:
            for each in batch:
                yield each.offset, each.timestamp, each.key, each.value, [(name, value) for name, value in each.headers]


class AioKafka(_Client):
    """aiokafka: codecs of cramjam, records by its compiled module if the wheel has it."""

    name = "aiokafka"
    modules = ("aiokafka.codec", "aiokafka.record.default_records", "aiokafka.record.memory_records")
    # Without LZ4: it always uses liblz4's high compressor, which no level of Kafka's corresponds to.
    fixed_levels: ClassVar = {_GZIP: _GZIP_LEVEL, _ZSTD: DEFAULT_LEVELS[_ZSTD]}

    def __init__(self) -> None:
        import_module("cramjam")  # aiokafka's codecs need it, though not at its import
        super().__init__()

    def arguments(self, codec: Codec) -> dict[str, int | None]:
        """Return the level; that of LZ4 is liblz4's, which does not have Kafka's default, the fast compressor."""
        if codec.type is _LZ4 and codec.level == DEFAULT_LEVELS[_LZ4]:
            raise NotComparableError("its LZ4 level 9 is the high compressor, Kafka's the fast one")
        return {} if codec.level is None else {"level": codec.level}


class KafkaPython(_Client):
    """kafka-python, written in Python; codecs of python-snappy, python-lz4 and zstandard."""

    name = "kafka-python"
    modules = ("kafka.codec", "kafka.record.default_records", "kafka.record.memory_records")
    fixed_levels: ClassVar = {_GZIP: _GZIP_LEVEL, _LZ4: DEFAULT_LEVELS[_LZ4], _ZSTD: DEFAULT_LEVELS[_ZSTD]}

    def arguments(self, codec: Codec) -> dict[str, int | None]:
        """Return none: its codecs have no levels."""
        if codec.level != self.fixed_levels.get(codec.type):
            raise NotComparableError(f"has no levels of {codec.type}")
        return {}

    def function(self, codec: Codec, name: str) -> Any:  # noqa: ANN401 - the client's
        """Return the codec's function if its library is installed."""
        if codec.type is not CompressionType.NONE and not getattr(self.codec, f"has_{codec.type}")():
            raise NotComparableError(f"its library for {codec.type} is not installed")
        return super().function(codec, name)
