"""Random small states of an energy: one term over a few nodes, as the exam asks it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..energies.fields import Fields, Grid
from ..energies.local_energy import LocalEnergy, weights_at_rest
from ..energies.roles import Datum, Node, Parameter, Table, concrete
from ..energies.term import Term, bind
from ..potential.potential import Potential

State = Callable[[np.random.Generator, int, int], dict[str, np.ndarray]]
"""(generator, nodes, d) to fields by name"""


@dataclass(frozen=True)
class Instance:
    """An energy as the exam takes it: fields as `state` draws them; others, data, parameters as roles do.

    state: `state(rng, nodes, d)` gives fields by name; of cells the default is nodes of which no d + 1 are
    nearly in one plane. data: `data(rng, elements)` gives data by name.

    Tables have numbers of both signs, which roles do not draw; the references that judge an instance draw
    nothing, they are given its state.

    `sorted`: the nodes of a tuple are in increasing order. `compiles`: Taichi itself takes the function;
    None: it is tried.
    `stretched`: by how much F is stretched, so that what only pulls does.
    """

    energy: LocalEnergy
    state: State | None = None
    data: Callable[[np.random.Generator, int], dict[str, np.ndarray]] | None = None
    sorted: bool = False
    compiles: bool | None = True
    stretched: float = 1.0

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
        fields = Fields(self._draw_fields(rng, n, d), precision=precision)
        return Potential(fields, [self._bind_term(rng, fields, n, e, d)])

    def _draw_fields(self, rng: np.random.Generator, n: int, d: int) -> dict[str, np.ndarray]:
        drawn = {
            name: role.draw(rng, (n, *concrete(role.shape, d)))
            for name, role in self.energy.of_role(Node).items()
        }
        if self.state is not None:
            drawn |= self.state(rng, n, d)
        elif self.energy.shaping:
            drawn[self.energy.shaping[0].field] = general(rng, n, d)["x"]
        return {name: round_to_f32(values) for name, values in drawn.items()}

    def _bind_term(self, rng: np.random.Generator, fields: Fields, n: int, e: int, d: int) -> Term:
        energy, options = self.energy, self._element_options(rng, n, e, d)
        k = energy.over if isinstance(energy.over, int) else d + 1
        count = n if energy.over == "nodes" else e
        data = {
            name: role.draw(rng, (count, *concrete(role.shape, d, k)))
            for name, role in energy.of_role(Datum).items()
        }
        for made in energy.linear.values():
            data[made.weights] = _balance_weights(data[made.weights])
        for made in energy.shaping:
            rest = np.array([weights_at_rest(x) for x in fields[made.field].values[options["tuples"]]])
            data[made.weights] = _balance_weights(
                self.stretched * rest @ (np.eye(d) + 0.2 * rng.uniform(-1.0, 1.0, (e, d, d)))
            )
        data |= self.data(rng, count) if self.data else {}
        data = {name: round_to_f32(v) for name, v in data.items()}
        tables = {
            name: round_to_f32(rng.normal(size=range(7, 7 - role.axes, -1)))
            for name, role in energy.of_role(Table).items()
        }
        parameters = {
            name: self._draw_parameter(name, partial(_draw_role, rng, role, d), count)
            for name, role in energy.of_role(Parameter).items()
            if name != getattr(energy, "spacing", "")
        }
        return bind(energy, fields, data=data, parameters=parameters, tables=tables, **options)

    def _element_options(self, rng: np.random.Generator, n: int, e: int, d: int) -> dict[str, Any]:
        """What else the term is bound with: its elements."""
        if self.energy.element_kind.cells:
            return {"grid": _near_square(n)}
        if not self.energy.listed:
            return {}
        k = self.energy.over if isinstance(self.energy.over, int) else d + 1
        rows = _draw_tuples(rng, n, e, k)
        return {"tuples": np.sort(rows, axis=1) if self.sorted else rows}

    def _draw_parameter(self, name: str, draw: Callable[[], np.ndarray], count: int) -> Any:
        """One value for all."""
        return draw()


def _near_square(cells: int) -> Grid:
    """As square as it can be."""
    rows = max(k for k in range(1, int(cells**0.5) + 1) if cells % k == 0)
    return Grid((rows, cells // rows))


def _draw_role(rng: np.random.Generator, role: Parameter, d: int) -> np.ndarray:
    return round_to_f32(role.draw(rng, concrete(role.shape, d)))


def _balance_weights(weights: np.ndarray) -> np.ndarray:
    """Weights that sum to zero over an element's nodes, of so few digits that f32 holds even their sums."""
    quantum = 2.0 ** np.floor(np.log2(np.abs(weights).max(axis=(1, 2), keepdims=True)) - 18.0)
    short = np.round(weights / quantum) * quantum
    short[:, 0] = -short[:, 1:].sum(axis=1)
    return short


def round_to_f32(values: Any) -> np.ndarray:
    """Numbers that f32 holds exactly; integers stay."""
    values = np.asarray(values)
    return values if values.dtype.kind in "iu" else values.astype(np.float32).astype(np.float64)


def _draw_tuples(rng: np.random.Generator, n: int, e: int, arity: int) -> np.ndarray:
    """Distinct nodes in each; every node but the last in some, so that one node has no element."""
    return np.array([distinct(rng, n - 1, arity) for _ in range(e)])


def distinct(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    """k different numbers below n, without shuffling many."""
    return rng.choice(n, k, replace=False) if n > 1000 else rng.permutation(n)[:k]


def corners(rng: np.random.Generator, n: int, d: int) -> dict[str, np.ndarray]:
    """Round an ellipse: three nodes in increasing order turn left."""
    angle = 2.0 * np.pi * (np.arange(n) + rng.uniform(-0.3, 0.3, n)) / n
    return {"x": np.stack([1.3 * np.cos(angle), 0.8 * np.sin(angle)], axis=1)}


def general(rng: np.random.Generator, n: int, d: int) -> dict[str, np.ndarray]:
    """No d + 1 of the first six nodes are nearly in one plane (or line)."""
    plane = corners(rng, n, 2)["x"]
    height = np.cos(2.4 * np.arange(n))[:, None]
    return {"x": plane if d == 2 else np.hstack([plane, height])}


def lattice(rng: np.random.Generator, n: int, d: int) -> dict[str, np.ndarray]:
    """Positions on a cubic lattice, shaken: no two are close."""
    side = int(np.ceil(n ** (1.0 / d)))
    places = np.stack(np.unravel_index(np.arange(n), (side,) * d), axis=1)
    return {"x": places + rng.uniform(-0.2, 0.2, size=(n, d))}
