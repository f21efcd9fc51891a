"""Tiered storage in an S3 bucket: listing, credentials, endpoint, range reads, failures in the middle."""

from __future__ import annotations

import contextlib
import io
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest
from obstore.fsspec import FsspecStore
from obstore.store import S3Store

import kafkacomp as kc
from golden.reading import SCAN_COLUMNS, assert_same, scan_rows, table_rows
from golden.tiered import TieredCase, cases
from grouped import grouped
from kafkacomp import log
from kafkacomp._cli.command import run
from kafkacomp._codecs.levels import parse_codecs
from kafkacomp.advice import Settings, advise
from s3_server import ACCESS_KEY, BUCKET, SECRET_KEY, S3Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LOCAL: TieredCase = next(case for case in cases() if case.name == "gold-copy-failed-0")
BOTH: TieredCase = next(case for case in cases() if case.name == "gold-a-both-txn-0")
PREFIX: TieredCase = next(case for case in cases() if case.name == "gold-a-prefix-zstd-0")
SOME = pytest.mark.parametrize("case", [LOCAL, BOTH, PREFIX], ids=str)


@pytest.fixture(scope="module")
def shared() -> Iterator[S3Server]:
    """The server with the storage of three clusters, and the metadata and log directory of one."""
    with S3Server() as server:
        for case in (LOCAL, BOTH, PREFIX):
            server.upload(case.storage, case.cluster.name)
        for folder in (*BOTH.metadata.glob("__remote_log_metadata-*"), BOTH.leader / BOTH.name):
            server.upload(folder, f"backup/{folder.name}")
        for file in BOTH.leader.glob("*-checkpoint"):
            server.put(f"backup/{file.name}", file.read_bytes())
        yield server


