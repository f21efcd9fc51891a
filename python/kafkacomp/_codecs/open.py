"""``kafkacomp.open``: the streams of a compression type, as Kafka's own classes have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from kafkacomp import _kafkacomp
from kafkacomp._arguments import checked_magic, checked_max_output_size, compression_type_of
from kafkacomp._codecs.file import (
    CompressedFile,
    FileArgument,
    ReadMode,
    ReadTextMode,
    WriteMode,
    WriteTextMode,
    open_file,
    refuse_options,
)
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE

if TYPE_CHECKING:
    import io

    from kafkacomp._types import CompressionTypeLike

__all__ = ["open"]


@overload
def open(  # noqa: A001
    file: FileArgument,
    compression_type: CompressionTypeLike,
    mode: ReadMode = "rb",
    *,
    magic: int = 2,
    max_output_size: int | None = None,
) -> CompressedFile: ...
@overload
def open(  # noqa: A001
    file: FileArgument,
    compression_type: CompressionTypeLike,
    mode: WriteMode,
    *,
    compression_level: int | None = None,
    magic: int = 2,
) -> CompressedFile: ...
@overload
def open(  # noqa: A001
    file: FileArgument,
    compression_type: CompressionTypeLike,
    mode: ReadTextMode,
    *,
    magic: int = 2,
    max_output_size: int | None = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> io.TextIOWrapper: ...
@overload
def open(  # noqa: A001
    file: FileArgument,
    compression_type: CompressionTypeLike,
    mode: WriteTextMode,
    *,
    compression_level: int | None = None,
    magic: int = 2,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> io.TextIOWrapper: ...
def open(  # noqa: A001 - the name of the standard library's
    file: FileArgument,
    compression_type: CompressionTypeLike,
    mode: str = "rb",
    *,
    compression_level: int | None = None,
    magic: int = 2,
    max_output_size: int | None = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> CompressedFile | io.TextIOWrapper:
    """Open the stream that Kafka reads or writes a batch's records with.

    What ``CompressionType.wrapForInput`` and ``wrapForOutput`` do, over a file: framing, header checksum and strictness
    are those of :func:`kafkacomp.decompress` and :func:`kafkacomp.compress`.

    Args:
        file: A path, or an object with ``read`` or ``write``, which stays open when the stream is closed.
        compression_type: A :class:`CompressionType` or its name. "none" is the file as it is.
        mode: "r", "w", "x" or "a", with a b or nothing for bytes, with a t for text.
        compression_level: As for :func:`kafkacomp.compress`; None is Kafka's default. Not for reading.
        magic: The message format, 0, 1 or 2; it decides about the LZ4 header checksum (KIP-57).
        max_output_size: The most bytes of content to read; None is Kafka's own limit, 2 GiB - 1. Not for writing.
        encoding: For text, and so are the next two: as :func:`open` of the standard library has them.
        errors: How bytes that are not text in ``encoding`` are handled, as in :func:`open`.
        newline: How lines end.

    Raises:
        ValueError: an argument has an unknown value, or does not apply to this mode.
        DecompressionError: by reading, the data are broken (``TruncatedError``, an EOFError: end too early).
        OutputLimitError: by reading, there are more than ``max_output_size`` bytes.
    """
    kind = compression_type_of(compression_type)
    checked_magic(magic)
    refuse_options(mode, reading=True, compression_level=compression_level)
    refuse_options(mode, reading=False, max_output_size=max_output_size)
    cap = checked_max_output_size(DEFAULT_MAX_OUTPUT_SIZE if max_output_size is None else max_output_size)

    def make_file(mode: str) -> CompressedFile:
        return CompressedFile(
            file,
            mode,
            make_compressor=lambda: _kafkacomp.Compressor(kind, compression_level, magic),
            make_decompressor=lambda: _kafkacomp.Decompressor(kind, "standard", magic, cap, frames=True),
        )

    return open_file(make_file, mode, encoding, errors, newline)
