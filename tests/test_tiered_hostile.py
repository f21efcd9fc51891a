"""Objects and manifests that are missing, truncated, exchanged or made to do harm; keys that are missing or others."""

from __future__ import annotations

import base64
import json
import os
import pickle
import shutil
import tracemalloc
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kafkacomp as kc
from golden.reading import assert_same, scan_rows
from golden.tiered import TieredCase, cases
from grouped import grouped
from kafkacomp import _kafkacomp, zstd
from kafkacomp._cli.command import run
from kafkacomp.tiered.lineage import valid_ranges
from kafkacomp.tiered.manifest import Manifest
from kafkacomp.tiered.metadata import RemoteSegment
from kafkacomp.tiered.resolve import TieredOptions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BOTH: TieredCase = next(case for case in cases() if case.name == "gold-a-both-txn-0")
PLAIN: TieredCase = next(case for case in cases() if case.name == "gold-a-plain-txn-0")
PREFIX: TieredCase = next(case for case in cases() if case.name == "gold-a-prefix-zstd-0")
LOCAL: TieredCase = next(case for case in cases() if case.name == "gold-copy-failed-0")


def copied(case: TieredCase, tmp_path: Path) -> Path:
    """The partition's folder, to be changed."""
    target = tmp_path / case.folder.relative_to(case.storage)
    shutil.copytree(case.folder, target)
    return target


def some(folder: Path, suffix: str, place: int = 1) -> Path:
    return sorted(folder.glob(f"*.{suffix}"))[place]


def keys(case: TieredCase) -> dict[str, Any]:
    return {"encryption_keys": case.keys}


# ----------------------------------------------------------------------------------------------- objects


@pytest.mark.parametrize("suffix", ["log", "rsm-manifest"])
def test_a_missing_object_that_the_metadata_knows(tmp_path: Path, suffix: str) -> None:
    folder = copied(BOTH, tmp_path)
    gone = some(folder, suffix)
    gone.unlink()
    with pytest.raises(FileNotFoundError) as raised:
        list(kc.scan(folder, **grouped(**BOTH.known)))
    assert str(gone) in str(raised.value.filename)


def test_a_missing_chunked_object_is_skipped_and_reported(tmp_path: Path) -> None:
    folder = copied(BOTH, tmp_path)
    gone = some(folder, "log")
    gone.unlink()
    reader = kc.scan(folder, columns=["offset"], on_error="skip", **grouped(include_control=True, **BOTH.known))
    offsets = pa.table(reader)["offset"].to_pylist()
    (missing,) = reader.report.missing
    assert missing.reason == "vanished"
    assert [*offsets, *range(missing.first_offset, missing.last_offset + 1)] != offsets
    assert sorted([*offsets, *range(missing.first_offset, missing.last_offset + 1)]) == [
        *range(BOTH.partition["logEndOffset"])
    ]


def test_a_truncated_object(tmp_path: Path) -> None:
    folder = copied(BOTH, tmp_path)
    cut = some(folder, "log")
    cut.write_bytes(cut.read_bytes()[:-1])
    with pytest.raises(OSError, match=r"the object has .* its manifest gives"):
        list(kc.scan(folder, **grouped(**BOTH.known)))


