"""Errors of an object store name the object and what was being read, whichever library reads it."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.fs as pafs
import pytest
from obstore.store import S3Store

import kafkacomp as kc
from golden.tiered import TieredCase, cases
from grouped import grouped
from kafkacomp._cli.command import run
from s3_server import ACCESS_KEY, BUCKET, SECRET_KEY, S3Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LOCAL: TieredCase = next(case for case in cases() if case.name == "gold-copy-failed-0")
BOTH: TieredCase = next(case for case in cases() if case.name == "gold-a-both-txn-0")


@pytest.fixture(scope="module")
def shared() -> Iterator[S3Server]:
    """The server with two partitions."""
    with S3Server() as server:
        for case in (LOCAL, BOTH):
            server.upload(case.folder, key_of(case))
        yield server


@pytest.fixture
def server(shared: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The same, without faults."""
    shared.reset()
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    return shared


def key_of(case: TieredCase) -> str:
    return f"{case.cluster.name}/{case.folder.relative_to(case.storage).as_posix()}"


def s3fs_options(server: S3Server) -> dict[str, Any]:
    """Without a second attempt of botocore; s3fs has its own."""
    return {
        "endpoint_url": server.endpoint, "key": ACCESS_KEY, "secret": SECRET_KEY,
        "config_kwargs": {"retries": {"max_attempts": 1}},
    }  # fmt: skip


def arrow(server: S3Server) -> dict[str, Any]:
    retry = pafs.AwsDefaultS3RetryStrategy(max_attempts=1)
    filesystem = pafs.S3FileSystem(
        endpoint_override=server.endpoint.removeprefix("http://"), scheme="http", region="us-east-1",
        access_key=ACCESS_KEY, secret_key=SECRET_KEY, retry_strategy=retry,
    )  # fmt: skip
    return {"store": filesystem}


def obstore(server: S3Server) -> dict[str, Any]:
    store = S3Store(
        BUCKET, endpoint=server.endpoint, access_key_id=ACCESS_KEY, secret_access_key=SECRET_KEY, region="us-east-1",
        client_options={"allow_http": True},
        retry_config={"max_retries": 1, "retry_timeout": dt.timedelta(seconds=1)},
    )  # fmt: skip
    return {"store": store}


CLIENTS: dict[str, tuple[Callable[[S3Server], dict[str, Any]], str]] = {
    "pyarrow": (arrow, f"{BUCKET}/"),
    "s3fs": (lambda server: {"storage_options": s3fs_options(server)}, f"s3://{BUCKET}/"),
    "obstore": (obstore, ""),
}
CLIENT = pytest.mark.parametrize("client", CLIENTS)


@CLIENT
@pytest.mark.parametrize(
    ("case", "suffix"),
    [
        pytest.param(case, suffix, id=f"{what}-{case}")
        for case in (LOCAL, BOTH)
        for what, suffix in {"reading": ".log", "planning": ".rsm-manifest", "listing": ""}.items()
        if suffix != ".rsm-manifest" or case is not LOCAL  # which has no manifests
    ],
)
@pytest.mark.parametrize(
    ("kind", "on_error"),
    [
        ("503", "raise"),
        ("503", "skip"),
        ("reset", "skip"),
        ("short", "skip"),
        # Each retry of a client waits.
        pytest.param("reset", "raise", marks=pytest.mark.slow),
        pytest.param("short", "raise", marks=pytest.mark.slow),
    ],
)
def test_the_object_is_named(
    server: S3Server, client: str, case: TieredCase, kind: str, suffix: str, on_error: Any
) -> None:
    """An OSError with the path of the object, of its folder where it is listed; and never fewer records."""
    arguments, prefix = CLIENTS[client]
    made = arguments(server)
    path = f"{prefix.removeprefix('s3://')}{key_of(case)}"

    def fault(_method: str, requested: str, _range: str | None) -> str | None:
        return kind if requested.endswith(suffix) else None

    with pytest.raises(OSError) as raised:
        if suffix == ".log":
            reader = kc.scan(prefix + key_of(case), on_error=on_error, **grouped(**case.known, **made))
            server.fault = fault
            list(reader)
        else:
            server.fault = fault
            kc.scan(prefix + key_of(case), on_error=on_error, **grouped(**case.known, **made))
    shown = str(raised.value)
    assert path in shown
    assert suffix in shown
    doing = r"reading \d+ bytes at byte \d+|reading it|opening it|asking for its size|looking it up|listing it"
    assert re.search(doing, shown), shown
    assert "\n" not in shown
    assert SECRET_KEY not in shown


@CLIENT
@pytest.mark.parametrize("case", [LOCAL, BOTH], ids=str)
def test_an_object_that_is_deleted_while_it_is_read(server: S3Server, client: str, case: TieredCase) -> None:
    """Found when the scan began, and gone when it is opened, or between its size and its bytes."""
    arguments, prefix = CLIENTS[client]
    for method in ("GET",) if client == "s3fs" else ("HEAD", "GET"):  # s3fs knows the size from the listing
        reader = kc.scan(prefix + key_of(case), **grouped(**case.known, **arguments(server)))
        server.fault = lambda found, path, _, method=method: (
            "404" if found == method and path.endswith(".log") else None
        )
        # pyarrow reports it as it reports other failures, RESOURCE_NOT_FOUND, once the file is opened, and asked again
        # the server still has it.
        expected = OSError if (client, method) == ("pyarrow", "GET") else FileNotFoundError
        with pytest.raises(expected, match=r"\.log"):
            list(reader)
        server.fault = None


@CLIENT
@pytest.mark.parametrize("case", [LOCAL, BOTH], ids=str)
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_an_object_that_is_deleted_after_it_was_opened(
    server: S3Server, client: str, case: TieredCase, on_error: Any
) -> None:
    """From its first bytes on it is gone, whatever is asked: an error, or offsets that vanished."""
    arguments, prefix = CLIENTS[client]
    gone = [each["id"] for each in case.remote_segments() if each["foundAt"]][1] + ".log"
    given = grouped(include_control=True, **case.known, **arguments(server))
    reader = kc.scan(prefix + key_of(case), columns=["offset"], on_error=on_error, **given)
    is_deleted = False

    def fault(method: str, path: str, _: str | None) -> str | None:
        nonlocal is_deleted
        is_deleted |= method == "GET" and path.endswith(gone)
        return "404" if is_deleted and path.endswith(gone) else None

    server.fault = fault
    if on_error == "raise":
        with pytest.raises(FileNotFoundError, match=gone):
            list(reader)
        return
    offsets = pa.table(reader)["offset"].to_pylist()
    (missing,) = reader.report.missing
    assert missing.reason == "vanished"
    lost = range(missing.first_offset, missing.last_offset + 1)
    assert sorted([*offsets, *lost]) == [*range(case.partition["logEndOffset"])]


def test_a_command_names_it(server: S3Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 3, a line with the object, and no file."""
    server.fault = lambda _method, path, _range: "503" if path.endswith(".log") else None
    options = [
        f"--storage-option={name}={value}" for name, value in s3fs_options(server).items() if name != "config_kwargs"
    ]
    options += ['--storage-option=config_kwargs={"retries": {"max_attempts": 1}}']
    options += [f"--encryption-key={key_id}={path}" for key_id, path in (BOTH.keys or {}).items()]
    target = tmp_path / "out.parquet"
    assert run(["export", f"s3://{BUCKET}/{key_of(BOTH)}", "-o", str(target), *options]) == 3
    assert f"{BUCKET}/{key_of(BOTH)}/" in capsys.readouterr().err
    assert not target.exists()
