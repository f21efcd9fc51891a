"""Properties: what peers compress we decode; damaged and random bytes give an error or data, and nothing worse.

A Rust panic reaches Python as a PanicException, which is no Exception: it passes every ``except`` here and fails
the test, and so does a hang, by pytest's timeout.
"""

from __future__ import annotations

import gzip as gzip_peer
import subprocess
import sys
import textwrap
import zlib
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import cramjam
import lz4.frame as lz4_peer
import pyarrow as pa
import pytest
import snappy as snappy_peer
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kafkacomp as kc
from golden.expect import LegacyFile, legacy_files, modern_cases, segments
from grouped import grouped
from kafkacomp import CompressionType, gzip, lz4, record, snappy, zstd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# A vector's records are some kilobytes; damage must not make more of them than this.
CAP = 1 << 20

THOROUGH = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])

# Text that compresses, noise that does not, and both in turn: matches, literals and stored blocks.
PIECES = st.one_of(
    st.binary(max_size=200),
    st.builds(lambda piece, times: piece * times, st.binary(min_size=1, max_size=24), st.integers(1, 4000)),
)
CONTENT = st.lists(PIECES, max_size=6).map(b"".join)


# ------------------------------------------------------------------------------------------ peers compress


@THOROUGH
@given(st.lists(st.tuples(CONTENT, st.integers(-1, 9), st.booleans()), min_size=1, max_size=3), st.integers(0, 9))
def test_gzip_by_zlib(members: list[tuple[bytes, int, bool]], padding: int) -> None:
    """Members of zlib and of Python's gzip, with names and times, one after another, with zero padding."""
    data = b""
    for content, level, plain in members:
        if plain:
            deflate = zlib.compressobj(level, wbits=31)
            data += deflate.compress(content) + deflate.flush()
        else:
            data += gzip_peer.compress(content, max(level, 0), mtime=12345)
    content = b"".join(content for content, _, _ in members)
    assert gzip.decompress(data + bytes(padding)) == content
    assert kc.decompress(data, "gzip") == content
    # Kafka's stream ignores what follows a member and is no member.
    assert kc.decompress(data + b"no member", CompressionType.GZIP) == content


def xerial(content: bytes, block: int, version: Literal["big", "little"] = "big") -> bytes:
    """A stream as snappy-java writes it (Redpanda turns the version words round)."""
    header = b"\x82SNAPPY\x00" + (1).to_bytes(4, version) * 2
    blocks = [content[at : at + block] for at in range(0, len(content), block)]
    packed = [snappy_peer.compress(piece) for piece in blocks]
    return header + b"".join(len(piece).to_bytes(4, "big") + piece for piece in packed)


@THOROUGH
@given(CONTENT, CONTENT, st.integers(1, 40_000), st.sampled_from(["big", "little"]))
def test_snappy_by_peers(content: bytes, more: bytes, block: int, version: Literal["big", "little"]) -> None:
    """Raw blocks of two libraries, xerial streams with either byte order, and one stream behind another."""
    for packed in (snappy_peer.compress(content), bytes(cramjam.snappy.compress_raw(content))):
        assert snappy.decompress(packed) == content
        assert kc.decompress(packed, "snappy") == content
    stream = xerial(content, block, version)
    assert snappy.decompress(stream) == content
    assert kc.decompress(stream, "snappy") == content
    assert snappy.decompress(stream + xerial(more, block)) == content + more


BLOCK_SIZES = [
    lz4_peer.BLOCKSIZE_MAX64KB,
    lz4_peer.BLOCKSIZE_MAX256KB,
    lz4_peer.BLOCKSIZE_MAX1MB,
    lz4_peer.BLOCKSIZE_MAX4MB,
]
FRAME_OPTIONS = st.fixed_dictionaries(
    {
        "compression_level": st.integers(-3, 12),
        "block_size": st.sampled_from(BLOCK_SIZES),
        "block_linked": st.booleans(),
        "content_checksum": st.booleans(),
        "block_checksum": st.booleans(),
        "store_size": st.booleans(),
    }
)
SKIPPABLE = st.builds(
    lambda kind, content: (0x184D2A50 | kind).to_bytes(4, "little") + len(content).to_bytes(4, "little") + content,
    st.integers(0, 15),
    st.binary(max_size=50),
)


