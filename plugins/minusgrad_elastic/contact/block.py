"""Tables of contact: surfaces of bodies that no step lets pass through each other.

The energies are those of a law (`laws`), with the same parameters. With stiffness = "auto" it is

    k = K / D,      K the mean of d2U/dx_c^2 over components c of surface nodes, of all other energies

so that bodies rest on each other within D, light ones on stiff surfaces near D itself. K is found
once, from the products of the Hessian and a few vectors of random signs (Hutchinson 1990, Commun. Stat.
Simul. Comput. 19, 433).

Decisions 0087, 0127, 0129.
"""

from math import inf
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from minusgrad import bind
from minusgrad.plugin import (
    Compound,
    CompoundContext,
    FoundTuples,
    MinusgradError,
    Potential,
    Quantity,
    Record,
    UserError,
    choices,
    quantities,
)

from .collision_surface import CollisionSurface, Meeting
from .contact_law import ContactLaw
from .distances import CLASSES, IN_PLANE, IN_SPACE
from .friction import frictions

Length = Annotated[float | str, Quantity("m", "positive")]
PROBES = 8
"""Vectors of random signs."""


class Friction(Record):
    """Coulomb's friction, smooth at rest."""

    coefficient: Annotated[float, Field(ge=0.0)]
    """Coulomb's coefficient."""
    speed: Annotated[float | str, Quantity("m s^-1", "positive")]
    """Speed from which on friction is Coulomb's; bodies that stick creep more slowly."""


class ContactBlock(Record):
    """What every contact says: who meets whom, and from which distance on. `law`: what then follows."""

    law: ClassVar[ContactLaw]

    bodies: Literal["all"] | tuple[str, ...] = "all"
    """Bodies, or sides, whose surfaces take part: facets all of whose nodes are in them; "all": every one."""
    pairs: tuple[tuple[str, str], ...] = ()
    """Pairs of bodies, or sides, that alone meet; empty: all of `bodies` do."""
    self: bool = True
    """A connected surface meets itself; false: its features meet those of others alone."""
    distance: Length
    """Gap below which two features interact; shorter than the edges of a surface that meets itself."""
    thickness: Annotated[float | str, Quantity("m", "nonnegative")] = 0.0
    """Distance that surfaces keep: the gap is what is beyond it, as of sheets of this thickness."""
    friction: Friction | None = None
    """Friction of what touches: { coefficient = 0.3, speed = "1 mm/s" } (default: none)."""

    @classmethod
    def of_law(cls, law: ContactLaw) -> type[Self]:
        """The model itself, whose contacts then obey a law."""
        cls.law = law
        return cls

    def make(self, context: CompoundContext) -> Compound:
        return _Builder(self, quantities(self, context.units), context).compound()


