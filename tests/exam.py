"""The canonical instances of all energies, and how a random state of one is made.

Every energy that is registered has an entry in `CANONICAL`, and `test_exam` sits it through the exam.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

import energies
from minusgrad import Fields, bind
from minusgrad.energy import Datum, LocalEnergy, Node, Parameter, concrete, draw_parameter, weights_at_rest
from minusgrad.potential import Potential
from minusgrad.terms import Term
from minusgrad_elastic import contacts, damping, hyperelastic, loads, springs
from minusgrad_gravity.gravity import gravity

State = Callable[[np.random.Generator, int, int], dict[str, np.ndarray]]
"""(generator, nodes, d) to fields by name"""


@dataclass(frozen=True)
class Instance:
    """An energy as the exam takes it: fields as `state` draws them, data and parameters near their scales.

    `sorted`: the nodes of a tuple are in increasing order.
    """

    energy: LocalEnergy
    state: State | None = None
    data: Callable[[np.random.Generator, int], dict[str, np.ndarray]] | None = None
    sorted: bool = False

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The spaces that the energy is examined in."""
        return (2, 3) if any("d" in role.shape for role in self.energy.roles.values()) else (2,)

    def potential(
        self, rng: np.random.Generator, d: int, n: int = 6, e: int = 5, precision: str = "f64"
    ) -> Potential:
        """One term over n nodes and e tuples, at a random unsymmetric state with random parameters.

        All numbers are such as f32 holds, so that both precisions see the same state.
        """
        fields = Fields(self._fields(rng, n, d), precision=precision)
        return Potential(fields, [self._term(rng, fields, n, e, d)])

    def _fields(self, rng: np.random.Generator, n: int, d: int) -> dict[str, np.ndarray]:
        drawn = {
            name: rng.normal(size=(n, *concrete(role.shape, d))) * role.scale
            for name, role in self.energy.of_role(Node).items()
        }
        return {k: _rounded(v) for k, v in (drawn | (self.state(rng, n, d) if self.state else {})).items()}

    def _term(self, rng: np.random.Generator, fields: Fields, n: int, e: int, d: int) -> Term:
        energy, options = self.energy, {}
        k = energy.over if isinstance(energy.over, int) else d + 1
        if energy.listed:
            rows = _tuples(rng, n, e, k)
            options["tuples"] = np.sort(rows, axis=1) if self.sorted else rows
        count = n if energy.over == "nodes" else e
        data = {
            name: rng.integers(0, 3, size=(count, *concrete(role.shape, d, k)))
            if role.integer
            else _near(rng, role, (count, *concrete(role.shape, d, k)))
            for name, role in energy.of_role(Datum).items()
        }
        for made in energy.shaping:
            rest = np.array([weights_at_rest(x) for x in fields[made.field].values[options["tuples"]]])
            data[made.weights] = _balanced(rest @ (np.eye(d) + 0.2 * rng.uniform(-1.0, 1.0, (e, d, d))))
        data |= self.data(rng, count) if self.data else {}
        parameters = {
            name: _rounded(draw_parameter(role, rng, concrete(role.shape, d)))
            for name, role in energy.of_role(Parameter).items()
        }
        return bind(
            energy, fields, data={k: _rounded(v) for k, v in data.items()}, parameters=parameters, **options
        )


def _near(rng: np.random.Generator, role: Datum, shape: tuple[int, ...]) -> np.ndarray:
    return rng.uniform(0.5, 1.5, size=shape) * role.scale


def _balanced(weights: np.ndarray) -> np.ndarray:
    """Weights that sum to zero over an element's nodes, of so few digits that f32 holds even their sums."""
    quantum = 2.0 ** np.floor(np.log2(np.abs(weights).max(axis=(1, 2), keepdims=True)) - 18.0)
    short = np.round(weights / quantum) * quantum
    short[:, 0] = -short[:, 1:].sum(axis=1)
    return short


def _rounded(values: Any) -> np.ndarray:
    """Numbers that f32 holds exactly; integers stay."""
    values = np.asarray(values)
    return values if values.dtype.kind in "iu" else values.astype(np.float32).astype(np.float64)


def _tuples(rng: np.random.Generator, n: int, e: int, arity: int) -> np.ndarray:
    """Distinct nodes in each; every node but the last in some, so that one node has no element."""
    return np.array([rng.permutation(n - 1)[:arity] for _ in range(e)])


def _lattice(rng: np.random.Generator, n: int, d: int) -> dict[str, np.ndarray]:
    """Positions on a cubic lattice, shaken: no two are close."""
    side = int(np.ceil(n ** (1.0 / d)))
    places = np.stack(np.unravel_index(np.arange(n), (side,) * d), axis=1)
    return {"x": places + rng.uniform(-0.2, 0.2, size=(n, d))}


def _corners(rng: np.random.Generator, n: int, d: int) -> dict[str, np.ndarray]:
    """Round an ellipse: three nodes in increasing order turn left."""
    angle = 2.0 * np.pi * (np.arange(n) + rng.uniform(-0.3, 0.3, n)) / n
    return {"x": np.stack([1.3 * np.cos(angle), 0.8 * np.sin(angle)], axis=1)}


def _general(rng: np.random.Generator, n: int, d: int) -> dict[str, np.ndarray]:
    """No d + 1 of the first six nodes are nearly in one plane (or line)."""
    plane = _corners(rng, n, 2)["x"]
    height = np.cos(2.4 * np.arange(n))[:, None]
    return {"x": plane if d == 2 else np.hstack([plane, height])}


def _touching(rng: np.random.Generator, n: int, d: int) -> dict[str, np.ndarray]:
    """Some nodes in a ball of radius 0.5 or more, whose centre is near (1, 1, ...)."""
    return {"x": 1.0 + 0.5 * rng.normal(size=(n, d))}


def _upright(rng: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    """Reference matrices near the unit matrix."""
    return {"inverse_rest": np.eye(2) + 0.1 * rng.normal(size=(count, 2, 2))}


CANONICAL: dict[str, Instance] = {
    "gravity": Instance(gravity),
    "neo_hookean": Instance(hyperelastic.neo_hookean, state=_general),
    "st_venant_kirchhoff": Instance(hyperelastic.st_venant_kirchhoff, state=_general),
    "spring": Instance(springs.spring),
    "body_force": Instance(loads.body_force),
    "traction": Instance(loads.traction),
    "load": Instance(loads.load),
    "floor": Instance(contacts.floor),
    "wall": Instance(contacts.wall),
    "sphere": Instance(contacts.sphere, state=_touching),
    "mass_damping": Instance(damping.mass_damping),
    "strain_rate_damping": Instance(damping.strain_rate_damping, state=_general),
    "trap": Instance(energies.trap),
    "angle": Instance(energies.angle),
    "dihedral": Instance(energies.dihedral),
    "lennard_jones": Instance(energies.lennard_jones, state=_lattice),
    "site": Instance(energies.site),
    "link": Instance(energies.link),
    "membrane": Instance(energies.membrane, state=_corners, data=_upright, sorted=True),
    "contact": Instance(energies.contact),
    "limits": Instance(energies.limits),
    "kinds": Instance(energies.kinds),
    "powers": Instance(energies.powers),
    "flicker": Instance(energies.flicker),
    "grains": Instance(energies.grains),
    "flags": Instance(energies.flags),
}
"""By the name of the energy; of every registered one, and of those in `energies.py`."""


def missing(names: Iterable[str]) -> list[str]:
    """The energies that nobody examines."""
    return [name for name in names if name not in CANONICAL]
