"""Obstacles of any shape: distances to closed surfaces, their force beside that of a ball, a bounce."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad
from minusgrad import Fields, Potential, bind
from minusgrad.errors import UserError
from minusgrad.plot.surroundings.saved import surroundings
from minusgrad_elastic import contacts
from minusgrad_elastic.shells import obstacle as obstacles
from minusgrad_elastic.shells.signed_distance import DistanceGrid, distance_grid, nearest_points
from minusgrad_elastic.shells.surface_mesh import SurfaceMesh
from tests.support.both_engines import assert_engines_agree
from tests.support.round_surfaces import cylinder_sheet, round_ball, write_obj, write_stl

K = 1.0e3
CUBE = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
SIDES = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
CUBE_TRIANGLES = np.array([t for a, b, c, d in SIDES for t in ((a, b, c), (a, c, d))], np.int32)
SCENE = """
[state]
kind = "network"
nodes = [[0.03, 0.02, 1.3], [-0.2, 0.1, 1.4]]
springs = [[0, 1]]
mass = "1 kg"
velocity = [0.0, 0.0, -1.0]
[[energy]]
kind = "spring"
stiffness = "10 N/m"
[[compound]]
kind = "obstacle"
file = "ball.stl"
length = "m"
stiffness = "10 kN/m^2"
cells = 16
[stepper]
kind = "leapfrog"
dt = "{dt} ms"
[run]
steps = {steps}
[[observe]]
kind = "energies"
every = 1
[[observe]]
kind = "frames"
every = {steps}
"""


def potential_of(grid: DistanceGrid, x: np.ndarray, precision: str = "f64") -> Potential:
    fields = Fields({"x": x}, precision=precision)
    given = obstacles.grid_values(grid)
    given["parameters"] |= {"stiffness": K}
    return Potential(fields, [bind(obstacles.obstacle, fields, **given)])


def ball_of(parts: int, cells: int) -> DistanceGrid:
    return distance_grid(SurfaceMesh("a", *round_ball(parts)), cells)


def places_in_a_ball(n: int = 400) -> np.ndarray:
    """Places within 0.3 of a unit sphere, inside and outside."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(n, 3))
    return x / np.linalg.norm(x, axis=1)[:, None] * rng.uniform(0.7, 1.1, size=(n, 1))


def test_the_nearest_point_of_a_triangle() -> None:
    """Inside, beside each edge, at each corner: by hand, on (0, 0), (4, 0), (0, 3)."""
    triangle = np.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
    places = np.array(
        [[1.0, 1.0, 5.0], [2.0, -1.0, 1.0], [-1.0, 1.0, 0.0], [5.0, -1.0, 0.0], [4.0, 3.0, 0.0]]
    )
    expected = [[1, 1, 0], [2, 0, 0], [0, 1, 0], [4, 0, 0], [2.56, 1.08, 0]]
    np.testing.assert_allclose(nearest_points(places, triangle), expected, atol=1e-12)


def test_distances_to_a_cube_are_exact() -> None:
    """Negative inside: -min of the distances to six planes; outside near faces the distance to one."""
    grid = distance_grid(SurfaceMesh("cube", CUBE, CUBE_TRIANGLES), 20)
    index = np.stack(np.meshgrid(*map(np.arange, grid.values.shape), indexing="ij"), axis=-1)
    x = grid.corner + grid.spacing * index
    inside = np.minimum(x, 1.0 - x).min(axis=-1)
    outside = np.linalg.norm(np.maximum(np.maximum(-x, x - 1.0), 0.0), axis=-1)
    exact = np.where(inside > 0.0, -inside, outside)
    near = exact < 1.9 * grid.spacing
    np.testing.assert_allclose(grid.values[near], exact[near], atol=1e-12)
    assert (grid.values[~near] > 0.0).all()
    np.testing.assert_allclose(grid.spline_values(x[near]), exact[near], atol=1e-9)


def test_energy_and_force_approach_those_of_a_ball() -> None:
    """Beside k/3 delta^3 and k delta^2 along the normal, delta = 1 - |x|; surface and grid refined together.

    Distances of a polyhedron have order 2. Its normals have order 1, so the force is between them: of 1.5
    in the mean.
    """
    x = places_in_a_ball()
    r = np.linalg.norm(x, axis=1)[:, None]
    depth = np.maximum(1.0 - r, 0.0)
    of_energy, of_force = [], []
    for parts, cells in ((3, 10), (6, 20), (12, 40)):
        potential = potential_of(ball_of(parts, cells), x)
        of_energy.append(abs(potential.value() / (K / 3.0 * (depth**3).sum()) - 1.0))
        off = potential.gradient("x") + K * depth**2 * x / r
        of_force.append(np.sqrt((off**2).sum() / ((K * depth**2) ** 2).sum()))
    assert of_energy[-1] < 0.03
    assert of_force[-1] < 0.03
    assert np.log2(of_energy[1] / of_energy[2]) == pytest.approx(2.0, abs=0.3)
    assert (np.log2(np.array(of_force[:-1]) / of_force[1:]) > 1.5).all()


def test_near_the_surface_it_is_the_energy_sphere() -> None:
    """`sphere` has (R^2 - r^2) / (2 R) for the depth: the same to first order in it."""
    x = places_in_a_ball()
    x = x[np.abs(np.linalg.norm(x, axis=1) - 0.97) < 0.02]
    fields = Fields({"x": x})
    given = {"centre": [0.0, 0.0, 0.0], "radius": 1.0, "stiffness": K}
    ball = Potential(fields, [bind(contacts.sphere, fields, parameters=given)])
    ours = potential_of(ball_of(16, 32), x)
    np.testing.assert_allclose(
        ours.gradient("x"), ball.gradient("x"), atol=0.2 * np.abs(ball.gradient("x")).max()
    )


