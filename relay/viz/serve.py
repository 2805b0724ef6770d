"""The live mode of `relay view`: the page, served on the loopback address, made anew when the model
changes.

Only who has the token gets an answer, and only under a name of this machine: other programs of the
machine and pages of the web that reach the port are refused.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

LOOPBACK = "127.0.0.1"
HOSTS = ("127.0.0.1", "localhost")

# The version of the model, and the page of a version.
Version = Callable[[], str]
Make = Callable[[str], str]


class Server(ThreadingHTTPServer):
    """Serves one page. `make` is called when `version` changes, by one thread at a time."""

    daemon_threads = True

    def __init__(self, make: Make, version: Version, port: int = 0) -> None:
        super().__init__((LOOPBACK, port), _Handler)
        self.token = secrets.token_urlsafe(24)
        self._make, self.version = make, version
        self._kept: tuple[str, str] | None = None
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """The address, with the token."""
        return f"http://{LOOPBACK}:{self.server_address[1]}/?token={self.token}"

    def page(self) -> str:
        """The page of the current version."""
        with self._lock:
            version = self.version()
            if self._kept is None or self._kept[0] != version:
                self._kept = version, self._make(version)
            return self._kept[1]


class _Handler(BaseHTTPRequestHandler):
    server: Server
    server_version, sys_version = "relay", ""

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        token = parse_qs(asked.query).get("token", [""])[0]
        host = self.headers.get("Host", "").rpartition(":")[0]
        if host not in HOSTS or not hmac.compare_digest(token.encode(), self.server.token.encode()):
            self._answer(HTTPStatus.FORBIDDEN, "the token is missing or wrong\n", "text/plain")
        elif asked.path == "/changed":
            self._answer(HTTPStatus.OK, self.server.version(), "text/plain")
        elif asked.path == "/":
            self._answer(*self._page())
        else:
            self._answer(HTTPStatus.NOT_FOUND, "there is nothing here\n", "text/plain")

    def _page(self) -> tuple[HTTPStatus, str, str]:
        from relay.errors import RelayError

        try:
            return HTTPStatus.OK, self.server.page(), "text/html"
        except RelayError as error:  # the model was changed into one that does not compile
            return HTTPStatus.INTERNAL_SERVER_ERROR, f"{error}\n", "text/plain"

    def _answer(self, status: HTTPStatus, text: str, kind: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the address has the token in it."""
