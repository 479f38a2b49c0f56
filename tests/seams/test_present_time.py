"""Runs, energies and derivatives of a simulation that was stepped begin at its present time.

The reference is the simulation itself: it takes the steps, from the same state with one number changed, and
differences of its ends are compared with the derivatives. Nothing of it knows of a second clock.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import minusgrad as mg
from minusgrad import Loss, Node, Parameter, Potential, Rollout, Time, Velocity, bind, local_energy, ti
from tests.seams.rows import sample

WARM, STEPS = 7, 6
SPLITTING = ("leapfrog", "yoshida6", "blanes_moan_rkn4", "symplectic_euler")
IMPLICIT = ("implicit_midpoint", "newmark", "implicit_euler", "gauss_radau")


@local_energy("swing", over=2, x=Node("m", ("d",)), k=Parameter("N/m"), w=Parameter("1/s"), t=Time())
def swing(x, k, w, t):
    """A spring whose stiffness varies in time."""
    r = x[0] - x[1]
    return 0.5 * k * (1.0 + 0.5 * ti.sin(w * t)) * r.norm_sqr() + 0.1 * k * r.norm_sqr() ** 2


@local_energy("wind", over="nodes", v=Node("m s^-1", ("d",)), c=Parameter("kg/s"), t=Time())
def wind(v, c, t):
    """Friction that grows in time."""
    return 0.5 * c * (1.0 + t) * v[0].norm_sqr()


@local_energy("seen", over="nodes", x=Node("m", ("d",)), v=Node("m s^-1", ("d",)))
def seen(x, v):
    """A number of a state, which depends on each of its components."""
    return (x[0] - 0.3 * v[0]).norm_sqr() + x[0][0] - 0.2 * x[0][1] * v[0][0]


X = np.array([[0.0, 0.0], [1.0, 0.2], [1.7, -0.4]])
V = np.array([[0.1, 0.6], [0.3, -0.5], [-0.2, 0.1]])


def system(kind: str, precision: str = "f64", **more: Any) -> mg.Simulation:
    """Three nodes on springs of changing stiffness."""
    given = {"fields": {"x": X, "v": V, "m": np.array([1.0, 1.7, 0.6])}, "dt": 0.05} | more
    return mg.Simulation(
        fields=given.pop("fields"),
        energies=[swing(k=2.0, w=1.3, tuples=np.array([[0, 1], [1, 2]]))],
        stepper=mg.stepper(kind, dt=given.pop("dt"), **given.pop("stepper", {})),
        units="dimensionless",
        runtime={"precision": precision},
        **given,
    )


def loss_of(sim: mg.Simulation) -> Potential:
    return Potential(sim.fields, [bind(seen, sim.fields)])


def rollout(sim: mg.Simulation, **more: Any) -> Rollout:
    return Rollout(sim.stepper, [Loss(loss_of(sim), steps=(STEPS,))], steps=STEPS, **more)


def put(sim: mg.Simulation, name: str, values: np.ndarray) -> None:
    """A field, a parameter, or a number of a hold."""
    if name in sim.fields:
        sim.fields[name].set(values)
    elif name in sim.stepper.holds.numbers:
        sim.stepper.holds.numbers.set_parameter(name, values)
    else:
        (potential,) = [one for one in sim.potentials if name.partition(".")[0] in one.parts]
        potential.set_parameter(name, values)


def value_of(sim: mg.Simulation, name: str) -> np.ndarray:
    if name in sim.fields:
        return sim.fields[name].values.copy()
    if name in sim.stepper.holds.numbers:
        return sim.stepper.holds.numbers.parameter(name)
    return sim.parameters[name]


def gone_on(sim: mg.Simulation, change: Mapping[str, np.ndarray] = {}) -> float:
    """The loss after the steps that the simulation itself takes; it is then where it was."""
    before = sim.snapshot()
    kept = {name: value_of(sim, name) for name in change}
    for name, values in change.items():
        put(sim, name, values)
    sim.step(STEPS)
    found = loss_of(sim).value()
    for name, values in kept.items():
        put(sim, name, values)
    sim.restore(before)
    return found


def slope(
    of: Callable[[Mapping[str, np.ndarray]], float], name: str, at: np.ndarray, along: np.ndarray
) -> float:
    """The derivative along a direction by a difference of sixth order."""
    h = 2e-3
    f = [of({name: at + k * h * along}) for k in (-3, -2, -1, 1, 2, 3)]
    return (-f[0] + 9 * f[1] - 45 * f[2] + 45 * f[3] - 9 * f[4] + f[5]) / (60 * h)


def assert_slopes(sim: mg.Simulation, run: Rollout, names: list[str], exact: float = 1e-7) -> None:
    """The gradient of a run agrees with differences of the simulation that goes on."""
    _, found = run.evaluate(names)
    rng = np.random.default_rng(1)
    for name in names:
        at = value_of(sim, name)
        along = rng.normal(size=at.shape)
        if name in ("x", "v"):
            along *= sim.stepper.holds.free("x")
        wanted = slope(lambda change: gone_on(sim, change), name, at, along)
        assert np.sum(found[name] * along) == pytest.approx(wanted, rel=exact, abs=exact), name


# Runs of integrators ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "precision"),
    sample([(k, p) for k in SPLITTING for p in ("f64", "f32")], [("leapfrog", "f64"), ("yoshida6", "f32")]),
)
@pytest.mark.filterwarnings("ignore:.*with friction")
def test_a_rollout_has_the_bits_of_the_simulation_that_goes_on(kind: str, precision: str) -> None:
    sim = system(kind, precision, dissipations=[wind(c=0.1)])
    sim.step(WARM)
    state, time = sim.fields["x"].values.copy(), sim.time
    assert rollout(sim).value() == gone_on(sim)
    assert (sim.fields["x"].values == state).all()
    assert (sim.time, sim.stepper.step) == (time, WARM)


@pytest.mark.parametrize("kind", sample([*IMPLICIT, "bdf2"], ["implicit_midpoint", "bdf2"]))
def test_a_rollout_of_implicit_steps_begins_at_the_present_time(kind: str) -> None:
    """It has no memory of earlier steps: those of bdf2 begin again, as after a write of a field."""
    sim = system(kind, dissipations=[wind(c=0.1)])
    sim.step(WARM)
    if kind == "bdf2":
        sim.fields["v"].set(sim.fields["v"].values)
    assert rollout(sim).value() == pytest.approx(gone_on(sim), rel=1e-11)


@pytest.mark.parametrize(
    "kind",
    sample(
        ["leapfrog", "blanes_moan_rkn4", "implicit_midpoint", "newmark", "gauss_radau"],
        ["newmark"],
    ),
)
def test_derivatives_of_a_later_run(kind: str) -> None:
    sim = system(kind, dissipations=[wind(c=0.1)])
    sim.step(WARM)
    assert_slopes(sim, rollout(sim), ["x", "v", "m", "swing.k", "swing.w", "wind.c"])


def test_a_later_run_within_a_small_budget() -> None:
    sim = system("leapfrog", dissipations=[wind(c=0.1)])
    sim.step(WARM)
    whole = rollout(sim).evaluate(["x", "swing.w"])
    again = rollout(sim, budget=1200)
    assert again.plan.block < STEPS
    value, found = again.evaluate(["x", "swing.w"])
    assert value == whole[0]
    for name, values in found.items():
        np.testing.assert_allclose(values, whole[1][name], rtol=1e-13)


def test_a_later_run_by_single_launches() -> None:
    """Pairs within a cutoff, whose lists change: each move is a launch, and so is its record on the tape."""

    @local_energy("cloud", over="pairs", x=Node("m", ("d",)), k=Parameter("J"), t=Time())
    def cloud(x, k, t):
        return k * (1.0 + t) * ti.exp(-2.0 * (x[0] - x[1]).norm_sqr())

    sim = mg.Simulation(
        fields={"x": X, "v": V, "m": np.array([1.0, 1.7, 0.6])},
        energies=[cloud(k=0.7, cutoff=3.0)],
        dissipations=[wind(c=0.1)],
        stepper=mg.Leapfrog(dt=0.05),
        units="dimensionless",
    )
    sim.step(WARM)
    run = rollout(sim)
    assert run.value() == gone_on(sim)
    assert_slopes(sim, run, ["x", "v", "m", "cloud.k", "wind.c"])


def test_a_run_after_dt_was_changed() -> None:
    """There and back, so that the clock has the dt that it was made with."""
    sim = system("leapfrog")
    sim.dt = 0.02
    rollout(sim).evaluate(["x"])
    run = rollout(sim)
    run.evaluate(["x"])
    sim.dt = 0.05
    assert_slopes(sim, run, ["x", "swing.w"])
    sim.step(3)
    sim.dt = 0.04
    sim.step(2)
    assert run.value() == gone_on(sim)
    assert_slopes(sim, run, ["x", "swing.w"])


@pytest.mark.long
def test_tangents_of_a_later_run() -> None:
    for kind in ("leapfrog", "implicit_midpoint"):
        sim = system(kind)
        sim.step(WARM)
        run, h = rollout(sim), 1e-4
        (found,) = [run.end_tangents({"swing.w": np.array(1.0)})["x"]]
        ends = []
        for k in (-1, 1):
            before = sim.snapshot()
            put(sim, "swing.w", np.array(1.3 + k * h))
            sim.step(STEPS)
            ends.append(sim.fields["x"].values.copy())
            sim.restore(before)
            put(sim, "swing.w", np.array(1.3))
        np.testing.assert_allclose(found, (ends[1] - ends[0]) / (2 * h), rtol=1e-6, atol=1e-9)
        along = {"swing.w": np.array(1.0)}
        assert np.isfinite(run.curvature([along])).all()


# Supports, constraints --------------------------------------------------------------------------------

HOLDS = {
    "moving": {"velocity": [0.7, -0.2]},
    "ramp": {"displacement": [0.5, 0.1], "duration": 0.9},
    "turning": {"rotation": {"centre": [0.4, -0.3], "rate": 0.8}},
}


@pytest.mark.parametrize(
    ("kind", "hold"),
    sample(
        [(k, h) for k in ("leapfrog", "implicit_midpoint") for h in HOLDS],
        [("leapfrog", "moving"), ("implicit_midpoint", "turning")],
    ),
)
def test_supports_stay_where_they_are(kind: str, hold: str) -> None:
    sim = system(kind, bodies={"end": [0]}, holds=[{"name": "end", "body": "end", **HOLDS[hold]}])
    sim.step(WARM)
    there = sim.fields["x"].values.copy()
    run = rollout(sim)
    if kind == "leapfrog":
        assert run.value() == gone_on(sim)
    assert run.value() == pytest.approx(gone_on(sim), rel=1e-12)
    number = {"moving": "end.velocity", "ramp": "end.displacement", "turning": "end.rate"}[hold]
    assert_slopes(sim, run, ["x", "v", number])
    assert (sim.fields["x"].values == there).all()


@pytest.mark.long
def test_driven_constraints_go_on() -> None:
    @mg.constraint("wall", over="nodes", x=Node("m", ("d",)), u=Parameter("m/s"), t=Time())
    def wall(x, u, t):
        return x[0][0] - u * t - 0.1 * u * t * t

    x, v = X.copy(), V.copy()
    x[0, 0], v[0, 0] = 0.0, 0.4
    sim = system(
        "leapfrog",
        fields={"x": x, "v": v, "m": np.ones(3)},
        bodies={"end": [0]},
        constraints=[wall(u=0.4, body="end")],
    )
    sim.step(WARM)
    run = rollout(sim)
    assert run.value() == pytest.approx(gone_on(sim), rel=1e-12)
    _, found = run.evaluate(["swing.w"])
    wanted = slope(lambda c: gone_on(sim, c), "swing.w", np.array(1.3), np.array(1.0))
    assert found["swing.w"] == pytest.approx(wanted, rel=1e-7)


# Other steppers ---------------------------------------------------------------------------------------


@pytest.mark.long
def test_variational_steps_go_on() -> None:
    @mg.lagrangian("driven", over="nodes", q=Node("rad"), v=Velocity("rad/s"), a=Parameter("1"), t=Time())
    def driven(q, v, a, t):
        return 0.5 * (1.0 + 0.2 * ti.sin(t)) * v[0] ** 2 + a * ti.cos(q[0]) * (1.0 + t)

    @local_energy("angle", over="nodes", q=Node("rad"), v=Node("rad/s"))
    def angle(q, v):
        return q[0] ** 2 + q[0] * v[0]

    sim = mg.Simulation(
        fields={"q": np.array([0.3, 1.0]), "v": np.array([0.2, -0.1])},
        motions=[mg.Motion("q", "v")],
        lagrangians=[driven(a=1.5)],
        stepper=mg.Variational(dt=0.05, order=4),
        units="dimensionless",
    )
    sim.step(WARM)
    run = Rollout(sim.stepper, [Loss(Potential(sim.fields, [bind(angle, sim.fields)]), (STEPS,))], STEPS)
    loss, found = run.evaluate(["q", "driven.a"])

    def on(a: float) -> float:
        before = sim.snapshot()
        sim.lagrangian.set_parameter("driven.a", a)
        sim.step(STEPS)
        end = Potential(sim.fields, [bind(angle, sim.fields)]).value()
        sim.restore(before)
        sim.lagrangian.set_parameter("driven.a", 1.5)
        return end

    assert loss == pytest.approx(on(1.5), rel=1e-12)
    assert found["driven.a"] == pytest.approx((on(1.501) - on(1.499)) / 2e-3, rel=1e-5)


def test_programs_go_on() -> None:
    @mg.local_map("step", gives="y_next", over="nodes", y=Node(), a=Parameter(), t=Time())
    def step(y, a, t):
        return y[0] + 0.1 * a * t * y[0]

    @local_energy("goal", over="nodes", y=Node())
    def goal(y):
        return y[0] ** 2

    sim = mg.Simulation(
        fields={"y": np.array([1.0, 2.0])},
        maps=[step(a=0.5)],
        stepper=mg.Evolution(dt=0.1, next={"y": "y_next"}),
        units="dimensionless",
        run={"allow_dead": True},
    )
    sim.step(WARM)
    y, a, times = sim.fields["y"].values.copy(), 0.5, 0.1 * np.arange(WARM, WARM + STEPS)
    run = Rollout(sim.stepper, [Loss(Potential(sim.fields, [bind(goal, sim.fields)]), (STEPS,))], STEPS)
    loss, found = run.evaluate(["y", "step.a"])
    factor = np.prod(1.0 + 0.1 * a * times)
    assert loss == pytest.approx(np.sum((y * factor) ** 2), rel=1e-13)
    np.testing.assert_allclose(found["y"], 2 * y * factor**2, rtol=1e-12)
    slopes = np.sum(0.1 * times / (1.0 + 0.1 * a * times))
    assert found["step.a"] == pytest.approx(2 * np.sum((y * factor) ** 2) * slopes, rel=1e-12)


def test_gradient_flows_go_on() -> None:
    @local_energy("oven", over="nodes", T=Node("K"), k=Parameter("W/K"), t=Time())
    def oven(T, k, t):
        return 0.5 * k * (T[0] - 3.0 * t) ** 2

    sim = mg.Simulation(
        fields={"T": np.array([1.0, 0.0]), "C": np.array([2.0, 3.0])},
        energies=[oven(k=1.5)],
        stepper=mg.GradientFlow(dt=0.1, capacities={"T": "C"}),
        units="dimensionless",
    )
    sim.step(WARM)
    T, C, k = sim.fields["T"].values.copy(), np.array([2.0, 3.0]), 1.5
    for n in range(WARM, WARM + STEPS):
        T = (C * T / 0.1 + k * 3.0 * 0.1 * (n + 1)) / (C / 0.1 + k)

    @local_energy("hot", over="nodes", T=Node("K"))
    def hot(T):
        return T[0]

    run = Rollout(sim.stepper, [Loss(Potential(sim.fields, [bind(hot, sim.fields)]), (STEPS,))], STEPS)
    loss, found = run.evaluate(["T"])
    assert loss == pytest.approx(T.sum(), rel=1e-12)
    np.testing.assert_allclose(found["T"], (C / 0.1 / (C / 0.1 + k)) ** STEPS, rtol=1e-12)


@pytest.mark.long
def test_a_fit_begins_at_the_start_of_its_experiment(tmp_path, monkeypatch) -> None:
    """A simulation that was stepped is fitted as one that was not."""
    monkeypatch.chdir(tmp_path)
    rows = [(0.25, 0.3), (0.5, 0.5)]
    (tmp_path / "d.csv").write_text("time,x,y\n" + "".join(f"{t},{x},0.1\n" for t, x in rows))
    table = {
        "method": "gauss_newton",
        "iterations": 4,
        "parameters": {"swing.w": {"lower": 0.1}},
        "loss": [{"kind": "misfit", "field": "x", "body": "end", "sigma": 0.01, "data": "d.csv"}],
    }
    found = []
    for warm in (0, WARM):
        sim = system("leapfrog", bodies={"end": [0]}, fit=table, run={"steps": 10})
        sim.step(warm)
        (one,) = sim.fit(out=tmp_path / f"f{warm}").estimates.parameters
        found.append(list(one.values))
    assert found[0] == found[1]


# Energies ---------------------------------------------------------------------------------------------


def test_the_potential_of_a_simulation_knows_the_present_time() -> None:
    sim = system("leapfrog", dissipations=[wind(c=0.1)])
    begun = sim.potential.value()
    assert begun == sim.potential.value(0.0)
    sim.step(WARM)
    u, t = sim.potential, sim.time
    assert t > 0.3
    assert u.value(0.0) != u.value(t)
    assert u.value() == u.value(t)
    assert u.by_term() == u.by_term(t)
    assert u.magnitude() == u.magnitude(t)
    for wrt in ("x", "swing.k"):
        np.testing.assert_array_equal(u.gradient(wrt), u.gradient(wrt, t))
    assert (u.hessian("x") != u.hessian("x", t)).nnz == 0
    tangent = {"x": np.ones_like(X)}
    np.testing.assert_array_equal(u.product(tangent, "x"), u.product(tangent, "x", t))
    assert u.rate() == u.rate(t)
    assert sim.dissipation.value() == sim.dissipation.value(t)
    assert u.twin().value() == u.value(t)


@pytest.mark.long
def test_minimisers_and_other_programs_take_the_present_time() -> None:
    ase = pytest.importorskip("ase")
    from minusgrad.ase import Calculator

    x = np.pad(X, ((0, 0), (0, 1)))
    sim = system("leapfrog", fields={"x": x, "m": np.ones(3)})
    sim.step(WARM)
    atoms = ase.Atoms("H3", positions=sim.fields["x"].values)
    atoms.calc = Calculator(sim)
    assert atoms.get_potential_energy() == pytest.approx(sim.potential.value(sim.time), rel=1e-12)


# PyTorch ----------------------------------------------------------------------------------------------


def test_energies_of_tensors_take_the_present_time() -> None:
    pytest.importorskip("torch")
    import minusgrad.torch as mt

    sim = system("leapfrog")
    sim.step(WARM)
    now, wanted = sim.time, sim.potential.value(sim.time)
    for given in (sim, sim.potential):
        u = mt.energy(given)
        assert float(u()) == wanted
        assert float(u.start("t")) == now
        assert float(u(t=u.start("t") * 0.0)) == sim.potential.value(0.0)
        many = u.start("x")[None].repeat(2, 1, 1)
        assert u(x=many, batch=2).tolist() == [wanted, wanted]
    later = mt.energy(sim)
    sim.step(3)
    assert float(later()) == wanted, "inputs that are left out have their values of its construction"


@pytest.mark.filterwarnings("ignore:.*with friction")
@pytest.mark.parametrize(
    ("hold", "lanes"),
    sample([(h, lanes) for h in (None, "moving") for lanes in (True, False)], [(None, True)]),
)
def test_runs_of_tensors_begin_at_the_present_time(hold: str | None, lanes: bool) -> None:
    torch = pytest.importorskip("torch")
    import minusgrad.torch as mt

    held = (
        {} if hold is None else {"bodies": {"e": [0]}, "holds": [{"name": "e", "body": "e", **HOLDS[hold]}]}
    )
    sim, same = system("leapfrog", **held), system("leapfrog", **held)
    for one in (sim, same):
        one.step(WARM)
    wanted = {}
    for k in (1.3, 1.5):
        before = same.snapshot()
        put(same, "swing.w", np.array(k))
        same.step(STEPS)
        wanted[k] = same.fields["x"].values.copy()
        same.restore(before)
    run = mt.rollout(sim, STEPS, lanes=lanes)
    sim.step(2)
    np.testing.assert_array_equal(run()["x"].numpy(), wanted[1.3])
    w = torch.tensor([1.3, 1.5], dtype=torch.float64, requires_grad=True)
    x = run(**{"swing.w": w}, batch=2)["x"]
    np.testing.assert_allclose(x.detach().numpy(), [wanted[1.3], wanted[1.5]], rtol=1e-12)
    x[:, 1].sum().backward()
    h, ends = 1e-5, []
    for k in (-1, 1):
        before = same.snapshot()
        put(same, "swing.w", np.array(1.3 + k * h))
        same.step(STEPS)
        ends.append(same.fields["x"].values[1].sum())
        same.restore(before)
        put(same, "swing.w", np.array(1.3))
    assert float(w.grad[0]) == pytest.approx((ends[1] - ends[0]) / (2 * h), rel=1e-6)
