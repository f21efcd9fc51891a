"""LZ4 frames that Kafka's clients and brokers of every era wrote: both header checksum rules, every block size."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pytest

import kafkacomp as kc
from kafkacomp import lz4

from .expect import LegacyFile, label, legacy_files, read_json_lines, roots

if TYPE_CHECKING:
    from pathlib import Path

FILES = [file for file in legacy_files() if "lz4" in file.about.get("codecs", ())]

# A message of magic 0 has CRC, magic, attributes and key length before the key; magic 1 a timestamp more.
FIRST_LENGTH = {0: 18, 1: 26}
RECORDS_OFFSET = 61


def payload(data: bytes, line: dict[str, Any]) -> bytes:
    """The compressed bytes of a batch, cut out by hand: what follows the header, or a wrapper's value."""
    entry = data[line["position"] : line["position"] + line["size"]]
    if line["magic"] == 2:
        return entry[RECORDS_OFFSET:]
    at = FIRST_LENGTH[line["magic"]]
    key = int.from_bytes(entry[at : at + 4], "big", signed=True)
    return entry[at + 4 + max(key, 0) + 4 :]


@pytest.mark.parametrize("file", FILES, ids=str)
def test_lz4_headers(file: LegacyFile) -> None:
    """FLG, BD and header checksum of every LZ4 payload, and which of the two rules the checksum obeys."""
    data = file.path.read_bytes()
    lines, _ = file.batches()
    seen = 0
    for line in lines:
        if "lz4" not in line:
            continue
        check_frame_info(payload(data, line), line["lz4"], line["magic"])
        seen += 1
    assert seen


def check_frame_info(frame: bytes, wanted: dict[str, Any], magic: int) -> None:
    """``lz4.get_frame_info`` says what a look at the bytes says, and the header checksum policies agree with it."""
    info = lz4.get_frame_info(frame)
    assert (info.flg, info.bd, info.header_checksum) == tuple(int(wanted[k], 16) for k in ("flg", "bd", "hc"))
    assert info.header_checksum_rule == {"right": "standard"}.get(wanted["hc_rule"], wanted["hc_rule"])
    assert wanted["hc_rule"] in {"right", "broken"}
    obeyed: lz4.HeaderChecksum = "standard" if wanted["hc_rule"] == "right" else "broken"
    other: lz4.HeaderChecksum = "broken" if obeyed == "standard" else "standard"
    content = lz4.decompress(frame, header_checksum=obeyed)
    assert content == lz4.decompress(frame, header_checksum="either") == lz4.decompress(frame, header_checksum="ignore")
    with pytest.raises(kc.DecompressionError):
        lz4.decompress(frame, header_checksum=other)
    assert kc.decompress(frame, kc.CompressionType.LZ4, magic=magic) == content
    if obeyed == "broken":
        # Magic 1 and 2 demand the right checksum; magic 0 alone does not look at it.
        assert kc.decompress(frame, "lz4", magic=0) == content
        for strict in (1, 2):
            with pytest.raises(kc.DecompressionError):
                kc.decompress(frame, kc.CompressionType.LZ4, magic=strict)


def class_lz4() -> list[tuple[Path, dict[str, Any]]]:
    """The outputs of Kafka's own LZ4 stream classes, in every root."""
    return [
        (root, line)
        for root in roots("legacy")
        if (root / "class" / "lz4.jsonl").is_file()
        for line in read_json_lines(root / "class" / "lz4.jsonl")
        if (root / line["file"]).is_file()
    ]


@pytest.mark.parametrize(
    ("root", "line"), class_lz4(), ids=[f"{label(root)}/{line['file']}" for root, line in class_lz4()]
)
def test_lz4_class_files(root: Path, line: dict[str, Any]) -> None:
    """Frames of KafkaLZ4BlockOutputStream: block sizes 4 to 7, block checksums, flushed and unflushed, both rules."""
    frame = (root / line["file"]).read_bytes()
    magic = 0 if line["lz4"]["hc_rule"] == "broken" else 2
    content = kc.decompress(frame, kc.CompressionType.LZ4, magic=magic)
    assert len(content) == line["holds"]
    if line["holds"] == line["plain_size"]:
        assert hashlib.sha256(content).hexdigest() == line["plain_sha256"]
    plain_text = root / "class" / "payload" / "text-200k.bin"
    if line["plain"].startswith("text-") and plain_text.is_file():
        assert content == plain_text.read_bytes()[: line["holds"]]
    check_frame_info(frame, line["lz4"], magic)
    assert lz4.get_frame_info(frame).block_checksum == bool(int(line["lz4"]["flg"], 16) & 0x10)
