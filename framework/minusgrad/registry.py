"""Plugins to tables: what exists, who owns it, and what is broken.

Plugins are listed from the metadata of installed distributions, without importing anything. Those that a
scene names are imported (all, if it names none), one by one: one that fails is remembered with its reason
and stops nobody who does not need it. Hooks are called one implementation at a time.
"""

import hashlib
import importlib.util
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pluggy

from . import hooks, runtime
from .energy import LocalEnergy
from .energy_block import energy_model
from .entry_points import Plugin, described, installed
from .errors import PluginError, suggestion

SECTIONS = tuple(hooks.HOOKS.values())


@dataclass(frozen=True)
class Entry:
    """One thing that scenes may name: its model, and for energies the energy itself."""

    owner: Plugin
    model: type
    energy: LocalEnergy | None = None


class Registry:
    """Tables from names to energies, states, steppers and observers."""

    def __init__(self) -> None:
        self.plugins: dict[str, Plugin] = {}
        self.modules: dict[str, ModuleType] = {}
        self.broken: dict[str, PluginError] = {}
        self.tables: dict[str, dict[str, Entry]] = {section: {} for section in SECTIONS}
        self._manager = pluggy.PluginManager(hooks.GROUP)
        self._manager.add_hookspecs(hooks)

    @classmethod
    def load(cls, names: Iterable[str] | None = None, files: Sequence[Path | ModuleType] = ()) -> "Registry":
        """The core, the named plugins (all installed ones if None), and plugin files.

        Raises `PluginError` for a named plugin that is missing or broken; those nobody named are
        remembered in `broken`.
        """
        runtime.engine()
        registry, points = cls(), installed()
        for name in names or ():
            if name not in points:
                raise PluginError(
                    f"no plugin named '{name}'{suggestion(name, list(points))} (installed: {', '.join(points)})"
                )
        chosen = list(points) if names is None else ["core", *(n for n in names if n != "core")]
        for name in chosen:
            try:
                registry._add(described(points[name]), points[name].load)
            except PluginError as error:
                if names is not None or name == "core":
                    raise
                registry.broken[name] = error
        for file in files:
            registry._add_file(file)
        return registry

    def entry(self, section: str, kind: str) -> Entry | None:
        """What a block of this kind is, None if nobody provides it."""
        return self.tables[section].get(kind)

    def energies(self) -> dict[str, LocalEnergy]:
        """All energies by name."""
        return {n: e.energy for n, e in self.tables["energy"].items() if e.energy is not None}

    def models(self) -> dict[str, dict[str, type]]:
        """Section to kind to model, for the schema."""
        return {s: {kind: entry.model for kind, entry in table.items()} for s, table in self.tables.items()}

    def fingerprints(self) -> dict[str, dict[str, Any]]:
        """Of each plugin: distribution, version, API version, and a hash of its source."""
        return {
            name: {
                "distribution": plugin.distribution,
                "version": plugin.version,
                "api": getattr(self.modules[name], "MINUSGRAD_API", hooks.API_VERSION),
                "source": source_hash(self.modules[name]),
            }
            for name, plugin in self.plugins.items()
        }

    def _add(self, plugin: Plugin, importer: Any) -> None:
        """Import one plugin and enter what it registers, all or nothing."""
        try:
            module = importer()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a plugin may even exit the program
            raise PluginError(f"{plugin} cannot be imported: {type(error).__name__}: {error}") from error
        _check_hooks(plugin, module)
        found = self._called(plugin, module)
        for section, kind in found:
            if (other := self.tables[section].get(kind)) is not None:
                raise PluginError(f"{plugin} registers {section} '{kind}', which belongs to {other.owner}")
        for (section, kind), entry in found.items():
            self.tables[section][kind] = entry
        self.plugins[plugin.name], self.modules[plugin.name] = plugin, module

    def _called(self, plugin: Plugin, module: ModuleType) -> dict[tuple[str, str], Entry]:
        """What the plugin's hooks return, called one by one."""
        self._manager.register(module, plugin.name)
        found: dict[tuple[str, str], Entry] = {}
        for hook, section in hooks.HOOKS.items():
            for implementation in getattr(self._manager.hook, hook).get_hookimpls():
                if implementation.plugin_name == plugin.name:
                    try:
                        for kind, entry in _entries(plugin, section, implementation.function()):
                            found[section, kind] = entry
                    except PluginError:
                        raise
                    except Exception as error:
                        raise PluginError(f"{plugin}: {hook} failed: {type(error).__name__}: {error}") from error
        return found

    def _add_file(self, file: Path | ModuleType) -> None:
        """A plugin that is a file, or a module at hand; without hooks, the energies it defines are taken."""
        if isinstance(file, ModuleType):
            plugin, importer = Plugin(file.__name__, "module", "0", str(file.__name__)), lambda: file
        else:
            plugin, importer = Plugin(file.stem, "file", "0", str(file)), lambda: _imported(file)
        self._add(plugin, importer)
        module = self.modules[plugin.name]
        if not any(hasattr(module, hook) for hook in hooks.HOOKS):
            energies = [v for v in vars(module).values() if isinstance(v, LocalEnergy)]
            for kind, entry in _entries(plugin, "energy", energies):
                if (other := self.tables["energy"].get(kind)) is not None:
                    raise PluginError(f"{plugin} registers energy '{kind}', which belongs to {other.owner}")
                self.tables["energy"][kind] = entry


def _entries(plugin: Plugin, section: str, registered: Any) -> Iterable[tuple[str, Entry]]:
    if section == "energy":
        for energy in registered:
            if not isinstance(energy, LocalEnergy):
                raise PluginError(f"{plugin}: register_energies gives {energy!r}, which is no energy; decorate it with @local_energy")
            yield energy.name, Entry(plugin, energy_model(energy), energy)
        return
    if not isinstance(registered, Mapping):
        raise PluginError(f"{plugin}: register_{section}s gives {type(registered).__name__}, not a mapping from kind to model")
    for kind, model in registered.items():
        if not hasattr(model, "make"):
            raise PluginError(f"{plugin}: {section} '{kind}' has no `make`")
        yield kind, Entry(plugin, model)


def _check_hooks(plugin: Plugin, module: ModuleType) -> None:
    """Refuse a misspelt hook, which pluggy would ignore, and another API."""
    api = getattr(module, "MINUSGRAD_API", hooks.API_VERSION)
    if api != hooks.API_VERSION:
        raise PluginError(f"{plugin} is written for plugin API {api}; this is {hooks.API_VERSION}")
    for name, value in vars(module).items():
        if hasattr(value, f"{hooks.GROUP}_impl") and name not in hooks.HOOKS:
            known = list(hooks.HOOKS)
            raise PluginError(f"{plugin}: no hook named '{name}'{suggestion(name, known)} (there are: {', '.join(known)})")


def _imported(path: Path) -> ModuleType:
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}")
    name = f"minusgrad_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def source_hash(module: ModuleType) -> str:
    """SHA-256 over the plugin's Python files: the file, or all files of its package."""
    file = Path(module.__file__ or "")
    files = sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]
    digest = hashlib.sha256()
    for one in files:
        if one.is_file():
            digest.update(one.relative_to(file.parent).as_posix().encode() + b"\0" + one.read_bytes() + b"\0")
    return digest.hexdigest()
