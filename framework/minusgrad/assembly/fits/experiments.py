"""Experiments: the members of an ensemble as runs that share what is fitted, each with data of its own.

    L(p) = sum over members k of L_k(run k with the parameters p, data of k)        dL/dp = sum of dL_k/dp

All runs are of one simulation, which is set to the values of each member in turn. Sums are in the order of
the members, in double precision, so that the bits do not depend on threads.

Decisions 0142.
"""

import hashlib
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
from .fresh_draws import FreshDraws
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

    With a `batch` each iteration sees so many of them, and the sum is that of all as these let expect; what
    `[fit.held_out]` names is no part of it. fresh: what `[fit.vary]` draws for each member and iteration.
    """

    fresh: FreshDraws | None

    label = "the experiments"

    def __init__(self, members: Members, models: dict[Any, Any], table: FitTable):
        self.members, self.trouble, self.fresh = members, "", None
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
        every = [self._experiment(made, n, of_member) for n, of_member in seen.items()]
        held = self._refused_held_out(table, numbers)
        self._held_out = [one for one in every if one.number in held]
        self._every = [one for one in every if one.number not in held]
        self._batch = self._refused_batch(table)
        self._present, self._draw = self._every, (0, False)
        self._functions = [one.function for one in made.values()]
        self.count = sum(
            rows.size for one in self._every for of_loss in one.seen for rows in of_loss.data.values()
        )
        several = f", {len(made)} with different times of measurements" if len(made) > 1 else ""
        some = f", {self._batch} in each iteration" if self._batch else ""
        self.plan = (
            f"{len(self._every)} experiments share the parameters{some}{several}; of each: {self.first.plan}"
        )
        self._shared: dict[str, tuple[FitParameter, np.ndarray]] = {}
        self._memory = {one.number: self._begun(one) for one in every}
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

    # Draws

    @property
    def drawn(self) -> bool:
        """True if iterations see different losses, or experiments are held out."""
        return self.fresh is not None or self._batch is not None or bool(self._held_out)

    def put(self, number: int, held_out: bool = False) -> None:
        """From now on the loss is that of the batch and the draws of an iteration, or of what is held out.

        Each pass through the experiments is in another random order, and gives whole batches.
        """
        self._draw, self._present = (number, held_out), self._every
        if held_out:
            self._present = self._held_out or self._every
        elif self._batch is not None:
            lap, place = divmod(number, len(self._every) // self._batch)
            digest = hashlib.sha256(f"{self.members.scene.runtime.seed}/fit/batch/{lap}".encode()).digest()
            order = np.random.default_rng(list(digest)).permutation(len(self._every))
            chosen = sorted(order[place * self._batch : (place + 1) * self._batch].tolist())
            self._present = [self._every[k] for k in chosen]

    @property
    def _share(self) -> float:
        """The factor that makes the sum over the present experiments comparable with that over all."""
        return len(self._every) / len(self._present)

    def _refused_held_out(self, table: FitTable, numbers: Sequence[int]) -> set[int]:
        """The members that are held out. Raises `SceneError` for unknown ones, and for all."""
        held = set(table.held_out.members or ()) if table.held_out else set()
        with self.members.template.placed(("fit", "held_out", "members")):
            if others := sorted(held - set(numbers)):
                raise EnergyError(
                    f"members: no member {others[0]}, there are {numbers[0]} to {numbers[-1]}; name one of"
                    " them"
                )
            if held == set(numbers):
                raise EnergyError("members: hold out all members, which leaves none to fit; name fewer")
        return held

    def _refused_batch(self, table: FitTable) -> int | None:
        """The size of a batch. Raises `SceneError` for one that is larger than all experiments."""
        if table.batch is not None and table.batch > len(self._every):
            with self.members.template.placed(("fit", "batch")):
                raise EnergyError(
                    f"batch: needs at most the {len(self._every)} experiments, got {table.batch}; take fewer"
                )
        return table.batch if table.batch != len(self._every) else None

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
        return self._share * total

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
        if self._share != 1.0:
            slopes = {name: self._share * slope for name, slope in slopes.items()}
        return self._share * total, slopes

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
        for one in self._present:
            self.members.put(one.number)
            if self.fresh is not None:
                self.fresh.put_over(one.number, *self._draw)
            if isinstance(one.function, Equilibrium):
                one.function.begin_here()
            one.function.restore(self._memory[one.number])
            for loss, seen in zip(one.losses, one.seen, strict=True):
                loss.data = seen.data
            for parameter, values in self._shared.values():
                parameter.put(values)
            yield one
            self._memory[one.number] = one.function.state()
