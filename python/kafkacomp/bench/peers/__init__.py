"""The libraries to measure: kafkacomp first, then peers.

A peer has the name of its package. ``--compare`` measures all installed peers; ``--compare=NAME,…`` measures those
named, and a missing one is an error. Before a peer is timed, its results are compared with ours: the bytes that it
decompresses, the decompressed content of its compressed data, the records that it reads.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from kafkacomp.bench.peers.base import MissingPeerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkacomp.bench.peers.base import Peer

ALL: Final = "all"

#: The peer's name: module here and its class.
_PEERS: Final = {
    "zlib": ("codecs", "Zlib"),
    "isal": ("codecs", "Isal"),
    "lz4": ("codecs", "Lz4"),
    "cramjam": ("codecs", "Cramjam"),
    "zstandard": ("codecs", "Zstandard"),
    "aiokafka": ("clients", "AioKafka"),
    "kafka-python": ("clients", "KafkaPython"),
}
NAMES: Final = tuple(_PEERS)


def peers(wanted: str | None) -> tuple[list[Peer], dict[str, str]]:
    """Return the peers to measure, and the reasons why others are left out.

    Args:
        wanted: None for none, ``all``, or names with commas.

    Raises:
        ValueError: a name is not that of a peer.
        MissingPeerError: a peer that was named is not installed.
    """
    if wanted is None:
        return [], {}
    names = list(NAMES) if wanted == ALL else list(dict.fromkeys(name.strip() for name in wanted.split(",")))
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise ValueError(
            f"unknown peer {unknown[0]!r}: expected some of {', '.join(NAMES)} (give the inputs before --compare)"
        )
    found: list[Peer] = []
    missing: dict[str, str] = {}
    for name in names:
        try:
            found.append(_make(name))
        except MissingPeerError as error:
            if wanted != ALL:
                raise
            missing[name] = str(error)
    return found, missing


def _make(name: str) -> Peer:
    module, kind = _PEERS[name]
    make: Callable[[], Peer] = getattr(import_module(f"kafkacomp.bench.peers.{module}"), kind)
    try:
        return make()
    except ImportError as error:
        raise MissingPeerError(f"the peer {name} is not installed: pip install {name} ({error})") from error
