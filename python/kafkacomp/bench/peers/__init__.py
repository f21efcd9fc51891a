"""Who takes part: kafkacomp first, then the peers that are installed.

A peer is known by the name of its package. ``--compare`` takes all that are there; ``--compare=NAME,…`` those named,
and one that is missing is then an error. Before anything is timed, a peer's result is held against ours: what it
decompresses, what its compressed data decompress to, the records that it reads.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from kafkacomp.bench.peers.base import MissingPeerError, NotComparableError, Peer, WrongResultError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkacomp.bench.peers.java import Jars

__all__ = ["ALL", "NAMES", "MissingPeerError", "NotComparableError", "Peer", "WrongResultError", "peers"]

ALL: Final = "all"

#: The peer's name: module here and its class.
_PYTHON: Final = {
    "zlib": ("codecs", "Zlib"),
    "isal": ("codecs", "Isal"),
    "lz4": ("codecs", "Lz4"),
    "cramjam": ("codecs", "Cramjam"),
    "zstandard": ("codecs", "Zstandard"),
    "aiokafka": ("clients", "AioKafka"),
    "kafka-python": ("clients", "KafkaPython"),
}
JAVA: Final = "java"
NAMES: Final = (*_PYTHON, JAVA)


def peers(wanted: str | None, jars: Jars) -> tuple[list[Peer], dict[str, str]]:
    """The peers that take part, and of those that do not, why.

    Args:
        wanted: None for none, ``all``, or names with commas.
        jars: Where Kafka's own classes may be.

    Raises:
        ValueError: a name that is no peer's.
        MissingPeerError: a peer that was asked for by name is not there.
    """
    if wanted is None:
        return [], {}
    names = list(NAMES) if wanted == ALL else list(dict.fromkeys(name.strip() for name in wanted.split(",")))
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise ValueError(f"unknown peer {unknown[0]!r}; there are {', '.join(NAMES)} (inputs stand before --compare)")
    found: list[Peer] = []
    missing: dict[str, str] = {}
    for name in names:
        try:
            found.append(_make(name, jars))
        except MissingPeerError as error:
            if wanted != ALL:
                raise
            missing[name] = str(error)
    return found, missing


def _make(name: str, jars: Jars) -> Peer:
    if name == JAVA:
        from kafkacomp.bench.peers.java import Java

        return Java(jars)
    module, kind = _PYTHON[name]
    make: Callable[[], Peer] = getattr(import_module(f"kafkacomp.bench.peers.{module}"), kind)
    try:
        return make()
    except ImportError as error:
        raise MissingPeerError(f"the peer {name} is not installed: pip install {name} ({error})") from error
