"""Reading compressed files: a case for each of the standard library's that applies, by its name.

The checklist is test_zstd's FileTestCase (PEP 784, of backports.zstd), test_lzma's FileTestCase, test_bz2's BZ2FileTest
and test_gzip's TestGzip.
"""

from __future__ import annotations

import array
import csv
import io
import json
import os
import pickle
import shutil
import socket
import threading
from typing import TYPE_CHECKING, Any, cast

import pytest

import kafkacomp as kc

from .codecs import LINES, NOISE, TEXT, Codec, Drip

if TYPE_CHECKING:
    from pathlib import Path


#: Bytes of magic and versions.
XERIAL_HEADER = 16


class UnseekableIO(io.BytesIO):
    """A pipe that holds all."""

    def seekable(self) -> bool:
        """No."""
        return False

    def tell(self) -> int:
        """Not known."""
        raise io.UnsupportedOperation

    def seek(self, *_args: Any) -> int:
        """Not possible."""
        raise io.UnsupportedOperation


def test_read(codec: Codec) -> None:
    with codec.file(io.BytesIO(codec.compress(TEXT))) as file:
        assert file.read() == TEXT
        assert file.read() == b""
    with codec.file(io.BytesIO(codec.compress(NOISE))) as file:
        assert file.read(None) == NOISE


def test_read_0(codec: Codec) -> None:
    with codec.file(io.BytesIO(codec.compress(TEXT))) as file:
        assert file.read(0) == b""
        assert file.read() == TEXT
    with codec.file(io.BytesIO(b"")) as file:
        assert file.read(0) == b""
        if codec.module is kc.gzip:
            assert file.read(10) == b""  # as in the standard library
            return
        with pytest.raises(EOFError):
            file.read(10)


def test_read_10(codec: Codec) -> None:
    with codec.file(io.BytesIO(codec.compress(TEXT))) as file:
        chunks = []
        while chunk := file.read(10):
            assert len(chunk) <= 10
            chunks.append(chunk)
    assert b"".join(chunks) == TEXT


def test_read_large(codec: Codec) -> None:
    with codec.file(io.BytesIO(codec.compress(TEXT))) as file:
        assert file.read(10 * len(TEXT)) == TEXT


def test_read_multistream(codec: Codec) -> None:
    with codec.file(io.BytesIO(codec.compress(TEXT) * 5)) as file:
        assert file.read() == TEXT * 5
    with codec.file(io.BytesIO(codec.compress(TEXT) + codec.compress(b"") + codec.compress(NOISE))) as file:
        assert file.read() == TEXT + NOISE


@pytest.mark.parametrize("more", range(-2, 3))
def test_read_multistream_buffer_size_aligned(codec: Codec, more: int) -> None:
    """The boundary of two frames at that of two reads of the source."""
    frame = codec.compress(NOISE[:1000])
    source = Drip(frame * 3, len(frame) + more)
    assert codec.file(source).read() == NOISE[:1000] * 3


def test_read_trailing_junk(codec: Codec) -> None:
    """The codecs' own files keep the specifications: what follows a frame must be one."""
    with codec.file(io.BytesIO(codec.compress(TEXT) + b"junk that is no frame, and long enough")) as file:
        assert file.read(len(TEXT)) == TEXT
        with pytest.raises(kc.DecompressionError) as caught:
            file.read()
    with pytest.raises(kc.DecompressionError):
        codec.decompress(codec.compress(TEXT) + b"junk that is no frame, and long enough")
    assert caught.value.position is not None
    assert caught.value.position >= len(codec.compress(TEXT))


def test_zero_padded_file() -> None:
    """A tape's padding behind gzip members, also over several reads of the source."""
    data = kc.gzip.compress(TEXT) + bytes(300_000)
    assert kc.gzip.GzipFile(io.BytesIO(data)).read() == TEXT
    assert kc.gzip.GzipFile(io.BytesIO(data + kc.gzip.compress(b"more"))).read() == TEXT + b"more"
    assert kc.gzip.GzipFile(Drip(kc.gzip.compress(b"x") + bytes(20), 3)).read() == b"x"


