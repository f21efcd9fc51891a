"""Produce requests by hand: any bytes as a record set, and the broker's answer to them (version 8 of the request)."""

from __future__ import annotations

import socket
import struct
import time
from typing import NamedTuple

PRODUCE_KEY = 0
VERSION = 8
TIMEOUT_MS = 20_000


class Answer(NamedTuple):
    """What the broker answers for the one partition."""

    error_code: int
    base_offset: int
    #: -1 where the topic has create times.
    log_append_time: int
    record_errors: tuple[int, ...]


#: UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER: a topic that was made a moment ago.
NOT_YET = (3, 6)


def send(port: int, topic: str, records: bytes) -> Answer:
    """Sends one record set to partition 0 of a topic, as soon as the broker leads it."""
    deadline = time.monotonic() + TIMEOUT_MS / 1000
    while True:
        answer = _send(port, topic, records)
        if answer.error_code not in NOT_YET or time.monotonic() > deadline:
            return answer
        time.sleep(0.1)


def _send(port: int, topic: str, records: bytes) -> Answer:
    name = topic.encode()
    body = struct.pack(">hhih", PRODUCE_KEY, VERSION, 1, -1)  # no client id
    body += struct.pack(">hhi", -1, -1, TIMEOUT_MS)  # no transactional id, all replicas
    body += struct.pack(">ih", 1, len(name)) + name + struct.pack(">iii", 1, 0, len(records)) + records
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(struct.pack(">i", len(body)) + body)
        (size,) = struct.unpack(">i", _exactly(connection, 4))
        return _parse(_exactly(connection, size))


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            raise ConnectionError("the broker closed the connection")
        data += piece
    return data


def _parse(answer: bytes) -> Answer:
    at = 8  # correlation id, one topic
    (length,) = struct.unpack_from(">h", answer, at)
    at += 2 + length + 4 + 4  # its name, one partition, its index
    code, base_offset, append_time, _, count = struct.unpack_from(">hqqqi", answer, at)
    at += struct.calcsize(">hqqqi")
    indexes = []
    for _ in range(count):
        index, size = struct.unpack_from(">ih", answer, at)
        indexes.append(index)
        at += 6 + max(size, 0)
    return Answer(code, base_offset, append_time, tuple(indexes))
