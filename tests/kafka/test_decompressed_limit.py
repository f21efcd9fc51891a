"""max.decompressed.message.bytes beside the LogValidator of Kafka 4.4.0, the first release that has it."""

from __future__ import annotations

import base64
import subprocess
from typing import TYPE_CHECKING

import pytest

import kafkacomp as kc
from kafkacomp import broker, record
from livekafka import maven, tools
from livekafka.validator import PROJECT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.java
SIZES = ((10,), (200, 10), (10, 64, 300), (57, 58, 59), (8190, 8200), (1, 20_000))


def record_sets() -> Iterator[tuple[int, kc.CompressionType, bytes]]:
    """Records of many sizes in every format and codec."""
    for magic in (0, 1, 2):
        for codec in kc.CompressionType:
            if codec is kc.CompressionType.ZSTD and magic < 2:
                continue
            for sizes in SIZES:
                builder = record.RecordBatchBuilder(magic, codec)
                for index, size in enumerate(sizes):
                    builder.append(bytes([index]) * size, key=b"key", timestamp=1_700_000_000_000 + index)
                yield magic, codec, bytes(builder.build())


def profile_answer(data: bytes, target: kc.CompressionType, limit: int) -> str:
    """What the profile of 4.4 answers on a topic with this compression type."""
    kind = "uncompressed" if target is kc.CompressionType.NONE else str(target)
    try:
        broker.BrokerProfile("4.4").append(
            data, compression_type=kind, max_decompressed_message_bytes=limit, now=1_700_000_000_500
        )
    except kc.InvalidRecordError:
        return "InvalidRecordException"
    return "ok"


def test_the_same_verdict(tmp_path: Path) -> None:
    cases = []
    for magic, codec, data in record_sets():
        for limit in (1, 16, 40, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 90, 210, 8196, 8200, 8204, 8208, 100_000):
            for target in {codec, kc.CompressionType.NONE, kc.CompressionType.GZIP}:
                cases.append((limit, codec, target, magic, data))
                if magic < 2:
                    cases.append((limit, codec, target, 2, data))
    lines = [
        f"{limit}\t{int(codec)}\t{int(target)}\t{magic}\t{base64.b64encode(data).decode()}"
        for limit, codec, target, magic, data in cases
    ]
    (tmp_path / "cases").write_text("\n".join(lines))
    class_path = maven.class_path(PROJECT / "kafka-4.4", "package")
    command = ["java", *tools.JAVA_OPTIONS, "-cp", class_path, "kafkacomp.limit.Main"]
    subprocess.run([*command, str(tmp_path / "cases"), str(tmp_path / "answers")], check=True, timeout=600)
    answers = (tmp_path / "answers").read_text().splitlines()
    verdicts = {"ok": 0, "InvalidRecordException": 0}
    for (limit, codec, target, magic, data), answer in zip(cases, answers, strict=True):
        config = broker.ValidatorConfig(
            source_compression_type=codec, target_compression_type=target, to_magic=magic,
            max_decompressed_message_bytes=limit,
        )  # fmt: skip
        verdicts[answer] += 1
        try:
            broker.LogValidator(config).validate_messages_and_assign_offsets(data, 0, 1_700_000_000_500)
            found = "ok"
        except kc.InvalidRecordError:
            found = "InvalidRecordException"
        assert found == answer, (limit, codec, target, magic, len(data))
        if data[16] == 2:  # others are refused before
            assert profile_answer(data, target, limit) == answer, (limit, codec, target, len(data))
    assert min(verdicts.values()) > 200, verdicts
