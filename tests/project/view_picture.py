"""Pictures of pages by a headless Chromium: of a run that was played, and of one that is steered."""

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.view.browser import Tab, opened

PLAYED = 4.0
"""Seconds, at 5 frames a second."""
CLOSE = ".mantine-Notification-closeButton"
BUTTON = "[...document.querySelectorAll('button')].find(b => /{}/.test(b.textContent))"
FIELD = "[...document.querySelectorAll('input[type=text]')].filter(i => i.value === '0')[0]"
"""Beside the slider of a steered run whose number is zero at the start."""


def screenshot(run: Path) -> bytes:
    """The page of a run, PNG, after it has played for some seconds."""
    with _served_page("view", str(run)) as tab:
        tab.run(f"{BUTTON.format('Play')}.click()")
        time.sleep(PLAYED)
        tab.run(f"{BUTTON.format('Pause|Stop')}?.click()")
        time.sleep(0.5 * PLAYED)
        return tab.picture()


def steered(scene: Path) -> bytes:
    """The page of a run that goes on, PNG, when it has taken a number of its last slider."""
    with tempfile.TemporaryDirectory() as folder:
        line = ("run", str(scene), "run.steps=1000000", "--view", "--out", f"{folder}/run")
        with _served_page(*line) as tab:
            tab.run(f"{FIELD}.focus(), document.activeElement.select()")
            tab.call("Input.insertText", text="1.5")
            tab.run("document.activeElement.blur()")
            tab.wait("/ from step .* on/.test(document.body.innerText)", 60.0)
            time.sleep(PLAYED)
            return tab.picture()


@contextmanager
def _served_page(*words: str) -> Iterator[Tab]:
    """A page whose scene has arrived. Its notices are closed: without a screen it is drawn in software."""
    command = [sys.executable, "-m", "minusgrad", *words, "--port", "8096"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            assert server.stdout is not None
            address = next(found[0] for line in server.stdout if (found := re.search(r"http://\S+", line)))
            with tempfile.TemporaryDirectory() as folder, opened(address, Path(folder)) as tab:
                tab.wait(f"!!{BUTTON.format('Play')}", 60.0)
                time.sleep(2.0 * PLAYED)
                tab.run(f"document.querySelectorAll({CLOSE!r}).forEach(b => b.click())")
                yield tab
        finally:
            server.terminate()