def test_a_flipped_bit_in_an_encrypted_chunk(tmp_path: Path) -> None:
    folder = copied(BOTH, tmp_path)
    altered = some(folder, "log")
    data = bytearray(altered.read_bytes())
    data[len(data) // 2] ^= 1
    altered.write_bytes(data)
    with pytest.raises(OSError, match="does not authenticate"):
        list(kc.scan(folder, **grouped(**BOTH.known)))


@pytest.mark.parametrize("suffix", ["log", "indexes"])
def test_an_object_of_another_segment(tmp_path: Path, suffix: str) -> None:
    """Its bytes do not authenticate with this segment's key; indexes are ignored then."""
    folder = copied(BOTH, tmp_path)
    one, other = some(folder, suffix, 0), some(folder, suffix, 2)
    manifest = json.loads(some(folder, "rsm-manifest", 0).read_text())
    other_manifest = json.loads(some(folder, "rsm-manifest", 2).read_text())
    shutil.copyfile(other, one)
    manifest["chunkIndex"] = other_manifest["chunkIndex"]
    some(folder, "rsm-manifest", 0).write_text(json.dumps(manifest))
    if suffix == "log":
        with pytest.raises(OSError, match="does not authenticate"):
            list(kc.scan(folder, **grouped(**BOTH.known)))


def test_a_wrong_aad(tmp_path: Path) -> None:
    def change(manifest: dict[str, Any]) -> None:
        manifest["encryption"]["aad"] = base64.b64encode(bytes(32)).decode()

    folder = altered_manifest(tmp_path, BOTH, change)
    with pytest.raises(OSError, match="does not authenticate"):
        list(kc.scan(folder, **grouped(**BOTH.known)))


# ----------------------------------------------------------------------------------------------- keys


def test_a_missing_key() -> None:
    """Before the first row, with the id and the argument."""
    with pytest.raises(kc.EncryptionKeyError, match=r"key pair 'key1', .*is not available.*encryption_keys="):
        kc.scan(BOTH.folder)
    with pytest.raises(kc.EncryptionKeyError, match="whose private key is not available"):
        kc.scan(BOTH.folder, tiered=kc.Tiered(encryption_keys={"other": next(iter((BOTH.keys or {}).values()))}))


def test_a_key_of_another_pair() -> None:
    other = next(case for case in cases() if case.cluster.name == "aiven-encrypted").keys or {}
    with pytest.raises(kc.EncryptionKeyError, match="does not decrypt the data key"):
        kc.scan(BOTH.folder, tiered=kc.Tiered(encryption_keys={"key1": other["key2"]}))


@pytest.mark.parametrize("key", [b"", b"secret", "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n"])
def test_what_is_no_key_is_not_repeated(key: bytes | str) -> None:
    with pytest.raises(kc.EncryptionKeyError) as raised:
        kc.scan(BOTH.folder, tiered=kc.Tiered(encryption_keys={"key1": key}))
    assert "c2VjcmV0" not in str(raised.value)
    assert "secret" not in str(raised.value)


def test_a_key_as_text_and_as_bytes() -> None:
    pem = next(iter((BOTH.keys or {}).values())).read_text()
    for key in (pem, pem.encode(), bytearray(pem.encode())):
        assert scan_rows(BOTH.folder, **BOTH.known | {"encryption_keys": {"key1": key}}) == BOTH.expected()


def test_no_key_in_reprs_and_errors(tmp_path: Path) -> None:
    from kafkacomp.tiered.source import resolve  # noqa: PLC0415 - private names

    pem = next(iter((BOTH.keys or {}).values())).read_text()
    secret = pem.splitlines()[5]
    options = TieredOptions.of(encryption_keys={"key1": pem})
    found = resolve(BOTH.folder, tiered=options)
    sources = [each.source for each in found[0].segments]
    decoder = sources[0].decoder()
    for shown in (
        options,
        options.keys,
        found,
        sources,
        decoder,
        kc.scan(BOTH.folder, tiered=kc.Tiered(encryption_keys={"key1": pem})),
    ):
        assert secret not in repr(shown)
        assert secret not in str(shown)
    folder = copied(BOTH, tmp_path)
    some(folder, "log").write_bytes(b"")
    with pytest.raises(OSError) as raised:
        list(kc.scan(folder, tiered=kc.Tiered(encryption_keys={"key1": pem})))
    assert secret not in repr(raised.value)
    assert pickle.loads(pickle.dumps(sources[0])).open_segment().read_at(10, 0)  # noqa: S301 - our own


@pytest.mark.parametrize("keys", [3, {3: "x"}, {"key1": 3}])
def test_arguments_of_other_types(keys: Any) -> None:
    with pytest.raises(TypeError):
        kc.scan(BOTH.folder, tiered=kc.Tiered(encryption_keys=keys))


def test_keys_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = {key_id: str(path) for key_id, path in (BOTH.keys or {}).items()}
    monkeypatch.setenv("KAFKACOMP_ENCRYPTION_KEYS", json.dumps(paths))
    assert scan_rows(BOTH.folder, **BOTH.known | {"encryption_keys": None}) == BOTH.expected()
    monkeypatch.setenv("KAFKACOMP_ENCRYPTION_KEYS", "secret")
    with pytest.raises(kc.EncryptionKeyError, match="must be a JSON object") as raised:
        kc.scan(BOTH.folder)
    assert "secret" not in str(raised.value)


# ----------------------------------------------------------------------------------------------- manifests


def altered_manifest(tmp_path: Path, case: TieredCase, change: Callable[[dict[str, Any]], None]) -> Path:
    folder = copied(case, tmp_path)
    path = some(folder, "rsm-manifest")
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))
    return folder


