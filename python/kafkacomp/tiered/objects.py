"""A segment that Aiven's plugin has stored: an object with chunks, one with indexes, and a manifest."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

from kafkacomp import _kafkacomp
from kafkacomp._storage.ranges import RangeFile, read_exactly
from kafkacomp.exceptions import EncryptionKeyError, KafkaCompError
from kafkacomp.tiered.keys import EncryptionKeys
from kafkacomp.tiered.manifest import Manifest

if TYPE_CHECKING:
    from kafkacomp._storage.chunks import Chunk
    from kafkacomp._storage.filesystem import FileSystem

#: The most bytes of a manifest, a line of JSON; the sizes of 2^18 chunks need fewer.
_MAX_MANIFEST = 4 << 20


def read_manifest(filesystem: FileSystem, path: str) -> Manifest:
    """Read the manifest at a path.

    Raises:
        FileNotFoundError: it does not exist.
        CorruptRecordError: it is not a manifest.
        OSError: it cannot be read.
    """
    size = filesystem.info(path).size
    if size > _MAX_MANIFEST:
        raise OSError(errno.EFBIG, f"the segment manifest has {size} bytes: at most {_MAX_MANIFEST} are read", path)
    content = filesystem.read(path)
    if content is None:
        raise FileNotFoundError(errno.ENOENT, "the segment's manifest does not exist", path)
    return Manifest.parse(content, path)


class ChunkedSegment:
    """Opens the segment for the core; pickles with its file system and the keys for this segment."""

    def __init__(
        self, filesystem: FileSystem, log: str, indexes: str, manifest: Manifest, keys: EncryptionKeys
    ) -> None:
        """Store the paths of the objects."""
        self._filesystem = filesystem
        self._log = log
        self._indexes = indexes
        self._manifest = manifest
        self._keys = keys.only({manifest.encryption.key_id}) if manifest.encryption else EncryptionKeys()
        self._known: _kafkacomp.ChunkDecoder | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the decoder."""
        return self.__dict__ | {"_known": None}

    def __repr__(self) -> str:
        """The object's path."""
        return f"ChunkedSegment({self._log!r})"

    @property
    def name(self) -> str:
        """The object's path, for messages."""
        return self._log

    @property
    def manifest(self) -> Manifest:
        """The content of the manifest."""
        return self._manifest

    def decoder(self) -> _kafkacomp.ChunkDecoder:
        """The decoder of the chunks.

        Raises:
            EncryptionKeyError: the private key is missing, or is that of another key pair.
        """
        if self._known is None:
            encryption = self._manifest.encryption
            data_key = None if encryption is None else self._keys.data_key(encryption, self._log)
            try:
                self._known = _kafkacomp.ChunkDecoder(data_key)
            except ValueError as error:
                key_id = encryption.key_id if encryption else ""
                raise EncryptionKeyError(f"{self._log}: key pair {key_id!r}: {error}") from None
        return self._known

    def open_segment(self) -> RangeFile:
        """Open the segment for reads at positions.

        Raises:
            EncryptionKeyError: as in :meth:`decoder`.
            OSError: EIO, if the size of the object is not that in the manifest.
        """
        decoder = self.decoder()
        file = self._filesystem.open(self._log)
        expected, found = self._manifest.chunks.object_size, file.size()
        if found != expected:
            raise OSError(errno.EIO, f"the object has {found} bytes: its manifest gives {expected}", self._log)
        compressed = self._manifest.compressed

        def decode(stored: bytes, chunk: Chunk) -> bytes:
            try:
                return decoder.decode(stored, chunk.size, compressed)
            except (ValueError, KafkaCompError) as error:
                where = f"chunk {chunk.number} at byte {chunk.stored_position}: {error}"
                raise OSError(errno.EIO, where, self._log) from None

        return RangeFile(file, self._log, self._manifest.chunks, decode)

    def side_file(self, suffix: str) -> bytes | None:
        """Read an index; ``None`` if the segment has no index of this kind."""
        part = self._manifest.indexes.get(suffix)
        if part is None:
            return None
        if part.size == 0:
            return b""
        data = read_exactly(self._filesystem.open(self._indexes), self._indexes, part.size, part.position)
        if self._manifest.encryption is not None:
            try:
                data = self.decoder().decode(data, part.size - 28, False)  # noqa: FBT003 - indexes are never compressed
            except ValueError as error:
                raise OSError(errno.EIO, f"{suffix} at byte {part.position}: {error}", self._indexes) from None
        if suffix in {"txnindex", "snapshot"} and not self._is_own(suffix, data):
            raise OSError(errno.EIO, f"{suffix} at byte {part.position}: it is not of this segment", self._indexes)
        return data

    def _is_own(self, suffix: str, data: bytes) -> bool:
        """Whether offsets in an index, which may have no checksum, can be of this segment."""
        segment = self._manifest.segment
        try:
            if suffix == "snapshot":
                producers = _kafkacomp.read_producer_snapshot(data, self._indexes)
                return all(each.last_offset <= segment.end_offset for each in producers)
            entries = _kafkacomp.read_transaction_index(data, segment.start_offset, self._indexes)
        except KafkaCompError:
            return False
        return all(segment.start_offset <= each.last_offset <= segment.end_offset for each in entries)
