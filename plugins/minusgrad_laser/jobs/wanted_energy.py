"""The energy that a job should have put down up to each place of its path.

    E(k, s) = sum of q_j L_j over the moves j < k  +  q_k s              power follows speed, q = P_k / F_k
    E(k, s) = sum of P_j T_j over the moves j < k  +  P_k t_k(s)         constant power

s [m] is the way along move k, and t_k(s) [s] the time in which the head that speeds up and slows down gets
there, on a machine whose axes and power are in time.

Decisions 0184.
"""

from dataclasses import dataclass

import numpy as np

from ..machine.profile import Profile
from ..virtual_machine.planner import Plan, plan
from .moves import Moves, follows, keeps_dose
from .planned import planned_program


@dataclass(frozen=True, eq=False)
class WantedEnergy:
    """Of moves (n,): `before`, the energy of all earlier ones (n + 1,), in levels times seconds."""

    moves: Moves
    planned: Plan
    before: np.ndarray
    base: np.ndarray | None
    """The speed at which a move has its power (n,); None: at all."""

    @classmethod
    def of(cls, moves: Moves, profile: Profile) -> "WantedEnergy":
        planned = plan(planned_program(moves, profile), profile)
        base = speeds_of_power(moves, planned, profile)
        seconds = planned.durations.sum(axis=1) if base is None else planned.length / base
        return cls(moves, planned, np.append(0.0, np.cumsum(moves.wanted * seconds)), base)

    def until(self, move: np.ndarray, way: np.ndarray) -> np.ndarray:
        """The energy when the head is `way` (m,) [m] along a move (m,)."""
        way = np.clip(way, 0.0, self.planned.length[move])
        seconds = seconds_on_way(self.planned, move, way) if self.base is None else way / self.base[move]
        return self.before[move] + self.moves.wanted[move] * seconds


def speeds_of_power(moves: Moves, planned: Plan, profile: Profile) -> np.ndarray | None:
    """The speeds (n,) [m/s] at which moves have their powers: GRBL's F, Marlin's planned; None: at all."""
    if not keeps_dose(profile):
        return None
    return moves.feed if follows(profile) else planned.nominal


def seconds_on_way(planned: Plan, move: np.ndarray, way: np.ndarray) -> np.ndarray:
    """Times (m,) [s] after which the head is `way` (m,) [m] along moves (m,)."""
    enter, peak, leave = planned.entry[move], planned.peak[move], planned.exit[move]
    rate, length, (up, steady, down) = (
        planned.acceleration[move],
        planned.length[move],
        planned.durations[move].T,
    )
    rise, fall = 0.5 * (enter + peak) * up, 0.5 * (peak + leave) * down
    begun, left = (
        2.0 * s / np.maximum(v + np.sqrt(v * v + 2.0 * rate * s), 1e-300)
        for v, s in ((enter, np.minimum(way, rise)), (leave, np.minimum(length - way, fall)))
    )
    late = np.where(length - way < fall, up + steady + down - left, up + np.maximum(way - rise, 0.0) / peak)
    return np.where(way < rise, begun, late)
