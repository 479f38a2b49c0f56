"""The pressure of a whole system: constraints, friction, magnetic fields, supports and sharp cutoffs in it.

Free rigid molecules have the pressure of their centres of mass, P V = sum M V^2 / 3, at every state: their
atoms' virial and kinetic tensor are related by the motion of a rigid body alone (Ciccotti and Ryckaert 1986,
Comput. Phys. Rep. 4, 345).
"""

from pathlib import Path

import numpy as np
import pytest

import minusgrad as mg
from minusgrad import Node, Parameter, Time, constraint, local_energy, ti

SCENES = Path(__file__).parents[2] / "scenes"
L = 20.0


@local_energy("nothing", over="pairs", x=Node("m", ("d",)), k=Parameter("J"))
def nothing(x, k):
    """No interaction, in a periodic box."""
    return k * ti.exp(-(x[0] - x[1]).norm())


@constraint("growing", over=2, x=Node("m", ("d",)), t=Time())
def growing(x, t):
    """A rod whose squared length is 1 + t^2."""
    r = x[0] - x[1]
    return r.dot(r) - 1.0 - t * t


def dumbbells(n: int, masses: tuple[float, float] = (1.0, 3.0), seed: int = 1) -> dict[str, np.ndarray]:
    """Rods of length 1 with atoms of two masses, which turn and fly, some across the faces of the box."""
    rng = np.random.default_rng(seed)
    centre, way = rng.uniform(0.0, L, (n, 3)), rng.normal(size=(n, 3))
    way /= np.linalg.norm(way, axis=1)[:, None]
    one, other = (m / sum(masses) for m in masses)
    spin, speed = np.cross(way, rng.normal(size=(n, 3))), rng.normal(size=(n, 3))
    x = np.stack([centre - other * way, centre + one * way], axis=1)
    v = np.stack([speed - other * spin, speed + one * spin], axis=1)
    return {"x": x.reshape(-1, 3), "v": v.reshape(-1, 3), "m": np.tile(masses, n)}


