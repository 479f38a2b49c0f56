"""A new distribution of a plugin: the files of `template/`, with its name in the place of theirs."""

import keyword
import shutil
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp

from ...assembly.installed_plugins import installed
from ...errors import UserError, printable

TEMPLATE = Path(__file__).with_name("template")
STAND_IN = "my_plugin"
"""The name in the template's files and in their paths."""
HIDDEN = ("gitignore", "github")
"""Names in the template that begin with a dot in the new folder."""
LITTER = "__pycache__"


def new_plugin(name: str, out: Path | None = None) -> list[Path]:
    """Write a distribution that works at once into a new or empty folder.

    name: of the plugin, its package and its distribution. out: the folder (default: `name`).
    Returns the files, in the order of their names. Raises `UserError` for a name that is no lower-case
    identifier or that is taken, and for a folder that is not empty or cannot be written; nothing is left
    there then.
    """
    _refuse_name(name)
    folder = Path(name) if out is None else out
    try:
        _refuse_folder(folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(mkdtemp(prefix=f".{name}-", dir=folder.parent))
    except OSError as error:
        raise UserError(f"{folder}: cannot be written ({error.strerror}); give another --out") from None
    try:
        for source in _files():
            _write(source, draft, name)
        draft.chmod(0o755)
        if folder.exists():
            folder.rmdir()
        draft.replace(folder)
    except OSError as error:
        raise UserError(f"{folder}: cannot be written ({error.strerror}); give another --out") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _refuse_name(name: str) -> None:
    shown, cure = printable(name, 60), "give another, such as my_springs"
    if not (name.isascii() and name.isidentifier() and name == name.lower()) or name.startswith("_"):
        raise UserError(
            f"plugin name: must be lower-case letters, digits and _, a letter first, got '{shown}'; {cure}"
        )
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        raise UserError(f"plugin name: must not be a keyword of Python, got '{name}'; {cure}")
    if name in installed():
        raise UserError(f"plugin name: must be new, got '{name}', which is an installed plugin; {cure}")
    spec = find_spec(name)
    if name in packages_distributions() or (spec is not None and spec.origin is not None):
        raise UserError(f"plugin name: must be new, got '{name}', which is an installed package; {cure}")


def _refuse_folder(folder: Path) -> None:
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UserError(f"{folder}: must be a new or an empty folder, got a file; give another --out")
    if folder.is_dir() and any(folder.iterdir()):
        raise UserError(f"{folder}: must be new or empty, got a folder with files; give another --out")


def _files() -> list[Path]:
    found = (path.relative_to(TEMPLATE) for path in TEMPLATE.rglob("*") if path.is_file())
    return sorted(path for path in found if LITTER not in path.parts)


def _write(source: Path, folder: Path, name: str) -> None:
    parts = [f".{part}" if part in HIDDEN else part.replace(STAND_IN, name) for part in source.parts]
    path = folder.joinpath(*parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = (TEMPLATE / source).read_text(encoding="utf-8").replace(STAND_IN, name)
    path.write_text(text, encoding="utf-8", newline="\n")
