"""The gravity of a scene about a dominant mass, recognised by its values: -G m_i m_j / r, and G by name.

The law is asked for at places about the origin and with masses of its own, so that the answer depends neither
on where the bodies are, nor on the size of their masses, nor on the rounding of both.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minusgrad.plugin import EnergyError, Motion, Potential, Term, choices

from .heliocentric_splitting import HeliocentricSplitting
from .kepler_splitting import KeplerSplitting

KIND = "wisdom_holman"
PARTS = (0.3, 1.0, 4.0)
"""Distances at which the law is asked for, in parts of the present one."""
MASSES = (1.0, 3.0)
"""Masses of the second body; the first has 1."""


COORDINATES = {"jacobi": KeplerSplitting, "democratic_heliocentric": HeliocentricSplitting}
"""By the name that a scene gives."""


def about(
    potential: Potential,
    motions: Sequence[Motion],
    central: int,
    energy: str | None = None,
    coordinates: str = "jacobi",
) -> KeplerSplitting:
    """The Kepler part of U about the node `central`; energy: the term of gravity, if there are several.

    Raises `EnergyError` for several motions, for bodies without masses of their own, for a central mass that
    is not larger than all others together, and where no term is -G m_i m_j / r between all of them.
    """
    if len(motions) != 1 or not isinstance(motions[0].inertia, str):
        raise EnergyError(f"{KIND}: needs one field that moves, with a field of masses; use gauss_radau")
    motion = motions[0]
    m = potential.fields[str(motion.inertia)].values.astype(np.float64)
    if not -len(m) <= central < len(m):
        raise EnergyError(
            f"{KIND}: `central` is a node from 0 to {len(m) - 1}, got {central}; give one of these"
        )
    others = float(m.sum() - m[central])
    if not m[central] > others:
        raise EnergyError(
            f"{KIND}: the central mass must be larger than all others together, got {m[central]:.6g} and"
            f" {others:.6g}; use gauss_radau, or another `central`"
        )
    if energy is not None and energy not in potential.terms:
        raise EnergyError(f"{KIND}: no energy is named '{energy}'{choices(energy, [*potential.terms])}")
    named = [energy] if energy is not None else [*potential.terms]
    found = [
        (name, p)
        for name in named
        if (p := _gravity_parameter(potential.terms[name], motion, len(m), central))
    ]
    if len(found) == 1:
        return COORDINATES[coordinates](potential, motion, central % len(m), *found[0])
    x, other = potential.fields[motion.position].values, (central + 1) % len(m)
    if other != central % len(m) and (x[central] == x[other]).all():
        raise EnergyError(
            f"{KIND}: needs bodies apart from each other, got nodes {central} and {other} in the same place;"
            " move one of them"
        )
    law = f"-G m_i m_j / r between all {len(m)} bodies"
    if found:
        several = " and ".join(f"'{name}'" for name, _ in found)
        raise EnergyError(f"{KIND}: several energies are {law}, got {several}; name one by `energy`")
    raise EnergyError(
        f"{KIND}: no energy is {law}, got {' and '.join(repr(n) for n in named) or 'none'}; set its softening"
        " to 0, or use gauss_radau"
    )


def _gravity_parameter(term: Any, motion: Motion, n: int, central: int) -> str | None:
    """The parameter G of a term that is -G m_i m_j / r between all nodes; None of another term."""
    found = strength_of(term, motion, n, central)
    return found[0] if found else None


def strength_of(term: Any, motion: Motion, n: int, central: int) -> tuple[str, float] | None:
    """The parameter G of a term that is -G m_i m_j / r between all nodes, and its value; None of another."""
    if not isinstance(term, Term):
        return None
    arguments = {field.name: a for a, field in term.fields.items()}
    if motion.position not in arguments or motion.inertia not in arguments:
        return None
    if not (term.elements.unordered and term.elements.arity == 2 and term.elements.count == n * (n - 1) // 2):
        return None
    value = term.energy.evaluator()
    given = term.arguments(0, [central, other := (central + 1) % n], 0.0)
    x, m = arguments[motion.position], arguments[str(motion.inertia)]
    places = term.fields[x].values.astype(np.float64)
    away = places[other] - places[central]
    r = float(np.linalg.norm(away))
    if not 0.0 < r < np.inf:
        return None

    def strength(part: float, mass: float = 1.0, **changed: float) -> float:
        """G from the energy at a distance."""
        here: dict[str, Any] = {x: [0.0 * away, part * away], m: [1.0, mass]}
        return -float(value(given | here | changed)) * part * r / mass

    found = [strength(part, mass) for part in PARTS for mass in MASSES]
    if not (found[0] > 0.0 and np.ptp(found) <= 1e-12 * found[0]):
        return None
    for name, parameter in term.parameters.items():
        if parameter.rows.size == 1:
            now = float(np.ravel(parameter.rows)[0])
            doubled = strength(1.0, **{name: 2.0 * now})
            if abs(now - found[0]) <= 1e-6 * found[0] and abs(doubled / found[0] - 2.0) <= 1e-12:
                return name, now
    return None
