"""Friction of contact: sticking and slipping on a slope, forces beside ipctk, derivatives, belts, ledger."""

from collections.abc import Sequence
from pathlib import Path

import ipctk
import numpy as np
import pytest

import minusgrad as mg
from minusgrad import Potential, bind
from minusgrad.adjoint.losses import Loss
from minusgrad.adjoint.rollout import Rollout
from minusgrad.app.runs import fit
from minusgrad.check.term_check import of_potential
from minusgrad.errors import EnergyError, UserError
from minusgrad.plugin import Fields, FoundTuples
from minusgrad_elastic import generators
from minusgrad_elastic.contact.collision_surface import CollisionSurface
from minusgrad_elastic.contact.distances import CLASSES, IN_SPACE
from minusgrad_elastic.contact.friction import frictions
from minusgrad_elastic.contact.laws import barrier
from minusgrad_elastic.mesh import Mesh
from tests.plugins.elastic.test_contact import BDF2, NEWMARK, D, K, look_at_all, near_boxes, peer
from tests.support.cubes import EULER, contact_scene
from tests.support.tiers import sampled

MU, SPEED, G = 0.3, 1e-3, 9.81
STEP = 'kind = "implicit_euler"\ndt = "5 ms"'


def flat_bodies(gap: float) -> dict[str, Mesh]:
    """A base, and a flat box that lies above it."""
    base, box = generators.rectangle((0.4, 0.02), (1, 1)), generators.rectangle((0.1, 0.05), (2, 1))
    return {
        "base": Mesh(base.points - np.array([0.05, 0.02]), base.cells),
        "box": Mesh(box.points + np.array([0.05, gap]), box.cells),
    }


def on_a_slope(
    folder: Path,
    tangent: float,
    stepper: str = STEP,
    edits: Sequence[tuple[str, str]] = (),
    gap: float = 1.97599e-3,
) -> mg.Simulation:
    """A box on a base that is turned by atan(tangent): so is gravity, here."""
    cosine = 1.0 / np.sqrt(1.0 + tangent**2)
    pull = f'["{G * tangent * cosine:.15g} m/s^2", "{-G * cosine:.15g} m/s^2"]'
    friction = f'friction = {{ coefficient = {MU}, speed = "{SPEED} m/s" }}'
    own = [
        ('["0.0 m/s^2", "-9.81 m/s^2"]', pull),
        ('distance = "2 mm"', f'distance = "2 mm"\n{friction}'),
        ('"100 kPa"', '"1 MPa"'),
    ]
    return mg.load(contact_scene(folder, flat_bodies(gap), stepper, edits=[*own, *edits]))


def box_of(simulation: mg.Simulation) -> np.ndarray:
    return next(np.asarray(body.nodes) for body in simulation.state.bodies if body.name == "box")


def speed_of(simulation: mg.Simulation) -> float:
    """The mean velocity along the slope."""
    return float(simulation.fields["v"].values[box_of(simulation), 0].mean())


def test_a_box_sticks_below_the_coefficient_and_slips_above_it(tmp_path: Path) -> None:
    """Within 1 %: below it creeps more slowly than `speed`, above it has the acceleration of Coulomb."""
    stuck = on_a_slope(tmp_path, 0.99 * MU)
    stuck.step(60)
    first = speed_of(stuck)
    stuck.step(20)
    assert 0.0 < speed_of(stuck) < SPEED
    assert speed_of(stuck) == pytest.approx(first, rel=1e-3)
    slips = on_a_slope(tmp_path, 1.01 * MU)
    slips.step(60)
    first = speed_of(slips)
    slips.step(20)
    expected = G * 0.01 * MU / np.sqrt(1.0 + (1.01 * MU) ** 2)
    assert first > SPEED
    assert (speed_of(slips) - first) / 0.1 == pytest.approx(expected, rel=1e-2)


def test_friction_is_that_of_ipctk_in_space() -> None:
    """Faster than `speed` all smoothings agree: mu N against the relative velocity, of each pair."""
    x, facets = near_boxes((0.1, -0.2, 0.7))
    surface, law = CollisionSurface(facets, D, 3), barrier.law
    fields, terms = Fields({"x": x, "v": np.random.default_rng(3).normal(size=x.shape)}), []
    tables = {"distance": np.array([D]), "thickness": np.zeros(1), "stiffness": np.array([K])}
    for kind in IN_SPACE:
        energy, rows = frictions(law)[kind], CLASSES[kind].differences
        weights = {f"to_{n}": np.array(row) for n, row in rows.items() if f"to_{n}" in energy.roles}
        elements = FoundTuples(surface, kind, x, weights)
        given = {"coefficient": MU, "speed": SPEED}
        terms.append(bind(energy, fields, elements=elements, parameters=given, tables=tables))
    lost = Potential(fields, terms)
    mesh, vertices, collisions, potential = peer(x, surface)
    tangential = ipctk.TangentialCollisions()
    tangential.build(mesh, vertices, collisions, potential, MU)
    velocities = np.asfortranarray(fields["v"].values[surface.nodes])
    expected = ipctk.FrictionPotential(SPEED).gradient(tangential, mesh, velocities)
    found = lost.gradient("v")[surface.nodes].ravel()
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-8 * np.abs(expected).max())


