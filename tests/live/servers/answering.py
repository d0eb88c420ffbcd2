"""A small HTTP server on loopback in a thread, which one function answers for."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit


@dataclass(frozen=True)
class Request:
    """What was asked: `path` decoded, `raw_path` as it came (with its query), `headers` with lower-case names."""

    method: str
    path: str
    raw_path: str
    query: tuple[tuple[str, str], ...]
    headers: Mapping[str, str]
    body: bytes

    def param(self, name: str) -> str | None:
        """Return the first value of a parameter."""
        return next((value for key, value in self.query if key == name), None)


@dataclass(frozen=True)
class Response:
    """What is answered: a JSON value, or a text where `content` is one."""

    content: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def answering(answer: Callable[[Request], Response]) -> Iterator[str]:
    """Serve `answer` on a free loopback port while the block runs; gives the address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            parts = urlsplit(self.path)
            length = int(self.headers.get("content-length") or 0)
            response = answer(
                Request(
                    method=self.command,
                    path=unquote(parts.path),
                    raw_path=self.path,
                    query=tuple(parse_qsl(parts.query, keep_blank_values=True)),
                    headers={key.lower(): value for key, value in self.headers.items()},
                    body=self.rfile.read(length),
                )
            )
            text = isinstance(response.content, str)
            body = (response.content if text else json.dumps(response.content, ensure_ascii=False)).encode()
            self.send_response(response.status)
            self.send_header("Content-Type", "text/plain" if text else "application/json")
            self.send_header("Content-Length", str(len(body)))
            for name, value in response.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = _answer

        def log_message(self, *_: object) -> None:
            """Tests read answers, not access logs."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