def test_read_incomplete(codec: Codec) -> None:
    data = codec.compress(TEXT)
    with codec.file(io.BytesIO(data[:-1])) as file:
        with pytest.raises(EOFError) as caught:
            file.read()
        assert isinstance(caught.value, kc.TruncatedError)
    with codec.file(io.BytesIO(data + data[: len(data) // 2])) as file, pytest.raises(EOFError):
        file.read()


def test_read_truncated(codec: Codec) -> None:
    """All that there is comes before the error, and the error comes again."""
    frame = codec.compress(NOISE)
    for cut in range(1, 9):
        with codec.file(io.BytesIO(frame[:-cut])) as file:
            got = bytearray()
            with pytest.raises(EOFError):
                while True:
                    got += file.read1(1000)
            assert NOISE.startswith(bytes(got))
            with pytest.raises(EOFError):
                file.read(1)


def test_read_every_prefix(codec: Codec) -> None:
    frame = codec.compress(b"a short frame, a short frame")
    for end in range(1 if codec.module is kc.gzip else 0, len(frame)):
        if codec.module is kc.snappy and end == XERIAL_HEADER:
            # Xerial's stream has no end mark: this is one without blocks.
            assert codec.file(io.BytesIO(frame[:end])).read() == b""
            continue
        with codec.file(io.BytesIO(frame[:end])) as file, pytest.raises((EOFError, kc.DecompressionError)):
            file.read()


def test_read_bad_args(codec: Codec) -> None:
    file = codec.file(io.BytesIO(codec.compress(TEXT)))
    with pytest.raises(TypeError):
        file.read(1.5)
    file.close()
    with pytest.raises(ValueError, match="closed"):
        file.read()
    with codec.file(io.BytesIO(), "w") as file, pytest.raises(io.UnsupportedOperation):
        file.read()


def test_read_bad_data(codec: Codec) -> None:
    with codec.file(io.BytesIO(b"this is nothing that was ever compressed")) as file:
        with pytest.raises(kc.DecompressionError):
            file.read()


def test_read_exception(codec: Codec) -> None:
    """An exception of the caller's own file passes through as it is."""

    class OwnError(OSError):
        pass

    class Failing:
        def read(self, _size: int) -> bytes:
            raise OwnError("disk on fire")

        def write(self, _data: bytes) -> int:
            raise OwnError("disk on fire")

    with codec.file(Failing()) as file, pytest.raises(OwnError, match="disk on fire"):
        file.read()
    file = codec.file(Failing(), "w")
    with pytest.raises(OwnError, match="disk on fire"):
        file.write(NOISE)
        file.close()
    assert isinstance(file.closed, bool)


def test_read1(codec: Codec) -> None:
    with codec.file(io.BytesIO(codec.compress(TEXT) * 2)) as file:
        blocks = []
        while block := file.read1():
            blocks.append(block)
        assert b"".join(blocks) == TEXT * 2
        assert file.read1() == b""
        assert len(blocks) > 1


@pytest.mark.parametrize("size", [0, 10, -1])
def test_read1_sizes(codec: Codec, size: int) -> None:
    with codec.file(io.BytesIO(codec.compress(TEXT))) as file:
        block = file.read1(size)
        assert TEXT.startswith(block)
        assert size < 0 or len(block) <= size
        assert bool(block) == (size != 0)


def test_read1_bad_args(codec: Codec) -> None:
    file = codec.file(io.BytesIO(codec.compress(TEXT)))
    with pytest.raises(TypeError):
        file.read1(None)
    file.close()
    with pytest.raises(ValueError, match="closed"):
        file.read1()
    with codec.file(io.BytesIO(), "w") as file, pytest.raises(io.UnsupportedOperation):
        file.read1()


def test_readinto(codec: Codec) -> None:
    words = array.array("I", [0] * 100)
    with codec.file(io.BytesIO(codec.compress(TEXT))) as file:
        assert file.readinto(bytearray()) == 0
        assert file.readinto(words) == 400
        assert words.tobytes() == TEXT[:400]
        out = bytearray(300)
        assert file.readinto(out) == 300
        assert out == TEXT[400:700]
        count = file.readinto1(out)
        assert 0 < count <= 300
        assert out[:count] == TEXT[700 : 700 + count]
        with pytest.raises(TypeError):
            file.readinto(b"cannot be written")


def test_read_readinto_readinto1(codec: Codec) -> None:
    parts = []
    with codec.file(io.BytesIO(codec.compress(TEXT) * 3)) as file:
        for turn in range(1_000_000):
            out = bytearray(turn * 37 % 5000 + 1)
            if turn % 3 == 0:
                part = file.read(len(out))
            else:
                count = file.readinto(out) if turn % 3 == 1 else file.readinto1(out)
                part = bytes(out[:count])
            if not part:
                break
            parts.append(part)
    assert b"".join(parts) == TEXT * 3


def test_peek(codec: Codec) -> None:
    for size in (-1, 0, 10, 1 << 20):
        with codec.file(io.BytesIO(codec.compress(TEXT))) as file:
            peeked = file.peek(size)
            assert peeked
            assert TEXT.startswith(peeked)
            assert file.tell() == 0
            assert file.read() == TEXT
            assert file.peek() == b""


def test_peek_bad_args(codec: Codec) -> None:
    with codec.file(io.BytesIO(), "w") as file, pytest.raises(io.UnsupportedOperation):
        file.peek()


def test_iterator(codec: Codec) -> None:
    with codec.file(io.BytesIO(codec.compress(TEXT))) as file:
        assert iter(file) is file
        assert list(file) == LINES
    with codec.file(io.BytesIO(), "w") as file, pytest.raises(io.UnsupportedOperation):
        iter(file)


def test_readline(codec: Codec) -> None:
    with codec.file(io.BytesIO(codec.compress(TEXT))) as file:
        assert file.readline(0) == b""
        assert file.readline(3) == LINES[0][:3]
        assert file.readline(None) == LINES[0][3:]
        for line in LINES[1:]:
            assert file.readline() == line
        assert file.readline() == b""


def test_readlines(codec: Codec) -> None:
    with codec.file(io.BytesIO(codec.compress(TEXT))) as file:
        assert file.readlines() == LINES
    with codec.file(io.BytesIO(codec.compress(TEXT))) as file:
        assert file.readlines(10) == LINES[:2]


def test_buffered_reader(codec: Codec) -> None:
    with codec.file(io.BytesIO(codec.compress(TEXT))) as file, io.BufferedReader(file) as buffered:
        assert list(buffered) == LINES


def test_textio_readlines(codec: Codec) -> None:
    with codec.file(io.BytesIO(codec.compress(TEXT))) as file, io.TextIOWrapper(file, "ascii") as text:
        assert text.readlines() == [line.decode() for line in LINES]


def test_decompress_limited(codec: Codec) -> None:
    """A small read of a bomb costs a buffer, not the bomb."""
    bomb = codec.compress(bytes(64 << 20))
    file = codec.file(io.BytesIO(bomb))
    assert file.read(1) == b"\0"
    assert file._buffer.raw.tell() <= 1 << 20


def test_max_output_size() -> None:
    with kc.zstd.ZstdFile(io.BytesIO(kc.zstd.compress(bytes(2000))), max_output_size=1000) as file:
        with pytest.raises(kc.OutputLimitError):
            file.read()


def test_non_blocking_source(codec: Codec) -> None:
    """What has nothing at the moment is no end: ``None`` comes, and later the rest."""
    data = codec.compress(TEXT) + codec.compress(b"end")
    pieces: list[bytes | None]

    class NonBlocking(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def read(self, _size: int = -1) -> bytes | None:
            return pieces.pop(0)

    for way in ("read", "read1", "readinto"):
        pieces = [None, *(data[at : at + 1000] for at in range(0, len(data), 1000)), None, None, b"", b""]
        file = codec.file(NonBlocking())
        got = bytearray()
        nothing = 0
        while True:
            out = bytearray(500)
            if way == "readinto":
                count = file.readinto(out)
                part = None if count is None else bytes(out[:count])
            else:
                part = file.read(500) if way == "read" else file.read1(500)
            if part is None:
                nothing += 1
            elif part:
                got += part
            elif len(got) == len(TEXT) + 3:
                break
            else:
                nothing += 1
            assert nothing < 100
        assert bytes(got) == TEXT + b"end"
        assert nothing >= 1


def test_socket(codec: Codec) -> None:
    """A block that the writer flushed can be read before the next one is sent."""
    left, right = socket.socketpair()
    with left, right:
        writer = codec.file(left.makefile("wb", buffering=0), "w")
        reader = codec.file(right.makefile("rb", buffering=0))
        for line in LINES[:20]:
            writer.write(line)
            writer.flush()
            assert reader.readline() == line
        writer.close()
        left.shutdown(socket.SHUT_WR)
        assert reader.read() == b""


def test_pipe(codec: Codec) -> None:
    read_end, write_end = os.pipe()

    def send() -> None:
        with os.fdopen(write_end, "wb") as target, codec.file(target, "w") as file:
            file.writelines(LINES)

    thread = threading.Thread(target=send)
    thread.start()
    with os.fdopen(read_end, "rb") as source, codec.file(source) as file:
        assert not file.seekable()
        assert file.read() == TEXT
    thread.join()


# ---------------------------------------------------------------------------------------------- places


@pytest.fixture
def twice(codec: Codec) -> Any:
    """A file of two frames."""
    return codec.file(io.BytesIO(codec.compress(TEXT) + codec.compress(TEXT)))


@pytest.mark.parametrize(
    ("first", "offset", "whence", "expected"),
    [
        (0, 555, 0, 555),
        (0, len(TEXT) + 123, 0, len(TEXT) + 123),
        (100, 1236, 1, 1336),
        (0, -555, 2, 2 * len(TEXT) - 555),
        (1001, 211, 0, 211),
        (len(TEXT) + 333, 737, 0, 737),
        (1001, -900, 1, 101),
        (2 * len(TEXT), -150, 2, 2 * len(TEXT) - 150),
        (0, 3 * len(TEXT), 0, 2 * len(TEXT)),
        (50, -77, 0, 0),
        (0, 0, 2, 2 * len(TEXT)),
    ],
)
def test_seek(twice: Any, first: int, offset: int, whence: int, expected: int) -> None:
    """Forward, backward, relative, across frames, past end and start."""
    assert len(twice.read(first)) == first
    assert twice.seek(offset, whence) == expected
    assert twice.tell() == expected
    assert twice.read() == (TEXT * 2)[expected:]


def test_seek_bad_args(codec: Codec, twice: Any) -> None:
    for bad in (None, b"derp", 1.5):
        with pytest.raises(TypeError):
            twice.seek(bad)
    for whence in (3, -1):
        with pytest.raises(ValueError):
            twice.seek(0, whence)
    twice.close()
    with pytest.raises(ValueError, match="closed"):
        twice.seek(0)
    with codec.file(io.BytesIO(), "w") as file, pytest.raises(io.UnsupportedOperation):
        file.seek(0)


def test_seek_not_seekable(codec: Codec) -> None:
    with codec.file(UnseekableIO(codec.compress(TEXT))) as file:
        assert not file.seekable()
        with pytest.raises(io.UnsupportedOperation):
            file.seek(0)
        assert file.tell() == 0
        assert file.read() == TEXT


def test_seek_starts_where_the_source_stood(codec: Codec) -> None:
    source = io.BytesIO(b"in front" + codec.compress(TEXT))
    source.seek(8)
    with codec.file(source) as file:
        assert file.read(10) == TEXT[:10]
        file.seek(0)
        assert file.read() == TEXT


def test_tell(codec: Codec) -> None:
    with codec.file(io.BytesIO(codec.compress(TEXT))) as file:
        position = 0
        while part := file.read(9999):
            position += len(part)
            assert file.tell() == position
        assert position == len(TEXT)
    file = codec.file(io.BytesIO(), "w")
    file.write(b"123")
    assert file.tell() == 3
    file.close()
    with pytest.raises(ValueError, match="closed"):
        file.tell()


# ---------------------------------------------------------------------------------------------- what a file is


def test_seekable_readable_writable(codec: Codec) -> None:
    reader = codec.file(io.BytesIO(codec.compress(TEXT)))
    assert (reader.seekable(), reader.readable(), reader.writable()) == (True, True, False)
    reader.read()
    assert (reader.seekable(), reader.readable(), reader.writable()) == (True, True, False)
    writer = codec.file(io.BytesIO(), "w")
    assert (writer.seekable(), writer.readable(), writer.writable()) == (False, False, True)
    for file in (reader, writer):
        file.close()
        for ask in (file.seekable, file.readable, file.writable, file.fileno):
            with pytest.raises(ValueError, match="closed"):
                ask()
        with pytest.raises(ValueError, match="closed"):
            _ = file.name


def test_fileno_and_name(codec: Codec, tmp_path: Path) -> None:
    with codec.file(io.BytesIO(codec.compress(TEXT))) as file:
        with pytest.raises(io.UnsupportedOperation):
            file.fileno()
        with pytest.raises(AttributeError):
            _ = file.name
    with codec.file(Drip(b"")) as file, pytest.raises(AttributeError, match="fileno"):
        file.fileno()
    path = tmp_path / "file"
    path.write_bytes(codec.compress(TEXT))
    with path.open("rb") as source, codec.file(source) as file:
        assert file.fileno() == source.fileno()
        assert file.name == str(path)
        assert file.mode == "rb"


def test_closed(codec: Codec) -> None:
    for file in (codec.file(io.BytesIO(codec.compress(TEXT))), codec.file(io.BytesIO(), "w")):
        assert not file.closed
        file.close()
        assert file.closed
        file.close()
        with pytest.raises(ValueError, match="closed"):
            file.__enter__()


def test_close(codec: Codec, tmp_path: Path) -> None:
    """Only a file that was opened here is closed here."""
    source = io.BytesIO(codec.compress(TEXT))
    codec.file(source).close()
    assert not source.closed
    path = tmp_path / "file"
    path.write_bytes(source.getvalue())
    file = codec.file(path)
    inner = file._file
    file.close()
    assert inner.closed


def test_unsupported_operation(codec: Codec) -> None:
    with codec.file(io.BytesIO(codec.compress(TEXT))) as file:
        for call in (lambda: file.write(b""), file.detach, file.truncate):
            with pytest.raises(io.UnsupportedOperation):
                call()


def test_pickle(codec: Codec) -> None:
    with codec.file(io.BytesIO(codec.compress(TEXT))) as file, pytest.raises(TypeError, match="pickle"):
        pickle.dumps(file)


def test_threads_share_a_file(codec: Codec) -> None:
    """Reads from several threads take turns: every byte comes once."""
    data = b"".join(b"%08d" % number for number in range(40_000))
    file = codec.file(io.BytesIO(codec.compress(data)))
    seen: list[bytes] = []

    def read() -> None:
        while part := file.read(8):
            seen.append(part)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == [b"%08d" % number for number in range(40_000)]


def test_is_a_file_for_others(codec: Codec) -> None:
    """What takes a binary file takes this one."""
    rows = b'{"a": 1}'
    assert json.load(cast("Any", codec.file(io.BytesIO(codec.compress(rows))))) == {"a": 1}
    out = io.BytesIO()
    shutil.copyfileobj(codec.file(io.BytesIO(codec.compress(TEXT))), out)
    assert out.getvalue() == TEXT
    with codec.module.open(io.BytesIO(codec.compress(b"a,b\n1,2\n")), "rt") as text:
        assert list(csv.reader(text)) == [["a", "b"], ["1", "2"]]
