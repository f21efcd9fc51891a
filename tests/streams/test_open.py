"""The codecs' ``open`` and ``kafkacomp.open``: a case for each of OpenTestCase's that applies, by its name."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest

import kafkacomp as kc

from .codecs import LINES, NOISE, TEXT, Codec, Drip

if TYPE_CHECKING:
    from pathlib import Path

WORDS = TEXT.decode("ascii")


def opened(*arguments: Any, **options: Any) -> Any:
    """What :func:`kafkacomp.open` gives, bytes or text."""
    return kc.open(*arguments, **options)


def test_binary_modes(codec: Codec, tmp_path: Path) -> None:
    path = tmp_path / "file"
    with codec.module.open(path, "wb") as file:
        file.write(TEXT)
    assert codec.decompress(path.read_bytes()) == TEXT
    with codec.module.open(path, "rb") as file:
        assert file.read() == TEXT
    with codec.module.open(path, "ab") as file:
        file.write(TEXT)
    with codec.module.open(path) as file:
        assert file.read() == TEXT * 2
    with pytest.raises(FileExistsError):
        codec.module.open(path, "xb")


def test_implicit_binary_modes(codec: Codec, tmp_path: Path) -> None:
    with codec.module.open(tmp_path / "file", "w") as file:
        file.write(TEXT)
    with codec.module.open(tmp_path / "file", "a") as file:
        file.write(TEXT)
    with codec.module.open(str(tmp_path / "file"), "r") as file:
        assert file.read() == TEXT * 2


def test_text_modes(codec: Codec, tmp_path: Path) -> None:
    path = tmp_path / "file"
    with codec.module.open(path, "wt", encoding="ascii") as file:
        assert file.write(WORDS) == len(WORDS)
    assert codec.decompress(path.read_bytes()) == TEXT
    with codec.module.open(path, "at", encoding="ascii") as file:
        file.write("tail")
    with codec.module.open(path, "rt", encoding="ascii") as file:
        assert file.read() == WORDS + "tail"
    with codec.module.open(tmp_path / "new", "xt", encoding="ascii") as file:
        file.write(WORDS)
    with codec.module.open(tmp_path / "new", "rt", encoding="ascii") as file:
        assert list(file) == [line.decode() for line in LINES]


@pytest.mark.parametrize("mode", ["", "rbt", "tb", "rw", "r+", "wtb", "z"])
def test_bad_params(codec: Codec, mode: str) -> None:
    with pytest.raises(ValueError, match="mode"):
        codec.module.open(io.BytesIO(), mode)


@pytest.mark.parametrize("name", ["encoding", "errors", "newline"])
def test_text_arguments_in_a_binary_mode(codec: Codec, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        codec.module.open(io.BytesIO(), "rb", **{name: "ignore"})


def test_bad_file(codec: Codec) -> None:
    with pytest.raises(TypeError):
        codec.module.open(None)
    with pytest.raises(FileNotFoundError):
        codec.module.open("/no/such/file")
    with pytest.raises(IsADirectoryError):
        codec.module.open("/tmp")  # noqa: S108 - any folder


def test_encoding(codec: Codec) -> None:
    out = io.BytesIO()
    with codec.module.open(out, "wt", encoding="utf-16-le") as file:
        file.write(WORDS)
    assert codec.decompress(out.getvalue()) == WORDS.encode("utf-16-le")
    with codec.module.open(io.BytesIO(out.getvalue()), "rt", encoding="utf-16-le") as file:
        assert file.read() == WORDS


def test_encoding_error_handler(codec: Codec) -> None:
    data = codec.compress(b"foo\xffbar")
    with codec.module.open(io.BytesIO(data), "rt", encoding="ascii", errors="ignore") as file:
        assert file.read() == "foobar"
    with codec.module.open(io.BytesIO(data), "rt", encoding="ascii") as file, pytest.raises(UnicodeDecodeError):
        file.read()


def test_newline(codec: Codec) -> None:
    out = io.BytesIO()
    with codec.module.open(out, "wt", encoding="ascii", newline="\n") as file:
        file.write(WORDS)
    with codec.module.open(io.BytesIO(out.getvalue()), "rt", encoding="ascii", newline="\r") as file:
        assert file.readlines() == [WORDS]


def test_level(codec: Codec) -> None:
    if codec.level is None:
        with pytest.raises(TypeError):
            codec.module.open(io.BytesIO(), "w", level=1)
        return
    out = io.BytesIO()
    with codec.module.open(out, "w", level=codec.level) as file:
        file.write(TEXT)
    assert codec.decompress(out.getvalue()) == TEXT


# ---------------------------------------------------------------------------------------------- kafkacomp.open


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("name", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_streams_of_a_compression_type(name: str, magic: int) -> None:
    """What ``wrapForOutput`` gives, ``decompress`` and ``wrapForInput`` read; and the reverse."""
    for data in (b"", TEXT, NOISE):
        out = io.BytesIO()
        with opened(out, name, "wb", magic=magic) as file:
            for at in range(0, len(data), 1000):
                file.write(data[at : at + 1000])
        assert not out.closed
        if name != "none" or data:
            assert kc.decompress(out.getvalue(), name, magic=magic) == data
        compressed = kc.compress(data, name, magic=magic)
        for source in (io.BytesIO(compressed), Drip(compressed, 900)):
            with opened(source, kc.CompressionType.for_name(name), magic=magic) as file:
                assert file.read() == data


def test_magic_decides_about_the_header_checksum() -> None:
    """KIP-57: magic 0 writes the broken one and reads any, 1 and 2 write and want the right one."""
    frames = {}
    for magic in (0, 1, 2):
        out = io.BytesIO()
        with opened(out, "lz4", "w", magic=magic) as file:
            file.write(TEXT)
        frames[magic] = out.getvalue()
    assert [kc.lz4.get_frame_info(frames[magic]).header_checksum_rule for magic in (0, 1, 2)] == [
        "broken",
        "standard",
        "standard",
    ]
    for written, frame in frames.items():
        for read in (0, 1, 2):
            with opened(io.BytesIO(frame), "lz4", magic=read) as file:
                if written == 0 and read > 0:
                    with pytest.raises(kc.DecompressionError):
                        file.read()
                else:
                    assert file.read() == TEXT


def test_reads_wherever_kafka_reads() -> None:
    """Kafka's stream does not look at what follows LZ4's EndMark or a gzip member, nor at a content checksum."""
    frame = kc.lz4.compress(TEXT, content_checksum=True)
    damaged = frame[:-1] + bytes([frame[-1] ^ 1])
    for data in (damaged, kc.lz4.compress(TEXT) + b"whatever", kc.gzip.compress(TEXT) + b"whatever"):
        name = "gzip" if data.startswith(b"\x1f\x8b") else "lz4"
        assert kc.decompress(data, name) == TEXT
        with opened(io.BytesIO(data), name) as file:
            assert file.read() == TEXT


def test_none_is_the_file_itself(tmp_path: Path) -> None:
    with opened(tmp_path / "file", "none", "w") as file:
        file.write(TEXT)
    assert (tmp_path / "file").read_bytes() == TEXT
    with opened(tmp_path / "file", "none") as file:
        assert file.seekable()
        assert file.readline() == LINES[0]
        file.seek(-5, 2)
        assert file.read() == TEXT[-5:]


def test_text(tmp_path: Path) -> None:
    with opened(tmp_path / "file", "zstd", "wt", encoding="utf-8", compression_level=1) as file:
        file.write("ä\n" * 1000)
    with opened(tmp_path / "file", "zstd", "rt", encoding="utf-8") as file:
        assert file.readlines() == ["ä\n"] * 1000


@pytest.mark.parametrize("name", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_max_output_size(name: str) -> None:
    data = kc.compress(bytes(5000), name)
    with opened(io.BytesIO(data), name, max_output_size=5000) as file:
        assert len(file.read()) == 5000
    with opened(io.BytesIO(data), name, max_output_size=4999) as file, pytest.raises(kc.OutputLimitError):
        file.read()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"compression_type": "lzma"}, ValueError),
        ({"compression_type": 7}, ValueError),
        ({"magic": 3}, ValueError),
        ({"mode": "q"}, ValueError),
        ({"compression_level": 5}, ValueError),
        ({"compression_level": 99, "mode": "w"}, ValueError),
        ({"compression_type": "none", "mode": "w", "compression_level": 1}, ValueError),
        ({"compression_type": "snappy", "mode": "w", "compression_level": 1}, ValueError),
        ({"max_output_size": 0}, ValueError),
        ({"max_output_size": 10, "mode": "w"}, ValueError),
        ({"encoding": "ascii"}, ValueError),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        opened(io.BytesIO(), **({"compression_type": "zstd"} | arguments))
