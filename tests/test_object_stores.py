"""Segments on file systems that are handed over, or opened with options."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import fsspec
import pyarrow.fs as pafs
import pytest

import kafkacomp as kc
from golden.reading import scan_rows
from golden.tiered import cases
from kafkacomp._cli.command import run
from kafkacomp._storage.filesystem import _with_retry_limit
from kafkacomp._storage.gcs import check_credentials

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LOCAL = next(case for case in cases() if case.name == "gold-copy-failed-0")
BOTH = next(case for case in cases() if case.name == "gold-a-both-txn-0")


def copy_to(filesystem: Any, root: Path, target: str) -> None:
    """All files below ``root`` to a file system of fsspec."""
    for path in root.rglob("*"):
        if path.is_file():
            filesystem.pipe_file(f"{target}/{path.relative_to(root).as_posix()}", path.read_bytes())


@pytest.mark.parametrize("case", [LOCAL, BOTH], ids=str)
def test_a_file_system_of_pyarrow(case: Any) -> None:
    filesystem = pafs.SubTreeFileSystem(str(case.storage), pafs.LocalFileSystem())
    folder = case.folder.relative_to(case.storage).as_posix()
    assert scan_rows(folder, store=filesystem, **case.known) == case.expected()
    assert scan_rows(f"any://{folder}", store=filesystem, **case.known) == case.expected()


@pytest.mark.parametrize("case", [LOCAL, BOTH], ids=str)
def test_a_file_system_of_fsspec(case: Any) -> None:
    filesystem = fsspec.filesystem("memory")
    copy_to(filesystem, case.storage, f"/{case.name}")
    try:
        folder = f"/{case.name}/{case.folder.relative_to(case.storage).as_posix()}"
        assert scan_rows(folder, store=filesystem, **case.known) == case.expected()
        assert scan_rows(f"memory:/{folder}", storage_options={}, **case.known) == case.expected()
    finally:
        filesystem.rm(f"/{case.name}", recursive=True)


def test_arguments_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="or a store of obstore, not int"):
        kc.scan(str(tmp_path), store=3)
    with pytest.raises(ValueError, match="cannot be given together"):
        kc.scan(str(tmp_path), store=pafs.LocalFileSystem(), storage_options={})
    with pytest.raises(ValueError, match="is a local path"):
        kc.scan(str(tmp_path), storage_options={"key": "x"})


@pytest.fixture
def _nothing_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No credentials, and what would give them, such as the metadata service, is a closed port of this machine."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "GOOGLE_APPLICATION_CREDENTIALS"):
        monkeypatch.delenv(name, raising=False)
    for name in ("GCE_METADATA_ROOT", "GCE_METADATA_HOST", "GCE_METADATA_IP"):
        monkeypatch.setenv(name, "127.0.0.1:1")
    for name in ("AWS_EC2_METADATA_SERVICE_ENDPOINT", "AZURE_POD_IDENTITY_AUTHORITY_HOST", "IDENTITY_ENDPOINT"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.usefixtures("_nothing_answers")
@pytest.mark.parametrize(
    "url",
    [
        "gs://tier/prefix?scheme=http&endpoint_override=127.0.0.1:1",
        "gs://anonymous@tier/prefix?scheme=http&endpoint_override=127.0.0.1:1",
        "s3://tier/prefix?scheme=http&endpoint_override=127.0.0.1:1&region=us-east-1",
        "abfs://account:a2V5@127.0.0.1:1/tier/prefix",
        "az://tier/prefix",
    ],
)
def test_a_store_that_does_not_answer(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An error that names the object, in seconds: by default GCS is asked again for a quarter of an hour."""
    start = time.monotonic()
    assert run(["export", url, "-o", str(tmp_path / "out.csv")]) != 0
    assert time.monotonic() - start < 60
    (line,) = capsys.readouterr().err.splitlines()
    assert "tier/prefix" in line
    assert "error_info" not in line


@pytest.mark.parametrize("url", ["gs://b/p?retry_limit_seconds=600", "s3://b/p", "abfs://b/p"])
def test_urls_of_other_stores_and_with_a_limit_are_not_changed(url: str) -> None:
    assert _with_retry_limit(url) == url


@pytest.mark.usefixtures("_nothing_answers")
@pytest.mark.parametrize("is_open", [False, True])
def test_a_metadata_service_that_never_answers(is_open: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Pyarrow would ask it for more than a quarter of an hour."""
    monkeypatch.setattr("kafkacomp._storage.gcs._TIMEOUT", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1] if is_open else 1
        monkeypatch.setenv("GCE_METADATA_ROOT", f"127.0.0.1:{port}")
        with pytest.raises(OSError, match=r"^gs://tier/prefix: no credentials for GCS: .* run .gcloud auth"):
            kc.scan("gs://tier/prefix")
    # Where a file may have credentials, or none are needed, nobody is asked.
    check_credentials("gs://anonymous@tier/prefix")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "key.json"))
    check_credentials("gs://tier/prefix")
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS")
    defaults = tmp_path / ".config" / "gcloud" / "application_default_credentials.json"
    defaults.parent.mkdir(parents=True)
    defaults.touch()
    check_credentials("gs://tier/prefix")


def test_a_metadata_service_that_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    with answering(lambda _method, _path: 200) as port:
        monkeypatch.setenv("GCE_METADATA_ROOT", f"127.0.0.1:{port}")
        check_credentials("gs://tier/prefix")


@contextmanager
def answering(status: Callable[[str, str], int]) -> Iterator[int]:
    """The port of a server that answers with a status."""

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(status(self.command, self.path))
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_HEAD  # noqa: N815 - by its interface

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()


def test_a_path_in_s3_is_looked_up_three_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that takes requests and never answers takes 3 seconds each time: 10 times would be minutes."""
    requests = []

    def busy(method: str, path: str) -> int:
        requests.append((method, path))
        return 503

    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with answering(busy) as port, pytest.raises(OSError, match=r"tier/prefix: looking it up: "):
        kc.scan(f"s3://k:s@tier/prefix?scheme=http&endpoint_override=127.0.0.1:{port}&region=r")
    assert requests == [("HEAD", "/tier/prefix")] * 3
