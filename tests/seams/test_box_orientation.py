"""Boxes that other programs read: npt keeps its edges lower triangular, and files show other boxes so."""

import numpy as np

import minusgrad as mg
from minusgrad import ti

RNG = np.random.default_rng(3)
SKEWED = np.array([[12.0, 0.0, 0.0], [4.0, 11.0, 0.0], [-3.0, 2.0, 10.0]])
SIDE = 4


def atoms(box: np.ndarray) -> np.ndarray:
    """A lattice of atoms in a box."""
    d = len(box)
    cells = (np.array(np.meshgrid(*[np.arange(SIDE)] * d, indexing="ij")).reshape(d, -1).T + 0.5) / SIDE
    return cells @ box


def simulation(box: np.ndarray, energy: str = "lennard_jones", **stepper) -> mg.Simulation:
    x = atoms(box)
    v = np.random.default_rng(1).normal(size=x.shape) * 3.0
    given = {"dt": 0.005, "temperature": 200.0, "pressure": "100 bar", "friction": 0.0, "relaxation": 2.0}
    return mg.Simulation(
        fields={"x": x, "v": v, "m": np.full(len(x), 40.0)},
        energies=[mg.energy(energy, epsilon=1.0, sigma=2.3, cutoff=4.4, skin=0.3)],
        box={"vectors": box.tolist()},
        units="molecular",
        plugins=["molecular"],
        stepper={"kind": "npt", "cell": "flexible", "cell_friction": 0.0} | given | stepper,
        observe=[{"kind": "energies", "every": 1}],
    )


def test_npt_keeps_a_flexible_box_lower_triangular(tmp_path):
    """The same motion as that of a rotated box, whose edges turn, seen from a frame that turns with them."""
    q, _ = np.linalg.qr(RNG.normal(size=(3, 3)))
    q[:, 0] *= np.linalg.det(q)
    one, other = simulation(SKEWED), simulation(SKEWED @ q)
    other.fields["v"].set(one.fields["v"].values @ q)
    for sim in (one, other):
        sim.step(150)
    box, turned = (sim.fields["box"].values[0] for sim in (one, other))
    assert not np.triu(box, 1).any()
    assert np.abs(box - SKEWED).max() > 0.02
    np.testing.assert_allclose(box @ box.T, turned @ turned.T, rtol=1e-9)
    for name in ("x", "v"):
        a, b = (sim.fields[name].values for sim in (one, other))
        np.testing.assert_allclose(a @ a.T, b @ b.T, rtol=0, atol=1e-8 * np.abs(a @ a.T).max())
    np.testing.assert_allclose(
        one.fields["x"].values @ np.linalg.inv(box),
        other.fields["x"].values @ np.linalg.inv(turned),
        atol=1e-9,
    )


def test_energy_is_kept_while_the_box_is_turned_back(tmp_path):
    run = simulation(SKEWED, dt=0.002).run(steps=300, out=tmp_path / "run")
    kinetic = run["kinetic"]
    assert np.abs(run["drift"] * run["total"][0]).max() < 2e-3 * np.ptp(kinetic)


def test_it_goes_back_where_it_came_from():
    sim = simulation(SKEWED)
    start = {name: sim.fields[name].values.copy() for name in ("x", "box")}
    sim.step(60)
    sim.fields["v"].set(-sim.fields["v"].values)
    state = sim.stepper.state()
    sim.stepper.restore(state | {"cell momentum": -state["cell momentum"]})
    sim.step(60)
    for name, before in start.items():
        np.testing.assert_allclose(sim.fields[name].values, before, atol=1e-9)


@mg.local_energy("trapped", over="nodes", x=mg.Node("m", ("d",)), k=mg.Parameter("N/m"))
def trapped(x, k):
    """A wave of potential along one axis of space, which a rotation changes."""
    return k * ti.cos(x[0][0]) * ti.cos(x[0][1])


def test_an_energy_with_axes_of_its_own_is_not_turned():
    x, box = np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([[6.0, 0.0], [1.0, 6.0]])
    sim = mg.Simulation(
        fields={"x": x, "v": np.array([[0.3, 0.1], [-0.3, 0.2]]), "m": np.ones(2)},
        energies=[trapped(k=1.0)],
        box={"vectors": box.tolist()},
        units="dimensionless",
        stepper={
            "kind": "npt",
            "cell": "flexible",
            "temperature": 1.0,
            "pressure": 0.01,
            "friction": 0.0,
            "relaxation": 1.0,
            "dt": 0.05,
        },
    )
    sim.step(20)
    assert sim.fields["box"].values[0][0, 1] != 0.0
