"""LZ4 header checksums inside of batches: which rule one keeps, and batches whose checksum keeps another (KIP-57)."""

from __future__ import annotations

import zlib
from typing import Literal

from aiokafka.record.util import calc_crc32c

from kafkacomp import CompressionType, lz4, record

Checksum = Literal["right", "broken", "neither"]
#: Bytes in front of the records of magic 2, and of the key's length of a message of magic 0 and 1.
RECORDS_OFFSET = 61
KEY_LENGTH_OFFSET = {0: 18, 1: 26}


def frame_at(batch: bytes) -> int:
    """Where the frame of one compressed batch or wrapper begins."""
    magic = batch[16]
    if magic == 2:
        return RECORDS_OFFSET
    at = KEY_LENGTH_OFFSET[magic]
    key = int.from_bytes(batch[at : at + 4], "big", signed=True)
    return at + 4 + max(key, 0) + 4


def checksum_of(batch: bytes) -> Checksum:
    """Which rule the header checksum keeps."""
    info = lz4.get_frame_info(batch[frame_at(batch) :])
    if info.header_checksum == info.standard_header_checksum:
        return "right"
    return "broken" if info.header_checksum == info.broken_header_checksum else "neither"


def with_header_checksum(batch: bytes, checksum: Checksum) -> bytes:
    """The batch with another header checksum, its own checksum right."""
    data = bytearray(batch)
    start = frame_at(batch)
    info = lz4.get_frame_info(batch[start:])
    right, broken = info.standard_header_checksum, info.broken_header_checksum
    odd = next(byte for byte in range(256) if byte not in {right, broken})
    at = start + info.position + info.header_length - 1
    data[at] = {"right": right, "broken": broken, "neither": odd}[checksum]
    if batch[16] == 2:
        data[17:21] = calc_crc32c(bytes(data[21:])).to_bytes(4, "big")
    else:
        data[12:16] = zlib.crc32(bytes(data[16:])).to_bytes(4, "big")
    return bytes(data)


def with_header_checksums(log: bytes, checksum: Checksum) -> tuple[bytes, int]:
    """A log whose LZ4 batches of magic 1 and 2 have another header checksum, and how many these are."""
    out, changed = [], 0
    for batch in record.read_batches(log):
        data = log[batch.position : batch.position + batch.size_in_bytes]
        if batch.magic > 0 and batch.compression_type == CompressionType.LZ4 and batch.records_count != 0:
            data = with_header_checksum(data, checksum)
            changed += 1
        out.append(data)
    return b"".join(out), changed
