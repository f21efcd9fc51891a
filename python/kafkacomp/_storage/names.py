"""The meaning of the names of files and folders in a broker's log directory.

::

    <topic>-<partition>/                          a partition; its number follows the last dash
        <20 digits>.log                           a segment, named by its base offset
        <20 digits>.kafka                         a segment of Kafka 0.7, named by the position of its first byte
        <20 digits>.{index,timeindex,txnindex,snapshot}    its side files
        <any of these>.{swap,cleaned,deleted}     being swapped in or deleted: see kafkacomp._storage.loader
    <topic>-<partition>.<32 hex digits>-{delete,future,stray}/ a partition that is not part of the broker's logs
    <topic>-<topic id>/<partition>/<20 digits>-<segment id>.log    tiered storage, Aiven's plugin
    <topic>-<partition>-<topic id>/<20 digits>-<segment id>.log    tiered storage, Kafka's LocalTieredStorage

Offsets have at most 63 bits and partitions 31: names with greater numbers are not recognized.
"""

from __future__ import annotations

import os
import re
from typing import Final

_MAX_OFFSET: Final = 2**63 - 1
_MAX_PARTITION: Final = 2**31 - 1

_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_PLAIN_SEGMENT = re.compile(r"([0-9]{20})\.(?:log|kafka)")
_TIERED_SEGMENT = re.compile(r"([0-9]{20})-[A-Za-z0-9_-]{22}\.log")
_COMPRESSED_SEGMENT = re.compile(r"[0-9]{20}\.(?:log|kafka)\.(?:gz|zst|lz4|bz2|xz|7z|zip)")
_LIKE_A_SEGMENT = re.compile(r"[0-9]+\.(?:log|kafka)|[0-9]{20}-[A-Za-z0-9_-]{22}\.log")
_PARTITION = re.compile(r"(.+)-([0-9]{1,10})", re.DOTALL)
_WITH_TOPIC_ID = re.compile(r"(.+)-[A-Za-z0-9_-]{22}", re.DOTALL)
#: A folder of a broker that is not part of its logs. Kafka truncates the topic to keep the name at 255 bytes.
_MARKED_PARTITION = re.compile(r"(.+)-([0-9]{1,10})\.[0-9a-f]+-(delete|future|stray)", re.DOTALL)
#: The most bytes of the name of a folder.
_MOST_NAME: Final = 255
#: The suffixes that a broker gives to partition folders that are not part of its logs.
_MARKED = re.compile(r"(.+-[0-9]+\.[0-9a-f]+|.*\.[0-9a-f]{32})-(delete|future|stray)", re.DOTALL)

#: What separates names in paths of Windows.
_SEPARATORS = re.compile(r"[/\\]")

#: A segment's indexes, and all its side files.
INDEXES: Final = ("index", "timeindex", "txnindex")
SIDE_FILES: Final = (*INDEXES, "snapshot")
#: The suffix of a file that has not replaced others yet.
SWAP: Final = ".swap"
#: The name of a tiered segment without its suffix.
MANIFEST: Final = ".rsm-manifest"

#: Kafka's own topics (``Topic.isInternal``), those of KRaft and of tiered storage; clients do not produce to them.
INTERNAL_TOPICS: Final = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata", "__remote_log_metadata"}
)


def check_topic(topic: str, what: str = "invalid topic name") -> None:
    """Raise ValueError for names that a broker refuses for new topics, TypeError for what is no string."""
    if not isinstance(topic, str):
        raise TypeError(f"topic must be a str, not {type(topic).__name__}")
    if not _TOPIC.fullmatch(topic) or topic in {".", ".."}:
        raise ValueError(f"{what} {topic!r}: 1 to 249 letters, digits, dots, underscores and dashes")


def segment_offset(name: str) -> int | None:
    """The offset in a segment's file name; ``None`` if the name is not that of a segment."""
    matched = _PLAIN_SEGMENT.fullmatch(name) or _TIERED_SEGMENT.fullmatch(name)
    return _at_most(_MAX_OFFSET, matched[1]) if matched else None


def is_segment(name: str) -> bool:
    """Whether a file name is that of a segment in a broker's partition folder."""
    return _PLAIN_SEGMENT.fullmatch(name) is not None and segment_offset(name) is not None


