"""Record batches of magic 2 for the measurement, built by the package itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from kafkacomp import record
from kafkacomp._codecs.levels import Codec
from kafkacomp._types import CompressionType

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Timestamp (ms), key, value, headers.
Row: TypeAlias = tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]

#: The byte at which the records of a batch of magic 2 begin: after its header (KIP-98).
RECORDS_OFFSET: Final = 61

_PLAIN: Final = Codec(CompressionType.NONE)


def build(rows: Sequence[Row], codec: Codec = _PLAIN, base_offset: int = 0) -> bytes:
    """Build one batch of these rows with consecutive offsets from ``base_offset``."""
    builder = record.RecordBatchBuilder(
        magic=2, compression_type=codec.type, compression_level=codec.level, base_offset=base_offset
    )
    for timestamp, key, value, headers in rows:
        builder.append(value, key=key, timestamp=timestamp, headers=headers)
    return builder.build()