@pytest.fixture
def server(shared: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The same, without credentials in the environment."""
    shared.reset()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    return shared


def key_of(case: TieredCase) -> str:
    """The partition's folder in the bucket."""
    return f"{case.cluster.name}/{case.folder.relative_to(case.storage).as_posix()}"


def options(server: S3Server, **more: Any) -> dict[str, Any]:
    """What s3fs opens the bucket with."""
    return {"endpoint_url": server.endpoint, "key": ACCESS_KEY, "secret": SECRET_KEY} | more


def arrow(server: S3Server, access_key: str = ACCESS_KEY) -> pafs.S3FileSystem:
    return pafs.S3FileSystem(
        endpoint_override=server.endpoint.removeprefix("http://"), scheme="http", region="us-east-1",
        access_key=access_key, secret_key=SECRET_KEY,
    )  # fmt: skip


def store(server: S3Server) -> S3Store:
    return S3Store(
        BUCKET, endpoint=server.endpoint, access_key_id=ACCESS_KEY, secret_access_key=SECRET_KEY,
        region="us-east-1", client_options={"allow_http": True},
    )  # fmt: skip


def fsspec_store(server: S3Server) -> FsspecStore:
    return FsspecStore(
        "s3", endpoint=server.endpoint, access_key_id=ACCESS_KEY, secret_access_key=SECRET_KEY,
        region="us-east-1", client_options={"allow_http": True},
    )  # fmt: skip


#: The arguments of ``kc.scan`` by the library that reads the bucket, and what paths begin with.
CLIENTS: dict[str, tuple[Callable[[S3Server], dict[str, Any]], str]] = {
    "pyarrow": (lambda server: {"store": arrow(server)}, f"{BUCKET}/"),
    "pyarrow-url": (lambda server: {"store": arrow(server)}, f"s3://{BUCKET}/"),
    "s3fs": (lambda server: {"storage_options": options(server)}, f"s3://{BUCKET}/"),
    "obstore": (lambda server: {"store": store(server)}, ""),
    "obstore-fsspec": (lambda server: {"store": fsspec_store(server)}, f"{BUCKET}/"),
}
CLIENT = pytest.mark.parametrize("client", CLIENTS)


@CLIENT
@SOME
@pytest.mark.parametrize("isolation_level", ["read_uncommitted", "read_committed"])
def test_what_the_consumer_read(server: S3Server, case: TieredCase, client: str, isolation_level: str) -> None:
    arguments, prefix = CLIENTS[client]
    found = scan_rows(prefix + key_of(case), isolation_level=isolation_level, **case.known, **arguments(server))
    assert_same(found, case.expected(isolation_level), case.folder)


@CLIENT
def test_the_root_is_listed(server: S3Server, client: str) -> None:
    """All partitions of a cluster are found from the prefix on."""
    arguments, prefix = CLIENTS[client]
    reader = kc.scan(
        prefix + BOTH.cluster.name, columns=["topic", "partition"], **grouped(**BOTH.known, **arguments(server))
    )
    found = pa.table(reader).group_by(["topic", "partition"]).aggregate([]).to_pylist()
    there = [case for case in cases() if case.cluster == BOTH.cluster]
    assert sorted(f"{each['topic']}-{each['partition']}" for each in found) == sorted(case.name for case in there)


@CLIENT
def test_nothing_there(server: S3Server, client: str) -> None:
    arguments, prefix = CLIENTS[client]
    with pytest.raises(FileNotFoundError):
        kc.scan(f"{prefix}nowhere/at-all", **grouped(**arguments(server)))


def test_a_url_of_pyarrow_with_its_endpoint(server: S3Server) -> None:
    host = server.endpoint.removeprefix("http://")
    url = (
        f"s3://{ACCESS_KEY}:{SECRET_KEY}@{BUCKET}/{key_of(BOTH)}?scheme=http&endpoint_override={host}&region=us-east-1"
    )
    assert_same(scan_rows(url, **BOTH.known), BOTH.expected(), BOTH.folder)


def test_credentials_of_the_environment(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
    url = f"s3://{BUCKET}/{key_of(BOTH)}"
    assert_same(scan_rows(url, **BOTH.known), BOTH.expected(), BOTH.folder)
    found = scan_rows(url, storage_options={"endpoint_url": server.endpoint}, **BOTH.known)
    assert_same(found, BOTH.expected(), BOTH.folder)


def test_wrong_credentials(server: S3Server) -> None:
    """An error that does not repeat the secret."""
    with pytest.raises(OSError, match=r"(?i)access|forbidden|denied|403") as raised:
        kc.scan(f"{BUCKET}/{key_of(BOTH)}", **grouped(store=arrow(server, "AKIAWRONG"), **BOTH.known))
    assert SECRET_KEY not in str(raised.value)
    with pytest.raises(OSError, match=r"(?i)access|forbidden|denied|unknown key") as raised:
        wrong = options(server, key="AKIAWRONG")
        kc.scan(f"s3://{BUCKET}/{key_of(BOTH)}", **grouped(storage_options=wrong, **BOTH.known))
    assert SECRET_KEY not in str(raised.value)


def test_metadata_and_log_directory_in_the_bucket(server: S3Server) -> None:
    """URLs of what decides are opened with the same options; local paths next to them stay local."""
    backup = f"s3://{BUCKET}/backup"
    known = {"remote_log_metadata": backup, "local_log_dir": backup, "encryption_keys": BOTH.keys}
    found = scan_rows(f"s3://{BUCKET}/{key_of(BOTH)}", storage_options=options(server), **known)
    assert_same(found, BOTH.expected(), BOTH.folder)


# ----------------------------------------------------------------------------------------------- requests


@CLIENT
def test_bytes_and_requests(server: S3Server, client: str) -> None:
    """Each object is fetched once; the indexes of chunked segments are not fetched for a read from the beginning."""
    arguments, prefix = CLIENTS[client]
    kc.scan(prefix + key_of(PREFIX), **grouped(**PREFIX.known, **arguments(server)))
    server.requests.clear()
    pa.table(kc.scan(prefix + key_of(PREFIX), **grouped(**PREFIX.known, **arguments(server))))
    logs = server.fetched(".log")
    size = sum(path.stat().st_size for path in PREFIX.folder.glob("*.log"))
    assert sum(each.sent for each in logs) == size
    assert len(logs) <= 3 * len(list(PREFIX.folder.glob("*.log")))


@CLIENT
def test_one_chunk(server: S3Server, client: str) -> None:
    """A few offsets need one object."""
    arguments, prefix = CLIENTS[client]
    reader = kc.scan(
        prefix + key_of(PREFIX),
        start_offset=2,
        end_offset=5,
        columns=["offset"],
        **grouped(**PREFIX.known, **arguments(server)),
    )
    server.requests.clear()
    assert pa.table(reader)["offset"].to_pylist() == [2, 3, 4]
    assert len({each.path for each in server.fetched(".log")}) == 1


# ----------------------------------------------------------------------------------------------- failures


def failing(kind: str, times: int, suffix: str = ".log") -> Callable[[str, str, str | None], str | None]:
    """The first reads of objects fail."""
    left = [times]

    def fault(method: str, path: str, _range: str | None) -> str | None:
        if method == "GET" and path.endswith(suffix) and left[0] > 0:
            left[0] -= 1
            return kind
        return None

    return fault


@CLIENT
@pytest.mark.parametrize("kind", ["503", "reset", "short"])
@pytest.mark.parametrize("suffix", [".log", ".rsm-manifest"])
def test_failures_that_pass(server: S3Server, client: str, kind: str, suffix: str) -> None:
    """The store's library tries again, or the error is raised: never fewer records."""
    arguments, prefix = CLIENTS[client]
    made = arguments(server)
    server.fault = failing(kind, 1, suffix)
    found = scan_rows(prefix + key_of(BOTH), **BOTH.known, **made)
    assert server.failed == [kind]
    assert_same(found, BOTH.expected(), BOTH.folder)


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_failures_that_stay(server: S3Server, on_error: Any) -> None:
    """An error, and not the end of the log."""
    retry = pafs.AwsDefaultS3RetryStrategy(max_attempts=2)
    filesystem = pafs.S3FileSystem(
        endpoint_override=server.endpoint.removeprefix("http://"), scheme="http", region="us-east-1",
        access_key=ACCESS_KEY, secret_key=SECRET_KEY, retry_strategy=retry,
    )  # fmt: skip
    reader = kc.scan(f"{BUCKET}/{key_of(BOTH)}", on_error=on_error, **grouped(store=filesystem, **BOTH.known))
    server.fault = failing("503", 10**9)
    with pytest.raises(OSError, match=r"\.log|503|SLOW|SERVICE_UNAVAILABLE"):
        list(reader)


def test_an_object_that_is_deleted_meanwhile(server: S3Server) -> None:
    gone = sorted(path.name for path in BOTH.folder.glob("*.log"))[1]
    reader = kc.scan(f"{BUCKET}/{key_of(BOTH)}", **grouped(store=arrow(server), **BOTH.known))
    content = (BOTH.folder / gone).read_bytes()
    server.delete(f"{key_of(BOTH)}/{gone}")
    try:
        with pytest.raises(FileNotFoundError, match=gone):
            list(reader)
    finally:
        server.put(f"{key_of(BOTH)}/{gone}", content)


# ----------------------------------------------------------------------------------------------- commands


def flags(server: S3Server, case: TieredCase = BOTH) -> list[str]:
    """The options of a command."""
    found = [f"--storage-option={name}={value}" for name, value in options(server).items()]
    found += ["--storage-option", json.dumps({"region_name": "us-east-1"}).join(["client_kwargs=", ""])]
    found += [f"--encryption-key={key_id}={path}" for key_id, path in (case.keys or {}).items()]
    return [*found, f"--remote-log-metadata={case.metadata}", f"--local-log-dir={case.leader}"]


@SOME
def test_export(server: S3Server, case: TieredCase, tmp_path: Path) -> None:
    target = tmp_path / "out.parquet"
    arguments = ["export", f"s3://{BUCKET}/{key_of(case)}", "-o", str(target), "--columns", ",".join(SCAN_COLUMNS)]
    assert run([*arguments, *flags(server, case)]) == 0
    assert_same(table_rows(pq.read_table(target)), case.expected(), case.folder)


def test_tiered(server: S3Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tiered", "--json", f"s3://{BUCKET}/{key_of(BOTH)}", *flags(server)]) == 0
    found = [json.loads(line)["id"] for line in capsys.readouterr().out.splitlines()]
    assert sorted(found) == sorted(each["id"] for each in BOTH.remote_segments())


@SOME
@pytest.mark.parametrize("command", ["dump", "verify"])
def test_dump_and_verify(server: S3Server, case: TieredCase, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The same as of the local folder, but for the names of the files."""
    keys = [f"--encryption-key={key_id}={path}" for key_id, path in (case.keys or {}).items()]
    assert run([command, "--json", str(case.folder), *keys]) == 0
    expected = capsys.readouterr().out.replace(str(case.storage), f"{BUCKET}/{case.cluster.name}")
    given = [f"--storage-option={name}={value}" for name, value in options(server).items()] + keys
    assert run([command, "--json", f"s3://{BUCKET}/{key_of(case)}", *given]) == 0
    assert capsys.readouterr().out == expected


def test_verify_what_is_read(server: S3Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "--json", f"s3://{BUCKET}/{key_of(BOTH)}", *flags(server)]) == 0
    assert json.loads(capsys.readouterr().out)["missing"] == []


def test_storage_options_that_are_wrong(server: S3Server, capsys: pytest.CaptureFixture[str]) -> None:
    """No value is repeated."""
    url = f"s3://{BUCKET}/{key_of(BOTH)}"
    for wrong in (SECRET_KEY, f"={SECRET_KEY}", f"client_kwargs={{{SECRET_KEY}"):
        assert run(["tiered", url, "--storage-option", wrong]) == 2
    assert run(["tiered", str(BOTH.folder), *flags(server)]) == 2
    captured = capsys.readouterr()
    assert "is a local path" in captured.err
    assert SECRET_KEY not in captured.out + captured.err


# ----------------------------------------------------------------------------------------------- rewriting, advice


def remote_rows(case: TieredCase) -> list[Any]:
    """The records in the storage's segments."""
    return [each for each in case.expected() if each.offset <= case.partition["latestTieredOffset"]]


@CLIENT
def test_recompress(server: S3Server, client: str, tmp_path: Path) -> None:
    """A log for a broker, with the topic's id and leader epochs."""
    arguments, prefix = CLIENTS[client]
    target = tmp_path / BOTH.name
    log.recompress(
        prefix + key_of(BOTH),
        target,
        compression_type="gzip",
        **arguments(server),
        tiered=kc.Tiered(encryption_keys=BOTH.keys),
    )
    assert_same(scan_rows(target), remote_rows(BOTH), BOTH.folder)
    about = BOTH.partition
    assert log.read_partition_metadata(target / "partition.metadata").topic_id == about["topicId"]
    epochs = log.read_leader_epoch_checkpoint(target / "leader-epoch-checkpoint")
    assert {str(each.epoch): each.start_offset for each in epochs} == about["leaderEpochs"]


@pytest.mark.parametrize("command", ["recompress", "convert --to-magic=2", "repair"])
@SOME
def test_rewriting_commands(server: S3Server, command: str, case: TieredCase, tmp_path: Path) -> None:
    """The root of a storage: a folder for each partition."""
    name, *more = command.split()
    given = [flag for flag in flags(server, case) if not flag.startswith(("--remote-log", "--local-log"))]
    if case is LOCAL:  # the root has topics that nothing but the metadata can decide between
        target = tmp_path / case.name
        assert run([name, f"s3://{BUCKET}/{key_of(case)}", str(target), *more, *given]) == 0
    else:
        target = tmp_path / "new" / case.name
        assert run([name, f"s3://{BUCKET}/{case.cluster.name}", str(target.parent), *more, *given]) == 0
    assert_same(scan_rows(target), remote_rows(case), case.folder)


def test_a_target_with_the_name_of_the_bucket(
    server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A local folder that has the bucket's name is not inside of the source."""
    monkeypatch.chdir(tmp_path)
    target = tmp_path / key_of(PREFIX) / "new"
    target.parent.mkdir(parents=True)
    log.recompress(f"s3://{BUCKET}/{key_of(PREFIX)}", target, storage_options=options(server))
    assert_same(scan_rows({("t", 0): target}), remote_rows(PREFIX), PREFIX.folder)


@CLIENT
def test_advise(server: S3Server, client: str) -> None:
    """The same figures as of the local folder."""
    arguments, prefix = CLIENTS[client]
    settings = Settings(tuple(parse_codecs("none,gzip")), batch_sizes=(), time_budget=0.1)
    found = advise(prefix + key_of(BOTH), settings, **arguments(server), tiered=kc.Tiered(encryption_keys=BOTH.keys))
    assert found.problems == []
    expected = advise(BOTH.folder, settings, tiered=kc.Tiered(encryption_keys=BOTH.keys))
    sizes = [
        [(each.figures.name, each.figures.size, each.figures.partitions, each.today.ratio) for each in report.topics]
        for report in (found, expected)
    ]
    assert sizes[0] == sizes[1]


def test_advise_shows_no_credential(server: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither in the report, which has the command line, nor in its HTML."""
    url, page = f"s3://{BUCKET}/{key_of(PREFIX)}", tmp_path / "page.html"
    given = ["--storage-option", f"secret={SECRET_KEY}", f"--storage-option=key={ACCESS_KEY}"]
    given += [f"--storage-option=endpoint_url={server.endpoint}"]
    arguments = ["advise", url, *given, "--json", "--codecs", "none,gzip", "--batch-sizes", "16k", "--html", str(page)]
    monkeypatch.setattr("sys.argv", ["kafkacomp", *arguments])
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert run(arguments) == 0
    assert "--storage-option secret=... --storage-option=key=..." in out.getvalue() + page.read_text()
    for text in (out.getvalue(), page.read_text()):
        assert SECRET_KEY not in text
        assert ACCESS_KEY not in text
