"""The losses of a fit, from `[[fit.loss]]`: measurements in the run's units, at the steps of their times.

Decisions 0304.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ...adjoint.losses import Loss
from ...energies import term as terms
from ...energies.fields import Body, Field, union_nodes
from ...energies.misfit import misfit
from ...energies.term import Term
from ...errors import EnergyError, SceneError, UserError, at_key
from ...files import measurements
from ...files.measurements import Measurements, Wanted
from ...potential.potential import Potential
from ...scene.document import Block
from ...scene.fit_table import Looked, Misfit
from ...scene.units import UnitSystem
from ..built_scene import BuiltScene

NUMBERED = re.compile(r"\{member(?::0?(\d)d?)?\}")
"""Where the name of a file has the number of a member, with at least so many digits."""
NEAR = 1e-6
"""The largest distance of a measurement's time from a step, in units of dt."""


@dataclass(frozen=True)
class RunSteps:
    """The steps of a run: `last` steps of `dt` [`symbol`]."""

    dt: float
    last: int
    symbol: str

    def steps(self, measured: Measurements) -> tuple[int, ...]:
        """The steps at the times of measurements. Raises `UserError` for a time without a step of its own."""
        steps = np.rint(measured.times / self.dt)
        for place, t, step in zip(measured.places, measured.times, steps, strict=True):
            self._check(place, float(t), float(step))
        if (twice := np.flatnonzero(np.diff(steps) <= 0)).size:
            place = measured.places[twice[0] + 1]
            raise UserError(f"{place}: its step is not after that of the time before; leave one of them out")
        return tuple(steps.astype(int).tolist())

    def _check(self, place: str, t: float, step: float) -> None:
        what = f"{place}: time {t:.10g}"
        if abs(t - step * self.dt) > NEAR * self.dt:
            raise UserError(
                f"{what} lies between two steps of {self.dt:.10g} {self.symbol}: choose a dt that divides the"
                " times of all measurements, or leave it out"
            )
        if not 0 <= step <= self.last:
            cure = f"needed: [run] steps = {step:.10g}" if step > 0 else "shift the times: a run begins at 0"
            raise UserError(f"{what} is step {step:.10g}, and the run ends at {self.last}; {cure}")

    def looked_at(self, model: Looked) -> tuple[int, ...]:
        """The steps of a loss that is an energy. Raises `EnergyError` for one after the last."""
        steps = model.looked_at(self.last)
        if steps[-1] > self.last:
            raise EnergyError(
                f"looks at step {steps[-1]}, and the run ends at {self.last}; needed:"
                f" [run] steps = {steps[-1]}"
            )
        return steps


@dataclass(frozen=True)
class Moment:
    """The one state of an equilibrium, at time `t` [`symbol`]; losses know it as step 0."""

    t: float
    symbol: str

    def steps(self, measured: Measurements) -> tuple[int, ...]:
        """Step 0. Raises `UserError` for measurements at another time than that of the equilibrium."""
        for place, t in zip(measured.places, measured.times, strict=True):
            if abs(t - self.t) > NEAR * max(abs(self.t), 1.0):
                raise UserError(
                    f"{place}: time {t:.10g} is not that of the equilibrium, {self.t:.10g} {self.symbol};"
                    " give the measurements of one equilibrium, at [stepper] time"
                )
        return (0,)

    def looked_at(self, model: Looked) -> tuple[int, ...]:
        """Step 0. Raises `EnergyError` for a loss that names steps."""
        if model.every is not None or isinstance(model.steps, tuple):
            raise EnergyError("an equilibrium has one state and no steps; leave `steps` and `every` out")
        return (0,)


@dataclass(frozen=True)
class Seen:
    """The steps at which a loss looks at a run, and its data at these steps."""

    steps: tuple[int, ...]
    data: Mapping[str, np.ndarray]

    @classmethod
    def of(cls, loss: Loss) -> Self:
        """Those that a loss has."""
        return cls(loss.steps, loss.data)


def file_of(name: str, member: int | None) -> str:
    """The name of a file of measurements, with the number of a member where it says `{member}`.

    Raises `UserError` for a scene without members.
    """
    if member is None and NUMBERED.search(name):
        raise UserError(
            f"data: names the file of a member, got a scene without [ensemble]: '{name}'; add it, or name one"
            " file"
        )
    return NUMBERED.sub(lambda found: f"{member:0{found[1] or 1}d}", name)


