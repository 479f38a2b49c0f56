"""A folder to work in and a fresh environment, into which pip installs wheels of ours and of strangers."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.support.command import complaints

ROOT = Path(__file__).parents[2]
Done = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Desk:
    """The folder that a user works in, and the environment that everything was installed into."""

    folder: Path
    environment: Path
    wheels: Path

    def python(self, *arguments: object) -> str:
        """What `python ARGUMENTS` prints; fails in its words if it fails, as pip does without an index."""
        done = ended(self.start("python", *arguments), timeout=900)
        assert done.returncode == 0, f"{' '.join(done.args)}\n{done.stdout}{done.stderr}"
        return done.stdout

    def minusgrad(self, *arguments: object) -> Done:
        """`minusgrad ARGUMENTS`, ended, with its output as text."""
        done = ended(self.start("minusgrad", *arguments), timeout=120)
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def start(self, program: str, *arguments: object) -> subprocess.Popen[str]:
        """A program of the environment, running here; it sees no other Python and none of our variables."""
        ours = ("PYTHON", "VIRTUAL_ENV", "MINUSGRAD")
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
        return subprocess.Popen(
            [self.environment / "bin" / program, *map(str, arguments)],
            cwd=self.folder,
            env=inherited,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def install(self, name: str) -> None:
        """`pip install` of one of the wheels, with what it needs from wherever this pip looks."""
        (wheel,) = self.wheels.glob(f"{name}-*.whl")
        self.python("-m", "pip", "install", "--no-compile", wheel)


def ended(child: subprocess.Popen[str], timeout: float) -> Done:
    try:
        out, err = child.communicate(timeout=timeout)
    finally:
        child.kill()
    return subprocess.CompletedProcess([*map(str, child.args)], child.returncode, out, complaints(err))


def new_desk(base: Path, *distributions: Path) -> Desk:
    """An empty folder and environment; wheels of minusgrad and of distributions in the repository.

    All are built from a copy of the sources, which is thrown away.
    """
    desk, copy = Desk(base / "desk", base / "environment", base / "wheels"), base / "copy"
    desk.folder.mkdir()
    litter = [line.rstrip("/") for line in (ROOT / ".gitignore").read_text().split()]
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", *litter))
    subprocess.run([sys.executable, "-m", "venv", desk.environment], check=True)
    sources = [copy, *(copy / one for one in distributions)]
    desk.python("-m", "pip", "wheel", "--no-deps", "-w", desk.wheels, *sources)
    shutil.rmtree(copy)
    return desk
