"""Remote storage in other forms: the golden segments, stored again with other chunks, keys, prefixes and layouts.

Written from the rules of ``vectors/tiered/MANIFEST.md`` alone. Nothing of kafkacomp takes part but the container of the
records of ``__remote_log_metadata``: ciphers are those of the package cryptography, RSA-OAEP with SHA3-512, which that
package refuses, is here, and Zstandard is pyarrow's.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from kafkacomp import record

from .expect import read_json_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .tiered import TieredCase

__all__ = ["Variant", "stored_again", "variants"]

#: The parts of ``.indexes`` in their order, and the suffixes of the plain files.
INDEXES = {
    "offset": "index", "timestamp": "timeindex", "producerSnapshot": "snapshot",
    "leaderEpoch": "leader_epoch_checkpoint", "transaction": "txnindex",
}  # fmt: skip
_STATES = ("COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED", "DELETE_SEGMENT_FINISHED")


@dataclass(frozen=True)
class Variant:
    """How segments are stored."""

    seed: int
    #: ``local``: Kafka's LocalTieredStorage; otherwise Aiven's plugin, with the rest.
    is_local: bool = False
    chunk_size: int = 4096
    level: int | None = None
    #: Bits of the key pair; without it nothing is encrypted.
    key_bits: int | None = None
    #: A variable chunk index also where chunks are not compressed.
    is_variable: bool = False
    #: Bytes a value; the least that is enough if this is less.
    width: int = 1
    prefix: str = ""
    #: The objects are where custom metadata says, and not next to their manifests.
    has_own_keys: bool = False

    def __str__(self) -> str:
        """For the names of tests."""
        if self.is_local:
            return f"{self.seed}-local"
        how = [f"chunks{self.chunk_size}"]
        how += [f"zstd{self.level}"] if self.level is not None else []
        how += [f"rsa{self.key_bits}"] if self.key_bits else []
        how += [f"width{self.width}"] if self.level is not None or self.is_variable else ["fixed"]
        how += ["keys"] if self.has_own_keys else []
        return "-".join([str(self.seed), *how, self.prefix.replace("/", "|")])


def variants(seed: int, count: int) -> Iterator[Variant]:
    """So many, drawn by a seed."""
    drawn = random.Random(seed)
    for number in range(seed, seed + count):
        if drawn.random() < 0.15:
            yield Variant(number, is_local=True)
            continue
        yield Variant(
            number,
            chunk_size=drawn.choice([97, 512, 1000, 4096, 10_000, 65_536, 1 << 22, 2**31 - 1]),
            level=drawn.choice([None, None, 1, 3, 19]),
            key_bits=drawn.choice([None, None, 2048, 3072]),
            is_variable=drawn.random() < 0.5,
            width=drawn.randint(1, 4),
            prefix=drawn.choice(["", "p-", "a/b/", "topic-0/", "x.y_z/0/", "0/", "ä ö/", "t-AAAAAAAAAAAAAAAAAAAAAA/"]),
            has_own_keys=drawn.random() < 0.3,
        )


def stored_again(case: TieredCase, variant: Variant, target: Path) -> tuple[Path, dict[str, Any]]:
    """Store the segments of a partition again; the root of the storage, and the arguments of ``kc.scan``."""
    drawn = random.Random(variant.seed)
    storage = target / "storage"
    known: dict[str, Any] = {"remote_log_metadata": case.metadata, "local_log_dir": case.leader}
    if variant.is_local:
        for folder, files in _originals(case):
            place = storage / "kafka-tiered-storage" / f"{case.name}-{folder}"
            place.mkdir(parents=True)
            for name, content in files.items():
                (place / name).write_bytes(content)
        return storage, known
    events = list(read_json_lines(case.cluster / "expect" / "__remote_log_metadata.events.jsonl"))
    segments = {each["id"]: each for each in events if each["type"] == "RemoteLogSegmentMetadata"}
    key = _key_pair(variant.key_bits, variant.seed % 3) if variant.key_bits else None
    keys: dict[str, str] = {}
    for folder, files in _originals(case):
        for name in (name for name in files if name.endswith(".log")):
            stem = name.removesuffix(".log")
            about = segments[stem[21:]]
            key_id = f"ring_{drawn.randint(0, 9)}"
            objects = _objects(stem, files, variant, drawn, (key, key_id) if key else None)
            manifest = objects.pop("rsm-manifest") | {"remoteLogSegmentMetadata": _about(about)}
            objects["rsm-manifest"] = json.dumps(manifest, indent=drawn.choice([None, 1])).encode()
            if key is not None:
                keys[key_id] = key.private_bytes(
                    serialization.Encoding.PEM,
                    drawn.choice([serialization.PrivateFormat.PKCS8, serialization.PrivateFormat.TraditionalOpenSSL]),
                    serialization.NoEncryption(),
                ).decode()
            usual = f"{about['topic']}-{folder}/{about['partition']}/{stem}"
            for suffix, content in objects.items():
                moved = variant.has_own_keys and suffix != "rsm-manifest"
                path = storage / f"{_own_key(stem) if moved else variant.prefix + usual}.{suffix}"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
    if variant.has_own_keys:
        known["remote_log_metadata"] = _metadata_topic(target / "metadata", events, drawn)
    return storage, known | ({"encryption_keys": keys} if keys else {})


def _own_key(stem: str) -> str:
    return f"moved/{stem[21:23]}/{stem}"


def _about(event: dict[str, Any]) -> dict[str, Any]:
    partition = {"topic": event["topic"], "partition": event["partition"]}
    return {
        "remoteLogSegmentId": {
            "topicIdPartition": {"topicId": event["topicId"], "topicPartition": partition},
            "id": event["id"],
        },
        **{name: event[name] for name in ("startOffset", "endOffset", "maxTimestampMs", "brokerId")},
        **{name: event[name] for name in ("eventTimestampMs", "segmentLeaderEpochs", "txnIdxEmpty")},
    }


# ----------------------------------------------------------------------------------------------- what was stored


def _originals(case: TieredCase) -> Iterator[tuple[str, dict[str, bytes]]]:
    """By topic id: the files that brokers uploaded, of all topics of this name."""
    about = case.partition
    for path in sorted(case.storage.rglob("*")):
        plain = re.fullmatch(re.escape(case.name) + "-(.{22})", path.name)
        if path.is_dir() and plain is not None:
            yield plain[1], {file.name: file.read_bytes() for file in path.iterdir() if _is_remote(file.name)}
        chunked = re.fullmatch(re.escape(about["topic"]) + "-(.{22})", path.parent.name)
        if path.is_dir() and chunked is not None and path.name == str(about["partition"]):
            found: dict[str, bytes] = {}
            for file in path.glob("*.rsm-manifest"):
                found |= _decoded(file, case)
            yield chunked[1], found


def _is_remote(name: str) -> bool:
    return re.match(r"[0-9]{20}-.{22}\.", name) is not None


def _decoded(path: Path, case: TieredCase) -> dict[str, bytes]:
    manifest = json.loads(path.read_text())
    encryption = manifest.get("encryption")
    cipher, aad = None, b""
    if encryption is not None:
        key_id, _, wrapped = encryption["dataKey"].partition(":")
        private = serialization.load_pem_private_key((case.keys or {})[key_id].read_bytes(), None)
        assert isinstance(private, rsa.RSAPrivateKey)
        cipher, aad = AESGCM(_unwrap(private, base64.b64decode(wrapped))), base64.b64decode(encryption["aad"])

    def plain(stored: bytes) -> bytes:
        return stored if cipher is None else cipher.decrypt(stored[:12], stored[12:], aad)

    log, indexes = (path.with_suffix(suffix).read_bytes() for suffix in (".log", ".indexes"))
    parts, at = [], 0
    index = manifest["chunkIndex"]
    for number, size in enumerate(_sizes_of(index)):
        content = plain(log[at : at + size])
        whole = min(index["originalChunkSize"], index["originalFileSize"] - number * index["originalChunkSize"])
        parts.append(bytes(pa.decompress(content, whole, "zstd")) if manifest["compression"] else content)
        at += size
    assert at == len(log)
    found = {f"{path.stem}.log": b"".join(parts)}
    for name, suffix in INDEXES.items():
        part = manifest["segmentIndexes"].get(name)
        if part is not None:
            stored = indexes[part["position"] : part["position"] + part["size"]]
            found[f"{path.stem}.{suffix}"] = plain(stored) if stored else b""
    return found


def _sizes_of(index: dict[str, Any]) -> list[int]:
    count = -(-index["originalFileSize"] // index["originalChunkSize"])
    if index["type"] == "fixed":
        return [index["transformedChunkSize"]] * (count - 1) + [index["finalTransformedChunkSize"]]
    encoded = base64.b64decode(index["transformedChunks"])
    data = pa.CompressedInputStream(pa.BufferReader(encoded), "zstd").read()
    if count == 1:
        return [int.from_bytes(data[4:8], "big")]
    base, width = int.from_bytes(data[4:8], "big"), data[8]
    ends = range(9, 9 + width * count, width)
    sizes = [base + int.from_bytes(data[a:b], "big") for a, b in pairwise(ends)]
    return [*sizes, int.from_bytes(data[ends[-1] : ends[-1] + 4], "big")]


# ----------------------------------------------------------------------------------------------- Aiven's objects


def _objects(
    stem: str,
    files: dict[str, bytes],
    variant: Variant,
    drawn: random.Random,
    encryption: tuple[rsa.RSAPrivateKey, str] | None,
) -> dict[str, Any]:
    log = files[f"{stem}.log"]
    data_key, aad = drawn.randbytes(32), drawn.randbytes(32)
    cipher = AESGCM(data_key)

    def sealed(content: bytes) -> bytes:
        if encryption is None:
            return content
        iv = drawn.randbytes(12)
        return iv + cipher.encrypt(iv, content, aad)

    chunks = [log[at : at + variant.chunk_size] for at in range(0, len(log), variant.chunk_size)]
    if variant.level is not None:
        codec = pa.Codec("zstd", variant.level)
        chunks = [bytes(codec.compress(chunk)) for chunk in chunks]
    chunks = [sealed(chunk) for chunk in chunks]
    index: dict[str, Any] = {"originalChunkSize": variant.chunk_size, "originalFileSize": len(log)}
    if variant.level is None and not variant.is_variable:
        size = variant.chunk_size + (28 if encryption else 0)
        index |= {"type": "fixed", "transformedChunkSize": size, "finalTransformedChunkSize": len(chunks[-1])}
    else:
        sizes = _encoded([len(chunk) for chunk in chunks], variant.width)
        packed = bytes(pa.Codec("zstd").compress(sizes))
        index |= {"type": "variable", "transformedChunks": base64.b64encode(packed).decode()}
    segment_indexes: dict[str, dict[str, int] | None] = {}
    indexes = b""
    for name, suffix in INDEXES.items():
        content = files.get(f"{stem}.{suffix}")
        if content is None:
            segment_indexes[name] = None
            continue
        stored = sealed(content) if content else b""
        segment_indexes[name] = {"position": len(indexes), "size": len(stored)}
        indexes += stored
    manifest: dict[str, Any] = {
        "version": "1",
        "chunkIndex": index,
        "segmentIndexes": segment_indexes,
        "compression": variant.level is not None,
    }
    if encryption is not None:
        key, key_id = encryption
        wrapped = base64.b64encode(_wrap(key.public_key(), data_key, drawn)).decode()
        manifest["encryption"] = {"dataKey": f"{key_id}:{wrapped}", "aad": base64.b64encode(aad).decode()}
    return {"log": b"".join(chunks), "indexes": indexes, "rsm-manifest": manifest}


def _encoded(sizes: list[int], width: int) -> bytes:
    """Count; if it is 1 the size, otherwise the least of all but the last, bytes a value, differences, the last."""
    count = len(sizes).to_bytes(4, "big")
    if len(sizes) == 1:
        return count + sizes[0].to_bytes(4, "big")
    base = min(sizes[:-1])
    width = max(width, -(-(max(sizes[:-1]) - base).bit_length() // 8), 1)
    values = b"".join((size - base).to_bytes(width, "big") for size in sizes[:-1])
    return count + base.to_bytes(4, "big") + bytes([width]) + values + sizes[-1].to_bytes(4, "big")


# ----------------------------------------------------------------------------------------------- RSA-OAEP


@lru_cache
def _key_pair(bits: int, number: int) -> rsa.RSAPrivateKey:
    del number  # keys are made once, and there are several
    return rsa.generate_private_key(65537, bits)


def _mask(seed: bytes, length: int) -> bytes:
    blocks = (hashlib.sha3_512(seed + number.to_bytes(4, "big")).digest() for number in range(-(-length // 64)))
    return b"".join(blocks)[:length]


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


def _wrap(key: rsa.RSAPublicKey, message: bytes, drawn: random.Random) -> bytes:
    """EME-OAEP of RFC 8017, with SHA3-512 and an empty label."""
    numbers, length = key.public_numbers(), key.key_size // 8
    block = hashlib.sha3_512(b"").digest() + bytes(length - len(message) - 2 * 64 - 2) + b"\1" + message
    seed = drawn.randbytes(64)
    masked = _xor(block, _mask(seed, len(block)))
    content = b"\0" + _xor(seed, _mask(masked, 64)) + masked
    return pow(int.from_bytes(content, "big"), numbers.e, numbers.n).to_bytes(length, "big")


def _unwrap(key: rsa.RSAPrivateKey, wrapped: bytes) -> bytes:
    numbers, length = key.private_numbers(), key.key_size // 8
    content = pow(int.from_bytes(wrapped, "big"), numbers.d, numbers.public_numbers.n).to_bytes(length, "big")
    masked = content[65:]
    block = _xor(masked, _mask(_xor(content[1:65], _mask(masked, 64)), len(masked)))
    assert block.startswith(hashlib.sha3_512(b"").digest())
    return block[64:].lstrip(b"\0")[1:]


# ----------------------------------------------------------------------------------------------- the metadata topic


def _metadata_topic(target: Path, events: list[dict[str, Any]], drawn: random.Random) -> Path:
    """The topic's partitions with these events; custom metadata has where the objects are."""
    starts = {each["id"]: each["startOffset"] for each in events if "startOffset" in each}
    batches: dict[int, list[bytes]] = {}
    for event in events:
        batches.setdefault(event["metadataPartition"], []).append(_event(event, starts.get(event["id"], 0)))
    for partition, values in batches.items():
        folder = target / f"__remote_log_metadata-{partition}"
        folder.mkdir(parents=True)
        content, offset = b"", 0
        while offset < len(values):
            builder = record.RecordBatchBuilder(
                compression_type=drawn.choice(["none", "gzip", "zstd"]), base_offset=offset
            )
            for value in values[offset : offset + drawn.randint(1, 5)]:
                builder.append(value, timestamp=1)
                offset += 1
            content += bytes(builder.build())
        (folder / f"{0:020}.log").write_bytes(content)
    return target


