"""Rods of CosseratBench as arrays and energies of a simulation: shape, supports, loads, weight.

A rod is without shear (Kirchhoff), as the references of the benchmark are, and straight at rest. The angle of
a clamp that turns is a parameter. Lengths, forces and moduli are in SI units.

Decisions 0191.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import minusgrad as mg

from .. import frames
from ..rod_state import RodEnd, RodLine, line_of_points, rod_state
from ..sections import Circle

START, END = "start", "end"
WORLD = np.eye(3)


@dataclass(frozen=True)
class DrivenClamp:
    """A clamp that turns: the parameter of its angle, its axis (3,), the scenario's motion."""

    parameter: str
    axis: np.ndarray
    motion: Any

    def angle(self, time: float) -> float:
        """The angle at a time [rad]."""
        motion = self.motion
        along = np.asarray(motion.rotation, float) @ self.axis
        return float(np.interp(time, motion.times, along))


@dataclass
class RodArrays:
    """Arguments of `minusgrad.Simulation` for a rod, and its clamps that turn."""

    fields: dict[str, Any] = field(default_factory=dict)
    tuples: dict[str, Any] = field(default_factory=dict)
    energies: list[Any] = field(default_factory=list)
    holds: list[dict[str, Any]] = field(default_factory=list)
    bodies: dict[str, np.ndarray] = field(default_factory=dict)
    driven: list[DrivenClamp] = field(default_factory=list)

    def arguments(self) -> dict[str, Any]:
        """Fields, lists, energies, supports and motions."""
        return {
            "fields": self.fields,
            "tuples": self.tuples,
            "bodies": self.bodies,
            "energies": self.energies,
            "holds": self.holds,
            "motions": [mg.Motion("x", "v", "m"), mg.Motion("q", "q_rate", "q_inertia")],
        }


UNITS = {"x": "m", "v": "m s^-1", "m": "kg", "q": "1", "q_rate": "s^-1", "q_inertia": "kg m^2"}
ENERGIES = {"rod_edges": "kirchhoff_edge", "rod_joints": "rod_bend"}


def rod_arrays(rod: Any, elements: int, gravity: Any = (0.0, 0.0, 0.0)) -> RodArrays:
    """A rod of so many elements under gravity (3,) [m/s^2], with its supports and loads.

    Raises `NotImplementedError` for what the model does not have: clamps that move or turn about more than
    one axis, and slides that are not along an axis of the world.
    """
    state = _state_at_rest(rod, elements)
    values = dict(state.fields) | {"x": rod.nodes(elements)}
    made = RodArrays({name: (np.asarray(one), UNITS[name]) for name, one in values.items()})
    moduli = {"youngs_modulus": rod.material.youngs_modulus, "shear_modulus": rod.material.shear_modulus}
    for name, energy in ENERGIES.items():
        if name in state.tuples:
            read = {key: one for key, one in state.data[name].items() if key != "shear_areas"}
            own = moduli if name == "rod_joints" else {"youngs_modulus": moduli["youngs_modulus"]}
            made.tuples[name] = (state.tuples[name], read)
            made.energies.append(mg.energy(energy, tuples=name, **own))
    for end, node, name in ((START, 0, "first"), (END, elements, "last")):
        made.bodies[end] = np.array([node])
        condition, motion = getattr(rod, end).value, getattr(rod, f"{end}_motion")
        if condition != "free":
            made.holds.append({"body": end, "field": "x"} | _held_axes(motion))
        if condition == "clamped":
            _add_clamp(made, end, state.brings.ends[name], moduli, motion)
    for k, load in enumerate(rod.loads):
        force = [float(f) for f in load.force]
        made.energies.append(mg.energy("load", name=f"load_{k}", body=load.at.value, force=force))
    if any(gravity):
        made.energies.append(mg.energy("body_force", acceleration=[float(a) for a in gravity]))
    return made


def rod_directors(x: np.ndarray, q: np.ndarray) -> np.ndarray:
    """d1 (e, 3) of quaternions q (e, 4), made exactly across the edges between places x (e + 1, 3)."""
    d1 = frames.axes_of(q / np.linalg.norm(q, axis=1, keepdims=True))[..., 0]
    tangents = np.diff(x, axis=0)
    tangents /= np.linalg.norm(tangents, axis=1, keepdims=True)
    across = d1 - np.sum(d1 * tangents, axis=1, keepdims=True) * tangents
    return across / np.linalg.norm(across, axis=1, keepdims=True)


def _state_at_rest(rod: Any, elements: int) -> Any:
    """The state of a rod without stretch, with the frames that it starts with."""
    nodes = rod.nodes(elements)
    tangents = np.diff(nodes, axis=0)
    tangents /= np.linalg.norm(tangents, axis=1, keepdims=True)
    steps = tangents * rod.length / elements
    places = nodes[0] + np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])
    line = line_of_points(places, np.asarray(rod.normal, float))
    line = RodLine(line.points, line.frames, False, np.zeros((len(line.joints), 3)))
    section, middles = Circle(radius=rod.radius), (np.arange(elements) + 0.5) / elements
    edges, joints, ends = (
        section.numbers({"radius": rod.radius}, s) for s in (middles, middles[1:], np.array([0.0, 1.0]))
    )
    return rod_state(line, edges, joints, ends, rod.material.density, np.zeros(3), True)


def _held_axes(motion: Any) -> dict[str, Any]:
    """The axes along which an end is held."""
    if motion is None:
        return {}
    if np.any(np.asarray(motion.displacement, float)):
        raise NotImplementedError("an end that is moved, not turned alone")
    if motion.slides_along is None:
        return {}
    along = np.abs(motion.axis) > 1e-12
    if along.sum() != 1:
        raise NotImplementedError("an end that slides along a direction that is no axis")
    return {"axes": "".join(name for name, free in zip("xyz", along, strict=True) if not free)}


def _add_clamp(made: RodArrays, name: str, end: RodEnd, moduli: dict[str, float], motion: Any) -> None:
    axis = WORLD[0] if motion is None else _turning_axis(motion)
    data = {
        "length": end.lengths,
        "second_moments": end.second_moments,
        "torsion": end.torsion,
        "wall": end.walls,
        "axis": axis[None],
    }
    clamp = f"clamp_{name}"
    made.tuples[clamp] = (end.edges[:, None], data)
    made.energies.append(mg.energy("rod_clamp", name=clamp, tuples=clamp, **moduli))
    if motion is not None:
        made.driven.append(DrivenClamp(f"{clamp}.angle", axis, motion))


def _turning_axis(motion: Any) -> np.ndarray:
    """The one axis of a motion's rotations."""
    turns = np.asarray(motion.rotation, float)
    sizes = np.linalg.norm(turns, axis=1)
    if not sizes.max() > 0.0:
        return WORLD[0]
    axis = turns[int(np.argmax(sizes))] / sizes.max()
    if np.abs(turns - (turns @ axis)[:, None] * axis).max() > 1e-12 * sizes.max():
        raise NotImplementedError("an end that turns about more than one axis")
    return axis
