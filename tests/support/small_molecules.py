"""Many small rigid molecules, and some that bend: groups of constraints of several kinds among each other."""

from typing import Any

import numpy as np

from minusgrad import Body, Datum, Node, local_energy
from minusgrad.plugin import Integrator
from minusgrad_elastic.rods import rod
from tests.support.mechanisms import PIVOT, in_turning_plane, mechanism, on_sphere, weight

SHAPES = {
    "water": (3, [(0, 1), (0, 2), (1, 2)]),
    "ammonia": (4, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]),
    "methyl": (4, [(0, 1), (0, 2), (0, 3)]),
}
"""Nodes and rods of a molecule. The hydrogens of a methyl group are not bound to each other."""


@local_energy("tether", over="nodes", x=Node("m", ("d",)), home=Datum("m", shape=(3,)))
def tether(x, home):
    """A nonlinear spring to a place of its own."""
    r = x[0] - home
    return 2.0 * r.dot(r) + 0.3 * r.dot(r) * r[0]


def driven_beads_and_pendula(count: int = 8, dt: float = 0.02) -> Integrator:
    """Pendula at one held pivot, and as many beads on a hoop that turns about the vertical."""
    rng = np.random.default_rng(5)
    out = rng.normal(size=(count, 3))
    bobs = out / np.linalg.norm(out, axis=1)[:, None]
    angle = np.linspace(0.3, 2.4, count)
    beads = np.stack([np.sin(angle), 0.0 * angle, -np.cos(angle)], axis=1)
    x = np.concatenate([np.zeros((1, 3)), bobs, beads])
    v = np.zeros_like(x)
    v[1 + count :, 1] = 4.0 * np.sin(angle)
    body = {"bodies": [Body("beads", np.arange(1 + count, 1 + 2 * count))]}
    tuples = [[0, 1 + k] for k in range(count)]
    kept = [
        (rod, {"tuples": tuples, "data": {"length": 1.0}}),
        (on_sphere, {"parameters": {"radius": 1.0}, **body}),
        (in_turning_plane, {"parameters": {"rate": 4.0}, **body}),
    ]
    weights = [(weight, {"parameters": {"g": 9.81}})]
    return mechanism(x, v, rng.uniform(0.5, 2.0, len(x)), kept, dt, weights, holds=[PIVOT])


def molecules(counts: dict[str, int], dt: float = 0.02, fast: float = 1.0, **more: Any) -> Integrator:
    """So many of each kind, mixed at random; the last node is a bead on a sphere, bound to no other.

    fast: the speeds.
    """
    rng = np.random.default_rng(3)
    kinds = rng.permutation([name for name, n in counts.items() for _ in range(n)])
    x, pairs, first = [], [], 0
    for name in kinds:
        size, rods = SHAPES[name]
        x.append(rng.normal(size=3) + rng.normal(size=(size, 3)))
        order = np.arange(size)[:: rng.choice([-1, 1]) if name == "methyl" else 1]
        pairs += [(first + order[i], first + order[j]) for i, j in rods]
        first += size
    bead = np.array([[0.6, 0.8, 0.0]])
    places = np.concatenate([*x, bead])
    listed = np.array(pairs)[rng.permutation(len(pairs))]
    length = np.linalg.norm(places[listed[:, 0]] - places[listed[:, 1]], axis=1)
    kept = [(rod, {"tuples": listed, "data": {"length": length}})]
    kept.append((on_sphere, {"parameters": {"radius": 1.0}, "bodies": [Body("bead", np.array([first]))]}))
    return mechanism(
        places,
        fast * rng.normal(size=places.shape),
        rng.uniform(0.5, 2.0, len(places)),
        kept,
        dt,
        [(tether, {"data": {"home": places + 0.1}})],
        projected=["rod", "on_sphere"],
        **more,
    )
