"""Held components of fields (Dirichlet conditions): masks of the free ones, prescribed motion, reactions.

    x(t) = X + D r(t / T) + V t,   v = dx/dt      at every held component, r(s) = s^3 (10 - 15 s + 6 s^2)
    x(t) = X + A (cos theta - 1) + B sin theta + D r + V t,   theta = alpha r(t / T) + omega t     if it turns
    reaction = dU/dx + dR/dv + m d2x/dt2          the force of the support on the body
    power = (dU/dx) v                             the power of the supports, without kinetic energy

A (n, d) is the part of X - c across the axis of a rotation, B = e x A, with the unit vector e of the axis.

Derivatives are of the unconstrained U; steppers leave the held components out, and set them to their
prescribed values (`place`).

A free mask is a boolean array of the field's shape, true where the component may move. There is one for every
field, all true where nothing is held; every argument and attribute named `free` follows this convention.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..energies.fields import Field, Fields, Hold, Motion, ordered_sum
from ..engine import storage
from ..engine.kernels import BoundKernel, Code
from ..errors import EnergyError

Places = tuple[np.ndarray, ...]
"""Index arrays of the held components of a field: nodes, then one array for each axis."""


class Holds:
    """The held components of some fields, and the masks of the free ones.

    Raises `EnergyError` for a component that is held twice, and for axes or motions that do not fit.
    """

    def __init__(self, fields: Fields, holds: Sequence[Hold] = (), motions: Sequence[Motion] = ()):
        self._fields = fields
        by_field: dict[str, list[Hold]] = {}
        for hold in holds:
            by_field.setdefault(hold.field, []).append(hold)
        velocity = {m.position: fields[m.velocity] for m in motions}
        self._held = {n: _Held(fields[n], velocity.get(n), some) for n, some in by_field.items()}
        self._launch = BoundKernel(self.code(), "t") if holds else None

    @property
    def fields(self) -> list[str]:
        """The names of the fields with held components."""
        return list(self._held)

    def free(self, field: str) -> np.ndarray:
        """The free mask of a field: booleans of its shape, read-only where nothing is held."""
        if field in self._held:
            return self._held[field].free
        return np.broadcast_to(np.True_, self._fields[field].shape)

    @property
    def moving(self) -> bool:
        """True if a held component moves, false if all of them are at rest."""
        return any(held.moved for held in self._held.values())

    def moves(self, field: str) -> bool:
        """True if a held component of this field moves."""
        return field in self._held and self._held[field].moved

    @property
    def names(self) -> list[str]:
        """The names of the holds, by field, in the order given."""
        return [name for held in self._held.values() for name in held.places]

    def place(self, t: float) -> None:
        """Set the held components, and their velocities, to their prescribed values at time t."""
        if self._launch:
            self._launch(t)

    def refuse_unmoved(self, motions: Sequence[Motion]) -> None:
        """Raise `EnergyError` for a held field that does not move, or whose velocity has another name."""
        velocity = {m.position: m.velocity for m in motions}
        for name, held in self._held.items():
            if name not in velocity:
                raise EnergyError(f"hold: field '{name}' does not move; hold one of {', '.join(velocity)}")
            if held.velocity is None or held.velocity.name != velocity[name]:
                raise EnergyError(
                    f"hold: field '{name}' has another velocity than the holds, got '{velocity[name]}';"
                    " use one motion"
                )

    def code(self) -> Code:
        """The loops of `place`, for a larger kernel (scalar `t`)."""
        return Code.joined(held.code() for held in self._held.values())

    def mask(self, field: str) -> Any:
        """The free mask as an array for kernels, 1 or 0 in the field's precision; None if nothing is held.

        None lets a kernel leave the factor out.
        """
        return self._held[field].mask if field in self._held else None

    @property
    def placed(self) -> dict[str, Any]:
        """`mask` for each field that `place` writes: the held ones and their velocities."""
        masks = {n: held.mask for n, held in self._held.items()}
        velocities = {h.velocity.name: h.mask for h in self._held.values() if h.velocity is not None}
        return masks | velocities

    # Energy from the supports

    def power(self, forces: Mapping[str, Any]) -> float:
        """Sum of force times velocity over the held components; `forces` by field."""
        held = [(h, forces[n]) for n, h in self._held.items() if h.moved]
        return sum(ordered_sum(storage.host(f)[h.all].astype(np.float64) * h.speeds()) for h, f in held)

    def power_code(self, forces: Mapping[str, str], work: str) -> Code:
        """Loops that add h times `power` to `work[0]`; the names of the forces by field."""
        moved = {n: h for n, h in self._held.items() if h.moved}
        return Code.joined(h.power_code(forces[n], work) for n, h in moved.items())

    def kinetic(self, inertia: Mapping[str, Any]) -> float:
        """Kinetic energy of the held components at their present velocities; `inertia` by field."""
        moved = {n: h for n, h in self._held.items() if h.moved}
        return sum(ordered_sum(0.5 * h.masses(inertia[n]) * h.speeds() ** 2) for n, h in moved.items())

    def reaction(self, field: str, force: np.ndarray, inertia: Any, t: float) -> np.ndarray:
        """The supports' force on each component of a field, zero at free ones; force = dU/dx + dR/dv."""
        found = np.zeros_like(force, dtype=np.float64)
        if field in self._held:
            held = self._held[field]
            found[held.all] = force[held.all].astype(np.float64)
            if held.moved and inertia is not None:
                found[held.all] += held.masses(inertia) * held.accelerations(t)
        return found

    def acceleration(self, field: str, t: float) -> np.ndarray:
        """The prescribed acceleration of each component of a field at time t, zero at free ones."""
        found = np.zeros(self._fields[field].shape)
        if self.moves(field):
            held = self._held[field]
            found[held.all] = held.accelerations(t)
        return found

    def totals(self, field: str, reaction: np.ndarray) -> dict[str, np.ndarray]:
        """The sum of a field's reactions over the nodes of each hold: shape of one value."""
        held = self._held.get(field)
        found = {}
        for name, places in (held.places if held else {}).items():
            part = np.zeros_like(reaction)
            part[places] = reaction[places]
            columns = part.reshape(len(part), -1).T
            found[name] = np.array([ordered_sum(c) for c in columns]).reshape(reaction.shape[1:])
        return found


