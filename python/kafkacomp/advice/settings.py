"""The settings of a run; they can be pickled for Spark's executors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kafkacomp._arguments import OFFSETS, check_numbers, integer, items_of
from kafkacomp._codecs.levels import Codec, parse_codecs
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE
from kafkacomp._text import size_text

__all__ = [
    "DEFAULT_BATCH_SIZES",
    "DEFAULT_CODECS",
    "DEFAULT_SAMPLE_BYTES",
    "DEFAULT_TIME_BUDGET",
    "TODAY",
    "Settings",
    "parse_codecs",
    "size_name",
]

#: The types at Kafka's default levels, and the levels of zstd that are in common use.
DEFAULT_CODECS: Final = "none,gzip,snappy,lz4,zstd:1,3,6"
#: ``batch.size`` in bytes. 1 is one record for each batch, because a batch takes a first record of any size.
DEFAULT_BATCH_SIZES: Final = (1, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20)
DEFAULT_SAMPLE_BYTES: Final = 16 << 20
#: Processor seconds for other batch sizes than today's, for all topics together.
DEFAULT_TIME_BUDGET: Final = 30.0
#: The default of a producer's ``batch.size``, for records that are in no log.
ASSUMED_BATCH_SIZE: Final = 16384
#: In place of a batch size: the batches as they are stored.
TODAY: Final = 0

#: The greatest time budget: a week.
_LONGEST: Final = 604_800.0


@dataclass(frozen=True)
class Settings:
    """The size of the sample, and the codecs and batch sizes to measure.

    Attributes:
        codecs: The compression types and levels to try.
        batch_sizes: The values of a producer's ``batch.size`` to try, in bytes; 1 is one record for each batch.
        sample_bytes: The bytes on disk that are read of each topic.
        seed: The seed of the sample; the same seed draws the same sample.
        time_budget: The processor seconds for measuring other batch sizes than today's, for all topics together. They
            are estimated from the usual speed of the codecs, so that the same settings measure the same on every
            machine. Some windows of each topic are always measured.
        internal_topics: Whether Kafka's internal topics are included.
        max_output_size: The most bytes that the records of one batch may decompress to.

    Example:
        >>> from kafkacomp import advice
        >>> report = advice.advise(example, advice.Settings(batch_sizes=(16384,), sample_bytes=1 << 20, seed=7))
        >>> report.settings.seed
        7
    """

    codecs: tuple[Codec, ...] = tuple(parse_codecs(DEFAULT_CODECS))
    batch_sizes: tuple[int, ...] = DEFAULT_BATCH_SIZES
    sample_bytes: int = DEFAULT_SAMPLE_BYTES
    seed: int = 0
    time_budget: float = DEFAULT_TIME_BUDGET
    internal_topics: bool = False
    max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            TypeError: an element of ``codecs`` is not a codec.
            ValueError: there is no codec, or a number is out of range.
        """
        if not all(isinstance(codec, Codec) for codec in items_of("codecs", self.codecs, "codecs")):
            raise TypeError("codecs must be codecs as parse_codecs('lz4,zstd:3') of kafkacomp.advice.settings returns")
        if not self.codecs:
            raise ValueError("codecs must contain at least one codec")
        for size in items_of("batch_sizes", self.batch_sizes, "numbers of bytes"):
            integer("batch_sizes", size, (1, 1 << 30))
        integer("sample_bytes", self.sample_bytes, (1, OFFSETS[1]))
        check_numbers(time_budget=self.time_budget)
        if not 0 < self.time_budget <= _LONGEST:
            raise ValueError(f"time_budget must be above 0 and at most {_LONGEST:,.0f} s, not {self.time_budget}")


def size_name(size: int) -> str:
    """Format a batch size, exactly.

    Example:
        >>> size_name(16384), size_name(1000)
        ('16 KiB', '1000 B')
    """
    if size == TODAY:
        return "today"
    return "1 record" if size == 1 else size_text(size, exact=True)
