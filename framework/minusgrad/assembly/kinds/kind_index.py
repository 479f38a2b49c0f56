"""The index of kinds: what each plugin registers, so that none is imported before one of its kinds is used.

    kinds.json                  of our plugins: shipped, `python -m tests.project.kind_index --write`
    ~/.cache/minusgrad/kinds    of other distributions: made when a plugin is first loaded, and again when a
                                version or a file of it has changed (MINUSGRAD_CACHE: another folder)

A row of ours says where its kind is defined, as "module:name"; a plugin of others is loaded as a whole.

Decisions 0130.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..building.old_names import OldName
from ..hookspecs import API_VERSION
from ..installed_plugins import OURS, Plugin

SHIPPED = Path(__file__).with_name("kinds.json")
VARIABLE = "MINUSGRAD_CACHE"
Row = Mapping[str, Any]
"""`about`, the first sentence; of ours `at`, where it is defined; of energies `energy`, their declaration;
`form`, the name of its form in plane stress."""


@dataclass(frozen=True)
class PluginKinds:
    """What one plugin registers: rows by section and kind, old names, and whether it has warnings."""

    kinds: Mapping[str, Mapping[str, Row]]
    old_names: tuple[OldName, ...] = ()
    warns: bool = False

    def rows(self) -> Iterator[tuple[str, str, Row]]:
        """Section, kind and row of each."""
        for section, table in self.kinds.items():
            for kind, row in table.items():
                yield section, kind, row

    def as_data(self) -> dict[str, Any]:
        """Plain data for JSON."""
        old = [[one.section, one.old, one.new, dict(one.keys)] for one in self.old_names]
        return {"kinds": self.kinds, "old_names": old, "warns": self.warns}

    @classmethod
    def of_data(cls, data: Any) -> "PluginKinds":
        """Of plain data. Raises `KeyError`, `TypeError` or `ValueError` for other data."""
        kinds = {s: {k: dict(row) for k, row in table.items()} for s, table in data["kinds"].items()}
        for row in (row for table in kinds.values() for row in table.values()):
            if not isinstance(row["about"], str):
                raise TypeError("about: needs a text")
        return cls(kinds, tuple(OldName(*one) for one in data["old_names"]), bool(data["warns"]))


@cache
def shipped() -> Mapping[str, PluginKinds]:
    """The index of our plugins, by name; empty where there is none, as while it is made."""
    try:
        data = json.loads(SHIPPED.read_bytes())
    except FileNotFoundError:
        return {}
    return {name: PluginKinds.of_data(one) for name, one in data.items()}


@cache
def may_be_behind() -> bool:
    """True in a checkout where a plugin of ours was changed a minute or more after the index was made."""
    checkout = SHIPPED.parents[4]
    if not (checkout / "pyproject.toml").is_file():
        return False
    made = SHIPPED.stat().st_mtime
    return any(file.stat().st_mtime > made + 60.0 for file in (checkout / "plugins").rglob("*.py"))


def known(plugin: Plugin) -> PluginKinds | None:
    """What the plugin registers, if that is known without importing it."""
    if plugin.distribution == OURS:
        return shipped().get(plugin.name)
    key = _key(plugin)
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        data = json.loads(_file(plugin).read_bytes())
        if key is not None and data["key"] == key:
            return PluginKinds.of_data(data)
    return None


def keep(plugin: Plugin, found: PluginKinds) -> None:
    """Write down what a plugin of another distribution registers; nothing where that is not possible."""
    key, file = _key(plugin), _file(plugin)
    if plugin.distribution == OURS or key is None:
        return
    with suppress(OSError, TypeError, ValueError):  # no folder, or values of an old name that are no data
        text = json.dumps({"key": key} | found.as_data())
        if file.is_file() and file.read_text(encoding="utf-8") == text:
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        written = file.with_name(f"{file.name}.{os.getpid()}")
        written.write_text(text, encoding="utf-8")
        os.replace(written, file)


def _file(plugin: Plugin) -> Path:
    named = "".join(c if c.isalnum() or c in "-_" else "_" for c in f"{plugin.distribution}-{plugin.name}")
    return _folder() / "kinds" / f"{named}.json"


def _folder() -> Path:
    """The folder of this user's caches, as the system names it."""
    if chosen := os.environ.get(VARIABLE):
        return Path(chosen)
    usual = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    return Path(usual or os.path.expanduser("~/.cache")) / "minusgrad"


def _key(plugin: Plugin) -> list[Any] | None:
    """Versions; name, size and time of each file below the plugin's top-level package; None if unknown."""
    top = plugin.target.partition(":")[0].partition(".")[0]
    try:
        spec = find_spec(top)
    except (ImportError, ValueError, AttributeError):
        spec = None
    if spec is None or plugin.version == "?":
        return None
    roots = [Path(one) for one in spec.submodule_search_locations or []]
    files = sorted(file for root in roots for file in root.rglob("*.py")) or [Path(spec.origin or "")]
    stamps = []
    for file in files:
        try:
            found = file.stat()
        except OSError:
            return None
        stamps.append([str(file), found.st_size, found.st_mtime_ns])
    versions = [API_VERSION, _version(), *sys.version_info[:2]]
    return [versions, plugin.distribution, plugin.version, plugin.target, stamps]


def _version() -> str:
    from ... import __version__

    return __version__
