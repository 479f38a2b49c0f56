"""Equilibria and motions of the rods of a scenario of CosseratBench, in frames.

    equilibrium   Newton's method from the scenario's shape; every frame after the first is its end
    motion        leapfrog, damped like Langevin's without heat by twice the slowest frequency where only rest
                  is asked for
    contact       implicit Euler, so that contacts come to rest; friction is viscous below the speed `CREEP`

A step of leapfrog is a part of 2 / omega, where the frame of an edge against its direction is fastest
(`edges`): omega^2 = (c / l)^2 (K (1 + 2 r^2 / l^2) + 8), c^2 = E / rho, l an edge, r the radius.

The force N of a cylinder on a node that slides on it at the speed v is that of a predicted place, which is
(h v)^2 / 2 R too high after a step h: steps of contact stay below `SEEN` sqrt(2 R delta) / v, delta the depth
of a node at rest, down to a tenth of the longest, with which a motion begins. N is at most the tension of a
rod that hangs by its own weight, over R.

Decisions 0191, 0193.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

import numpy as np

import minusgrad as mg
from minusgrad.plugin import RunFailedError

from ..edges import TIE
from .scenario_arrays import END, START, RodArrays, rod_arrays, rod_directors

STEPPERS: Any = mg
"""The steppers of `minusgrad`, whose classes are made from their blocks."""

PART = 0.75
"""Step of leapfrog in parts of the longest stable one."""
TURNED_EVERY = 5e-3
"""Time after which the angle of a clamp that turns is set anew [s]."""
CREEP = 1e-6
"""Speed below which friction is viscous [m/s]."""
SINK = 0.01
"""Depth at which a cylinder bears the largest force on a node, in radii of the rod."""
CONTACT_STEPS = 40.0
"""Steps of contact in the period of the slowest motion, at least."""
SEEN = 0.5
"""Height above the surface of a predicted place, in parts of the depth at rest: its square root."""
SHORTEST = 0.1
"""The shortest step of contact, in parts of the longest."""
ITERATIONS = 400
"""The most iterations of Newton's method."""


@dataclass(frozen=True)
class Frames:
    """Times (T,) [s]; by rod, positions (T, n, 3) [m] and directors (T, n - 1, 3)."""

    times: np.ndarray
    positions: tuple[np.ndarray, ...]
    directors: tuple[np.ndarray, ...]


class UnsolvedError(FloatingPointError):
    """A run that broke down, with the simulated time [s]."""

    def __init__(self, message: str, time: float | None = None):
        super().__init__(message)
        self.time = time


def follow_scenario(scenario: Any, elements: int, count: int, scale: float = 1.0) -> Frames:
    """The rods of a scenario at `count` times, one after the other: none touches another.

    elements: of each rod. scale: of the time step. Raises `UnsolvedError`, and `NotImplementedError` for what
    the model does not have.
    """
    run = equilibrium_frames
    if not is_static(scenario):
        run = contact_frames if scenario.obstacles else motion_frames
    lines = [run(scenario, rod, elements, count, scale) for rod in scenario.rods]
    times = np.linspace(0.0, scenario.duration, count)
    return Frames(times, tuple(line.places() for line in lines), tuple(line.across() for line in lines))


def is_static(scenario: Any) -> bool:
    """Whether the scenario asks for an equilibrium that its end alone decides: held rods, nothing moved."""
    held = all(any(getattr(rod, end).value != "free" for end in (START, END)) for rod in scenario.rods)
    still = all(rod.start_motion is None and rod.end_motion is None for rod in scenario.rods)
    return bool(scenario.quasi_static and held and still and not scenario.obstacles)


def settings_of(scenario: Any, elements: int, count: int, scale: float = 1.0) -> dict[str, Any]:
    """The numbers of a run that the scenario does not give."""
    if is_static(scenario):
        return {"method": "Newton; every frame after the first is the equilibrium"}
    interval = scenario.duration / (count - 1)
    longest = min(stable_step(rod, elements) for rod in scenario.rods)
    longest = contact_step(scenario) if scenario.obstacles else longest
    found = {
        "method": "implicit Euler" if scenario.obstacles else "leapfrog",
        "time_step": interval / ceil(interval / (scale * longest)),
        "damping_rate": damping_rate(scenario),
    }
    if scenario.obstacles:
        found |= {"creep_speed": CREEP, "sink_depth": SINK * scenario.rods[0].radius}
    return found


class Recorded:
    """Frames of a simulation of a rod as they come, the first at once."""

    def __init__(self, simulation: mg.Simulation):
        self.simulation = simulation
        self._places, self._across = list[np.ndarray](), list[np.ndarray]()
        self.add_frame()

    def add_frame(self) -> None:
        """Keep the present state."""
        x = self.simulation.fields["x"].values.copy()
        self._places.append(x)
        self._across.append(rod_directors(x, self.simulation.fields["q"].values))

    def places(self) -> np.ndarray:
        """Positions (T, n, 3) [m]."""
        return np.stack(self._places)

    def across(self) -> np.ndarray:
        """Directors (T, n - 1, 3)."""
        return np.stack(self._across)


@contextmanager
def told_as_unsolved(simulation: mg.Simulation) -> Iterator[None]:
    """Numbers that are not finite, and steps without a solution, are raised as `UnsolvedError`."""
    try:
        yield
    except RunFailedError as error:
        raise UnsolvedError(str(error), float(simulation.time)) from error