@THOROUGH
@given(st.lists(st.tuples(CONTENT, FRAME_OPTIONS), min_size=1, max_size=3), st.none() | SKIPPABLE)
def test_lz4_by_liblz4(frames: list[tuple[bytes, dict[str, Any]]], between: bytes | None) -> None:
    """Frames of every shape that liblz4 has, several in a row, skippable ones between."""
    packed = [lz4_peer.compress(content, **options) for content, options in frames]
    data = (between or b"").join([b"", *packed] if between else packed)
    content = b"".join(content for content, _ in frames)
    assert lz4.decompress(data) == content
    for magic in (0, 1, 2):
        assert kc.decompress(data, "lz4", magic=magic) == content
    options = frames[0][1]
    info = lz4.get_frame_info(packed[0])
    assert info.header_checksum_rule in {"standard", "both"}
    # liblz4 calls a single block independent, whatever was asked for.
    assert info.block_independence or options["block_linked"]
    assert info.block_checksum is options["block_checksum"]
    assert info.content_checksum is options["content_checksum"]
    assert info.content_size in {len(frames[0][0]) if options["store_size"] else None, None}


def break_header_checksum(frame: bytes) -> bytes:
    """The frame with Kafka 0.8.2's header checksum (KIP-57): over the magic too."""
    info = lz4.get_frame_info(frame)
    at = info.position + info.header_length - 1
    return frame[:at] + bytes([info.broken_header_checksum]) + frame[at + 1 :]


@QUICK
@given(CONTENT, FRAME_OPTIONS)
def test_lz4_header_checksum_policies(content: bytes, options: dict[str, Any]) -> None:
    """standard, broken, either and ignore, and what each magic demands."""
    good = lz4_peer.compress(content, **options)
    bad = break_header_checksum(good)
    policies: list[tuple[bytes, dict[lz4.HeaderChecksum, bool]]] = [
        (good, {"standard": True, "broken": False, "either": True, "ignore": True}),
        (bad, {"standard": False, "broken": True, "either": True, "ignore": True}),
    ]
    if lz4.get_frame_info(good).header_checksum_rule == "both":
        return
    for frame, answers in policies:
        for policy, passes in answers.items():
            assert decoded(lz4.decompress, frame, header_checksum=policy) == (content if passes else None)
    for magic in (1, 2):
        assert decoded(kc.decompress, bad, "lz4", magic=magic) is None
    assert kc.decompress(bad, "lz4", magic=0) == content


def decoded(decode: Callable[..., bytes], data: bytes, *arguments: Any, **options: Any) -> bytes | None:
    """The content, or None for a DecompressionError."""
    try:
        return decode(data, *arguments, **options)
    except kc.DecompressionError:
        return None


@THOROUGH
@given(
    st.lists(st.tuples(CONTENT, st.integers(-20, 19), st.booleans(), st.booleans()), min_size=1, max_size=3),
    st.none() | SKIPPABLE,
)
def test_zstd_by_zstandard(frames: list[tuple[bytes, int, bool, bool]], between: bytes | None) -> None:
    """Frames with and without content size and checksum, several, skippable ones between; streamed ones too."""
    packed = []
    for content, level, with_size, with_checksum in frames:
        compressor = zstandard.ZstdCompressor(level=level, write_content_size=with_size, write_checksum=with_checksum)
        packed.append(compressor.compress(content))
        stream = compressor.compressobj()
        assert zstd.decompress(stream.compress(content) + stream.flush()) == content
    data = (between or b"").join([b"", *packed] if between else packed)
    content = b"".join(content for content, *_ in frames)
    assert zstd.decompress(data) == content
    assert kc.decompress(data, "zstd") == content


