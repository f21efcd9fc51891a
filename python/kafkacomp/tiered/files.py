"""Present the parts of a segment that Aiven's plugin has stored as separate files."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from kafkacomp._storage.files import SourceFile
from kafkacomp.exceptions import CorruptRecordError
from kafkacomp.tiered.objects import ChunkedSegment, read_manifest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkacomp._storage.remote import RemoteFolder
    from kafkacomp.tiered.keys import EncryptionKeys

_LOGGER = logging.getLogger("kafkacomp")

#: File kinds of the parts of ``.indexes`` whose suffix differs from the kind.
_KINDS = {"leader_epoch_checkpoint": "leader-epoch-checkpoint"}


def chunked_files(folder: RemoteFolder, keys: EncryptionKeys) -> Iterator[SourceFile]:
    """Yield the manifest, the log and the indexes of each segment in a folder, by start offset.

    If a manifest is corrupt, only the manifest is yielded.
    """
    filesystem = folder.filesystem
    segments = [*folder.segments.values(), *folder.ambiguous]
    for each in sorted(segments, key=lambda each: (each.start_offset, each.id)):
        log = folder.file(each.start_offset, each.id, "log")
        if "rsm-manifest" not in each.files:
            _LOGGER.warning("%s: skipped: it has no manifest", log)
            continue
        path, size = each.files["rsm-manifest"].path, each.files["rsm-manifest"].size
        yield SourceFile(PurePosixPath(path), "rsm-manifest", path, size, partial(filesystem.read, path))
        try:
            manifest = read_manifest(filesystem, path)
        except (CorruptRecordError, OSError):
            continue  # reported when the manifest's file is read
        indexes = folder.file(each.start_offset, each.id, "indexes")
        segment = ChunkedSegment(filesystem, log, indexes, manifest, keys)
        yield SourceFile(PurePosixPath(log), "log", log, manifest.chunks.file_size, lambda: None, segment)
        for suffix, part in manifest.indexes.items():
            name = f"{log.removesuffix('log')}{suffix}"
            kind, reader = _KINDS.get(suffix, suffix), partial(segment.side_file, suffix)
            yield SourceFile(PurePosixPath(name), kind, name, part.size, reader)
