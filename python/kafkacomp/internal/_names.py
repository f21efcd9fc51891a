"""Names of topics by their ids."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kafkacomp._kafkacomp import read_partition_metadata
from kafkacomp._storage.names import partition_of
from kafkacomp.exceptions import KafkaCompError
from kafkacomp.internal._tables import cluster_metadata

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkacomp._types import StrPath


def topic_names(log_dir: StrPath) -> dict[str, str]:
    """Find the names of topics by their ids.

    Args:
        log_dir: The path of a broker's log directory.

    Returns:
        The name of each topic by its id (base64url, 22 characters): those in ``partition.metadata`` of its folders, and
        those in the metadata log, if the directory has it. Files that cannot be read are left out.

    Raises:
        FileNotFoundError: the path does not exist.

    Example:
        >>> import kafkacomp as kc
        >>> kc.internal.topic_names(example)
        {}
    """
    folders = sorted(each for each in Path(log_dir).iterdir() if partition_of(each.name) is not None)
    return dict(_of_cluster(folders)) | dict(_of_folders(folders))


def _of_folders(folders: list[Path]) -> Iterator[tuple[str, str]]:
    """The ids in the folders' own files, which brokers write since 2.8."""
    for folder in folders:
        named = partition_of(folder.name)
        file = folder / "partition.metadata"
        if named is None or not file.is_file():
            continue
        try:
            yield read_partition_metadata(file.read_bytes(), str(file)).topic_id, named[0]
        except (KafkaCompError, OSError):
            continue


def _of_cluster(folders: list[Path]) -> Iterator[tuple[str, str]]:
    """The ids in the metadata log."""
    logs = [folder for folder in folders if folder.name == "__cluster_metadata-0"]
    try:
        rows = cluster_metadata(logs, view="topics", on_error="skip").read_all().to_pylist() if logs else []
    except (KafkaCompError, OSError, ValueError):
        rows = []
    for row in rows:
        yield row["topicId"], row["topic"]
