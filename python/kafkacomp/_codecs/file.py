"""Files of compressed data with the interface of PEP 784's ``ZstdFile``: the base class of the codecs' file classes.

A file reads the content of all frames as one stream, and writes one frame. Its source or target is a path, which it
opens and closes, or an object with ``read`` or ``write``, which it leaves open.
"""

from __future__ import annotations

import errno
import io
import os
import threading
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast

from kafkacomp._arguments import path_text
from kafkacomp._codecs.options import TEXT_MODES, TextOptions, binary_mode, refuse_options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from typing_extensions import Buffer

    from kafkacomp._kafkacomp import Compressor, Decompressor

#: The compressed bytes of one read of the source, and the content that is buffered for small reads.
BUFFER_SIZE = 128 << 10
#: The most content of one call of a decompressor when all content is read.
READ_ALL_SIZE = 1 << 20

FLUSH_BLOCK: Literal[1] = 1
FLUSH_FRAME: Literal[2] = 2


class Readable(Protocol):
    """A source: an object with ``read``."""

    def read(self, size: int, /) -> bytes | None: ...


class Writable(Protocol):
    """A target: an object with ``write``."""

    def write(self, data: bytes, /) -> int | None: ...


#: A path, or an object with ``read`` or ``write``.
FileArgument = str | bytes | os.PathLike[Any] | Readable | Writable


class _DecompressedStream(io.RawIOBase):
    """The content of all frames of a source, unbuffered; :class:`CompressedFile` adds the buffer."""

    def __init__(
        self,
        source: Any,  # noqa: ANN401 - whatever reads
        make_decompressor: Callable[[], Decompressor],
        *,
        may_be_empty: bool,
    ) -> None:
        self._may_be_empty = may_be_empty
        self._source = source
        self._make_decompressor = make_decompressor
        self._start = source.tell() if self._source_is_seekable() else 0
        self._decompressor = make_decompressor()
        self._position = 0
        self._begun = False
        self._ended = False
        self._size: int | None = None

    def _source_is_seekable(self) -> bool:
        seekable = getattr(self._source, "seekable", None)
        return bool(seekable and seekable())

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._source_is_seekable()

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: Buffer) -> int | None:
        with memoryview(buffer) as view, view.cast("B") as out:
            content = self._some(len(out)) if out else b""
            if content is None:
                return None
            out[: len(content)] = content
            return len(content)

    def readall(self) -> bytes | None:  # type: ignore[override]
        pieces = []
        while content := self._some(READ_ALL_SIZE):
            pieces.append(content)
        # A non-blocking source without bytes at the moment has not ended.
        return b"".join(pieces) if pieces else content

    def _some(self, most: int) -> bytes | None:
        """Return 1 to `most` bytes; ``b""`` at the end, ``None`` if the source has no bytes at the moment."""
        decompressor = self._decompressor
        while not self._ended:
            if decompressor.eof:
                break
            data = b""
            if decompressor.needs_input:
                try:
                    given: bytes | None = self._source.read(BUFFER_SIZE)
                except StopIteration as error:
                    # It would silently end a loop over the file's lines; generators convert it for the same reason (PEP
                    # 479).
                    raise RuntimeError("the underlying file raised StopIteration") from error
                if given is None:
                    return None
                if not given:
                    if self._begun or not self._may_be_empty:
                        decompressor.finish()
                    break
                self._begun = True
                data = given
            content = decompressor.decompress(data, most)
            if content:
                self._position += len(content)
                return content
        self._ended = True
        self._size = self._position
        return b""

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_CUR:
            offset += self._position
        elif whence == io.SEEK_END:
            offset += self._seek_end()
        elif whence != io.SEEK_SET:
            raise ValueError(f"whence must be 0, 1 or 2, not {whence!r}")
        if offset < self._position:
            self._rewind()
        self._skip(offset - self._position)
        return self._position

    def _seek_end(self) -> int:
        if self._size is None:
            while self._skip(READ_ALL_SIZE):
                pass
        return self._position if self._size is None else self._size

    def _skip(self, count: int) -> bool:
        """Skip `count` bytes; return ``False`` if the content ends first."""
        while count > 0:
            content = self._some(min(count, BUFFER_SIZE))
            if not content:
                return False
            count -= len(content)
        return True

    def _rewind(self) -> None:
        self._source.seek(self._start)
        self._decompressor = self._make_decompressor()
        self._position = 0
        self._ended = False


