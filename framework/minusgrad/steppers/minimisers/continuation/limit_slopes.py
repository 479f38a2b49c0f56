"""How a critical load changes with parameters, exactly: one product of second derivatives each.

    r(w, s; p) = 0,  A phi = 0          at a limit point
    phi . (dr/dp) + (phi . b) ds/dp = 0,    since phi . A = 0;      ds/dp = -(phi . dr/dp) / (phi . b)

phi: the left null vector, which is the right one, as A is symmetric. At a bifurcation phi . b is zero, and
the load does not follow from first derivatives of r. (Wu and Wang 1997, Comput. Methods Appl. Mech. Eng. 147;
Seydel 2010, Practical Bifurcation and Stability Analysis, section 5.)

Decisions 0164.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from ....errors import EnergyError
from .critical_points import LIMIT, CriticalState
from .path_equations import PathEquations, PathPoint


def limit_slopes(
    equations: PathEquations, at: CriticalState, names: Sequence[str], full: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """ds/d(name) of a limit point, by name of a parameter or of a field, in its shape; sets the fields.

    full: the parameters that are loads, at the full load, by which their derivative is meant. Raises
    `EnergyError` for a bifurcation, and for a name without a derivative.
    """
    if at.kind != LIMIT:
        raise EnergyError(
            f"slopes of a critical load: are those of a limit point, got a {at.kind}, where the first"
            " derivatives do not decide; follow the path of a body that is a little imperfect"
        )
    equations.place(at.state.point)
    work = float(at.mode @ at.state.linearised.rate)
    found = {}
    for name in names:
        change = change_along(equations, at.state.point, at.mode, name)
        found[name] = -change * (at.load if name in full else 1.0) / work
    return found


def change_along(equations: PathEquations, point: PathPoint, mode: np.ndarray, name: str) -> np.ndarray:
    """phi . (dr/d(name)) at a point, to which the fields are set. Raises `EnergyError` for a wrong name."""
    change = np.asarray(equations.of_constraints(point, mode, name), np.float64)
    if name.partition(".")[0] in equations.constraint_names:
        return change
    potential, t = equations.search.potential, equations.search.t
    return change + np.asarray(potential.product(equations.by_field(mode), name, t), np.float64)
