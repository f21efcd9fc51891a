"""Writing compressed files: a case for each of the standard library's that applies, by its name."""

from __future__ import annotations

import array
import io
import os
import threading
from pathlib import Path
from typing import Any

import pytest

import kafkacomp as kc

from .codecs import LINES, NOISE, TEXT, Codec, Sink


def test_init(codec: Codec) -> None:
    for mode in ("r", "rb", "w", "wb", "x", "xb", "a", "ab"):
        with codec.file(io.BytesIO(codec.compress(b"")), mode) as file:
            assert file.mode == mode[0] + "b"
    if codec.level is not None:
        with codec.file(io.BytesIO(), "w", level=codec.level) as file:
            file.write(TEXT)


@pytest.mark.parametrize("kind", [str, os.fsencode, Path])
def test_init_with_filename(codec: Codec, tmp_path: Path, kind: Any) -> None:
    path = kind(tmp_path / "file")
    with codec.file(path, "w") as file:
        file.write(TEXT)
        assert file.name == os.fspath(path)
    with codec.file(path, "a") as file:
        file.write(NOISE)
    with codec.file(path) as file:
        assert file.read() == TEXT + NOISE


def test_init_with_x_mode(codec: Codec, tmp_path: Path) -> None:
    for mode in ("x", "xb"):
        with codec.file(tmp_path / mode, mode) as file:
            file.write(TEXT)
        with pytest.raises(FileExistsError):
            codec.file(tmp_path / mode, mode)
        assert codec.file(tmp_path / mode).read() == TEXT


@pytest.mark.parametrize("mode", [(3, "x"), "", "xt", "x+", "rx", "wx", "rt", "r+", "wt", "w+", "rw", "ra", None, "U"])
def test_init_bad_mode(codec: Codec, mode: Any) -> None:
    with pytest.raises(ValueError, match="mode"):
        codec.file(io.BytesIO(), mode)


@pytest.mark.parametrize("bad", [3, None, 1.5, object()])
def test_init_bad_file(codec: Codec, bad: Any) -> None:
    for mode in ("r", "w"):
        with pytest.raises(TypeError):
            codec.file(bad, mode)


def test_init_bad_level(codec: Codec, tmp_path: Path) -> None:
    """A wrong argument is told before the file is touched."""
    path = tmp_path / "file"
    path.write_bytes(b"precious")
    with pytest.raises(TypeError):
        codec.file(path, "w", level="asd")
    if codec.level is not None:
        with pytest.raises(ValueError, match="level"):
            codec.file(path, "w", level=99)
        with pytest.raises((TypeError, ValueError), match="level"):
            codec.file(path, "r", level=codec.level)
    assert path.read_bytes() == b"precious"


def test_write(codec: Codec) -> None:
    for data in (TEXT, NOISE, b"x"):
        out = io.BytesIO()
        with codec.file(out, "w") as file:
            assert file.write(data) == len(data)
        assert codec.decompress(out.getvalue()) == data


def test_write_10(codec: Codec) -> None:
    out = io.BytesIO()
    with codec.file(out, "w") as file:
        for at in range(0, len(TEXT), 10):
            assert file.write(TEXT[at : at + 10]) == len(TEXT[at : at + 10])
    assert codec.decompress(out.getvalue()) == TEXT
    # Many small writes make the blocks that one large write makes.
    assert len(out.getvalue()) <= len(codec.compress(TEXT)) * 1.02 + 20


def test_write_empty(codec: Codec) -> None:
    """A file without content can be read back."""
    out = io.BytesIO()
    codec.file(out, "w").close()
    assert codec.decompress(out.getvalue()) == b""
    assert codec.file(io.BytesIO(out.getvalue())).read() == b""


def test_write_append(codec: Codec) -> None:
    out = io.BytesIO()
    for part in (b"one ", b"two ", b"three"):
        with codec.file(out, "a") as file:
            file.write(part)
    assert codec.decompress(out.getvalue()) == b"one two three"


