"""Buckling of a run at a saved state, which is an equilibrium under load: read from its folder.

Decisions 0198, 0351.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..assembly.built_scene import BuiltScene
from ..assembly.plugin_blame import blaming
from ..errors import EnergyError, RunFailedError, UserError, unknown
from ..plot.modes.mode_shapes import Shapes
from ..potential.potential import Potential
from ..scene import units
from ..scene.units import UnitSystem, quotient
from ..steppers.stability.buckling import (
    CriticalPoint,
    critical_point,
    guessed_factor,
    largest_factor,
    linearised,
)
from ..steppers.stability.constrained_body import ConstrainedBody
from ..steppers.stability.critical_slopes import CriticalSlopes, critical_slopes
from ..steppers.stability.loaded_body import EQUAL, LoadedBody, LoadedEquilibrium, dead_loads
from ..steppers.systems.parts import ALL, BATH, FRICTION, LAGRANGIAN, MAGNETIC, Consumer
from .run_options import Plugins
from .saved_simulation import constraints_over, derivatives_in_double, saved_simulation

NONLINEAR = 0.1
"""The part by which the first linearised factor may differ from the critical one without a remark."""
NEAR = 1e-3
"""A state is an equilibrium if Newton's step from it is below this part of the displacement by the load."""


@dataclass(frozen=True)
class RunBuckling:
    """The buckling loads of a run at a saved step, as factors of the loads of its scene.

    `factors` (k,): linearised, ascending; `shapes` (k, N) of the free components; `critical`: where the
    equilibria cease to be stable, None where they never do; `slopes`: its derivatives, where some were asked;
    `followed`: the largest factor up to which it is looked for.
    """

    folder: Path
    step: int
    simulation: BuiltScene
    loads: list[str]
    body: LoadedBody
    resultant: dict[str, np.ndarray]
    factors: np.ndarray
    shapes: np.ndarray
    critical: CriticalPoint | None
    slopes: CriticalSlopes | None
    followed: float

    @property
    def units(self) -> UnitSystem:
        return self.simulation.units

    @cached_property
    def force_unit(self) -> str:
        """The unit of the resultant of the loads."""
        symbol = self.units.symbol(quotient("J", self.simulation.fields[self.body.names[0]].unit))
        return "N" if symbol == UnitSystem.si().symbol("N") else symbol

    @property
    def size(self) -> float:
        """|resultant| of the loads, at factor 1; 0 where they balance each other."""
        return float(np.linalg.norm(np.concatenate([r.ravel() for r in self.resultant.values()])))

    @property
    def head(self) -> tuple[str, ...]:
        return ("mode", "factor", *((units.with_unit("load", self.force_unit),) if self.size else ()))

    def rows(self) -> list[tuple[str, ...]]:
        """Rows of the table of linearised factors."""
        return [
            (str(k + 1), f"{f:.6g}", *((f"{f * self.size:.6g}",) if self.size else ()))
            for k, f in enumerate(self.factors)
        ]

    def remarks(self) -> list[str]:
        """Remarks below the table: counts, forces left, units."""
        said = [f"loads: {', '.join(self.loads)}, at factor 1 as in the scene; linearised factors above"]
        if not len(self.factors):
            said = [f"loads: {', '.join(self.loads)}; linearised, they make nothing buckle"]
        if self.critical is None:
            return [*said, f"followed to {self.followed:.3g} times the load, the body stays stable"]
        c, load = self.critical, ""
        if self.size:
            load = f", load {units.number_with_unit(c.factor * self.size, self.force_unit)}"
        said.append(f"critical factor {c.factor:.7g}{load}: a {c.kind}, followed from the state without load")
        if len(self.factors) and abs(c.factor / float(self.factors[0]) - 1.0) > NONLINEAR:
            said.append(
                "linearised factors are far off: the stiffness is not linear in the load, as of stiff parts"
                " that turn; the critical factor counts"
            )
        if c.kind == "bifurcation":
            said.append("an imperfect body bends aside below this load")
        elif self.simulation.fields.dtype != np.float64:
            said.append(
                "in single precision rounding makes the body imperfect, so that a bifurcation may look like a"
                " limit point; take precision = 'f64'"
            )
        return [*said, *self._slopes_said()]

    def _slopes_said(self) -> list[str]:
        """A line for each derivative; of arrays as if all their numbers grew in proportion."""
        if self.slopes is None:
            return []
        said, found = [], self.slopes
        for name, slope in found.slopes.items():
            share = self.shares[name]
            grows = f"{share:.7g} % for each percent" + (f" of {name}" if slope.ndim else "")
            own = f"{float(slope):.7g} per unit of {name}, " if slope.ndim == 0 else ""
            said.append(f"the critical factor changes by {own}{grows}")
        return said

    @property
    def shares(self) -> dict[str, float]:
        """By name: sum of p (ds/dp) / s, the part by which the factor grows as all of p grow."""
        assert self.slopes is not None
        of = self.slopes.slopes.items()
        return {n: float(np.sum(self.body.values(n) * slope)) / self.slopes.factor for n, slope in of}

    def as_dict(self, mode: int | None = None) -> dict[str, Any]:
        """For JSON; with the displacements of one mode."""
        facts: dict[str, Any] = {"folder": str(self.folder), "step": self.step, "loads": self.loads}
        facts["resultant"] = {n: r.tolist() for n, r in self.resultant.items()}
        facts["linearised"] = self.factors.tolist()
        c = self.critical
        if c is None:
            facts["critical"] = None
        else:
            facts["critical"] = {"factor": c.factor, "lower": c.lower, "upper": c.upper, "kind": c.kind}
        if self.slopes is not None:
            facts["critical"]["factor"] = self.slopes.factor
            facts["gradient"] = {n: slope.tolist() for n, slope in self.slopes.slopes.items()}
            facts["shares"] = self.shares
        facts["remarks"] = self.remarks()
        if mode is not None:
            shape = self.body.free.by_field(self.shapes[mode - 1])
            facts |= {"mode": mode, "displacements": {n: u.tolist() for n, u in shape.items()}}
        return facts

    def drawn(self) -> list[Shapes]:
        """For pictures: the modes, over the saved state; the critical one where there are no others."""
        simulation, found = self.simulation, []
        shapes, factors = self.shapes, self.factors
        if not len(shapes) and self.critical is not None:
            shapes, factors = self.critical.shape[None], np.array([self.critical.factor])
        by_field = [self.body.free.by_field(shape) for shape in shapes]
        lists = [simulation.state.tuples[n] for n in simulation.state.shown]
        for name in self.body.names if by_field else ():
            field = simulation.fields[name]
            moved, places = np.array([u[name] for u in by_field]), field.values.astype(np.float64)
            label, unit = simulation.state.labels.get(name, name), self.units.symbol(field.unit)
            kinds = ("",) * len(moved)
            found.append(
                Shapes(label, unit, places, moved, lists, None, factors, "1", kinds, "factor of the load")
            )
        return found


