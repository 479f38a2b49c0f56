"""Charges in B = curl A(x): order, volume, |v|, symmetry, a magnetic bottle; and refused declarations."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from minusgrad import Datum, Node, Parameter, Time, ti, vector_potential
from minusgrad.adjoint.tangents import Sensitivity
from minusgrad.app.plugin_kit.check_process import examined
from minusgrad.energies.magnetic_field import uniform_field
from minusgrad.errors import EnergyError, TraceError
from minusgrad.steppers.magnetic import curl
from minusgrad.steppers.magnetic.curl import curl_error, field_function, spaces
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.symbolic.plain_python import evaluator
from tests.support.charges import PLACE, along, bottle, fields, moving, sheet, well
from tests.support.laws import assert_order, assert_splits

BOTTLE, SHEET = {"B0": 1.4, "length": 1.7}, {"B0": 0.9, "length": 1.3}
KINDS = pytest.mark.parametrize(("d", "field", "parameters"), [(3, bottle, BOTTLE), (2, sheet, SHEET)])


def by_hand(d: int, x: np.ndarray) -> np.ndarray:
    """B of the bottle, and of the sheet along its normal, as worked out on paper."""
    if d == 3:
        b, slope = 1.4 * (1.0 + (x[2] / 1.7) ** 2), 1.4 * x[2] / 1.7**2
        return np.array([-slope * x[0], -slope * x[1], b])
    return np.array([0.0, 0.0, 0.9 * np.cos(x[0] / 1.3) * x[1] ** 2 + 0.9])


@KINDS
def test_the_curl_is_that_on_paper(d, field, parameters):
    """In plain Python and compiled; a branch of A that adds a gradient changes nothing."""
    rng = np.random.default_rng(0)
    of = evaluator(field_function(field, d), several=True)
    for _ in range(20):
        x = rng.normal(size=d)
        found = np.atleast_1d(of({"x": [x], **parameters}))
        np.testing.assert_allclose(found, by_hand(d, x) if d == 3 else by_hand(d, x)[2:], atol=1e-14)
    error, text = curl_error(field, d)
    assert error < 1e-10, text
    assert spaces(field) == [d]


def reference(d: int, energies: bool, t: float) -> tuple[np.ndarray, np.ndarray]:
    """x and v of the charges at time t, by an adaptive Runge-Kutta method of order 8."""
    of = fields(d)
    m, q = of["m"].values, of["q"].values

    def rates(_: float, state: np.ndarray) -> np.ndarray:
        x, v = state.reshape(2, 3, d)
        space = np.pad(v, ((0, 0), (0, 3 - d)))
        force = q[:, None] * np.cross(space, [by_hand(d, one) for one in x])[:, :d]
        if energies:
            force = force - x - np.eye(d)[0] * 0.4 * x[:, :1] ** 3
        return np.concatenate([v.ravel(), (force / m[:, None]).ravel()])

    start = np.concatenate([of["x"].values.ravel(), of["v"].values.ravel()])
    found = solve_ivp(rates, (0.0, t), start, "DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
    return tuple(found.reshape(2, 3, d))  # type: ignore[return-value]


@KINDS
@pytest.mark.parametrize(
    ("scheme", "steps"),
    [("symplectic_euler", (800, 1600)), ("leapfrog", (100, 200, 400)), ("yoshida4", (80, 160))],
)
def test_the_order_is_that_of_the_scheme(d, field, parameters, scheme, steps, launches):
    """Yoshida's compositions of the symmetric step of order 2 keep theirs."""
    x, v = reference(d, True, 2.0)

    def error(n: int) -> float:
        of = fields(d)
        moving(of, scheme, 2.0 / n, field, parameters, energies={well: 1.0}).advance(n)
        return float(max(np.abs(of["x"].values - x).max(), np.abs(of["v"].values - v).max()))

    assert_order(error, SCHEMES[scheme].order, steps)


@KINDS
def test_the_splitting_alone_is_of_order_2(d, field, parameters):
    x, _ = reference(d, False, 2.0)

    def error(n: int) -> float:
        of = fields(d)
        moving(of, "leapfrog", 2.0 / n, field, parameters).advance(n)
        return float(np.abs(of["x"].values - x).max())

    assert_order(error, 2, (50, 100, 200))


