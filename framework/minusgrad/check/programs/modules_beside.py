"""Imports of a checked file: the modules beside it, but never in place of one that the check needs.

The folder of the file is not put first on `sys.path`, as Python does for a script: a `struct.py` or a
`numpy.py` there would replace the module of that name for everybody. A name that the file, or another file
of its folder, imports is looked up there first, unless it is one of the standard library, of this package or
of what it depends on.

Decisions 0083.
"""

import re
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import requires
from pathlib import Path
from types import FrameType, ModuleType

from ...engine import runtime


class BesideTheFile(MetaPathFinder):
    """Finds the modules of one folder for the files in it."""

    def __init__(self, folder: Path):
        self.folder = folder.resolve()
        self.kept = _needed_distributions()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if path is not None or name in self.kept or not self._asked_from_here():
            return None
        return PathFinder.find_spec(name, [str(self.folder)], target)

    def _asked_from_here(self) -> bool:
        """True if a file of the folder imports."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and "importlib" in frame.f_code.co_filename:
            frame = frame.f_back
        return frame is not None and self.folder in Path(frame.f_code.co_filename).resolve().parents

    def hidden_files(self) -> list[str]:
        """The files of the folder whose modules are not imported from it."""
        return sorted(file.name for file in self.folder.glob("*.py") if file.stem in self.kept)


def _needed_distributions() -> frozenset[str]:
    """The standard library, this package, and what it depends on, by the names of their distributions."""
    own = __name__.partition(".")[0]
    wanted = {_distribution_name(line).replace("-", "_") for line in requires(own) or ()}
    return frozenset({*sys.stdlib_module_names, *runtime.PREFIXES, "torch", own, *wanted})


def _distribution_name(line: str) -> str:
    """The name at the beginning of a requirement."""
    found = re.match(r"[\w.-]+", line.strip())
    return found.group().lower() if found else ""


def let_import_beside(file: Path) -> BesideTheFile:
    """From now on the files beside this one may import one another."""
    finder = BesideTheFile(file.parent)
    sys.meta_path.insert(0, finder)
    if (folder := str(finder.folder)) not in sys.path:
        sys.path.append(folder)  # for imports by others, such as pickles
    return finder
