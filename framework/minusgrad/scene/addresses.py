"""Addresses: dotted names of the values of a scene, the same on the command line and in all its tables.

    stepper.dt, energy.0.G, state.size.0         a section of the scene, and what lies below it
    gravity.G, load.traction.1, misfit.sigma     a part by its name, or else its kind, and a key of its block
    grip.angle                                   a number of a hold by the hold's name

Elements of lists have numbers, and those with a `name` that too: state.planets.earth.mass. No part has the
name of a section. Of parts of one name those of the system come before observers, and these before losses.

Decisions 0109.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ..errors import UserError, choices, printable
from .toml_positions import KeyPath

SYSTEM = ("map", "slope", "energy", "compound", "lagrangian", "dissipation", "magnetic", "constraint", "hold")
"""Sections whose parts make the system that moves; their names come first."""
HOLD = "hold"
TURNING = ("angle", "rate")
"""Numbers of a hold that its block has in the table `rotation`."""


def path_of(data: Mapping[str, Any], address: Sequence[str], sections: Collection[str]) -> list[str]:
    """The path in a scene's data that an address means; an address that begins with a section is one.

    sections: the keys of a scene. Raises `UserError` for a name that no part has, or several have.
    """
    first, *rest = address
    if first in sections or not rest:
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
