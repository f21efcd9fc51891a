"""What one batch costs in each message format, and how records become what a codec is given.

=========  ==============================================  ============================  ===============
format     around compressed records                       uncompressed                  codecs
=========  ==============================================  ============================  ===============
2          the batch's header, 61 bytes (KIP-98)           the same header               all five
1, 0       a wrapper message, 34 or 26 bytes (KIP-32)      nothing: messages stand bare  not zstd
0.7        a wrapper message, 10 bytes                     nothing                       gzip, snappy
=========  ==============================================  ============================  ===============
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kafkacomp import message_set, record
from kafkacomp._types import CompressionType

if TYPE_CHECKING:
    import pyarrow as pa

    from kafkacomp.bench.spec import Codec

__all__ = ["FORMATS", "MODERN", "OLDEST", "Format", "allowed"]


@dataclass(frozen=True)
class Format:
    """One message format."""

    name: str
    #: As :func:`kafkacomp.compress` takes it; 0.7's snappy and gzip are framed as magic 0's.
    magic: int
    #: Bytes that a compressed batch has around its records.
    overhead: int
    #: The same of an uncompressed one.
    plain_overhead: int
    codecs: frozenset[CompressionType]

    def section(self, rows: pa.RecordBatch) -> bytes:
        """The records of one batch before compression, without what stands around them."""
        if self.name == OLDEST:
            return message_set.write_messages(value.as_py() or b"" for value in rows.column("value"))
        builder = record.RecordBatchBuilder(self.magic, CompressionType.NONE)
        builder.append_arrow(rows)
        return builder.build()[self.plain_overhead :]

    def size(self, codec: Codec, compressed: int) -> int:
        """The bytes of a batch whose records have this many bytes in this codec."""
        plain = codec.type is CompressionType.NONE
        return compressed + (self.plain_overhead if plain else self.overhead)

    def refusal(self, kind: CompressionType) -> str | None:
        """Why a topic of this format cannot have a codec; None if it can."""
        if kind in self.codecs:
            return None
        if self.name == OLDEST:
            return f"Kafka 0.7 has no {kind}"
        return f"message format {self.name} has no {kind}: it takes format 2 (Kafka 0.11 or later)"


OLDEST: Final = "0.7"
MODERN: Final = "2"
_ALL: Final = frozenset(CompressionType)
_LEGACY: Final = _ALL - {CompressionType.ZSTD}
FORMATS: Final = {
    each.name: each
    for each in (
        Format(OLDEST, 0, 10, 0, frozenset({CompressionType.NONE, CompressionType.GZIP, CompressionType.SNAPPY})),
        Format("0", 0, 26, 0, _LEGACY),
        Format("1", 1, 34, 0, _LEGACY),
        Format(MODERN, 2, 61, 61, _ALL),
    )
}


def allowed(form: Format, codecs: tuple[Codec, ...]) -> tuple[Codec, ...]:
    """The codecs that a topic of this format can have."""
    return tuple(codec for codec in codecs if codec.type in form.codecs)
