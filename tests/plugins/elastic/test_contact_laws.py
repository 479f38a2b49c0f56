"""Kinds of contact: functions of the distance, who meets whom, thickness, a user's own, bad input, Hertz."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import minusgrad as mg
from minusgrad import Potential
from minusgrad.errors import UserError
from minusgrad_elastic import generators
from minusgrad_elastic.contact.collision_surface import CollisionSurface, Meeting, points_and_edges
from minusgrad_elastic.contact.laws import LAWS
from minusgrad_elastic.mesh import Mesh
from tests.plugins.elastic.test_contact import law_potential
from tests.support.cubes import contact_scene, mesh_file, two_bodies

D = 0.4
VALUES = {
    "contact": {"stiffness": 2.0},
    "penalty_contact": {"stiffness": 2.0},
    "hertzian_contact": {"modulus": 3.0, "radius": 0.25},
    "adhesive_contact": {"stiffness": 2.0, "adhesion": 0.5},
}
CLOSED = {
    "contact": lambda g: -2.0 * D**3 * ((g / D) ** 2 - 1.0) ** 2 * np.log((g / D) ** 2),
    "penalty_contact": lambda g: 2.0 / 3.0 * (D - g) ** 3,
    "hertzian_contact": lambda g: 8.0 / 15.0 * 3.0 * 0.5 * (D - g) ** 2.5,
    "adhesive_contact": lambda g: (
        -2.0 * (D / 2) ** 3 * ((2 * g / D) ** 2 - 1.0) ** 2 * np.log((2 * g / D) ** 2) * (2 * g < D)
        - 0.5 * D**2 * (1.0 - (g / D) ** 2) ** 3
    ),
}
TRIANGLES = np.array([[0, 1, 2], [3, 4, 5]])
"""A large one, and one above it whose lowest corner is node 3."""


def corner_above(height: float) -> np.ndarray:
    return np.array([[-9.0, -9, 0], [9, -9, 0], [0, 9, 0], [0, 0, height], [0.2, 3, 3], [-0.3, 3, 3.5]])


def of_law(kind: str, height: float, thickness: float = 0.0):
    surface = CollisionSurface(TRIANGLES, D, 3, thickness=thickness)
    return law_potential(LAWS[kind].law, corner_above(height), surface, VALUES[kind])


@pytest.mark.parametrize("kind", LAWS)
def test_a_law_is_its_formula_of_the_gap_and_its_derivatives_are_those_of_it(kind: str) -> None:
    """Beyond the thickness; forces and curvatures by differences of the closed form, also near D."""
    thickness, potential = 0.1, of_law(kind, 0.3, 0.1)
    for gap in (0.05, 0.15, 0.25, 0.39):
        potential.fields["x"].set(corner_above(gap + thickness))
        assert potential.value() == pytest.approx(CLOSED[kind](gap), rel=1e-9, abs=1e-12)
        h, b = 2e-4, CLOSED[kind]
        slope = (8 * (b(gap + h) - b(gap - h)) - b(gap + 2 * h) + b(gap - 2 * h)) / (12 * h)
        assert potential.gradient("x")[3, 2] == pytest.approx(slope, rel=1e-6, abs=1e-9)
        bend = (16 * (b(gap + h) + b(gap - h)) - b(gap + 2 * h) - b(gap - 2 * h) - 30 * b(gap)) / (12 * h * h)
        assert potential.hessian("x")[11, 11] == pytest.approx(bend, rel=1e-4, abs=1e-5)
    potential.fields["x"].set(corner_above(D + thickness + 1e-3))
    assert potential.value() == 0.0


def test_no_way_ends_within_the_thickness() -> None:
    surface = CollisionSurface(TRIANGLES, D, 3, thickness=0.1)
    part = surface.free_part(corner_above(0.3), corner_above(-0.2))
    assert 0.2 < part <= 0.4  # the corner is at 0.1 after two fifths
    assert surface.trouble(corner_above(0.11)) == ""
    assert "surfaces are within the thickness 0.1, got features of nodes 3-" in surface.trouble(
        corner_above(0.09)
    )


# Who meets whom -------------------------------------------------------------------------------------------

BODIES = {"a": np.arange(3), "b": np.arange(3, 6), "c": np.arange(6, 9)}
THREE = np.arange(9).reshape(3, 3)


def near_triples(pairs: Sequence[tuple[str, str]], with_itself: bool) -> set[frozenset[str]]:
    """The bodies that meet of three triangles above each other, all of them near."""
    x = np.concatenate([corner_above(0.3)[:3] + np.array([0, 0, 0.1 * k]) for k in range(3)])
    meeting = Meeting.of(THREE, [(BODIES[p], BODIES[q]) for p, q in pairs], with_itself)
    surface = CollisionSurface(THREE, D, 3, meeting=meeting)
    rows = np.concatenate([surface.tuples(x, kind)[:, [0, -1]] for kind in ("points", "edge", "triangle")])
    return {frozenset("abc"[node // 3] for node in row) for row in rows}


@pytest.mark.parametrize(
    ("pairs", "met"),
    [([], {"ab", "bc", "ac"}), ([("a", "c")], {"ac"}), ([("b", "a"), ("b", "c")], {"ab", "bc"})],
)
def test_pairs_alone_meet(pairs: list[tuple[str, str]], met: set[str]) -> None:
    assert near_triples(pairs, False) == {frozenset(one) for one in met}


def folded() -> tuple[np.ndarray, np.ndarray]:
    """A strip of the plane whose two ends are near each other, and a second piece far away."""
    x = np.array([[0.0, 0], [3, 0], [6, 0], [6, 3], [3, 2.2], [0, 0.2], [50, 50], [51, 50.0]])
    return x, np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [6, 7]])


def test_a_surface_meets_itself_only_where_it_is_said() -> None:
    x, facets = folded()
    alone = CollisionSurface(facets, D, 2, meeting=Meeting.of(facets, [], False))
    own = CollisionSurface(facets, D, 2)
    body = [(np.arange(6), np.arange(6))]
    paired = CollisionSurface(facets, D, 2, meeting=Meeting.of(facets, body, True))
    found = [len(one.tuples(x, "edge")) + len(one.tuples(x, "points")) for one in (alone, own, paired)]
    assert found[0] == 0
    assert found[1] == found[2] > 0
    assert [one.meets_itself for one in (alone, own, paired)] == [False, True, True]


def test_what_does_not_meet_may_pass() -> None:
    x, facets = folded()
    crossed = x.copy()
    crossed[5] = [1.0, -1.0]
    own, alone = (
        CollisionSurface(facets, D, 2),
        CollisionSurface(facets, D, 2, meeting=Meeting.of(facets, [], False)),
    )
    assert own.free_part(x, crossed) < 1.0 == alone.free_part(x, crossed)
    assert "edge 0-1 and edge 4-5" in own.trouble(crossed)
    assert alone.trouble(crossed) == ""
    assert alone.intersections(crossed) == []


# Scenes ---------------------------------------------------------------------------------------------------

NAME = 'kind = "contact"\n'
OWN_LAW = '''from minusgrad.plugin import Parameter, hookimpl, ti
from minusgrad_elastic.contact.laws import contact

@contact("soft_contact", stiffness=Parameter("Pa", about="Stiffness."), lead=Parameter("m", default="0 m"))
def soft_contact(gap, distance, stiffness, lead):
    """Contact that begins a little further away."""
    depth = ti.max(distance - lead - gap, 0.0)
    return 0.5 * stiffness * distance * depth * depth * depth / distance

@hookimpl
def register_compounds():
    return {"soft_contact": soft_contact}
'''


def test_a_law_of_a_users_own(tmp_path: Path) -> None:
    (tmp_path / "soft.py").write_text(OWN_LAW)
    edits = [(NAME, 'kind = "soft_contact"\nlead = "0.5 mm"\n')]
    scene = contact_scene(tmp_path, two_bodies(2), edits=edits)
    simulation = mg.load(scene, plugins=[tmp_path / "soft.py"])
    potential = simulation.potential
    assert "soft_contact_edge" in potential.terms
    assert potential.parameter("soft_contact.lead") == pytest.approx(5e-4)
    k = float(potential.parameter("soft_contact.stiffness"))
    own = [u for name, u in potential.by_term().items() if name.startswith("soft")]
    x, near = simulation.fields["x"].values, potential.terms["soft_contact_edge"].elements.nodes
    gaps = np.sqrt(points_and_edges(x, near)[0])
    assert gaps.min() == pytest.approx(1e-3, rel=1e-9)
    assert len(potential.terms["soft_contact_points"].elements.nodes) == 0
    assert sum(own) == pytest.approx(0.5 * k * (np.maximum(1.5e-3 - gaps, 0.0) ** 3).sum(), rel=1e-9)


def test_bodies_of_a_scene_meet_as_pairs_say(tmp_path: Path) -> None:
    for text, near in (('pairs = [["box", "base"]]\n', True), ('pairs = [["box", "box"]]\n', False)):
        simulation = mg.load(
            contact_scene(tmp_path, two_bodies(2), edits=[(NAME, NAME + text + "stiffness = 1e5\n")])
        )
        energy = sum(u for n, u in simulation.potential.by_term().items() if n.startswith("contact"))
        assert (energy > 0.0) == near


def doubled() -> dict[str, Mesh]:
    """Two bodies in one place."""
    return {name: generators.rectangle((0.1, 0.1), (1, 1)) for name in ("base", "box")}


WRONG: dict[str, tuple[str, str]] = {
    "pairs and bodies": (
        'pairs = [["box", "base"]]\nbodies = ["box"]\n',
        "pairs: name the bodies that meet, got `bodies`, too",
    ),
    "no such body": ('pairs = [["box", "bse"]]\n', "pairs: no body named 'bse'; did you mean 'base'"),
    "thick": ('thickness = "40 mm"\n', "distance: with `thickness` must be below the shortest edge"),
    "negative": ('thickness = "-1 mm"\n', "needs a quantity of at least 0"),
    "within": ('thickness = "1.5 mm"\n', "surfaces are within the thickness 0.0015"),
}


def refusal(folder: Path, edits: Sequence[tuple[str, str]], meshes: dict[str, Mesh] | None = None) -> str:
    with pytest.raises(UserError) as error:
        mg.load(contact_scene(folder, meshes or two_bodies(2), edits=edits))
    return str(error.value)


@pytest.mark.parametrize("row", WRONG)
def test_bad_input_has_one_message(row: str, tmp_path: Path) -> None:
    text, message = WRONG[row]
    assert message in refusal(tmp_path, [(NAME, NAME + text)])


def test_bodies_in_one_place_are_refused(tmp_path: Path) -> None:
    assert "kind: surfaces " in refusal(tmp_path, [], doubled())


# Hertz ----------------------------------------------------------------------------------------------------


def cylinder_block(parts: int) -> Mesh:
    """The lower part of a cylinder of radius 1 m, fine where it touches: 2 parts^2 triangles."""
    half, grading = parts // 2, 6.0
    x = 0.5 * np.sinh(grading * np.linspace(-1.0, 1.0, 2 * half + 1)) / np.sinh(grading)
    u = np.sinh(grading * np.linspace(0.0, 1.0, half + 1)) / np.sinh(grading)
    low = 1.0 - np.sqrt(1.0 - x * x)
    heights = low[:, None] * (1.0 - u) + 0.5 * u
    points = np.stack([np.repeat(x, half + 1), heights.ravel()], axis=1)
    number = np.arange(len(points)).reshape(2 * half + 1, half + 1)
    a, b, c, d = (
        block.ravel() for block in (number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:])
    )
    return Mesh(points, np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)]))


HERTZ = """plugins = ["elastic"]
[state]
kind = "gmsh"
file = "bodies.msh"
length = "m"
density = "1 kg/m^3"
[state.sides]
top = { y = "0.5 m" }
[[energy]]
kind = "neo_hookean"
youngs_modulus = "1 Pa"
poissons_ratio = 0.3
tuples = "cells"
[[compound]]
kind = "contact"
distance = "0.01 mm"
stiffness = "20 Pa"
self = false
[[hold]]
body = "base"
[[hold]]
body = "top"
displacement = ["0 mm", "-1.2 mm"]
[stepper]
kind = "newton"
load_steps = 1
tolerance = { force = 1e-10 }
[run]
steps = 1
"""


@pytest.mark.long
def test_a_cylinder_on_a_plane_is_as_wide_as_hertz_says(tmp_path: Path) -> None:
    """a = (4 P R / pi E*)^(1/2) of a force P per length; a^2 / 4 is the variance of a semi-elliptic pressure.

    Johnson 1985, Contact Mechanics, section 4.2(c). The finest of three meshes within 2 %.
    """
    ratios = []
    for parts in (20, 30, 40):
        ball = cylinder_block(parts)
        corners = np.array([[-1.0, -0.2], [1.0, -0.2], [1.0, 0.0], [-1.0, 0.0]]) - np.array([0.0, 9e-6])
        meshes = {"ball": ball, "base": Mesh(corners, np.array([[0, 1, 2], [0, 2, 3]]))}
        (tmp_path / "bodies.msh").write_text(mesh_file(meshes))
        (tmp_path / "scene.toml").write_text(HERTZ)
        simulation = mg.load(tmp_path / "scene.toml")
        simulation.step(1)
        assert simulation.stepper.outcome == "converged"
        contacts = [t for n, t in simulation.potential.terms.items() if n.startswith("contact")]
        push = -Potential(simulation.fields, contacts).gradient("x")[: len(ball.points), 1]
        x = simulation.fields["x"].values[: len(ball.points), 0]
        width = 2.0 * np.sqrt((push * x**2).sum() / push.sum())
        ratios.append(width / np.sqrt(4.0 * push.sum() * (1.0 - 0.3**2) / np.pi))
    assert ratios[-1] == pytest.approx(1.0, rel=0.02)
    assert max(abs(ratio - 1.0) for ratio in ratios) < 0.05