def sizes(count: int, base: int = 1, width: int = 1, tail: bytes = b"") -> str:
    """A variable chunk index that says so many chunks."""
    data = count.to_bytes(4, "big") + base.to_bytes(4, "big") + bytes([width]) + tail
    return base64.b64encode(zstd.compress(data)).decode()


BOMB = base64.b64encode(zstd.compress(bytes(200 << 20))).decode()

CHANGES: dict[str, tuple[str, Any]] = {
    "a negative size": ("originalFileSize", -1),
    "more than a segment": ("originalFileSize", 2**31),
    "a size that is a text": ("originalFileSize", "1"),
    "a size that is a fraction": ("originalFileSize", 1.5),
    "chunks of nothing": ("originalChunkSize", 0),
    "2^31 chunks": ("originalChunkSize", 1),
    "chunks of 2 GiB": ("originalChunkSize", 2**31),
    "another count": ("transformedChunks", sizes(5, tail=bytes(8))),
    "2^31 sizes": ("transformedChunks", sizes(2**31 - 1)),
    "a width of 0": ("transformedChunks", sizes(2, width=0, tail=bytes(5))),
    "a width of 5": ("transformedChunks", sizes(2, width=5, tail=bytes(9))),
    "a bomb": ("transformedChunks", BOMB),
    "no frame": ("transformedChunks", "AAAA"),
    "no base64": ("transformedChunks", "!"),
    "an unknown type": ("type", "fancy"),
    "fixed and compressed": ("type", "fixed"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_chunk_index_that_cannot_be(tmp_path: Path, name: str) -> None:
    field, value = CHANGES[name]
    folder = altered_manifest(tmp_path, BOTH, lambda manifest: manifest["chunkIndex"].update({field: value}))
    tracemalloc.start()
    with pytest.raises(kc.CorruptRecordError, match="not a valid segment manifest") as raised:
        kc.scan(folder, **grouped(**BOTH.known))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 << 20
    assert str(folder) in str(raised.value)


def test_chunks_that_are_said_to_be_larger(tmp_path: Path) -> None:
    """A chunk of 10 MB by the manifest, of 10 kB by its bytes: no memory is taken in advance."""

    def change(manifest: dict[str, Any]) -> None:
        manifest["chunkIndex"].update({"originalChunkSize": 200 << 20, "originalFileSize": 200 << 20})
        one = (1).to_bytes(4, "big") + some(folder, "log").stat().st_size.to_bytes(4, "big")
        manifest["chunkIndex"]["transformedChunks"] = base64.b64encode(zstd.compress(one)).decode()

    folder = BOTH.folder
    folder = altered_manifest(tmp_path, BOTH, change)
    with pytest.raises(OSError, match="does not authenticate"):
        list(kc.scan(folder, **grouped(**BOTH.known)))


@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 100, b"[]", b"null", b"{}", b"[" * 100_000, b'{"version":"2"}', b'{"version":"1","compression":3}'],
    ids=range(8),
)
def test_what_is_no_manifest(tmp_path: Path, content: bytes) -> None:
    folder = copied(BOTH, tmp_path)
    some(folder, "rsm-manifest").write_bytes(content)
    with pytest.raises(kc.CorruptRecordError, match="not a valid segment manifest"):
        kc.scan(folder, **grouped(**BOTH.known))


@pytest.mark.parametrize("with_metadata", [False, True])
def test_a_log_dir_with_a_corrupt_manifest(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str], *, with_metadata: bool
) -> None:
    """It is named, and everything else can be read, as by the command."""
    folder = copied(PLAIN, tmp_path)
    manifest = some(folder, "rsm-manifest", 1)
    manifest.write_bytes(b"{}")
    options: dict[str, Any] = {"remote_log_metadata": PLAIN.metadata} if with_metadata else {}
    logs = kc.LogDir(folder, **grouped(**options))
    (partition,) = logs.partitions
    assert sum(str(manifest) in each for each in caplog.messages) == 1
    assert len(partition.segments) == len([*folder.rglob("*.rsm-manifest")]) - 1
    assert all(pa.table(each.scan()).num_rows for each in partition.segments)
    for errors in (logs.verify().errors, partition.verify().findings):
        (error,) = [each for each in errors if each.file == str(manifest)]
        assert error.is_error
        assert error.message.startswith("not a valid segment manifest")
    for found in (logs.info(), partition.info()):
        assert [path for path, _ in found.errors] == [str(manifest)]
        assert found.records > 0
    for read in (logs.scan, partition.scan):
        with pytest.raises(kc.CorruptRecordError, match="not a valid segment manifest"):
            read()
    arguments = ["--remote-log-metadata", str(PLAIN.metadata)] if with_metadata else []
    assert run(["verify", "--json", str(folder), *arguments]) == 1
    shown = json.loads(capsys.readouterr().out)["errors"]
    assert [each["file"] for each in shown] == [each.file for each in logs.verify().errors]


