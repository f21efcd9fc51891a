"""Writing as Kafka 0.7 does, what its consumers commit, and what its producers answer to their settings."""

from __future__ import annotations

import base64
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kafkacomp as kc
from kafkacomp import message_set
from kafkacomp.message_set import ProducerCompression

from .expect import label, read_json_lines, roots
from .test_v07 import CASES, Case

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROOT = roots("v07")[-1]
#: What the real classes wrote, so that ours must be the same.
OURS = [
    case
    for case in CASES
    if not any(line["error"] for line in case.lines() if line["t"].endswith("_end"))
    and all(line["magic"] == 1 and line["attributes"] <= 2 for line in case.lines() if line["t"] in {"shallow", "deep"})
]
PLAIN = [case for case in OURS if all(line["attributes"] == 0 for line in case.lines() if line["t"] == "shallow")]


def in_tree(topic: str) -> bool:
    """Whether the topic's log is there: the slice has few of them."""
    return (ROOT / "broker" / f"{topic}-0").is_dir()


CODECS = ("none", "gzip", "snappy")


def whole(case: Case) -> bytes:
    """The file without what its end cuts."""
    data = case.path.read_bytes()
    return data[: message_set.valid_bytes(data)]


@pytest.mark.parametrize("case", PLAIN, ids=str)
def test_uncompressed_sets_are_theirs_byte_for_byte(case: Case) -> None:
    payloads = [message.payload for message, _ in message_set.read_messages(whole(case))]
    assert message_set.write_messages(payloads) == whole(case)


@pytest.mark.parametrize("case", OURS, ids=str)
def test_compressed_sets_are_theirs_in_structure(case: Case) -> None:
    """Each wrapper, written again from what it holds, is read as before, and its snappy blocks are framed alike."""
    for wrapper, _ in message_set.read_messages(whole(case), deep=False):
        entry = message_set.write_messages([wrapper])
        inner = [message for message, _ in message_set.read_messages(entry)]
        again = message_set.write_messages(inner, wrapper.compression_type)
        assert [bytes(message) for message, _ in message_set.read_messages(again)] == [bytes(m) for m in inner]
        if not inner or wrapper.compression_type == kc.CompressionType.NONE:
            continue
        ((ours, end),) = message_set.read_messages(again, deep=False)
        assert (ours.magic, ours.attributes, end) == (1, wrapper.attributes, len(again))
        head = b"\x1f\x8b\x08" if ours.attributes == 1 else b"\x82SNAPPY\0\0\0\0\1\0\0\0\1"
        assert ours.payload.startswith(head)


@given(
    st.recursive(
        st.lists(st.binary(max_size=200), max_size=5),
        lambda inner: st.lists(
            st.one_of(st.binary(max_size=50), st.tuples(st.sampled_from(CODECS), inner)), max_size=4
        ),
    )
)
def test_round_trip(tree: list[Any]) -> None:
    """Any nesting is read as its payloads in order, and the last message leads behind the set."""

    def flat(node: list[Any]) -> Iterator[bytes]:
        for each in node:
            if isinstance(each, bytes):
                yield each
            else:
                yield from flat(each[1])

    def written(node: list[Any], codec: str) -> bytes:
        contents: list[Any] = []
        for each in node:
            if isinstance(each, bytes):
                contents.append(each)
            else:
                contents += [m for m, _ in message_set.read_messages(written(each[1], each[0]), deep=False)]
        return message_set.write_messages(contents, codec)

    for codec in CODECS:
        data = written(tree, codec)
        found = list(message_set.read_messages(data, initial_offset=77))
        assert [message.payload for message, _ in found] == list(flat(tree))
        assert not found or found[-1].offset == 77 + len(data)
        assert message_set.valid_bytes(data) == len(data)
        assert bool(data) == bool(found)


def test_what_cannot_be_written() -> None:
    with pytest.raises(ValueError, match=r"Kafka 0\.7 has no lz4"):
        message_set.write_messages([b"a"], "lz4")
    with pytest.raises(ValueError, match="level"):
        message_set.write_messages([b"a"], "gzip", compression_level=77)
    with pytest.raises(TypeError):
        message_set.write_messages(["text"])  # type: ignore[list-item]


def test_producers_answers() -> None:
    """Line by line: values of compression.codec, and payloads at the limit."""
    lines = list(read_json_lines(ROOT / "producer-behaviour.jsonl"))
    sets = {
        "payload of 1000000 bytes, no codec": ([b"\0" * 1_000_000], "none"),
        "payload of 1000001 bytes, no codec": ([b"\0" * 1_000_001], "none"),
        "three payloads of 900000 zero bytes, gzip": ([b"\0" * 900_000] * 3, "gzip"),
        "one payload of 3000000 zero bytes, snappy": ([b"\0" * 3_000_000], "snappy"),
    }
    answers: list[str | None] = []
    for line in lines:
        try:
            if line["case"] in sets:
                message_set.verify_message_size(message_set.write_messages(*sets[line["case"]]))
            else:
                name, _, value = line["case"].partition("=")
                assert name == "compression.codec"
                ProducerCompression.from_properties({name: value})
        except (ValueError, kc.MessageSetError) as error:
            answers.append(str(error))
        else:
            answers.append(None)
    for line, answer in zip(lines, answers, strict=True):
        assert (answer is None) == line["ok"], line
        assert answer is None or line["error"]["message"] in answer
    assert len(lines) == 14


