"""Boxes that other programs read: npt keeps its edges lower triangular, and files show other boxes so."""

from itertools import product

import h5py
import numpy as np
import pytest

import minusgrad as mg
from minusgrad import ti
from tests.support.documented import imported

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


# What other programs read ---------------------------------------------------------------------------------

TURN = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
TURN[:, 0] *= np.linalg.det(TURN)
BOXES = {
    "upright": SKEWED,
    "rotated": SKEWED @ TURN,
    "left-handed": SKEWED[[1, 0, 2]] @ TURN,
    "reflected": SKEWED * [1.0, 1.0, -1.0],
}


def drifting(box: np.ndarray, out, **run) -> mg.Simulation:
    """Atoms that move freely in a box; frames of them, in several segments."""
    x = atoms(box)[::5]
    sim = mg.Simulation(
        fields={
            "x": x,
            "v": np.random.default_rng(1).normal(size=x.shape) * 20.0,
            "m": np.full(len(x), 40.0),
        },
        energies=[mg.energy("lennard_jones", epsilon=1e-6, sigma=1.0, cutoff=3.0)],
        box={"vectors": box.tolist()},
        units="molecular",
        plugins=["molecular"],
        stepper=mg.Leapfrog(dt=0.005),
        observe=[{"kind": "frames", "every": 4, "fields": ["x", "v"]}],
        checkpoint={"every": 8},
    )
    sim.run(steps=40, out=out, **run)
    return sim


def nearest(x: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Distances of all pairs to their nearest images, by hand."""
    shifts = np.array([*product((-2, -1, 0, 1, 2), repeat=3)]) @ box
    first, second = np.triu_indices(len(x), 1)
    apart = x[first] - x[second]
    apart -= np.round(apart @ np.linalg.inv(box)) @ box
    return np.linalg.norm(apart[:, None] - shifts, axis=-1).min(axis=1)


@pytest.mark.parametrize("kind", BOXES)
def test_mdanalysis_reads_every_box(kind, tmp_path):
    universe_of = imported("MDAnalysis").Universe
    self_distance_array = imported("MDAnalysis.lib.distances").self_distance_array

    box, out = BOXES[kind], tmp_path / "run"
    sim = drifting(box, out)
    run = mg.open(out)
    universe = universe_of.empty(len(sim.fields["x"].values), trajectory=False)
    universe.load_new(str(out / "trajectory.h5"), format="H5MD", convert_units=False)
    assert len(universe.trajectory) == len(run["position"])
    for k, frame in enumerate(universe.trajectory):
        seen = self_distance_array(frame.positions, box=frame.dimensions)
        np.testing.assert_allclose(seen, nearest(run["position"][k], box), atol=2e-5)
        speeds = np.linalg.norm(run["velocity"][k], axis=1)
        np.testing.assert_allclose(np.linalg.norm(frame.velocities, axis=1), speeds, rtol=1e-6)


def test_our_readers_see_the_frames_as_they_are(tmp_path):
    """In bits; the master has the rotation, the frames as they are, and their rotated copies."""
    box, out = BOXES["rotated"], tmp_path / "run"
    sim = drifting(box, out)
    run = mg.open(out)
    assert not [name for name in run.names if "upright" in name]
    inside = sim.fields["x"].values @ np.linalg.inv(box)
    np.testing.assert_allclose(
        run["position"][-1] @ np.linalg.inv(box), inside - np.floor(inside), atol=1e-12
    )
    assert (run["box"][-1] == box).all() if "box" in run.names else True
    with h5py.File(out / "trajectory.h5") as file:
        exact = file["minusgrad/particles/all/position/value"][...]
        turned, turns = (
            file["particles/all/position/value"][...],
            file["minusgrad/upright/rotation/value"][...],
        )
        edges = file["particles/all/box/edges/value"][...]
    assert exact.tobytes() == run["position"].tobytes()
    np.testing.assert_allclose(turned, exact @ turns, atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(turns), 1.0, rtol=1e-12)
    assert not np.triu(edges, 1).any()


def test_an_interrupted_run_has_the_same_files(tmp_path):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    drifting(BOXES["rotated"], whole)
    with pytest.raises(Exception, match="interrupted and saved"):
        drifting(BOXES["rotated"], cut, max_hours=1e-9)
    mg.resume(cut)
    for name in ("particles/all/position", "minusgrad/particles/all/position", "minusgrad/upright/rotation"):
        rows = []
        for folder in (whole, cut):
            with h5py.File(folder / "trajectory.h5") as file:
                rows.append(file[f"{name}/value"][...])
        assert rows[0].tobytes() == rows[1].tobytes()


def test_extended_xyz_has_the_box_as_it_is(tmp_path):
    import ase.io

    from minusgrad.app.cli import main

    box, out = BOXES["rotated"], tmp_path / "run"
    drifting(box, out)
    assert main(["export", str(out), "--format", "xyz", "--out", str(tmp_path / "run.xyz")]) in (0, None)
    frame = ase.io.read(tmp_path / "run.xyz", index=-1)
    np.testing.assert_allclose(frame.cell.array, box, rtol=1e-15)
    first, second = np.triu_indices(len(frame), 1)
    found = frame.get_all_distances(mic=True)[first, second]
    np.testing.assert_allclose(found, nearest(mg.open(out)["position"][-1], box), atol=1e-9)