@pytest.mark.parametrize("name", ["segmentIndexes", "chunkIndex", "remoteLogSegmentMetadata", "segmentLeaderEpochs"])
def test_an_object_that_is_none(tmp_path: Path, name: str) -> None:
    def change(manifest: dict[str, Any]) -> None:
        of = manifest if name in manifest else manifest["remoteLogSegmentMetadata"]
        of[name] = []

    with pytest.raises(kc.CorruptRecordError, match=f"not a valid segment manifest: {name} must be an object"):
        kc.scan(altered_manifest(tmp_path, PLAIN, change))


@pytest.mark.parametrize("piece", [b"[],", b"{},", b"0,", b'"":0,'], ids=["arrays", "objects", "numbers", "fields"])
def test_a_manifest_of_many_values(tmp_path: Path, piece: bytes) -> None:
    """Each of them would take twenty times its bytes of memory."""
    content = some(PLAIN.folder, "rsm-manifest").read_bytes()
    brackets = (b"{", b'"":0}') if piece[:1] == b'"' else (b"[", b"0]")
    values = brackets[0] + piece * (3_000_000 // len(piece)) + brackets[1]
    folder = copied(PLAIN, tmp_path)
    some(folder, "rsm-manifest").write_bytes(content.replace(b"{", b'{"more":' + values + b",", 1))
    tracemalloc.start()
    with pytest.raises(kc.CorruptRecordError, match="not a valid segment manifest: more than 100,000 values"):
        kc.scan(folder)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 << 20


def test_the_offsets_of_epochs_take_steps_for_each_entry() -> None:
    """Not for each pair of a segment and an epoch of the log."""

    class Counted(dict[int, int]):
        looked_at = 0

        def items(self) -> Any:
            Counted.looked_at += len(self)
            return super().items()

        def get(self, *_: object) -> Any:
            Counted.looked_at += 1

    epochs = [(epoch, epoch * 10) for epoch in range(1_000)]
    segments = [
        RemoteSegment("t", "i", 0, str(number), 10 * number, 10 * number + 9, Counted({number: 10 * number}))
        for number in range(1_000)
    ]
    found = valid_ranges(segments, epochs, 0)
    assert [(each.first, each.end) for each in found] == [(start, start + 10) for _, start in epochs]
    assert Counted.looked_at == 1_000


def test_every_truncated_manifest_is_an_error() -> None:
    content = some(BOTH.folder, "rsm-manifest").read_bytes().strip()
    for length in range(len(content)):
        with pytest.raises(kc.CorruptRecordError):
            Manifest.parse(content[:length], "m")


@pytest.mark.parametrize("topic", ["../../outside", "/outside", "..", "a/b", "a\\0b", "", "x" * 250])
def test_a_topic_that_leads_elsewhere(tmp_path: Path, topic: str) -> None:
    """A manifest names the topic, and a rewritten log has a folder of its name."""

    def change(manifest: dict[str, Any]) -> None:
        about = manifest["remoteLogSegmentMetadata"]["remoteLogSegmentId"]["topicIdPartition"]
        about["topicPartition"]["topic"] = topic

    root = tmp_path / "storage"
    altered_manifest(root, PLAIN, change)
    (tmp_path / "new").mkdir()
    with pytest.raises(kc.CorruptRecordError, match="not a valid segment manifest"):
        kc.log.recompress(root, tmp_path / "new" / "log")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "storage"]
    assert list((tmp_path / "new").iterdir()) == []


@pytest.mark.parametrize("name", ["topicId", "id"])
def test_an_id_that_is_none(tmp_path: Path, name: str) -> None:
    def change(manifest: dict[str, Any]) -> None:
        identity = manifest["remoteLogSegmentMetadata"]["remoteLogSegmentId"]
        (identity if name == "id" else identity["topicIdPartition"])[name] = "A" * 21 + "\n"

    with pytest.raises(kc.CorruptRecordError, match=f"{name} is 'AAAAA"):
        kc.scan(altered_manifest(tmp_path, PLAIN, change))


