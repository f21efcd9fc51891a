"""The validator's interface: arguments, what "in place" means, bad input, threads, profiles, the command line."""

from __future__ import annotations

import json
import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

import kafkacomp as kc
from kafkacomp import broker, record
from kafkacomp._cli import main
from kafkacomp.record import TimestampType

if TYPE_CHECKING:
    from pathlib import Path

NOW = 1_700_000_000_000
CODECS = tuple(kc.CompressionType)


def batch(magic: int = 2, codec: kc.CompressionType = kc.CompressionType.NONE, **settings: Any) -> bytes:
    """Five records."""
    builder = record.RecordBatchBuilder(magic, codec, **settings)
    for index in range(5):
        builder.append(b"value %d" % index * 9, key=b"k%d" % index if index != 2 else None, timestamp=NOW + index)
    return builder.build()


def validator(**settings: Any) -> broker.LogValidator:
    """With nothing set but this."""
    chosen = {"source_compression_type": "none", "target_compression_type": "none"} | settings
    return broker.LogValidator(broker.ValidatorConfig(**chosen))


def copied(thing: Any) -> Any:
    """Through pickle and back."""
    return pickle.loads(pickle.dumps(thing))  # noqa: S301 - our own bytes


def test_target_compression_type() -> None:
    """The topic's wins, producer keeps the source, none and other cases are no values."""
    gzip = kc.CompressionType.GZIP
    assert broker.target_compression_type("producer", gzip) is gzip
    assert broker.target_compression_type(None, gzip) is gzip
    assert broker.target_compression_type("uncompressed", gzip) is kc.CompressionType.NONE
    assert broker.target_compression_type("zstd", "gzip", broker="lz4") is kc.CompressionType.ZSTD
    assert broker.target_compression_type(None, "gzip", broker="lz4") is kc.CompressionType.LZ4
    assert broker.target_compression_type("producer", "gzip", broker="lz4") is gzip
    assert broker.target_compression_type(broker.BrokerCompressionType.SNAPPY, gzip) is kc.CompressionType.SNAPPY
    for name in ("none", "GZIP", "", "deflate"):
        with pytest.raises(ValueError, match=r"compression\.type"):
            broker.target_compression_type(name, gzip)
    with pytest.raises(ValueError, match="invalid compression type"):
        broker.target_compression_type("gzip", "uncompressed")


def test_broker_compression_type_for_name() -> None:
    """Any case; none is a producer's."""
    for kind in broker.BrokerCompressionType:
        assert broker.BrokerCompressionType.for_name(kind.value.upper()) is kind
    with pytest.raises(ValueError, match="unknown broker compression type"):
        broker.BrokerCompressionType.for_name("none")


@pytest.mark.parametrize("source", CODECS)
@pytest.mark.parametrize("target", ["producer", broker.BrokerCompressionType.PRODUCER])
def test_producer_keeps_the_sources_codec(source: kc.CompressionType, target: Any) -> None:
    """As a topic with compression.type=producer stores it: the batch in place, whatever its codec."""
    data = batch(2, source)
    kinds = {"source_compression_type": source, "target_compression_type": target}
    config = broker.ValidatorConfig(**kinds)
    assert config.target_compression_type is broker.BrokerCompressionType.PRODUCER
    assert copied(config) == config
    result = validator(**kinds).validate_messages_and_assign_offsets(data, 1000, NOW)
    assert not result.message_size_maybe_changed
    (stored,) = record.read_batches(result.validated_records)
    assert stored.compression_type is source


@pytest.mark.parametrize("kind", broker.BrokerCompressionType)
def test_every_compression_type_of_a_topic_is_a_target(kind: broker.BrokerCompressionType) -> None:
    """By its name in the configuration and as the enum's member: what is stored has the codec that Kafka chooses."""
    for target in (kind, kind.value):
        result = validator(
            source_compression_type="lz4", target_compression_type=target
        ).validate_messages_and_assign_offsets(batch(2, kc.CompressionType.LZ4), 0, NOW)
        (stored,) = record.read_batches(result.validated_records)
        assert stored.compression_type is broker.target_compression_type(kind, "lz4")


@pytest.mark.parametrize(
    "wrong",
    [
        {"target_compression_type": "deflate"},
        {"target_compression_type": "producer", "source_compression_type": "snappy", "compression_level": 1},
        {"target_compression_type": "gzip", "compression_level": 10},
        {"target_compression_type": "snappy", "compression_level": 1},
        {"source_compression_type": 5},
        {"to_magic": 3},
        {"timestamp_type": TimestampType.NO_TIMESTAMP_TYPE},
        {"timestamp_before_max_ms": -1},
        {"timestamp_after_max_ms": 2**63},
        {"partition_leader_epoch": 2**31},
        {"origin": 9},
        {"inter_broker_protocol_version": "two"},
        {"max_output_size": 0},
    ],
    ids=str,
)
def test_wrong_settings(wrong: dict[str, Any]) -> None:
    """ValueError, before any record is seen."""
    with pytest.raises(ValueError, match=r"\w"):
        validator(**wrong)