class _Builder:
    """The terms of one block."""

    def __init__(self, block: Any, given: dict[str, Any], context: CompoundContext):
        self.block, self.context, self.name, self.law = block, context, block.name, block.law
        self.distance: float = given["distance"]
        self.thickness: float = given["thickness"]
        self.given = given
        self._refuse_unfit()
        self.x = context.fields["x"].values.astype(np.float64)
        self.d = self.x.shape[1]
        self.known = {body.name: np.asarray(body.nodes) for body in context.state.bodies}
        facets = self._facets()
        self.surface = CollisionSurface(
            facets, self.distance, self.d, thickness=self.thickness, meeting=self._meeting(facets)
        )
        self._refuse_start()

    def _refuse_unfit(self) -> None:
        """Refuse what collisions are not found in: boxes, single precision, devices."""
        fields = self.context.fields
        if fields.box is not None:
            raise UserError(
                f"kind: {self.law.name} knows no images of nodes, got a periodic box; leave one of them out"
            )
        if fields.dtype != np.float64:
            raise UserError(
                f'kind: {self.law.name} needs double precision, got f32; write [runtime] precision = "f64"'
            )

    def _facets(self) -> np.ndarray:
        """The facets (F, d), each once."""
        state, d = self.context.state, self.d
        if not state.facets or d not in (2, 3):
            raise UserError(
                f"kind: {self.law.name} needs bodies with a surface, got none; use a state with cells"
            )
        facets = np.unique(np.asarray(state.tuples[state.facets]), axis=0)
        if facets.shape[1] != d:
            flat = "edges of two nodes" if d == 2 else "triangles"
            raise UserError(
                f"kind: {self.law.name} is of surfaces of {flat}, got facets of {facets.shape[1]} nodes; use"
                f" linear {'cells' if d == 2 else 'tetrahedra'}"
            )
        key, names = self._named()
        if names is None:
            return facets
        if missing := [name for name in names if name not in self.known]:
            raise UserError(f"{key}: no body named '{missing[0]}'{choices(missing[0], self.known)}")
        kept = []
        for name in names:
            own = facets[np.isin(facets, self.known[name]).all(axis=1)]
            if not len(own):
                raise UserError(
                    f"{key}: no facet of the surface has all nodes in '{name}'; name another body"
                )
            kept.append(own)
        return np.unique(np.concatenate(kept), axis=0)

    def _named(self) -> tuple[str, list[str] | None]:
        """The bodies whose surfaces take part, and the key that names them; None: all."""
        block = self.block
        if block.pairs and block.bodies != "all":
            raise UserError("pairs: name the bodies that meet, got `bodies`, too; leave one of them out")
        if block.pairs:
            return "pairs", list(dict.fromkeys(name for pair in block.pairs for name in pair))
        if block.bodies == "all":
            return "bodies", None
        if not block.bodies:
            raise UserError('bodies: names no body, got []; write bodies = "all"')
        return "bodies", list(dict.fromkeys(block.bodies))

    def _meeting(self, facets: np.ndarray) -> Meeting | None:
        """Who meets whom; None: every feature meets every other one."""
        pairs = [(self.known[a], self.known[b]) for a, b in self.block.pairs]
        if self.block.self and not pairs:
            return None
        return Meeting.of(facets, pairs, with_itself=self.block.self)

    def _refuse_start(self) -> None:
        """Refuse a distance that neighbours of one surface are within, and surfaces that intersect."""
        shortest, reach = self.surface.shortest_edge(self.x), self.distance + self.thickness
        if self.surface.meets_itself and not reach < shortest:
            what = "distance: must be" if not self.thickness else "distance: with `thickness` must be"
            raise UserError(
                f"{what} below the shortest edge of the surface, {shortest:.4g}, as neighbours do"
                f" not touch, got {reach:.4g}; give a smaller one"
            )
        if text := self.surface.trouble(self.x):
            raise UserError(f"kind: {text}")

    def compound(self) -> Compound:
        """The terms, which have their parameters in common."""
        parameters = {name: self.given[name] for name in self.law.parameters}
        if parameters.get("stiffness") == "auto":
            parameters["stiffness"] = self._found_stiffness()
        lengths = {"distance": np.array([self.distance]), "thickness": np.array([self.thickness])}
        if self.given["friction"] is None:
            terms = self._bound("", self.law.energies, parameters, lengths)
            return Compound(terms, common={self.name: list(parameters)} if parameters else {})
        fixed = lengths | {name: np.array([value]) for name, value in parameters.items()}
        terms = self._bound("", self.law.fixed_energies, {}, fixed)
        given = self.given["friction"]
        lost = self._bound("friction_", frictions(self.law), given, fixed)
        return Compound(terms, dissipations=lost, common={self.name: list(given)})

    def _bound(
        self, of: str, energies: dict[str, Any], parameters: dict[str, Any], tables: dict[str, np.ndarray]
    ) -> list[Any]:
        """The terms of all classes of closest points."""
        terms = []
        for kind in IN_PLANE if self.d == 2 else IN_SPACE:
            energy, rows = energies[kind], CLASSES[kind].differences
            weights = {f"to_{n}": np.array(row) for n, row in rows.items() if f"to_{n}" in energy.roles}
            terms.append(
                bind(
                    energy,
                    self.context.fields,
                    name=f"{self.name}_{of}{kind}",
                    elements=FoundTuples(self.surface, kind, self.x, weights),
                    parameters=parameters,
                    tables=tables,
                    units=self.context.units,
                )
            )
        return terms

    def _found_stiffness(self) -> float:
        """k of "auto"."""
        fields, nodes = self.context.fields, self.surface.nodes
        try:
            potential = Potential(fields, self.context.terms, self.context.maps)
            signs = np.random.Generator(np.random.Philox(key=np.zeros(2, np.uint64)))
            found = 0.0
            for _ in range(PROBES):
                probe = signs.choice([-1.0, 1.0], self.x.shape)
                product = potential.product({"x": probe}, "x") if "x" in potential.reads else 0.0 * probe
                found += float((probe * product)[nodes].mean()) / PROBES
        except MinusgradError as error:
            raise UserError(
                f'stiffness: "auto" needs second derivatives of U: {error}; give a number'
            ) from None
        if not 0.0 < found < inf:
            raise UserError(
                f'stiffness: "auto" follows from the stiffness of the surface, got {found:.3g} of the'
                " energies above; give a number"
            )
        found /= self.distance
        self.context.remarks.append(
            f'{self.name}: its stiffness is {found:.6g} in the run\'s units, by "auto"'
        )
        return found
