"""A Python file that no name finds, as a module: compiled from its text, never from bytecode beside it.

Python takes bytecode for that of a file whose time in whole seconds and whose size are the same. An energy
that a program writes twice in a second would be computed by its first version.
"""

import sys
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, FileFinder, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from types import CodeType, ModuleType


class _TextLoader(SourceFileLoader):
    """Compiles the text of a file as it is now."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def add_folder(folder: str) -> None:
    """Let modules of a folder be imported after those of the same name elsewhere, from their text too."""
    if folder not in sys.path:
        sys.path.append(folder)
        kinds = (ExtensionFileLoader, EXTENSION_SUFFIXES), (_TextLoader, [".py"])
        sys.path_importer_cache[folder] = FileFinder(folder, *kinds)


def import_file(name: str, path: str) -> ModuleType:
    """The file as the module of this name. Raises ImportError for a file of another kind than .py."""
    spec = (
        spec_from_file_location(name, path, loader=_TextLoader(name, path)) if path.endswith(".py") else None
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
