"""The energies of a thin shell: fundamental forms, what they read of directors, closed forms of plates."""

from typing import Any

import numpy as np
import pytest
from benchmarks.shells import clamp, force, line_force, moved, node, roll, shell_scene
from scipy.linalg import eigh

import minusgrad as mg
from minusgrad import Fields, Potential, bind
from minusgrad.errors import SceneError, UserError
from minusgrad.plugin import Parameter, local_energy
from minusgrad_elastic.shells.surface_mesh import SurfaceMesh
from minusgrad_shells.koiter import energies
from minusgrad_shells.koiter.geometry import shell_geometry
from minusgrad_shells.koiter.shell_state import director_shell
from minusgrad_shells.koiter.stress import face_stresses, von_mises
from minusgrad_shells.patches import triangulated_patch

YOUNG, POISSON, THICKNESS = 1.2e6, 0.3, 0.1
STIFFNESS = YOUNG * THICKNESS**3 / (12.0 * (1.0 - POISSON**2))
PARAMETERS = {"youngs_modulus": YOUNG, "poissons_ratio": POISSON, "thickness": THICKNESS}


def flat_irregular(cells: int = 4) -> SurfaceMesh:
    """A unit square of triangles whose inner nodes are moved about."""
    mesh = triangulated_patch(lambda u, v: np.stack([u, v, 0.0 * u], axis=1), (cells, cells)).mesh
    inner = ((mesh.points[:, :2] > 1e-9) & (mesh.points[:, :2] < 1.0 - 1e-9)).all(axis=1)
    moves = np.random.default_rng(2).uniform(-0.3, 0.3, (len(inner), 2)) / cells
    mesh.points[inner, :2] += moves[inner]
    return mesh


def bound_shell(mesh: SurfaceMesh, axes: Any = None) -> tuple[Any, Fields, Potential]:
    """The state, its fields and the potential of its three energies."""
    state = director_shell(mesh, 1.0, THICKNESS, axes=axes)
    fields = Fields(dict(state.fields))
    rows = {
        "triangles": energies.koiter_stretching,
        "shell_triangles": energies.koiter_bending,
        "shell_edges": energies.shell_director,
    }
    terms = [
        bind(
            energy,
            fields,
            tuples=state.tuples[name],
            data={k: v for k, v in state.data[name].items() if k in energy.roles},
            parameters={k: v for k, v in PARAMETERS.items() if k in energy.roles},
        )
        for name, energy in rows.items()
    ]
    return state, fields, Potential(fields, terms)


