"""Where the files that come with minusgrad lie, and scenes by their names.

A checkout has them in `scenes/` and `docs/`; a wheel puts them into `share/minusgrad` of the environment.
Nothing here loads NumPy or an engine.

Decisions 0120, 0126.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ....errors import UserError, unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[3]
"""The folder of the package `minusgrad`."""
SHARE = "share/minusgrad"
ADDRESS = ""
"""Of the documentation on the web; empty until it has one."""
DOCS = "docs"
"""The folder of the pages, with `index.md`."""
TUTORIAL = f"{DOCS}/start/tutorial.md"
PICTURES = "pictures/names.csv"
"""Below `scenes`: the pictures that `minusgrad plot` draws of each scene."""
PAGE = "README.md"
"""Below `scenes`: the page of examples."""


def home() -> Path:
    """The folder with `scenes/` and `docs/`. Raises `UserError` where they were not installed."""
    for folder in _candidates():
        if (folder / "scenes" / PICTURES).is_file() and (folder / TUTORIAL).is_file():
            return folder
    raise UserError(
        f"scenes of minusgrad: were not installed with it, got none in {Path(sys.prefix) / SHARE}; install it"
        " from a wheel or a checkout"
    )


def _candidates() -> Iterator[Path]:
    """A checkout; the place that the installer has noted; those of an environment and of `pip --target`."""
    if (ROOT.parents[1] / "pyproject.toml").is_file():
        yield ROOT.parents[1]
    yield from _noted()
    yield from (Path(sys.prefix) / SHARE, ROOT.parent / SHARE)


def _noted() -> list[Path]:
    """From the list of installed files, which `pip --user` and distributions of systems keep, too."""
    from importlib.metadata import PackageNotFoundError, files

    try:
        listed = files("minusgrad") or []
    except PackageNotFoundError:
        return []
    found = [file for file in listed if file.as_posix().endswith(f"{SHARE}/{TUTORIAL}")]
    return [Path(os.path.normpath(str(file.locate()))).parents[2] for file in found]


def documentation() -> str:
    """Where to read: the address of the site, if it has one, else the first page on this machine."""
    try:
        return ADDRESS or str(home() / DOCS / "index.md")
    except UserError:
        return "not installed"


def scenes() -> dict[str, Path]:
    """The scene files that come with minusgrad, by name. Raises `UserError` as `home` does."""
    return {path.stem: path for path in sorted((home() / "scenes").glob("*.toml"))}


def _names() -> list[str]:
    try:
        return [*scenes()]
    except UserError:
        return []


def pictures() -> dict[str, list[str]]:
    """The names of the pictures that `minusgrad plot` draws of each scene, the most telling one first."""
    rows = (home() / "scenes" / PICTURES).read_text(encoding="utf-8").splitlines()[1:]
    return {scene: drawn.split() for scene, _, drawn in (row.partition(",") for row in rows)}


def is_name(scene: Path) -> bool:
    """True for a word that may be the name of a scene, and is no path: no folder, no ending, no such file."""
    return scene.name == str(scene) and not scene.suffix and not scene.exists()


def scene_file(scene: Path) -> Path:
    """The file of a scene that is given by its path, or by the name of one that comes with minusgrad.

    Raises `UserError` for a name that none has, and for a file that is not there and has the name of one.
    """
    if not is_name(scene):
        if scene.suffix == ".toml" and not scene.exists() and scene.stem in _names():
            raise UserError(f"{scene}: no such file; that of minusgrad is named without .toml: {scene.stem}")
        return scene
    known = scenes()
    if scene.name in known:
        return known[scene.name]
    raise UserError(f"{unknown('scene', scene.name, known, 'of minusgrad', 'scenes')}; a file ends in .toml")


def own_plugins(scene: Path) -> list[Path]:
    """The file of energies beside a scene that comes with minusgrad: of its name, if there is one."""
    beside = scene.with_suffix(".py")
    return [beside] if beside.is_file() else []


def sweep_file(sweep: str) -> str:
    """The file of a sweep that is given by its path, or by the name of one that comes with minusgrad."""
    if not is_name(Path(sweep)):
        return sweep
    beside = home() / "scenes" / "sweeps" / f"{sweep}.toml"
    return str(beside) if beside.is_file() else sweep
