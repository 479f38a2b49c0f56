"""`kinds`, `states`, `steppers`, `observers`: what a block of a scene can be, and the keys of one kind."""

from __future__ import annotations

import argparse
from pathlib import Path

from ...errors import UserError, unknown
from .shared_options import common_options, print_json, warn_of_broken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from pydantic import BaseModel

    from ...assembly.registry import Registry

TABLE = "table"
"""The section of tables of the core, which have no kind."""
HEAD = ("key", "values", "unit", "default", "meaning")


def kinds_options(parser: argparse.ArgumentParser) -> None:
    text = "a kind, such as network or leapfrog, or a table, such as hold (default: list all)"
    parser.add_argument("kind", nargs="?", metavar="NAME", help=text)
    common_options(parser)


def named_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", nargs="?", metavar="NAME", help="list the keys of this one")
    common_options(parser)


states_options = steppers_options = observers_options = named_options


def kinds(a: argparse.Namespace) -> int:
    return _listed(a, "kind", None)


def energy_keys(a: argparse.Namespace) -> int:
    """As `kinds` of the energy, map, constraint or other kind of this name."""
    return _listed(a, "energy", None)


def states(a: argparse.Namespace) -> int:
    return _listed(a, "state", "state")


def steppers(a: argparse.Namespace) -> int:
    return _listed(a, "stepper", "stepper")


def observers(a: argparse.Namespace) -> int:
    return _listed(a, "observer", "observe")


def _listed(a: argparse.Namespace, what: str, section: str | None) -> int:
    """List the kinds of a section (of all, where it is None), or the keys of those with the given name."""
    from ...assembly.registry import Registry
    from ..tables import print_table

    registry = Registry.load(None, a.plugin)
    rows = [*_core_tables(), *((*one[:3], one.row["about"]) for one in registry.listed())]
    rows = [one for one in rows if section in (None, one[0])]
    chosen = [one for one in rows if a.kind in (None, one[1])]
    if not chosen:
        raise _unknown(a.kind, what, section, registry)
    keys = ("section", "kind", "plugin", "description")
    found: list[dict[str, Any]] = [dict(zip(keys, one, strict=True)) for one in chosen]
    if a.kind is None:
        _print_list(found, keys[section is not None :], a.json)
        return warn_of_broken(registry)
    from ...scene.key_table import rows_of_kind

    for one in found:
        model = _model(registry, one["section"], one["kind"])
        one["keys"] = [key._asdict() for key in rows_of_kind(one["section"], one["kind"], model)]
    if a.json:
        print_json(found)
    else:
        shown: set[str] = set()
        for one in found:
            as_loss = one["section"] == "loss" and bool(shown)
            print("and as a loss of a fit, [[fit.loss]]:" if as_loss else _title(one))
            names = [tuple(key.values()) for key in one["keys"] if not (as_loss and key["name"] in shown)]
            print_table(HEAD, names)
            shown |= {key["name"] for key in one["keys"]}
    return warn_of_broken(registry)


def _unknown(kind: str, what: str, section: str | None, registry: Registry) -> UserError:
    """The error for a name that no kind of a section has: it may be that of another section, or of a file."""
    from ...assembly.origins.plugin_names import defining
    from ...assembly.registry import ENERGIES
    from ...assembly.validation import WHAT
    from ...scene.document import LISTING

    listed = [(TABLE, one[1]) for one in _core_tables()] + [one[:2] for one in registry.listed()]
    if elsewhere := next((of for of, name in listed if name == kind), None):
        noun = "table of a scene" if elsewhere == TABLE else WHAT[elsewhere]
        article = "an" if noun[0] in "aeiou" else "a"
        verb = LISTING.get(elsewhere, "kinds")
        return UserError(
            f"no {what} named '{kind}'; it is {article} {noun}: `minusgrad {verb} {kind}` shows it"
        )
    if files := defining(Path.cwd(), kind):
        return UserError(f"no {what} named '{kind}'; {files[0]} here defines it: add --plugin {files[0]}")
    sections = ("energy", *ENERGIES) if what == "energy" else () if section is None else (section,)
    known = [name for of, name in listed if not sections or of in sections]
    verb = LISTING.get(sections[0] if sections else "", "kinds")
    return UserError(unknown(what, kind, dict.fromkeys(known), "installed", verb))


def _print_list(found: list[dict[str, Any]], head: Sequence[str], as_json: bool) -> None:
    """Print a table of kinds, in which losses that are energies are one line; JSON has all of them."""
    from ..tables import print_table

    if as_json:
        print_json(found)
        return
    energies = {one["kind"] for one in found if one["section"] == "energy"}
    shown = [one for one in found if one["section"] != "loss" or one["kind"] not in energies]
    print_table(head, [tuple(str(one[name]) for name in head) for one in shown])
    if len(shown) < len(found):
        print("every energy is also a loss of a fit, [[fit.loss]]")


def _core_tables() -> list[tuple[str, str, str, str]]:
    """The tables of a scene that have no kind: section, name, plugin and first sentence."""
    from ...assembly.kinds.kind_rows import first_sentence
    from ...scene.key_table import tables

    return [(TABLE, name, "core", first_sentence(model)) for name, model in tables().items()]


def _model(registry: Registry, section: str, kind: str) -> type[BaseModel]:
    """The model of a kind, or of a table of the core."""
    from ...scene.key_table import tables

    if section == TABLE:
        return tables()[kind]
    entry = registry.entry(section, kind)
    if entry is None:
        raise registry.broken[next(one.plugin for one in registry.listed() if one[:2] == (section, kind))]
    return entry.model


def _title(one: dict[str, Any]) -> str:
    if one["section"] == TABLE:
        return str(one["description"])
    return f"{one['section']} '{one['kind']}' of plugin '{one['plugin']}': {one['description']}"
