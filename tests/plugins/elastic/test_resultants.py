"""Force and moment on a cut and on a side: diagrams of beams on paper, to rounding; motion; bad input."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minusgrad import build
from minusgrad.assembly.built_scene import BuiltScene
from minusgrad.errors import MinusgradError
from minusgrad_elastic.stress.resultants import CutResultant, SideResultant
from tests.support.toml_scenes import toml_text

LENGTH, HEIGHT, LOAD = 4.0, 0.5, 1e-3
FLAT = {"kind": "rectangle", "size": [LENGTH, HEIGHT], "cells": [8, 2], "thickness": 0.25, "density": 1.0}
SPACE = {"kind": "beam", "length": LENGTH, "width": 0.5, "height": HEIGHT, "cells": [8, 2, 2], "density": 1.0}
BODIES = {
    "triangles": FLAT,
    "6-node triangles": FLAT | {"order": 2},
    "quadrilaterals": FLAT | {"cell": "quadrilaterals"},
    "8-node quadrilaterals": FLAT | {"cell": "quadrilaterals", "order": 2},
    "hexahedra": SPACE | {"cell": "hexahedra"},
    "20-node hexahedra": SPACE | {"cell": "hexahedra", "order": 2},
    "10-node tetrahedra": SPACE | {"order": 2},
}
LINEAR = {"kind": "linear", "youngs_modulus": 100.0, "poissons_ratio": 0.3}


def beam(folder: Path, body: dict, *blocks: dict, **scene: Any) -> BuiltScene:
    """A cantilever, held at the left, in equilibrium. blocks: energies; scene: other tables."""
    d = 2 if body["kind"] in ("rectangle", "disc") else 3
    down = [0.0] * (d - 1) + [-LOAD]
    energies = blocks or (LINEAR, {"kind": "traction", "body": "top", "traction": down})
    whole = {"title": "Beam", "plugins": ["elastic"], "units": {"system": "dimensionless"}, "state": body}
    whole |= {
        "energy": [*energies],
        "hold": [{"body": "left"}],
        "stepper": {"kind": "newton", "tolerance": {"force": 1e-12}},
    }
    whole |= {"run": {"steps": 1}} | scene
    (folder / "beam.toml").write_text(toml_text(whole))
    made = build(folder / "beam.toml")
    made.step(1)
    return made


def cut_at(x: float, d: int, **more: Any) -> dict:
    """The block of a cut across the beam."""
    point, normal = [x, *[0.0] * (d - 1)], [1.0, *[0.0] * (d - 1)]
    return {"kind": "resultant", "every": 1, "cut": {"point": point, "normal": normal}} | more


def cut_of(made: BuiltScene) -> CutResultant:
    return next(one for one in made.observers if isinstance(one, CutResultant))


def side_of(made: BuiltScene) -> SideResultant:
    return next(one for one in made.observers if isinstance(one, SideResultant))


@pytest.mark.parametrize("name", BODIES)
def test_shear_and_moment_of_a_cantilever_are_those_on_paper(tmp_path: Path, name: str) -> None:
    """-p (L - x) and p (L - x)^2 / 2 on cuts along facets; on the support the whole load."""
    body = BODIES[name]
    d = 2 if body["kind"] == "rectangle" else 3
    p = LOAD * (0.25 if d == 2 else 0.5)
    cuts = [cut_at(x, d, name=f"at_{x}") for x in (0.5, 1.0, 2.0, 3.5)]
    support = {"kind": "resultant", "every": 1, "side": "left", "about": [0.0] * d}
    made = beam(tmp_path, body, observe=[*cuts, support])
    for one in made.observers:
        if isinstance(one, CutResultant):
            x = one.about[0]
            force, moment = one.resultant(0.0)
            shear, bending = force[-1], float(moment if d == 2 else moment[1])
            arm = LENGTH - x
            assert shear == pytest.approx(-p * arm, rel=1e-10)
            assert abs(force[0]) < 1e-10 * p * LENGTH
            assert bending == pytest.approx(-0.5 * p * arm**2 * (1.0 if d == 2 else -1.0), rel=2e-9)
            assert one.cut.place[0] == pytest.approx(x, abs=1e-14)
    force, moment = side_of(made).resultant()
    assert force[-1] == pytest.approx(p * LENGTH, rel=1e-10)
    bending = float(moment if d == 2 else moment[1])
    assert bending == pytest.approx(0.5 * p * LENGTH**2 * (1.0 if d == 2 else -1.0), rel=1e-9)


def test_large_strains_and_f_bar_have_the_load_on_every_cut(tmp_path: Path) -> None:
    """A dead load at the end; the moment is about a place, of the deformed beam."""
    solid = {"kind": "neo_hookean", "youngs_modulus": 1.0, "poissons_ratio": 0.45, "fbar": True}
    pull = {"kind": "traction", "body": "right", "traction": [0.02, -0.004]}
    body = BODIES["quadrilaterals"]
    made = beam(
        tmp_path,
        body,
        solid,
        pull,
        observe=[cut_at(1.3, 2), {"kind": "resultant", "every": 1, "side": "right"}],
    )
    found, loaded = cut_of(made), side_of(made)
    made.step(30)
    force, moment = found.resultant(0.0)
    area = 0.25 * HEIGHT
    assert force == pytest.approx(np.array([0.02, -0.004]) * area, rel=1e-9)
    loaded.about = found.about
    outer = loaded.resultant()
    assert outer.force == pytest.approx(force, rel=1e-9)
    assert float(outer.moment) == pytest.approx(float(moment), rel=1e-8)
    tip = made.fields["x"].values[np.isclose(found.cells.X[:, 0], LENGTH)]
    assert np.abs(tip[:, 1] - tip[:, 1].round(0)).max() > 0.05  # it is bent


def test_several_energies_of_the_cells_add_up(tmp_path: Path) -> None:
    halves = [LINEAR | {"name": name, "youngs_modulus": E} for name, E in (("soft", 40.0), ("stiff", 60.0))]
    load = {"kind": "traction", "body": "right", "traction": [0.03, 0.0]}
    made = beam(tmp_path, BODIES["triangles"], *halves, load, observe=[cut_at(2.2, 2)])
    assert cut_of(made).resultant(0.0).force == pytest.approx([0.03 * 0.25 * HEIGHT, 0.0], abs=1e-14)


def test_a_cut_of_one_of_two_bodies_has_its_share(tmp_path: Path) -> None:
    """Of a bar of two materials along it, by their moduli; both make the whole."""
    moduli = np.where(np.arange(16) % 2 == 0, 1.0, 3.0)  # y runs fastest
    bar = LINEAR | {"poissons_ratio": 0.0, "youngs_modulus": moduli.tolist()}
    hold = [
        {"body": "left", "axes": "x"},
        {"body": "bottom", "axes": "y"},
        {"body": "right", "axes": "x", "displacement": [0.4]},
    ]
    made = beam(tmp_path, BODIES["quadrilaterals"], bar, hold=hold, observe=[cut_at(2.0, 2)])
    found = cut_of(made)
    whole = found.resultant(0.0).force[0]
    lower = np.arange(16) % 2 == 0
    shares = []
    for chosen in (lower, ~lower):
        found.cut.chosen = chosen
        shares.append(found.resultant(0.0).force[0])
    assert sum(shares) == pytest.approx(whole, rel=1e-12)
    assert shares == pytest.approx([0.1 * E * 0.25 * 0.25 for E in (1.0, 3.0)], rel=1e-9)


@pytest.mark.parametrize("name", ["quadrilaterals", "triangles", "6-node triangles"])
def test_the_weight_beyond_a_cut_hangs_on_it(tmp_path: Path, name: str) -> None:
    """Node masses are loads; those on the cut belong to both parts by volume."""
    weight = {"kind": "body_force", "acceleration": [2e-3, 0.0]}
    made = beam(tmp_path, BODIES[name], LINEAR, weight, observe=[cut_at(1.5, 2)])
    expected = 2e-3 * 0.25 * HEIGHT * (LENGTH - 1.5)
    assert cut_of(made).resultant(0.0).force[0] == pytest.approx(expected, rel=1e-10)


def test_nodes_on_a_cut_belong_to_both_parts_by_volume(tmp_path: Path) -> None:
    """A disc held at its centre, whose cells differ around a node: the mass of the cells ahead."""
    disc = {"kind": "disc", "radius": 1.0, "rings": 5, "density": 1.0}
    weight = {"kind": "body_force", "acceleration": [2e-3, 0.0]}
    hold = [{"body": "centre", "axes": "x"}, {"body": "rim", "axes": "y"}]
    made = beam(tmp_path, disc, LINEAR, weight, hold=hold, observe=[cut_at(0.33, 2)])
    found = cut_of(made)
    ahead = found.cells.volume[found.cut.ahead].sum()
    assert found.resultant(0.0).force[0] == pytest.approx(2e-3 * ahead, rel=1e-9)


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_of_a_body_that_is_thrown_the_cut_moves_the_part_beyond_it(tmp_path: Path, precision: str) -> None:
    """Pulled at one end, free at the other: R is the mass of the part beyond times its acceleration."""
    stepper = {"kind": "leapfrog", "dt": 1e-3}
    load = {"kind": "traction", "body": "left", "traction": [-0.1, 0.0]}
    made = beam(
        tmp_path,
        BODIES["quadrilaterals"],
        LINEAR,
        load,
        hold=[],
        stepper=stepper,
        runtime={"precision": precision},
        observe=[cut_at(2.0, 2)],
    )
    made.step(400)
    found = cut_of(made)
    gradient = made.potential.gradient("x").astype(float)
    X, between = found.cells.X, found.cut.nodes
    beyond = np.flatnonzero(X[:, 0] > 2.0 + 1e-9)
    inertia = -gradient[beyond].sum(axis=0) - (found.cut.share[between, None] * gradient[between]).sum(axis=0)
    force = found.resultant(made.stepper.time).force
    error = (
        1e-9 if precision == "f64" else 2e-3
    )  # relative to the largest component: the other one is rounding
    assert force == pytest.approx(-inertia, rel=0.0, abs=error * abs(inertia).max())
    assert abs(force[0]) > 1e-4


# Files and bad input -----------------------------------------------------------------------------------


def test_a_plane_beside_the_body_is_refused_with_its_box(tmp_path: Path) -> None:
    with pytest.raises(MinusgradError, match="the plane has all cells on one side, got the point"):
        beam(tmp_path, BODIES["triangles"], observe=[cut_at(7.0, 2)])


def test_springs_that_cross_the_cut_are_refused_by_name(tmp_path: Path) -> None:
    spring = {"kind": "spring", "stiffness": 1.0, "rest": 4.0, "tuples": [[0, 24]]}
    with pytest.raises(MinusgradError, match="1 elements of the term 'spring' cross the plane"):
        beam(tmp_path, BODIES["triangles"], LINEAR, spring, observe=[cut_at(2.0, 2)])


def test_of_a_load_all_around_a_side_has_its_own_facets(tmp_path: Path) -> None:
    side = {"kind": "resultant", "every": 1, "side": "right"}
    load = {"kind": "traction", "traction": [0.0, -LOAD]}
    made = beam(tmp_path, BODIES["triangles"], LINEAR, load, observe=[side])
    assert side_of(made).resultant().force == pytest.approx([0.0, -LOAD * 0.25 * HEIGHT], rel=1e-12)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({}, "needs a `cut` or a `side`, got neither"),
        ({"side": "left", "cut": {"point": [0, 0], "normal": [1, 0]}}, "needs a `cut` or a `side`, got both"),
        ({"cut": {"point": [0, 0], "normal": [0, 0]}}, "cut.normal: has no direction"),
        ({"cut": {"point": [0, 0, 0], "normal": [1, 0]}}, "cut.point: needs 2 numbers, got 3"),
        ({"cut": {"point": [2, 0], "normal": [1, 0], "body": "rim"}}, "there is no body 'rim'"),
        ({"cut": {"point": [2, 0], "normal": [1, 0], "body": "left"}}, "'left' has no cells"),
        ({"side": "rim"}, "there is no side 'rim', got sides: left, right"),
        ({"side": "left", "cells": "rim"}, "'rim' is no list of cells"),
    ],
)
def test_bad_blocks_have_one_message(tmp_path: Path, keys: dict, message: str) -> None:
    with pytest.raises(MinusgradError) as refused:
        beam(tmp_path, BODIES["triangles"], observe=[{"kind": "resultant", "every": 1} | keys])
    assert message in str(refused.value)
