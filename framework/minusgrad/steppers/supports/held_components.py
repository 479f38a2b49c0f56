"""The held components of one field: their indices, the numbers of their motion, and code that places them.

The motion is that of `holds`; `given` has its numbers as a scene states them, a column for each component.
Several holds may have a component if they move it alike; it then belongs to the first one, whose reaction
and whose numbers are those of the component.

Decisions 0160.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...energies.fields import Field, Hold
from ...engine import storage
from ...engine.kernels import Code
from ...errors import EnergyError
from .held_once import HeldOnce

Places = tuple[np.ndarray, ...]
"""Index arrays of the held components of a field: nodes, then one array for each axis."""
ROWS = ("displacement", "frequency", "velocity", "across", "beside", "angle", "rate")
"""The rows of `HeldComponents.given`; the frequency is 1 / duration, zero where all happens at once."""


class HeldComponents:
    """The held components of one field, one after another: their indices, and the numbers of their motion."""

    def __init__(self, field: Field, velocity: Field | None, holds: Sequence[Hold]):
        self.field, self.velocity = field, velocity
        self.places: dict[str, Places] = {}
        self.free = np.ones(field.shape, bool)
        self._axes: dict[str, np.ndarray] = {}
        """By hold, the number of the axis of each of its components, among the axes of the hold."""
        self._stated: dict[str, np.ndarray] = {}
        """By hold, the rows of `given` for each of its axes."""
        self._shared: dict[str, set[str]] = {}
        numbers, owned, owners = list[np.ndarray](), list[np.ndarray](), HeldOnce(field)
        for hold in holds:
            places, motion = _places(field, hold)
            if hold.name in self.places:
                raise EnergyError(f"two holds of '{field.name}' are called '{hold.name}'; rename one")
            own, others = owners.own_components(hold, places, motion)
            for other in others:
                self._shared.setdefault(other, set()).add(hold.name)
                self._shared.setdefault(hold.name, set()).add(other)
            axes = len(places[0]) // len(hold.nodes)
            self._stated[hold.name] = motion[:, :axes].copy()
            self._axes[hold.name] = np.tile(np.arange(axes), len(hold.nodes))[own]
            self.free[places] = False
            self.places[hold.name] = tuple(part[own] for part in places)
            numbers.append(motion[:, own])
            owned.append(own)
        self.all = tuple(np.concatenate(part) for part in zip(*self.places.values(), strict=True))
        self.given = np.concatenate(numbers, axis=1)
        self.start = field.values[self.all].astype(np.float64)
        self.turns = any(h.rotation is not None for h in holds)
        self._rotations = {h.name: (h, own) for h, own in zip(holds, owned, strict=True) if h.rotation}
        self.moved = any(map(_moves, holds))
        self.mask = storage.allocate(self.free.astype(field.dtype))
        self._part = 1.0
        self._numbers = self._computed()
        self._arrays = {n: storage.allocate(a) for n, a in self._numbers.items()}
        self._indices = [storage.allocate(part.astype(np.int32)) for part in self.all]

    def begin(self) -> None:
        """Let the motion begin where the components are now, as at the start of another member."""
        now = self.field.values[self.all].astype(np.float64)
        if np.array_equal(now, self.start):
            return
        self.start = now
        for name, (hold, own) in self._rotations.items():
            self.given[3:5, self.columns(name)] = _turned(self.field, hold)[:2, own]
        self._store()

    @property
    def arrays(self) -> list[Any]:
        """The arrays that follow from where the components begin."""
        return [self._arrays[name] for name in ("start", "across", "beside") if name in self._arrays]

    def columns(self, hold: str) -> slice:
        """The components of a hold, among all of the field."""
        sizes = [len(places[0]) for places in self.places.values()]
        number = list(self.places).index(hold)
        return slice(sum(sizes[:number]), sum(sizes[: number + 1]))

    def stated(self, hold: str, row: str, count: int) -> np.ndarray:
        """The first numbers of a row of a hold: one, or one for each axis."""
        return self._stated[hold][ROWS.index(row)][:count]

    def spread(self, hold: str, values: np.ndarray) -> np.ndarray:
        """One number, or one for each axis of a hold, for each of its components."""
        values = np.atleast_1d(values)
        return values[self._axes[hold]] if len(values) > 1 else np.repeat(values, len(self._axes[hold]))

    def summed(self, hold: str, slopes: np.ndarray, count: int) -> np.ndarray:
        """The sum of numbers of a hold's components, or the sums of each of its axes."""
        if count > 1 and len(slopes) % count == 0 and (self.spread(hold, np.arange(count)) == np.tile(
            np.arange(count), len(slopes) // count
        )).all():  # fmt: skip
            return slopes.reshape(-1, count).sum(axis=0)
        if count > 1:
            return np.array([slopes[self._axes[hold] == k].sum() for k in range(count)])
        return slopes.reshape(-1, 1).sum(axis=0)

    def set(self, hold: str, row: str, values: np.ndarray) -> None:
        """Overwrite a row of `given` for the components of a hold: one number, or one for each axis.

        Raises `EnergyError` for a speed of a support at rest, whose work steppers do not count, and for
        another number of a hold that has components with others in common.
        """
        present = self.stated(hold, row, np.size(values))
        if hold in self._shared and (present != np.atleast_1d(values)).any():
            others = " and ".join(sorted(self._shared[hold]))
            raise EnergyError(
                f"hold '{hold}': has components that {others} holds, too, and cannot move alone, got another"
                f' {row}; hold each component once, by a side with minus and of = "nodes"'
            )
        if not self.moved and row in ("velocity", "rate") and np.any(values):
            raise EnergyError(
                f"'{self.field.name}': its supports are at rest, and cannot be given a {row} afterwards, got"
                f" {np.asarray(values).tolist()}; let the hold start with a small one"
            )
        self.given[ROWS.index(row), self.columns(hold)] = self.spread(hold, values)
        self._stated[hold][ROWS.index(row)] = values
        self._store()

    @property
    def sudden(self) -> bool:
        """True if a component is displaced or turned at once."""
        far, rate, _, _, _, angle, _ = self.given
        return bool(((rate == 0.0) & ((far != 0.0) | (angle != 0.0))).any())

    def take_part(self, part: float) -> None:
        """Displace and turn components by this part, 0 to 1, of all that happens at once."""
        self._part = part
        self._store()

    def rates_of_part(self) -> np.ndarray:
        """d(position)/d(part) of each held component, of what happens at once, at the present part."""
        far, rate, _, across, beside, angle, _ = self.given
        at_once, turn = rate == 0.0, np.where(rate == 0.0, self._part * angle, 0.0)
        turned = (beside * np.cos(turn) - across * np.sin(turn)) * angle
        return np.where(at_once, far + turned, 0.0)

    def _store(self) -> None:
        self._numbers = self._computed()
        for name, array in self._arrays.items():
            storage.store(array, self._numbers[name])

    def _computed(self) -> dict[str, np.ndarray]:
        """The numbers that kernels read; changes at once are part of the start."""
        far, rate, drift, across, beside, angle, spin = self.given
        at_once = rate == 0.0
        start = self.start + np.where(at_once, self._part * far, 0.0)
        at_start = np.where(at_once, self._part * angle, 0.0)
        start += across * (np.cos(at_start) - 1.0) + beside * np.sin(at_start)
        across, beside = (
            across * np.cos(at_start) + beside * np.sin(at_start),
            beside * np.cos(at_start) - across * np.sin(at_start),
        )
        numbers = {"start": start, "far": np.where(at_once, 0.0, far), "rate": rate, "drift": drift}
        if self.turns:
            angle = np.where(at_once, 0.0, angle)
            numbers |= {"across": across, "beside": beside, "angle": angle, "spin": spin}
        return {name: np.array(values) for name, values in numbers.items()}

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
            f"f_{self.field.name}[{self.at()}] = {t}({p}start[k] + {p}far[k] * r + {p}drift[k] * t{swept})"
        )
        if self.velocity:
            lines += [
                f"speed = ti.f64(30.0) * s * s * (ti.f64(1.0) - s) * (ti.f64(1.0) - s) * {p}rate[k]",
                f"f_{self.velocity.name}[{self.at()}] = {t}({p}far[k] * speed + {p}drift[k]{turned})",
            ]
        fields = {f"f_{f.name}": f.array for f in (self.field, self.velocity) if f}
        arrays = {f"{p}{n}": a for n, a in self._arrays.items()} | self.indices | fields
        return Code("".join(f"{line}\n" for line in lines), arrays).inside(
            f"for k in range({p}start.shape[0]):"
        )

    def power_code(self, force: str, work: str) -> Code:
        assert self.velocity
        velocity, at = f"f_{self.velocity.name}", self.at()
        line = f"{work}[0] = {work}[0] + h * ti.f64({force}[{at}]) * ti.f64({velocity}[{at}])\n"
        arrays = {velocity: self.velocity.array} | self.indices
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

    def turn(self, times: np.ndarray) -> float:
        """The largest angle by which a rotation turns between two of these times, one after another."""
        if not self.turns:
            return 0.0
        far, rate, spin = np.unique(np.stack([self._numbers[n] for n in ("angle", "rate", "spin")]), axis=1)
        s = np.clip(times[:, None] * rate, 0.0, 1.0)
        theta = far * s**3 * (10.0 - 15.0 * s + 6.0 * s**2) + spin * times[:, None]
        return float(np.abs(np.diff(theta, axis=0)).max(initial=0.0))

    def masses(self, inertia: Any) -> np.ndarray:
        """The inertia of each component."""
        values = storage.host(inertia).astype(np.float64)
        return values[self.all[0]] if len(values) > 1 else np.broadcast_to(values, self.all[0].shape)

    def at(self, number: str = "k") -> str:
        """The index in the field, in a kernel, of the held component of this number."""
        return ", ".join(f"hold_{self.field.name}_i{k}[{number}]" for k in range(len(self._indices)))

    @property
    def indices(self) -> dict[str, Any]:
        """The arrays that `at` reads."""
        return {f"hold_{self.field.name}_i{k}": a for k, a in enumerate(self._indices)}


def _moves(hold: Hold) -> bool:
    """True if its motion takes time; of displacements and angles, whatever they are."""
    turning = hold.rotation is not None and (hold.duration > 0.0 or hold.rotation.rate != 0.0)
    return turning or any(hold.velocity) or (bool(hold.displacement) and hold.duration > 0.0)


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


def _is_subnormal(number: float) -> bool:
    """By the bits of the number, since an engine may set the processor to flush such numbers to zero."""
    bits, least = (np.float64(abs(n)).view(np.int64) for n in (number, np.finfo(np.float64).smallest_normal))
    return bool(0 < bits < least)
