"""Addresses: dotted names of the values of a scene, the same on the command line and in all its tables.

    stepper.dt, energy.0.G, state.size.0         a section of the scene, and what lies below it
    gravity.G, load.traction.1, misfit.sigma     a part by its name, or else its kind, and a key of its block
    grip.angle                                   a number of a hold by the hold's name

Elements of lists have numbers, and those with a `name` that too: state.planets.earth.mass. No part has the
name of a section. Of parts of one name those of the system come before observers, and these before losses.

Decisions 0109.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import UserError, choices, printable
from .toml_positions import KeyPath

SYSTEM = ("map", "slope", "energy", "compound", "lagrangian", "dissipation", "magnetic", "constraint", "hold")
"""Sections whose parts make the system that moves; their names come first."""
HOLD = "hold"
TURNING = ("angle", "rate")
"""Numbers of a hold that its block has in the table `rotation`."""


def path_of(data: Mapping[str, Any], address: Sequence[str], sections: Collection[str]) -> list[str]:
    """The path in a scene's data that an address means; an address that begins with a section is one.

    sections: the keys of a scene; where they are a mapping, each with the keys below it. Raises `UserError`
    for a name that no part has, or several have, and for a key without its section.
    """
    first, *rest = address
    if first in sections:
        return [*address]
    if not rest:
        if meant := addresses_of_key(data, first, sections):
            raise UserError(
                f"no section of a scene is named '{printable(first)}'; write {' or '.join(meant)}"
            )
        return [*address]
    named = parts(data)
    found = named.get(first, [])
    if not found:
        for name, (place, *_) in named.items():
            if (kind := value_at(data, place).get("kind")) == first:
                path = ".".join(map(str, place))
                raise UserError(
                    f"{path}, of kind '{kind}', is named '{name}'; write {'.'.join([name, *rest])}"
                )
        listed = choices(first, [*named, *sections])
        raise UserError(f"no section and no part of the scene is named '{printable(first)}'{listed}")
    if len(found) > 1:
        paths = " or ".join(".".join(map(str, (*path, *rest))) for path in found)
        raise UserError(f"'{first}' is the name of {len(found)} parts of the scene; write {paths}")
    inner = ["rotation"] if found[0][0] == HOLD and rest[0] in TURNING else []
    return [*map(str, found[0]), *inner, *rest]


def addresses_of_key(data: Mapping[str, Any], key: str, sections: Collection[str]) -> list[str]:
    """The addresses at which a scene has this key, or may have it: `stepper.dt`, `runtime.threads`."""
    below = sections if isinstance(sections, Mapping) else {}
    given = {section: table for section, table in data.items() if isinstance(table, Mapping)}
    found = [f"{s}.{key}" for s in sections if key in below.get(s, ()) or key in given.get(s, ())]
    for name, places in parts(data).items():
        whole = name if len(places) == 1 else ""
        for place in places:
            if key in value_at(data, place):
                found.append(f"{whole or '.'.join(map(str, place))}.{key}")
    return found


def with_joined_names(
    data: Mapping[str, Any], path: Sequence[str], value: Any, tables: "Mapping[tuple[str, ...], NamedTables]"
) -> list[str]:
    """The path of an override with the dotted name of a parameter as one key, as scenes have it in quotes.

        fit.parameters.magnets.strength.lower     ["fit", "parameters", "magnets.strength", "lower"]

    tables: the tables whose keys are addresses. value: of the override.
    """
    for place, known in tables.items():
        rest = path[len(place) :]
        if tuple(path[: len(place)]) != place or len(rest) < 2:
            continue
        there = _existing(data, place)
        for count in range(len(rest), 0, -1):
            if ".".join(rest[:count]) in there:
                return [*place, ".".join(rest[:count]), *rest[count:]]
        own = next((n for n in (2, 1, 0) if n < len(rest) and known.has(rest[len(rest) - n :], value)), 0)
        count = len(rest) - own
        return [*place, ".".join(rest[:count]), *rest[count:]]
    return [*path]


class NamedTables(NamedTuple):
    """Tables by name, all of the same keys; `inner`: the keys of those below them."""

    keys: Collection[str]
    inner: Mapping[str, Collection[str]]

    def has(self, path: Sequence[str], value: Any) -> bool:
        """True if the table may have this value at this path below it; () means the whole table."""
        if not path:
            return isinstance(value, Mapping)
        first, *more = path
        if first in self.inner:
            below = [*more] or [*value] if isinstance(value, Mapping) or more else ["?"]
            return all(key in self.inner[first] for key in below)
        return first in self.keys and not more and not isinstance(value, Mapping)


def _existing(data: Mapping[str, Any], place: KeyPath) -> Collection[str]:
    """The keys of a table that a scene has; none where it has no such table."""
    here: Any = data
    for step in place:
        here = here.get(step) if isinstance(here, Mapping) else None
    return here.keys() if isinstance(here, Mapping) else ()


def parts(data: Mapping[str, Any]) -> dict[str, list[KeyPath]]:
    """The places of the parts of each name: in the system, else of observers, else of losses."""
    fit = data.get("fit")
    groups: list[list[tuple[KeyPath, Any]]] = [
        [((section,), data.get(section)) for section in SYSTEM],
        [(("observe",), data.get("observe"))],
        [(("fit", "loss"), fit.get("loss") if isinstance(fit, Mapping) else None)],
    ]
    found: dict[str, list[KeyPath]] = {}
    for group in groups:
        own: dict[str, list[KeyPath]] = {}
        for path, tables in group:
            for number, table in enumerate(tables if isinstance(tables, (list, tuple)) else ()):
                if (name := name_of(str(path[0]), table)) is not None:
                    own.setdefault(name, []).append((*path, number))
        found |= {name: places for name, places in own.items() if name not in found}
    return found


def name_of(section: str, table: Any) -> str | None:
    """The name of a part: the `name` in its table, else its kind, and of a hold that of its bodies."""
    if not isinstance(table, Mapping):
        return None
    name = table.get("name", table.get("kind"))
    if name is None and section == HOLD:
        name = table.get("body")
        name = "_".join(map(str, name)) if isinstance(name, (list, tuple)) else name
    return name if isinstance(name, str) else None


def value_at(data: Any, path: KeyPath) -> Any:
    """What stands at a path of the data."""
    for step in path:
        data = data[step]
    return data


def names_in(value: Any) -> dict[str, str | int]:
    """What an address may go on with below a value: keys, or numbers and names of elements."""
    if isinstance(value, dict):
        return {name: name for name in value}
    if not isinstance(value, list):
        return {}
    names = [one.get("name") if isinstance(one, dict) else None for one in value]
    single: dict[str, str | int] = {
        one: k for k, one in enumerate(names) if isinstance(one, str) and names.count(one) == 1
    }
    return single | {str(k): k for k in range(len(value))}


def called_as_sections(data: Mapping[str, Any], sections: Collection[str]) -> Iterator[tuple[KeyPath, str]]:
    """The keys that give parts the name of a section, with the mistake; of holds only those that move."""
    for name, places in parts(data).items():
        for place in places if name in sections else ():
            table = value_at(data, place)
            if place[0] == HOLD and not table.keys() & {"displacement", "velocity", "rotation"}:
                continue  # it has no number that an address could mean
            key = next(key for key in ("name", "kind", "body") if key in table)
            cure = "give it another name" if key == "name" else "give it a `name`"
            yield (*place, key), f"needs a name that no section of a scene has, got '{name}'; {cure}"
