"""Who else takes dU/dx for the force: searches, friction, magnetic fields, load steps, ratios, adapters."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad as mg
from minusgrad import Node, Parameter, constraint, local_energy, ti
from minusgrad.errors import UserError
from tests.seams.test_pressure import ROD, L, dumbbells, nothing

PLUGINS = {"plugins": ["crystals", "elastic", "gravity", "molecular"], "units": "dimensionless"}


@local_energy("push", over="pairs", x=Node("m", ("d",)), size=Parameter("m"))
def push(x, size):
    """A soft repulsion."""
    r = x[0] - x[1]
    return ti.exp(-r.dot(r) / (size * size))


@local_energy("weight", over="nodes", x=Node("m", ("d",)), g=Parameter("N"))
def weight(x, g):
    """A force along the last axis."""
    return g * x[0][x[0].n - 1]


@local_energy("rub", over="pairs", x=Node("m", ("d",)), v=Node("m s^-1", ("d",)), c=Parameter("N s m^-1"))
def rub(x, v, c):
    """Friction between nodes, along and across the vector between them."""
    r, u = x[0] - x[1], v[0] - v[1]
    return 0.5 * c * ti.exp(-r.dot(r)) * (u.dot(u) + 0.3 * u.dot(r) * u.dot(r))


@local_energy("lag", over="pairs", x=Node("m", ("d",)), v=Node("m s^-1", ("d",)), c=Parameter("N s m^-1"))
def lag(x, v, c):
    """Friction of a pair that depends on where it flies to: neither drag nor friction between nodes."""
    r = x[0] - x[1]
    return 0.5 * c * ti.exp(-r.dot(r)) * (v[0] + v[1]).dot(v[0] + v[1])


@constraint("in_plane", over="nodes", x=Node("m", ("d",)), height=Parameter("m"))
def in_plane(x, height):
    """A node in a plane at a height along the last axis."""
    return x[0][x[0].n - 1] - height


def gas(n: int = 30, edge: float = 5.0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4)
    x, v = rng.uniform(-edge, 2.0 * edge, (n, 3)), rng.normal(size=(n, 3))
    return {"x": x, "v": v, "m": rng.uniform(1.0, 2.0, n)}


def recorded(folder: Path, steps: int = 1, **keys):
    observe = [mg.observer("pressure", every=1, tensor=True, parts=True)]
    one = mg.Simulation(**{"stepper": mg.Leapfrog(dt=0.001), "observe": observe, **PLUGINS, **keys})
    return one.run(steps=steps, out=folder)


# Searches -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("search", ["lbfgs", pytest.param("newton", marks=pytest.mark.long)])
def test_a_search_under_constraints_has_the_slope_of_its_energy_by_volume(
    search: str, tmp_path: Path
) -> None:
    """P = -dE/dV of the least energy E at fixed lengths, by differences of searches in other boxes."""
    rods, found = np.arange(6).reshape(-1, 2), []
    x = dumbbells(3, seed=3)["x"] / L * 2.6
    for factor in (1.0, 1.0003, 0.9997):
        edge = 2.6 * factor
        one = mg.Simulation(
            fields={"x": x * factor, "m": np.ones(6)}, tuples={"edges": rods}, box=[edge] * 3,
            energies=[push(size=1.2, cutoff=2.2, skin=0.1, images=True)],
            constraints=[ROD | {"project_start": True}],
            stepper=mg.stepper(search, tolerance={"force": 1e-11}),
            observe=[mg.observer("pressure", every=400), mg.observer("energies", every=400)], **PLUGINS,
        )  # fmt: skip
        run = one.run(steps=400, out=tmp_path / f"{factor}")
        x = one.fields["x"].values.copy() if factor == 1.0 else x
        found.append((run["pressure"][-1], run["total"][-1], edge**3))
    slope = -(found[1][1] - found[2][1]) / (found[1][2] - found[2][2])
    assert found[0][0] == pytest.approx(slope, rel=5e-5)


# Friction, magnetic fields ------------------------------------------------------------------------------


def test_friction_between_nodes_is_in_the_stress_across_the_faces(tmp_path: Path) -> None:
    """Minus the virial of its forces, pair by pair with the nearest images, by NumPy."""
    fields, edge, reach = gas(), 5.0, 2.2
    run = recorded(
        tmp_path / "run", fields=fields, energies=[push(size=1.0, cutoff=reach)], box=[edge] * 3,
        dissipations=[rub(c=0.7, cutoff=reach, switch="none"), mg.energy("mass_damping", rate=0.5)],
    )  # fmt: skip
    x, v = fields["x"], fields["v"]
    wanted = np.zeros((3, 3))
    for i, j in zip(*np.triu_indices(len(x), 1), strict=True):
        r, u = x[i] - x[j], v[i] - v[j]
        r -= edge * np.round(r / edge)
        if r @ r < reach * reach:
            wanted += 0.7 * np.exp(-r @ r) * np.outer(r, u + 0.3 * (u @ r) * r) / edge**3
    assert run["pressure_parts/dissipation/rub"][0] == pytest.approx(-np.trace(wanted) / 3.0, rel=1e-10)
    assert "pressure_parts/dissipation/mass_damping" not in run.names, "drag is a force from outside"
    calm = recorded(tmp_path / "calm", fields=fields, energies=[push(size=1.0, cutoff=reach)], box=[edge] * 3)
    np.testing.assert_allclose(run["stress"][0] - calm["stress"][0], wanted, atol=1e-12 * abs(wanted).max())


def test_friction_that_is_neither_drag_nor_between_nodes_is_refused(tmp_path: Path) -> None:
    text = "dissipation 'lag': changes as all velocities of an element change by one vector"
    with pytest.raises(UserError, match=text):
        recorded(
            tmp_path,
            fields=gas(),
            energies=[push(size=1.0, cutoff=2.0)],
            box=[5.0] * 3,
            dissipations=[lag(c=1.0, cutoff=2.0)],
        )


def test_a_box_that_moves_has_no_rule_for_friction_between_nodes(tmp_path: Path) -> None:
    stepper = mg.NPT(dt=0.001, temperature=1.0, friction=1.0, pressure=1.0, relaxation=1.0)
    keys = {"fields": gas(), "energies": [push(size=1.0, cutoff=2.0)], "box": [5.0] * 3, "stepper": stepper}
    with pytest.raises(UserError, match="dissipation 'rub': acts between nodes, whose stress would do work"):
        recorded(tmp_path, dissipations=[rub(c=1.0, cutoff=2.0)], **keys)


def test_charges_in_a_magnetic_field_have_the_pressure_of_their_motion(tmp_path: Path) -> None:
    """P V = sum m v^2 / 3 of an ideal gas: a magnetic force is one from outside (Bohr, van Leeuwen)."""
    fields = gas()
    run = recorded(
        tmp_path, fields=fields, energies=[nothing(k=0.0, cutoff=1.0)], box=[5.0] * 3, steps=5,
        magnetic=[{"kind": "uniform_field", "charge": 1.0, "B": [0.0, 0.0, 2.0]}],
    )  # fmt: skip
    wanted = (fields["m"][:, None] * fields["v"] ** 2).sum() / 3.0
    np.testing.assert_allclose(run["pressure"] * 125.0, wanted, rtol=1e-12)


# Other users --------------------------------------------------------------------------------------------


def stars(**keys) -> mg.Simulation:
    """Two pairs of stars on rods, which attract each other."""
    fields = dumbbells(2)
    one = {
        "fields": fields, "tuples": {"edges": [[0, 1], [2, 3]]}, "stepper": mg.Leapfrog(dt=0.001),
        "energies": [mg.energy("gravity", G=1.0, softening=0.1)], **PLUGINS,
        "observe": [mg.observer("virial_ratio", every=5), mg.observer("frames", every=5, fields=["x", "v"])],
    }  # fmt: skip
    return mg.Simulation(**one | keys)


def test_the_virial_ratio_takes_rods_and_friction(tmp_path: Path) -> None:
    """-sum x F = sum m v^2 - d2/dt2 of sum m x^2 / 2, by differences of the run itself."""
    keys = {"constraints": [ROD], "dissipations": [mg.energy("mass_damping", rate=0.4)]}
    one = stars(**keys, observe=[mg.observer(k, every=1) for k in ("virial_ratio", "frames", "energies")])
    run = one.run(steps=40, out=tmp_path / "run")
    x, m = run["position"], dumbbells(2)["m"]
    about = x - (m[None, :, None] * x).sum(axis=1, keepdims=True) / m.sum()
    inertia = (m[None, :, None] * about**2).sum(axis=(1, 2))
    v = one.fields["v"].values
    kinetic = (m[:, None] * (v - m @ v / m.sum()) ** 2).sum()
    bent = (inertia[-1] - 2.0 * inertia[-2] + inertia[-3]) / 0.001**2
    bent += (inertia[-1] - 3 * inertia[-2] + 3 * inertia[-3] - inertia[-4]) / 0.001**2  # at the last step
    assert run["virial_ratio"][-1] == pytest.approx(kinetic / (kinetic - 0.5 * bent), rel=1e-3)


def test_the_virial_ratio_refuses_a_magnetic_field() -> None:
    field = [{"kind": "uniform_field", "charge": 1.0, "B": [0.0, 0.0, 1.0]}]
    with pytest.raises(UserError, match="total force: has no rule for a magnetic field"):
        stars(magnetic=field)


def test_supports_carry_rods_in_load_steps(tmp_path: Path) -> None:
    """A weight on a rod below a support, whose reaction is the weight of both nodes at each level."""
    keys = {"holds": [{"name": "hook", "body": "top"}]}
    one = mg.Simulation(
        fields={"x": np.array([[0.0, 0.0], [0.1, -1.0]]), "m": np.ones(2)}, bodies={"top": [0]},
        tuples={"edges": [[0, 1]]}, constraints=[ROD | {"project_start": True}],
        energies=[weight(g=3.0)],
        observe=[mg.observer("reactions", every=1), mg.observer("constraints", every=1)], **PLUGINS, **keys,
        stepper=mg.Newton(load_steps=2, loads=["weight.g"]),
    )  # fmt: skip
    run = one.run(steps=2, out=tmp_path / "run")
    np.testing.assert_allclose(run["reaction/hook"][:, 1], 2.0 * 3.0 * np.array([0.0, 0.5, 1.0]), atol=1e-9)


def seldom(kind: str) -> dict:
    return mg.observer(kind, every=2000)


def at_rest(x: np.ndarray, box: np.ndarray, folder: Path, *observers: str):
    """Three dumbbells that repel each other in a periodic box of these edges, at rest; and where they are."""
    one = mg.Simulation(
        fields={"x": x, "m": np.ones(6)}, tuples={"edges": np.arange(6).reshape(-1, 2)},
        box={"vectors": box.tolist()}, energies=[push(size=1.2, cutoff=2.2, skin=0.1, images=True)],
        constraints=[ROD | {"project_start": True}], stepper=mg.LBFGS(tolerance={"force": 1e-12}),
        observe=[mg.observer("pressure", every=2000, tensor=True), *map(seldom, observers)], **PLUGINS,
    )  # fmt: skip
    run = one.run(steps=2000, out=folder)
    return run, one.fields["x"].values.copy()


@pytest.mark.long
@pytest.mark.parametrize("column", [0, 3, 5])
def test_elastic_constants_under_constraints_are_the_change_of_stress(column: int, tmp_path: Path) -> None:
    """Birch's coefficients, by differences of the stress of equilibria under strains, lengths fixed."""
    pairs, edge = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)), 2.6
    start = dumbbells(3, seed=3)["x"] / L * edge
    run, x = at_rest(start, edge * np.eye(3), tmp_path / "here", "elastic_constants")
    np.testing.assert_allclose(run["elastic_constants/stress"][-1], run["stress"][-1], atol=1e-9)
    strain, stresses = np.zeros((3, 3)), []
    k, m = pairs[column]
    strain[k, m] += 0.5
    strain[m, k] += 0.5
    for h in (1e-4, -1e-4):
        change = np.eye(3) + h * strain
        stresses.append(at_rest(x @ change, edge * change, tmp_path / f"{h}")[0]["stress"][-1])
    change = (stresses[0] - stresses[1]) / 2e-4
    found = run["elastic_constants/relaxed"][-1][:, column]
    np.testing.assert_allclose(found, [change[pair] for pair in pairs], atol=3e-4)
    assert np.isnan(run["elastic_constants/unrelaxed"][-1]).all(), "no strain that all atoms follow"


def test_elastic_constants_refuse_held_atoms_and_constraints_to_places() -> None:
    fields = {"x": np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), "m": np.ones(3)}
    keys = {"fields": fields, "energies": [push(size=1.0, cutoff=1.4, skin=0.05)], "box": [3.0] * 3}
    keys |= {"stepper": mg.LBFGS(), "observe": [mg.observer("elastic_constants", every=1)], **PLUGINS}
    with pytest.raises(UserError, match="constraint 'in_plane' ties atoms to places"):
        mg.Simulation(constraints=[in_plane(height=0.0, body="one")], bodies={"one": [2]}, **keys)
    with pytest.raises(UserError, match="elastic constants: have no rule for 2 held nodes"):
        mg.Simulation(bodies={"two": [0, 1]}, holds=[{"name": "two", "body": "two"}], **keys)


def test_another_program_gets_no_scene_in_which_more_than_energies_acts() -> None:
    pytest.importorskip("ase")
    from minusgrad.ase import Calculator

    with pytest.raises(UserError, match=r"atoms of another program: has no rule for constraints, got 'rod'"):
        Calculator(stars(constraints=[ROD]))