def test_derivatives_are_those_of_the_spline() -> None:
    """Values beside SciPy's spline; gradients and products beside differences of them."""
    grid, x = ball_of(4, 12), places_in_a_ball(60)
    potential = potential_of(grid, x)
    depth = np.maximum(-grid.spline_values(x), 0.0)
    assert potential.value() == pytest.approx(K / 3.0 * (depth**3).sum(), rel=1e-9)
    step, along = 1e-5, np.random.default_rng(0).normal(size=x.shape)
    ahead, behind = (potential_of(grid, x + sign * step * along) for sign in (1.0, -1.0))
    slope = (ahead.value() - behind.value()) / (2.0 * step)
    assert np.vdot(potential.gradient("x"), along) == pytest.approx(slope, rel=1e-7)
    turned = (ahead.gradient("x") - behind.gradient("x")) / (2.0 * step)
    scale = np.abs(turned).max()
    np.testing.assert_allclose(potential.product({"x": along}, "x"), turned, atol=1e-4 * scale)


def test_far_away_there_is_no_force() -> None:
    far = np.array([[1e6, 0.0, 0.0], [-3.0, 2.0, 1.3], [0.0, 0.0, -1e9], [1.4, 1.4, 1.4]])
    potential = potential_of(ball_of(3, 10), far)
    assert potential.value() == 0.0
    assert (potential.gradient("x") == 0.0).all()
    single = potential_of(ball_of(3, 10), far, "f32")
    assert (single.gradient("x") == 0.0).all()


def test_a_hollow_body_is_free_within() -> None:
    """A ball with a ball cut out: inside of the hole, which is turned, there is no depth."""
    points, triangles = round_ball(4)
    hole = 0.5 * points
    both = SurfaceMesh(
        "a", np.vstack([points, hole]), np.vstack([triangles, triangles[:, ::-1] + len(points)])
    )
    grid = distance_grid(both, 24)
    x = np.array([[0.1, 0.0, 0.2], [0.0, 0.75, 0.0]])
    gradient = potential_of(grid, x).gradient("x")
    assert (gradient[0] == 0.0).all()
    assert grid.spline_values(x)[1] < -0.2


@pytest.fixture
def bounce(tmp_path: Path) -> Path:
    """Two nodes on a spring that fall on a ball from a file."""
    write_stl(tmp_path / "ball.stl", *round_ball(5))
    (tmp_path / "a.toml").write_text(SCENE.format(dt=1.0, steps=600))
    return tmp_path / "a.toml"


def test_a_bounce_keeps_its_energy_with_order_two(bounce: Path, tmp_path: Path) -> None:
    """Leapfrog: the largest error of the total falls by four for half of the step."""
    errors = []
    for n, dt in enumerate((2.0, 1.0)):
        bounce.write_text(SCENE.format(dt=dt, steps=int(900 / dt)))
        run = minusgrad.run(bounce, out=tmp_path / f"run{n}")
        total = run["total"]
        assert run["position"][-1][0, 2] > 1.0
        assert np.ptp(run["potential/obstacle"]) > 0.05
        errors.append(np.abs(total - total[0]).max() / total[0])
    assert errors[1] < 1e-3
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.4)


def test_both_engines_bounce(bounce: Path, tmp_path: Path) -> None:
    bounce.write_text(SCENE.format(dt=1.0, steps=400))
    assert_engines_agree(bounce, tmp_path / "both")


def test_the_check_has_no_findings(bounce: Path, invoke) -> None:
    code, out, _ = invoke("check", bounce)
    assert code == 0
    assert " 0 findings" in out


def test_the_error_of_the_distances_is_said_and_the_surface_is_seen(bounce: Path, tmp_path: Path) -> None:
    bounce.write_text(SCENE.format(dt=1.0, steps=2))
    run = minusgrad.run(bounce, out=tmp_path / "run")
    assert any("cells at most on the surface" in str(one) for one in run.remarks)
    ((term, shape),) = surroundings(tmp_path / "run").facets
    assert term == "obstacle"
    assert np.asarray(shape.corners).shape == (500, 3, 3)


def test_a_fine_surface_is_coarser_in_pictures() -> None:
    points, triangles = round_ball(16)
    corners = obstacles.coarse_corners(SurfaceMesh("a", points, triangles), 1000)
    assert 200 < len(corners) <= 1000
    assert np.linalg.norm(corners, axis=2).min() > 0.85


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: cylinder_sheet(4, 1.0), "an obstacle is a closed surface, got 16 edges"),
        (lambda: (round_ball(2)[0], round_ball(2)[1][:-1]), "a closed surface, got 3 edges"),
    ],
)  # fmt: skip
def test_open_surfaces_are_refused(make, said: str, tmp_path: Path, invoke) -> None:
    write_obj(tmp_path / "ball.stl", *make())
    text = SCENE.format(dt=1.0, steps=2).replace("ball.stl", "open.obj")
    (tmp_path / "ball.stl").rename(tmp_path / "open.obj")
    (tmp_path / "a.toml").write_text(text)
    code, _, err = invoke("run", tmp_path / "a.toml", "--out", tmp_path / "run")
    assert code == 2
    assert said in err


def test_bodies_that_are_not_there_are_refused(bounce: Path, tmp_path: Path) -> None:
    bounce.write_text(SCENE.format(dt=1.0, steps=2).replace("cells = 16", 'cells = 16\nbody = "hand"'))
    with pytest.raises(UserError, match=r"no body named 'hand' \(there are: none\)"):
        minusgrad.run(bounce, out=tmp_path / "run")
