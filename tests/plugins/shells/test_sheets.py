"""Sheets and patches of triangles: areas, sides, directions of the material, what is refused."""

import numpy as np
import pytest

import minusgrad
from minusgrad.errors import UserError
from minusgrad_shells.patches import triangulated_patch

STATE = {
    "kind": "sheet",
    "size": ["40 cm", "30 cm"],
    "cells": [4, 3],
    "thickness": "1 mm",
    "area_density": "0.2 kg/m^2",
}


def sheet_state(**more: object):
    """The state of a scene with a sheet."""
    state = {key: value for key, value in (STATE | more).items() if value is not None}
    scene = {
        "units": {"system": "si"},
        "state": state,
        "energy": [{"kind": "body_force", "acceleration": [0.0, 0.0, -9.81]}],
        "stepper": {"kind": "leapfrog", "dt": "1 ms"},
        "run": {"steps": 1},
    }
    return minusgrad.load(scene).state


@pytest.mark.parametrize(
    ("diagonals", "each"), [("alternating", 2), ("right", 2), ("left", 2), ("crossed", 4)]
)
def test_a_sheet_has_its_area_mass_and_edges(diagonals: str, each: int) -> None:
    """n - K + E = 1 (Euler); sigma L W; all triangles upwards; hinges are all edges but those of the rim."""
    state = sheet_state(diagonals=diagonals)
    areas = state.data["triangles"]["area"]
    assert len(areas) == each * 12
    assert areas.sum() == pytest.approx(0.12)
    assert state.fields["m"].sum() == pytest.approx(0.2 * 0.12)
    n, k = len(state.fields["x"]), len(state.tuples["edges"])
    assert n - k + len(areas) == 1
    assert len(state.tuples["hinges"]) == k - 14
    assert np.abs(state.data["hinges"]["rest"]).max() < 1e-15
    corners = state.fields["x"][state.tuples["triangles"]]
    assert (np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[:, 2] > 0.0).all()


def test_diagonals_are_as_said() -> None:
    """The lower left corner of the first cell: two triangles meet there, or one."""
    for diagonals, met in (("right", 2), ("left", 1), ("alternating", 2), ("crossed", 2)):
        state = sheet_state(diagonals=diagonals)
        assert (state.tuples["triangles"] == 0).sum() == met
    alternating = sheet_state()
    assert (alternating.tuples["triangles"] == 1).sum() == 2  # (0, 1): top of a right, bottom of a left one


def test_sides_lie_where_they_should() -> None:
    state = sheet_state(origin=[1.0, 2.0, 3.0], along=[0.0, 2.0, 0.0], across=[0.0, 0.0, -1.0])
    nodes = {body.name: state.fields["x"][body.nodes] for body in state.bodies}
    np.testing.assert_allclose(nodes["left"][:, 1], 2.0)
    np.testing.assert_allclose(nodes["right"][:, 1], 2.4)
    np.testing.assert_allclose(nodes["bottom"][:, 2], 3.0)
    np.testing.assert_allclose(nodes["top"][:, 2], 2.7)
    np.testing.assert_allclose(nodes["top_right"], [[1.0, 2.4, 2.7]])
    assert len(nodes["corners"]) == 4
    assert [len(nodes[name]) for name in ("left", "right", "bottom", "top")] == [4, 4, 5, 5]


def test_gradients_are_along_warp_and_weft() -> None:
    """F of x = s a u + t b v is diag(s, t) in the axes of the material, in every triangle."""
    for diagonals in ("alternating", "crossed"):
        state = sheet_state(diagonals=diagonals, along=[1.0, 1.0, 0.0], across=[0.0, 0.0, 2.0])
        x, a = state.fields["x"], np.array([1.0, 1.0, 0.0]) / np.sqrt(2.0)
        moved = 2.0 * np.outer(x @ a, a) + 3.0 * x * [0.0, 0.0, 1.0]
        corners = moved[state.tuples["triangles"]]
        found = np.einsum("eai,eaj->eij", corners, state.data["triangles"]["gradients"])
        np.testing.assert_allclose(found[:, :, 0], np.tile(2.0 * a, (len(found), 1)), atol=1e-12)
        np.testing.assert_allclose(found[:, :, 1], np.tile([0.0, 0.0, 3.0], (len(found), 1)), atol=1e-12)


def test_a_closed_patch_is_a_cylinder() -> None:
    """Area 2 m sin(pi / m) R L; two rims; the first direction goes round."""
    m = 24
    made = triangulated_patch(
        lambda u, v: np.stack([np.cos(2 * np.pi * u), np.sin(2 * np.pi * u), 3.0 * v], axis=1),
        (m, 5),
        closed=True,
    )
    assert made.mesh.areas().sum() == pytest.approx(6.0 * m * np.sin(np.pi / m))
    assert set(made.mesh.bodies) == {"bottom", "top"}
    assert (made.mesh.edges()[1] == 1).sum() == 2 * m
    middle = made.mesh.corners().mean(axis=1)
    outward = middle * [1.0, 1.0, 0.0]
    assert (np.einsum("ei,ei->e", made.mesh.normals(), outward) > 0.0).all()
    assert np.abs(np.einsum("ei,ei->e", made.axes()[:, 0], [[0.0, 0.0, 1.0]] * len(middle))).max() < 1e-12


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"density": "1 g/cm^3"}, "density, area_density: needs one of both, got both; give one"),
        ({"area_density": None}, "density, area_density: needs one of both, got none; give one"),
        ({"along": [0.0, 0.0, 0.0]}, "along: must be a direction, got [0.0, 0.0, 0.0]"),
        ({"across": [1.0, 1.0, 0.0]}, "across: must be perpendicular to `along`, got a cosine of 0.707"),
        ({"origin": [1.0, 2.0]}, "origin: 2 numbers for 3 axes"),
    ],
)
def test_bad_sheets_are_refused(more: dict[str, object], said: str) -> None:
    with pytest.raises(UserError) as refused:
        sheet_state(**more)
    assert said in str(refused.value)


def test_triangles_without_area_are_refused() -> None:
    with pytest.raises(UserError, match=r"the sheet: triangles need an area, got none at u, v = 0\.\d+"):
        triangulated_patch(lambda u, v: np.stack([u, u * 0.0, u], axis=1), (3, 3))