def test_many_append(codec: Codec, tmp_path: Path) -> None:
    with codec.file(tmp_path / "file", "w") as file:
        file.write(b"a")
    for _ in range(200):
        with codec.file(tmp_path / "file", "a") as file:
            file.write(b"a")
    assert codec.file(tmp_path / "file").read() == b"a" * 201


def test_append_new_file(codec: Codec, tmp_path: Path) -> None:
    with codec.file(tmp_path / "new", "a") as file:
        file.write(TEXT)
    assert codec.file(tmp_path / "new").read() == TEXT


def test_write_bad_args(codec: Codec) -> None:
    file = codec.file(io.BytesIO(), "w")
    for bad in (None, "text", 789, ["a"]):
        with pytest.raises(TypeError):
            file.write(bad)
    file.close()
    with pytest.raises(ValueError, match="closed"):
        file.write(b"foo")
    with codec.file(io.BytesIO(codec.compress(b"")), "r") as file, pytest.raises(io.UnsupportedOperation):
        file.write(b"bar")


@pytest.mark.parametrize("kind", [bytearray, memoryview, lambda data: array.array("B", data)])
def test_buffer_protocol(codec: Codec, kind: Any) -> None:
    out = io.BytesIO()
    with codec.file(out, "w") as file:
        assert file.write(kind(TEXT)) == len(TEXT)
        words = array.array("Q", [1, 2, 3])
        assert file.write(words) == 24
    assert codec.decompress(out.getvalue()) == TEXT + words.tobytes()


def test_writelines(codec: Codec) -> None:
    out = io.BytesIO()
    with codec.file(out, "w") as file:
        file.writelines(iter(LINES))
    assert codec.decompress(out.getvalue()) == TEXT


def test_flush(codec: Codec) -> None:
    """What was flushed can be read; nothing twice makes nothing."""
    out = io.BytesIO()
    file = codec.file(out, "w")
    file.flush()
    assert out.getvalue() == b""
    file.write(b"first")
    file.flush()
    length = out.tell()
    assert codec.file(io.BytesIO(out.getvalue())).read(5) == b"first"
    file.flush(file.FLUSH_BLOCK)
    assert out.tell() <= length + 8
    file.write(b"second")
    file.flush(file.FLUSH_FRAME)
    assert codec.decompress(out.getvalue()) == b"firstsecond"
    length = out.tell()
    file.flush(file.FLUSH_FRAME)
    assert out.tell() == length
    file.write(b"third")
    file.close()
    assert codec.decompress(out.getvalue()) == b"firstsecondthird"
    with pytest.raises(ValueError, match="closed"):
        file.flush()


def test_flush_mode(codec: Codec) -> None:
    file = codec.file(io.BytesIO(), "w")
    for bad in (0, 5, None):
        with pytest.raises(ValueError, match="mode"):
            file.flush(bad)
    file.close()


def test_flush_of_a_reader_does_nothing(codec: Codec) -> None:
    with codec.file(io.BytesIO(codec.compress(TEXT))) as file:
        file.flush()
        assert file.read() == TEXT


def test_flush_goes_on_to_the_file(codec: Codec, tmp_path: Path) -> None:
    with codec.file(tmp_path / "file", "w") as file:
        file.write(b"there")
        file.flush()
        assert (tmp_path / "file").stat().st_size > 0


def test_short_writes(codec: Codec) -> None:
    """A target that takes a few bytes at a time gets them all."""
    sink = Sink()
    with codec.file(sink, "w") as file:
        file.write(TEXT)
    assert codec.decompress(bytes(sink.taken)) == TEXT


def test_non_blocking_target(codec: Codec) -> None:
    """A target that takes nothing at the moment: an error, and nothing is lost."""

    class Full(io.RawIOBase):
        taken = b""
        free = 0

        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int | None:
            if not self.free:
                return None
            part = bytes(data)[: self.free]
            self.taken += part
            self.free -= len(part)
            return len(part)

    target = Full()
    file = codec.file(target, "w")
    with pytest.raises(BlockingIOError):
        file.write(NOISE)
        file.flush()
    for _ in range(1000):
        target.free = 1000
        try:
            file.flush()
            break
        except BlockingIOError:
            continue
    target.free = 1 << 20
    file.close()
    assert codec.decompress(target.taken) == NOISE