class FitLosses:
    """The losses of a scene's fit over the fields of its simulation, at steps that the `clock` knows.

    member: the member of an ensemble whose measurements they have.
    """

    def __init__(
        self,
        simulation: BuiltScene,
        models: dict[Any, Any],
        clock: RunSteps | Moment,
        member: int | None = None,
    ):
        scene, self.simulation, self.clock, self.member = simulation.scene, simulation, clock, member
        self.models = [models[block.path] for block in scene.loss]
        pairs = list(zip(scene.loss, self.models, strict=True))
        self.losses = [self._loss(block, model) for block, model in pairs]
        self._refuse_mixed_sigmas(pairs)

    @property
    def squares(self) -> bool:
        """True if all losses are misfits, so that their sum is one of squares."""
        return all(isinstance(model, Misfit) for model in self.models)

    @property
    def with_sigma(self) -> bool:
        """True if the misfits give the standard deviation of their measurements."""
        return any(isinstance(model, Misfit) and model.sigma is not None for model in self.models)

    @property
    def count(self) -> int:
        """The number of measured components."""
        return sum(data.size for loss in self.losses for data in loss.data.values())

    @property
    def last(self) -> int:
        """The last step that a loss depends on."""
        return max(step for loss in self.losses for step in loss.steps)

    def measured(self, member: int) -> list[Seen]:
        """The measurements of another member, for each loss. Raises `SceneError` as for this one."""
        found = []
        for block, model, loss in zip(self.simulation.scene.loss, self.models, self.losses, strict=True):
            with self.simulation.placed(block.path):
                found.append(self._seen(model, loss, member) if isinstance(model, Misfit) else Seen.of(loss))
        return found

    def _seen(self, model: Misfit, loss: Loss, member: int) -> Seen:
        simulation, (name,) = self.simulation, loss.data
        steps, measured = self._measured(model, *self._nodes(model), member)
        return Seen(steps, {name: measured.values.astype(simulation.fields.dtype)})

    def _nodes(self, model: Misfit) -> tuple[Field, list[Body]]:
        """The field that was measured, and the bodies, none for all nodes."""
        with at_key("field"):
            field = self.simulation.fields[model.field]
        with at_key("body"):
            return field, self.simulation.bodies(model.body, len(field))

    def _loss(self, block: Block, model: Any) -> Loss:
        if isinstance(model, Misfit):
            with self.simulation.placed(block.path):
                return self._misfit(model)
        term = self.simulation.term(block)
        with self.simulation.placed(block.path):
            return Loss(self._potential(term), self.clock.looked_at(model))

    def _misfit(self, model: Misfit) -> Loss:
        simulation = self.simulation
        field, bodies = self._nodes(model)
        energy = misfit(field)
        steps, measured = self._measured(model, field, bodies, self.member)
        targets, unit = measured.values.astype(simulation.fields.dtype), UnitSystem.si().symbol(field.unit)
        with at_key("sigma"):
            sigma = {} if model.sigma is None else {"sigma": simulation.units.convert(model.sigma, unit)}
        term = terms.bind(
            energy,
            simulation.fields,
            name=model.name,
            bodies=bodies,
            renamed={"x": field.name},
            data={"target": targets[0]},
            parameters=sigma,
        )
        return Loss(self._potential(term), steps, {f"{term.name}.target": targets})

    def _measured(
        self, model: Misfit, field: Field, bodies: Sequence[Body], member: int | None
    ) -> tuple[tuple[int, ...], Measurements]:
        """The steps, and times (T,) and values (T, nodes, ...) in the run's units."""
        simulation = self.simulation
        nodes = union_nodes(bodies) if bodies else np.arange(len(field))
        label = simulation.state.labels.get(field.name, field.name)
        names = simulation.state.names
        wanted = Wanted(field.name, label, field.shape[1:], nodes.tolist(), len(field), names, member)
        with at_key("data"):
            file = file_of(model.data, member)
            found = measurements.read_measurements(file, simulation.starting.read(file), wanted)
        with at_key("time_unit"):
            time = self._size(model, "time_unit", found.time_unit, "s")
        with at_key("unit"):
            unit = self._size(model, "unit", found.unit, field.unit)
        made = Measurements(found.times * time, found.values * unit, found.places)
        with at_key("data"):
            return self.clock.steps(made), made

    def _size(self, model: Misfit, key: str, stored: float | None, unit: str) -> float:
        """One unit of the file in the run's units; `stored`: its size in SI, if the file gives it."""
        own, units = getattr(model, key), self.simulation.units
        if stored is None:
            return 1.0 if own is None else units.convert(f"1 {own}", UnitSystem.si().symbol(unit))
        if own is not None:
            raise UserError(f"'{model.data}': gives its own unit; leave `{key}` out")
        return stored / units.in_si(unit)

    def _potential(self, term: Term) -> Potential:
        """The term alone; with the maps, if it reads a field that they compute."""
        fields, maps = self.simulation.fields, self.simulation.potential.maps
        derived = any(field.name in fields.derived for field in term.fields.values())
        return Potential(fields, [term], list(maps.values()) if derived else [])

    def _refuse_mixed_sigmas(self, pairs: Sequence[tuple[Block, Any]]) -> None:
        without = [block for block, m in pairs if isinstance(m, Misfit) and m.sigma is None]
        if without and self.with_sigma:
            text = "has no sigma, and another misfit has one: give it to all of them, or to none"
            raise SceneError([self.simulation.scene.document.problem(without[0].path, text)])
