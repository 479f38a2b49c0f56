"""The projection of a start onto constraints as a map that has derivatives.

    x <- x - W G^T L,  L such that g(x, t) = 0,  G (E, N) at the start;   then v <- v - W G^T M, tangent

A start that fulfils constraints stays. So runs have derivatives by starts, and by parameters of constraints,
that alone lead away from g = 0. W (N,) are inverse masses, L and M (E,) impulses.

Decisions 0377.
"""

import numpy as np

from ..step_sequence import ConstrainedDrift, TangentProjection
from .move_tape import TakenMove
from .projections import Projections


def projected_start(p: Projections, t: float) -> list[TakenMove]:
    """Project positions and velocities at time t, and return the two projections.

    Raises `UnsolvedStepError` where there is none.
    """
    fields = p.constraints.fields
    x, impulses = p.equations.joined_values(), p.project(t)
    here = p.equations.joined_values()
    moved = TakenMove(ConstrainedDrift(), 1.0, t, t, here, before=x, impulses=impulses)
    p.begin(t)
    impulses = p.velocities().copy()
    v = np.concatenate([fields[m.velocity].values.reshape(-1) for m in p.motions], dtype=np.float64)
    return [moved, TakenMove(TangentProjection(), 0.0, t, t, here, v=v, impulses=impulses)]
