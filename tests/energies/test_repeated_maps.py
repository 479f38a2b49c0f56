"""Repeated maps: Jacobi sweeps against NumPy, derivatives through all sweeps, and what is refused."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minusgrad import (
    Datum,
    Fields,
    Grid,
    Loss,
    Node,
    Parameter,
    Potential,
    Rollout,
    bind,
    local_energy,
    local_map,
    repeated,
    ti,
)
from minusgrad.adjoint.checks.first_step import of_program
from minusgrad.check import term_check
from minusgrad.engine import kernels
from minusgrad.errors import EnergyError, NonFiniteError
from minusgrad.plugin import Evolution, Slope
from minusgrad.steppers.systems.system import System
from tests.support.programs import differences

SHAPE = (6, 5)
N = 30


@local_map(
    "jacobi",
    gives="p",
    over="cells",
    edges="zero",
    p=Node(),
    div=Node(),
    k=Parameter(default=0.25),
    b=Datum(),
)
def jacobi(p, div, k, b):
    """A sweep for the Poisson equation, with weights and a bend, so that all second derivatives exist."""
    s = k * (p[1, 0] + p[-1, 0] + p[0, 1] + p[0, -1]) - b * div[0, 0]
    return s + 0.1 * ti.sin(s) * k


@local_energy("pressure", over="nodes", p=Node(), w=Node())
def pressure(p, w):
    """Weighted squares."""
    return 0.5 * w[0] * p[0] * p[0]


@local_map("halved", gives="y", over="nodes", y=Node(shape=()), x=Node(), k=Parameter())
def halved(y, x, k):
    """Towards k x."""
    return 0.5 * (y[0] + k * x[0] * y[0] + x[0])


def plate(precision: str = "f64", **more: Any) -> Fields:
    rng = np.random.default_rng(0)
    return Fields({"div": rng.normal(size=N), "w": rng.uniform(0.5, 1.5, N), **more}, None, precision)


def poisson(of: Fields, times: int = 10, **options: Any) -> Potential:
    data = {"b": np.linspace(0.2, 0.3, N)}
    maps = repeated(jacobi, of, times, grid=Grid(SHAPE), data=data, **options)
    return Potential(of, [bind(pressure, of)], maps)


def poisson_in_numpy(of: Fields, times: int = 10, k: float = 0.25, start: Any = 0.0) -> np.ndarray:
    div, b = (np.asarray(a).reshape(SHAPE) for a in (of["div"].values, np.linspace(0.2, 0.3, N)))
    p = np.broadcast_to(np.asarray(start, float).reshape(SHAPE) if np.ndim(start) else start, SHAPE)
    for _ in range(times):
        a = np.pad(p, 1)
        s = k * (a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2]) - b * div
        p = s + 0.1 * np.sin(s) * k
    return p.ravel()


def loss_in_numpy(of: Fields, **options: Any) -> float:
    return float((0.5 * of["w"].values * poisson_in_numpy(of, **options) ** 2).sum())


@pytest.mark.parametrize("times", [1, 2, 10])
def test_sweeps_begin_at_zero(times: int) -> None:
    u = poisson(plate(), times)
    u.refresh()
    expected = poisson_in_numpy(u.fields, times)
    np.testing.assert_allclose(u.fields["p"].values, expected, rtol=1e-14, atol=1e-15)
    u.refresh()
    np.testing.assert_allclose(u.fields["p"].values, expected, rtol=1e-14, atol=1e-15)


def test_sweeps_begin_at_a_field() -> None:
    start = np.random.default_rng(1).normal(size=N)
    u = poisson(plate(guess=start), 3, begin="guess")
    u.refresh()
    expected = poisson_in_numpy(u.fields, 3, start=start)
    np.testing.assert_allclose(u.fields["p"].values, expected, rtol=1e-14, atol=1e-15)
    guess = u.fields["guess"]
    differ = differences(lambda: loss_in_numpy(u.fields, times=3, start=guess.values), guess.set, start)
    np.testing.assert_allclose(u.gradient("guess"), differ, rtol=1e-7, atol=1e-9)


def test_derivatives_go_through_all_sweeps_under_one_name() -> None:
    u = poisson(plate())
    of, k = u.fields, [0.25]

    def loss() -> float:
        return loss_in_numpy(of, k=k[0])

    assert u.value() == pytest.approx(loss(), rel=1e-14)
    np.testing.assert_allclose(
        u.gradient("div"), differences(loss, of["div"].set, of["div"].values), rtol=1e-7, atol=1e-9
    )
    by_k = differences(loss, lambda a: k.__setitem__(0, float(a)), np.array(0.25))
    assert u.gradient("jacobi.k") == pytest.approx(by_k, rel=1e-7)
    rng = np.random.default_rng(2)
    puts: dict[str, Callable] = {"div": of["div"].set, "jacobi.k": lambda a: u.set_parameter("jacobi.k", a)}
    for name, put in puts.items():
        start = np.array(of[name].values if name in of else u.parameter(name))
        w, pair = rng.normal(size=start.shape), []
        for sign in (1.0, -1.0):
            put(start + sign * 1e-6 * w)
            pair.append({other: u.gradient(other) for other in puts})
        put(start)
        for other in puts:
            slope = (pair[0][other] - pair[1][other]) / 2e-6
            np.testing.assert_allclose(u.product({name: w}, other), slope, rtol=1e-6, atol=1e-6)
    assert list(u.parts) == ["pressure", "jacobi"]
    assert repr(u).startswith("Potential(pressure, map jacobi; Fields(")


def test_sweeps_are_compiled_once() -> None:
    counts = []
    for times in (4, 9):
        before = kernels.compiled_count()
        u = poisson(plate("f32"), times)
        u.gradient("div")
        u.gradient("jacobi.k")
        u.product({"div": np.ones(N)}, "div")
        counts.append(kernels.compiled_count() - before)
    assert 0 < counts[0] < 20
    assert counts[1] == 0


def test_fields_between_sweeps_have_names_of_their_own() -> None:
    """Also where a map gives a field that is called like one of its sweeps, or like the adjoint of one."""

    @local_map("p", gives="p_1", over="nodes", p_1=Node(), before=Node(), k=Parameter())
    def p(p_1, before, k):
        return k * p_1[0] * p_1[0] + before[0]

    start = np.array([0.2, 0.5, -0.3])
    of = Fields({"before": start, "w": np.ones(3)})
    maps = repeated(p, of, 2, parameters={"k": 0.7})
    u = Potential(of, [bind(pressure, of, renamed={"p": "p_1"})], maps)
    x = of["before"].values
    assert u.value() == pytest.approx(float(0.5 * ((0.7 * x * x + x) ** 2).sum()), rel=1e-14)
    expected = (0.7 * x * x + x) * (1.4 * x + 1.0)
    np.testing.assert_allclose(u.gradient("before"), expected, rtol=1e-14)


def test_a_twin_has_parameters_of_its_own() -> None:
    u = poisson(plate())
    twin = u.twin()
    before = twin.writes
    twin.set_parameter("jacobi.k", 0.2)
    assert twin.writes > before
    assert twin.value() == pytest.approx(loss_in_numpy(u.fields, k=0.2), rel=1e-14)
    assert u.value() == pytest.approx(loss_in_numpy(u.fields), rel=1e-14)


@local_map("stepped", gives="div_next", over="nodes", div=Node(), p=Node())
def stepped(div, p):
    """What the pressure leaves."""
    return 0.9 * div[0] - 0.3 * p[0]


def test_a_program_with_sweeps_goes_back() -> None:
    of = plate()
    solved = repeated(jacobi, of, 3, grid=Grid(SHAPE), data={"b": 0.25})
    u = Potential(of, [], [*solved, bind(stepped, of)])
    one = Evolution(System(u), {"div": "div_next"})
    loss = Potential(of, [bind(pressure, of, renamed={"p": "div"})])
    run = Rollout(one, [Loss(loss, (2, 4))], 4)
    _, found = run.evaluate(["div", "jacobi.k"])
    by_div = differences(run.value, of["div"].set, of["div"].values)
    np.testing.assert_allclose(found["div"], by_div, rtol=1e-7, atol=1e-8)
    by_k = differences(run.value, lambda a: u.set_parameter("jacobi.k", a), np.array(0.25))
    assert found["jacobi.k"] == pytest.approx(by_k, rel=1e-7)
    findings = list(of_program(one))
    assert [f.text for f in findings if not f.passed] == []
    assert "jacobi.k" in {f.argument for f in findings}
    assert [f.text for f in term_check.of_potential(u) if not f.passed] == []


def test_the_transpose_of_sweeps() -> None:
    """g = (dy/dx)' V of all sweeps, and its own derivative, by differences."""
    rng = np.random.default_rng(4)
    of = Fields({"x": rng.uniform(0.1, 0.5, 4), "V": rng.normal(size=4), "c": rng.normal(size=4)})
    maps = repeated(halved, of, 5, parameters={"k": 0.7})
    slope = Slope("gather", Potential(of, [], maps, frozen=True), {"x": "g"}, paired={"y": "V"})

    @local_energy("weighed", over="nodes", g=Node(), c=Node())
    def weighed(g, c):
        return g[0] * c[0]

    u = Potential(of, [bind(weighed, of)], [*maps, slope])

    def y() -> np.ndarray:
        found, x = np.zeros(4), of["x"].values
        for _ in range(5):
            found = 0.5 * (found + 0.7 * x * found + x)
        return found

    u.refresh()
    g = differences(lambda: float(y() @ of["V"].values), of["x"].set, of["x"].values)
    np.testing.assert_allclose(of["g"].values, g, rtol=1e-8)
    for name in ("x", "V"):
        expected = differences(u.value, of[name].set, of[name].values)
        np.testing.assert_allclose(u.gradient(name), expected, rtol=1e-6, atol=1e-8)
    by_k = differences(u.value, lambda a: u.set_parameter("halved.k", a), np.array(0.7))
    assert u.gradient("halved.k") == pytest.approx(by_k, rel=1e-6)


