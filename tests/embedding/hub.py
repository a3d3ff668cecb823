"""A small hub on loopback: the three calls that a download makes, with ranges, and faults on demand."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class FakeHub:
    """Files by name; `cut` ends the next answer for a file after so many bytes; `ranges` lists what was asked for."""

    repo: str
    files: dict[str, bytes]
    cut: dict[str, int] = field(default_factory=dict)
    lie: dict[str, bytes] = field(default_factory=dict)
    ranges: list[tuple[str, str | None]] = field(default_factory=list)
    address: str = ""

    def info(self) -> dict[str, object]:
        siblings = [
            {
                "rfilename": name,
                "size": len(content),
                "lfs": {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130},
            }
            for name, content in self.files.items()
        ]
        return {
            "_id": "1",
            "id": self.repo,
            "modelId": self.repo,
            "sha": COMMIT,
            "siblings": siblings,
            "private": False,
        }


@contextmanager
def serve(hub: FakeHub) -> Iterator[FakeHub]:  # noqa: C901
    """Run the hub while the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self.answer(body=False)

        def do_GET(self) -> None:
            self.answer(body=True)

        def answer(self, body: bool) -> None:
            path = self.path.split("?")[0]
            if path.startswith(f"/api/models/{hub.repo}"):
                self.send(200, json.dumps(hub.info()).encode(), {"Content-Type": "application/json"}, body)
                return
            prefix = f"/{hub.repo}/resolve/{COMMIT}/"
            name = path.removeprefix(prefix)
            if not path.startswith(prefix) or name not in hub.files:
                self.send(404, b"", {"X-Error-Code": "EntryNotFound"}, body)
                return
            self.send_file(name, body)

        def send_file(self, name: str, body: bool) -> None:
            content = hub.lie.get(name, hub.files[name]) if body else hub.files[name]
            etag = f'"{hashlib.sha256(hub.files[name]).hexdigest()}"'
            headers = {"ETag": etag, "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"}
            wanted = self.headers.get("Range")
            start = int(wanted.removeprefix("bytes=").split("-")[0]) if wanted else 0
            if wanted:
                headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
            if body:
                hub.ranges.append((name, wanted))
            cut = hub.cut.pop(name, None) if body else None
            self.send(206 if wanted else 200, content[start:], headers, body, cut)

        def send(
            self, status: int, content: bytes, headers: dict[str, str], body: bool, cut: int | None = None
        ) -> None:
            self.send_response(status)
            for key, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(key, value)
            self.end_headers()
            if body:
                self.wfile.write(content if cut is None else content[:cut])
            if cut is not None:
                self.wfile.flush()
                self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