class _Held:
    """The held components of one field, one after another: their indices, and the numbers of their motion."""

    def __init__(self, field: Field, velocity: Field | None, holds: Sequence[Hold]):
        self.field, self.velocity = field, velocity
        self.places: dict[str, Places] = {}
        self.free = np.ones(field.shape, bool)
        numbers: list[np.ndarray] = []
        for hold in holds:
            places, motion = _places(field, hold)
            if hold.name in self.places:
                raise EnergyError(f"two holds of '{field.name}' are called '{hold.name}'; rename one")
            if not self.free[places].all():
                twice = next(n for n, p in self.places.items() if not _apart(field, p, places))
                raise EnergyError(
                    f"'{field.name}' is held twice at the same place, by '{twice}' and '{hold.name}'; name"
                    " each component once"
                )
            self.free[places] = False
            self.places[hold.name] = places
            numbers.append(motion)
        self.all = tuple(np.concatenate(part) for part in zip(*self.places.values(), strict=True))
        far, rate, drift, across, beside, angle, spin = np.concatenate(numbers, axis=1)
        at_once = rate == 0.0
        start = field.values[self.all].astype(np.float64) + np.where(at_once, far, 0.0)
        at_start = np.where(at_once, angle, 0.0)
        start += across * (np.cos(at_start) - 1.0) + beside * np.sin(at_start)
        across, beside = (
            across * np.cos(at_start) + beside * np.sin(at_start),
            beside * np.cos(at_start) - across * np.sin(at_start),
        )
        angle = np.where(at_once, 0.0, angle)
        self.turns = bool((angle != 0.0).any() or (spin != 0.0).any())
        self.moved = bool((~at_once & (far != 0.0)).any() or (drift != 0.0).any()) or self.turns
        self._numbers = {"start": start, "far": np.where(at_once, 0.0, far), "rate": rate, "drift": drift}
        if self.turns:
            self._numbers |= {"across": across, "beside": beside, "angle": angle, "spin": spin}
        self.mask = storage.allocate(self.free.astype(field.dtype))
        self._arrays = {n: storage.allocate(a) for n, a in self._numbers.items()}
        self._indices = [storage.allocate(part.astype(np.int32)) for part in self.all]

    def code(self) -> Code:
        p, t = f"hold_{self.field.name}_", f"ti.{storage.ENGINE_DTYPES[self.field.dtype.name]}"
        lines = [
            f"s = ti.math.clamp(t * {p}rate[k], ti.f64(0.0), ti.f64(1.0))",
            "r = s * s * s * (ti.f64(10.0) + s * (ti.f64(-15.0) + ti.f64(6.0) * s))",
        ]
        swept = turned = ""
        if self.turns:
            lines += [
                f"theta = {p}angle[k] * r + {p}spin[k] * t",
                "half = ti.sin(ti.f64(0.5) * theta)",
                "cosine, sine = ti.cos(theta), ti.sin(theta)",
            ]
            swept = f" + ({p}beside[k] * sine - {p}across[k] * (ti.f64(2.0) * half * half))"
            turned = f" + ({p}beside[k] * cosine - {p}across[k] * sine) * ({p}angle[k] * speed + {p}spin[k])"
        lines.append(
            f"f_{self.field.name}[{self._at()}] = {t}({p}start[k] + {p}far[k] * r + {p}drift[k] * t{swept})"
        )
        if self.velocity:
            lines += [
                f"speed = ti.f64(30.0) * s * s * (ti.f64(1.0) - s) * (ti.f64(1.0) - s) * {p}rate[k]",
                f"f_{self.velocity.name}[{self._at()}] = {t}({p}far[k] * speed + {p}drift[k]{turned})",
            ]
        fields = {f"f_{f.name}": f.array for f in (self.field, self.velocity) if f}
        arrays = {f"{p}{n}": a for n, a in self._arrays.items()} | self._named_indices() | fields
        return Code("".join(f"{line}\n" for line in lines), arrays).inside(
            f"for k in range({p}start.shape[0]):"
        )

    def power_code(self, force: str, work: str) -> Code:
        assert self.velocity
        velocity, at = f"f_{self.velocity.name}", self._at()
        line = f"{work}[0] = {work}[0] + h * ti.f64({force}[{at}]) * ti.f64({velocity}[{at}])\n"
        arrays = {velocity: self.velocity.array} | self._named_indices()
        return Code(line, arrays).inside(f"for k in range(hold_{self.field.name}_i0.shape[0]):")

    def speeds(self) -> np.ndarray:
        """The present velocities."""
        return (
            self.velocity.values[self.all].astype(np.float64) if self.velocity else np.zeros(len(self.all[0]))
        )

    def accelerations(self, t: float) -> np.ndarray:
        """d2x/dt2 at time t."""
        n, rate = self._numbers, self._numbers["rate"]
        s = np.clip(t * rate, 0.0, 1.0)
        bend = rate**2 * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s)
        found = n["far"] * bend
        if self.turns:
            speed = n["angle"] * rate * 30.0 * (s * (1.0 - s)) ** 2 + n["spin"]
            theta = n["angle"] * s**3 * (10.0 - 15.0 * s + 6.0 * s**2) + n["spin"] * t
            cosine, sine = np.cos(theta), np.sin(theta)
            found = found + (n["beside"] * cosine - n["across"] * sine) * (n["angle"] * bend)
            found -= (n["across"] * cosine + n["beside"] * sine) * speed**2
        return found

    def masses(self, inertia: Any) -> np.ndarray:
        """The inertia of each component."""
        values = storage.host(inertia).astype(np.float64)
        return values[self.all[0]] if len(values) > 1 else np.broadcast_to(values, self.all[0].shape)

    def _at(self) -> str:
        return ", ".join(f"hold_{self.field.name}_i{k}[k]" for k in range(len(self._indices)))

    def _named_indices(self) -> dict[str, Any]:
        return {f"hold_{self.field.name}_i{k}": a for k, a in enumerate(self._indices)}


