"""The start of a path of equilibria: what has none is refused, the state without load, and its tangent.

Decisions 0163.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ....errors import EnergyError, RunFailedError
from ....potential.constraints.constraints import Constraints
from ..cell_variables import CellVariables
from ..newton import Newton
from ..scaled_hessian import scaled_hessian
from ..soft_motions import soft_motions
from .path_equations import PathEquations, PathPoint
from .path_points import PathCorrector, PathMetric, PathPlane, PathState

STILL = 1e-10
"""Displacements by the load, of the extent of the body, that are none."""
BALANCED = 1e-8
"""The load along motions that nothing resists, in parts of the largest, that is none."""


def refuse_unfit(search: Newton, constraints: Constraints | None) -> None:
    """Raise `EnergyError` for what arc lengths have no rule for."""
    if search.potential.fields.dtype != np.float64:
        raise EnergyError(
            "arc_length: needs double precision, in which the signs of pivots are certain, got"
            f' {search.potential.fields.dtype.name}; write [runtime] precision = "f64"'
        )
    if isinstance(search.coordinates, CellVariables):
        raise EnergyError("arc_length: cannot follow a box that is sought, got 'box'; leave it out of fields")
    if search.coordinates.bounded:
        raise EnergyError("arc_length: unknowns have bounds, got some; leave `lower` and `upper` out")
    if search.solver.method not in ("auto", "cholesky", "superlu", "pardiso"):
        raise EnergyError(
            f"arc_length: needs factors, as matrices are indefinite beyond a limit point, got solver"
            f" '{search.solver.method}'; use solver = \"superlu\""
        )
    if constraints is not None and constraints.uses_time:
        raise EnergyError("arc_length: a constraint depends on the time, got one; leave it out")


def unloaded_state(
    search: Newton, equations: PathEquations, iterations: int, ways: Mapping[str, Any]
) -> tuple[PathState, float]:
    """The equilibrium without load, its way per load, and Z, the unit of displacements.

    iterations: the most corrections. ways: what changes with the load, by name. Raises `RunFailedError`
    where none is found, and where the load acts along a motion that nothing resists.
    """
    stays = search.unresisted()
    equations.rows = np.setdiff1d(np.arange(len(equations.variables)), stays)
    guess = equations.read(equations.multipliers(), 0.0)
    corrector = PathCorrector(equations, PathMetric(1.0, equations.size), iterations)
    found = corrector.found(guess, at_load(guess), 0.0)
    if found is None:
        raise RunFailedError(
            f"arc_length: no equilibrium was found without load, near the start: {corrector.trouble};"
            " hold what moves freely, or start at a state that is at rest"
        )
    way = found.way / found.rate
    if len(stays):
        _refuse_pushed(search, equations, stays, way, ways)
    return PathState(found.point, way, 1.0, found.negative, found.linearised), _length_scale(equations, way)


def at_load(point: PathPoint) -> PathPlane:
    """The plane whose height is the load."""
    size = len(point.unknowns)
    return PathPlane(PathPoint(np.zeros(size), 0.0), np.zeros(size), 1.0)


def _length_scale(equations: PathEquations, way: np.ndarray) -> float:
    """Z: |dz/ds|; where the load moves nothing, as a perfect strut, the extent of the body."""
    z = equations.variables.scaled(equations.variables.read())
    extent = max(float(np.ptp(z)), float(np.abs(z).max()))
    size = float(np.linalg.norm(way[: equations.size]))
    return size if size > STILL * extent and size > 0.0 else extent or 1.0


def _refuse_pushed(
    search: Newton, equations: PathEquations, stays: np.ndarray, way: np.ndarray, ways: Mapping[str, Any]
) -> None:
    """Refuse loads along motions that nothing resists."""
    pushed = {f.name: search.potential.product(ways, f.name, search.t) for f in search.moving}
    whole = equations.variables.scale * equations.variables.components(pushed)
    balance = np.abs(whole[stays] - _balanced_load(search, equations, stays, way)).max()
    if balance > BALANCED * np.abs(whole).max():
        raise RunFailedError(
            f"arc_length: nothing resists {', '.join(search.loose)}, and the load acts along it;"
            " hold a part of the body"
        )


def _balanced_load(
    search: Newton, equations: PathEquations, stays: np.ndarray, way: np.ndarray
) -> np.ndarray:
    """The load on components that stay, that the others' displacements balance."""
    variables = equations.variables
    whole = scaled_hessian(search.potential, variables, soft_motions(variables.fields), search.t).matrix
    moved = np.zeros(len(variables))
    moved[equations.rows] = way[: equations.size]
    return -(whole @ moved)[stays]