RUNS = {"euler": EULER, "bdf2": BDF2, "newmark": NEWMARK}
NAMES = {
    "x": 5e-9,
    "v": 2e-6,
    "neo_hookean.youngs_modulus": 2e3,
    "contact.coefficient": 1e-3,
    "contact.speed": 1e-5,
}


@pytest.mark.parametrize("row", sampled(RUNS, ["euler"]))
@pytest.mark.parametrize("tangent", [0.5 * MU, 1.5 * MU])
def test_gradients_of_slides_are_those_of_differences(row: str, tangent: float, tmp_path: Path) -> None:
    """Of a box that sticks and of one that slips, by positions, velocities, material and friction."""
    simulation = on_a_slope(tmp_path, tangent, RUNS[row])
    simulation.step(4)
    fields, potentials = simulation.fields, simulation.system.potentials
    loss = Loss(Potential(fields, [bind(look_at_all, fields)]), (2, 4))
    run = Rollout(simulation.stepper, [loss], 4)
    rng, free = np.random.default_rng(9), simulation.stepper.holds.free("x")
    owner = {n: next(p for p in potentials if n in p.arguments) for n in NAMES if n not in fields}
    start = {n: np.array(fields[n].values if n in fields else owner[n].parameter(n)) for n in NAMES}
    ways = {
        n: size * rng.normal(size=start[n].shape) * (free if n in fields else 1.0)
        for n, size in NAMES.items()
    }
    _, gradients = run.evaluate([*NAMES])

    def value_at(k: int, names: Sequence[str]) -> float:
        for name in names:
            given = start[name] + k * ways[name]
            fields[name].set(given) if name in fields else owner[name].set_parameter(name, given)
        return run.value()

    for names in (["x", "v"], *([n] for n in [*NAMES][2:])):
        values = {k: value_at(k, names) for k in (-2, -1, 1, 2)}
        value_at(0, names)
        expected = (8.0 * (values[1] - values[-1]) - (values[2] - values[-2])) / 12.0
        assert sum(np.sum(gradients[n] * ways[n]) for n in names) == pytest.approx(expected, rel=1e-7)


def test_a_belt_takes_a_box_along_and_the_ledger_has_its_work(tmp_path: Path) -> None:
    """A base that moves: mu g until the box is as fast; the work of its support is heat and motion."""
    belt = ('[[hold]]\nbody = "base"', '[[hold]]\nbody = "base"\nvelocity = ["0.4 m/s", "0 m/s"]')
    simulation = on_a_slope(tmp_path, 0.0, STEP, [belt])
    simulation.step(10)
    first = speed_of(simulation)
    simulation.step(6)
    assert (speed_of(simulation) - first) / 0.03 == pytest.approx(MU * G, rel=1e-2)
    simulation.step(20)
    assert speed_of(simulation) == pytest.approx(0.4, abs=SPEED)
    mass = float(simulation.fields["m"].values[box_of(simulation)].sum())
    balance = simulation.stepper.balance
    # of a box that is taken from rest to the speed of a belt, half of the work is heat; flows are those at
    # the ends of steps, of which it takes 27
    assert balance["work"] == pytest.approx(mass * 0.4**2, rel=0.05)
    assert balance["dissipated"] == pytest.approx(0.5 * mass * 0.4**2, rel=0.1)


def test_a_base_that_rises_faster_than_the_distance_lifts_a_box_with_friction(tmp_path: Path) -> None:
    """Friction reads the base, too, where it was at the start of a step."""
    rising = ('[[hold]]\nbody = "base"', '[[hold]]\nbody = "base"\nvelocity = ["0 m/s", "0.5 m/s"]')
    simulation = on_a_slope(tmp_path, 0.1, EULER, [rising])
    simulation.step(5)
    x = simulation.fields["x"].values
    base = np.setdiff1d(np.arange(len(x)), box_of(simulation))
    assert x[base, 1].max() == pytest.approx(0.025, abs=1e-12)
    assert x[box_of(simulation), 1].min() > 0.025
    one = simulation.stepper.incremental
    one.slide(one.displacement)
    assert np.array_equal(simulation.fields["x"].values.ravel(), one.x)