def _places(field: Field, hold: Hold) -> tuple[Places, np.ndarray]:
    """The indices of a hold's components; and the numbers (7, components) of their motion: displacement,
    1 / duration, velocity, then of a rotation the parts of X - c, angle and rate."""
    what, nodes = f"hold '{hold.name}'", np.asarray(hold.nodes)
    if not nodes.size:
        raise EnergyError(f"{what}: has no nodes; name at least one")
    if nodes.ndim != 1 or nodes.dtype.kind not in "iu":
        raise EnergyError(f"{what}: needs a row of node numbers, got {nodes.dtype} of {list(nodes.shape)}")
    if (outside := nodes[(nodes < 0) | (nodes >= len(field))]).size:
        raise EnergyError(f"{what}: no node {outside[0]}; '{field.name}' has {len(field)}")
    if (double := np.flatnonzero(np.bincount(nodes) > 1)).size:
        raise EnergyError(f"{what}: node {double[0]} is given twice; give it once")
    shape = field.shape[1:]
    every = np.arange(int(np.prod(shape, dtype=int)))
    axes = every if hold.axes is None else np.array(hold.axes, int)
    if not np.isin(axes, every).all() or not axes.size:
        raise EnergyError(f"{what}: its axes must be below {len(every)}, got {axes.tolist()}; correct them")
    if len(np.unique(axes)) < len(axes):
        raise EnergyError(f"{what}: an axis is given twice, got {axes.tolist()}; give it once")
    for motion, values in (("displacement", hold.displacement), ("velocity", hold.velocity)):
        if len(values) not in (0, len(axes)):
            raise EnergyError(f"{what}: its {motion} has {len(values)} numbers, for {len(axes)} axes")
    if hold.duration < 0.0:
        raise EnergyError(f"{what}: its duration must be >= 0, got {hold.duration:g}; correct it")
    rows = np.zeros((3, len(axes)))
    rows[0] = hold.displacement or 0.0
    rows[1] = 1.0 / hold.duration if hold.duration else 0.0
    rows[2] = hold.velocity or 0.0
    if _is_subnormal(hold.duration) or not np.isfinite([hold.duration, *rows.ravel()]).all():
        raise EnergyError(
            f"{what}: displacement, duration and velocity must be finite, got infinity or NaN; correct them"
        )
    node, axis = (a.ravel() for a in np.meshgrid(nodes, axes, indexing="ij"))
    numbers = np.concatenate([np.tile(rows, (1, len(nodes))), np.zeros((4, len(nodes) * len(axes)))])
    if hold.rotation:
        numbers[3:] = _turned(field, hold)
    return (node, *np.unravel_index(axis, shape)) if shape else (node,), numbers


