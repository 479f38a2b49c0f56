"""Registry of plugins: the kinds that scenes may name, the plugin that owns each, and broken plugins.

Plugins are listed from the metadata of installed distributions, without importing anything, and their kinds
from the index of kinds. A plugin is imported when one of its kinds is used, or when all are asked for: an
error is kept with its reason and stops only scenes that need the plugin. Hooks are called one implementation
at a time.

Decisions 0101, 0130, 0222.
"""

import hashlib
import inspect
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, cast

import pluggy
from pydantic import BaseModel

from ..energies.constraint import Constraint
from ..energies.lagrangian import Lagrangian
from ..energies.local_energy import LocalEnergy
from ..energies.local_map import LocalMap
from ..energies.magnetic_field import MagneticField
from ..energies.staged_energy import Staged
from ..energies.staged_map import StagedMap
from ..engine import runtime
from ..engine.loading import late_import
from ..errors import PluginError, UserError, printable, suggestion, unknown
from ..files.bounded.python_file import add_folder, import_file
from ..scene.document import LOSS
from ..scene.fit_table import LOSSES, loss_model
from ..scene.input_files import refuse_special
from ..scene.state_tables.sides_table import with_sides
from . import hookspecs
from .blocks.energy_block import energy_model, magnetic_model
from .building.old_names import OldName
from .installed_plugins import OURS, Plugin, described, installed, only
from .kinds import kind_index, kind_rows
from .kinds.kind_index import PluginKinds, Row
from .origins.plugin_names import defining
from .origins.source_text import TEXT, source_text

SECTIONS = (*hookspecs.HOOKS.values(), LOSS)
ENERGIES = ("map", "energy", "lagrangian", "dissipation", "magnetic", "constraint")
"""Sections whose kinds are functions with roles; the others' are models that make something."""


PluginSource = Path | str | ModuleType | LocalEnergy | Staged
"""A plugin that is no installed one: a file, a module at hand, or an energy."""

packages_of_others: set[str] = set()
"""Top-level packages of the plugins of other distributions, and of files, that this process has imported."""

KINDS: dict[str, Any] = {
    "map": (LocalMap, StagedMap),
    "energy": (LocalEnergy, Staged),
    "lagrangian": Lagrangian,
    "dissipation": LocalEnergy,
    "magnetic": MagneticField,
    "constraint": Constraint,
}
MAKERS = {
    "map": "a map made by @local_map or staged_map",
    "magnetic": "a magnetic field made by @vector_potential",
    "constraint": "a constraint made by @constraint",
    "lagrangian": "a Lagrangian made by @lagrangian",
}


@dataclass(frozen=True)
class Entry:
    """One thing that scenes may name: its model, and for energies the energy itself."""

    owner: Plugin
    model: type[BaseModel]
    energy: LocalEnergy | Staged | None = None


@dataclass(frozen=True)
class Waiting:
    """A plugin that is not loaded as a whole: what imports it, and what it registers."""

    plugin: Plugin
    importer: Callable[[], Any]
    known: PluginKinds


class Listed(NamedTuple):
    """A row of the list of kinds."""

    section: str
    kind: str
    plugin: str
    row: Row


