"""Lines of compressed files where frames, reads and the end do not fall on the lines' own ends."""

from __future__ import annotations

import io
import itertools
import os
from typing import TYPE_CHECKING

import pytest

from .codecs import LINES, TEXT, Codec

if TYPE_CHECKING:
    from pathlib import Path

#: Lines that three frames share: each ends in the middle of one.
CUTS = [0, len(TEXT) // 3 + 1, 2 * len(TEXT) // 3 - 5, len(TEXT)]


@pytest.fixture
def frames(codec: Codec) -> bytes:
    """Three frames of one text."""
    assert not any(TEXT[:cut].endswith(b"\n") for cut in CUTS[1:3])
    return b"".join(codec.compress(TEXT[start:end]) for start, end in itertools.pairwise(CUTS))


def test_read_line_multi_stream(codec: Codec, frames: bytes) -> None:
    with codec.file(io.BytesIO(frames)) as file:
        assert [file.readline() for _ in LINES] == LINES
        assert file.readline() == b""


def test_read_lines_multi_stream(codec: Codec, frames: bytes) -> None:
    with codec.file(io.BytesIO(frames)) as file:
        assert file.readlines() == LINES


def test_iterator_multi_stream(codec: Codec, frames: bytes) -> None:
    with codec.file(io.BytesIO(frames)) as file:
        assert list(file) == LINES
        assert list(file) == []


def test_readlines_no_newline(codec: Codec) -> None:
    with codec.file(io.BytesIO(codec.compress(b"first\nlast without an end"))) as file:
        assert file.readlines() == [b"first\n", b"last without an end"]
        assert file.readline() == b""
        assert file.readlines() == []


def test_mixed_iteration_and_reads(codec: Codec) -> None:
    """Whatever reads goes on where the last one stood."""
    with codec.file(io.BytesIO(codec.compress(TEXT))) as file:
        assert next(file) == LINES[0]
        assert file.read(len(LINES[1])) == LINES[1]
        assert next(file) == LINES[2]
        assert file.read1(5) == LINES[3][:5]
        assert file.readline() == LINES[3][5:]
        out = bytearray(len(LINES[4]))
        assert file.readinto(out) == len(out)
        assert bytes(out) == LINES[4]
        assert next(file) == LINES[5]
        assert file.tell() == sum(map(len, LINES[:6]))
        assert file.readlines() == LINES[6:]
        with pytest.raises(StopIteration):
            next(file)


def test_closed_iterator_deadlock(codec: Codec) -> None:
    """The next line of a closed file is an error, not a lock that nobody gives back."""
    file = codec.file(io.BytesIO(codec.compress(TEXT)))
    lines = iter(file)
    next(lines)
    file.close()
    for _ in range(2):
        with pytest.raises(ValueError, match="closed"):
            next(lines)
        with pytest.raises(ValueError, match="closed"):
            iter(file)


def test_write_methods_on_read_only_file(codec: Codec) -> None:
    with codec.file(io.BytesIO(codec.compress(TEXT))) as file:
        with pytest.raises(io.UnsupportedOperation):
            file.write(b"a")
        with pytest.raises(io.UnsupportedOperation):
            file.writelines([b"a"])
        assert file.readlines() == LINES


def test_seek_post_end_twice(codec: Codec, frames: bytes) -> None:
    for data, length in ((frames, len(TEXT)), (codec.compress(TEXT) * 2, 2 * len(TEXT))):
        with codec.file(io.BytesIO(data)) as file:
            for _ in range(2):
                assert file.seek(10**9) == length
                assert file.tell() == length
                assert file.read() == b""
            assert file.seek(0) == 0
            assert file.readline() == LINES[0]


def test_open_del(codec: Codec, tmp_path: Path) -> None:
    """A file that nobody holds any more is closed, its descriptor given back; what was written is there."""
    path = tmp_path / "file"
    before = len(os.listdir("/dev/fd"))  # noqa: PTH208 - descriptors are not paths
    for turn in range(20):
        file = codec.file(path, "w")
        file.write(b"%d" % turn)
        del file
        file = codec.file(path)
        assert file.read(1) == b"%d" % (turn // 10 or turn)
        del file
    assert len(os.listdir("/dev/fd")) == before  # noqa: PTH208 - as above
    assert codec.decompress(path.read_bytes()) == b"19"