@local_map("mixed", gives="u", over="cells", edges="periodic", shape=("d",), u=Node(shape=("d",)),
           f=Node(shape=("d",)), k=Parameter())  # fmt: skip
def mixed(u, f, k):
    """A sweep of vectors, whose components meet."""
    return k * (u[1, 0] + u[0, -1] * u[0, 0][1]) + f[0, 0]


@local_energy("length", over="nodes", u=Node(shape=("d",)))
def length(u):
    """Squares."""
    return u[0].norm_sqr()


def test_sweeps_of_vectors() -> None:
    f = np.random.default_rng(5).normal(size=(N, 2))
    of = Fields({"f": f})
    maps = repeated(mixed, of, 3, parameters={"k": 0.3}, grid=Grid(SHAPE))
    u = Potential(of, [bind(length, of)], maps)

    def loss(k: float = 0.3) -> float:
        v, g = np.zeros((*SHAPE, 2)), of["f"].values.reshape(*SHAPE, 2)
        for _ in range(3):
            v = k * (np.roll(v, -1, 0) + np.roll(v, 1, 1) * v[..., 1:]) + g
        return float((v * v).sum())

    assert u.value() == pytest.approx(loss(), rel=1e-14)
    np.testing.assert_allclose(u.gradient("f"), differences(loss, of["f"].set, f), rtol=1e-6, atol=1e-7)
    assert u.gradient("mixed.k") == pytest.approx((loss(0.3 + 1e-6) - loss(0.3 - 1e-6)) / 2e-6, rel=1e-7)