class Registry:
    """Tables from names to energies, states, steppers and observers.

    plugins: all that are not broken, loaded or not. modules: of those that are imported.
    """

    def __init__(self) -> None:
        self.plugins: dict[str, Plugin] = {}
        self.modules: dict[str, ModuleType] = {}
        self.broken: dict[str, PluginError] = {}
        self._hashes: dict[str, str] = {}
        self._tables: dict[str, dict[str, Entry]] = {section: {} for section in SECTIONS}
        self._waiting: dict[str, Waiting] = {}
        self._owners: dict[tuple[str, str], str] = {}
        self._old: dict[str, list[OldName]] = {}
        self._warnings: dict[str, list[Callable[[Any, int], str]]] = {}
        self._manager = pluggy.PluginManager(hookspecs.GROUP)
        self._manager.add_hookspecs(hookspecs)

    @classmethod
    def load(cls, names: Iterable[str] | None = None, files: Sequence["PluginSource"] = ()) -> "Registry":
        """The core, the named plugins (all installed ones if None), and plugin files, modules or energies.

        Plugins in the index of kinds are imported when one of their kinds is used, or all are asked for;
        others at once. Those that cannot be loaded are in `broken`, by name, with the reason. Raises
        `PluginError` for the core and for files, which are always needed.
        """
        runtime.engine()
        registry, points = cls(), installed()
        for name in dict.fromkeys(["core", *(points if names is None else names)]):
            with registry._isolated(name):
                registry._add_installed(name, points)
        for file in files:
            registry.add(file)
        return registry

    @property
    def tables(self) -> dict[str, dict[str, Entry]]:
        """Section to kind to entry, of all plugins, which are loaded for it."""
        self.complete()
        return self._tables

    def complete(self) -> None:
        """Load all plugins as a whole, those that are in the index of kinds, too."""
        for name, waiting in [*self._waiting.items()]:
            with self._isolated(name):
                self._load(waiting.plugin, waiting.importer)
        order = {name: number for number, name in enumerate(self.plugins)}
        for section, table in self._tables.items():
            entries = sorted(table.items(), key=lambda one: order[one[1].owner.name])
            self._tables[section] = dict(entries)

    def entry(self, section: str, kind: str) -> Entry | None:
        """The entry of a kind, whose plugin is imported for it; None if no plugin provides it."""
        found = self._tables[section].get(kind)
        if found is None and (name := self._owners.get((section, kind))) in self._waiting:
            with self._isolated(name):
                self._enter(self._waiting[name], section, kind)
        elif found is None and self._waiting and kind_index.may_be_behind():
            self.complete()
        return self._tables[section].get(kind)

    def kinds(self, section: str) -> list[str]:
        """The kinds of a section; no plugin is loaded."""
        return [one.kind for one in self.listed() if one.section == section]

    def listed(self) -> list[Listed]:
        """All kinds, section by section, as the index of kinds has them; no plugin is loaded."""
        of = {name: waiting.known for name, waiting in self._waiting.items()}
        of |= {name: self.index_of(name) for name in self.plugins if name not in of}
        every = [Listed(s, kind, name, row) for name in self.plugins for s, kind, row in of[name].rows()]
        return sorted(every, key=lambda one: SECTIONS.index(one.section))

    def index_of(self, name: str, places: bool = False) -> PluginKinds:
        """What a plugin registers that is loaded as a whole; with `places`, where each kind is defined."""
        kinds: dict[str, dict[str, Row]] = {section: {} for section in SECTIONS}
        for section, table in self._tables.items():
            for kind, entry in table.items():
                if entry.owner.name == name:
                    row = kind_rows.row(entry.model, entry.energy, section == LOSS)
                    if places and not (section == LOSS and entry.energy):
                        package = self.modules[name].__name__.partition(".")[0]
                        row = {"at": kind_rows.place(entry.model, entry.energy, package)} | row
                    kinds[section][kind] = row
        kinds = {section: table for section, table in kinds.items() if table}
        return PluginKinds(kinds, tuple(self._old.get(name, ())), bool(self._warnings.get(name)))

    def energies(self) -> dict[str, LocalEnergy | Staged]:
        """All maps, energies, Lagrangians, dissipations, magnetic fields and constraints by name.

        Those in plane stress of solids are among them.
        """
        entries = (e for s in ENERGIES for e in self.tables[s].values())
        return {energy.name: energy for entry in entries for energy in _with_forms(entry)}

    def energy(self, name: str) -> LocalEnergy | Staged:
        """The energy of that name. Raises `UserError` for an unknown name."""
        if found := self.named(name):
            return found[-1]
        known = self.energies()
        if name not in known:
            if files := defining(Path.cwd(), name):
                here = f"{files[0]} here defines it: add --plugin {files[0]}"
                raise UserError(f"no energy named '{printable(name)}'; {here}")
            cure = "a scene ends in .toml, a file with kernels in .py"
            raise UserError(f"{unknown('energy', name, known, 'installed', 'energies')}; {cure}")
        return known[name]

    def named(self, name: str) -> list[LocalEnergy | Staged]:
        """The energies and forms of that name, of what is loaded and, by the index, of what is not."""
        for waiting in [*self._waiting.values()]:
            for section, kind, row in waiting.known.rows():
                if section in ENERGIES and name in (kind, row.get("form")):
                    self.entry(section, kind)
        found = (e for s in ENERGIES for entry in self._tables[s].values() for e in _with_forms(entry))
        return [energy for energy in found if energy.name == name]

    def of_plugin(self, name: str) -> list[LocalEnergy | Staged]:
        """The maps, energies, Lagrangians, dissipations, magnetic fields and constraints of one plugin."""
        entries = [e for s in ENERGIES for e in self.tables[s].values() if e.owner.name == name]
        return [energy for entry in entries for energy in _with_forms(entry)]

    def models(self) -> dict[str, dict[str, type[BaseModel]]]:
        """Section to kind to model, for the schema."""
        return {s: {kind: entry.model for kind, entry in table.items()} for s, table in self.tables.items()}

    def fingerprint(self, plugin: Plugin) -> dict[str, Any]:
        """Distribution, version, API version, and the hash of the source that it was imported from."""
        module = self.modules[plugin.name]
        return {
            "distribution": plugin.distribution,
            "version": plugin.version,
            "api": getattr(module, "MINUSGRAD_API", hookspecs.API_VERSION),
            "source": self._hashes[plugin.name],
        }

    @property
    def texts(self) -> dict[str, str]:
        """The source of each energy at hand, by its name."""
        found = {name: getattr(module, TEXT, None) for name, module in self.modules.items()}
        return {name: text for name, text in found.items() if text is not None}

    @property
    def old_names(self) -> list[OldName]:
        """Former names of kinds and keys, of all plugins."""
        return [one for some in self._old.values() for one in some]

    # Entering plugins

    @contextmanager
    def _isolated(self, name: str) -> Iterator[None]:
        """Keep the error of a plugin, whose kinds are then not there. That of the core is raised."""
        try:
            yield
        except PluginError as error:
            if name == "core":
                raise
            self.broken[name] = error
            self._forget(name)

    def _forget(self, name: str) -> None:
        for known in (self.plugins, self.modules, self._old, self._warnings):
            known.pop(name, None)
        self._forget_kinds(name)

    def _add_installed(self, name: str, points: Mapping[str, Any]) -> None:
        """Note what the plugin registers; load it where that is unknown, or another has one of its kinds."""
        if name not in points:
            raise PluginError(unknown("plugin", name, points, "installed"))
        point = only(points[name])
        plugin, found = described(point), kind_index.known(described(point))
        if found is None or any((s, kind) in self._owners for s, kind, _ in found.rows()):
            self._add(plugin, point.load)
            kind_index.keep(plugin, self.index_of(name))
            return
        self.plugins[name], self._waiting[name] = plugin, Waiting(plugin, point.load, found)
        self._owners |= {(section, kind): name for section, kind, _ in found.rows()}
        self._old[name] = [*found.old_names]

    def add(self, file: "PluginSource") -> None:
        """A plugin that is a file, a module or an energy at hand; without hooks, its energies are taken."""
        if isinstance(file, (LocalEnergy, Staged)):
            file = module_of(file)
        if not isinstance(file, (ModuleType, Path, str)):
            raise PluginError(
                f"plugins: must be files, modules or energies, got {_kind_of(file)}; give a file's name"
            )
        if isinstance(file, ModuleType):
            self._add(Plugin(file.__name__, "module", "at hand", file.__name__), lambda: file, bare=True)
        else:
            path = Path(file)
            self._add(_file_plugin(path), lambda: _imported(path), bare=True)

    def _add(self, plugin: Plugin, importer: Callable[[], Any], bare: bool = False) -> None:
        """Load one plugin, or nothing of it; `bare` ones need no hooks."""
        if plugin.name in self.plugins:
            raise PluginError(f"{plugin} has the name of {self.plugins[plugin.name]}; rename it")
        try:
            self._load(plugin, importer, bare)
        except PluginError:
            self._forget(plugin.name)
            raise

    def _load(self, plugin: Plugin, importer: Callable[[], Any], bare: bool = False) -> None:
        """Import one plugin and enter all that it registers; entries that are in use stay."""
        module, waiting = self._opened(plugin, importer), self._waiting.get(plugin.name)
        found: dict[tuple[str, str], Entry] = {}
        for section, kind, entry in self._registered(plugin, module, bare):
            owner = self._owners.get((section, kind))
            if (section, kind) in found or owner not in (None, plugin.name):
                other = self.plugins.get(owner or "", plugin)
                raise PluginError(f"{plugin} registers {section} '{kind}'{_again(plugin, other)}")
            found[section, kind] = self._tables[section].get(kind, entry)
        warnings, old = [*self._given_warnings(plugin)], self._old_names(plugin)
        self._forget_kinds(plugin.name)
        for (section, kind), entry in found.items():
            self._tables[section][kind] = entry
            self._owners[section, kind] = plugin.name
        self.plugins[plugin.name] = plugin
        self._warnings[plugin.name], self._old[plugin.name] = warnings, old
        if waiting is not None:
            kind_index.keep(plugin, self.index_of(plugin.name))

    def _forget_kinds(self, name: str) -> None:
        """The kinds that the index has of a plugin: those that it registers take their place."""
        self._waiting.pop(name, None)
        self._owners = {key: owner for key, owner in self._owners.items() if owner != name}
        for section, table in self._tables.items():
            self._tables[section] = {k: e for k, e in table.items() if e.owner.name != name}

    def _enter(self, waiting: Waiting, section: str, kind: str) -> None:
        """Enter one kind of a plugin from where the index says that it is; else load the whole plugin."""
        plugin, kinds = waiting.plugin, waiting.known.kinds
        if section == LOSS and kind in kinds.get("energy", {}):
            section = "energy"
        at = kinds[section][kind].get("at", "")
        defined = _defined(plugin, at) if at and plugin.distribution == OURS else None
        if defined is None:
            self._load(plugin, waiting.importer)
            return
        self._opened(plugin, waiting.importer)
        if section == LOSS:
            self._tables[LOSS][kind] = Entry(plugin, defined)
            return
        given = [defined] if section in ENERGIES else {kind: defined}
        of_kind = _energies if section in ENERGIES else _blocks
        for section_of, name, entry in of_kind(section)(plugin, given):
            self._tables[section_of].setdefault(name, entry)

    def _opened(self, plugin: Plugin, importer: Callable[[], Any]) -> ModuleType:
        """The plugin's module, imported once."""
        if plugin.name in self.modules:
            return self.modules[plugin.name]
        with blamed(plugin, "cannot be imported"):
            module = importer()
        _check(plugin, module)
        if plugin.distribution != OURS:
            home = getattr(module, "__name__", type(module).__module__)  # of a module, or of any object
            packages_of_others.add(home.partition(".")[0])
        with blamed(plugin, "does not fit the hooks"):
            self._manager.register(module, plugin.name)
        self.modules[plugin.name], self._hashes[plugin.name] = module, source_hash(module)
        return module

    def _registered(self, plugin: Plugin, module: ModuleType, bare: bool) -> Iterator[tuple[str, str, Entry]]:
        """Section, kind and entry of everything that the plugin's hooks return."""
        if bare and not any(hasattr(module, hook) for hook in hookspecs.HOOKS):
            defined = [v for v in _own_energies(module) if v not in self.named(v.name)]
            for section in MAKERS:
                some = [v for v in defined if isinstance(v, KINDS[section])]
                defined = [v for v in defined if v not in some]
                yield from _energies(section)(plugin, some)
            yield from _energies("energy")(plugin, defined)
        if plugin.name == "core":
            yield from ((LOSS, kind, Entry(plugin, model)) for kind, model in LOSSES.items())
        for hook, section in hookspecs.HOOKS.items():
            for given in self._given(plugin, hook):
                of_kind = _energies if section in ENERGIES else _blocks
                yield from of_kind(section)(plugin, given)

    def given(self, hook: str, whole: bool = True) -> Iterator[tuple[Plugin, Any]]:
        """What a hook gives that is no kind of a scene, of every plugin.

        whole: plugins are loaded with all of their kinds; else their modules alone are imported.
        """
        if whole:
            self.complete()
        for name, waiting in [*self._waiting.items()]:
            with self._isolated(name):
                self._opened(waiting.plugin, waiting.importer)
        for plugin in [*self.plugins.values()]:
            yield from ((plugin, one) for one in self._given(plugin, hook))

    def _given(self, plugin: Plugin, hook: str) -> Iterator[Any]:
        """What a hook of the plugin gives, if it has that hook."""
        for implementation in getattr(self._manager.hook, hook).get_hookimpls():
            if implementation.plugin_name == plugin.name:
                with blamed(plugin, f"{hook} failed"):
                    given = implementation.function()
                yield given

    def _old_names(self, plugin: Plugin) -> list[OldName]:
        """The old names of the plugin. Raises `PluginError` for anything else."""
        found: list[OldName] = []
        for given in self._given(plugin, hookspecs.OLD_NAMES):
            if not isinstance(given, Sequence) or not all(isinstance(one, OldName) for one in given):
                what = f"{plugin}: {hookspecs.OLD_NAMES}"
                raise PluginError(f"{what} gives {_kind_of(given)}, not a list of OldName")
            found += given
        return found

    def _given_warnings(self, plugin: Plugin) -> Iterator[Callable[[Any, int], str]]:
        for implementation in self._manager.hook.register_warnings.get_hookimpls():
            if implementation.plugin_name == plugin.name:
                with blamed(plugin, f"{hookspecs.WARNINGS} failed"):
                    given: list[Any] = list(cast(Iterable[Any], implementation.function()))
                if strange := next((one for one in given if not callable(one)), None):
                    raise PluginError(
                        f"{plugin}: {hookspecs.WARNINGS} gives {_kind_of(strange)}, not a function"
                    )
                yield from given

    def warnings(self, stepper: Any, steps: int) -> list[str]:
        """What plugins warn of, before so many steps of a stepper are taken. Raises `PluginError`."""
        found = []
        for name, plugin in [*self.plugins.items()]:
            for asked in self._warnings_of(name):
                with blamed(plugin, "cannot be asked for warnings"):
                    found.append(asked(stepper, steps))
        return [text for text in found if text]

    def _warnings_of(self, name: str) -> list[Callable[[Any, int], str]]:
        """The warnings of a plugin, which is imported for them."""
        waiting = self._waiting.get(name)
        if waiting is not None and waiting.known.warns and name not in self._warnings:
            self._opened(waiting.plugin, waiting.importer)
            self._warnings[name] = [*self._given_warnings(waiting.plugin)]
        return self._warnings.get(name, [])


def _defined(plugin: Plugin, at: str) -> Any:
    """What an index's "module:name" says; None where it is not there."""
    module, _, name = at.partition(":")
    table, _, key = name.partition(".")
    with blamed(plugin, "cannot be imported"), suppress(ModuleNotFoundError, AttributeError, KeyError):
        found = getattr(import_module(module), table)
        return found[key] if key else found
    return None


def _with_forms(entry: Entry) -> list[LocalEnergy | Staged]:
    """The energy of an entry, and that of the same solid in plane stress."""
    found = (entry.energy, getattr(entry.energy, "plane_stress", None))
    return [energy for energy in found if energy is not None]


def _own_energies(module: ModuleType) -> list[LocalEnergy | Staged]:
    """A module's energies, each object once; those under a private name only if no public one is called so.

    IPython keeps the last results under `_`, `_2`, ..., an earlier version of an energy among them.
    """
    found = {n: v for n, v in vars(module).items() if isinstance(v, (LocalEnergy, Staged))}
    public = {v.name for n, v in found.items() if not n.startswith("_")}
    kept = [v for n, v in found.items() if not n.startswith("_") or v.name not in public]
    return list({id(v): v for v in kept}.values())


def energies_of_file(path: Path) -> tuple[ModuleType, list[LocalEnergy | Staged]]:
    """A Python file as a module, and its energies. Raises `PluginError` where it cannot be imported."""
    with blamed(_file_plugin(path), "cannot be imported"):
        module = _imported(path)
    return module, _own_energies(module)


def _file_plugin(path: Path) -> Plugin:
    return Plugin(path.stem, "file", path.name, str(path))


def module_of(energy: LocalEnergy | Staged) -> ModuleType:
    """A module that holds one energy, with the source of its function, which need not be in a file."""
    function = energy.function if isinstance(energy, LocalEnergy) else energy.stages[0].kernel
    module = ModuleType(energy.name, f"The energy '{energy.name}'.")
    with suppress(OSError, TypeError):
        module.__file__ = inspect.getsourcefile(inspect.unwrap(function))
    setattr(module, TEXT, source_text(energy))
    setattr(module, energy.name, energy)
    return module


def _again(plugin: Plugin, owner: Plugin) -> str:
    """The rest of the message for a kind that is registered a second time: whose it is, and the cure."""
    if owner is plugin:
        return " twice; give one of them another name"
    fixed = owner.name == "core" or owner.distribution in ("file", "module")
    listed = "" if fixed else f", or list `plugins` in the scene without '{owner.name}'"
    return f", which belongs to {owner}; give it another name{listed}"


def _energies(section: str) -> Callable[[Plugin, Any], Iterator[tuple[str, str, Entry]]]:
    def entries(plugin: Plugin, given: Any) -> Iterator[tuple[str, str, Entry]]:
        what = f"{plugin}: {_hook_of(section)}"
        if not isinstance(given, Sequence):
            raise PluginError(f"{what} gives {_kind_of(given)}, not a list of energies")
        for energy in given:
            own = next((s for s in MAKERS if isinstance(energy, KINDS[s])), "")
            if not isinstance(energy, KINDS[section]) or own != (section if section in MAKERS else ""):
                maker = MAKERS.get(section, "an energy made by @local_energy")
                raise PluginError(f"{what} gives {_kind_of(energy)}, not {maker}")
            with blamed(plugin, f"{section} '{energy.name}' cannot stand in a scene"):
                model = magnetic_model(energy) if section == "magnetic" else energy_model(energy)
            yield section, energy.name, Entry(plugin, model, energy)
            if section == "energy" and (loss := loss_model(model)) is not None:
                yield LOSS, energy.name, Entry(plugin, loss, energy)

    return entries


def _blocks(section: str) -> Callable[[Plugin, Any], Iterator[tuple[str, str, Entry]]]:
    def entries(plugin: Plugin, given: Any) -> Iterator[tuple[str, str, Entry]]:
        what = f"{plugin}: {_hook_of(section)}"
        if not isinstance(given, Mapping):
            raise PluginError(f"{what} gives {_kind_of(given)}, not a table from kind to model")
        for kind, model in given.items():
            if not (isinstance(kind, str) and isinstance(model, type) and issubclass(model, BaseModel)):
                raise PluginError(f"{what} gives {kind!r}: {_kind_of(model)}, not a name and a Record")
            if not callable(getattr(model, "make", None)):
                raise PluginError(f"{what}: '{kind}' has no method `make(self, context)`")
            yield section, kind, Entry(plugin, with_sides(model) if section == "state" else model)

    return entries


def _hook_of(section: str) -> str:
    return next(hook for hook, s in hookspecs.HOOKS.items() if s == section)


def _kind_of(value: Any) -> str:
    return (
        f"the class {value.__name__}"
        if isinstance(value, type)
        else f"a value of type {type(value).__name__}"
    )


def _check(plugin: Plugin, module: Any) -> None:
    """Refuse objects that are no module, another API, and hooks that pluggy would silently ignore."""
    if not isinstance(module, ModuleType):
        raise PluginError(f"{plugin}: '{plugin.target}' is {_kind_of(module)}, not a module")
    api = getattr(module, "MINUSGRAD_API", hookspecs.API_VERSION)
    if api != hookspecs.API_VERSION:
        raise PluginError(f"{plugin} is written for plugin API {api}; this is {hookspecs.API_VERSION}")
    known = [*hookspecs.HOOKS, *hookspecs.OTHERS]
    for name, value in vars(module).items():
        marked = isinstance(getattr(value, f"{hookspecs.GROUP}_impl", None), dict)
        if marked and name not in known:
            raise PluginError(f"{plugin}: {unknown('hook', name, known)}")
        if name in known and not marked:
            raise PluginError(f"{plugin}: '{name}' is not marked with @hookimpl")


