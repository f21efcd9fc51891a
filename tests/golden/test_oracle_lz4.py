"""The LZ4 frames of the oracle: Lz4BlockInputStream's verdict and content, case by case."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from functools import cache

import pytest

import kafkacomp as kc
from kafkacomp import lz4

from .expect import SMALL, OracleCase, oracle_cases
from .lz4_reference import Frame, decode_leading_frames

CASES = oracle_cases("lz4")

# strict demands the standard header checksum, as Kafka does for magic 1 and 2; ignore does not look at it (magic 0).
MAGIC = {"strict": 2, "ignore": 0}

RULES = {
    "linked blocks": "Java refuses linked blocks; they are read here",
    "further frame": "Java stops at the first EndMark; a further frame is read here",
    "skippable frame": "Java takes a skippable frame for a bad magic; it is skipped here",
}
FULL_SET_RULES = {"linked blocks": 21, "further frame": 9, "skippable frame": 5}


@dataclass
class Judged:
    """What comparing one case found."""

    differences: list[str] = field(default_factory=list)
    rules: Counter[str] = field(default_factory=Counter)


def decompressed(data: bytes, magic: int) -> bytes | kc.DecompressionError:
    """The content by the record layer's strictness, or the error."""
    try:
        return kc.decompress(data, kc.CompressionType.LZ4, magic=magic)
    except kc.DecompressionError as error:
        return error


def describe(answer: bytes | kc.DecompressionError) -> str:
    """An answer, short."""
    if isinstance(answer, bytes):
        return f"{len(answer)} bytes {hashlib.sha256(answer).hexdigest()[:16]}"
    return repr(answer)


def intended(frames: list[Frame]) -> str | None:
    """The rule that decides over these frames, if one does."""
    real = [frame for frame in frames if not frame.skippable]
    if real and frames[0].skippable:
        return "skippable frame"
    if any(frame.linked for frame in real):
        return "linked blocks"
    return "further frame" if len(real) > 1 else None


@cache
def judge(case: OracleCase) -> Judged:
    """Compares one case under both strictnesses."""
    judged = Judged()
    for mode, magic in MAGIC.items():
        wanted, found = case.outcome[mode], decompressed(case.data, magic)
        frames, _ = decode_leading_frames(case.data, check_header=mode == "strict")
        rule = intended(frames)
        if rule is not None:
            judged.rules[rule] += 1
            content = b"".join(frame.content for frame in frames)
            if found != content:
                judged.differences.append(f"{mode}, {rule}: {describe(found)}, not {describe(content)}")
        elif wanted["ok"]:
            same = isinstance(found, bytes) and len(found) == wanted["len"]
            if not same or hashlib.sha256(found).hexdigest() != wanted["sha"]:  # type: ignore[arg-type]
                judged.differences.append(f"{mode}: {describe(found)}, Kafka has {wanted}")
        elif isinstance(found, bytes):
            judged.differences.append(f"{mode}: {describe(found)}, Kafka has {wanted}")
    return judged


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: OracleCase) -> None:
    """Kafka's verdict under both strictnesses, and its content."""
    assert not judge(case).differences, f"{case.what}\n" + "\n".join(judge(case).differences)


def test_intended_differences_are_counted() -> None:
    """The rules that excuse a difference are few, named, and apply as often as was looked at."""
    full = [case for case in CASES if not case.root.is_relative_to(SMALL)]
    counted: Counter[str] = Counter()
    for case in full or CASES:
        counted += judge(case).rules
    assert counted.keys() <= RULES.keys()
    if full:
        assert dict(counted) == FULL_SET_RULES


def may_refuse(case: OracleCase) -> bool:
    """Whether the specification has something against a frame that Kafka reads."""
    words = {word for what in case.what for word in what.split()}
    _, tail = decode_leading_frames(case.data)
    # A content size or checksum may be wrong, bytes may follow, and a stored block of no bytes is no EndMark.
    return bool(tail) or not words.isdisjoint({"C", "S", "rubbish"}) or "EndMark with the raw bit" in case.what


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize(("policy", "magic"), [("standard", 2), ("ignore", 0)])
def test_codec_module_keeps_the_specification(case: OracleCase, policy: lz4.HeaderChecksum, magic: int) -> None:
    """``kafkacomp.lz4`` is stricter, never laxer: it reads the same content, or refuses it for a reason."""
    lax = decompressed(case.data, magic)
    try:
        strict = lz4.decompress(case.data, header_checksum=policy)
    except kc.DecompressionError:
        assert may_refuse(case) or not isinstance(lax, bytes), case.what
    else:
        assert strict == lax, case.what


@pytest.mark.parametrize("case", [c for c in CASES if "content checksum wrong" in c.what], ids=str)
def test_codec_module_verifies_the_content_checksum(case: OracleCase) -> None:
    """A wrong content checksum passes in a record set, as in Kafka, and not in the codec module."""
    if case.outcome["ignore"]["ok"]:
        with pytest.raises(kc.DecompressionError):
            lz4.decompress(case.data, header_checksum="ignore")


@pytest.mark.parametrize("case", [c for c in CASES if any("content size" in w for w in c.what)], ids=str)
def test_codec_module_verifies_the_content_size(case: OracleCase) -> None:
    """So does a wrong content size, and no size that a frame claims costs memory."""
    frames, _ = decode_leading_frames(case.data)
    (claimed,) = [int(w.rpartition(" ")[2]) for w in case.what if w.startswith("content size")]
    if case.outcome["ignore"]["ok"] and claimed != len(frames[0].content):
        with pytest.raises(kc.DecompressionError):
            lz4.decompress(case.data, header_checksum="ignore")