def _turned(field: Field, hold: Hold) -> np.ndarray:
    """Of a rotation: the parts of X - c across the axis and beside it, angle and rate, (4, components)."""
    what, rotation, d = f"hold '{hold.name}': rotation", hold.rotation, field.shape[1:]
    assert rotation
    if d not in ((2,), (3,)):
        raise EnergyError(f"{what}: needs vectors of 2 or 3 components, got '{field.name}' of {list(d)}")
    if hold.axes is not None and len(hold.axes) < d[0]:
        raise EnergyError(f"{what}: moves all components, got axes {list(hold.axes)}; leave the axes out")
    if len(rotation.centre) != d[0]:
        raise EnergyError(
            f"{what}: its centre needs {d[0]} numbers, got {len(rotation.centre)}; give one for each axis"
        )
    if len(rotation.axis) != (3 if d == (3,) else 0):
        raise EnergyError(
            f"{what}: its axis has 3 numbers in space and is not given in the plane, got"
            f" {len(rotation.axis)} numbers in {d[0]} dimensions; correct it"
        )
    axis = np.array(rotation.axis or (0.0, 0.0, 1.0), np.float64)
    given = [*axis, *rotation.centre, rotation.angle, rotation.rate]
    if not np.isfinite(given).all() or not axis.any():
        raise EnergyError(f"{what}: needs finite numbers and an axis that is not zero; correct them")
    e = axis / np.linalg.norm(axis)
    arm = np.zeros((len(hold.nodes), 3))
    arm[:, : d[0]] = field.values[hold.nodes].astype(np.float64) - np.array(rotation.centre)
    across = arm - np.outer(arm @ e, e)
    order = sorted(range(d[0])) if hold.axes is None else list(hold.axes)
    rows = [part[:, order].ravel() for part in (across, np.cross(e, across))]
    return np.stack([*rows, *(np.full_like(rows[0], a) for a in (rotation.angle, rotation.rate))])


def _apart(field: Field, some: Places, others: Places) -> bool:
    taken = np.zeros(field.shape, bool)
    taken[some] = True
    return not taken[others].any()


def _is_subnormal(number: float) -> bool:
    """By the bits of the number, since an engine may set the processor to flush such numbers to zero."""
    bits, least = (np.float64(abs(n)).view(np.int64) for n in (number, np.finfo(np.float64).smallest_normal))
    return bool(0 < bits < least)