def is_tiered_segment(name: str) -> bool:
    """Whether a file name is that of a segment in tiered storage."""
    return _TIERED_SEGMENT.fullmatch(name) is not None and segment_offset(name) is not None


def is_like_a_segment(name: str) -> bool:
    """Whether a file name is like that of a segment, but has another number of digits or too great an offset."""
    return _LIKE_A_SEGMENT.fullmatch(name) is not None and segment_offset(name) is None


def is_compressed_segment(name: str) -> bool:
    """Whether a file name is that of a segment with the suffix of a compressed file."""
    return _COMPRESSED_SEGMENT.fullmatch(name) is not None


def leading_offset(name: str) -> int | None:
    """The offset at the beginning of the name of a segment or one of its index files."""
    matched = re.match(r"([0-9]{20})(?![0-9])", name)
    return _at_most(_MAX_OFFSET, matched[1]) if matched else None


def partition_of(folder: str) -> tuple[str, int] | None:
    """The topic and partition in a folder's name."""
    matched = _PARTITION.fullmatch(folder)
    number = _at_most(_MAX_PARTITION, matched[2]) if matched else None
    return None if matched is None or number is None or not _is_unicode(matched[1]) else (matched[1], number)


def tiered_partition_of(path: str) -> tuple[str, int] | None:
    """The topic and partition in the path of a folder of tiered storage."""
    name = basename(path)
    topic = _WITH_TOPIC_ID.fullmatch(basename(parent_of(path)))
    if topic is not None and re.fullmatch(r"[0-9]{1,10}", name):
        return partition_of(f"{topic[1]}-{name}")
    own = _WITH_TOPIC_ID.fullmatch(name)
    return partition_of(own[1]) if own is not None else None


def owner_of(folder: str, name: str) -> tuple[str, int] | tuple[None, None]:
    """The topic and partition of the file ``name`` in a folder, by the folder's name, if known.

    A topic id in the name of a folder of tiered storage may end in a dash and digits, as the name of a broker's folder
    does; the file's name shows which one it is.
    """
    is_tiered = is_tiered_segment(name.partition(".")[0] + ".log")
    own = None if is_tiered else given_partition_of(basename(folder))
    return own or tiered_partition_of(folder) or (None, None)


def is_marked(folder: str) -> bool:
    """Whether a folder's name marks it as not part of a log: ``-delete``, ``-future`` or ``-stray``."""
    return _MARKED.fullmatch(folder) is not None


def mark_of(folder: str) -> str | None:
    """The mark of a folder that is not part of a log: ``delete``, ``future`` or ``stray``; ``None`` without one."""
    matched = _MARKED.fullmatch(folder)
    return None if matched is None else matched[2]


def given_partition_of(folder: str) -> tuple[str, int] | None:
    """The topic and partition in the name of a folder that is given itself, so that it may also be a marked one.

    The topic in the name of a marked folder may be truncated: see :func:`may_be_truncated`.
    """
    matched = _MARKED_PARTITION.fullmatch(folder)
    return partition_of(folder if matched is None else f"{matched[1]}-{matched[2]}")


def may_be_truncated(folder: str) -> bool:
    """Whether a marked folder's name has the greatest length, to which Kafka truncates the topic in it."""
    return is_marked(folder) and len(os.fsencode(folder)) >= _MOST_NAME


def side_file(segment: str, suffix: str) -> str:
    """The path of a segment's side file; that of a ``.swap`` segment is a ``.swap`` file, too."""
    if segment.endswith(SWAP):
        return side_file(segment.removesuffix(SWAP), suffix) + SWAP
    name = basename(segment)
    stem = name.rpartition(".")[0] or name
    return f"{segment[: len(segment) - len(name)]}{stem}.{suffix}"


def basename(path: str) -> str:
    """The last name of a path."""
    path = path.rstrip("/")
    return _SEPARATORS.split(path)[-1] if os.name == "nt" else path.rpartition("/")[2]


def parent_of(path: str) -> str:
    """A path without its last name and the separator before it."""
    return path.rstrip("/")[: -len(basename(path))].rstrip("/")


def _at_most(greatest: int, digits: str) -> int | None:
    number = int(digits)
    return number if number <= greatest else None


def _is_unicode(text: str) -> bool:
    """Whether a name is valid Unicode: Python decodes bytes of file names that are not UTF-8 to lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)