def test_a_slide_that_is_cut_has_the_same_bits(tmp_path: Path) -> None:
    """Friction keeps nothing from step to step: it reads the saved positions."""
    whole, cut, again = (on_a_slope(tmp_path, 1.5 * MU) for _ in range(3))
    whole.step(6)
    cut.step(3)
    for name in ("x", "v"):
        again.fields[name].set(cut.fields[name].values)
    again.stepper.restore(cut.stepper.state())
    again.step(3)
    for name in ("x", "v"):
        assert again.fields[name].values.tobytes() == whole.fields[name].values.tobytes()


def test_check_takes_no_step_through_a_barrier(tmp_path: Path) -> None:
    """Of surfaces that are near: beyond them U is finite again, and no gradient accounts for it."""
    simulation = on_a_slope(tmp_path, 0.1)
    found = list(of_potential(simulation.potential, seed=1))
    asked = [f for f in found if f.term == "contact_edge" and (f.argument, f.question) == ("x", "path")]
    assert len(asked) > 1
    assert not [f.text for f in found if not f.passed]


def test_friction_has_no_force_at_rest(tmp_path: Path) -> None:
    """In a search for an equilibrium, of a box that nothing holds along the base."""
    stepper = 'kind = "newton"\ntolerance = { force = 1e-9 }'
    held = ('[[hold]]\nbody = "base"', '[[hold]]\nbody = "base"\n[[hold]]\nbody = "box"\naxes = "x"')
    simulation = on_a_slope(tmp_path, 0.1, stepper, [held])
    simulation.step(40)
    assert simulation.stepper.outcome == "converged"
    contacts = [t for n, t in simulation.potential.terms.items() if n.startswith("contact")]
    push = -Potential(simulation.fields, contacts).gradient("x")[box_of(simulation)]
    mass = float(simulation.fields["m"].values[box_of(simulation)].sum())
    assert push[:, 1].sum() == pytest.approx(mass * G / np.sqrt(1.01), rel=1e-6)


FIT = """
[fit]
method = "gauss_newton"
iterations = 20
[fit.parameters."contact.coefficient"]
start = 0.2
lower = 0.01
[[fit.loss]]
kind = "misfit"
field = "x"
body = "box"
sigma = "10 um"
data = "slide.csv"
"""


@pytest.mark.long
def test_a_recorded_slide_gives_the_coefficient_with_its_error(tmp_path: Path) -> None:
    """Of positions that are off by 10 um each: within three standard errors, which are those of the noise."""
    simulation = on_a_slope(tmp_path, 1.5 * MU, EULER)
    box, rng, rows = box_of(simulation), np.random.default_rng(3), ["time,node,x,y"]
    for _ in range(5):
        simulation.step(2)
        seen = simulation.fields["x"].values[box] + rng.normal(0.0, 1e-5, (len(box), 2))
        rows += [f"{simulation.stepper.time},{n},{x},{y}" for n, (x, y) in zip(box, seen, strict=True)]
    (tmp_path / "slide.csv").write_text("\n".join(rows))
    scene = tmp_path / "scene.toml"
    scene.write_text(scene.read_text() + FIT)
    [found] = fit(scene, out=tmp_path / "fit").estimates.parameters
    assert found.errors[0] == pytest.approx(8e-5, rel=0.2)
    assert abs(found.values[0] - MU) < 3.0 * found.errors[0]


# Refusals -------------------------------------------------------------------------------------------------

WRONG = {
    "negative": ("coefficient = 0.3", "coefficient = -0.3", "needs a number of at least 0"),
    "no speed": ('"0.001 m/s"', '"0 m/s"', "needs a quantity above 0"),
    "incomplete": (', speed = "0.001 m/s"', "", "speed"),
}


@pytest.mark.parametrize("row", WRONG)
def test_bad_friction_has_one_message(row: str, tmp_path: Path) -> None:
    old, new, text = WRONG[row]
    with pytest.raises(UserError) as error:
        on_a_slope(tmp_path, 0.1, STEP, [(old, new)])
    assert text in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_derivatives_that_friction_has_not_are_refused(tmp_path: Path) -> None:
    """By the stiffness, which friction knows as a number; by the motion of a belt, which it reads late."""
    belt = (
        '[[hold]]\nbody = "base"',
        '[[hold]]\nname = "belt"\nbody = "base"\nvelocity = ["0.2 m/s", "0 m/s"]',
    )
    simulation = on_a_slope(tmp_path, 0.0, STEP, [belt])
    fields = simulation.fields
    run = Rollout(simulation.stepper, [Loss(Potential(fields, [bind(look_at_all, fields)]), (1,))], 1)
    with pytest.raises(EnergyError, match="no derivative with respect to 'contact"):
        run.evaluate(["contact.stiffness"])
    with pytest.raises(EnergyError, match="has no derivative where friction reads supports at the start"):
        run.evaluate(["belt.velocity"])
