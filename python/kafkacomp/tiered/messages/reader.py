"""Reads the primitive types of Kafka's protocol.

Sources: ``org.apache.kafka.common.protocol.Readable`` and ``ByteBufferAccessor``, KIP-482.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, TypeVar

from kafkacomp.exceptions import InvalidRecordError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Element = TypeVar("Element")


class Reader:
    """Reads from the front of bytes; raises InvalidRecordError if they do not follow the types."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)
        self._position = 0

    @property
    def remaining(self) -> int:
        """The number of bytes left."""
        return len(self._data) - self._position

    def raw(self, count: int) -> bytes:
        """Read this number of bytes."""
        if not 0 <= count <= self.remaining:
            raise InvalidRecordError(f"{count} bytes expected at byte {self._position} of {len(self._data)}")
        start = self._position
        self._position += count
        return bytes(self._data[start : self._position])

    def boolean(self) -> bool:
        """A byte that is not 0."""
        return self.int8() != 0

    def int8(self) -> int:
        """One byte, signed."""
        return int.from_bytes(self.raw(1), "big", signed=True)

    def int32(self) -> int:
        """Four bytes, signed."""
        return int.from_bytes(self.raw(4), "big", signed=True)

    def int64(self) -> int:
        """Eight bytes, signed."""
        return int.from_bytes(self.raw(8), "big", signed=True)

    def uuid(self) -> str:
        """Sixteen bytes, as Kafka shows them: URL-safe base64 without padding."""
        return base64.urlsafe_b64encode(self.raw(16)).rstrip(b"=").decode("ascii")

    def unsigned_varint(self) -> int:
        """An unsigned 32-bit number, seven bits a byte, the lowest first."""
        return self._varint("an unsigned varint", 32)

    def varlong(self) -> int:
        """A signed 64-bit number, zigzag."""
        value = self._varint("a varlong", 64)
        return (value >> 1) ^ -(value & 1)

    def _varint(self, what: str, bits: int) -> int:
        value = 0
        for shift in range(0, bits, 7):
            byte = self.raw(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:  # noqa: PLR2004 - the bit that says that more follows
                if value >= 1 << bits:
                    break
                return value
        raise InvalidRecordError(f"{what} before byte {self._position} has more than {bits} bits")

    def string(self) -> str:
        """A string that is not null."""
        found = self.nullable_octets()
        if found is None:
            raise InvalidRecordError(f"a string before byte {self._position} is null")
        try:
            return found.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidRecordError(f"a string before byte {self._position} is not UTF-8: {error}") from None

    def nullable_octets(self) -> bytes | None:
        """Bytes."""
        length = self.unsigned_varint() - 1
        return None if length < 0 else self.raw(length)

    def array(self, read: Callable[[Reader], Element]) -> tuple[Element, ...]:
        """An array that is not null."""
        count = self.unsigned_varint() - 1
        if count < 0:
            raise InvalidRecordError(f"an array before byte {self._position} is null")
        if count > self.remaining:  # each element has at least a byte
            raise InvalidRecordError(f"an array of {count} elements in {self.remaining} bytes")
        return tuple(read(self) for _ in range(count))

    def tagged_fields(self) -> Iterator[tuple[int, Reader]]:
        """The tagged fields, each with what it consists of, in order of their tags."""
        previous = -1
        for _ in range(self.unsigned_varint()):
            tag = self.unsigned_varint()
            if tag <= previous:
                raise InvalidRecordError(f"tag {tag} after tag {previous}: tags must rise")
            previous = tag
            yield tag, Reader(self.raw(self.unsigned_varint()))

    def skip_tagged_fields(self) -> None:
        """Ignore tagged fields, none of which this version knows, as KIP-482 requires."""
        for _ in self.tagged_fields():
            pass