def buckling(
    path: str | Path,
    at: int | None = None,
    count: int = 6,
    loads: Collection[str] = (),
    plugins: Plugins = (),
    gradient: Sequence[str] = (),
) -> RunBuckling:
    """The `count` lowest buckling loads of a run at its last saved state, or that of step `at`.

    path: the run folder. loads: the names of energies that are the load; default: those that are linear in
    the positions. plugins: the files that the run was started with. gradient: parameters, data and fields by
    which the critical factor is differentiated. Raises `EnergyError` where there is no load, where the state
    is no equilibrium, where a body without load is not stable, and where a derivative does not exist.
    """
    path = Path(path)
    simulation, step = saved_simulation(path, at, plugins, "buckling")
    with blaming(simulation.registry):
        try:
            return _buckling(path, step, simulation, count, list(loads), list(gradient))
        except (EnergyError, RunFailedError) as error:
            raise type(error)(f"{path}: {error}") from error


BUCKLING = Consumer(
    "buckling",
    ALL - {LAGRANGIAN},
    idle=dict.fromkeys((FRICTION, MAGNETIC, BATH), "at rest it has no force"),
    cure="leave it out",
)
"""The parts of a system that have a rule in the stability of a body at rest."""


def _buckling(
    path: Path, step: int, simulation: BuiltScene, count: int, asked: list[str], gradient: list[str]
) -> RunBuckling:
    if count < 1:
        raise EnergyError(f"buckling: at least one mode is needed, got {count}; ask for more")
    BUCKLING.accept(simulation.system)
    potential = derivatives_in_double(simulation.potential)
    names = [m.position for m in simulation.state.motions]
    if not names:
        raise EnergyError("buckling: no field moves by Newton's law; give a state with positions")
    t = simulation.stepper.time
    loads = _loads(potential, names, t, asked)
    body = _body(simulation, potential, names, loads, t)
    saved = body.x
    resultant = {n: body.load_forces(n).sum(axis=0) for n in names}
    rest = _unloaded(body, simulation, saved)
    loaded = _at_rest(body, saved, rest)
    factors, modes = linearised(rest, loaded, min(count, body.free.size))
    guess = guessed_factor(body, rest, float(factors[0]) if len(factors) else None)
    critical = critical_point(body, rest, guess)
    slopes = _slopes(body, rest, critical, gradient) if gradient else None
    body.x = saved
    most = largest_factor(guess)
    return RunBuckling(
        path, step, simulation, loads, body, resultant, factors, modes.T, critical, slopes, most
    )