def _event(event: dict[str, Any], start: int) -> bytes:
    """Frame 1, the api key, version 0, and the flexible message."""
    is_update = event["type"].endswith("Update")
    identity = _compact(event["topic"].encode()) + _uuid(event["topicId"]) + _int(event["partition"], 4) + b"\0"
    identity += _uuid(event["id"]) + b"\0"
    is_finished = event["state"] == "COPY_SEGMENT_FINISHED"
    custom = _custom(f"{start:020}-{event['id']}") if is_update and is_finished else None
    state = bytes([_STATES.index(event["state"])])
    packed = b"\0" if custom is None else _compact(custom)
    if is_update:
        body = identity + _int(event["brokerId"], 4) + _int(event["eventTimestampMs"], 8) + packed + state + b"\0"
        return b"\1\1\0" + body
    epochs = event["segmentLeaderEpochs"]
    body = identity + b"".join(_int(event[name], 8) for name in ("startOffset", "endOffset"))
    body += _int(event["brokerId"], 4) + _int(event["maxTimestampMs"], 8) + _int(event["eventTimestampMs"], 8)
    body += _varint(len(epochs) + 1)
    body += b"".join(_int(int(epoch), 4) + _int(offset, 8) + b"\0" for epoch, offset in epochs.items())
    body += _int(event["segmentSizeInBytes"], 4) + packed + state
    return b"\1\0\0" + body + (b"\1\0\1\1" if event["txnIdxEmpty"] else b"\0")


def _custom(stem: str) -> bytes:
    """Tags: 0 the size of the objects, 1 the prefix, 2 the key."""
    fields = [b"\2", _compact(b"moved/"), _compact(_own_key(stem).removeprefix("moved/").encode())]
    return _varint(3) + b"".join(bytes([tag]) + _varint(len(data)) + data for tag, data in enumerate(fields))


def _uuid(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "==")


def _int(value: int, size: int) -> bytes:
    return value.to_bytes(size, "big", signed=True)


def _compact(data: bytes) -> bytes:
    return _varint(len(data) + 1) + data


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])
