"""The names of PEP 784 in the codec modules."""

from __future__ import annotations

import gzip
import io
from typing import TYPE_CHECKING, Any

import pytest
import zstandard

import kafkacomp as kc
from kafkacomp.zstd import CompressionParameter

if TYPE_CHECKING:
    from types import ModuleType

CODECS = (kc.gzip, kc.lz4, kc.snappy, kc.zstd)
DATA = b"some data " * 1000


@pytest.mark.parametrize("module", CODECS)
def test_errors_have_the_name_of_the_module(module: ModuleType) -> None:
    """`except zstd.ZstdError` works as with the standard library's module."""
    name = {"gzip": "GzipError", "lz4": "LZ4Error", "snappy": "SnappyError", "zstd": "ZstdError"}
    error = getattr(module, name[module.__name__.rpartition(".")[2]])
    with pytest.raises(error):
        module.decompress(b"\xff" * 20)
    with pytest.raises(error):
        module.decompress(module.compress(DATA)[:-1])


@pytest.mark.parametrize("module", [kc.gzip, kc.lz4, kc.zstd])
def test_the_default_level_is_the_default(module: Any) -> None:
    assert module.compress(DATA, module.COMPRESSION_LEVEL_DEFAULT) == module.compress(DATA)
    assert module.compress(DATA, None) == module.compress(DATA)


@pytest.mark.parametrize("with_size", [False, True])
def test_frame_info(with_size: bool) -> None:
    compressor = zstandard.ZstdCompressor(write_content_size=with_size)
    frame = compressor.compress(DATA)
    expected = zstandard.get_frame_parameters(frame)
    info = kc.zstd.get_frame_info(frame)
    assert info == (len(DATA) if with_size else None, expected.dict_id)
    assert kc.zstd.get_frame_info(frame[:18]) == info
    # As Kafka writes it: without the size.
    assert kc.zstd.get_frame_info(kc.zstd.compress(DATA)) == (None, 0)


def test_frame_info_of_a_dictionary_and_of_a_skippable_frame() -> None:
    dictionary = zstandard.train_dictionary(2000, [b"%d some sample" % index for index in range(1000)])
    frame = zstandard.ZstdCompressor(dict_data=dictionary).compress(DATA)
    assert kc.zstd.get_frame_info(frame).dictionary_id == dictionary.dict_id() != 0
    assert kc.zstd.get_frame_info(b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd") == (0, 0)


@pytest.mark.parametrize("wrong", [b"", b"\x28\xb5", b"not a frame at all", kc.zstd.compress(b"x")[:5]])
def test_frame_info_of_what_is_no_frame(wrong: bytes) -> None:
    with pytest.raises(kc.zstd.ZstdError):
        kc.zstd.get_frame_info(wrong)


def test_options() -> None:
    options = {CompressionParameter.compression_level: 19}
    frame = kc.zstd.compress(DATA, 19)
    assert kc.zstd.compress(DATA, options=options) == frame
    assert kc.zstd.compress(DATA, options={}) == kc.zstd.compress(DATA)
    compressor = kc.zstd.ZstdCompressor(options=options)
    assert kc.zstd.decompress(compressor.compress(DATA) + compressor.flush()) == DATA
    out = io.BytesIO()
    with kc.zstd.open(out, "wb", options=options) as file:
        file.write(DATA)
    assert kc.zstd.decompress(out.getvalue()) == DATA
    with pytest.raises(ValueError, match="options has no meaning when reading"):
        kc.zstd.open(io.BytesIO(frame), options=options)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="invalid parameter 201 in options: only compression_level can be set"):
        kc.zstd.compress(DATA, options={201: 1})
    with pytest.raises(TypeError, match="level and options cannot both be given"):
        kc.zstd.compress(DATA, 3, options)


def test_no_members_are_no_bytes() -> None:
    """As the standard library answers."""
    assert kc.gzip.decompress(b"") == gzip.decompress(b"") == b""
    with kc.gzip.open(io.BytesIO(b"")) as ours, gzip.open(io.BytesIO(b"")) as theirs:
        assert ours.read() == theirs.read() == b""
    # What Kafka refuses stays an error.
    with pytest.raises(kc.TruncatedError):
        kc.decompress(b"", "gzip")
