"""Contact: distances and barriers beside ipctk, runs without intersections, derivatives by differences."""

from collections.abc import Sequence
from pathlib import Path

import ipctk
import numpy as np
import pytest

import minusgrad as mg
from minusgrad import Node, Potential, bind, local_energy, ti
from minusgrad.adjoint.equilibria.equilibrium import Equilibrium
from minusgrad.adjoint.losses import Loss, ObservedStates
from minusgrad.adjoint.rollout import Rollout
from minusgrad.errors import UserError
from minusgrad.plugin import Fields
from minusgrad_elastic.contact.collision_surface import (
    CollisionSurface,
    edges_and_edges,
    points_and_edges,
    points_and_triangles,
)
from minusgrad_elastic.contact.contact_law import ContactLaw
from minusgrad_elastic.contact.distances import CLASSES, IN_PLANE, IN_SPACE
from minusgrad_elastic.contact.laws import barrier
from tests.support.command import SCENES
from tests.support.cubes import EULER, contact_scene, turned_box, two_bodies
from tests.support.tiers import sampled

D, K = 0.03, 3e4
NEWMARK = 'kind = "newmark"\ndt = "10 ms"'
BDF2 = 'kind = "bdf2"\ndt = "10 ms"'
RNG = np.random.default_rng


# Distances ------------------------------------------------------------------------------------------------


def test_distances_to_triangles_are_those_of_ipctk() -> None:
    x, nodes = RNG(1).normal(size=(1600, 3)), np.arange(1600).reshape(-1, 4)
    squares, classes = points_and_triangles(x, nodes)
    expected = [ipctk.point_triangle_distance(*x[row]) for row in nodes]
    np.testing.assert_allclose(squares, expected, rtol=1e-12)
    assert all(sum(len(rows) for rows, _ in parts) > 30 for parts in classes.values())


def test_distances_of_edges_are_those_of_ipctk() -> None:
    x, nodes = RNG(2).normal(size=(1600, 3)), np.arange(1600).reshape(-1, 4)
    one, half = x[nodes[::2, :2]].mean(axis=1), 0.3 * (x[nodes[::2, 1]] - x[nodes[::2, 0]])
    apart = np.where(np.arange(len(half))[:, None] % 2, 0.6, 0.1) * RNG(3).normal(size=half.shape)
    off = 1e-2 * np.cross(half, apart)
    x[nodes[::2, 2]], x[nodes[::2, 3]] = one + apart - half - off, one + apart + half + off
    squares, classes = edges_and_edges(x, nodes)
    expected = [ipctk.edge_edge_distance(*x[row]) for row in nodes]
    np.testing.assert_allclose(squares, expected, rtol=1e-9)
    assert all(sum(len(rows) for rows, _ in parts) > 2 for parts in classes.values())


def test_distances_of_exactly_parallel_edges() -> None:
    x = np.array([[0, 0, 0], [1, 0, 0], [0.2, 0.3, 0], [3, 0.3, 0], [1.5, 0.4, 0], [2, 0.4, 0.0]])
    squares, _ = edges_and_edges(x, np.array([[0, 1, 2, 3], [0, 1, 4, 5]]))
    np.testing.assert_allclose(squares, [0.09, 0.41], rtol=1e-14)


def test_distances_in_the_plane() -> None:
    x, nodes = RNG(4).normal(size=(900, 2)), np.arange(900).reshape(-1, 3)
    squares, _ = points_and_edges(x, nodes)
    part = np.linspace(0.0, 1.0, 20001)[:, None]
    for row, square in zip(nodes[:40], squares[:40], strict=True):
        places = x[row[1]] + part * (x[row[2]] - x[row[1]])
        assert square == pytest.approx(((places - x[row[0]]) ** 2).sum(axis=1).min(), abs=1e-8)


# Energies -------------------------------------------------------------------------------------------------