SETTINGS = [
    ("async_codec_unset", "async", "async_codec_unset", "0"),
    ("async_empty_list", "async", ",,", "2"),
    ("async_listed", "async", "other,async_listed", "1"),
    ("async_no_list", "async", "", "2"),
    ("async_unlisted", "async", "other, async_unlisted", "1"),
    ("sync_unlisted", "sync", "other", "1"),
]


@pytest.mark.parametrize(("topic", "producer_type", "topics", "codec"), [row for row in SETTINGS if in_tree(row[0])])
def test_compressed_topics(topic: str, producer_type: str, topics: str, codec: str) -> None:
    """What a real broker's log of each of these topics holds is what the settings say."""
    settings = ProducerCompression.from_properties({"compression.codec": codec, "compressed.topics": topics})
    (path,) = (ROOT / "broker" / f"{topic}-0").glob("*.kafka")
    found = {message.compression_type for message, _ in message_set.read_messages(path.read_bytes(), deep=False)}
    assert found == {settings.compression_type(topic, producer_type=producer_type)}
    with pytest.raises(ValueError, match="producer_type"):
        settings.compression_type(topic, producer_type="other")


@pytest.mark.parametrize(
    ("name", "log_file_size"),
    [
        row
        for row in (("gz-0", 20_000), ("sn-0", 20_000), ("plain-0", 40_000), ("nested-0", 1000))
        if in_tree(row[0][:-2])
    ],
)
def test_logs_are_rolled_as_theirs(name: str, log_file_size: int, tmp_path: Path) -> None:
    """One wrapper a request gives the real broker's files; smaller sets give files that are nearer to the limit."""
    files = sorted((ROOT / "broker" / name).glob("*.kafka"))
    content = b"".join(path.read_bytes() for path in files)
    sets = [message_set.write_messages([message]) for message, _ in message_set.read_messages(content, deep=False)]
    topic, _, partition = name.rpartition("-")
    names = message_set.write_log(sets, tmp_path, topic=topic, partition=int(partition), log_file_size=log_file_size)
    written = [tmp_path / name / each for each in names]
    assert sorted((tmp_path / name).iterdir()) == written
    assert b"".join(path.read_bytes() for path in written) == content
    if name == "gz-0":
        assert [(p.name, p.read_bytes()) for p in written] == [(p.name, p.read_bytes()) for p in files]
    for path in written[:-1]:
        size, last = path.stat().st_size, len(sets[-1])
        assert log_file_size < size <= log_file_size + max(map(len, sets)), last
    with pytest.raises(FileExistsError):
        message_set.write_log(sets, tmp_path, topic=topic, partition=int(partition))


def test_a_refused_set_leaves_nothing(tmp_path: Path) -> None:
    good = message_set.write_messages([b"good"])
    for bad in (good[:-1] + b"x", message_set.write_messages([b"\0" * 1_000_001])):
        with pytest.raises(kc.MessageSetError):
            message_set.write_log([good, bad], tmp_path, topic="topic")
        assert not list(tmp_path.iterdir())
    assert message_set.write_log([good + good[:-2], b""], tmp_path, topic="t", initial_offset=9) == [f"{9:020}.kafka"]
    assert (tmp_path / "t-0" / f"{9:020}.kafka").read_bytes() == good


def content_of(topic: str, start: int = 0) -> bytes:
    """A topic's log from a position on."""
    return b"".join(path.read_bytes() for path in sorted((ROOT / "broker" / f"{topic}-0").glob("*.kafka")))[start:]


COMMITS = list(read_json_lines(ROOT / "consumer-commits.jsonl.gz"))


@pytest.mark.parametrize("shallow", [False, True])
@pytest.mark.parametrize("topic", sorted({line["topic"] for line in COMMITS if in_tree(line["topic"])}))
def test_what_consumers_commit(topic: str, shallow: bool) -> None:
    """The real consumer's offset and message after each step."""
    wanted = [line for line in COMMITS if line["topic"] == topic and line.get("shallow") is shallow]
    found = list(message_set.read_messages(content_of(topic), deep=not shallow))
    assert label(ROOT) == "small" or len(found) >= len(wanted)  # the slice has only a log's first file
    for line, (message, offset) in zip(wanted, found, strict=False):
        assert (offset, message.payload) == (line["committed"], base64.b64decode(line["payload"])), line["n"]


@pytest.mark.parametrize("topic", ["gz"] if in_tree("gz") else [])
def test_a_stop_inside_a_wrapper_and_a_new_start(topic: str) -> None:
    """The next consumer begins with the wrapper's first message again."""
    start = 0
    rounds = sorted({line["resume_round"] for line in COMMITS if "resume_round" in line})
    assert rounds == [1, 2]
    for number in rounds:
        lines = [line for line in COMMITS if line.get("resume_round") == number]
        (committed,) = [line["committed"] for line in lines if "committed" in line]
        steps = {line["n"]: base64.b64decode(line["payload"]) for line in lines if "n" in line}
        read = list(islice(message_set.read_messages(content_of(topic, start), initial_offset=start), max(steps)))
        assert {n: read[n - 1].message.payload for n in steps} == steps
        start = read[-1].offset
        assert start == committed
