"""Energies at hand as plugins: objects of a notebook's cell, a script or a module; and those of a file.

A run in Python is continued on the command line with the file that defines its energies: each becomes the
plugin that it was, so that its source is compared with that of the run.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from ...energies.local_energy import LocalEnergy
from ...energies.values.energy_values import EnergyValues
from ..hookspecs import hookimpl
from ..registry import PluginSource, energies_of_file, module_of


def plugin(source: PluginSource) -> PluginSource:
    """A plugin for a registry; an energy at hand may be a dissipation, too."""
    if type(source) is not LocalEnergy:
        return source
    module = module_of(source)
    energies = [source]

    @hookimpl
    def register_energies() -> list[LocalEnergy]:
        return energies

    @hookimpl
    def register_dissipations() -> list[LocalEnergy]:
        return energies

    module.register_energies = register_energies  # type: ignore[attr-defined]
    module.register_dissipations = register_dissipations  # type: ignore[attr-defined]
    return module


def plugins(sources: Sequence[Any]) -> list[PluginSource]:
    """Plugins of files, modules and energies; energies with values count as the energies themselves."""
    bare = [one.energy if isinstance(one, EnergyValues) else one for one in sources]
    return [plugin(one) for one in bare]


def missing(wanted: Iterable[str], given: Iterable[Any]) -> list[str]:
    """Of the names of energies and modules at hand those that are not given."""
    there = [getattr(one, "__name__", None) or getattr(one, "name", "") for one in given]
    return [name for name in wanted if name not in there]


def with_energies_of_files(
    given: Sequence[PluginSource], wanted: Sequence[str], files: Sequence[str]
) -> list[PluginSource]:
    """The plugins of a run in Python: of a file that is given, those energies that the run had at hand.

    given: what a user gives. wanted: the names of energies and modules at hand. files: the names of files
    that the run itself was given as plugins, which stay files, as those that define none of the wanted do.
    Raises `PluginError` for a file that cannot be imported.
    """
    lacking, found = missing(wanted, given), list[PluginSource]()
    for one in given:
        if isinstance(one, (ModuleType, LocalEnergy)) or not isinstance(one, (Path, str)):
            found.append(one)
            continue
        own = _at_hand(Path(one), lacking) if lacking and Path(one).name not in files else []
        found += own or [one]
    return found


def _at_hand(file: Path, lacking: Sequence[str]) -> list[PluginSource]:
    """The energies of these names in a file; or its module, where that is one of them."""
    module, energies = energies_of_file(file)
    if own := [plugin(energy) for energy in energies if energy.name in lacking]:
        return own
    if file.stem not in lacking:
        return []
    module.__name__ = file.stem
    return [module]
