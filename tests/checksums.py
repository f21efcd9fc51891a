"""CRC-32C without a package: the environments of older Spark versions have none that computes it."""

from __future__ import annotations


def crc32c(data: bytes) -> int:
    """Return the checksum of a few bytes, bit by bit (Castagnoli's polynomial, as in batches of format 2)."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 & -(crc & 1))
    return crc ^ 0xFFFFFFFF
