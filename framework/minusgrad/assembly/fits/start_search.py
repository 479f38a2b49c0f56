"""The searches of many fits as one stepper, whose steps are their iterations, one fit after another.

The state is that of the fit in progress and the results of those that have ended, so that a resumed run goes
on inside of a fit, bit for bit.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...energies.fields import Field, Fields
from ...errors import CheckpointError, RunFailedError, SceneError, UserError
from ...steppers.stepper import Stepper
from .estimates import Estimates

if TYPE_CHECKING:
    from .fit import ParameterFit

FAILED = "failed"
"""The outcome of a fit that ended by an error."""
SEARCH, VALUES = "search/", "present/"
"""Before the names of the state of the present search, and of its parameters."""


class Results:
    """The fits that have ended, by member: outcome, loss, iterations, values at the start and at the end."""

    def __init__(self, numbers: Sequence[int]):
        self.numbers, self.ended = list(numbers), dict[int, dict[str, Any]]()

    def add(self, number: int, fit: "ParameterFit", start: Mapping[str, list[float]]) -> None:
        """The result of a fit that has ended."""
        found = fit.estimates()
        said = {"verdict": found.verdict, "failed": fit.search.failed, "start": dict(start)}
        self.ended[number] = {"estimates": found.as_dict(), **said}

    def fail(self, number: int, error: Exception, start: Mapping[str, list[float]]) -> None:
        """A fit that ended by an error."""
        self.ended[number] = {"error": str(error), "start": dict(start)}

    @property
    def failures(self) -> dict[int, str]:
        """The errors of the fits that failed, by member."""
        return {number: one["error"] for number, one in self.ended.items() if "error" in one}

    @property
    def best(self) -> int | None:
        """The member of the least loss, the first of several; None if none has ended well."""
        good = {n: one["estimates"]["loss"] for n, one in self.ended.items() if "estimates" in one}
        finite = {n: loss for n, loss in good.items() if math.isfinite(loss)}
        return min(finite, key=lambda n: (finite[n], self.numbers.index(n))) if finite else None

    def best_estimates(self) -> Estimates:
        """The estimates of the best fit. Raises `RunFailedError` if all have failed."""
        if self.best is None:
            first = next(iter(self.failures.items()), (self.numbers[0], "no fit has ended"))
            raise RunFailedError(f"all {len(self.numbers)} fits failed; member {first[0]}: {first[1]}")
        one = self.ended[self.best]
        return Estimates.of(one["estimates"], one["verdict"])

    def components(self) -> list[str]:
        """The names of all components of the parameters; none before a fit has ended well."""
        if self.best is None:
            return []
        every = self.ended[self.best]["estimates"]["parameters"].values()
        return [label for one in every for label in one["components"]]

    def as_list(self) -> list[dict[str, Any]]:
        """The figures of each fit as plain data, in the order of the members."""
        return [self._row(number) for number in self.numbers if number in self.ended]

    def _row(self, number: int) -> dict[str, Any]:
        one = self.ended[number]
        if "error" in one:
            return {"member": number, "outcome": FAILED, "error": one["error"], "start": one["start"]}
        found = one["estimates"]
        return {
            "member": number,
            "outcome": found["outcome"],
            "loss": found["loss"],
            "iterations": found["iterations"],
            "start": one["start"],
            "values": {name: p["values"] for name, p in found["parameters"].items()},
            "standard_errors": {name: p["standard_errors"] for name, p in found["parameters"].items()},
        }

    def encoded(self) -> np.ndarray:
        """All of it as an array of bytes."""
        return np.frombuffer(json.dumps([*self.ended.items()]).encode(), np.uint8).copy()

    def restore(self, encoded: np.ndarray) -> None:
        """Set what `encoded` returned."""
        self.ended = {int(number): one for number, one in json.loads(encoded.tobytes())}


class StartSearch(Stepper):
    """Moves the search of one fit after another; `present` is the fit in progress, of member `number`.

    make: the fit of a member at its start. iterations: the most of each. `best`: fields with the parameters
    of the best fit so far, at first those of the first start. Raises `SceneError` for a mistake in the first
    fit, and `RunFailedError` if no fit can begin.
    """

    kind = "starts"

    def __init__(
        self,
        make: Callable[[int], "ParameterFit"],
        numbers: Sequence[int],
        iterations: int,
        results: Results,
    ):
        self._make, self.numbers, self.iterations, self.results = make, list(numbers), iterations, results
        self.step, self._begun, self._shown = 0, -1, 0
        self._news: list[dict[str, Any]] = []
        self._start: dict[str, list[float]] = {}
        if not self._next():
            results.best_estimates()
        fields = self.present.objective.fields
        self.best = Fields(
            {n: f.values.copy() for n, f in fields.items()}, {n: f.unit for n, f in fields.items()}
        )

    @property
    def number(self) -> int:
        """The member whose fit is in progress, or was the last one."""
        return self.numbers[self._shown]

    def advance(self, n: int) -> None:
        """At most n iterations, and fewer where the last fit ends."""
        for _ in range(n):
            if self.numbers[self._begun] in self.results.ended and not self._next():
                return
            search = self.present.search
            before = search.step
            try:
                if not self._over:
                    search.advance(1)
                self.step += search.step - before
                if self._over:
                    self._end()
            except RunFailedError as error:
                self._failed(error)

    @property
    def _over(self) -> bool:
        """True if the present fit has ended."""
        search = self.present.search
        return search.outcome is not None or search.step >= self.iterations

    def _end(self) -> None:
        """Keep the result of the present fit."""
        self.results.add(self.number, self.present, self._start)
        if self.results.best == self.number:
            for name, field in self.best.items():
                field.set(self.present.objective.fields[name].values)

    def _failed(self, error: Exception) -> None:
        number = self.numbers[self._begun]
        self.results.fail(number, error, self._start)
        self._news.append({"event": "member failed", "member": number, "error": str(error)})

    def _next(self) -> bool:
        """Begin the next fit that can begin; False if there is none."""
        while self._begun + 1 < len(self.numbers):
            self._begun, self._start = self._begun + 1, {}
            try:
                self._show(self._begun)
            except (RunFailedError, UserError) as error:
                if isinstance(error, SceneError) and not self._begun:
                    raise
                self._failed(error)
            else:
                return True
        return False

    def _show(self, row: int) -> None:
        """The fit of a member at its start."""
        self.present = self._make(self.numbers[row])
        self._shown, free = row, self.present.parameters.free
        fields = self.present.objective.fields
        self._start = {name: field.values[free[name]].tolist() for name, field in fields.items()}

    # The stepper's interface

    @property
    def moving(self) -> list[Field]:
        """The parameters of the present fit."""
        return self.present.search.moving

    @property
    def time(self) -> float:
        """The time at which objectives are taken."""
        return self.present.search.time

    @property
    def outcome(self) -> str | None:
        """None while a fit goes on; then that of the best, or "failed"."""
        if len(self.results.ended) < len(self.numbers):
            return None
        best = self.results.best
        return FAILED if best is None else self.results.ended[best]["estimates"]["outcome"]

    @property
    def verdict(self) -> str:
        """How many fits ended in which way, in a sentence."""
        rows = self.results.as_list()
        counts = Counter(row["outcome"] for row in rows)
        parts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
        return f"{len(rows)} starts: {parts}; the best is member {self.results.best}"

    @property
    def failed(self) -> bool:
        """True if the best fit has not reached its tolerances, or there is none."""
        best = self.results.best
        return best is None or self.results.ended[best]["failed"]

    @property
    def residual(self) -> float | None:
        return self.present.search.residual

    def events(self) -> list[dict[str, Any]]:
        news, self._news = self._news, []
        return news

    def evaluate(self) -> None:
        """The loss and its gradient at the present parameters."""
        self.present.search.evaluate()

    def state(self) -> dict[str, np.ndarray]:
        """Results, and all that the present fit goes on with; `energy`: the least loss."""
        best = self.results.best
        loss = math.nan if best is None else self.results.ended[best]["estimates"]["loss"]
        clock = {"steps": self.step, "begun": self._begun, "shown": self._shown, "energy": loss}
        found = {name: np.array(value) for name, value in clock.items()} | {"results": self.results.encoded()}
        found |= {f"{SEARCH}{name}": array for name, array in self.present.search.state().items()}
        fields = self.present.objective.fields
        return found | {f"{VALUES}{name}": field.values.copy() for name, field in fields.items()}

    def return_to(self, state: Mapping[str, np.ndarray]) -> None:
        """Make the fit in progress that of a saved state. Raises `CheckpointError` if there is none."""
        if not {"shown", "results"} <= state.keys() or int(state["shown"]) >= len(self.numbers):
            raise CheckpointError("the checkpoint's fits are not those of this scene")
        self._show(int(state["shown"]))
        self.results.restore(state["results"])

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Set the values of `state`, after `return_to`. Raises `CheckpointError` if any does not fit."""
        self.step, self._begun = int(state["steps"]), int(state["begun"])
        for name, field in self.present.objective.fields.items():
            field.set(state[f"{VALUES}{name}"])
        own = {n.removeprefix(SEARCH): a for n, a in state.items() if n.startswith(SEARCH)}
        self.present.search.restore(own)