def test_with_and_an_exception(codec: Codec) -> None:
    out = io.BytesIO()
    with pytest.raises(ZeroDivisionError), codec.file(out, "w") as file:
        file.write(TEXT)
        _ = 1 // 0
    assert file.closed
    assert codec.decompress(out.getvalue()) == TEXT


def test_close_of_a_full_disk(codec: Codec) -> None:
    """/dev/full: the error is told, and the file is closed all the same."""
    file = codec.file("/dev/full", "w")
    inner = file._file
    with pytest.raises(OSError, match="space"):
        file.write(NOISE)
        file.close()
    file_closed = file.closed
    if not file_closed:
        with pytest.raises(OSError, match="space"):
            file.close()
    assert file.closed
    assert inner.closed


def test_threads_share_a_file(codec: Codec) -> None:
    out = io.BytesIO()
    file = codec.file(out, "w")

    def write(letter: bytes) -> None:
        for _ in range(500):
            file.write(letter * 100)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in (b"a", b"b", b"c", b"d")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    file.close()
    content = codec.decompress(out.getvalue())
    assert len(content) == 200_000
    pieces = {content[at : at + 100] for at in range(0, len(content), 100)}
    assert pieces == {b"a" * 100, b"b" * 100, b"c" * 100, b"d" * 100}


def test_level_counts() -> None:
    """The level reaches the compressor."""
    for codec, low, high in ((kc.gzip.GzipFile, 1, 9), (kc.zstd.ZstdFile, 1, 19), (kc.lz4.LZ4File, 9, 12)):
        sizes = []
        for level in (low, high):
            out = io.BytesIO()
            with codec(out, "w", level=level) as file:
                file.write(TEXT)
            sizes.append(len(out.getvalue()))
        assert sizes[0] > sizes[1]


def test_gzip_header() -> None:
    """Of every level as Java writes it: no name, no time, no level, no system."""
    for level in range(1, 10):
        out = io.BytesIO()
        with kc.gzip.GzipFile(out, "w", level=level) as file:
            file.write(TEXT)
        assert out.getvalue()[:10] == kc.gzip.compress(TEXT, level)[:10] == bytes.fromhex("1f8b08000000000000ff")


def test_lz4_options() -> None:
    for options in (
        {"header_checksum": "broken"},
        {"block_size": 1 << 20},
        {"block_checksum": True},
        {"content_checksum": True},
    ):
        out = io.BytesIO()
        with kc.lz4.LZ4File(out, "w", **options) as file:
            file.write(TEXT)
        info = kc.lz4.get_frame_info(out.getvalue())
        rule: Any = options.get("header_checksum", "standard")
        assert info.header_checksum_rule in {rule, "both"}
        assert info.block_max_size == options.get("block_size", 65536)
        assert info.block_checksum == options.get("block_checksum", False)
        assert info.content_checksum == options.get("content_checksum", False)
        with kc.lz4.LZ4File(io.BytesIO(out.getvalue()), header_checksum=rule) as file:
            assert file.read() == TEXT
        if rule == "broken" and info.header_checksum_rule != "both":
            with kc.lz4.LZ4File(io.BytesIO(out.getvalue())) as file, pytest.raises(kc.DecompressionError):
                file.read()


def test_options_of_the_other_direction() -> None:
    """No argument is accepted and ignored."""
    for options in ({"block_size": 65536}, {"block_checksum": True}, {"content_checksum": True}, {"level": 4}):
        with pytest.raises((TypeError, ValueError), match=next(iter(options))):
            kc.lz4.LZ4File(io.BytesIO(), "r", **options)
    with pytest.raises((TypeError, ValueError), match="max_output_size"):
        kc.lz4.LZ4File(io.BytesIO(), "w", max_output_size=10)  # type: ignore[call-overload]
    with pytest.raises((TypeError, ValueError), match="either"):
        kc.lz4.LZ4File(io.BytesIO(), "w", header_checksum="either")  # type: ignore[call-overload]