@pytest.mark.parametrize("codec", CODECS)
def test_in_place_changes_header_bytes_only(codec: kc.CompressionType) -> None:
    """Base offset and leader epoch lie outside the CRC; nothing else changes, and the input never."""
    data = batch(2, codec)
    before = bytes(data)
    result = validator(
        source_compression_type=codec, target_compression_type=codec, partition_leader_epoch=7
    ).validate_messages_and_assign_offsets(data, 1000, NOW)
    changed = {i for i, (a, b) in enumerate(zip(data, result.validated_records, strict=True)) if a != b}
    assert data == before
    assert changed <= {*range(8), *range(12, 16)}
    (stored,) = record.read_batches(result.validated_records)
    stored.ensure_valid()
    assert (stored.base_offset, stored.partition_leader_epoch) == (1000, 7)


def test_a_wrong_checksum_stays_wrong_in_place() -> None:
    """It is analyze_and_validate_records that looks at it."""
    data = bytearray(batch(2, kc.CompressionType.LZ4))
    data[17] ^= 1
    kinds = {"source_compression_type": "lz4", "target_compression_type": "lz4"}
    result = validator(**kinds).validate_messages_and_assign_offsets(data, 0, NOW)
    assert result.validated_records[17] == data[17]
    with pytest.raises(kc.CorruptRecordError):
        broker.analyze_and_validate_records(data)


def test_output_limit() -> None:
    """A bomb takes no memory beyond the cap."""
    builder = record.RecordBatchBuilder(2, "zstd")
    builder.append(bytes(50_000_000))
    kinds = {"source_compression_type": "zstd", "max_output_size": 1_000_000}
    for target in ("zstd", "lz4"):
        with pytest.raises(kc.OutputLimitError):
            validator(target_compression_type=target, **kinds).validate_messages_and_assign_offsets(builder.build())


def test_refusals_pickle() -> None:
    """With the refused records."""
    with pytest.raises(kc.InvalidRecordError) as refused:
        validator(compacted=True).validate_messages_and_assign_offsets(batch(), 0, NOW)
    (found,) = refused.value.record_errors
    assert copied(refused.value).record_errors == (found,)
    assert isinstance(found, broker.RecordError)
    assert found.batch_index == 2
    assert copied(validator(compacted=True)).config.compacted


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_every_prefix_and_bit_flip(magic: int) -> None:
    """An answer or one of the package's exceptions, whatever comes."""
    rng = random.Random(magic)
    for codec in CODECS[:4] if magic < 2 else CODECS:
        data = batch(magic, codec)
        inputs = [data[:end] for end in range(len(data))]
        for at in range(len(data)):
            flipped = bytearray(data)
            flipped[at] ^= 1 << rng.randrange(8)
            inputs.append(bytes(flipped))
        same = validator(source_compression_type=codec, target_compression_type=codec, to_magic=magic)
        other = validator(source_compression_type=codec, target_compression_type="gzip", to_magic=(magic + 1) % 3)
        for given in inputs:
            for each in (same, other):
                try:
                    each.validate_messages_and_assign_offsets(given, 5, NOW)
                except kc.KafkaCompError as error:
                    assert error.error_code in {2, 32, 43, 87, -1}  # noqa: PT017 - most inputs fail, some do not
            for name in broker.BrokerProfile.NAMES:
                try:
                    broker.BrokerProfile(name).append(given, now=NOW)
                except kc.KafkaCompError as error:
                    assert error.error_code in {2, 10, 32, 43, 76, 87, -1, None}  # noqa: PT017 - as above


def test_threads_share_a_validator() -> None:
    """They take turns."""
    data, shared = (
        batch(2, kc.CompressionType.ZSTD),
        validator(source_compression_type="zstd", target_compression_type="lz4"),
    )
    with ThreadPoolExecutor(8) as pool:
        found = set(
            pool.map(lambda _: shared.validate_messages_and_assign_offsets(data, 3, NOW).validated_records, range(64))
        )
    assert len(found) == 1


def test_analyze_and_trim() -> None:
    """A cut batch at the end is left out."""
    data = batch(2, kc.CompressionType.GZIP)
    info = broker.analyze_and_validate_records(data + data[:40])
    assert info == broker.LogAppendInfo(0, 4, 4, None, NOW + 4, kc.CompressionType.GZIP, len(data))
    assert broker.trim_invalid_bytes(data + data[:40], info) == data
    with pytest.raises(kc.OffsetsOutOfOrderError):
        broker.analyze_and_validate_records(data * 2)
    with pytest.raises(kc.RecordTooLargeError):
        broker.analyze_and_validate_records(data, max_message_size=len(data) - 1)
    broker.analyze_and_validate_records(data, max_message_size=0, ignore_record_size=True)


