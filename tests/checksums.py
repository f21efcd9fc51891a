"""CRC-32C without a package: the environments of older Spark versions have none that computes it."""

from __future__ import annotations

#: Castagnoli's polynomial, reflected, as in batches of format 2.
_POLYNOMIAL = 0x82F63B78


def _entry(crc: int) -> int:
    for _ in range(8):
        crc = (crc >> 1) ^ (_POLYNOMIAL & -(crc & 1))
    return crc


#: The checksum of each byte.
_TABLE = [_entry(byte) for byte in range(256)]


def crc32c(data: bytes) -> int:
    """Return the checksum of a few kilobytes."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF
