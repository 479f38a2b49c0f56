"""The public API, one line for each name: what CHANGELOG.md has to name before it may change.

python -m tests.project.public_api            prints what differs from public_api.txt
python -m tests.project.public_api --write    writes it, once the changelog names all that is gone or changed

    minusgrad:Rollout.evaluate  (self, wrt)               a name of a door, its arguments and their defaults
    energy:gravity  < PairBlock                           a kind, and the groups whose keys it has, too
    energy:gravity.G  quantity [m^3 kg^-1 s^-2] = "..."   a key: values, unit, default
    PairBlock.cutoff  quantity [m] = none                 a key of all kinds of a group
    table:run.steps  whole number = required              a key of a table without kinds
    format:checkpoint  3.0                                a file format and its version

Groups only make the file short: a key that moves from one to another is no change. Types of arguments are
mypy's matter. An unreleased item of the changelog names a change if the last two words of the name stand
there in backticks, `gravity.G`, or `Rollout` and `evaluate`; of a key that changes alike in four kinds the
last word will do. `*_plane_stress` names all that match.
"""

import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from pydantic import BaseModel

from minusgrad.assembly.hookspecs import API_VERSION
from minusgrad.assembly.registry import Registry
from minusgrad.files import checkpoint, vtkhdf
from minusgrad.scene.key_table import Key, rows, tables
from minusgrad.scene.state_tables.sides_table import declared_model
from minusgrad.sweeps import folder
from tests.project.package_map import ROOT

FILE = ROOT / "tests" / "project" / "public_api.txt"
CHANGELOG = ROOT / "CHANGELOG.md"
DETAILS = ROOT / "docs" / "changes"
UNNAMED = "neither CHANGELOG.md, unreleased, nor its page in docs/changes names"
DOORS = (
    "minusgrad",
    "minusgrad.plugin",
    "minusgrad.testing",
    "minusgrad.torch",
    "minusgrad.ase",
    "minusgrad.openmm",
)
NEEDS = {"minusgrad.ase": "ase", "minusgrad.openmm": "openmm"}
MANY = 4
"""Kinds in which a key changes alike from which on the changelog need not name each."""
FORMATS = {
    "checkpoint": ".".join(map(str, checkpoint.VERSION)),
    "plugin API": str(API_VERSION),
    "sweep": str(folder.FORMAT),
    "VTKHDF": ".".join(map(str, vtkhdf.VERSION)),
}


def present() -> list[str]:
    """The lines of the public API as it is now, sorted."""
    formats = [f"format:{name}  {version}" for name, version in FORMATS.items()]
    return sorted([*_doors(), *_scenes(), *formats])


# Names and signatures -----------------------------------------------------------------------------------


def installed(door: str) -> bool:
    """True if the program of an adapter is installed, so that its door opens."""
    return door not in NEEDS or find_spec(NEEDS[door]) is not None


def _doors() -> Iterator[str]:
    seen: dict[int, str] = {}
    for door in filter(installed, DOORS):
        module = import_module(door)
        for name in _names(module):
            one = getattr(module, name)
            if id(one) in seen and callable(one):
                yield f"{door}:{name}  is {seen[id(one)]}"
                continue
            seen[id(one)] = f"{door}:{name}"
            yield from _described(f"{door}:{name}", one)


def _names(module: Any) -> list[str]:
    """The names of a door; `from minusgrad import *` leaves out one that is Python's, too."""
    homes = " ".join(getattr(module, "_HOMES", {}).values()).split()
    return [*module.__all__, *sorted({*homes} - {*module.__all__})]


def _described(name: str, one: Any) -> Iterator[str]:
    """The lines of a function, a class with its methods, a module with its functions, or a value."""
    if inspect.ismodule(one):
        yield f"{name}  module"
        for inner, value in _public(one):
            if getattr(value, "__module__", "") == one.__name__:
                yield f"{name}.{inner}  {signature(value)}"
    elif inspect.isclass(one):
        yield f"{name}  {signature(one)}"
        for inner, value in sorted(_members(one).items()):
            yield f"{name}.{inner}  {signature(value)}"
    else:
        yield f"{name}  {signature(one)}" if callable(one) else f"{name}  {type(one).__name__}"


def _public(one: ModuleType) -> Iterator[tuple[str, Any]]:
    return ((n, v) for n, v in sorted(vars(one).items()) if callable(v) and not n.startswith("_"))


def _members(one: type) -> dict[str, Any]:
    """Methods and properties that a class of ours has, inherited ones of ours included."""
    ours = [base for base in reversed(one.__mro__) if base.__module__.startswith("minusgrad")]
    found = {n: v for base in ours for n, v in vars(base).items() if not n.startswith("_")}
    return {
        n: v
        for n, v in found.items()
        if callable(v) or isinstance(v, (property, classmethod, staticmethod, cached_property))
    }


def signature(one: Any) -> str:
    """`(x, steps=None, *, seed=0)`, or "property"."""
    if isinstance(one, (property, cached_property)):
        return "property"
    try:
        found = inspect.signature(one.__func__ if isinstance(one, (classmethod, staticmethod)) else one)
    except (ValueError, TypeError):
        return "(...)"
    parameters = [
        p.replace(annotation=p.empty, default=_Shown.of(p.default)) for p in found.parameters.values()
    ]
    return str(found.replace(parameters=parameters, return_annotation=found.empty))


class _Shown:
    """A default whose text is the same in each process and version of Python."""

    def __init__(self, text: str):
        self.text = text

    @classmethod
    def of(cls, value: Any) -> Any:
        if value is inspect.Parameter.empty or isinstance(value, (bool, int, float, str, tuple, type(None))):
            return value
        text = repr(value)
        return cls(text if " at 0x" not in text and len(text) < 60 else f"<{type(value).__name__}>")

    def __repr__(self) -> str:
        return self.text


# Kinds and keys of scenes -------------------------------------------------------------------------------


def _scenes() -> Iterator[str]:
    every = Registry.load().models().items()
    models = {(s, k): declared_model(m) for s, kinds in every for k, m in kinds.items()}
    labels: dict[type, str] = {}
    for (section, kind), model in models.items():
        labels.setdefault(model, f"{section}:{kind}")
    above = Counter(base for model in models.values() for base in model.__mro__[1:] if _has_keys(base))
    labels |= {base: base.__name__ for base in above if base not in labels}
    shared = [label for label, count in Counter(labels.values()).items() if count > 1]
    assert not shared, f"two models of keys have one name: {shared}; rename one"
    kinds = {f"{section}:{kind}": model for (section, kind), model in models.items()}
    for name, model in (kinds | {label: model for model, label in labels.items()}).items():
        yield " ".join([f"{name}  <", *(labels[base] for base in _groups(model, labels))])
    for model, label in labels.items():
        inherited = [key for base in _groups(model, labels) for key in rows(base)]
        yield from (f"{label}.{_text(key)}" for key in rows(model) if key not in inherited)
    for name, model in tables().items():
        yield from (f"table:{name}.{_text(key)}" for key in rows(model))


def _has_keys(one: type) -> bool:
    return issubclass(one, BaseModel) and one.__module__.startswith("minusgrad") and bool(one.model_fields)


def _groups(model: type, labels: dict[type, str]) -> list[type[BaseModel]]:
    """The groups that a model has, without those that one of them has."""
    bases = [base for base in model.__mro__[1:] if base in labels]
    own = [base for base in bases if labels[base] != labels.get(model)]
    return [base for base in own if not any(base in other.__mro__[1:] for other in own)]


def _text(key: Key) -> str:
    unit = f" [{key.unit}]" if key.unit else ""
    return f"{key.name}  {key.values}{unit} = {key.default or 'none'}"


# Differences --------------------------------------------------------------------------------------------


def expanded(lines: list[str]) -> dict[str, str]:
    """The API without groups: by name what is said of it."""
    said = dict(line.split("  ", 1) for line in lines)
    groups = {name: text.split()[1:] for name, text in said.items() if text.startswith("<")}
    own: dict[str, dict[str, str]] = {name: {} for name in groups}
    for name, text in said.items():
        owner, _, key = name.partition(".")
        if key and owner in groups:
            own[owner][key] = text

    def keys(name: str) -> dict[str, str]:
        inherited = [keys(group) for group in reversed(groups[name])]
        return {key: text for one in (*inherited, own[name]) for key, text in one.items()}

    found = {name: text for name, text in said.items() if name.partition(".")[0] not in groups}
    for kind in (name for name in groups if ":" in name):
        found |= {kind: "kind", **{f"{kind}.{key}": text for key, text in keys(kind).items()}}
    return found


def differences(before: list[str], after: list[str]) -> list[tuple[str, str | None, str | None]]:
    """What differs between two states of the API: the name, and what it said and says; None: nothing."""
    old, new = expanded(before), expanded(after)
    return [(n, old.get(n), new.get(n)) for n in sorted({*old, *new}) if old.get(n) != new.get(n)]


def unnamed(changes: list[tuple[str, str | None, str | None]], changelog: str) -> list[str]:
    """The names that are gone or changed and that no unreleased item of the changelog names."""
    items = [{*re.findall(r"[\w*]+", " ".join(re.findall(r"`([^`]+)`", item)))} for item in _items(changelog)]
    gone = {name for name, _, new in changes if new is None}
    alike = Counter((name.rpartition(".")[2], old, new) for name, old, new in changes)
    missing = []
    for name, old, new in changes:
        if old is None or name.rpartition(".")[0] in gone:
            continue  # new; or a key of a kind, or a method of a class, that is gone itself
        words = re.findall(r"\w+", name.rpartition(":")[2])[-2:]
        if alike[name.rpartition(".")[2], old, new] >= MANY:
            words = words[-1:]
        if not any(all(any(fnmatch(word, seen) for seen in item) for word in words) for item in items):
            missing.append(name)
    return missing


def _items(changelog: str) -> list[str]:
    """The items of the section on what is not released yet."""
    section = re.search(
        r"^## [^\n]*unreleased\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL | re.IGNORECASE
    )
    return re.split(r"^- ", section[1], flags=re.MULTILINE)[1:] if section else []


def changelog() -> str:
    """The changelog, in which each unreleased section has the items of its page in `docs/changes`, too."""

    def detailed(heading: re.Match[str]) -> str:
        page = DETAILS / f"{heading[1]}.md"
        items = page.read_text() if page.is_file() else ""
        return heading[0] + re.sub(r"^#.*\n", "", items, flags=re.MULTILINE) + "\n"

    return re.sub(r"^## ([\d.]+), unreleased\n", detailed, CHANGELOG.read_text(), flags=re.MULTILINE)


def report(changes: list[tuple[str, str | None, str | None]], changelog: str) -> str:
    """The changes as a diff, and what the changelog lacks; empty if there are none."""
    signs = [(sign, name, text) for name, *both in changes for sign, text in zip("-+", both, strict=True)]
    lines = [f"{sign} {name}  {text}" for sign, name, text in signs if text is not None]
    if missing := unnamed(changes, changelog):
        lines.append(f"{UNNAMED}: {', '.join(missing)}; write what changed")
    return "\n".join(lines)


def written() -> list[str]:
    """The lines of the file, without those of doors that do not open here."""
    lines = FILE.read_text().splitlines() if FILE.exists() else []
    closed = tuple(f"{door}:" for door in DOORS if not installed(door))
    return [line for line in lines if not line.startswith(closed)] if closed else lines


def main(arguments: list[str]) -> int:
    """0 if the file is up to date, or was written; 1 if not."""
    lines = present()
    changes, noted = differences(written(), lines), changelog()
    if "--write" not in arguments:
        print(report(changes, noted) or "public_api.txt is up to date")
        return int(bool(changes))
    if missing := unnamed(changes, noted):
        print(f"not written: {UNNAMED}: {', '.join(missing)}")
        return 1
    if not all(map(installed, DOORS)):
        print("not written: install ase and openmm first, whose doors are a part of it")
        return 1
    FILE.write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