@QUICK
@given(CONTENT)
def test_none_is_a_copy(content: bytes) -> None:
    assert kc.decompress(content, CompressionType.NONE) == content


# ------------------------------------------------------------------------------- damaged compressed data

SAMPLE = b"kafka: batches, records, headers. " * 9 + bytes(range(97))


def frames_of(content: bytes) -> dict[str, tuple[CompressionType, bytes]]:
    """A small stream of each kind."""
    return {
        "gzip": (CompressionType.GZIP, gzip_peer.compress(content, mtime=0)),
        "snappy-raw": (CompressionType.SNAPPY, snappy_peer.compress(content)),
        "snappy-xerial": (CompressionType.SNAPPY, xerial(content, 128)),
        "lz4": (CompressionType.LZ4, lz4_peer.compress(content, store_size=False)),
        "lz4-all": (
            CompressionType.LZ4,
            lz4_peer.compress(content, content_checksum=True, block_checksum=True, store_size=True),
        ),
        "zstd": (CompressionType.ZSTD, zstandard.ZstdCompressor(write_content_size=False).compress(content)),
        "zstd-checksum": (CompressionType.ZSTD, zstandard.ZstdCompressor(write_checksum=True).compress(content)),
    }


SMALL_FRAMES = frames_of(SAMPLE)
STRICT: dict[CompressionType, Callable[..., bytes]] = {
    CompressionType.GZIP: gzip.decompress,
    CompressionType.SNAPPY: snappy.decompress,
    CompressionType.LZ4: lz4.decompress,
    CompressionType.ZSTD: zstd.decompress,
}
# Their checksums cover the whole content: damage that passes must have been in bytes that carry none of it.
CHECKED = {"gzip", "lz4-all", "zstd-checksum"}


def attempts(kind: CompressionType, data: bytes) -> Iterator[bytes | None]:
    """The codec module's answer, and the record layer's for each magic."""
    yield decoded(STRICT[kind], data, max_output_size=CAP)
    for magic in (0, 2):
        yield decoded(kc.decompress, data, kind, magic=magic, max_output_size=CAP)


@pytest.mark.parametrize("name", SMALL_FRAMES)
def test_every_prefix_of_a_stream(name: str) -> None:
    """A cut stream is an error, or what it holds up to the cut where the format cannot tell."""
    kind, data = SMALL_FRAMES[name]
    for cut in range(len(data)):
        for content in attempts(kind, data[:cut]):
            assert content is None or SAMPLE.startswith(content), cut
        # As in the standard library, an empty file has no gzip member, and its content is empty.
        if name in CHECKED and (kind, cut) != (CompressionType.GZIP, 0):
            assert decoded(STRICT[kind], data[:cut]) is None, cut


@pytest.mark.parametrize("name", SMALL_FRAMES)
def test_every_flipped_bit_of_a_stream(name: str) -> None:
    """A flipped bit is an error or gives data within the cap; where there is a checksum, the same data."""
    kind, data = SMALL_FRAMES[name]
    for bit in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        for content in attempts(kind, bytes(damaged)):
            assert content is None or len(content) <= CAP
        if name in CHECKED:
            assert decoded(STRICT[kind], bytes(damaged)) in {None, SAMPLE, b""}, bit


@QUICK
@given(st.sampled_from(sorted(SMALL_FRAMES)), st.integers(1, len(SAMPLE)))
def test_the_cap_is_exact(name: str, cap: int) -> None:
    """One byte less than the content is refused by OutputLimitError, the content itself is not."""
    kind, data = SMALL_FRAMES[name]
    assert STRICT[kind](data, max_output_size=len(SAMPLE)) == SAMPLE
    assert kc.decompress(data, kind, max_output_size=len(SAMPLE)) == SAMPLE
    if cap < len(SAMPLE):
        for decode, arguments in ((STRICT[kind], ()), (kc.decompress, (kind,))):
            with pytest.raises(kc.OutputLimitError) as caught:
                decode(data, *arguments, max_output_size=cap)
            assert caught.value.limit == cap


