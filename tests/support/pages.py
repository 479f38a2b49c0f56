"""Pages of documentation in tests: their fenced blocks, and commands that are run as a reader would."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[tuple[str, str, str]]:
    """Language, file name (or nothing) and text of every fenced block."""
    return BLOCK.findall((ROOT / page).read_text())


def run(folder: Path, *command: str) -> str:
    """The command's output; fails with it if the command fails."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
