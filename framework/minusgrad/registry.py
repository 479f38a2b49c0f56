"""Plugins to tables: what exists, who owns it, and what is broken.

Plugins are listed from the metadata of installed distributions, without importing anything. Those that a
scene names are imported (all, if it names none), one by one: one that fails is remembered with its reason
and stops nobody who does not need it. Hooks are called one implementation at a time.
"""

import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pluggy
from pydantic import BaseModel

from . import hooks, runtime
from .energy import LocalEnergy
from .energy_block import energy_model
from .entry_points import Plugin, described, installed, only
from .errors import MinusgradError, PluginError, suggestion

SECTIONS = tuple(hooks.HOOKS.values())


@dataclass(frozen=True)
class Entry:
    """One thing that scenes may name: its model, and for energies the energy itself."""

    owner: Plugin
    model: type[BaseModel]
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
    def load(
        cls, names: Iterable[str] | None = None, files: Sequence[Path | ModuleType] = ()
    ) -> "Registry":
        """The core, the named plugins (all installed ones if None), and plugin files or modules.

        What cannot be had is in `broken`, by name, with the reason. Raises `PluginError` for the core and for
        files, which nobody can do without.
        """
        runtime.engine()
        registry, points = cls(), installed()
        for name in dict.fromkeys(["core", *(points if names is None else names)]):
            try:
                registry._add_installed(name, points)
            except PluginError as error:
                if name == "core":
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

    def models(self) -> dict[str, dict[str, type[BaseModel]]]:
        """Section to kind to model, for the schema."""
        return {s: {kind: entry.model for kind, entry in table.items()} for s, table in self.tables.items()}

    def fingerprint(self, plugin: Plugin) -> dict[str, Any]:
        """Distribution, version, API version, and a hash of the source."""
        module = self.modules[plugin.name]
        return {
            "distribution": plugin.distribution,
            "version": plugin.version,
            "api": getattr(module, "MINUSGRAD_API", hooks.API_VERSION),
            "source": source_hash(module),
        }

    def _add_installed(self, name: str, points: Mapping[str, Any]) -> None:
        if name not in points:
            known = list(points)
            raise PluginError(
                f"no plugin named '{name}'{suggestion(name, known)} (installed: {', '.join(known)})"
            )
        point = only(points[name])
        self._add(described(point), point.load)

    def _add_file(self, file: Path | ModuleType) -> None:
        """A plugin that is a file, or a module at hand; without hooks, the energies it defines are taken."""
        if isinstance(file, ModuleType):
            self._add(Plugin(file.__name__, "module", "at hand", file.__name__), lambda: file, bare=True)
        else:
            self._add(Plugin(file.stem, "file", file.name, str(file)), lambda: _imported(file), bare=True)

    def _add(self, plugin: Plugin, importer: Callable[[], Any], bare: bool = False) -> None:
        """Import one plugin and enter what it registers, all or nothing; `bare` ones need no hooks."""
        if plugin.name in self.plugins:
            raise PluginError(f"{plugin} has the name of {self.plugins[plugin.name]}; rename it")
        with _blamed(plugin, "cannot be imported"):
            module = importer()
        _check(plugin, module)
        found: dict[tuple[str, str], Entry] = {}
        for section, kind, entry in self._registered(plugin, module, bare):
            owner = entry.owner if (section, kind) in found else getattr(self.entry(section, kind), "owner", None)
            if owner is not None:
                again = "twice" if owner is plugin else f", which belongs to {owner}"
                raise PluginError(f"{plugin} registers {section} '{kind}'{again}")
            found[section, kind] = entry
        for (section, kind), entry in found.items():
            self.tables[section][kind] = entry
        self.plugins[plugin.name], self.modules[plugin.name] = plugin, module

    def _registered(
        self, plugin: Plugin, module: ModuleType, bare: bool
    ) -> Iterator[tuple[str, str, Entry]]:
        """Section, kind and entry of all that the plugin's hooks return, called one by one."""
        with _blamed(plugin, "does not fit the hooks"):
            self._manager.register(module, plugin.name)
        if bare and not any(hasattr(module, hook) for hook in hooks.HOOKS):
            yield from _energies(plugin, [v for v in vars(module).values() if isinstance(v, LocalEnergy)])
        for hook, section in hooks.HOOKS.items():
            for implementation in getattr(self._manager.hook, hook).get_hookimpls():
                if implementation.plugin_name == plugin.name:
                    with _blamed(plugin, f"{hook} failed"):
                        given = implementation.function()
                    yield from (_energies if section == "energy" else _blocks(section))(plugin, given)


class _blamed:  # noqa: N801  (reads as a verb)
    """Turn whatever goes wrong in a plugin's code into a `PluginError` that names it; even an exit."""

    def __init__(self, plugin: Plugin, what: str):
        self.plugin, self.what = plugin, what

    def __enter__(self) -> None:
        pass

