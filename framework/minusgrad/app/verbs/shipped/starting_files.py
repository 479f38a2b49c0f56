"""Files to start from: the tutorial's, or those of a scene that comes with minusgrad.

Decisions 0120.
"""

from __future__ import annotations

import re
from pathlib import Path

from ....errors import UserError, choices, printable
from . import places

NAME = "tutorial"
_BLOCK = re.compile(r"^```\w+ (\S+\.\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PICTURE = re.compile(r"^!\[[^\]]*\]\([^)]*\)\n\n?", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\((?!https?:)[^)]*\)")
_TEXT = re.compile(r'"([^"\n]+\.\w+)"')


def starting_files(name: str) -> dict[str, bytes]:
    """Their contents by path. name: "tutorial", or that of a scene. Raises `UserError` for another one."""
    if name == NAME:
        return _tutorial()
    known = places.scenes()
    if name not in known:
        listed = choices(name, [NAME, *known], "there are", "scenes")
        raise UserError(f"no scene of minusgrad is named '{printable(name)}'{listed}")
    return _of_scene(known[name])


def write_starting_files(name: str, folder: Path) -> list[Path]:
    """Write them into a folder, which is made if it does not exist. Returns their paths.

    Raises `UserError` if one of them exists, and writes none then; or if the folder cannot be written.
    """
    files = starting_files(name)
    targets = {folder / path: data for path, data in files.items()}
    if taken := [str(target) for target in targets if target.exists() or target.is_symlink()]:
        raise UserError(
            f"{folder}: must have none of the files that are written, got {', '.join(taken)}; give another"
            " folder with --out"
        )
    try:
        for target, data in targets.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                file.write(data)
    except OSError as error:
        raise UserError(
            f"{folder}: cannot be written: {error.strerror}; give another folder with --out"
        ) from error
    return list(targets)


def _tutorial() -> dict[str, bytes]:
    """The named blocks of the page, and the page itself without pictures and links to other pages."""
    page = (places.home() / places.TUTORIAL).read_text(encoding="utf-8")
    plain = _LINK.sub(r"\1", _PICTURE.sub("", page))
    return {name: text.encode() for name, text in _BLOCK.findall(page)} | {"tutorial.md": plain.encode()}


def _of_scene(scene: Path) -> dict[str, bytes]:
    """The scene, its energies, its sweep, and the files that these name."""
    home = scene.parent
    sweep = home / "sweeps" / scene.name
    found = [scene, *places.own_plugins(scene), *([sweep] if sweep.is_file() else [])]
    named = dict.fromkeys(name for path in found for name in _TEXT.findall(path.read_text(encoding="utf-8")))
    data = [home / name for name in named if (home / name).is_file()]
    paths = dict.fromkeys([*found, *data])
    return {path.relative_to(home).as_posix(): path.read_bytes() for path in paths}