@pytest.mark.parametrize("name", SMALL_FRAMES)
def test_decompress_into(name: str) -> None:
    """An exact buffer is filled; a smaller one is refused and left as it was."""
    kind, data = SMALL_FRAMES[name]
    module: Any = {1: gzip, 2: snappy, 3: lz4, 4: zstd}[kind]
    exact = bytearray(len(SAMPLE))
    assert module.decompress_into(data, exact) == len(SAMPLE)
    assert exact == SAMPLE
    small = bytearray(len(SAMPLE) - 1)
    with pytest.raises(kc.OutputLimitError):
        module.decompress_into(data, small)
    assert not any(small)


@QUICK
@given(st.sampled_from(list(CompressionType)), st.binary(max_size=300), st.integers(0, 2))
def test_random_bytes_into_the_codecs(kind: CompressionType, data: bytes, magic: int) -> None:
    content = decoded(kc.decompress, data, kind, magic=magic, max_output_size=CAP)
    assert content is None or len(content) <= CAP
    if kind in STRICT:
        content = decoded(STRICT[kind], data, max_output_size=CAP)
        assert content is None or len(content) <= CAP


BOMBS = {
    # Made by the codec itself, or a header that claims what is not there.
    "gzip": "kc.decompress(zlib.compress(bytes(1 << 28), wbits=31), 'gzip', max_output_size=CAP)",
    "gzip-strict": "gzip.decompress(zlib.compress(bytes(1 << 28), wbits=31), max_output_size=CAP)",
    "lz4": "kc.decompress(lz4.frame.compress(bytes(1 << 28)), 'lz4', max_output_size=CAP)",
    "lz4-claims": "kc.decompress(bytes.fromhex('04224d186840') + bytes(7) + b'@' + bytes(1), 'lz4', magic=0)",
    "zstd": "kc.decompress(zstandard.ZstdCompressor().compress(bytes(1 << 28)), 'zstd', max_output_size=CAP)",
    "zstd-claims": "kc.decompress(b'(\\xb5/\\xfd\\xe0' + (1 << 30).to_bytes(8, 'little'), 'zstd')",
    "snappy-claims": "kc.decompress(b'\\xff\\xff\\xff\\xff\\x07' + b'\\0a', 'snappy')",
    "xerial-claims": "kc.decompress(b'\\x82SNAPPY\\0\\0\\0\\0\\1\\0\\0\\0\\1\\x7f\\xff\\xff\\xff', 'snappy')",
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_cost_no_more_than_the_cap(name: str) -> None:
    """The cap holds before memory is taken, whatever a header claims or a small stream makes."""
    program = textwrap.dedent(f"""
        import resource, zlib, sys
        import lz4.frame, zstandard
        import kafkacomp as kc
        from kafkacomp import gzip
        CAP = 1 << 20
        bomb = None
        class Ready(Exception): pass
        real = (kc.decompress, gzip.decompress)
        def hold(data, *args, **options):
            global bomb
            bomb = (data, args, options)
            raise Ready
        kc.decompress = gzip.decompress = hold
        try:
            {BOMBS[name]}
        except Ready:
            pass
        decode = real[{int(name.endswith("strict"))}]
        # Making the bomb may have taken memory; what counts is what decoding it adds in address space.
        with open('/proc/self/status') as status:
            size = next(int(line.split()[1]) for line in status if line.startswith('VmSize'))
        resource.setrlimit(resource.RLIMIT_AS, ((size << 10) + (96 << 20), -1))
        try:
            decode(bomb[0], *bomb[1], **bomb[2])
        except kc.DecompressionError as error:
            print(type(error).__name__)
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in {"OutputLimitError", "TruncatedError", "DecompressionError"}


# ------------------------------------------------------------------------------------ damaged record sets


@cache
def record_sets() -> dict[str, bytes]:
    """The smallest batch of each magic and compression type, as a broker wrote it."""
    sets: dict[str, bytes] = {}
    files: list[LegacyFile] = sorted(legacy_files(), key=lambda file: int(file.about["size"]))
    data = [file.path.read_bytes() for file in files[:200]]
    data += [
        segments(case.partitions()[0])[0].read_bytes()
        for case in modern_cases()
        if case.name in {"one-byte-values", "single-record-batches", "share-group-state"}
    ]
    for content in data:
        for batch in record.read_batches(content):
            name = f"v{batch.magic}-{batch.compression_type}"
            piece = bytes(batch)
            if len(piece) < len(sets.get(name, bytes(2000))) and any(True for _ in batch):
                sets[name] = piece
    return sets


def test_there_is_a_record_set_of_each_magic_and_codec() -> None:
    codecs = {0: ["none", "gzip", "snappy", "lz4"], 1: ["none", "gzip", "snappy", "lz4"]}
    codecs[2] = [*codecs[0], "zstd"]
    assert sorted(record_sets()) == sorted(f"v{magic}-{codec}" for magic, names in codecs.items() for codec in names)


Row = tuple[int, int, bytes | None, bytes | None]


def read_everything(data: bytes) -> tuple[list[Row], bool]:
    """All records before an error, and whether every batch was whole, valid and readable."""
    rows: list[Row] = []
    sound = True
    try:
        for batch in record.read_batches(data, verify_crc=False, max_output_size=CAP):
            sound &= batch.is_valid
            try:
                for item in batch:
                    rows.append((item.offset, item.timestamp, item.key, item.value))
                    assert all(isinstance(name, str) for name, _ in item.headers)
            except kc.KafkaCompError:
                sound = False
            for attribute in dir(batch):
                if not attribute.startswith("_"):
                    try:
                        getattr(batch, attribute)
                    except (kc.KafkaCompError, ValueError):
                        sound &= attribute == "base_offset"
    except kc.KafkaCompError:
        sound = False
    return rows, sound


def scanned(data: bytes, **options: Any) -> list[tuple[Any, ...]] | None:
    """The rows of a scan, or None if it failed."""
    try:
        reader = kc.scan(data, columns=["offset", "key", "value"], **grouped(max_output_size=CAP, threads=1, **options))
    except ValueError as error:
        if "not a log segment" not in str(error):  # the data do not begin as a file of another format does
            raise
        return None
    try:
        return list(zip(*pa.table(reader).to_pydict().values(), strict=True))
    except (pa.ArrowException, OSError, kc.KafkaCompError):
        return None


@pytest.mark.parametrize("name", sorted(record_sets()))
def test_every_prefix_of_a_record_set(name: str) -> None:
    """A cut batch gives nothing and no error; behind a whole one it does not touch that one."""
    data = record_sets()[name]
    rows, sound = read_everything(data)
    assert sound
    assert rows
    for cut in range(len(data)):
        assert read_everything(data[:cut]) == ([], True), cut
        assert read_everything(data + data[:cut]) == (rows, True), cut
    for cut in range(0, len(data), 7):
        found = scanned(data + data[:cut], on_error="skip", include_control=True)
        assert found is not None
        assert [row[0] for row in found] == [row[0] for row in rows]


# Where the checksum does not look: offset, size, and in magic 2 the leader epoch and the magic (what the other
# formats would take for their checksum, and theirs begins at the magic).
UNPROTECTED = {0: range(12), 1: range(12), 2: range(17)}


@pytest.mark.parametrize("name", sorted(record_sets()))
def test_every_flipped_bit_of_a_record_set(name: str) -> None:
    """A flipped bit is seen, or it was in bytes that no checksum protects; then the payload is the same."""
    data = record_sets()[name]
    rows, _ = read_everything(data)
    magic = int(name[1])
    for bit in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        found, sound = read_everything(bytes(damaged))
        if sound and found:
            assert bit // 8 in UNPROTECTED[magic], bit
            assert [row[2:] for row in found] == [row[2:] for row in rows], bit
        if bit % 5 == 0:
            for on_error in ("raise", "skip"):
                table = scanned(bytes(damaged), on_error=on_error, include_control=True)
                if table:
                    assert bit // 8 in UNPROTECTED[magic], bit
                    assert [row[1:] for row in table] == [row[2:] for row in rows], bit


@THOROUGH
@given(
    st.lists(st.sampled_from(sorted(record_sets())), min_size=1, max_size=4),
    st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=8), st.integers(0, 8)), max_size=4),
    st.binary(max_size=40),
)
def test_mangled_record_sets(names: list[str], edits: list[tuple[float, bytes, int]], tail: bytes) -> None:
    """Several batches with bytes replaced, inserted and removed: an error or records, by iteration and by scan."""
    data = bytearray(b"".join(record_sets()[name] for name in names))
    for place, piece, removed in edits:
        at = int(place * len(data))
        data[at : at + removed] = piece
    mangled = bytes(data) + tail
    read_everything(mangled)
    scanned(mangled)
    scanned(mangled, on_error="skip", verify_crc=False)
    scanned(mangled, on_error="skip", isolation_level="read_committed")


@THOROUGH
@given(st.binary(max_size=400))
def test_random_bytes_as_a_record_set(data: bytes) -> None:
    read_everything(data)
    scanned(data)
    scanned(data, on_error="skip", verify_crc=False)


@THOROUGH
@given(st.integers(0, 2), st.integers(0, 255), st.binary(max_size=300), st.integers(-3, 400))
def test_random_bytes_behind_a_batch_header(magic: int, attributes: int, body: bytes, count: int) -> None:
    """A header that frames well, with anything behind it: past the checksum into every decoder."""
    if magic == 2:
        fields = (0).to_bytes(4, "big") + bytes([2]) + bytes(4) + bytes([0, attributes]) + (9).to_bytes(4, "big")
        fields += bytes(34) + count.to_bytes(4, "big", signed=True)
    else:
        fields = bytes(4) + bytes([magic, attributes]) + bytes(8 * magic) + (-1).to_bytes(4, "big", signed=True)
        fields += len(body).to_bytes(4, "big")
    data = bytes(8) + (len(fields) + len(body)).to_bytes(4, "big") + fields + body
    (batch,) = record.read_batches(data, verify_crc=False, max_output_size=CAP)
    caught: kc.KafkaCompError | None = None
    try:
        for item in batch:
            assert len(item.value or b"") <= CAP
            assert isinstance(item.headers, tuple)
    except kc.KafkaCompError as error:
        caught = error
    if caught is not None:
        assert caught.error_code in {2, 87, -1, None}
        assert isinstance(caught.position, int)
    scanned(data, verify_crc=False)
    scanned(data, verify_crc=False, on_error="skip")


@QUICK
@given(st.data())
def test_chunks_and_buffers_do_not_matter(data: st.DataObject) -> None:
    """Any bytes-like object reads the same, also one that is changed while its batches are in use."""
    name = data.draw(st.sampled_from(sorted(record_sets())))
    content = record_sets()[name]
    expected = read_everything(content)[0]
    writable = bytearray(content)
    for buffer in (writable, memoryview(content), memoryview(writable), pa.py_buffer(content)):
        batches = list(record.read_batches(buffer))
        if buffer is writable:
            writable[:] = bytes(len(writable))
        found = [(r.offset, r.timestamp, r.key, r.value) for batch in batches for r in batch]
        assert found == expected
        writable[:] = content
