"""A picture of the page of `minusgrad view`, by a headless Chromium, after it has played for some seconds."""

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.view.browser import opened

PLAYED = 4.0
"""Seconds, at 5 frames a second."""
CLOSE = ".mantine-Notification-closeButton"
BUTTON = "[...document.querySelectorAll('button')].find(b => /{}/.test(b.textContent))"


def screenshot(run: Path) -> bytes:
    """The page of a run, PNG. Its notices are closed: a browser without a screen draws in software."""
    command = [sys.executable, "-m", "minusgrad", "view", str(run), "--port", "8096"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            assert server.stdout is not None
            address = next(found[0] for line in server.stdout if (found := re.search(r"http://\S+", line)))
            with tempfile.TemporaryDirectory() as folder, opened(address, Path(folder)) as tab:
                tab.wait(f"!!{BUTTON.format('Play')}", 60.0)
                time.sleep(2.0 * PLAYED)  # the scene arrives
                tab.run(f"document.querySelectorAll({CLOSE!r}).forEach(b => b.click())")
                tab.run(f"{BUTTON.format('Play')}.click()")
                time.sleep(PLAYED)
                tab.run(f"{BUTTON.format('Pause|Stop')}?.click()")
                time.sleep(0.5 * PLAYED)
                return tab.picture()
        finally:
            server.terminate()