class CompressedFile(io.BufferedIOBase):
    """A file of compressed data; each codec's class supplies the compressor and decompressor.

    An object may be used from several threads; their calls are serialized.
    """

    #: For :meth:`flush`: end a block, so that all data written can be read; the frame continues.
    FLUSH_BLOCK = FLUSH_BLOCK
    #: For :meth:`flush`: end the frame; later data begin a new one.
    FLUSH_FRAME = FLUSH_FRAME

    def __init__(
        self,
        file: FileArgument,
        mode: str,
        *,
        make_compressor: Callable[[], Compressor],
        make_decompressor: Callable[[], Decompressor],
        only_reading: Mapping[str, object],
        only_writing: Mapping[str, object],
        may_be_empty: bool = False,
    ) -> None:
        # close must work even if the constructor fails below.
        self._file: Any = None
        self._owns_file = False
        self._buffer: io.BufferedReader | None = None
        self._compressor: Compressor | None = None
        self._lock = threading.RLock()
        self._position = 0
        self._unwritten = b""
        self._frame_begun = False
        self._mode = binary_mode(mode)
        refuse_options(self._mode, only_reading=only_reading, only_writing=only_writing)
        if self._mode == "rb":
            make_decompressor()  # Wrong arguments are refused before the file is opened.
            self._file, self._owns_file = opened(file, self._mode, "read")
            stream = _DecompressedStream(self._file, make_decompressor, may_be_empty=may_be_empty)
            self._buffer = io.BufferedReader(stream, BUFFER_SIZE)
        else:
            compressor = make_compressor()  # Before the file is opened, which truncates it.
            self._file, self._owns_file = opened(file, self._mode, "write")
            self._compressor = compressor

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._file is None

    @property
    def name(self) -> Any:  # noqa: ANN401 - as the file has it
        """The name of the underlying file; AttributeError if it has none."""
        return self._open_file().name

    @property
    def mode(self) -> str:
        """``"rb"``, ``"wb"``, ``"xb"`` or ``"ab"``."""
        return self._mode

    def _open_file(self) -> Any:  # noqa: ANN401 - whatever reads or writes
        if self._file is None:
            raise ValueError("I/O operation on closed file")
        return self._file

    def _reader(self) -> io.BufferedReader:
        self._open_file()
        if self._buffer is None:
            raise io.UnsupportedOperation("the file was not opened for reading")
        return self._buffer

    def _writer(self) -> Compressor:
        self._open_file()
        if self._compressor is None:
            raise io.UnsupportedOperation("the file was not opened for writing")
        return self._compressor

    def fileno(self) -> int:
        """The file descriptor of the underlying file."""
        return cast("int", self._open_file().fileno())

    def readable(self) -> bool:
        """Whether the file was opened for reading."""
        self._open_file()
        return self._buffer is not None

    def writable(self) -> bool:
        """Whether the file was opened for writing."""
        self._open_file()
        return self._compressor is not None

    def seekable(self) -> bool:
        """Whether the file can seek. Seeking backwards decompresses from the start."""
        return self.readable() and self._reader().seekable()

    # ------------------------------------------------------------------------------------------ reading

    def read(self, size: int | None = -1) -> bytes:
        """Read at most `size` bytes of content, or all if it is negative or ``None``; ``b""`` at the end.

        Returns ``None`` if the underlying file is non-blocking and has no bytes at the moment.
        """
        return self._reader().read(-1 if size is None else size)

    def read1(self, size: int = -1) -> bytes:
        """Read at most `size` bytes with as few reads of the underlying file as possible."""
        return self._reader().read1(BUFFER_SIZE if size < 0 else size)

    def readinto(self, buffer: Buffer) -> int:
        """Fill `buffer` and return the number of bytes, which is less than its size only at the end."""
        return self._reader().readinto(buffer)

    def readinto1(self, buffer: Buffer) -> int:
        """Fill `buffer` as far as one read of the underlying file allows, and return the number of bytes."""
        return self._reader().readinto1(buffer)

    def readline(self, size: int | None = -1) -> bytes:
        """Read a line with its line ending, at most `size` bytes."""
        return self._reader().readline(-1 if size is None else size)

    def peek(self, size: int = -1) -> bytes:
        """Return bytes of the next read without advancing: at least one unless at the end, whatever `size` is."""
        return self._reader().peek(size)

    def __iter__(self) -> CompressedFile:
        """Iterate over the lines."""
        self._reader()
        return self

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Seek to a position in the content by decompressing up to it, from the start if it is before the current one.

        Args:
            offset: Bytes relative to `whence`.
            whence: 0 for the start, 1 for the current position, 2 for the end.
        """
        reader = self._reader()
        if not reader.seekable():
            raise io.UnsupportedOperation("the underlying file cannot seek")
        return reader.seek(offset, whence)

    def tell(self) -> int:
        """Return the position in the content: the bytes read or written so far."""
        self._open_file()
        return self._position if self._buffer is None else self._buffer.tell()

    # ------------------------------------------------------------------------------------------ writing

    def write(self, data: Buffer) -> int:
        """Compress `data` and return the number of its bytes.

        Compressed bytes are written as soon as a block is complete. If the underlying file is non-blocking and accepts
        none at the moment, BlockingIOError is raised with ``characters_written`` 0: the data are kept, and the next
        call writes them first.
        """
        with self._lock:
            compressor = self._writer()
            with memoryview(data) as view:
                length = view.nbytes
                self._drain()
                self._unwritten = compressor.compress(data)
            self._frame_begun = True
            self._position += length
            self._drain()
            return length

    def flush(self, mode: int = FLUSH_BLOCK) -> None:
        """Write all data so far to the underlying file.

        Args:
            mode: ``FLUSH_BLOCK`` ends a block, ``FLUSH_FRAME`` the frame.
        """
        with self._lock:
            if mode not in {FLUSH_BLOCK, FLUSH_FRAME}:
                raise ValueError(f"mode must be FLUSH_BLOCK or FLUSH_FRAME, not {mode!r}")
            self._open_file()
            if self._compressor is None:
                return
            self._drain()
            # Ending a frame that has not begun would write an empty one.
            if self._frame_begun:
                self._unwritten = self._compressor.flush(mode)
                self._frame_begun = mode != FLUSH_FRAME
                self._drain()
            flush = getattr(self._file, "flush", None)
            if flush is not None:
                flush()

    def _drain(self) -> None:
        """Write the compressed bytes to the underlying file, which may accept them in parts."""
        while self._unwritten:
            written = self._file.write(self._unwritten)
            if written is None and isinstance(self._file, io.RawIOBase):
                raise BlockingIOError(
                    errno.EAGAIN, "the underlying file accepts no bytes at the moment: write again later", 0
                )
            # An object that returns no count has accepted all bytes.
            self._unwritten = b"" if written is None else self._unwritten[written:]

    def close(self) -> None:
        """End the frame, and close the underlying file if this file opened it. A second call does nothing."""
        with self._lock:
            if self._file is None:
                return
            try:
                if self._compressor is not None:
                    self._drain()
                    # A file without content gets an empty frame, so that it can be read.
                    if self._frame_begun or self._position == 0:
                        self._unwritten = self._compressor.flush(FLUSH_FRAME)
                        self._frame_begun = False
                        self._drain()
            finally:
                file, self._file = self._file, None
                self._buffer = self._compressor = None
                if self._owns_file:
                    file.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """Refuse to pickle: an open file cannot be pickled."""
        raise TypeError(f"cannot pickle {type(self).__name__!r} object")


def opened(file: FileArgument, mode: str, method: str) -> tuple[Any, bool]:
    """Return the open file, and whether this function opened it."""
    if isinstance(file, (str, bytes, os.PathLike)):
        path_text("file", os.fsdecode(file))
        return io.open(file, mode), True  # noqa: UP020 - any kind of path; close closes it
    if not hasattr(file, method):
        raise TypeError(f"file must be a path or an object with {method}, not {type(file).__name__}")
    return file, False


File = TypeVar("File", bound=CompressedFile)


def open_file(make_file: Callable[..., File], mode: str, options: dict[str, Any]) -> File | io.TextIOWrapper:
    """Open a file as the codec modules' ``open`` does.

    Args:
        make_file: Makes the binary file of a mode and options.
        mode: A binary mode, or a text mode, which wraps the file.
        options: Those of the binary file and of :class:`TextOptions`.
    """
    text = {name: options.pop(name, None) for name in TextOptions.__annotations__}
    if mode in TEXT_MODES:
        file = make_file(mode.replace("t", "b"), **options)
        return io.TextIOWrapper(file, io.text_encoding(text["encoding"]), text["errors"], text["newline"])
    for name, value in text.items():
        if value is not None:
            raise ValueError(f"{name} has no meaning in the binary mode {mode!r}: use a text mode such as 'rt'")
    return make_file(mode, **options)
