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

A component that several holds move alike belongs to the first of them: its reaction is theirs no more.

Decisions 0160, 0358.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..energies.fields import Fields, Hold, Motion, ordered_sum
from ..engine import storage
from ..engine.kernels import BoundKernel, Code
from ..errors import EnergyError
from .supports.held_components import HeldComponents
from .supports.hold_numbers import HoldNumbers


class Holds:
    """The held components of some fields, and the masks of the free ones.

    `numbers`: those of their motion, by name. Raises `EnergyError` for a component that two holds move in
    different ways, and for axes or motions that do not fit.
    """

    def __init__(self, fields: Fields, holds: Sequence[Hold] = (), motions: Sequence[Motion] = ()):
        self._fields = fields
        by_field: dict[str, list[Hold]] = {}
        for hold in holds:
            by_field.setdefault(hold.field, []).append(hold)
        velocity = {m.position: fields[m.velocity] for m in motions}
        self._held = {n: HeldComponents(fields[n], velocity.get(n), some) for n, some in by_field.items()}
        self.numbers = HoldNumbers(self._held, holds)
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
    def held(self) -> Mapping[str, HeldComponents]:
        """The held components, by field."""
        return self._held

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

    @property
    def sudden(self) -> bool:
        """True if a component is displaced or turned at once."""
        return any(held.sudden for held in self._held.values())

    def begin(self) -> None:
        """Let all motions begin where the held components are now."""
        for held in self._held.values():
            held.begin()

    def take_part(self, part: float) -> None:
        """Let `place` displace and turn components by this part, 0 to 1, of all that happens at once."""
        for held in self._held.values():
            held.take_part(part)

    def rates_of_part(self) -> dict[str, np.ndarray]:
        """How held components change with the part of `take_part`, by field, zero at free ones."""
        found = {name: np.zeros(self._fields[name].shape) for name in self._held}
        for name, held in self._held.items():
            found[name][held.all] = held.rates_of_part()
        return found

    def turn(self, times: np.ndarray) -> float:
        """The largest angle [rad] by which a support turns between two of these times, one after another."""
        return max((held.turn(times) for held in self._held.values()), default=0.0)

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
