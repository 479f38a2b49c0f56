"""What a file contains, said by the plugin that reads files of its ending: `minusgrad info FILE`.

The core knows no formats: a plugin gives functions by the hook `register_file_descriptions`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..assembly.hookspecs import FILE_DESCRIPTIONS
from ..assembly.plugin_blame import blaming
from ..assembly.registry import Registry
from ..errors import PluginError, UserError, printable
from ..scene import input_files


def describe_file(path: Path) -> dict[str, Any]:
    """Facts of a file by name: numbers, texts, mappings of these, and lists of rows, which are tables.

    Raises `UserError` for endings that no plugin describes, and for files that cannot be read.
    """
    registry = Registry.load()
    found = endings_described(registry)
    ending = path.suffix.lower()
    if ending not in found:
        known = ", ".join(sorted(found)) or "none"
        raise UserError(f"'{printable(path.name)}': must be a run folder or a file ending in {known}")
    try:
        data = input_files.read(path)
    except OSError as error:
        raise UserError(
            f"{path}: cannot be opened: {error.strerror}; give a file that can be read"
        ) from error
    with blaming(registry):
        return {"file": path.name, **found[ending](path.name, data)}


def endings_described(registry: Registry) -> dict[str, Callable[[str, bytes], Mapping[str, Any]]]:
    """The functions of all plugins by ending. Raises `PluginError` for two owners of one ending."""
    found: dict[str, Callable[[str, bytes], Mapping[str, Any]]] = {}
    for plugin, given in registry.given(FILE_DESCRIPTIONS, whole=False):
        if not isinstance(given, Mapping) or not all(map(callable, given.values())):
            raise PluginError(
                f"{plugin}: {FILE_DESCRIPTIONS} gives {type(given).__name__}, not functions by ending"
            )
        if twice := sorted(found.keys() & given.keys()):
            raise PluginError(f"{plugin} describes files '{twice[0]}', as another plugin does; uninstall one")
        found |= given
    return found
