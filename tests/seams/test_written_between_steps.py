"""What is written between two steps is noticed by every memory of a stepper, and judged as at the start.

The reference of a changed number is fine steps of another scheme with the same change: the order of the
errors at the end is that of the scheme. That of a refused number is the refusal at the start.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minusgrad as mg
from minusgrad import Datum, Node, Parameter, Velocity, local_energy
from minusgrad.errors import EnergyError, MinusgradError, NonFiniteError
from tests.seams.rows import sample

X = np.array([[1.0, 0.1], [-0.3, 0.9]])
V = np.array([[0.2, 0.5], [-0.6, 0.1]])
M = np.array([1.0, 1.5])


@local_energy("well", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m"), q=Node("1"))
def well(x, k, q):
    return q[0] * (0.5 * k * x[0].norm_sqr() + 0.1 * x[0].norm_sqr() ** 2 + x[0][0] ** 3 * 0.2)


@local_energy("drag", over="nodes", v=Node("m s^-1", ("d",)), c=Parameter("kg/s"), w=Node("1"))
def drag(v, c, w):
    return 0.5 * c * w[0] * v[0].norm_sqr()


def system(kind: str, dt: float = 0.05, m: Any = M, x: Any = X, **more: Any) -> mg.Simulation:
    """Two nodes in a well, with friction where it has a rule."""
    friction = more.pop("friction", True)
    return mg.Simulation(
        fields={"x": x, "v": V, "m": m, "q": np.ones(2)} | ({"w": np.array([1.0, 0.5])} if friction else {}),
        energies=[well(k=2.0)],
        dissipations=[drag(c=0.3)] if friction else [],
        stepper=mg.stepper(kind, dt=dt, **more.pop("stepper", {})),
        units="dimensionless",
        **more,
    )


# Memories ---------------------------------------------------------------------------------------------

CHANGES: dict[str, Callable[[mg.Simulation], None]] = {
    "mass": lambda s: s.fields["m"].set(M * [3.0, 0.3]),
    "field of U": lambda s: s.fields["q"].set(np.array([3.0, 0.5])),
    "parameter of U": lambda s: s.potential.set_parameter("well.k", 6.0),
    "parameter of friction": lambda s: s.dissipation.set_parameter("drag.c", 2.0),
    "field of friction": lambda s: s.fields["w"].set(np.array([5.0, 3.0])),
    "velocity": lambda s: s.fields["v"].set(V * 2.0),
}


def ends(kind: str, n: int, change: str, **stepper: Any) -> np.ndarray:
    """x at t = 1 after n steps until a change at t = 1/2, and n steps after it."""
    sim = system(kind, 0.5 / n, stepper=stepper)
    sim.step(n)
    CHANGES[change](sim)
    sim.step(n)
    return sim.fields["x"].values.copy()


FINE: dict[str, np.ndarray] = {}


def fine(change: str) -> np.ndarray:
    """The same by steps of order 15."""
    if change not in FINE:
        FINE[change] = ends("gauss_radau", 10, change)
    return FINE[change]


@pytest.mark.parametrize(
    ("kind", "change"),
    sample(
        [(k, c) for k in ("newmark", "newmark 0.3", "bdf2") for c in CHANGES],
        [("bdf2", "mass")],
    ),
)
def test_a_memory_does_not_outlive_a_change(kind: str, change: str) -> None:
    """All are of order 2; with the memory of another system they are of order 1."""
    kind, _, beta = kind.partition(" ")
    stepper = {"beta": float(beta), "gamma": 0.5} if beta else {}
    coarse, halved = (np.abs(ends(kind, n, change, **stepper) - fine(change)).max() for n in (20, 40))
    assert np.log2(coarse / halved) > 1.7


@pytest.mark.parametrize(
    ("kind", "change"),
    sample(
        [
            (k, c)
            for k in ("leapfrog", "yoshida6", "implicit_midpoint", "newmark", "bdf2", "gauss_radau")
            for c in CHANGES
        ],
        [("newmark", "mass"), ("bdf2", "field of friction")],
    ),
)
@pytest.mark.filterwarnings("ignore:.*with friction")
def test_a_changed_simulation_goes_on_as_one_that_begins_there(kind: str, change: str) -> None:
    """Of no stepper a number of the system before the change is left."""
    sim = system(kind)
    sim.step(3)
    CHANGES[change](sim)
    same = system(kind, m=sim.fields["m"].values, x=sim.fields["x"].values)
    for name in ("v", "q", "w"):
        same.fields[name].set(sim.fields[name].values)
    for name, of in (("well.k", lambda s: s.potential), ("drag.c", lambda s: s.dissipation)):
        of(same).set_parameter(name, of(sim).parameter(name))
    for one in (sim, same):
        one.step(2)
    np.testing.assert_allclose(sim.fields["x"].values, same.fields["x"].values, rtol=1e-13)


def test_a_changed_capacity_begins_a_flow_again() -> None:
    @local_energy("cool", over="nodes", T=Node("K"), k=Parameter("W/K"))
    def cool(T, k):
        return 0.5 * k * T[0] ** 2

    def end(n: int) -> float:
        sim = mg.Simulation(
            fields={"T": np.array([1.0]), "C": np.array([1.0])},
            energies=[cool(k=1.0)],
            stepper=mg.GradientFlow(dt=0.5 / n, capacities={"T": "C"}, scheme="bdf2"),
            units="dimensionless",
        )
        sim.step(n)
        sim.fields["C"].set(np.array([0.2]))
        sim.step(n)
        return float(sim.fields["T"].values[0])

    wanted = np.exp(-0.5 - 0.5 / 0.2)
    coarse, halved = abs(end(40) - wanted), abs(end(80) - wanted)
    assert np.log2(coarse / halved) > 1.7


def test_constraints_weigh_with_the_masses_of_a_snapshot() -> None:
    """Masses that were changed and restored, by RATTLE: the restored run has its bits."""

    @mg.constraint("rod", over=2, x=Node("m", ("d",)), length=Datum("m"))
    def rod(x, length):
        return (x[0] - x[1]).norm() - length

    length = np.array([np.linalg.norm(X[0] - X[1])])
    sim = mg.Simulation(
        fields={"x": X, "v": np.zeros((2, 2)), "m": M, "q": np.array([1.0, 2.0])},
        energies=[well(k=2.0)],
        constraints=[rod(tuples=[[0, 1]], length=length)],
        stepper=mg.Leapfrog(dt=0.02),
        units="dimensionless",
    )
    sim.step(3)
    begun = sim.snapshot()
    sim.step(4)
    wanted = sim.fields["x"].values.copy()
    sim.restore(begun)
    sim.fields["m"].set(np.array([20.0, 0.1]))
    sim.step(2)
    sim.restore(begun)
    sim.step(4)
    assert (sim.fields["x"].values == wanted).all()


@pytest.mark.long
def test_a_mass_in_a_lagrangian_gives_new_momenta() -> None:
    @mg.lagrangian("sliding", over="nodes", q=Node("m"), v=Velocity("m/s"), m=Parameter("kg"))
    def sliding(q, v, m):
        return 0.5 * m * v[0] ** 2

    sim = mg.Simulation(
        fields={"q": np.array([0.0]), "v": np.array([1.0])},
        motions=[mg.Motion("q", "v")],
        lagrangians=[sliding(m=1.0)],
        stepper=mg.Variational(dt=0.1),
        units="dimensionless",
    )
    sim.step(5)
    sim.lagrangian.set_parameter("sliding.m", 3.0)
    sim.step(5)
    assert sim.fields["q"].values[0] == pytest.approx(1.0, rel=1e-12)


# Masses -----------------------------------------------------------------------------------------------

STEPPERS: dict[str, dict[str, Any]] = {
    "leapfrog": {},
    "yoshida4": {},
    "blanes_moan_rkn6": {},
    "symplectic_euler": {},
    "langevin": {"friction": 1.0, "temperature": 1.0},
    "implicit_midpoint": {},
    "implicit_euler": {},
    "newmark": {},
    "bdf2": {},
    "gauss_radau": {},
}
REFUSED = r"'x' moves with inertia .* at node 1: it has no acceleration .* give it a positive one"


@pytest.mark.parametrize(
    ("kind", "mass"),
    sample(
        [(k, m) for k in STEPPERS for m in (0.0, -1.0, np.inf, np.nan, 1e-320)],
        [("leapfrog", 0.0), ("implicit_midpoint", -1.0), ("bdf2", 1e-320)],
    ),
)
def test_masses_are_judged_as_at_the_start(kind: str, mass: float) -> None:
    m = np.array([1.0, mass])
    sim = system(kind, stepper=STEPPERS[kind], friction=False)
    sim.step(2)
    before = sim.fields["x"].values.copy()
    sim.fields["m"].set(m)
    with pytest.raises(EnergyError, match=REFUSED):
        sim.step(1)
    assert (sim.fields["x"].values == before).all()
    sim.fields["m"].set(M)
    sim.step(1)
    if mass <= 0.0:
        with pytest.raises(MinusgradError, match=REFUSED):
            system(kind, m=m, stepper=STEPPERS[kind], friction=False)


def test_masses_of_a_snapshot_and_of_single_precision() -> None:
    sim = system("leapfrog", friction=False, runtime={"precision": "f32"})
    sim.step(1)
    sim.fields["m"].set(np.array([1.0, 1e-42], np.float32))
    with pytest.raises(EnergyError, match=REFUSED):
        sim.step(1)
    sim.fields["m"].set(np.array([1.0, -2.0]))
    with pytest.raises(EnergyError, match=REFUSED):
        sim.snapshot()


def test_a_callback_that_sets_a_mass_of_zero(tmp_path) -> None:
    sim = system("leapfrog", friction=False)

    @sim.every(3)
    def lose(sim: mg.Simulation) -> None:
        sim.fields["m"].set(np.array([1.0, 0.0]))

    with pytest.raises(MinusgradError, match=REFUSED):
        sim.run(steps=9, out=tmp_path / "run")


def test_capacities_of_flows() -> None:
    @local_energy("cooling", over="nodes", T=Node("K"), k=Parameter("W/K"))
    def cooling(T, k):
        return 0.5 * k * T[0] ** 2

    sim = mg.Simulation(
        fields={"T": np.array([1.0, 2.0]), "C": np.array([1.0, 1.0])},
        energies=[cooling(k=1.0)],
        stepper=mg.GradientFlow(dt=0.1, capacities={"T": "C"}),
        units="dimensionless",
    )
    sim.step(1)
    sim.fields["C"].set(np.array([1.0, -1.0]))
    with pytest.raises(EnergyError, match="the capacity of 'T' must be positive, got -1 at node 1"):
        sim.step(1)


@pytest.mark.parametrize("lanes", [True, False])
def test_masses_of_tensors(lanes: bool) -> None:
    torch = pytest.importorskip("torch")
    import minusgrad.torch as mt

    run = mt.rollout(system("leapfrog", friction=False), 3, lanes=lanes)
    m = torch.tensor([[1.0, 1.5], [1.0, -1.0]], dtype=torch.float64)
    with pytest.raises(NonFiniteError, match="member 1: the run: 'x' moves with inertia -1 at node 1"):
        run(m=m, batch=2)
    with pytest.raises(NonFiniteError, match="the run: 'x' moves with inertia 0 at node 1"):
        run(m=m[0] * torch.tensor([1.0, 0.0], dtype=torch.float64))


# Time steps -------------------------------------------------------------------------------------------

FORWARD = ("langevin", "implicit_euler", "bdf2")


@pytest.mark.parametrize(
    ("kind", "dt"),
    sample(
        [(k, dt) for k in STEPPERS for dt in (0.0, np.inf, -np.inf, np.nan, 1e-320)],
        [("leapfrog", 0.0), ("bdf2", np.inf)],
    ),
)
def test_time_steps_are_judged_as_at_the_start(kind: str, dt: float) -> None:
    sim = system(kind, stepper=STEPPERS[kind], friction=False)
    sim.step(2)
    with pytest.raises(EnergyError, match=r"^dt: must be between .* in size, got .*; choose another dt"):
        sim.dt = dt
    assert sim.dt == 0.05
    sim.step(1)


@pytest.mark.parametrize("kind", sample([*STEPPERS], ["langevin", "bdf2"]))
def test_steps_back_in_time(kind: str) -> None:
    """Where the scheme may go back it does; a heat bath and schemes that damp do not."""
    sim = system(kind, stepper=STEPPERS[kind], friction=False)
    sim.step(2)
    if kind in FORWARD:
        with pytest.raises(EnergyError, match=f"^dt: must be above 0, got -0.05: '{kind}' goes forward in"):
            sim.dt = -0.05
        return
    sim.dt = -0.05
    sim.step(2)
    assert sim.time == pytest.approx(0.0, abs=1e-15)
    if kind != "symplectic_euler":
        np.testing.assert_allclose(sim.fields["x"].values, X, rtol=1e-9)


def test_a_program_and_a_flow() -> None:
    @mg.local_map("grow", gives="y_next", over="nodes", y=Node(), h=mg.TimeStep())
    def grow(y, h):
        return y[0] * (1.0 + h)

    sim = mg.Simulation(
        fields={"y": np.ones(1)},
        maps=[grow()],
        stepper=mg.Evolution(dt=0.1, next={"y": "y_next"}),
        units="dimensionless",
    )
    for dt in (0.0, np.nan, np.inf):
        with pytest.raises(EnergyError, match=r"^dt: must be between .* in size, got "):
            sim.dt = dt


def test_a_search_has_no_time_step() -> None:
    sim = mg.Simulation(
        fields={"x": X, "q": np.ones(2)}, energies=[well(k=1.0)], stepper=mg.LBFGS(), units="dimensionless"
    )
    with pytest.raises(MinusgradError, match="stepper 'lbfgs': has no time step"):
        sim.dt = 0.1


def test_a_step_size_set_between_steps_stays_where_a_run_is_resumed_with_other_functions(tmp_path) -> None:
    """`allow_changed` is about the functions here: t goes on in steps of 0.02."""

    @local_energy("bowl", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m"))
    def bowl(x, k):
        return 0.5 * k * x[0].dot(x[0])

    @mg.every(3)
    def fails(sim: mg.Simulation) -> None:
        if sim.stepper.step == 9:
            raise ValueError("stop")

    fields = {"x": np.array([[1.0, 0.0]]), "m": np.ones(1)}
    stepper = mg.Leapfrog(dt=0.01)
    sim = mg.Simulation(
        fields=fields, energies=[bowl(k=1.0)], stepper=stepper, checkpoint={"every": 3}, callbacks=[fails]
    )
    sim.step(2)
    sim.dt = 0.02
    with pytest.raises(MinusgradError, match="stop"):
        sim.run(steps=10, out=tmp_path / "run")
    run = mg.resume(tmp_path / "run", energies=[bowl], allow_changed=True)
    step, time, _ = run.series("observables/total")
    assert step[-1] == 12
    assert time[-1] == pytest.approx(0.02 + 10 * 0.02, rel=1e-12)
