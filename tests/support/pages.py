"""Pages of documentation in tests: their fenced blocks, and commands that are run as a reader would."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+|\{[\w-]+\})(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def documents() -> list[str]:
    """The pages of `docs/` itself, whose blocks share one folder."""
    return [f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))]


def guides() -> list[str]:
    """The pages in folders of `docs/`, each of which is followed alone; not those that the site generates."""
    paths = [path.relative_to(ROOT) for path in sorted((ROOT / "docs").glob("*/*.md"))]
    return [path.as_posix() for path in paths if path.parts[1] != "generated"]


def blocks(page: str) -> list[tuple[str, str, str]]:
    """Language, file name (or nothing) and text of every fenced block, without directives of the site."""
    found = BLOCK.findall((ROOT / page).read_text())
    return [block for block in found if not block[0].startswith("{")]


def directives(page: str) -> list[str]:
    """The names of the directives of a page, such as `toctree`."""
    found = BLOCK.findall((ROOT / page).read_text())
    return [language.strip("{}") for language, _, _ in found if language.startswith("{")]


def run(folder: Path, *command: str) -> str:
    """The command's output; fails with it if the command fails."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
