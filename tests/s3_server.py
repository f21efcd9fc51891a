"""An S3 server for tests: moto's, behind a proxy that counts requests, asks for credentials, and can fail."""

from __future__ import annotations

import http.client
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

from moto.server import ThreadedMotoServer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["ACCESS_KEY", "BUCKET", "SECRET_KEY", "Request", "S3Server"]

ACCESS_KEY, SECRET_KEY = "AKIAKAFKACOMPTEST001", "kafkacomp-test-secret-0123456789"
BUCKET = "tier"


@dataclass(frozen=True)
class Request:
    """A request that the proxy answered."""

    method: str
    path: str
    range: str | None
    sent: int


@dataclass
class S3Server:
    """The server. ``fault(method, path, range)`` returns how a request fails: 404, 503, reset, short; or nothing."""

    endpoint: str = ""
    fault: Callable[[str, str, str | None], str | None] | None = None
    latency: float = 0.0
    requests: list[Request] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self._moto.start()
        self._behind = self._moto.get_host_and_port()
        handler = type("Handler", (_Proxy,), {"server_": self})
        self._proxy = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._proxy.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._proxy.server_port}"
        threading.Thread(target=self._proxy.serve_forever, daemon=True).start()
        self.put_bucket()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._proxy.shutdown()
        self._proxy.server_close()
        self._moto.stop()

    def reset(self) -> None:
        """Answer as it should again, and forget what was asked."""
        self.fault, self.latency = None, 0.0
        self.requests.clear()
        self.failed.clear()

    def behind(self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Any:
        """Ask moto itself."""
        connection = http.client.HTTPConnection(*self._behind, timeout=60)
        connection.request(method, path, body, headers or {})
        return connection.getresponse()

    def put_bucket(self) -> None:
        """Make the bucket."""
        assert self.behind("PUT", f"/{BUCKET}", headers=_signed()).read() is not None

    def put(self, key: str, content: bytes) -> None:
        """Store an object."""
        answer = self.behind("PUT", f"/{BUCKET}/{key}", content, _signed())
        answer.read()
        assert answer.status == 200, answer.status

    def delete(self, key: str) -> None:
        """Delete an object."""
        self.behind("DELETE", f"/{BUCKET}/{key}", headers=_signed()).read()

    def upload(self, root: Path, prefix: str) -> None:
        """Store all files of a folder."""
        for path in root.rglob("*"):
            if path.is_file():
                self.put(f"{prefix}/{path.relative_to(root).as_posix()}", path.read_bytes())

    def fetched(self, suffix: str) -> list[Request]:
        """The reads of objects with this suffix."""
        return [each for each in self.requests if each.method == "GET" and each.path.endswith(suffix)]


def _signed() -> dict[str, str]:
    credential = f"Credential={ACCESS_KEY}/20260101/us-east-1/s3/aws4_request"
    return {"Authorization": f"AWS4-HMAC-SHA256 {credential}, SignedHeaders=host, Signature=0"}


class _Proxy(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_: S3Server

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def log_message(self, *_arguments: object) -> None:
        """Nothing is logged."""

    def _answer(self) -> None:
        server, wanted = self.server_, self.headers.get("Range")
        path = self.path.partition("?")[0]
        time.sleep(server.latency)
        if f"Credential={ACCESS_KEY}/" not in self.headers.get("Authorization", ""):
            self._send(403, b"<Error><Code>InvalidAccessKeyId</Code><Message>unknown key</Message></Error>")
            return
        fault = server.fault(self.command, path, wanted) if server.fault else None
        if fault is not None:
            server.failed.append(fault)
        if fault == "404":
            self._send(404, b"<Error><Code>NoSuchKey</Code><Message>The key is gone</Message></Error>")
            return
        if fault == "503":
            self._send(503, b"<Error><Code>SlowDown</Code><Message>Please reduce your rate</Message></Error>")
            return
        answer = server.behind(self.command, self.path, headers={k: v for k, v in self.headers.items() if k != "Host"})
        content = answer.read()
        self.send_response(answer.status)
        length = answer.getheader("Content-Length") or str(len(content))
        for name, value in answer.getheaders():
            if name.lower() not in {"content-length", "transfer-encoding", "connection", "server", "date"}:
                self.send_header(name, value)
        self.send_header("Content-Length", length)
        self.end_headers()
        if fault in {"short", "reset"}:
            content = content[: len(content) // 2]
        self.wfile.write(content)
        server.requests.append(Request(self.command, path, wanted, len(content)))
        if fault == "reset":
            self.wfile.flush()
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
        elif fault == "short":
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True

    def _send(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
