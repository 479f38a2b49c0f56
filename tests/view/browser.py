"""A headless Chromium that opens one page: its screenshot, and every address that it asked for."""

import base64
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--mute-audio",
    "--hide-scrollbars",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--remote-debugging-port=0",
]


class Tab:
    """A page that is open; `asked` are the addresses of its requests."""

    def __init__(self, socket: Any):
        self._socket, self._number = socket, 0
        self.asked: list[str] = []
        self.complaints: list[str] = []
        for domain in ("Page", "Network", "Runtime"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the DevTools protocol; returns its result."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while (message := self._next(60.0)).get("id") != self._number:
            pass
        return message.get("result", {})

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        return result.get("result", {}).get("value")

    def wait(self, script: str, seconds: float = 30.0) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not self.run(f"!!({script})"):
            assert time.monotonic() < end, (script, self.complaints)
            time.sleep(0.1)

    def picture(self) -> bytes:
        """A screenshot, PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def _next(self, seconds: float) -> dict[str, Any]:
        message = json.loads(self._socket.recv(timeout=seconds))
        if message.get("method") == "Network.requestWillBeSent":
            self.asked.append(message["params"]["request"]["url"])
        if message.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
            self.complaints.append(json.dumps(message["params"])[:500])
        return message


@contextmanager
def opened(address: str, folder: Path, size: tuple[int, int] = (1000, 640)) -> Iterator[Tab]:
    """A page in a browser of its own, whose profile lies in `folder`."""
    from websockets.sync.client import connect

    assert CHROMIUM is not None
    command = [
        CHROMIUM,
        *FLAGS,
        f"--user-data-dir={folder}",
        f"--window-size={size[0]},{size[1]}",
        "about:blank",
    ]
    browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        port = folder / "DevToolsActivePort"
        end = time.monotonic() + 30.0
        while not (port.is_file() and len(port.read_text().split()) == 2):
            assert browser.poll() is None, "Chromium has ended"
            assert time.monotonic() < end, "Chromium does not start"
            time.sleep(0.05)
        with urlopen(f"http://127.0.0.1:{port.read_text().split()[0]}/json") as answer:
            pages = [page for page in json.load(answer) if page["type"] == "page"]
        with connect(pages[0]["webSocketDebuggerUrl"], max_size=None) as socket:
            tab = Tab(socket)
            tab.call("Page.navigate", url=address)
            yield tab
    finally:
        browser.kill()
        browser.wait()
