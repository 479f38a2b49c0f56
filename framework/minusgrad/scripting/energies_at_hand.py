"""Energies at hand in a simulation of Python: those of a notebook's cell or a script, beside installed ones.

An energy object that an installed plugin registers is that plugin's; every other one is a plugin of its own,
whose source is hashed and kept in run folders.

Decisions 0398.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..assembly.origins.at_hand import plugin, plugins
from ..assembly.origins.source_text import TEXT
from ..assembly.registry import SECTIONS, PluginSource, Registry
from ..energies.values.energy_values import Declaration, EnergyValues
from ..errors import PluginError, UserError


def energy(kind: str, **values: Any) -> EnergyValues:
    """An installed energy, map or constraint by its kind in scenes: energy("spring", stiffness=3.0).

    values: the keys of its block, which are validated with the whole simulation. Raises `UserError` for
    anything but a name.
    """
    if not isinstance(kind, str):
        raise UserError(
            f"energy: needs the name of an energy, got {kind!r}; call the energy itself with its values"
        )
    return EnergyValues(kind, values)


def observer(kind: str, **values: Any) -> dict[str, Any]:
    """An observer by its kind in scenes: observer("energies", every=10). values: the keys of its table."""
    return {"kind": kind, **values}


def registry(
    names: Sequence[str] | None,
    files: Sequence[PluginSource],
    declared: Iterable[Declaration],
    data: Mapping[str, Any],
) -> tuple[Registry, list[str] | None]:
    """The registry of a scene with energies at hand, and the plugins that it then has to name.

    An energy at hand may have the name of an installed one: then only the plugins of the scene's other kinds
    are loaded. Raises `PluginError` where one of these has it, too.
    """
    whole = Registry.load(names, plugins(files))
    own = [one for one in dict.fromkeys(declared) if not any(one is other for other in whole.named(one.name))]
    taken = {one.kind for one in whole.listed()}
    if names is None and any(one.name in taken for one in own):
        used = _used(whole, data, {one.name for one in own})
        names = sorted(used - {"core"})
        whole = Registry.load(names, plugins(files))
    for one in own:
        try:
            whole.add(plugin(one))  # type: ignore[arg-type]
        except PluginError as error:
            raise PluginError(f"energy '{one.name}' of Python: {error}") from None
    return whole, list(names) if names is not None else None


def _used(whole: Registry, data: Mapping[str, Any], own: set[str]) -> set[str]:
    """The installed plugins of the kinds in a scene, without the energies at hand."""
    kinds: set[tuple[str, str]] = set()
    for section, value in data.items():
        for one in value if isinstance(value, list) else [value]:
            place, table = one if isinstance(one, tuple) else (section, one)
            if isinstance(table, Mapping) and table.get("kind") not in own:
                kinds.add((place, str(table.get("kind"))))
    entries = [whole.entry(place, kind) for place, kind in kinds if place in SECTIONS]
    return {
        entry.owner.name for entry in entries if entry and entry.owner.distribution not in ("file", "module")
    }


def names_of(registry: Registry) -> list[str]:
    """The names of the energies at hand in a registry."""
    return [name for name, module in registry.modules.items() if hasattr(module, TEXT)]


def sources(registry: Registry) -> list[PluginSource]:
    """The plugins of a registry that are not installed: energies and modules at hand, and files."""
    found: list[PluginSource] = []
    for name, one in registry.plugins.items():
        if one.distribution in ("file", "module"):
            found.append(Path(one.target) if one.distribution == "file" else registry.modules[name])
    return found
