"""Who sees a served page: whoever has its address, which holds a token, from a page of this server alone.

    request -> Host is this machine -> Origin, if any, is the same -> the token -> the page

Behind a proxy that the user names, its Host and its Origin are answered as well, with the token as before.

viser itself answers every caller, also the scripts of other pages that are open in the same browser.

Decisions 0094, 0106.
"""

import gzip
import http
import logging
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from hmac import compare_digest
from importlib import import_module
from ipaddress import ip_address
from pathlib import Path
from secrets import token_urlsafe
from threading import Lock
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from ..errors import UserError
from .behind import Behind
from .html_head import POLICY, with_head

QUIET = logging.Logger("minusgrad.view.connections", logging.CRITICAL + 1)
"""Of connections that are no requests, such as those of a port scan: nothing is said."""
HEADERS = {"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
_EVERYBODY = ("0.0.0.0", "::", "")
_PATCH = Lock()


class Guard:
    """Judges the requests to a server that listens at `host`; `token` is the first part of each path.

    behind: a proxy whose requests are answered as well.
    """

    def __init__(self, host: str, behind: Behind | None = None):
        self.host, self.behind, self.token = host, behind, token_urlsafe(16)
        self.serves = False

    @property
    def is_open(self) -> bool:
        """True if other machines reach the server."""
        return not _is_loopback(self.host)

    def address(self, port: int) -> str:
        """What to open in a browser."""
        if self.behind is not None:
            return f"{self.behind.origin}{self.behind.path}/{self.token}/"
        host = _outward_address() if self.host in _EVERYBODY else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{port}/{self.token}/"

    def refusal(self, path: str, host: str, origin: str | None) -> str:
        """Why a request is refused, with the cure; empty if it is answered."""
        proxied = self.behind is not None and self.behind.is_host(host)
        if not proxied and not self._is_named(host):
            return "this Host is not served; open the address that was printed, or see --behind"
        if origin is not None and not self._is_own(origin, host, proxied):
            return "pages of another origin are refused; see --behind"
        if not compare_digest([*path.split("?")[0].split("/"), ""][1].encode(), self.token.encode()):
            return "open the whole address that was printed: it ends with a token"
        return ""

    def _is_own(self, origin: str, host: str, proxied: bool) -> bool:
        """True for the origin of the proxy, and for that of the Host if the Host is not the proxy's."""
        if self.behind is not None and origin == self.behind.origin:
            return True
        return not proxied and urlsplit(origin).netloc == host

    def _is_named(self, host: str) -> bool:
        """True for a Host that is a number or a name of this machine: no name that others can point here."""
        name = re.sub(r":\d+$", "", host.lower()).strip("[]")
        if name == "localhost" or _is_loopback(name):
            return True
        if not self.is_open:
            return False
        return _is_number(name) or name in {self.host.lower(), *_machine_names()}

    def serve(self, handler: Any, host: str, port: int, **settings: Any) -> Any:
        """As `websockets.asyncio.server.serve`, behind this guard."""
        from websockets.asyncio.server import serve

        settings |= {"process_request": self._judge_requests(settings["process_request"]), "logger": QUIET}
        self.serves = True
        return serve(handler, host, port, **settings)

    def _judge_requests(self, answer: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """Answers to the requests that are not refused; `answer` is viser's."""

        def judge(connection: Any, request: Any) -> Any:
            path, headers = request.path, request.headers
            hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
            if len(hosts) != 1 or len(origins) > 1:
                return self._text_response(
                    http.HTTPStatus.BAD_REQUEST, "one Host and at most one Origin are needed"
                )
            if why := self.refusal(path, hosts[0], origins[0] if origins else None):
                return self._text_response(http.HTTPStatus.FORBIDDEN, why)
            if headers.get("Upgrade", "").lower() == "websocket":
                return None
            rest = path.split("?")[0][len(self.token) + 1 :]
            if rest in ("/", "/index.html"):
                return self._page_response("gzip" in headers.get("Accept-Encoding", ""))
            if not rest:
                return self._make_response(http.HTTPStatus.FOUND, b"", Location=f"{self.token}/")
            request.path = rest
            return answer(connection, request)

        return judge

    def _page_response(self, zipped: bool) -> Any:
        body = self._html_zipped if zipped else self._page_html
        more = {"Content-Encoding": "gzip"} if zipped else {}
        return self._make_response(
            http.HTTPStatus.OK, body, **{"Content-Type": "text/html; charset=utf-8"}, **more
        )

    @cached_property
    def _page_html(self) -> bytes:
        import viser

        client = Path(viser.__file__).parent / "client" / "build" / "index.html"
        return with_head(client.read_text(encoding="utf-8")).encode()

    @cached_property
    def _html_zipped(self) -> bytes:
        return gzip.compress(self._page_html)

    def _text_response(self, status: http.HTTPStatus, text: str) -> Any:
        return self._make_response(
            status, f"minusgrad view: {text}\n".encode(), **{"Content-Type": "text/plain; charset=utf-8"}
        )

    def _make_response(self, status: http.HTTPStatus, body: bytes, **more: str) -> Any:
        from websockets.datastructures import Headers
        from websockets.http11 import Response

        policy = POLICY.replace("connect-src ", "connect-src 'self' ") + "; frame-ancestors 'none'"
        headers = HEADERS | {"Content-Length": str(len(body)), "Content-Security-Policy": policy} | more
        return Response(status, status.phrase, Headers(headers), body)


class NoPort:
    """In place of a guard: a server that listens nowhere, whose messages are recorded."""

    serves = False

    def serve(self, handler: Any, host: str, port: int, **settings: Any) -> Any:
        self.serves = True
        return _Nowhere()


class _Nowhere:
    server = SimpleNamespace(sockets=())

    async def __aenter__(self) -> "_Nowhere":
        return self

    async def __aexit__(self, *error: object) -> None:
        return None


@contextmanager
def serving(by: Guard | NoPort) -> Iterator[None]:
    """Let servers of viser that are made inside be served by a guard.

    Raises `UserError` if one was made without it: this version of viser is another.
    """
    viser = import_module("viser.infra._infra")
    with _PATCH:
        theirs = viser.websockets
        viser.websockets = _Instead(theirs, by.serve)  # type: ignore[attr-defined]
        try:
            yield
        finally:
            viser.websockets = theirs  # type: ignore[attr-defined]
    if not by.serves:
        raise UserError(
            f"view: viser {import_module('viser').__version__} cannot be guarded; install viser 1.1"
        )


class _Instead:
    """A module with another `asyncio.server.serve`."""

    def __init__(self, module: Any, serve: Any):
        self._module = module
        self.asyncio = SimpleNamespace(server=SimpleNamespace(serve=serve))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def _is_number(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    return host == "localhost" or (_is_number(host) and ip_address(host).is_loopback)


@cache
def _machine_names() -> frozenset[str]:
    """The names of this machine. A name server may take seconds."""
    name = socket.gethostname().lower()
    return frozenset((name, name.split(".")[0], socket.getfqdn().lower()))


def _outward_address() -> str:
    """The number of this machine towards others; its name where it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent
            return probe.getsockname()[0]
        except OSError:
            return socket.gethostname()
