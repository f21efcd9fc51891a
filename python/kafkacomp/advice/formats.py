"""The overhead of a batch in each message format, and the bytes that its codec compresses.

=========  ==============================================  ============================  ===============
format     around compressed records                       uncompressed                  codecs
=========  ==============================================  ============================  ===============
2          the batch's header, 61 bytes (KIP-98)           the same header               all five
1, 0       a wrapper message, 34 or 26 bytes (KIP-32)      nothing: plain messages       not zstd
=========  ==============================================  ============================  ===============
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kafkacomp import record
from kafkacomp._types import CompressionType

if TYPE_CHECKING:
    import pyarrow as pa

    from kafkacomp._codecs.levels import Codec


@dataclass(frozen=True)
class Format:
    """One message format."""

    name: str
    #: The magic for :func:`kafkacomp.compress`.
    magic: int
    #: The overhead of a compressed batch in bytes.
    overhead: int
    #: The overhead of an uncompressed batch in bytes.
    plain_overhead: int
    codecs: frozenset[CompressionType]

    def section(self, rows: pa.RecordBatch) -> bytes:
        """Return the records of one batch before compression, without the overhead."""
        builder = record.RecordBatchBuilder(self.magic, CompressionType.NONE)
        builder.append_arrow(rows)
        return builder.build()[self.plain_overhead :]

    def size(self, codec: Codec, compressed: int) -> int:
        """Return the size of a batch whose records have this many bytes in this codec."""
        plain = codec.type is CompressionType.NONE
        return compressed + (self.plain_overhead if plain else self.overhead)

    def refusal(self, kind: CompressionType) -> str | None:
        """Return the reason why this format does not support a codec; None if it does."""
        if kind in self.codecs:
            return None
        return f"message format {self.name} has no {kind}: it requires message format 2 (Kafka 0.11 or later)"


MODERN: Final = "2"
_ALL: Final = frozenset(CompressionType)
_LEGACY: Final = _ALL - {CompressionType.ZSTD}
FORMATS: Final = {
    each.name: each
    for each in (
        Format("0", 0, 26, 0, _LEGACY),
        Format("1", 1, 34, 0, _LEGACY),
        Format(MODERN, 2, 61, 61, _ALL),
    )
}


def allowed(form: Format, codecs: tuple[Codec, ...]) -> tuple[Codec, ...]:
    """Return the codecs that this format supports."""
    return tuple(codec for codec in codecs if codec.type in form.codecs)
