"""Experiments: the members of an ensemble as runs that share what is fitted, each with data of its own.

    L(p) = sum over members k of L_k(run k with the parameters p, data of k)        dL/dp = sum of dL_k/dp

All runs are of one simulation, which is set to the values of each member in turn. Sums are in the order of
the members, in double precision, so that the bits do not depend on threads.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...adjoint.equilibria.equilibrium import Equilibrium
from ...adjoint.losses import Loss
from ...adjoint.rollout import Rollout
from ...adjoint.run_objective import FitParameter
from ...errors import EnergyError
from ...scene.fit_table import FitTable
from ..ensembles.members import Members
from .fitted_members import varied
from .losses import FitLosses, Seen
from .objective_kinds import KINDS, FitFunction


@dataclass(frozen=True)
class Experiment:
    """A member: the function that computes its run, the losses of that, and its data for each of them."""

    number: int
    function: Rollout | Equilibrium
    losses: Sequence[Loss]
    seen: Sequence[Seen]


class Experiments:
    """The sum of the losses of all members, as a function of what they share (`DifferentiableRun`).

    Members that are observed at the same steps share one plan of stored states. `count`: the numbers that
    were measured; `first`: the losses and the function of the first member.
    """

    label = "the experiments"

    def __init__(self, members: Members, models: dict[Any, Any], table: FitTable):
        self.members, self.trouble = members, ""
        kind, numbers = KINDS[table.of](members.template, table), list(members.numbers)
        losses = FitLosses(members.template, models, kind.clock, numbers[0])
        seen = {number: losses.measured(number) for number in numbers}
        groups = {tuple(one.steps for one in every): number for number, every in reversed(seen.items())}
        made: dict[Any, FitFunction] = {}
        for steps, number in reversed(groups.items()):
            first = number == numbers[0]
            of_group = losses if first else FitLosses(members.template, models, kind.clock, number)
            made[steps] = kind.function(of_group, len(groups))
        self.first = made[tuple(one.steps for one in seen[numbers[0]])]
        self._every = [self._experiment(made, n, every) for n, every in seen.items()]
        self._functions = [one.function for one in made.values()]
        self.count = sum(rows.size for every in seen.values() for one in every for rows in one.data.values())
        several = f", {len(made)} with different times of measurements" if len(made) > 1 else ""
        self.plan = f"{len(numbers)} experiments share the parameters{several}; of each: {self.first.plan}"
        self._shared: dict[str, tuple[FitParameter, np.ndarray]] = {}
        self._memory = {one.number: self._begun(one) for one in self._every}
        members.put(numbers[0])

    @staticmethod
    def _experiment(made: Mapping[Any, FitFunction], number: int, seen: list[Seen]) -> Experiment:
        of = made[tuple(one.steps for one in seen)]
        return Experiment(number, of.function, of.observed.losses, seen)

    def _begun(self, one: Experiment) -> dict[str, np.ndarray]:
        """The state of a member's function before its first value: a search begins at the member's start."""
        self.members.put(one.number)
        return one.function.state()

    def refuse_varied(self, names: Sequence[str]) -> None:
        """Raise `EnergyError` for a parameter that the members have to share, and in which they differ."""
        if both := varied(self.members, names):
            raise EnergyError(
                f"'{both[0]}': is varied by [ensemble], and experiments share what is fitted; leave it out of"
                ' [ensemble.vary], or set [fit] members = "starts"'
            )

    def share(self, parameters: Sequence[FitParameter]) -> list[FitParameter]:
        """The parameters, which from now on are written into the run of every member."""
        self.refuse_varied([one.name for one in parameters])
        self._shared = {one.name: (one, one.start) for one in parameters}
        return [replace(one, put=partial(self._put, one)) for one in parameters]

    def _put(self, parameter: FitParameter, values: np.ndarray) -> None:
        self._shared[parameter.name] = parameter, np.array(values)
        parameter.put(values)

    # The function of the parameters

    @property
    def writes(self) -> tuple[Any, ...]:
        """The inputs of the value, as numbers that differ after every write."""
        return tuple(function.writes for function in self._functions)

    def value(self) -> float:
        """L; NaN if a run is not finite."""
        total = 0.0
        for one in self._each():
            total += one.function.value()
            if self._failed(one, total):
                return math.nan
        return total

    def evaluate(self, names: Sequence[str]) -> tuple[float, dict[str, np.ndarray]]:
        """L and dL/d(name) in f64; NaN if a run is not finite."""
        total, slopes = 0.0, dict[str, np.ndarray]()
        for one in self._each():
            value, found = one.function.evaluate(names)
            total += value
            if self._failed(one, total):
                return math.nan, {n: np.full_like(slope, math.nan, np.float64) for n, slope in found.items()}
            for name, slope in found.items():
                slopes[name] = slopes[name] + slope if name in slopes else np.array(slope, np.float64)
        return total, slopes

    def curvature(self, directions: Sequence[Mapping[str, np.ndarray]]) -> np.ndarray:
        """The sum of the members' Gauss-Newton matrices (P, P)."""
        total = np.zeros((len(directions), len(directions)))
        for one in self._each():
            total += one.function.curvature(directions)
        return total

    def state(self) -> dict[str, np.ndarray]:
        """The state of every member's function, one row each."""
        every = [*self._memory.values()]
        return {f"experiments/{name}": np.stack([one[name] for one in every]) for name in every[0]}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Set the values that `state` returned."""
        for row, memory in enumerate(self._memory.values()):
            for name in memory:
                memory[name] = state[f"experiments/{name}"][row]

    def _failed(self, one: Experiment, total: float) -> bool:
        """True for a total that is not finite; says the member and why."""
        self.trouble = "" if math.isfinite(total) else f"member {one.number}: {one.function.trouble}"
        return bool(self.trouble)

    def _each(self) -> Iterator[Experiment]:
        """Every member, while the simulation has its values and the shared ones, and the losses its data."""
        for one in self._every:
            self.members.put(one.number)
            if isinstance(one.function, Equilibrium):
                one.function.begin_here()
            one.function.restore(self._memory[one.number])
            for loss, seen in zip(one.losses, one.seen, strict=True):
                loss.data = seen.data
            for parameter, values in self._shared.values():
                parameter.put(values)
            yield one
            self._memory[one.number] = one.function.state()
