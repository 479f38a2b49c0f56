"""Who sees a served page: other origins, other hosts, callers without the token, port scans, notebooks."""

import http.client
import re
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from html import unescape
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import numpy as np
import pytest
from PIL import Image

import minusgrad.view
from minusgrad.app.results import notebook_progress
from minusgrad.app.results.run import Run
from minusgrad.errors import UserError
from minusgrad.view import guard
from minusgrad.view.behind import parse_proxy
from minusgrad.view.guard import Guard
from tests.support.command import complaints
from tests.support.recorded_runs import T, recorded_run
from tests.view import browser

pytestmark = pytest.mark.unit
TIMES = T[:4]


def moving(folder: Path, **more: Any) -> Path:
    x = np.random.default_rng(3).normal(size=(3, 3)) + TIMES[:, None, None]
    return recorded_run(folder, {"position": x}, times=TIMES, **more)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with minusgrad.view.show(moving(tmp_path_factory.mktemp("view") / "run")) as made:
        yield made


def answer(page: Any, path: str | None = None, **headers: str) -> tuple[int, str]:
    """The status and the text of a request, whose Host is that of the page if none is given."""
    parts = urlsplit(page.address)
    caller = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    caller.putrequest("GET", parts.path if path is None else path, skip_host="Host" in headers)
    for name, value in headers.items():
        caller.putheader(name, value)
    caller.endheaders()
    got = caller.getresponse()
    return got.status, got.read().decode(errors="replace")


