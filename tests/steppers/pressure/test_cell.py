"""A box that moves at constant pressure: its equations, its order, its ensemble, and how a run of it ends."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from minusgrad import Fields, Hold, Node, Parameter, Potential, local_energy
from minusgrad.errors import EnergyError, RunFailedError
from minusgrad.plugin import Box
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.pressure.barostat import Barostat
from minusgrad.steppers.pressure.cell import exponential_less_one
from minusgrad.steppers.pressure.stress import Stress
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.stability.energy_balance import kinetic
from minusgrad.steppers.systems.system import System
from tests.support.elastic_box import (
    KT,
    MOTIONS,
    P,
    conserved,
    error_of_mean,
    slope_by_strain,
    stepper,
    values,
    wall,
)

# Equations -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [2, 3])
def test_the_stress_is_the_change_of_energy_with_strain(d: int) -> None:
    one = stepper(d, "flexible")
    stress = Stress(one.potential, MOTIONS, one.inertia)
    now = values(one)
    expected = slope_by_strain(now["x"], now["box"][0])
    np.testing.assert_allclose(stress.strain_derivative(one.gradient), expected, rtol=1e-8, atol=1e-8)
    motion = np.einsum("n,na,nb->ab", now["m"], now["v"], now["v"])
    np.testing.assert_allclose(stress.kinetic(), motion, rtol=1e-14)
    size = abs(np.linalg.det(now["box"][0]))
    np.testing.assert_allclose(stress.total(one.gradient), (expected - motion) / size, rtol=1e-7, atol=1e-8)


def projected(shape: str, matrix: np.ndarray) -> np.ndarray:
    if shape == "isotropic":
        return np.trace(matrix) / len(matrix) * np.eye(len(matrix))
    return np.diag(np.diag(matrix)) if shape == "orthorhombic" else (matrix + matrix.T) / 2.0


@pytest.mark.parametrize(("shape", "d"), [("isotropic", 3), ("orthorhombic", 2), ("flexible", 3)])
def test_it_follows_its_equations(shape: str, d: int) -> None:
    """Against a Runge-Kutta solution of them, whose forces are differences of U."""
    one = stepper(d, shape, dt=0.001)
    start, n = values(one), 4
    mass, w = start["m"], (n + 1) * KT * 1.0**2

    def rates(_, y):
        x, v = y[: n * d].reshape(n, d), y[n * d : 2 * n * d].reshape(n, d)
        box, p = y[2 * n * d :].reshape(2, d, d)
        pull, g = np.zeros_like(x), p / w
        pull = 0.8 * x
        pull[:, 0] += 0.32 * x[:, 0] ** 3
        push = np.einsum("n,na,nb->ab", mass, v, v) - slope_by_strain(x, box)
        push += (KT - P * abs(np.linalg.det(box))) * np.eye(d)
        parts = [v + x @ g, -pull / mass[:, None] - v @ g, box @ g, projected(shape, push)]
        return np.concatenate([part.ravel() for part in parts])

    y = np.concatenate([part.ravel() for part in (start["x"], start["v"], start["box"], np.zeros((d, d)))])
    end = solve_ivp(rates, (0.0, 0.6), y, method="DOP853", rtol=1e-10, atol=1e-11).y[:, -1]
    one.advance(600)
    now = values(one)
    p = one.state()["cell momentum"]
    found = np.concatenate([part.ravel() for part in (now["x"], now["v"], now["box"], p)])
    assert np.abs(end - y).max() > 0.5, "something moved"
    np.testing.assert_allclose(found, end, atol=3e-5)


ERRORS = {2: 2.2e-3, 4: 1e-5}
"""Largest errors with dt = 0.02, in parts of the kinetic energy that comes and goes. That of leapfrog is
(w dt)^2 / 8 for the frequency w: 6.6 here, as of the box, sqrt(16 U / W) with the quartic energy U = 10 and
W = 3.5. With order 4 it is about the square."""


@pytest.mark.parametrize(("scheme", "order"), [("leapfrog", 2), ("yoshida4", 4)])
@pytest.mark.parametrize(("shape", "d"), [("isotropic", 2), ("flexible", 3)])
def test_the_conserved_quantity_is_kept_at_the_order_of_the_scheme(scheme, order, shape, d) -> None:
    errors = []
    for dt in (0.04, 0.02):
        one = stepper(d, shape, scheme, dt)
        start, worst, moving = conserved(one), 0.0, []
        for _ in range(round(2.0 / dt)):
            one.advance(1)
            worst = max(worst, abs(conserved(one) - start))
            moving.append(kinetic(one))
        errors.append(worst)
    assert abs(np.log2(errors[0] / errors[1]) - order) < 0.25, errors
    assert errors[1] < ERRORS[order] * np.ptp(moving), (errors, np.ptp(moving))


def test_it_goes_back_where_it_came_from() -> None:
    one = stepper(3, "flexible")
    start = values(one)
    one.advance(100)
    assert np.abs(values(one)["box"] - start["box"]).max() > 0.1
    one.potential.fields["v"].set(-values(one)["v"])
    one.restore(one.state() | {"cell momentum": -one.state()["cell momentum"]})
    one.advance(100)
    for name in ("x", "box"):
        np.testing.assert_allclose(values(one)[name], start[name], atol=1e-12)


def test_the_series_is_the_exponential() -> None:
    s = np.random.default_rng(1).normal(size=(3, 3)) * 0.03
    rates, modes = np.linalg.eigh(s + s.T)
    expected = modes @ np.diag(np.expm1(rates)) @ modes.T
    np.testing.assert_allclose(exponential_less_one(s + s.T), expected, rtol=1e-13, atol=1e-16)
    assert not exponential_less_one(np.zeros((2, 2))).any()


# Ensemble --------------------------------------------------------------------------------------------


def test_an_ideal_gas_has_its_mean_volume() -> None:
    """(N + 1) kT / P with the variance (N + 1) (kT / P)^2, and the temperature of the bath."""
    n = 5
    one = stepper(3, n=n, terms=(), dt=0.25, friction=2.0, relaxation=0.7)
    one.advance(200)
    sizes, warm = [], []
    for _ in range(4800):
        one.advance(1)
        sizes.append(abs(np.linalg.det(one.potential.fields["box"].values[0])))
        warm.append(2.0 * kinetic(one) / (3 * n * KT))
    sizes, mean = np.array(sizes), (n + 1) * KT / P
    for series, expected in ((sizes, mean), ((sizes - mean) ** 2, mean * KT / P), (np.array(warm), 1.0)):
        assert abs(series.mean() - expected) < 3.0 * error_of_mean(series), (series.mean(), expected)
    assert 3.0 * error_of_mean(sizes) < 0.5 * KT / P, "N kT / P would be seen"


@local_energy("ties", over="nodes", x=Node("m", ("d",)), box=Box(), k=Parameter("N/m", default=0.35 / 3))
def ties(x, box, k):
    """Springs along the edges of a box that holds three particles: 0.35 tr(h' h) in all."""
    return k * box.norm_sqr() + 0.0 * x[0][0]


def test_a_flexible_box_of_an_ideal_gas_has_wishart_distributed_shapes() -> None:
    """Without pressure, and with U = c tr(h' h), boxes have the weight V^(N+1-d) exp(-c tr(h' h) / kT) dh.

    So W = h' h is a Wishart matrix of N + 1 degrees of freedom and scale s = kT / 2c: its trace is s times a
    chi^2 of d (N + 1) of them, and in the plane 4 det W / (tr W)^2, which depends on the shape alone, has the
    mean N / (N + 2) (Mauchly 1940, Ann. Math. Stat. 11, 204; moments as in Muirhead 1982, Aspects of
    Multivariate Statistical Theory, ch. 3).
    """
    nu, s = 4, KT / (2.0 * 0.35)
    one = stepper(2, "flexible", n=3, terms=(ties,), dt=0.2, friction=2.0, relaxation=0.7, pressure=0.0)
    one.advance(200)
    boxes = []
    for _ in range(3600):
        one.advance(1)
        boxes.append(one.potential.fields["box"].values[0].copy())
    w = np.einsum("sca,scb->sab", boxes, boxes)
    trace, det = np.trace(w, axis1=1, axis2=2), np.linalg.det(w)
    expected = [
        (trace, 2 * nu * s),
        (trace**2, 2 * nu * (2 * nu + 2) * s**2),
        (w[:, 0, 1] ** 2, nu * s**2),
        ((w[:, 0, 0] - w[:, 1, 1]) ** 2, 4 * nu * s**2),
        (det, nu * (nu - 1) * s**2),
        (4.0 * det / trace**2, (nu - 1) / (nu + 1)),
    ]
    for series, mean in expected:
        assert abs(series.mean() - mean) < 3.0 * error_of_mean(series) < 0.25 * mean
    assert 3.0 * error_of_mean(trace) < s, "V^N or V^(N+2) would be seen"


@pytest.mark.long
def test_an_elastic_box_has_its_mean_edges() -> None:
    """Of two edges, against a sum over their logarithms with the weight V^(N+1) exp(-(P V + U) / kT).

    Three standard errors are below a sixth of what the weight V^N would change, which a barostat has without
    the term kT: 14, 24 and 28 percent. With dt = 0.2 the mean volume was 1.3(4) percent too large.
    """
    n = 3
    one = stepper(2, "orthorhombic", n=n, terms=(wall,), dt=0.1, friction=2.0, relaxation=0.7)
    one.advance(400)
    edges = []
    for _ in range(80_000):
        one.advance(1)
        edges.append(np.diag(one.potential.fields["box"].values[0]).copy())
    logs = np.linspace(-5.0, 3.0, 1601)
    a, b = np.meshgrid(np.exp(logs), np.exp(logs), indexing="ij")
    u = 0.25 * (a**2 + b**2 - 0.3 * a * b)

    def means(power: int) -> list[float]:
        weight = (a * b) ** power * np.exp(-(P * a * b + u) / KT)
        return [(part * weight).sum() / weight.sum() for part in (a, a * a, a * b)]

    edges = np.array(edges)
    found = [edges[:, 0], edges[:, 1] ** 2, edges.prod(axis=1)]
    for series, mean, other in zip(found, means(n + 1), means(n), strict=True):
        error = 3.0 * error_of_mean(series)
        assert abs(series.mean() - mean) < error < (mean - other) / 6.0, (series.mean(), mean, error)


def test_heat_is_in_the_balance() -> None:
    """Energy and cell change by the heat that both baths give, at order 2 in dt."""
    off = []
    for dt in (0.04, 0.02):
        one = stepper(3, "flexible", dt=dt, friction=1.0)
        start = conserved(one)
        one.advance(round(1.0 / dt))
        heat = one.balance["heat"]
        assert one.state()["cell heat"][0] != 0.0 != one.state()["heat"][0]
        assert heat == one.state()["cell heat"][0] + one.state()["heat"][0]
        off.append(abs(conserved(one) - start) / abs(heat))
    assert max(off) < 0.02


# Runs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_a_run_in_pieces_has_the_same_bits(precision: str) -> None:
    whole, first, second = (stepper(3, "flexible", friction=1.0, precision=precision) for _ in range(3))
    whole.advance(12)
    first.advance(5)
    for name, field in first.potential.fields.items():
        second.potential.fields[name].set(field.values)
    second.restore(first.state())
    second.advance(3)
    second.advance(4)
    for name, field in whole.potential.fields.items():
        assert field.values.tobytes() == second.potential.fields[name].values.tobytes(), name
    assert {n: a.tobytes() for n, a in whole.state().items()} == {
        n: a.tobytes() for n, a in second.state().items()
    }


def test_single_precision_follows_double_precision() -> None:
    one, two = stepper(2, "flexible"), stepper(2, "flexible", precision="f32")
    one.advance(50)
    two.advance(50)
    for name in ("x", "v", "box"):
        np.testing.assert_allclose(values(two)[name], values(one)[name], atol=2e-5)


def test_another_seed_gives_another_box() -> None:
    one, two = stepper(friction=1.0), stepper(friction=1.0)
    two.cell.barostat.seed = 6
    one.advance(3)
    two.advance(3)
    assert not np.array_equal(values(one)["box"], values(two)["box"])


def test_a_box_that_collapses_ends_the_run_at_its_last_good_step() -> None:
    one = stepper(dt=0.2, pressure=300.0)
    text, good, code = "", {}, 0
    while not text:
        good = values(one) | one.state()
        try:
            one.advance(1)
        except RunFailedError as error:
            text, code = str(error), error.exit_code
    assert code == 3
    assert one.step < 100
    assert text.startswith(f"step {one.step + 1}: the box collapses: its edges change by ")
    assert text.endswith("use a smaller dt, a longer relaxation, or a start nearer to the pressure")
    now = values(one) | one.state()
    assert {n: a.tobytes() for n, a in good.items()} == {n: a.tobytes() for n, a in now.items()}
    whole = stepper(dt=0.2, pressure=300.0)
    with pytest.raises(RunFailedError, match=text.replace("(", r"\(").split(", got")[0]):
        whole.advance(100)
    assert whole.step == one.step


REFUSED = {
    "barostat: kT must be finite and above 0, got 0; correct it": lambda: Barostat(1.0, 0.0, 1.0),
    "barostat: relaxation must be finite and above 0, got -1; correct it": lambda: Barostat(1.0, 1.0, -1.0),
    "barostat: pressure must be finite, got inf; correct it": lambda: Barostat(np.inf, 1.0, 1.0),
    "barostat: friction must be finite and not negative, got -2; correct it": lambda: Barostat(
        1.0, 1.0, 1.0, -2.0
    ),
    "barostat: has no shape 'round'; choose one of isotropic, orthorhombic, flexible": lambda: Barostat(
        1.0, 1.0, 1.0, shape="round"
    ),
    "a splitting scheme: has no rule for a box that moves together with held nodes, got 'barostat', 'one';"
    " leave one of them out": lambda: stepper(holds=[Hold("one", "x", np.array([0]))]),
    "stepper 'Integrator': a run at constant pressure has no derivative; use leapfrog, at constant volume": (
        lambda: stepper().differentiable()
    ),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(EnergyError) as raised:
        REFUSED[text]()
    assert str(raised.value) == text


def test_without_a_box_there_is_no_pressure() -> None:
    fields = Fields({"x": np.ones((2, 3)), "v": np.ones((2, 3)), "m": np.ones(2)})
    text = "box: there is none, so nothing has a pressure; add .box. with its edges"
    with pytest.raises(EnergyError, match=text):
        Integrator(
            System(Potential(fields, []), MOTIONS, barostat=Barostat(1.0, 1.0, 1.0)), SCHEMES["leapfrog"], 0.1
        )


def test_positions_have_the_dimensions_of_the_box() -> None:
    fields = Fields({"x": np.ones((2, 3)), "v": np.ones((2, 3)), "m": np.ones(2), "box": np.eye(2)[None]})
    text = "stress: 'x' has values of shape .3., got a box of 2 dimensions; move positions in the box alone"
    with pytest.raises(EnergyError, match=text):
        Integrator(
            System(Potential(fields, []), MOTIONS, barostat=Barostat(1.0, 1.0, 1.0)), SCHEMES["leapfrog"], 0.1
        )
