"""Runs of rigid four-site water: conservation, bits after a cut, derivatives, precision, members, bodies."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minusgrad
from minusgrad.errors import SceneError
from tests.support.site_waters import RIGID, STEPS, scene_of, water_in_openmm

mm = pytest.importorskip("openmm", reason="OpenMM is not installed: pip install 'minusgrad[openmm]'")
MORE = RIGID + STEPS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """TIP4P-Ew in a box, with a switch in place of a sharp cutoff."""
    made = tmp_path_factory.mktemp("water")
    water_in_openmm(made, "tip4pew", "reaction field")
    path = scene_of(made, "reaction field")
    path.write_text(path.read_text().replace('switch = "none"\n', ""))
    return made


def made(folder: Path, **overrides: Any) -> Any:
    return minusgrad.build(folder / "water.toml", overrides)


def total(stepper: Any) -> float:
    """Potential and kinetic energy [kJ/mol]; a unit of m v^2 is 0.01 of it."""
    fields = stepper.potential.fields
    v, m = (fields[name].values.astype(float) for name in ("v", "m"))
    return float(stepper.potential.value() + 0.5 * (m[:, None] * v * v).sum())


@pytest.mark.long
def test_the_total_energy_has_the_order_of_the_step(folder: Path) -> None:
    changes = []
    for dt in (0.5, 0.25):
        stepper = made(folder, **{"stepper.dt": f"{dt} fs"}).stepper
        found = [total(stepper)]
        for _ in range(10):
            stepper.advance(round(1.0 / dt))
            found.append(total(stepper))
        changes.append(np.ptp(found))
    assert abs(np.log2(changes[0] / changes[1]) - 2.0) < 0.4, changes


@pytest.mark.long
def test_a_run_that_was_cut_goes_on_with_its_bits(folder: Path) -> None:
    """The list of the places is that of the reference that was saved, and not of the positions."""
    whole, first, second = (made(folder, **{"stepper.dt": "0.2 fs"}).stepper for _ in range(3))
    whole.advance(60)
    first.advance(37)
    old, new = ({**one.potential.fields, **one.potential.fields.of_lists} for one in (first, second))
    assert not np.array_equal(old["listed_places"].values, old["places"].values)
    for name, field in old.items():
        new[name].set(field.values)
    second.restore(first.state())
    second.advance(23)
    for name, field in whole.potential.fields.items():
        assert field.values.tobytes() == second.potential.fields[name].values.tobytes(), name


@pytest.mark.long
def test_products_and_the_virial_are_differences(folder: Path) -> None:
    potential = made(folder).stepper.potential
    fields, rng, h = potential.fields, np.random.default_rng(1), 1e-5
    x, box = (fields[name].values.astype(float) for name in ("x", "box"))
    along, strain = rng.normal(size=x.shape), 0.1 * rng.normal(size=(3, 3))
    product = potential.product({"x": along}, "x")
    virial = (potential.gradient("x") * (x @ strain)).sum() + (
        potential.gradient("box")[0] * (box[0] @ strain)
    ).sum()
    gradients, energies = [], []
    for sign in (1.0, -1.0):
        fields["x"].set(x + sign * h * along)
        gradients.append(potential.gradient("x"))
    for sign in (1.0, -1.0):
        deformed = np.eye(3) + sign * h * strain
        fields["x"].set(x @ deformed)
        fields["box"].set(box @ deformed)
        energies.append(potential.value())
    found = (gradients[0] - gradients[1]) / (2.0 * h)
    np.testing.assert_allclose(found, product, atol=1e-6 * np.abs(product).max())
    assert (energies[0] - energies[1]) / (2.0 * h) == pytest.approx(virial, rel=1e-6)


@pytest.mark.long
def test_single_precision_and_members(folder: Path) -> None:
    exact, coarse = (made(folder, **{"runtime.precision": p}).stepper.potential for p in ("f64", "f32"))
    forces = exact.gradient("x")
    assert coarse.value() == pytest.approx(exact.value(), rel=1e-5)
    np.testing.assert_allclose(coarse.gradient("x"), forces, atol=1e-5 * np.abs(forces).max())
    vary = {"ensemble.members": 2, "ensemble.vary": {"state.v": {"jitter": 1e-3}}, "run.steps": 3}
    vary["observe"] = [{"kind": "energies", "every": 1}]
    assert np.max(minusgrad.run(folder / "water.toml", vary, out=folder / "members").steps) == 3


def test_bodies_have_sites_and_holds_their_atoms(folder: Path) -> None:
    """A hold of a body with sites holds its atoms; an energy of x does not take such a body."""
    scene = made(folder, **{"hold": [{"body": "HOH", "name": "held"}], "constraint": []})
    atoms, nodes = len(scene.fields["x"]), {one.name: one.nodes for one in scene.state.bodies}
    assert len(nodes["HOH"]) == len(scene.fields["places"]) > atoms
    held = scene.stepper.holds.held["x"].all[0]
    assert np.unique(held).tolist() == list(range(atoms))
    spring = {"kind": "harmonic_bond", "tuples": [[0, 1]], "rest": "1 angstrom", "stiffness": "1 N/m"}
    with pytest.raises(SceneError, match=f"its bodies must have nodes below {atoms}, got {atoms}"):
        made(folder, energy=[{**spring, "body": "HOH"}])
