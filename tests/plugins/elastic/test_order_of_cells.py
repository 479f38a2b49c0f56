"""Values for each cell of generated meshes stand in the order that their pages promise."""

from itertools import product

import numpy as np
import pytest

import minusgrad as mg

RECTANGLE = {"kind": "rectangle", "size": [3.0, 2.0], "cells": [3, 2], "density": 1.0}
BOX = {"kind": "box", "size": [2.0, 3.0, 2.0], "cells": [2, 3, 2], "density": 1.0}
BEAM = {"kind": "beam", "length": 2.0, "width": 3.0, "height": 2.0, "cells": [2, 3, 2], "density": 1.0}
MESHES = {
    "triangles": (RECTANGLE, 2),
    "quadrilaterals": (RECTANGLE | {"cell": "quadrilaterals"}, 1),
    "triangles of order 2": (RECTANGLE | {"order": 2}, 2),
    "quadrilaterals of order 2": (RECTANGLE | {"cell": "quadrilaterals", "order": 2}, 1),
    "tetrahedra": (BOX, 6),
    "hexahedra": (BOX | {"cell": "hexahedra"}, 1),
    "a beam": (BEAM | {"cell": "hexahedra"}, 1),
}


@pytest.mark.parametrize("name", MESHES)
def test_a_list_of_moduli_is_part_by_part_with_the_last_axis_fastest(name: str) -> None:
    """A modulus 1 + 10 i + 100 j + 1000 k of part (i, j, k): energies of cells say where they are."""
    state, per_part = MESHES[name]
    parts = list(product(*map(range, state["cells"])))
    moduli = [
        1.0 + sum(10.0 ** (a + 1) * n for a, n in enumerate(part)) for part in parts for _ in range(per_part)
    ]
    made, one = (stretched(state, E) for E in (moduli, 1.0))
    places = centres(made)
    lowest = np.array([0.0, -1.5, -1.0]) if state["kind"] == "beam" else np.zeros(places.shape[1])
    part = np.floor(places - lowest).astype(int)
    expected = 1.0 + part @ 10.0 ** np.arange(1, places.shape[1] + 1)
    np.testing.assert_allclose(energies(made) / energies(one), expected, rtol=1e-10)


def stretched(state: dict, modulus: object) -> mg.Simulation:
    scene = {
        "state": state,
        "energy": [{"kind": "linear", "youngs_modulus": modulus, "poissons_ratio": 0.3}],
        "stepper": {"kind": "newton"},
        "run": {"steps": 1},
    }
    made = mg.load(scene)
    x = made.fields["x"]
    x.set(x.values * np.array([1.1, 1.0, 1.0][: x.shape[1]]))
    return made


def centres(made: mg.Simulation) -> np.ndarray:
    """The mean place of the nodes of each cell, before it is stretched."""
    return made.state.fields["x"][made.state.tuples["cells"]].mean(axis=1)


def energies(made: mg.Simulation) -> np.ndarray:
    """The energy of each cell, the sum over its points."""
    values, points = made.potential.by_element("linear"), made.state.quadratures.get("cells")
    return values if points is None else np.bincount(points.cell, weights=values)


def test_a_disc_is_counted_ring_by_ring() -> None:
    """Ring k has 6 (2 k - 1) triangles: first those with a side outside, then the others, from x to y."""
    scene = {"kind": "disc", "radius": 3.0, "rings": 3, "density": 1.0}
    made = stretched(scene, 1.0)
    x, start = made.state.fields["x"], 0
    corners = x[made.state.tuples["cells"]]
    rings = np.rint(np.linalg.norm(corners, axis=2))
    for k in (1, 2, 3):
        own = slice(start, start + 6 * (2 * k - 1))
        assert (rings[own].max(axis=1) == k).all()
        assert (rings[own].min(axis=1) == k - 1).all()
        outside = (rings[own] == k).sum(axis=1)
        assert outside.tolist() == [2] * (6 * k) + [1] * (6 * (k - 1))
        middle = corners[own].mean(axis=1)
        turn = np.arctan2(middle[:, 1], middle[:, 0]) % (2.0 * np.pi)
        assert (np.diff(turn[: 6 * k]) > 0.0).all()
        assert (np.diff(turn[6 * k :]) > 0.0).all()
        start = own.stop
    assert start == len(corners)