SOCKET = {
    "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}  # fmt: skip


@pytest.mark.parametrize("more", [{}, SOCKET], ids=["http", "websocket"])
def test_only_a_page_of_this_server_with_the_token_is_answered(page: Any, more: dict[str, str]) -> None:
    parts = urlsplit(page.address)
    right = 101 if more else 200
    assert answer(page, **more)[0] == right
    assert answer(page, **more, Host=f"localhost:{parts.port}")[0] == right
    assert answer(page, **more, Host="127.0.0.1:9999")[0] == right  # a tunnel of ssh
    assert answer(page, **more, Origin=f"http://{parts.netloc}")[0] == right
    for origin in ("https://evil.example", "null", f"http://127.0.0.1:{(parts.port or 0) + 1}", ""):
        assert answer(page, **more, Origin=origin)[0] == 403, origin
    for host in ("evil.example", f"evil.example:{parts.port}", "127.0.0.1.evil.example", "192.0.2.7", ""):
        status, text = answer(page, **more, Host=host)
        assert status == 403, host
        assert page.address not in text
    token = parts.path.strip("/")
    for path in ("/", "/x/", f"/{token[:-1]}/", f"/{token}x/", f"/?{token}", f"//{token}/", f"/x/{token}/"):
        status, text = answer(page, path, **more)
        assert status == 403, path
        assert text == "minusgrad view: open the whole address that was printed: it ends with a token\n"
        assert token not in text


def test_the_page_asks_for_nothing_elsewhere_and_stands_in_no_frame(page: Any) -> None:
    parts = urlsplit(page.address)
    caller = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    caller.request("GET", parts.path)
    head = caller.getresponse().headers
    assert "default-src 'none'" in head["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in head["Content-Security-Policy"]
    assert head["Referrer-Policy"] == "no-referrer"
    assert answer(page, parts.path + "../../../../../../../etc/passwd")[0] == 404
    assert answer(page, parts.path + "%2e%2e/%2e%2e/%2e%2e/_viser.py")[0] == 404


def test_each_page_has_a_token_of_its_own() -> None:
    tokens = {Guard("127.0.0.1").token for _ in range(50)}
    assert len(tokens) == 50
    assert min(map(len, tokens)) >= 22


def test_names_of_this_machine_are_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server may take seconds, and nothing else is answered meanwhile."""
    asked: list[str] = []
    monkeypatch.setattr(guard, "_machine_names", cache(guard._machine_names.__wrapped__))
    monkeypatch.setattr(guard.socket, "getfqdn", lambda: asked.append("") or "Node3.example.org")
    judge = Guard("0.0.0.0")
    path = f"/{judge.token}/"
    assert [judge.refusal(path, host, None) for host in ("node3.example.org:80", "node3.example.org")] == [
        "",
        "",
    ]
    assert "Host is not served" in judge.refusal(path, "evil.example", None)
    assert len(asked) == 1


@pytest.mark.parametrize("host", ["localhost:9000", "127.0.0.1:9000", "[::1]:9000", "LOCALHOST"])
def test_a_tunnel_with_another_port_is_answered(host: str) -> None:
    judge = Guard("127.0.0.1")
    assert judge.refusal(f"/{judge.token}/", host, f"http://{host}") == ""
    assert judge.refusal(f"/{judge.token}/", host, "http://localhost:1") != ""


# Behind a proxy ----------------------------------------------------------------------------------------

HUB = "https://hub.example.org/user/me/proxy/{port}/"


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with minusgrad.view.show(moving(tmp_path_factory.mktemp("view") / "run"), behind=HUB) as made:
        yield made


@pytest.mark.parametrize("more", [{}, SOCKET], ids=["http", "websocket"])
def test_the_named_proxy_is_answered_with_the_token_and_no_other(
    proxied: Any, page: Any, more: dict[str, str]
) -> None:
    port = proxied._server.get_port()
    token = proxied.address.split("/")[-2]
    assert proxied.address == f"https://hub.example.org/user/me/proxy/{port}/{token}/"
    here = type("Here", (), {"address": f"http://127.0.0.1:{port}/{token}/"})
    right, hub, local = 101 if more else 200, "hub.example.org", f"localhost:{port}"
    ours: list[dict[str, str]] = [
        {"Host": hub}, {"Host": f"{hub}:443"}, {"Host": hub, "Origin": f"https://{hub}"},  # of notebooks
        {"Host": local, "Origin": f"https://{hub}"},  # forwarded ports
        {"Host": local}, {"Host": local, "Origin": f"http://{local}"},  # without the proxy
    ]  # fmt: skip
    others: list[dict[str, str]] = [
        {"Host": hub, "Origin": f"http://{hub}"}, {"Host": hub, "Origin": f"https://{hub}:444"},
        {"Host": hub, "Origin": f"https://evil.{hub}"}, {"Host": hub, "Origin": "null"},
        {"Host": hub, "Origin": f"http://{local}"}, {"Host": f"evil.{hub}"}, {"Host": f"{hub}.evil.example"},
        {"Host": f"{hub}:444"}, {"Host": local, "Origin": f"https://{hub}.evil.example"},
        {"Host": "evil.example", "Origin": f"https://{hub}"}, {"Host": "", "Origin": f"https://{hub}"},
    ]  # fmt: skip
    for headers in ours:
        assert answer(here, **more, **headers)[0] == right, headers
        for path in ("/", f"/{token[:-1]}/", f"/user/me/proxy/{port}/{token}/"):
            assert answer(here, path, **more, **headers)[0] == 403, headers
    for headers in others:
        assert answer(here, **more, **headers)[0] == 403, headers
    for headers in ours[:3]:  # a page that names no proxy
        assert answer(page, **more, **headers)[0] == 403, headers
    assert answer(page, **more, Origin=f"https://{hub}")[0] == 403


def test_an_address_without_its_slash_leads_to_the_page_wherever_it_is(proxied: Any) -> None:
    port, token = proxied._server.get_port(), proxied.address.split("/")[-2]
    caller = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    caller.request("GET", f"/{token}", headers={"Host": "hub.example.org"})
    got = caller.getresponse()
    assert got.status == 302
    assert urljoin(f"https://hub.example.org/user/me/proxy/{port}/{token}", got.headers["Location"]) == (
        proxied.address
    )


@pytest.mark.parametrize(
    "address",
    ["hub.example.org", "ftp://hub.example.org/", "https://", "https://a:b@hub.example.org/", "https://h/?x=1",
     "https://h:99999/", "https://h:x/", "https://h/#x", "https://*.example.org/", "https://h\r\nx/",
     "javascript:alert(1)", "https://[::1/", "https://h/{x}/", "https://\u00fc.example/"],
)  # fmt: skip
def test_what_is_no_address_of_a_proxy_is_refused(address: str) -> None:
    said = (
        r"^view: --behind must be the address at which a proxy shows the port, such as https://HUB/user/NAME"
    )
    with pytest.raises(UserError, match=said) as refused:
        parse_proxy(address, 8080)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    ("address", "origin", "host"),
    [
        ("HTTPS://Hub.Example.org:443/x", "https://hub.example.org", "HUB.example.org"),
        ("https://hub.example.org:8443/{port}", "https://hub.example.org:8443", "hub.example.org:8443"),
        ("http://n-{port}.example.dev", "http://n-8081.example.dev", "n-8081.example.dev:80"),
        ("http://[::1]:9000/", "http://[::1]:9000", "[::1]:9000"),
    ],
)
def test_a_proxy_is_known_as_browsers_write_it(address: str, origin: str, host: str) -> None:
    behind = parse_proxy(address, 8081)
    assert behind.origin == origin
    assert behind.is_host(host)


def test_a_page_for_other_machines_warns_and_needs_the_token_too(tmp_path: Path) -> None:
    run = moving(tmp_path / "run")
    with minusgrad.view.show(run, host="0.0.0.0") as page:
        (remark,) = page.remarks
        assert "--host 0.0.0.0 shows the run to whoever reaches this machine" in remark
        parts = urlsplit(page.address)
        assert parts.hostname not in ("0.0.0.0", "127.0.0.1", None)
        here = type("Here", (), {"address": f"http://127.0.0.1:{parts.port}{parts.path}"})
        assert answer(here)[0] == 200
        assert answer(here, "/")[0] == 403
        assert answer(here, Host=f"{socket.gethostname()}:{parts.port}")[0] == 200
        assert (
            answer(here, Host=f"192.0.2.7:{parts.port}")[0] == 200
        )  # a number: no name that others point here
        assert answer(here, Host="evil.example")[0] == 403
        assert answer(here, Origin="https://evil.example")[0] == 403


def test_a_scan_of_ports_prints_nothing(tmp_path: Path) -> None:
    run = moving(tmp_path / "run")
    command = [sys.executable, "-m", "minusgrad", "view", str(run)]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        said = process.stdout.readline()  # type: ignore[union-attr]
        port = int(re.findall(r":(\d+)/", said)[0])
        half_open = []
        garbage = [
            b"", b"\x00" * 300, b"\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"HEAD / HTTP/1.0\r\n\r\n",
            b"SSH-2.0-x\r\n", b"A" * 70_000, b"\x80\x2e\x01\x03\x01",
            b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n\r\n",
            b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
            b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 400 + b"\r\n",
        ]  # fmt: skip
        for data in garbage:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as caller:
                caller.sendall(data)
        for _ in range(5):
            half_open.append(socket.create_connection(("127.0.0.1", port), timeout=5))
            half_open[-1].sendall(b"GET / HT")
        context = ssl._create_unverified_context()
        with socket.create_connection(("127.0.0.1", port), timeout=5) as plain, pytest.raises(OSError):  # noqa: PT011
            context.wrap_socket(plain)
        time.sleep(0.5)
        for one in half_open:
            one.close()
        time.sleep(0.5)
        process.terminate()
        out, err = process.communicate(timeout=20)
    assert complaints(err) == ""
    assert out.strip() == ""


def test_another_viser_is_not_served_without_a_guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_Instead", lambda module, serve: module)
    with pytest.raises(UserError, match=r"viser .* cannot be guarded; install viser 1\.1"):
        minusgrad.view.show(moving(tmp_path / "run"))


def test_other_servers_of_viser_are_left_alone(page: Any) -> None:
    import viser.infra._infra as theirs
    import websockets

    assert theirs.websockets is websockets  # type: ignore[attr-defined]


def test_a_page_listens_at_this_machine_alone(page: Any, proxied: Any) -> None:
    psutil = pytest.importorskip("psutil")
    open_ports = {
        c.laddr.port: c.laddr.ip for c in psutil.Process().net_connections("inet") if c.status == "LISTEN"
    }
    for one in (page, proxied):
        assert open_ports[one._server.get_port()] == "127.0.0.1"


def test_a_saved_page_opens_no_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = moving(tmp_path / "run")
    monkeypatch.setattr(socket.socket, "bind", refused_port)
    monkeypatch.setattr(socket.socket, "listen", refused_port)
    assert minusgrad.view.save(run, tmp_path / "page.html").path.is_file()


# Notebooks ---------------------------------------------------------------------------------------------


def refused_port(self: socket.socket, *given: object) -> None:
    raise AssertionError("a port was opened")


def notebook(run: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What `run.view()` gives in a notebook, where no port may be opened."""

    monkeypatch.setattr(notebook_progress, "in_notebook", lambda: True)
    monkeypatch.setattr(socket.socket, "bind", refused_port)
    monkeypatch.setattr(socket.socket, "listen", refused_port)
    return Run(run).view()


def test_a_notebook_has_the_page_without_a_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = notebook(moving(tmp_path / "run", meta={"title": 'A "<b>&'}), monkeypatch)._repr_html_()
    assert shown.startswith('<iframe sandbox="allow-scripts" srcdoc="')
    assert " src=" not in shown.split("srcdoc=")[0]
    (inner,) = re.findall(r'srcdoc="([^"]*)"', shown)
    assert "<h1>A &quot;&lt;b&gt;&amp;</h1>" in unescape(inner)
    assert "localhost" not in shown.split("srcdoc=")[0]


POSIX = """Object.defineProperty(Navigator.prototype, "language", {get: () => "en-US@posix"});"""
"""What Chromium says of itself under a POSIX locale on some machines; no text can be formatted with it."""


@pytest.mark.exam
@pytest.mark.skipif(browser.CHROMIUM is None, reason="Chromium is not installed")
def test_a_served_page_draws_and_does_so_under_a_posix_locale(page: Any, tmp_path: Path) -> None:
    with browser.opened("about:blank", tmp_path / "profile") as tab:
        tab.call("Page.addScriptToEvaluateOnNewDocument", source=POSIX)
        tab.call("Page.navigate", url=page.address)
        tab.wait("document.body.innerText.includes('frames a second')", 60)
        tab.wait("document.querySelector('canvas')")
        assert drawn(tab) > 0.001
    assert tab.complaints == []
    here = f"{urlsplit(page.address).netloc}/"
    assert [a for a in tab.asked if not a.startswith(("data:", "blob:", "about:")) and here not in a] == []


@pytest.mark.exam
@pytest.mark.skipif(browser.CHROMIUM is None, reason="Chromium is not installed")
def test_a_frame_of_a_notebook_draws_and_cannot_reach_the_notebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = moving(tmp_path / "run")
    with monkeypatch.context() as patched:
        shown = notebook(run, patched)._repr_html_()
    sheet = tmp_path / "notebook.html"
    sheet.write_text(f'<!doctype html><meta charset="utf-8"><body>{shown}</body>')
    with browser.opened(sheet.as_uri(), tmp_path / "profile") as tab:
        tab.wait("document.querySelector('iframe')")
        assert drawn(tab) > 0.001
        assert tab.run("document.querySelector('iframe').contentDocument") is None
    assert [c for c in tab.complaints if "exceptionThrown" in c] == []


def drawn(tab: browser.Tab, seconds: float = 40.0) -> float:
    """The part of the page in vivid colours, once there is some."""
    end, part = time.monotonic() + seconds, 0.0
    while part <= 0.001 and time.monotonic() < end:
        with Image.open(BytesIO(tab.picture())) as picture:
            rgb = np.asarray(picture.convert("RGB")).astype(int)[:, :620]
        part = float((np.ptp(rgb, axis=2) > 90).mean())
        time.sleep(0.3)
    return part