def equilibrium_frames(scenario: Any, rod: Any, elements: int, count: int, scale: float) -> Recorded:
    """The start, and the equilibrium at all later times."""
    arrays = rod_arrays(rod, elements, scenario.gravity)
    simulation = mg.Simulation(**arrays.arguments(), stepper=STEPPERS.Newton())
    recorded = Recorded(simulation)
    stepper: Any = simulation.stepper
    with told_as_unsolved(simulation):
        for _ in range(ITERATIONS):
            if stepper.outcome is not None:
                break
            simulation.step()
    if stepper.outcome is None or stepper.failed:
        raise UnsolvedError(f"no equilibrium: {stepper.verdict}")
    for _ in range(count - 1):
        recorded.add_frame()
    return recorded


# Motion


def motion_frames(scenario: Any, rod: Any, elements: int, count: int, scale: float) -> Recorded:
    """The motion without contacts, in steps of leapfrog."""
    arrays = rod_arrays(rod, elements, scenario.gravity)
    interval = scenario.duration / (count - 1)
    steps = ceil(interval / (scale * stable_step(rod, elements)))
    rate, dt = damping_rate(scenario), interval / steps
    stepper = STEPPERS.Langevin(dt=dt, friction=rate, temperature=0.0) if rate else STEPPERS.Leapfrog(dt=dt)
    simulation = mg.Simulation(**arrays.arguments(), stepper=stepper)
    recorded = Recorded(simulation)
    with told_as_unsolved(simulation):
        for _ in range(count - 1):
            advance_frame(simulation, arrays, steps)
            recorded.add_frame()
    return recorded


def advance_frame(simulation: mg.Simulation, arrays: RodArrays, steps: int) -> None:
    """Take steps, and turn the clamps that turn."""
    turns = [one for one in arrays.driven if simulation.time < one.motion.times[-1]]
    few = max(1, int(TURNED_EVERY / simulation.dt)) if turns else steps
    while steps:
        now = min(few, steps)
        for one in turns:
            middle = simulation.time + 0.5 * now * simulation.dt
            simulation.potential.set_parameter(one.parameter, one.angle(middle))
        simulation.step(now)
        steps -= now
    for one in turns:
        simulation.potential.set_parameter(one.parameter, one.angle(simulation.time))


def damping_rate(scenario: Any) -> float:
    """Rate of the mass damping [1/s]: critical for the slowest motion, where only rest is asked for."""
    return 2.0 * scenario.slowest_frequency() if scenario.quasi_static else 0.0


def stable_step(rod: Any, elements: int) -> float:
    """A stable step of leapfrog for a rod [s]."""
    edge = rod.length / elements
    speed = sqrt(rod.material.youngs_modulus / rod.material.density)
    return PART * 2.0 * edge / (speed * sqrt(TIE * (1.0 + 2.0 * (rod.radius / edge) ** 2) + 8.0))


# Contact


def contact_frames(scenario: Any, rod: Any, elements: int, count: int, scale: float) -> Recorded:
    """The motion on cylinders, in steps of implicit Euler.

    Raises `NotImplementedError` for scenarios whose motion, which these steps damp, is the result.
    """
    if not scenario.quasi_static:
        raise NotImplementedError("contact without any dissipation but friction")
    arrays = rod_arrays(rod, elements, scenario.gravity)
    touching, rubbing = contact_energies(scenario, rod, elements)
    arguments = arrays.arguments()
    arguments["energies"] = [*arguments["energies"], *touching]
    interval, longest = scenario.duration / (count - 1), scale * contact_step(scenario)
    damping = mg.energy("mass_damping", rate=damping_rate(scenario))
    stepper = STEPPERS.ImplicitEuler(dt=longest)
    simulation = mg.Simulation(**arguments, dissipations=[damping, *rubbing], stepper=stepper)
    recorded = Recorded(simulation)
    slip = SEEN * min(sqrt(2.0 * (one.radius + rod.radius) * SINK * rod.radius) for one in scenario.obstacles)
    with told_as_unsolved(simulation):
        for _ in range(count - 1):
            speed = float(np.linalg.norm(simulation.fields["v"].values, axis=1).max())
            most = max(SHORTEST * longest, min(longest, slip / speed)) if speed else SHORTEST * longest
            steps = ceil(interval / most * (1.0 - 1e-9))
            simulation.dt = interval / steps
            advance_frame(simulation, arrays, steps)
            recorded.add_frame()
    return recorded


def contact_step(scenario: Any) -> float:
    """The longest step of contact [s]."""
    return float(2.0 * np.pi / (CONTACT_STEPS * scenario.slowest_frequency()))


def largest_pull(scenario: Any, rod: Any, obstacle: Any) -> float:
    """The most that a cylinder pushes a rod that hangs over it, by mass [m/s^2]."""
    weight = float(np.linalg.norm(scenario.gravity))
    return weight * max(1.0, rod.length / (obstacle.radius + rod.radius))


def contact_energies(scenario: Any, rod: Any, elements: int) -> tuple[list[Any], list[Any]]:
    """Energies and dissipations of the cylinders. Raises `NotImplementedError` for planes."""
    touching, rubbing = list[Any](), list[Any]()
    mass = rod.material.density * rod.area * rod.length / elements
    for k, obstacle in enumerate(scenario.obstacles):
        if obstacle.kind != "cylinder":
            raise NotImplementedError(f"an obstacle of the kind {obstacle.kind}")
        shape = {
            "centre": [float(a) for a in obstacle.center],
            "axis": [float(a) for a in obstacle.axis],
            "radius": obstacle.radius + rod.radius,
            "stiffness": mass * largest_pull(scenario, rod, obstacle) / (SINK * rod.radius) ** 2,
        }
        touching.append(mg.energy("cylinder", name=f"cylinder_{k}", **shape))
        if mu := float(max(obstacle.friction, rod.friction)):
            rubs = {"coefficient": mu, "creep": CREEP}
            rubbing.append(mg.energy("cylinder_friction", name=f"friction_{k}", **rubs, **shape))
    return touching, rubbing