def test_profile_names() -> None:
    """A version stands for those up to the next; 4.x is 4.4."""
    assert broker.BrokerProfile("4.x").name == "4.4"
    assert broker.BrokerProfile("4.3.1").name == "4.3"
    assert broker.BrokerProfile("0.10.2.2").name == "0.10.2"
    assert copied(broker.BrokerProfile("1.1")).name == "1.1"
    with pytest.raises(ValueError, match="no profile"):
        broker.BrokerProfile("0.7")
    with pytest.raises(ValueError, match="message_format_version"):
        broker.BrokerProfile("2.8").append(batch(), message_format_version="new")


def test_lz4_header_checksum_by_era() -> None:
    """KIP-57 in one picture: v0 with the broken checksum."""
    data = batch(0, kc.CompressionType.LZ4)
    magics = {}
    for name in broker.BrokerProfile.NAMES[:-2]:  # 4.x takes formats 0 and 1 from no producer
        (stored,) = record.read_batches(broker.BrokerProfile(name).append(data, now=NOW))
        magics[name] = stored.magic
    assert magics == {"0.8.2": 0, "0.9.0": 0, "0.10.0": 1, "0.10.2": 1, "0.11.0": 2, "1.1": 2, "2.8": 2, "3.9": 2}


# ----------------------------------------------------------------------------------------- the command line


def run(capfd: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    """Exit status and standard output."""
    status = main(["validate", *map(str, arguments)])
    return status, capfd.readouterr().out


def test_command_accepts(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """For people and as JSON."""
    file = tmp_path / "set.bin"
    file.write_bytes(batch(2, kc.CompressionType.GZIP))
    status, out = run(capfd, file, "--profile", "4.x", "--compression-type", "zstd", "--offset", 100)
    assert status == 0
    assert "accepted, rebuilt" in out
    status, out = run(capfd, file, "--offset", 100, "--json")
    assert status == 0
    told = json.loads(out)
    assert (told["profile"], told["accepted"], told["errorCode"], told["stored"]) == ("4.4", True, 0, "headers changed")
    assert told["batches"][0]["baseOffset"] == 100


def test_command_refuses(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Each refused record is told; the exit status is 1."""
    file = tmp_path / "set.bin"
    file.write_bytes(batch(2, kc.CompressionType.GZIP))
    status, out = run(capfd, file, "--cleanup-policy", "compact")
    assert status == 1
    assert "refused, error code 87" in out
    assert "record 2: " in out
    status, out = run(capfd, file, "--cleanup-policy", "compact", "--json")
    told = json.loads(out)
    assert (status, told["accepted"], told["errorCode"]) == (1, False, 87)
    assert [error["batchIndex"] for error in told["recordErrors"]] == [2]
    status, out = run(capfd, file, "--profile", "0.10.2", "--json")
    assert (status, json.loads(out)["errorCode"]) == (1, 2)


@pytest.mark.parametrize(
    "wrong",
    [("--profile", "0.7"), ("--compression-type", "none"), ("--compression-type", "GZIP"), ("--no-such-option",)],
    ids=str,
)
def test_command_wrong_use(tmp_path: Path, capfd: pytest.CaptureFixture[str], wrong: tuple[str, ...]) -> None:
    """Exit status 2."""
    file = tmp_path / "set.bin"
    file.write_bytes(batch())
    assert run(capfd, file, *wrong)[0] == 2
    assert run(capfd, tmp_path / "missing")[0] == 2


def test_max_decompressed_message_bytes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A record of a compressed batch above the limit: refused by 4.4, which is the first that has the setting."""
    builder = record.RecordBatchBuilder(2, kc.CompressionType.GZIP)
    builder.append(b"v" * 1000, timestamp=NOW)
    data = bytes(builder.build())
    file = tmp_path / "set.bin"
    file.write_bytes(data)
    with pytest.raises(kc.InvalidRecordError, match="1") as raised:
        broker.BrokerProfile("4.4").append(data, now=NOW, max_decompressed_message_bytes=1000)
    assert raised.value.error_code == 87
    stored = broker.BrokerProfile("4.4").append(data, now=NOW, max_decompressed_message_bytes=1100)
    assert stored == broker.BrokerProfile("4.3").append(data, now=NOW, max_decompressed_message_bytes=1000)
    for wrong in (0, 2**31 - 8):
        with pytest.raises(ValueError, match="max_decompressed_message_bytes"):
            broker.BrokerProfile("4.4").append(data, max_decompressed_message_bytes=wrong)
    status, out = run(capfd, file, "--max-decompressed-message-bytes", 1000)
    assert status == 1
    assert "refused, error code 87" in out
    assert run(capfd, file, "--max-decompressed-message-bytes", 1100)[0] == 0
    assert run(capfd, file, "--max-decompressed-message-bytes", 1000, "--profile", "4.3")[0] == 0