def near_boxes(angles: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Two boxes, the second turned and above the first, as positions and triangles."""
    one = turned_box((0.1, 0.1, 0.1), (2, 2, 2), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    other = turned_box((0.1, 0.1, 0.1), (2, 2, 2), angles, (0.0, 0.0, 0.0))
    moved = other.points + np.array([0.013, 0.024, 0.06 - float(other.points[:, 2].min())])
    facets = [one.boundary(), other.boundary() + len(one.points)]
    return np.concatenate([one.points, moved]), np.concatenate(facets)


def barrier_potential(x: np.ndarray, surface: CollisionSurface, stiffness: float = K) -> Potential:
    return law_potential(barrier.law, x, surface, {"stiffness": stiffness})


def law_potential(
    law: ContactLaw, x: np.ndarray, surface: CollisionSurface, parameters: dict[str, float]
) -> Potential:
    from minusgrad.plugin import FoundTuples

    fields, terms = Fields({"x": x}), []
    for kind in IN_PLANE if x.shape[1] == 2 else IN_SPACE:
        constants = {f"to_{name}": np.array(row) for name, row in CLASSES[kind].differences.items()}
        terms.append(
            bind(
                law.energies[kind],
                fields,
                elements=FoundTuples(surface, kind, x, constants),
                parameters=parameters,
                tables={"distance": np.array([surface.distance]), "thickness": np.array([surface.thickness])},
            )
        )
    return Potential(fields, terms)


def peer(x: np.ndarray, surface: CollisionSurface) -> tuple:
    """ipctk's mesh, collisions and potential, with its stiffness for b in squared distances."""
    mesh = surface.mesh(x[surface.nodes])
    vertices = np.asfortranarray(x[surface.nodes])
    found = ipctk.NormalCollisions()
    found.build(mesh, vertices, surface.distance)
    return mesh, vertices, found, ipctk.BarrierPotential(surface.distance, K / surface.distance)


def test_value_gradient_and_hessian_are_those_of_ipctk() -> None:
    x, facets = near_boxes((0.1, -0.2, 0.7))
    surface = CollisionSurface(facets, D, 3)
    potential = barrier_potential(x, surface)
    kinds = {name: len(term.elements.nodes) for name, term in potential.terms.items()}
    assert min(kinds[n] for n in [*kinds][:4]) > 5
    assert not any(kinds[n] for n in [*kinds][4:])  # whose mollifier is another one
    mesh, vertices, collisions, theirs = peer(x, surface)
    assert potential.value() == pytest.approx(theirs(collisions, mesh, vertices), rel=1e-10)
    rows = (3 * surface.nodes[:, None] + np.arange(3)).ravel()
    gradient = np.asarray(theirs.gradient(collisions, mesh, vertices))
    found = potential.gradient("x").ravel()
    np.testing.assert_allclose(found[rows], gradient, rtol=0.0, atol=1e-9 * np.abs(gradient).max())
    hessian = theirs.hessian(collisions, mesh, vertices).toarray()
    own = potential.hessian("x").toarray()[np.ix_(rows, rows)]
    np.testing.assert_allclose(own, hessian, rtol=0.0, atol=1e-8 * np.abs(hessian).max())


def test_the_value_of_nearly_parallel_edges_is_that_of_ipctk_at_rest() -> None:
    """Its mollifier has lengths at rest, ours the present ones: the same where nothing is stretched."""
    x, facets = near_boxes((0.004, 0.003, 0.01))
    surface = CollisionSurface(facets, D, 3)
    potential = barrier_potential(x, surface)
    kinds = {name: len(term.elements.nodes) for name, term in potential.terms.items()}
    assert sum(kinds[n] for n in [*kinds][4:]) > 10
    mesh, vertices, collisions, theirs = peer(x, surface)
    assert potential.value() == pytest.approx(theirs(collisions, mesh, vertices), rel=1e-9)


@pytest.mark.parametrize("apart", [0.0, 1e-9, 0.02, 0.1])
def test_gradients_near_parallel_edges_are_those_of_differences(apart: float) -> None:
    """At parallel edges (apart = 0) the nearest feature changes: m is zero there, with its first slope."""
    ends = np.array([[0.0, 0, 0], [1.0, 0, 0], [-0.4, 0, 0.3], [0.55, apart, 0.3]])
    surface = CollisionSurface(np.array([[0, 1, 4], [2, 3, 5]]), 0.5, 3)
    x = np.concatenate([ends, [[0.5, -3.0, -1.0], [0.0, 3.0, 2.0]]])
    potential = barrier_potential(x, surface, 1.0)
    way, h, values = RNG(8).normal(size=x.shape), 1e-5, {}
    slope = float((potential.gradient("x") * way).sum())
    for k in (-1, 1):
        potential.fields["x"].set(x + k * h * way)
        values[k] = potential.value()
    assert slope == pytest.approx((values[1] - values[-1]) / (2.0 * h), rel=1e-6, abs=1e-8)


def test_energy_is_continuous_where_the_nearest_feature_changes() -> None:
    """A point that passes above a triangle from beyond a corner across two edges; slopes, too."""
    facets = np.array([[0, 1, 2], [3, 4, 5]])
    rest = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    surface = CollisionSurface(facets, 0.4, 3)
    top, way = np.array([[0.0, 0, 0.2], [3, 4, 3], [-3, 4, 3]]), np.array([1.0, 0.3, 0.0])
    potential, found = None, []
    for place in np.linspace(-0.5, 1.2, 301):
        x = np.concatenate([rest, top + place * way])
        potential = potential or barrier_potential(x, surface, 1.0)
        potential.fields["x"].set(x)
        found.append((place, potential.value(), potential.gradient("x")[3:].sum(axis=0) @ way))
    place, value, slope = np.array(found).T
    parts = np.diff(place[::2]) / 6.0 * (slope[:-2:2] + 4.0 * slope[1:-1:2] + slope[2::2])  # Simpson's rule
    np.testing.assert_allclose(value[2::2], value[0] + np.cumsum(parts), rtol=0.0, atol=1.5e-4 * value.max())
    assert value.max() > 0.1


# Runs -----------------------------------------------------------------------------------------------------


def surface_of(simulation: mg.Simulation) -> CollisionSurface:
    return simulation.potential.terms["contact_edge"].elements.search


def contact_energy(potential: Potential) -> float:
    return sum(u for name, u in potential.by_term().items() if name.startswith("contact"))


def intersects(simulation: mg.Simulation) -> bool:
    surface, x = surface_of(simulation), simulation.fields["x"].values
    return bool(ipctk.has_intersections(surface.mesh(x[surface.nodes]), np.asfortranarray(x[surface.nodes])))


@pytest.mark.parametrize(
    "row", sampled({"2": (2, EULER), "3": (3, EULER), "bdf2": (2, BDF2), "newmark": (2, NEWMARK)}, ["2", "3"])
)
def test_a_falling_box_does_not_pass_the_base(row: str, tmp_path: Path) -> None:
    d, stepper = {"2": (2, EULER), "3": (3, EULER), "bdf2": (2, BDF2), "newmark": (2, NEWMARK)}[row]
    simulation = mg.load(contact_scene(tmp_path, two_bodies(d, 4e-3), stepper))
    touched = False
    for _ in range(12):
        simulation.step(1)
        touched |= contact_energy(simulation.potential) > 0.0
        assert not intersects(simulation)
    assert touched
    assert simulation.fields["x"].values[:, -1].min() > -0.021


@pytest.mark.parametrize("steps", sampled((24, 80), [24]))
def test_stacked_cubes(steps: int, tmp_path: Path) -> None:
    """The claim of the scene: nothing intersects, and surfaces stay between 1 and 2 mm apart."""
    run = mg.run(SCENES / "stacked_cubes.toml", {"run.steps": steps}, out=tmp_path / "run")
    simulation = mg.load(SCENES / "stacked_cubes.toml")
    surface, gaps = surface_of(simulation), []
    for x in run.series("particles/all/position").value:
        places = np.asfortranarray(x[surface.nodes])
        mesh, near = surface.mesh(places), ipctk.NormalCollisions()
        near.build(mesh, places, 2e-3)
        assert not ipctk.has_intersections(mesh, places)
        gaps += [np.sqrt(near.compute_minimum_distance(mesh, places))] if len(near) else []
    assert len(gaps) > steps // 4
    assert 1e-3 < min(gaps) < 2e-3


def test_a_run_that_is_cut_has_the_same_bits(tmp_path: Path) -> None:
    """At a contact; the lists are functions of positions, so nothing of them is saved."""
    scene = contact_scene(tmp_path, two_bodies(2))
    whole, cut = mg.load(scene), mg.load(scene)
    whole.step(8)
    cut.step(5)
    again = mg.load(scene)
    for name in ("x", "v"):
        again.fields[name].set(cut.fields[name].values)
    again.stepper.restore(cut.stepper.state())
    again.step(3)
    for name in ("x", "v"):
        assert again.fields[name].values.tobytes() == whole.fields[name].values.tobytes()


@local_energy("look_at_all", over="nodes", x=Node("m", ("d",)), v=Node("m/s", ("d",)))
def look_at_all(x, v):
    """A loss of all states."""
    return 10.0 * ti.sin(20.0 * x[0][0]) * x[0][1] + 3.0 * x[0].dot(x[0]) + 0.1 * v[0].dot(v[0])


RUNS = {
    "euler plane": (2, EULER),
    "euler space": (3, EULER),
    "bdf2 plane": (2, BDF2),
    "newmark plane": (2, NEWMARK),
    "bdf2 space": (3, BDF2),
    "newmark space": (3, NEWMARK),
}
SIZES = {"x": 1e-5, "v": 1e-3, "m": 1e-3, "neo_hookean.youngs_modulus": 2e-3, "contact.stiffness": 2e-3}


@pytest.mark.parametrize("row", sampled(RUNS, ["euler plane"]))
def test_gradients_of_runs_through_contact_are_those_of_differences(row: str, tmp_path: Path) -> None:
    """By positions, velocities, masses, material and barrier together, along one direction."""
    d, stepper = RUNS[row]
    simulation = mg.load(contact_scene(tmp_path, two_bodies(d), stepper))
    simulation.step(4)
    fields, potential = simulation.fields, simulation.potential
    run = Rollout(simulation.stepper, [Loss(Potential(fields, [bind(look_at_all, fields)]), (2, 4))], 4)
    rng, free = RNG(9), simulation.stepper.holds.free("x")
    start, ways = {}, {}
    for name, size in SIZES.items():
        start[name] = np.array(fields[name].values if name in fields else potential.parameter(name))
        ways[name] = size * rng.normal(size=start[name].shape) * (free if name in ("x", "v") else 1.0)
    for name in ("m", "neo_hookean.youngs_modulus", "contact.stiffness"):
        ways[name] *= start[name]  # relative sizes
    _, gradients = run.evaluate([*SIZES])
    assert contact_energy(potential) > 0.0
    for names in (["x", "v", "m"], ["neo_hookean.youngs_modulus"], ["contact.stiffness"]):
        values = {}
        for k in (-2, -1, 1, 2):
            place(simulation, {n: start[n] + k * ways[n] for n in names})
            values[k] = run.value()
        place(simulation, start)
        expected = (8.0 * (values[1] - values[-1]) - (values[2] - values[-2])) / 12.0
        assert sum(np.sum(gradients[n] * ways[n]) for n in names) == pytest.approx(expected, rel=1e-7)


def place(simulation: mg.Simulation, values: dict[str, np.ndarray]) -> None:
    for name, array in values.items():
        if name in simulation.fields:
            simulation.fields[name].set(array)
        else:
            simulation.potential.set_parameter(name, array)


PRESS = 'kind = "newton"\ntolerance = { force = 1e-12 }'
LOAD = (
    'kind = "body_force"\nacceleration = ["0.0 m/s^2", "-9.81 m/s^2"]',
    'kind = "load"\nbody = "box"\nforce = ["0 N", "-10 N"]',
)
"""Weight would follow the mass of the start, and not the shape at rest."""
SIDE = '[[hold]]\nbody = "base"', '[[hold]]\nbody = "base"\n[[hold]]\nbody = "box"\naxes = "x"'


def pressed(folder: Path, stepper: str = PRESS, rest: bool = False) -> mg.Simulation:
    """A box that rests on a base; in the plane no node of it moves along x."""
    edits = [SIDE, LOAD] if rest else [SIDE]
    return mg.load(contact_scene(folder, two_bodies(2), stepper, edits=edits, rest=rest))


def test_an_equilibrium_by_shape_material_and_barrier(tmp_path: Path) -> None:
    simulation = pressed(tmp_path, rest=True)
    one = Equilibrium(simulation.stepper, [ObservedStates(simulation.fields, ["x"], [0])], 80)
    shape = simulation.fields["x"].shape
    weights = RNG(10).normal(size=shape)
    assert one.find()
    assert not intersects(simulation)
    names = {
        "rest": 2e-6 * RNG(11).normal(size=shape),
        "neo_hookean.youngs_modulus": 5e2,
        "contact.stiffness": 5e5,
    }
    found = one.pulled_back({"x": weights}, [*names])
    assert contact_energy(simulation.potential) > 0.0
    for name, way in names.items():
        own = name in simulation.fields
        here = np.array(simulation.fields[name].values if own else simulation.potential.parameter(name))
        values = {}
        for k in (-2, -1, 1, 2):
            place(simulation, {name: here + k * np.asarray(way)})
            assert one.find()
            values[k] = float(np.sum(weights * simulation.fields["x"].values))
        place(simulation, {name: here})
        expected = (8.0 * (values[1] - values[-1]) - (values[2] - values[-2])) / 12.0
        assert float(np.sum(found[name] * way)) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("kind", ["lbfgs", "newton"])
def test_the_weight_of_a_resting_box_is_the_force_of_contact(kind: str, tmp_path: Path) -> None:
    simulation = pressed(tmp_path, f'kind = "{kind}"\ntolerance = {{ force = 1e-9 }}')
    simulation.step(3000 if kind == "lbfgs" else 100)
    assert simulation.stepper.outcome in ("converged", "settled")
    contacts = [t for n, t in simulation.potential.terms.items() if n.startswith("contact")]
    push = Potential(simulation.fields, contacts).gradient("x")
    box = next(body.nodes for body in simulation.state.bodies if body.name == "box")
    weight = 9.81 * simulation.fields["m"].values[box].sum()
    assert -push[box, 1].sum() == pytest.approx(weight, rel=1e-6)


def test_a_base_that_rises_lifts_the_box_and_never_passes_it(tmp_path: Path) -> None:
    """By a support that moves: in an implicit run, whose steps are divided where it would pass."""
    rising = SIDE[0], '[[hold]]\nbody = "base"\nvelocity = ["0 m/s", "0.5 m/s"]'
    simulation = mg.load(contact_scene(tmp_path, two_bodies(2), EULER, edits=[rising]))
    for _ in range(6):
        simulation.step(1)
        assert not intersects(simulation)
    assert simulation.fields["x"].values[:, 1].max() > 0.12


def test_load_steps_press_a_box_with_the_base(tmp_path: Path) -> None:
    rising = (SIDE[0], SIDE[1].replace('"base"', '"base"\ndisplacement = ["0 mm", "8 mm"]'))
    stepper = 'kind = "newton"\ntolerance = { force = 1e-9 }\nload_steps = 2'
    simulation = mg.load(contact_scene(tmp_path, two_bodies(2), stepper, edits=[rising]))
    for _ in range(2):
        simulation.step(1)
        assert not intersects(simulation)
    assert simulation.stepper.outcome == "converged"
    box = next(body.nodes for body in simulation.state.bodies if body.name == "box")
    assert simulation.fields["x"].values[box, 1].min() > 8e-3


# Refusals -------------------------------------------------------------------------------------------------


def refused(folder: Path, *edits: tuple[str, str], meshes=None, stepper: str = EULER, **more: str) -> str:
    with pytest.raises(UserError) as error:
        mg.load(contact_scene(folder, meshes or two_bodies(2), stepper, edits=edits, **more))
    return str(error.value)


NAME = 'kind = "contact"\n'
WRONG: dict[str, tuple[Sequence[tuple[str, str]], str]] = {
    "no such body": ([(NAME, NAME + 'bodies = ["bxo"]\n')], "bodies: no body named 'bxo'"),
    "no bodies": ([(NAME, NAME + "bodies = []\n")], "bodies: names no body"),
    "far": ([('"2 mm"', '"60 mm"')], "distance: must be below the shortest edge of the surface"),
    "negative": ([('"2 mm"', '"-2 mm"')], "needs a quantity above 0"),
    "no stiffness": ([(NAME, NAME + 'stiffness = "0 Pa"\n')], "needs a quantity above 0"),
    "single": ([("[run]", '[runtime]\nprecision = "f32"\n[run]')], "contact needs double precision, got f32"),
    "leapfrog": ([("implicit_euler", "leapfrog")], "has no rule for barriers that no step may pass"),
    "midpoint": ([("implicit_euler", "implicit_midpoint")], "has forces in the middle of a step"),
    "adam": ([(EULER, 'kind = "adam"\nrate = 0.1')], "has no rule for barriers"),
    "nothing stiff": (
        [
            ('[[energy]]\nkind = "neo_hookean"\ntuples = "cells"\nrest_shape = false\n', ""),
            ('youngs_modulus = "100 kPa"\npoissons_ratio = 0.3\n', ""),
        ],
        'stiffness: "auto" follows from the stiffness of the surface',
    ),
}


@pytest.mark.parametrize("row", WRONG)
def test_bad_input_has_one_message(row: str, tmp_path: Path) -> None:
    edits, text = WRONG[row]
    assert text in refused(tmp_path, *edits)


def test_bodies_that_intersect_are_refused_with_the_pairs(tmp_path: Path) -> None:
    for d in (2, 3):
        text = refused(tmp_path, meshes=two_bodies(d, -5e-3))
        assert "surfaces intersect, got edge " in text
        assert "move them apart" in text


def test_fields_that_were_set_to_cross_are_refused(tmp_path: Path) -> None:
    simulation = mg.load(contact_scene(tmp_path, two_bodies(2)))
    x = simulation.fields["x"].values.copy()
    box = next(body.nodes for body in simulation.state.bodies if body.name == "box")
    x[box, 1] -= 8e-3
    simulation.fields["x"].set(x)
    with pytest.raises(UserError, match="contact_edge: surfaces intersect"):
        simulation.step(1)


def test_cells_without_triangles_are_refused(tmp_path: Path) -> None:
    scene = tmp_path / "scene.toml"
    scene.write_text(
        'plugins = ["elastic"]\n[units]\nsystem = "dimensionless"\n[state]\nkind = "box"\n'
        'size = [1.0, 1.0, 1.0]\ncells = [1, 1, 1]\ncell = "hexahedra"\ndensity = 1.0\n'
        '[[energy]]\nkind = "neo_hookean"\nyoungs_modulus = 1.0\npoissons_ratio = 0.3\n'
        '[[compound]]\nkind = "contact"\ndistance = 0.1\n[stepper]\nkind = "newton"\n[run]\nsteps = 1\n'
    )
    with pytest.raises(UserError, match="got facets of 4 nodes; use linear tetrahedra"):
        mg.load(scene)
