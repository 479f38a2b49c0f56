"""Sides of bodies that repeat: facets, tractions and springs across the edge of the box; what is refused."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad as mg
from minusgrad import UserError

YOUNG, POISSON = 10.0, 0.3
SHEAR = YOUNG / (2.0 * (1.0 + POISSON))
STIFF = YOUNG * (1.0 - POISSON) / ((1.0 + POISSON) * (1.0 - 2.0 * POISSON))
PLANE = {"kind": "rectangle", "size": [3.0, 2.0], "cells": [3, 2], "periodic": "x"}
SPACE = {"kind": "box", "size": [3.0, 1.5, 2.0], "cells": [3, 3, 2], "periodic": "xy"}
SHAPES = [
    PLANE, PLANE | {"order": 2}, PLANE | {"cell": "quadrilaterals"},
    PLANE | {"cell": "quadrilaterals", "order": 2}, SPACE, SPACE | {"order": 2},
    SPACE | {"cell": "hexahedra"}, SPACE | {"cell": "hexahedra", "order": 2},
]  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def column(shape: dict, load: dict, moved: float = 0.0, **more: object) -> dict:
    d = len(shape["size"])
    solid = {"kind": "linear", "youngs_modulus": YOUNG, "poissons_ratio": POISSON}
    return {
        "units": {"system": "dimensionless"},
        "state": {"density": 1.0, **shape},
        "energy": [solid, {"body": "top", **load}] if load else [solid],
        "hold": [{"body": "bottom", "displacement": [moved, *[0.0] * (d - 2), 2.0 * moved]}],
        "stepper": {"kind": "newton"},
        "run": {"steps": 20},
        **more,
    }


def reaction(scene: dict) -> np.ndarray:
    """What the hold of the bottom bears (d,)."""
    one = mg.load(scene)
    x = one.fields["x"].values
    bottom = np.isclose(x[:, -1], x[:, -1].min(), atol=0.05)
    one.step(20)
    return one.potential.gradient("x", 0.0)[bottom].sum(axis=0)


@pytest.mark.parametrize("shape", SHAPES)
def test_tractions_act_on_whole_sides(shape: dict) -> None:
    """Facets of several points, and those between both sides of the box, too."""
    d = len(shape["size"])
    pull = np.array([0.3, 0.2, 0.1][:d])
    area = float(np.prod(shape["size"][:-1]))
    found = reaction(column(shape, {"kind": "traction", "traction": pull.tolist()}))
    np.testing.assert_allclose(found, -area * pull, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["foundation", "side_spring"])
def test_springs_of_sides_do_not_feel_the_edge_of_the_box(kind: str, shape: dict) -> None:
    """In series with the shear and the oedometric modulus: k S / (S + k h) u on each area."""
    area, h, k, u = float(np.prod(shape["size"][:-1])), shape["size"][-1], 1.5, 0.02
    size = k if kind == "foundation" else k * area
    found = reaction(column(shape, {"kind": kind, "stiffness": size, "tangential": size}, u))
    expected = [area * u * k * SHEAR / (SHEAR + k * h), 2.0 * area * u * k * STIFF / (STIFF + k * h)]
    np.testing.assert_allclose(found[[0, -1]], expected, rtol=1e-8)


@pytest.mark.parametrize(
    ("load", "more", "message"),
    [
        ({"kind": "pressure", "pressure": 0.1}, {}, "pressure: is not for a body that repeats"),
        (
            {},
            {"compound": [{"kind": "rigid_side", "name": "end", "body": "top"}]},
            "rigid_side: is not for a body that repeats",
        ),
        (
            {},
            {"observe": [{"kind": "resultant", "side": "top", "every": 1}]},
            "resultant: no plane or side parts",
        ),
    ],
)
def test_what_would_be_wrong_across_the_edge_is_refused(load: dict, more: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        mg.run(column(PLANE, load, **more), out="run")