def octahedra(n: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Rigid bodies of six atoms and twelve rods, which turn and fly; and their rods."""
    rng, corners = np.random.default_rng(2), np.concatenate([np.eye(3), -np.eye(3)])
    centre, speed, spin = rng.uniform(0.0, L, (n, 1, 3)), *rng.normal(size=(2, n, 1, 3))
    turned = np.stack([corners @ np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(n)])
    rods = np.array([(i, j) for i in range(6) for j in range(i) if (i - j) % 3])
    x, v = centre + turned, speed + np.cross(spin, turned)
    fields = {"x": x.reshape(-1, 3), "v": v.reshape(-1, 3), "m": rng.uniform(1.0, 2.0, 6 * n)}
    return fields, (6 * np.arange(n)[:, None, None] + rods).reshape(-1, 2)


def simulation(fields, rods, stepper, **keys) -> mg.Simulation:
    keys = {"energies": [nothing(k=0.0, cutoff=1.0)]} | keys
    return mg.Simulation(
        fields=fields, tuples={"edges": rods}, stepper=stepper, units="dimensionless", box=[L] * 3, **keys
    )


def rows(one: mg.Simulation, folder: Path, steps: int, every: int):
    """The run's series, and positions and velocities at the same steps."""
    run = one.run(steps=steps, out=folder)
    frames = [run.series(f"particles/all/{name}").value for name in ("position", "velocity")]
    return run, *frames


def observed(every: int, **keys) -> list:
    fields = mg.observer("frames", every=every, fields=["x", "v"], unwrapped=True)
    return [mg.observer("pressure", every=every, tensor=True, parts=True, **keys), fields]


def molecular(v: np.ndarray, m: np.ndarray, size: int) -> np.ndarray:
    """sum M V^2 / 3 over molecules of so many atoms, at each row of velocities."""
    m = m.reshape(-1, size)
    p = (m[None, :, :, None] * v.reshape(len(v), *m.shape, 3)).sum(axis=2)
    return ((p**2).sum(axis=2) / m.sum(axis=1)).sum(axis=1) / 3.0


ROD = {"kind": "rod", "tuples": "edges", "length": 1.0}
STEPPERS = {
    "leapfrog": mg.Leapfrog(dt=0.01),
    "symplectic_euler": mg.SymplecticEuler(dt=0.01),
    "yoshida4": mg.Yoshida4(dt=0.01),
    "langevin": mg.Langevin(dt=0.01, friction=1.0, temperature=1.0),
}


SLOW, LONG = ("symplectic_euler", "yoshida4"), pytest.mark.long


@pytest.mark.parametrize("kind", ["leapfrog", "langevin", *(pytest.param(k, marks=LONG) for k in SLOW)])
def test_free_rigid_dumbbells_have_the_pressure_of_their_centres(kind: str, tmp_path: Path) -> None:
    fields = dumbbells(12)
    one = simulation(
        fields, np.arange(24).reshape(-1, 2), STEPPERS[kind], constraints=[ROD], observe=observed(5)
    )
    run, _, v = rows(one, tmp_path / "run", 20, 5)
    np.testing.assert_allclose(run["pressure"] * L**3, molecular(v, fields["m"], 2), rtol=1e-12)


@pytest.mark.parametrize("n", [1, 4], ids=["in kernels of steps", "by one system"])
def test_free_rigid_bodies_of_twelve_rods_have_the_pressure_of_their_centres(n: int, tmp_path: Path) -> None:
    fields, rods = octahedra(n)
    length = {"kind": "rod", "tuples": "edges", "length": float(np.sqrt(2.0)), "project_start": True}
    one = simulation(fields, rods, STEPPERS["leapfrog"], constraints=[length], observe=observed(5))
    run, _, v = rows(one, tmp_path / "run", 20, 5)
    np.testing.assert_allclose(run["pressure"] * L**3, molecular(v, fields["m"], 6), rtol=1e-11)


@pytest.mark.long
def test_single_precision_has_the_pressure_of_the_centres(tmp_path: Path) -> None:
    fields = dumbbells(12)
    one = simulation(
        fields, np.arange(24).reshape(-1, 2), STEPPERS["leapfrog"], constraints=[ROD], observe=observed(5),
        runtime={"precision": "f32"},
    )  # fmt: skip
    run, _, v = rows(one, tmp_path / "run", 20, 5)
    np.testing.assert_allclose(run["pressure"] * L**3, molecular(v, fields["m"], 2), rtol=1e-5)


def test_a_driven_rod_adds_half_the_second_derivative_of_its_inertia(tmp_path: Path) -> None:
    """3 P V = sum M V^2 + d2/dt2 of mu l^2 / 2, l^2 = 1 + t^2: mu for each dumbbell."""
    fields, rods = dumbbells(5), np.arange(10).reshape(-1, 2)
    one = simulation(
        fields, rods, STEPPERS["leapfrog"], constraints=[growing(tuples="edges")], observe=observed(5)
    )
    run, _, v = rows(one, tmp_path / "run", 20, 5)
    wanted = molecular(v, fields["m"], 2) + 5 * 0.75 / 3.0
    np.testing.assert_allclose(run["pressure"] * L**3, wanted, rtol=1e-11)


def test_drag_takes_part_in_the_multipliers_alone(tmp_path: Path) -> None:
    fields, rods = dumbbells(12), np.arange(24).reshape(-1, 2)
    one = simulation(
        fields, rods, STEPPERS["leapfrog"], constraints=[ROD], observe=observed(5),
        dissipations=[mg.energy("mass_damping", rate=2.0)], plugins=["elastic"],
    )  # fmt: skip
    run, _, v = rows(one, tmp_path / "run", 20, 5)
    np.testing.assert_allclose(run["pressure"] * L**3, molecular(v, fields["m"], 2), rtol=1e-12)


def test_rigid_water_has_the_molecular_virial() -> None:
    """P V = (sum M V^2 - sum over molecules of X dU/dx - h dU/dh) / 3, with whole molecules scaled."""
    pressures = [{"kind": "pressure", "every": 4}]
    one = mg.load(SCENES / "rigid_water.toml", {"observe": pressures, "run.steps": 8})
    wanted = []
    for _ in range(3):
        fields = one.fields
        x, v, m, h = (fields[n].values.astype(float) for n in ("x", "v", "m", "box"))
        owner = np.arange(len(x)) // 3
        mass = np.bincount(owner, m)

        def centre(values: np.ndarray, owner=owner, mass=mass, m=m) -> np.ndarray:
            return np.stack([np.bincount(owner, m * c) for c in values.T], axis=1) / mass[:, None]

        pulled = (centre(x)[owner] * one.potential.gradient("x")).sum()
        pulled += (h * one.potential.gradient("box")).sum()
        wanted.append(((mass[:, None] * centre(v) ** 2).sum() - pulled) / 3.0 / np.linalg.det(h[0]))
        one.step(4)
    run = mg.run(SCENES / "rigid_water.toml", {"observe": pressures, "run.steps": 8})
    found = run.series("observables/pressure").value
    bar = found[0] / wanted[0]
    np.testing.assert_allclose(found, bar * np.array(wanted), rtol=1e-8)
    assert bar == pytest.approx(16605.3907, rel=1e-8), "bar in kJ mol^-1 angstrom^-3"
    assert abs(found).max() < 5000.0
