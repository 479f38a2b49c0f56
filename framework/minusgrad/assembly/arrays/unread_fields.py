"""Fields of a state of arrays that nothing reads: a misspelt name would silently leave its default.

A field is read by a term, map, slope, dissipation, magnetic field, constraint, motion, hold or grid, or is
named in the block of the stepper or of an observer, in a fit or an ensemble. Steppers, observers and
compounds of plugins may read any field; those of this distribution, none that is called mass or velocity. A
label keeps a field that is only recorded.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np

from ...energies.fields import BOX, POSITIONS, Motion, State
from ...errors import EnergyError
from ...potential.potential import Potential
from ...steppers.systems.missing_motions import motion_line

NAMING = ("stepper", "observe", "hold", "slope", "compound", "fit", "ensemble")
"""The sections that may name a field."""
USUAL = {
    "m": ("mass", "masses", "inertia", "M"),
    "v": ("velocity", "velocities", "vel", "vels", "V"),
    "x": ("position", "positions", "pos", "coordinates", "coords", "r", "X"),
    "charge": ("charges", "q"),
}
"""Other names that a user may give to the usual fields."""
MISTAKEN = frozenset(USUAL["m"] + USUAL["v"])
"""Names that no block of this distribution reads."""


def refuse_unread(
    state: State,
    labelled: Iterable[str],
    potentials: Iterable[Potential],
    data: Mapping[str, Any],
    among: Iterable[str] | None = None,
) -> None:
    """Raise `EnergyError` for the first field that is read by nothing.

    labelled: the fields that the scene labels. potentials: all that is evaluated. data: the whole scene.
    among: the names that are refused (default: all).
    """
    read = {POSITIONS, BOX, *labelled}
    for one in potentials:
        read |= one.reads
    if not state.motions:
        read.add("m")  # nothing moves by it
    for motion in state.motions:
        read |= {motion.position, motion.velocity, str(motion.inertia)}
    read |= {name for grid in state.grids.values() for name in grid.fields}
    read |= {hold.field for hold in state.holds}
    for section in NAMING:
        read |= set(_words(data.get(section)))
    for name in state.fields if among is None else state.fields.keys() & among:
        if name not in read:
            found = f"fields/{name}: is read by nothing, got {len(state.fields[name])} values"
            keeps = (
                f'labels = {{ {name} = "{name}" }} keeps a field that is only recorded, or used by callbacks'
            )
            if meant := _missing_motion(name, state, read):
                raise EnergyError(
                    f"{found}, and nothing moves; if it is the velocity of '{meant.position}', say so:"
                    f" {motion_line(meant)} ({keeps})"
                )
            raise EnergyError(
                f"{found}; rename it{_meant(name, read)}, or leave it out (inertia is 'm' and velocity is"
                f" 'v'; {keeps})"
            )


def _missing_motion(name: str, state: State, read: Iterable[str]) -> Motion | None:
    """The motion that is probably meant where nothing moves: this field may be the velocity of a read one."""
    if state.motions or name in MISTAKEN or POSITIONS in state.fields:
        return None
    shape = np.shape(state.fields[name])
    alike = [
        one for one in state.fields if one in read and one != "m" and np.shape(state.fields[one]) == shape
    ]
    return Motion(alike[0], name, "m" if "m" in state.fields else 1.0) if alike else None


def _meant(name: str, read: Iterable[str]) -> str:
    """The name that is probably meant, after a space."""
    usual = [own for own, others in USUAL.items() if name in others]
    close = usual or get_close_matches(name, sorted(read), n=1)
    return f" '{close[0]}'" if close else ""


def _words(given: Any) -> Iterator[str]:
    """All words in the keys and values of tables."""
    if isinstance(given, str):
        yield from re.findall(r"\w+", given)
    elif isinstance(given, Mapping):
        for key, value in given.items():
            yield from _words(key)
            yield from _words(value)
    elif isinstance(given, (list, tuple)):
        for value in given:
            yield from _words(value)