def quadratic(geometry: Any, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Heights -x . k x / 2 of the nodes and directors (K, 3) of that surface, to first order in k (2, 2)."""
    x = geometry.points[:, :2]
    height = -0.5 * np.einsum("ni,ij,nj->n", x, k, x)
    middles = x[geometry.edges].mean(axis=1)
    return height, np.column_stack([middles @ k, np.ones(len(middles))])


def test_constant_curvature_on_an_irregular_mesh_is_exact():
    """k_11, k_22, k_12 of the forms, their energy, and no force inside."""
    state, fields, potential = bound_shell(flat_irregular())
    geometry = state.brings.geometry
    k = 1e-6 * np.array([[1.0, 0.4], [0.4, -0.7]])
    height, directors = quadratic(geometry, k)
    x = geometry.points + height[:, None] * np.eye(3)[2]
    along = np.einsum("eai,ij,ebj->eab", geometry.axes[:, :, :2], k, geometry.axes[:, :, :2])
    expected = np.stack([along[:, 0, 0], along[:, 1, 1], along[:, 0, 1]], axis=1)
    assert np.abs(geometry.second_forms(x, directors) - expected).max() < 1e-11
    fields["x"].set(x)
    fields["director"].set(directors)
    q = np.trace(k) ** 2 - 2.0 * (1.0 - POISSON) * np.linalg.det(k)
    bending = potential.by_term()["koiter_bending"]
    assert abs(bending / (0.5 * STIFFNESS * q) - 1.0) < 1e-5
    pull, turn = potential.gradient("x")[:, 2], potential.gradient("director")
    outer = np.zeros(len(x), bool)
    lone = np.bincount(geometry.edges_of.ravel()) == 1
    outer[geometry.edges[lone]] = True
    assert np.abs(pull[~outer]).max() < 1e-5 * np.abs(pull).max()
    across = turn[:, :2] / STIFFNESS / 1e-6
    assert np.abs(across[~lone]).max() < 1e-5 * np.abs(across).max()


def test_energies_read_the_turn_of_directors_alone():
    """Rotations change nothing; lengths of directors and parts along their edges change no bending."""
    from scipy.spatial.transform import Rotation

    place = lambda u, v: np.stack([u, v, 0.3 * np.sin(2.0 * u) * v], axis=1)  # noqa: E731
    state, fields, potential = bound_shell(triangulated_patch(place, (4, 3)).mesh)
    rng = np.random.default_rng(3)
    x = state.fields["x"] + 0.01 * rng.normal(size=state.fields["x"].shape)
    n = state.fields["director"] + 0.1 * rng.normal(size=state.fields["director"].shape)
    fields["x"].set(x), fields["director"].set(n)
    start = potential.by_term()
    turn = Rotation.from_rotvec([0.3, 2.0, -1.1]).as_matrix()
    fields["x"].set(x @ turn.T + 5.0), fields["director"].set(n @ turn.T)
    turned = potential.by_term()
    for name, value in start.items():
        assert abs(turned[name] / value - 1.0) < 1e-10, name
    edges = state.brings.geometry.edges
    along = x[edges[:, 1]] - x[edges[:, 0]]
    fields["x"].set(x)
    fields["director"].set(n * rng.uniform(0.5, 2.0, (len(n), 1)) + along * rng.normal(size=(len(n), 1)))
    assert abs(potential.by_term()["koiter_bending"] / start["koiter_bending"] - 1.0) < 1e-12
    assert potential.by_term()["shell_director"] > 10.0 * start["shell_director"]


@local_energy(
    "own_shell",
    over=energies.TRIANGLE,
    **energies.FORMS,
    rest=energies.CURVATURE,
    area=energies.AREA,
    young=Parameter("Pa", default=YOUNG),
    poisson=Parameter(default=POISSON),
    thick=Parameter("m", default=THICKNESS),
)
def own_shell(x, director, gradients, turns, rest, area, young, poisson, thick):
    """Koiter's energy as a function of the two fundamental forms, as a user would write it."""
    a, b = energies.first_form(x, gradients), energies.second_form(x, director, turns)
    strain = [0.5 * (a[0] - 1.0), 0.5 * (a[1] - 1.0), 0.5 * a[2]]
    bent = [b[k] - rest[k] for k in range(3)]
    membrane = energies.elastic_form(strain, young, poisson)
    return 0.5 * area * thick * (membrane + thick**2 / 12.0 * energies.elastic_form(bent, young, poisson))


def test_an_energy_of_both_forms_of_ones_own():
    """It is the sum of stretching and bending; NumPy's forms are the traced ones."""
    place = lambda u, v: np.stack([np.sin(u), v, np.cos(u)], axis=1)  # noqa: E731
    patch = triangulated_patch(place, (3, 2))
    state, fields, potential = bound_shell(patch.mesh, patch.axes())
    given = state.data["shell_triangles"]
    term = bind(own_shell, fields, tuples=state.tuples["shell_triangles"], data=dict(given))
    own = Potential(fields, [term])
    rng = np.random.default_rng(4)
    fields["x"].set(state.fields["x"] + 0.01 * rng.normal(size=state.fields["x"].shape))
    fields["director"].set(state.fields["director"] + 0.1 * rng.normal(size=state.fields["director"].shape))
    parts = potential.by_term()
    assert abs(own.value() / (parts["koiter_stretching"] + parts["koiter_bending"]) - 1.0) < 1e-12
    geometry = state.brings.geometry
    k = geometry.second_forms(fields["x"].values, fields["director"].values) - given["rest"]
    q = (k[:, 0] + k[:, 1]) ** 2 - 2.0 * (1.0 - POISSON) * (k[:, 0] * k[:, 1] - k[:, 2] ** 2)
    assert abs((0.5 * STIFFNESS * geometry.areas * q).sum() / parts["koiter_bending"] - 1.0) < 1e-12


def test_a_plate_rolls_to_a_circle():
    """U = EI (2 pi)^2 / 2 L by eight cells, and the ends meet: circles are exact."""
    energy, gap = roll((8, 1))
    assert abs(energy / (100.0 * (2.0 * np.pi) ** 2 / 24.0) - 1.0) < 1e-8
    assert gap < 1e-6


def test_a_natural_curvature_rolls_it_up():
    """Without forces the plate is a polygon around a circle of curvature k_11."""
    holds = clamp("left")
    natural = {"curvature": [2.0 * np.pi / 12.0, 0.0, 0.0]}
    scene = shell_scene({"kind": "plate", "size": [12.0, 1.0]}, (8, 1), 0.1, (YOUNG, 0.0), holds, [])
    scene["compound"][0]["natural"] = natural
    made = mg.load(scene)
    made.step(200)
    stepper: Any = made.stepper
    assert not stepper.failed
    potential: Any = made.potential
    assert potential.value() < 1e-12


def square_plate(cells: int, load: float, **more: Any) -> dict[str, Any]:
    """A quarter of a square plate of side 10 between hinges, under an even load per area."""
    supports = {"mirrors": {"left": "x", "bottom": "y"}, "places": {"right": "z", "top": "z"}}
    weight = [{"kind": "body_force", "acceleration": [0.0, 0.0, -load / THICKNESS]}]
    shape = {"kind": "plate", "size": [5.0, 5.0]}
    return shell_scene(shape, (cells, cells), THICKNESS, (YOUNG, POISSON), supports, weight, **more)


def test_deflection_and_stress_of_a_square_plate():
    """0.00406 q a^4 / D, and 6 M / t^2 with M = 0.0479 q a^2 in its middle (Timoshenko, table 8)."""
    load, side = 1e-4, 10.0
    errors = []
    for cells in (8, 16):
        scene = square_plate(cells, load, observe=[{"kind": "shell_stress", "every": 1}])
        _, u, run = moved(scene)
        errors.append(-u[node(run, "bottom_left"), 2] * STIFFNESS / (0.004062 * load * side**4) - 1.0)
    assert abs(errors[1]) < 5e-3
    assert 3.0 < errors[0] / errors[1] < 5.0
    geometry = run.state.brings.geometry
    found = face_stresses(geometry, run.fields, PARAMETERS, geometry.curvature)
    middle = geometry.corners.mean(axis=1)
    near = np.argsort(np.linalg.norm(middle[:, :2], axis=1))[:2]
    expected = 6.0 * 0.0479 * load * side**2 / THICKNESS**2
    bottom, centre, top = (found[name][near].mean(axis=0) for name in ("bottom", "middle", "top"))
    assert abs(bottom[:2] / expected - 1.0).max() < 0.03
    assert abs(top[:2] / expected + 1.0).max() < 0.03
    assert np.abs(centre).max() < 1e-3 * expected
    assert abs(von_mises(bottom[None])[0] / expected - 1.0) < 0.03


def deflection_by_morley(mesh: SurfaceMesh, held: np.ndarray, forces: np.ndarray) -> np.ndarray:
    """Deflections (n,) of a flat plate without Poisson's effect, clamped between nodes, under forces (n,)."""
    from skfem import Basis, BilinearForm, ElementTriMorley, MeshTri, condense, solve
    from skfem.helpers import dd, ddot

    flat = MeshTri(mesh.points[:, :2].T.copy(), mesh.triangles.T.astype(np.int64))
    plate = Basis(flat, ElementTriMorley())
    side = np.flatnonzero(np.isin(flat.facets, held).all(axis=0))
    stiffness = BilinearForm(lambda u, v, w: YOUNG * THICKNESS**3 / 12.0 * ddot(dd(u), dd(v))).assemble(plate)
    load = np.zeros(plate.N)
    load[plate.nodal_dofs[0]] = forces
    return solve(*condense(stiffness, load, D=plate.get_dofs(side)))[plate.nodal_dofs[0]]


def test_a_slit_ring_under_a_small_load_is_morleys_plate():
    """Each deflection is that of scikit-fem's element on the same triangles: the clamp holds the slope."""
    shape, size = {"kind": "annulus", "radii": [6.0, 10.0]}, 1e-6
    loads = force("left", "z", size)
    _, u, run = moved(shell_scene(shape, (8, 2), THICKNESS, (YOUNG, 0.0), clamp("right"), loads))
    state: Any = run.state
    nodes, geometry = {one.name: one.nodes for one in state.bodies}, state.brings.geometry
    forces = size * np.isin(np.arange(len(u)), nodes["left"])
    mesh = SurfaceMesh("a", geometry.points, geometry.triangles)
    expected = deflection_by_morley(mesh, nodes["right"], forces)
    np.testing.assert_allclose(u[:, 2], expected, atol=1e-7 * expected.max())


def test_tones_of_a_square_plate():
    """omega = 2 pi^2 / a^2 sqrt(D / rho t) between hinges, order 2."""
    exact = 2.0 * np.pi**2 / 100.0 * np.sqrt(STIFFNESS / THICKNESS)
    errors = []
    for cells in (4, 8):
        run = mg.load(square_plate(cells, 0.0))
        potential: Any = run.potential
        names = ["x", "director"]
        K = potential.hessian(names).toarray()
        mass = np.concatenate([np.repeat(run.fields[m].values, 3) for m in ("m", "director_inertia")])
        holds: Any = run.system.holds
        free = np.flatnonzero(np.concatenate([holds.free(name).ravel() for name in names]))
        lowest = eigh(K[np.ix_(free, free)], np.diag(mass[free]), eigvals_only=True, subset_by_index=[0, 2])
        bending = lowest[lowest > 1e-9][0]
        errors.append(np.sqrt(bending) / exact - 1.0)
    assert abs(errors[1]) < 0.013
    assert 3.0 < errors[0] / errors[1] < 5.0


PLACES = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([[0, 1, 1]], "a: triangle 0 needs an area, got 0 m^2; repair the mesh"),
        (
            [[0, 1, 2], [1, 0, 3], [0, 1, 4]],
            "a: edge 0-1 has two triangles at most, got 3; part the surface",
        ),
        ([[0, 1, 2], [0, 1, 4]], "a: both triangles of edge 0-1 must be listed the same way round"),
    ],
)
def test_bad_meshes_are_refused(rows, said):
    with pytest.raises(UserError) as refused:
        shell_geometry(SurfaceMesh("a", np.array(PLACES), np.array(rows, np.int32)))
    assert said in str(refused.value)


