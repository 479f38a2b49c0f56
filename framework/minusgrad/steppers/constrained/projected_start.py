"""The projection of a start onto constraints as a map that has derivatives.

    x <- x - W G^T L,  L such that g(x, t) = 0,  G (E, N) at the start;   then v <- v - W G^T M, tangent

A start that fulfils constraints stays. So runs have derivatives by starts, and by parameters of constraints,
that alone lead away from g = 0. W (N,) are inverse masses, L and M (E,) impulses.
"""

import numpy as np

from ..step_sequence import ConstrainedDrift, TangentProjection
from .constrained_moves import ConstrainedMoves
from .move_tape import TakenMove


def projected_start(moves: ConstrainedMoves, t: float) -> list[TakenMove]:
    """Project positions and velocities at time t, forget earlier multipliers, and return the two projections.

    Raises `UnsolvedStepError` where there is none.
    """
    p, fields = moves.projections, moves.projections.constraints.fields
    before = [fields[m.velocity].values.copy() for m in p.motions]
    x, taken = p.equations.joined(), list[TakenMove]()
    p.begin(t)
    p.positions(1.0, t, np.zeros(p.count))
    for motion, v in zip(p.motions, before, strict=True):
        fields[motion.velocity].set(v)
    here, moves.multipliers[...] = p.equations.joined(), 0.0
    taken.append(TakenMove(ConstrainedDrift(), 1.0, t, t, here, before=x, impulses=p.impulses.copy()))
    p.begin(t)
    impulses = p.velocities().copy()
    v = np.concatenate([fields[m.velocity].values.reshape(-1) for m in p.motions], dtype=np.float64)
    taken.append(TakenMove(TangentProjection(), 0.0, t, t, here, v=v, impulses=impulses))
    return taken
