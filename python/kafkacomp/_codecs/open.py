"""``kafkacomp.open``: the streams of a compression type, which behave as those of Kafka's classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from kafkacomp import _kafkacomp
from kafkacomp._arguments import checked_magic, checked_max_output_size, compression_type_of
from kafkacomp._codecs.file import CompressedFile, open_file
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE

if TYPE_CHECKING:
    import io
    from typing import Unpack

    from kafkacomp._codecs import options as of
    from kafkacomp._codecs.file import FileArgument
    from kafkacomp._types import CompressionTypeLike


@overload
def open(
    file: FileArgument,
    compression_type: CompressionTypeLike,
    mode: of.ReadMode = "rb",
    **options: Unpack[of.KafkaReadOptions],
) -> CompressedFile: ...
@overload
def open(
    file: FileArgument,
    compression_type: CompressionTypeLike,
    mode: of.WriteMode,
    **options: Unpack[of.KafkaWriteOptions],
) -> CompressedFile: ...
@overload
def open(
    file: FileArgument,
    compression_type: CompressionTypeLike,
    mode: of.ReadTextMode,
    **options: Unpack[of.KafkaReadTextOptions],
) -> io.TextIOWrapper: ...
@overload
def open(
    file: FileArgument,
    compression_type: CompressionTypeLike,
    mode: of.WriteTextMode,
    **options: Unpack[of.KafkaWriteTextOptions],
) -> io.TextIOWrapper: ...
def open(
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
    """Open a file that is compressed as the records of a batch are.

    It behaves as the streams of ``CompressionType.wrapForInput`` and ``wrapForOutput``: framing, header checksum and
    strictness are those of :func:`kafkacomp.decompress` and :func:`kafkacomp.compress`.

    Args:
        file: A path, or an object with ``read`` or ``write``, which stays open when the stream is closed.
        compression_type: A :class:`CompressionType` or its name. "none" reads and writes the bytes unchanged.
        mode: "r", "w", "x" or "a", followed by b or nothing for bytes, or by t for text.
        compression_level: As for :func:`kafkacomp.compress`; None is Kafka's default. Only for writing.
        magic: The message format, 0, 1 or 2; it determines the LZ4 header checksum (KIP-57).
        max_output_size: The most bytes of content to read; None is Kafka's own limit, 2 GiB - 1. Only for reading.
        encoding: Only for text modes, like the next two arguments: as in the built-in :func:`open`.
        errors: How encoding errors are handled.
        newline: How line endings are translated.

    Raises:
        ValueError: an argument has an unknown value, or does not apply to this mode.
        DecompressionError: while reading: the data are corrupt (``TruncatedError``, also an EOFError, if truncated).
        OutputLimitError: while reading: the data decompress to more than ``max_output_size`` bytes.

    Example:
        >>> import kafkacomp as kc
        >>> with kc.open(target, "snappy", "wb") as file:
        ...     file.write(b"records")
        7
        >>> with kc.open(target, "snappy") as file:
        ...     file.read()
        b'records'

        ``target`` is a path.
    """
    kind = compression_type_of(compression_type)
    checked_magic(magic)
    cap = checked_max_output_size(DEFAULT_MAX_OUTPUT_SIZE if max_output_size is None else max_output_size)

    def make_file(mode: str) -> CompressedFile:
        return CompressedFile(
            file,
            mode,
            make_compressor=lambda: _kafkacomp.Compressor(kind, compression_level, magic),
            make_decompressor=lambda: _kafkacomp.Decompressor(kind, "standard", magic, cap, frames=True),
            only_reading={"max_output_size": max_output_size},
            only_writing={"compression_level": compression_level},
        )

    return open_file(make_file, mode, {"encoding": encoding, "errors": errors, "newline": newline})