def _slopes(
    body: LoadedBody, rest: LoadedEquilibrium, critical: CriticalPoint | None, names: list[str]
) -> CriticalSlopes:
    """Refused where the body does not buckle, and in single precision, whose rounding is an imperfection."""
    if critical is None:
        raise EnergyError("--gradient: the body stays stable, and no load has a derivative; press it more")
    return critical_slopes(body, rest, critical, names)


def _body(
    simulation: BuiltScene, potential: Potential, names: Sequence[str], loads: Sequence[str], t: float
) -> LoadedBody:
    """The body under the load, with the constraints of the scene."""
    if simulation.constraints is None:
        return LoadedBody(potential, names, simulation.holds, loads, t)
    kept = constraints_over(potential.fields, simulation.constraints)
    return ConstrainedBody(potential, names, simulation.holds, loads, kept, t)


def _loads(potential: Potential, names: Sequence[str], t: float, asked: list[str]) -> list[str]:
    for name in asked:
        if name not in potential.terms:
            raise UserError(f"--load: {unknown('energy', name, potential.terms)}")
    if found := asked or dead_loads(potential, names, t):
        return found
    raise EnergyError(
        "buckling: there is no load, an energy that is linear in the positions; add a traction, a load or"
        " a weight, or name the energies that grow: --load NAME"
    )


def _unloaded(body: LoadedBody, simulation: BuiltScene, saved: np.ndarray) -> LoadedEquilibrium:
    """The stable equilibrium without the load, from the first state or the saved one; supports stay."""
    started = simulation.state.fields
    start = body.free.vector({n: np.asarray(started[n]) for n in body.names})
    found = body.equilibrium(0.0, start) or body.equilibrium(0.0, saved)
    if found is None:
        raise EnergyError(
            "buckling: no equilibrium without the load was found near the first state of the scene, nor near"
            " the saved one, with supports as they are there; hold what can move freely, or take a state"
            " --at which supports have moved less"
        )
    if not found.stable:
        raise EnergyError(
            "buckling: the body without the load is not stable, as one that can move freely; hold more of it"
        )
    if not body.push:
        raise EnergyError("buckling: the load acts on held components only; put it where the body can move")
    return found


def _at_rest(body: LoadedBody, saved: np.ndarray, rest: LoadedEquilibrium) -> LoadedEquilibrium:
    """The equilibrium at the saved state; refused where that is none."""
    found = body.equilibrium(1.0, saved)
    moved = np.abs(saved - rest.x).max()
    if found is None or np.abs(found.x - saved).max() > NEAR * moved + EQUAL * np.abs(saved).max():
        body.x = saved
        force = body.imbalance(1.0)
        raise EnergyError(
            f"buckling: the saved state is not in equilibrium: the largest |dU/dx| is {force:.3g}, by the"
            f" load {body.push:.3g}; minimise first: [stepper] kind = 'newton'"
        )
    return found