def test_a_function_of_tensors() -> None:
    torch = pytest.importorskip("torch")
    import minusgrad.torch

    u = poisson(plate(), 4)
    energy = minusgrad.torch.energy(u)
    inputs = {"div": u.fields["div"].values.copy(), "jacobi.k": np.array(0.25)}
    given = {name: torch.tensor(values, requires_grad=True) for name, values in inputs.items()}
    energy(**given).backward()
    for name, tensor in given.items():
        np.testing.assert_array_equal(tensor.grad.numpy(), u.gradient(name))


@local_map("burst", gives="p", over="cells", edges="zero", p=Node(), q=Node())
def burst(p, q):
    """Leaves the range in the second sweep."""
    return q[0, 0] + 1e200 * (p[1, 0] + q[0, 0]) + 1e200 * p[0, 0]


@local_map("added", gives="q_next", over="nodes", p=Node(), q=Node())
def added(p, q):
    """What the sweeps give."""
    return q[0] + p[0]


def test_the_sweep_that_is_not_finite_is_named() -> None:
    of = Fields({"q": np.ones(N)})
    u = Potential(of, [], [*repeated(burst, of, 4, grid=Grid(SHAPE)), bind(added, of)])
    with pytest.raises(
        NonFiniteError, match=r"^step 1: map 'burst \(sweep 2\)', output '1_burst_2', node 0 is not"
    ):
        Evolution(System(u), {"q": "q_next"}).advance(2)


@local_map("alone", gives="y", over="nodes", y=Node())
def alone(y):
    return y[0]


BAD = {
    "jacobi.repeat: needs a number of sweeps of 1 or more, got 0; correct it": lambda: poisson(plate(), 0),
    "jacobi.repeat: needs a number of sweeps of 1 or more, got 2.5; correct it": lambda: poisson(
        plate(), 2.5
    ),
    "jacobi.repeat: needs a map that reads its own output 'q', got one that reads p, div; leave `repeat` out,"
    " or name the argument in `fields`": lambda: poisson(plate(), 2, gives="q"),
    "pressure.repeat: only a map is repeated, got an energy; leave `repeat` out": lambda: repeated(
        pressure, plate(), 2
    ),
    "alone.repeat: needs to know the shape of zeros, got a map that reads nothing but its output; name a"
    " field in `begin`": lambda: repeated(alone, plate(), 2),
    "no field named 'guess' (there are: div, w)": lambda: poisson(plate(), 2, begin="guess"),
}


@pytest.mark.parametrize("text", BAD)
def test_refused_in_so_many_words(text: str) -> None:
    with pytest.raises(EnergyError, match=f"^{re.escape(text)}$"):
        BAD[text]()


def test_the_start_has_the_length_of_the_other_fields() -> None:
    with pytest.raises(EnergyError, match=r"^jacobi: its node fields must have one length"):
        poisson(plate(guess=np.zeros(7)), 2, begin="guess")


def test_a_name_without_its_map_is_explained() -> None:
    u = poisson(plate())
    with pytest.raises(
        EnergyError, match=r"'jacob'; did you mean 'jacobi'\? \(there are: pressure, jacobi\)$"
    ):
        u.gradient("jacob.k")
    with pytest.raises(EnergyError, match=r"^'k': needs the name .* got none; write 'jacobi.k'$"):
        u.gradient("k.x")