@KINDS
@pytest.mark.parametrize("scheme", ["leapfrog", "yoshida4"])
def test_a_step_keeps_volume_in_phase_space(d, field, parameters, scheme):
    """The determinant of d(x, v)/d(x0, v0) after 30 steps is 1; neither block's alone is."""
    of = fields(d, nodes=1)
    one = moving(of, scheme, 0.3, field, parameters, energies={well: 1.0})
    start, names = one.state(), ("x", "v")
    begin, columns = {n: of[n].values.copy() for n in names}, []
    beside = Sensitivity(one, names)
    for k in range(2 * d):
        for name in names:
            of[name].set(begin[name])
        one.restore(start)
        unit = np.eye(2 * d)[k].reshape(2, 1, d)
        beside.start(dict(zip(names, unit, strict=True)))
        beside.advance(30)
        columns.append(np.concatenate([np.ravel(beside.tangents[n]) for n in names]))
    jacobian = np.array(columns).T
    assert abs(np.linalg.det(jacobian) - 1.0) < 1e-9
    assert abs(np.linalg.det(jacobian[:d, :d]) - 1.0) > 1e-2


@KINDS
def test_the_speed_stays_without_other_forces(d, field, parameters):
    of = fields(d)
    before = np.linalg.norm(of["v"].values, axis=1)
    moving(of, "yoshida4", 0.5, field, parameters).advance(1000)
    np.testing.assert_allclose(np.linalg.norm(of["v"].values, axis=1), before, rtol=3e-13)


@KINDS
def test_a_step_back_undoes_a_step(d, field, parameters, launches):
    of = fields(d)
    start = of["x"].values.copy()
    moving(of, "yoshida4", 0.1, field, parameters, energies={well: 1.0}).advance(40)
    assert np.abs(of["x"].values - start).max() > 0.1
    moving(of, "yoshida4", -0.1, field, parameters, energies={well: 1.0}).advance(40)
    np.testing.assert_allclose(of["x"].values, start, atol=1e-11)


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_bits_do_not_depend_on_the_cuts(precision, launches):
    assert_splits(lambda: moving(fields(3, precision=precision), "leapfrog", 0.1, bottle, BOTTLE,
                                 energies={well: 1.0}), 60)  # fmt: skip


def test_a_magnetic_bottle_keeps_its_charge():
    """The moment m v_perp^2 / (2 B) is an adiabatic invariant, and the charge turns where it says."""
    of = fields(3, nodes=1)
    of["x"].set([[0.02, 0.0, 0.0]])
    of["v"].set([[0.0, 1.0, 1.0]])
    B0, length = 60.0, 1.0
    one = moving(of, "leapfrog", 0.01, bottle, {"B0": B0, "length": length}, charge=of["m"].values.item())
    moments, heights = [], []
    for _ in range(400):
        one.advance(10)
        x, v = (of[n].values[0] for n in "xv")
        slope = B0 * x[2] / length**2
        B = np.array([-slope * x[0], -slope * x[1], B0 * (1.0 + (x[2] / length) ** 2)])
        size = np.linalg.norm(B)
        moments.append((v @ v - (v @ B / size) ** 2) / size)
        heights.append(x[2])
    assert np.ptp(moments) < 0.05 * np.mean(moments)
    turns = np.sum(np.diff(np.sign(heights)) != 0)
    assert turns > 10
    assert max(np.abs(heights)) == pytest.approx(length, rel=0.02)  # B0 (1 + z^2) = B0 v^2 / v_perp^2 = 2 B0


def test_a_uniform_potential_gives_the_uniform_field():
    """A = B x r / 2 by the splitting converges to the exact helix."""

    @vector_potential("symmetric_gauge", x=PLACE, B=Parameter("T", (3,)))
    def symmetric_gauge(x, B):
        return 0.5 * B.cross(x[0])

    exact = fields(3)
    moving(exact, "leapfrog", 2.0, uniform_field, along(3)).advance(1)

    def error(n: int) -> float:
        of = fields(3)
        moving(of, "leapfrog", 2.0 / n, symmetric_gauge, along(3)).advance(n)
        return float(np.abs(of["x"].values - exact["x"].values).max())

    assert_order(error, 2, (40, 80, 160))


