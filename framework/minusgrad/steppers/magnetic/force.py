"""The magnetic force of a system: which charges feel which field, and the flow that an integrator follows.

    term = MagneticTerm(uniform_field, charge=1.0, parameters={"B": [0.0, 0.0, 2.0]})
    force = MagneticForce(fields, [Motion("x", "v", "m")], [term])

`force.potential` is the sum of the flows' W (`flow`), whose derivatives are the moves of integrators and of
their adjoints and tangents. Its parameters are "term.charge", "term.B", ... like those of energies.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...energies.fields import Body, Field, Fields, Motion
from ...energies.magnetic_field import CHARGE, MagneticField
from ...energies.roles import Node
from ...energies.term import Term
from ...energies.term_spec import TermSpec
from ...engine import storage
from ...errors import EnergyError, TermError
from ...potential.potential import Potential
from ...scene.units import UnitSystem
from ..holds import Holds
from .flow import MASS, PLACE, SPEED, TO_PLACE, TO_SPEED, flow_energy


@dataclass(frozen=True)
class MagneticTerm:
    """A magnetic field and the charges that feel it.

    field: `uniform_field`, or made by `vector_potential`. charge: a number, one for each node or each of
    `bodies` (a mapping by name), or the name of a field of charges. parameters: of the field, by argument, in
    the units of the fields. position: the moving field (default: that of the only motion). bodies: the
    charges (default: all nodes). name: in reports and in "name.charge"; default: the field's. in_plane: B was
    given as one number, the component along the normal of a plane.
    """

    field: MagneticField
    charge: Any = CHARGE
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    position: str | None = None
    bodies: Sequence[Body] = ()
    name: str | None = None
    units: UnitSystem | None = None
    in_plane: bool = False

    @property
    def label(self) -> str:
        """Its name in reports."""
        return self.name or self.field.name

    def motion(self, motions: Sequence[Motion]) -> Motion:
        """The motion of its charges. Raises `TermError` for a field that does not move."""
        names = [m.position for m in motions]
        position = self.position or (names[0] if len(names) == 1 else "")
        if position not in names:
            got = f"the field '{position}'" if position else "no field"
            text = f"needs a field that moves, got {got}; name one of {', '.join(names) or 'none'}"
            raise TermError(f"magnetic field '{self.label}': {text}", self.label)
        return motions[names.index(position)]

    def bound(self, motion: Motion, fields: Fields) -> Term:
        """Its flow, bound to the fields of a motion and the arrays that its derivatives are taken along."""
        d = self._dimension(fields[motion.position])
        charges, masses = isinstance(self.charge, str), isinstance(motion.inertia, str)
        energy = flow_energy(self.field, d, charges, masses)
        renamed = {PLACE: motion.position, SPEED: motion.velocity, **covectors(motion)}
        renamed |= {CHARGE: self.charge} if charges else {}
        renamed |= {MASS: str(motion.inertia)} if masses else {}
        given = {} if charges else {CHARGE: self.charge}
        spec = TermSpec(
            energy,
            name=self.label,
            bodies=self.bodies,
            renamed={a: name for a, name in renamed.items() if isinstance(energy.roles[a], Node)},
            data={} if masses else {MASS: np.array(motion.inertia)},
            parameters={**self.parameters, **given},
            units=self.units,
        )
        return Term.of(spec, fields)

    def _dimension(self, x: Field) -> int:
        """2 or 3. Raises `TermError` for other places, and for a B that does not fit them."""
        what = f"magnetic field '{self.label}'"
        if len(x.shape) != 2 or x.shape[1] not in (2, 3):
            raise TermError(
                f"{what}: needs places in the plane or in space, got '{x.name}' of shape {list(x.shape)};"
                " give each node 2 or 3 components",
                self.label,
            )
        if self.in_plane and x.shape[1] == 3:
            text = "needs three components in space, got one number for B; give a list"
            raise TermError(f"{what}: {text}", self.label)
        if self.field.uniform and x.shape[1] == 2:
            given = self.parameters.get("B", np.zeros(3))
            B = np.array(list(given.values()) if isinstance(given, Mapping) else given, np.float64)
            if B[..., :2].any():
                text = f"would push charges out of their plane, got B = {B.tolist()}"
                cure = "give its component along the normal, or places in space"
                raise TermError(f"{what}: {text}; {cure}", self.label)
        return x.shape[1]


def covectors(motion: Motion) -> dict[str, str]:
    """The fields xi and eta of a motion (`flow`), by argument."""
    return {TO_PLACE: f"{motion.position}_xi", TO_SPEED: f"{motion.velocity}_eta"}


class MagneticForce:
    """The magnetic force on the motions of a system: `potential` (of flows), and the nodes that are charged.

    Raises `EnergyError` for a node in two fields, and where a term does not fit the fields (`MagneticTerm`).
    """

    def __init__(self, fields: Fields, motions: Sequence[Motion], terms: Sequence[MagneticTerm]):
        if not terms:
            raise EnergyError("magnetic force: has no fields; give at least one MagneticTerm")
        moved = {term.label: term.motion(motions) for term in terms}
        names = {name for m in moved.values() for name in covectors(m).values()}
        shape = {n: fields[m.position].shape for m in moved.values() for n in covectors(m).values()}
        if taken := sorted(names.intersection(fields)):
            raise EnergyError(
                f"magnetic force: has a field '{taken[0]}' of its own; rename that of the state"
            )
        extended = fields.extended({name: np.zeros(shape[name]) for name in sorted(names)})
        self.terms, self.motions = list(terms), {m.position: m for m in moved.values()}
        self.potential = Potential(extended, [t.bound(moved[t.label], extended) for t in terms], frozen=True)
        self._nodes = {position: self._charged(position) for position in self.motions}
        self._masks: dict[str, Any] = {}

    def _charged(self, position: str) -> np.ndarray:
        """The nodes that a field acts on, a boolean for each."""
        x = self.potential.fields[position]
        owner = np.full(len(x), -1)
        names = list(self.potential.terms)
        for k, term in enumerate(self.potential.terms.values()):
            if term.fields[PLACE].name == position:
                nodes = term.elements.nodes[:, 0]
                if (twice := nodes[owner[nodes] >= 0]).size:
                    raise TermError(
                        f"magnetic field '{names[k]}': node {twice[0]} of '{position}' is in the field"
                        f" '{names[owner[twice[0]]]}', too; write their sum as one field, or name `body`",
                        names[k],
                    )
                owner[nodes] = k
        return owner >= 0

    def dimension(self, label: str) -> int:
        """The dimension of space in which a term's charges move."""
        found = self.potential.terms[label].dimension
        assert found is not None
        return found

    def draw(self, rng: np.random.Generator) -> None:
        """Give xi and eta random values, for checks; no move depends on them."""
        for motion in self.motions.values():
            for name in covectors(motion).values():
                field = self.potential.fields[name]
                field.set(rng.normal(size=field.shape))

    def charged(self, position: str) -> Any:
        """1 at the charged nodes of a motion, else 0, as an array for kernels; None if all are charged."""
        nodes = self._nodes[position]
        if nodes.all():
            return None
        if position not in self._masks:
            self._masks[position] = storage.allocate(nodes.astype(self.potential.fields[position].dtype))
        return self._masks[position]

    def refuse_partly_held(self, holds: Holds) -> None:
        """Raise `EnergyError` for charges that are held in some components only, or on a moving support.

        The rotation couples the components; on a support that moves, the force would change its reaction.
        """
        for position, nodes in self._nodes.items():
            free = holds.free(position)
            partly = nodes & free.any(axis=1) & ~free.all(axis=1)
            if partly.any():
                raise EnergyError(
                    f"hold: node {np.argmax(partly)} of '{position}' is charged in a magnetic field, which"
                    " turns its velocity, got some of its components held; hold all of them, or none (for"
                    " motion in a plane give the state two dimensions)"
                )
            if holds.moves(position) and (nodes & ~free.all(axis=1)).any():
                node = np.argmax(nodes & ~free.all(axis=1))
                raise EnergyError(
                    f"hold: node {node} of '{position}' is charged in a magnetic field, got a support that"
                    " moves; hold it at rest, or leave it out of the field by `body`"
                )