def test_a_manifest_of_many_bytes(tmp_path: Path) -> None:
    """It is not read."""
    folder = copied(PLAIN, tmp_path)
    with some(folder, "rsm-manifest").open("r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(OSError, match="the segment manifest has 1099511627776 bytes"):
        kc.scan(folder)


def test_indexes_that_are_elsewhere(tmp_path: Path) -> None:
    """Positions beyond the object, and the indexes of another segment: the records are read, and are the right ones."""

    def change(manifest: dict[str, Any]) -> None:
        for part in manifest["segmentIndexes"].values():
            if part is not None:
                part["position"] += 2**30

    folder = altered_manifest(tmp_path / "beyond", PLAIN, change)
    other = copied(PLAIN, tmp_path / "exchanged")
    shutil.copyfile(some(other, "indexes", 2), some(other, "indexes", 0))
    for place in (folder, other):
        for isolation_level in ("read_uncommitted", "read_committed"):
            for start in (None, 100, 250):
                known = PLAIN.known | {"isolation_level": isolation_level, "start_offset": start}
                try:
                    found = scan_rows(place, **known)
                except (OSError, kc.KafkaCompError) as error:
                    assert str(place) in str(error)  # noqa: PT017 - one of two ends
                    continue
                expected = [each for each in PLAIN.expected(isolation_level) if each.offset >= (start or 0)]
                assert_same(found, expected, place)


def test_the_manifest_of_another_segment(tmp_path: Path) -> None:
    folder = copied(BOTH, tmp_path)
    shutil.copyfile(some(folder, "rsm-manifest", 0), some(folder, "rsm-manifest", 1))
    with pytest.raises(kc.CorruptRecordError, match="the manifest of another segment"):
        kc.scan(folder, **grouped(**BOTH.known))


def test_sizes_of_a_plain_segment_that_do_not_fit(tmp_path: Path) -> None:
    for field, value in (("finalTransformedChunkSize", 5), ("originalFileSize", 5)):
        folder = altered_manifest(
            tmp_path / field,
            PLAIN,
            lambda manifest, f=field, v=value: manifest["chunkIndex"].update({f: v}),  # type: ignore[misc]
        )
        with pytest.raises(kc.CorruptRecordError, match="not a valid segment manifest"):
            kc.scan(folder)


# ----------------------------------------------------------------------------------------------- object keys


def custom_metadata(prefix: str, key: str) -> bytes:
    fields = b"".join(
        bytes([tag, len(text.encode()) + 1, len(text.encode()) + 1]) + text.encode()
        for tag, text in ((1, prefix), (2, key))
    )
    return b"\2" + fields


@pytest.mark.parametrize("key", ["../../etc/passwd", "/etc/passwd", "a/../../b", "a//b", "./a", "a\0b"])
def test_a_key_that_leads_elsewhere(tmp_path: Path, key: str) -> None:
    folder = copied(PREFIX, tmp_path)
    metadata = TieredOptions.of(PREFIX.metadata).metadata
    assert metadata is not None
    gone = some(folder, "log")
    gone.unlink()
    segments = metadata._segments[PREFIX.partition["topicId"], 0]
    for segment_id, each in segments.items():
        segments[segment_id] = type(each)(**each.__dict__ | {"custom_metadata": custom_metadata("", key)})
    with pytest.raises(kc.CorruptRecordError, match="invalid object key in its metadata"):
        kc.scan(tmp_path, tiered=kc.Tiered(remote_log_metadata=metadata))


def test_keys_of_the_metadata_lead_to_the_objects(tmp_path: Path) -> None:
    """The plugin finds .log and .indexes by them, the manifest by its own prefix."""
    folder = copied(PREFIX, tmp_path)
    metadata = TieredOptions.of(PREFIX.metadata).metadata
    assert metadata is not None
    segments = metadata._segments[PREFIX.partition["topicId"], 0]
    (tmp_path / "elsewhere").mkdir()
    for segment_id, each in segments.items():
        for suffix in ("log", "indexes"):
            shutil.move(folder / f"{each.stem}.{suffix}", tmp_path / "elsewhere" / f"{segment_id}.{suffix}")
        custom = custom_metadata("elsewhere/", segment_id)
        segments[segment_id] = type(each)(**each.__dict__ | {"custom_metadata": custom})
    found = scan_rows(tmp_path, remote_log_metadata=metadata, local_log_dir=PREFIX.leader)
    assert found == PREFIX.expected()


# ----------------------------------------------------------------------------------------------- other arguments


@pytest.mark.parametrize("case", [LOCAL, PLAIN], ids=str)
def test_two_segments_with_one_id(tmp_path: Path, case: TieredCase) -> None:
    """Nothing is left out silently: an error, unless the metadata has the start offset of the valid one."""
    folder = copied(case, tmp_path)
    finished = {each["id"]: each for each in case.remote_segments() if each["state"] == "COPY_SEGMENT_FINISHED"}
    for each in folder.glob("*"):
        if not any(segment_id in each.name for segment_id in finished):
            each.unlink()  # twins of a copy that failed
    log = some(folder, "log", 1)
    for path in list(folder.glob(f"{log.stem}.*")):
        for start in (7, 10**15):
            shutil.copyfile(path, path.with_name(f"{start:020}{path.name[20:]}"))
    with pytest.raises(kc.CorruptRecordError, match=r"two segments have the same id.* give remote_log_metadata"):
        kc.scan(folder, tiered=kc.Tiered(encryption_keys=case.keys))
    assert_same(scan_rows(folder, **case.known), case.expected(), folder)


def test_arguments_without_tiered_storage() -> None:
    with pytest.raises(ValueError, match="the source is not one"):
        kc.scan(LOCAL.leader / LOCAL.name, tiered=kc.Tiered(local_log_dir=LOCAL.leader))


def test_no_metadata_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        kc.scan(LOCAL.folder, tiered=kc.Tiered(remote_log_metadata=tmp_path))
    with pytest.raises(FileNotFoundError, match="no partition of __remote_log_metadata"):
        kc.scan(LOCAL.folder, tiered=kc.Tiered(remote_log_metadata=LOCAL.leader / LOCAL.name))
    with pytest.raises(FileNotFoundError):
        kc.scan(LOCAL.folder, tiered=kc.Tiered(local_log_dir=tmp_path / "none"))


def test_what_is_not_known_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    kc.scan(LOCAL.folder)
    assert "without remote_log_metadata and local_log_dir" in caplog.text
    caplog.clear()
    kc.scan(LOCAL.folder, tiered=kc.Tiered(remote_log_metadata=LOCAL.metadata))
    assert "without local_log_dir, the log start offset is unknown" in caplog.text
    caplog.clear()
    kc.scan(LOCAL.folder, **grouped(**LOCAL.known))
    assert not caplog.text


def test_the_decoder_itself() -> None:
    decoder = _kafkacomp.ChunkDecoder(None)
    assert decoder.decode(b"abc", 3, compressed=False) == b"abc"
    assert decoder.decode(zstd.compress(b"abc"), 3, compressed=True) == b"abc"
    for data, size, compressed in (
        (b"abc", 4, False),
        (zstd.compress(b"abc"), 2, True),
        (zstd.compress(b"abc"), 4, True),
    ):
        with pytest.raises(ValueError):
            decoder.decode(data, size, compressed)


@pytest.mark.parametrize("command", ["info", "verify", "verify --local-log-dir", "dump", "tiered", "advise"])
@pytest.mark.parametrize("what", ["FIFO", "loop", "other bytes"])
def test_a_manifest_that_cannot_be_read_is_named_and_the_rest_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, what: str
) -> None:
    folder = copied(PLAIN, tmp_path)
    manifest = some(folder, "rsm-manifest")
    manifest.unlink()
    if what == "FIFO":
        os.mkfifo(manifest)
    elif what == "loop":
        manifest.symlink_to(manifest)
    else:
        manifest.write_bytes(b"{")
    arguments = [*command.split(), *([str(tmp_path)] if " " in command else []), str(folder)]
    assert run(arguments) == 1
    done = capsys.readouterr()
    expected = {"FIFO": "not a regular file", "loop": "Too many levels", "other bytes": "manifest"}[what]
    ids = [path.name[21:43] for path in (manifest, some(folder, "rsm-manifest", -1))]
    assert any(expected in line and ids[0] in line for line in (done.out + done.err).splitlines()), done.err
    assert (PLAIN.partition["topic"] if command in {"info", "advise"} else ids[1]) in done.out
