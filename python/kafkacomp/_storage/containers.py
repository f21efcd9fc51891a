"""Recognize archives, compressed files, tables and files of other systems that are given instead of a segment."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, Final

from kafkacomp._storage.filesystem import read_head
from kafkacomp._storage.names import basename

if TYPE_CHECKING:
    from kafkacomp._storage.filesystem import FileSystem
    from kafkacomp._storage.stores import Entry

#: The number of a file's first bytes that are examined.
HEAD_BYTES: Final = 264
#: The longest magic of a compressed file.
_MAGIC_BYTES: Final = 8
#: The header of a batch up to its magic.
HEADER_BYTES: Final = 17
_UNPACK: Final = "unpack it and give the files in it"
_DECOMPRESS: Final = "decompress it first"
_TABLE: Final = "it is a table, not a log"
#: Types of Redpanda's batches are small numbers.
_MOST_TYPES: Final = 64
_REDPANDA: Final = "this is a segment of Redpanda, which kafkacomp does not read"
#: A segment of Redpanda is named by its base offset and term, and in tiered storage also by its end and size.
_REDPANDA_SEGMENT = re.compile(r"[0-9]{1,19}(-[0-9]{1,19}){1,4}-v[0-9]+\.log(\.[0-9]+)?")
#: The header of its batches: checksum, size, base offset, type, CRC of the records, attributes, last offset delta,
#: first and greatest timestamp, producer id and epoch, sequence, number of records.
_REDPANDA_HEADER: Final = struct.Struct("<IiqbIhiqqqhii")
#: First bytes, the kind of file that has them, and what to do; ``None`` if nothing can be done.
_SIGNATURES: Final[tuple[tuple[bytes, str, str | None], ...]] = (
    (b"PK\x03\x04", "a zip archive", "unpack it, or give a URL such as zip://FOLDER::ARCHIVE.zip"),
    (b"\x1f\x8b\x08", "a gzip file", "decompress it first: kafkacomp.gzip.open"),
    (b"\x28\xb5\x2f\xfd", "a zstd file", "decompress it first: kafkacomp.zstd.open"),
    (b"\x04\x22\x4d\x18", "an LZ4 file", "decompress it first: kafkacomp.lz4.open"),
    (b"BZh", "a bzip2 file", _DECOMPRESS),
    (b"\xfd7zXZ\x00", "an xz file", _DECOMPRESS),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    (b"PAR1", "a Parquet file", _TABLE),
    (b"ARROW1", "an Arrow file", _TABLE),
    (b"PFA1", "an Iceberg manifest (Puffin)", None),
)
#: All of them: the first bytes of a segment are compared once.
_MAGICS: Final = tuple(signature for signature, _, _ in _SIGNATURES)
_TAR: Final = (257, b"ustar")
#: Suffixes of what is looked into where a folder has no segments.
_PACKED: Final = (".zip", ".gz", ".zst", ".lz4", ".bz2", ".xz", ".7z", ".tar", ".tgz")
#: How many folders deep it is looked for.
_MAX_DEPTH: Final = 3


def refuse_container(name: str, head: bytes) -> None:
    """Refuse the first bytes of an archive, a compressed file or a table.

    A batch begins with its base offset, and a message of Kafka 0.7 with its size: these first bytes would be an offset
    above 2^58, or the size of a message of more than 64 MiB.

    Raises:
        ValueError: the message has the kind of the file and what to do.
    """
    if head.startswith(_TAR[1], _TAR[0]):
        raise ValueError(f"{name}: this is a tar archive, not a log segment: {_UNPACK}")
    if head.startswith(_MAGICS):
        for signature, kind, advice in _SIGNATURES:
            if head.startswith(signature):
                what = ", which kafkacomp does not read" if advice is None else f", not a log segment: {advice}"
                raise ValueError(f"{name}: this is {kind}{what}")
    if _is_of_redpanda(head):
        raise ValueError(f"{name}: {_REDPANDA}")


def foreign_segment(name: str) -> str | None:
    """What a file is, by its name, if it is a segment of another system; otherwise ``None``."""
    return _REDPANDA if _REDPANDA_SEGMENT.fullmatch(name) else None


def _is_of_redpanda(head: bytes) -> bool:
    """Whether bytes begin with a batch of Redpanda, whose header has a checksum of its own."""
    if len(head) < _REDPANDA_HEADER.size:
        return False
    checksum, size, base, kind, _, _, last, *_, count = _REDPANDA_HEADER.unpack_from(head)
    is_plausible = size >= _REDPANDA_HEADER.size and base >= 0 and 0 < kind < _MOST_TYPES and last >= 0 and count >= 0
    return bool(is_plausible and _crc32c(head[4 : _REDPANDA_HEADER.size]) == checksum)


def _crc32c(data: bytes) -> int:
    """The checksum of a header, which is too short for a table to pay."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def refuse_content(filesystem: FileSystem, entry: Entry, name: str) -> None:
    """Apply :func:`refuse_container` to a file, and judge it by its name; ``name`` is for the message."""
    foreign = foreign_segment(basename(entry.path))
    if foreign is not None:
        raise ValueError(f"{name}: {foreign}")
    refuse_container(name, filesystem.open(entry.path).read_at(min(entry.size, HEAD_BYTES), 0))


def head_of_segment(path: str) -> bytes:
    """Read the first bytes of a local file with the name of a segment: the header of a batch up to its magic.

    Only a few bytes are read, because every segment is checked. Of a file that cannot be read there are none; the error
    comes when it is read.

    Raises:
        ValueError: it is compressed, as :func:`refuse_container`.
    """
    try:
        head = read_head(path, HEADER_BYTES)
    except OSError:
        return b""
    refuse_container(path, head[:_MAGIC_BYTES])
    return head


def refuse_packed(filesystem: FileSystem, path: str, depth: int = 0) -> None:
    """Refuse a folder without segments in which there are compressed segments, archives or segments of other systems.

    Raises:
        ValueError: as :func:`refuse_container`, for the first such file.
    """
    try:
        entries = sorted(filesystem.list(path), key=lambda each: each.path)
    except OSError:
        return
    for entry in entries:
        name = basename(entry.path)
        if not entry.is_dir and entry.size and (name.endswith(_PACKED) or foreign_segment(name) is not None):
            refuse_content(filesystem, entry, entry.path)
    for entry in entries:
        if entry.is_dir and depth < _MAX_DEPTH:
            refuse_packed(filesystem, entry.path, depth + 1)