BAD = [
    ({"thickness": 0.0}, {}, "thickness"),
    ({"thickness": "-1"}, {}, "thickness"),
    ({"cells": None}, {}, "cells: needs two numbers, got none; give those along u and v"),
    ({"clamps": ["lift"]}, {}, "clamps.0: no side named 'lift'"),
    ({"clamps": ["bottom_left"]}, {}, "clamps.0: 'bottom_left' needs an edge, got none between its nodes"),
    ({"mirrors": {"lift": "x"}}, {}, "mirrors: no side named 'lift'"),
    ({"origin": [1.0]}, {}, "origin: 1 numbers for 3 axes"),
    ({"shape": {"kind": "annulus", "radii": [2.0, 1.0]}}, {}, "shape.radii: must grow, got [2.0, 1.0]"),
    ({"shape": {"kind": "cylinder", "radius": 1.0, "length": 1.0, "angle": 7.0}}, {}, "is at most a turn"),
    ({"shape": {"kind": "sphere", "radius": 1.0, "latitudes": [0.0, 1.6]}}, {}, "leave out the pole"),
    ({}, {"thickness": 0.0}, "thickness"),
    ({}, {"youngs_modulus": -1.0}, "youngs_modulus"),
    ({}, {"poissons_ratio": 0.6}, "poissons_ratio"),
]  # fmt: skip


@pytest.mark.parametrize(("state", "block", "said"), BAD)
def test_bad_scenes_are_refused(state, block, said):
    scene = shell_scene({"kind": "plate", "size": [1.0, 1.0]}, (2, 2), 0.1, (YOUNG, 0.3), {}, [])
    scene["state"] |= state
    scene["state"] = {key: value for key, value in scene["state"].items() if value is not None}
    scene["compound"][0] |= block
    with pytest.raises(SceneError) as refused:
        mg.load(scene)
    assert said in str(refused.value)


def test_a_state_without_directors_is_refused():
    sheet = {"kind": "sheet", "size": [1.0, 1.0], "cells": [2, 2], "thickness": 0.1, "density": 1.0}
    scene = shell_scene({"kind": "plate", "size": [1.0, 1.0]}, (2, 2), 0.1, (YOUNG, 0.3), {}, [])
    with pytest.raises(SceneError, match="shell: needs a state with directors"):
        mg.load(scene | {"state": sheet})


def test_forces_are_shared_over_a_side():
    assert sum(one["force"][2] for one in line_force("right", ("a", "b"), "z", 6.0, 3)) == 2.0 - 2.0
    assert force("right", "y", 2.0)[0]["force"] == [0.0, 2.0, 0.0]