@contextmanager
def blamed(plugin: Plugin, what: str, but: tuple[type[BaseException], ...] = ()) -> Iterator[None]:
    """Whatever a plugin's code raises, an exit included, as a `PluginError` that names it and the place."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, GeneratorExit, *but)) or error in late_import.failed:
            raise
        own = Path(plugin.target).name.partition(":")[0].partition(".")[0]
        files = [(Path(f.filename), f.lineno) for f in traceback.extract_tb(error.__traceback__)]
        place = next((f" at {f.name}:{n}" for f, n in reversed(files) if own in (*f.parts, f.stem)), "")
        text = " ".join(f"{type(error).__name__}: {error}".removesuffix(": ").split())
        raise PluginError(f"{plugin} {what}{place}: {text}") from error


def _imported(path: Path) -> ModuleType:
    """The file as a module; it may import modules beside it, after those of the same name elsewhere."""
    refuse_special(path)
    if not path.is_file():
        beside = sorted(str(one) for one in path.parent.glob("*.py"))
        raise FileNotFoundError(f"no file {path}{suggestion(str(path), beside)}")
    name = f"minusgrad_file_{path.stem}"
    add_folder(str(path.parent.resolve()))
    return import_file(name, str(path))


def source_hash(module: ModuleType) -> str:
    """SHA-256 over the plugin's Python files: the file, or all files of its package."""
    if (text := getattr(module, TEXT, None)) is not None:
        return hashlib.sha256(text.encode()).hexdigest()
    file = Path(getattr(module, "__file__", None) or "")
    files = sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]
    digest = hashlib.sha256()
    for one in files:
        if one.is_file():
            name = one.relative_to(file.parent).as_posix().encode()
            digest.update(name + b"\0" + one.read_bytes() + b"\0")
    return digest.hexdigest()
