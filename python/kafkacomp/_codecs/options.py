"""The modes of files of compressed data, and the options of each mode: types, and the checks at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypedDict, get_args

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Modes of binary and of text files, for reading and for writing.
ReadMode: TypeAlias = Literal["r", "rb"]
WriteMode: TypeAlias = Literal["w", "wb", "x", "xb", "a", "ab"]
ReadTextMode: TypeAlias = Literal["rt"]
WriteTextMode: TypeAlias = Literal["wt", "xt", "at"]

#: The header checksum that LZ4 frames must have, and the one that is written.
HeaderChecksum: TypeAlias = Literal["standard", "broken", "either", "ignore"]
HeaderChecksumWritten: TypeAlias = Literal["standard", "broken"]

BINARY_MODES: Final[tuple[str, ...]] = (*get_args(ReadMode), *get_args(WriteMode))
TEXT_MODES: Final[tuple[str, ...]] = (*get_args(ReadTextMode), *get_args(WriteTextMode))


class TextOptions(TypedDict, total=False):
    """Options of the text modes, as in the built-in :func:`open`."""

    encoding: str | None
    errors: str | None
    newline: str | None


class ReadOptions(TypedDict, total=False):
    """Options of reading."""

    max_output_size: int | None


class WriteOptions(TypedDict, total=False):
    """Options of writing for codecs with levels."""

    level: int | None


class KafkaReadOptions(ReadOptions, total=False):
    """Options of :func:`kafkacomp.open` for reading."""

    magic: int


class KafkaWriteOptions(TypedDict, total=False):
    """Options of :func:`kafkacomp.open` for writing."""

    compression_level: int | None
    magic: int


class LZ4ReadOptions(ReadOptions, total=False):
    """Options of reading LZ4."""

    header_checksum: HeaderChecksum


class LZ4WriteOptions(WriteOptions, total=False):
    """Options of writing LZ4."""

    header_checksum: HeaderChecksumWritten
    block_size: int | None
    block_checksum: bool | None
    content_checksum: bool | None


class ReadTextOptions(ReadOptions, TextOptions, total=False):
    """Those of reading, and of text."""


class WriteTextOptions(WriteOptions, TextOptions, total=False):
    """Those of writing, and of text."""


class KafkaReadTextOptions(KafkaReadOptions, TextOptions, total=False):
    """Those of :func:`kafkacomp.open` for reading, and of text."""


class KafkaWriteTextOptions(KafkaWriteOptions, TextOptions, total=False):
    """Those of :func:`kafkacomp.open` for writing, and of text."""


class LZ4ReadTextOptions(LZ4ReadOptions, TextOptions, total=False):
    """Those of reading LZ4, and of text."""


class LZ4WriteTextOptions(LZ4WriteOptions, TextOptions, total=False):
    """Those of writing LZ4, and of text."""


def binary_mode(mode: object) -> str:
    """Return the mode with its b; ValueError for a mode that is not binary."""
    if not isinstance(mode, str) or mode not in BINARY_MODES:
        raise ValueError(f"invalid mode {mode!r}: expected one of {', '.join(BINARY_MODES)}")
    return mode if mode.endswith("b") else mode + "b"


def refuse_options(mode: str, *, only_reading: Mapping[str, object], only_writing: Mapping[str, object]) -> None:
    """Raise ValueError for an option that is not None and does not apply to this mode."""
    is_read = mode.startswith("r")
    for name, value in (only_writing if is_read else only_reading).items():
        if value is not None:
            raise ValueError(f"{name} has no meaning when {'reading' if is_read else 'writing'}")