# Declarations -------------------------------------------------------------------------------------------


@vector_potential("too_short", x=PLACE, B0=Parameter("T"))
def too_short(x, B0):
    return ti.Vector([B0 * x[0][1], B0])


@vector_potential("a_number", x=PLACE, B0=Parameter("T"))
def a_number(x, B0):
    return B0 * x[0][0]


@vector_potential("endless", x=PLACE, B0=Parameter("T"))
def endless(x, B0):
    k = 0.0
    while k < 1.0:
        k += B0
    return k * x[0]


def test_functions_that_are_no_vector_potential_are_refused():
    message = "vector potential 'too_short': must return a vector of 3 components here, got shape [2];"
    with pytest.raises(EnergyError) as refused:
        field_function(too_short, 3)
    assert str(refused.value) == f"{message} return ti.Vector([A_x, A_y, A_z])"
    assert spaces(too_short) == [2]
    with pytest.raises(EnergyError, match=r"^vector potential 'a_number': must return a vector of 3 "):
        spaces(a_number)
    with pytest.raises(TraceError, match=r"test_vector_potential.py:\d+: .*`while`"):
        spaces(endless)


WHY = "needs one place, a Node of shape ('d',), got"


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"x": PLACE, "q": Datum("C")},
         "q is a Datum: a field in space has no values of elements; use a Parameter"),
        ({"x": PLACE, "q": Time()},
         "q is a Time: a field that changes with the time also pushes along -dA/dt, which no rotation gives"),
        ({"x": PLACE, "q": Node("C")}, f"{WHY} x, q; make the others Parameters"),
        ({"x": Node("m"), "q": Parameter()}, f"{WHY} x; make the others Parameters"),
        ({"x": PLACE, "q": 3.0}, "q is a 3.0: use a Node for the place, and Parameters"),
    ],
)  # fmt: skip
def test_roles_that_a_field_does_not_have_are_refused(roles, message):
    def linear(x, q):
        return q * x[0]

    with pytest.raises(EnergyError) as refused:
        vector_potential("A", **roles)(linear)
    assert str(refused.value) == f"vector potential 'A': {message}"


@pytest.mark.parametrize("name", ["charge", "flow_x"])
def test_names_of_its_own_are_refused(name):
    with pytest.raises(EnergyError, match=f"^vector potential 'A': an argument cannot be called '{name}'"):
        vector_potential("A", x=PLACE, **{name: Parameter()})(lambda x, q: x)


# Checks -------------------------------------------------------------------------------------------------


FILE = """
from minusgrad import Node, Parameter, ti, vector_potential

@vector_potential("wiggler", x=Node("m", ("d",)), B0=Parameter("T"), k=Parameter("m^-1"))
def wiggler(x, B0, k):
    '''An undulator.'''
    return ti.Vector([B0 / k * ti.sin(k * x[0][2]), 0.0, 0.0])
"""


def test_check_asks_a_vector_potential_by_its_name(tmp_path, monkeypatch):
    """Its curl by differences, and every derivative of its flow; a wrong curl is found."""
    path = tmp_path / "wiggler.py"
    path.write_text(FILE)

    def wrong() -> list[tuple[str, str]]:
        ((name, more, questions),) = examined("wiggler", [], [str(path)])
        found = list(questions(lambda *_: None))
        assert (name, more) == ("wiggler", False)
        assert {"curl", "taylor", "path", "product", "value"} <= {f.question for f in found}
        assert {"x", "flow_v", "flow_mass", "charge", "B0", "k"} <= {f.argument for f in found}
        return [(f.argument, f.question) for f in found if not f.passed]

    assert wrong() == []
    right = curl.field_function

    def doubled(field, d):
        text = "def field(x, B0, k):\n    return 2.0 * right(x, B0, k)\n"
        return curl.function_from_source("field", text, {"right": right(field, d)})

    monkeypatch.setattr(curl, "field_function", doubled)
    assert wrong() == [("x", "curl")]
