"""Angles and dihedrals against paper: known shapes, closed-form gradients, periods of small molecules.

Where arms are nearly straight the exact formula is asked in 100 digits.
"""

from collections.abc import Callable, Sequence

import mpmath
import numpy as np
import pytest

from minusgrad import Fields, Motion, Potential, bind
from minusgrad.check import term_check
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from minusgrad_elastic import angles, springs
from tests.support.laws import assert_order
from tests.support.tiers import sampled

K = 3.0
SPACES = pytest.mark.parametrize("d", [2, 3])


def bent(x: Sequence | np.ndarray, rest: float = 0.0, precision: str = "f64", **more) -> Potential:
    """One angle at the middle one of three nodes."""
    fields = Fields({"x": np.array(x, float)} | more, precision=precision)
    given = {"tuples": [[0, 1, 2]], "data": {"rest": rest}, "parameters": {"stiffness": K}}
    return Potential(fields, [bind(angles.angle, fields, **given)])


def twisted(x: Sequence | np.ndarray, n: int = 1, phase: float = 0.0, k: float = K) -> Potential:
    """One dihedral over four nodes."""
    fields = Fields({"x": np.array(x, float)})
    given = {"data": {"multiplicity": n}, "parameters": {"stiffness": k, "phase": phase}}
    return Potential(fields, [bind(angles.dihedral, fields, tuples=[[0, 1, 2, 3]], **given)])


def arms(theta: float, d: int, lengths: tuple[float, float] = (0.7, 1.6)) -> np.ndarray:
    """Three nodes (3, d) with this angle at the middle one, turned (in space out of the plane), moved."""
    x = np.zeros((3, d))
    x[0, 0] = lengths[0]
    x[2, :2] = lengths[1] * np.array([np.cos(theta), np.sin(theta)])
    turn = np.linalg.qr(np.random.default_rng(d).normal(size=(d, d)))[0]
    return x @ turn.T + np.arange(1.0, d + 1.0)


def butane(phi: float) -> np.ndarray:
    """Four nodes (4, 3): seen from the first bond's end, the far bond is turned clockwise by phi.

    Who looks along +z and has +x to the right has +y below: clockwise is from x to y.
    """
    return np.array(
        [[1.1, 0.0, -0.4], [0.0, 0.0, 0.0], [0.0, 0.0, 1.5], [0.8 * np.cos(phi), 0.8 * np.sin(phi), 1.9]]
    )


def assert_no_force_and_no_torque(potential: Potential) -> None:
    x, g = potential.fields["x"].values, potential.gradient("x")
    size = np.abs(g).max()
    assert size > 0.01
    assert np.abs(g.sum(axis=0)).max() < 1e-14 * size * len(x)
    moment = np.einsum("ni,nj->ij", x, g)
    assert np.abs(moment - moment.T).max() < 1e-13 * size * np.abs(x).max()


# Angles -------------------------------------------------------------------------------------------------


@SPACES
@pytest.mark.parametrize("degrees", [0.0, 1e-4, 30.0, 60.0, 90.0, 109.47, 150.0, 179.9999, 180.0])
def test_known_angles(degrees: float, d: int) -> None:
    """U = k (theta - theta_0)^2 / 2, whichever way the arms point, and whichever comes first."""
    theta = np.radians(degrees)
    for x in (arms(theta, d), arms(-theta, d), arms(theta, d)[::-1], 1e3 * arms(theta, d)):
        for rest in (0.0, 0.5 * np.pi, np.pi):
            assert bent(x, rest).value() == pytest.approx(0.5 * K * (theta - rest) ** 2, rel=1e-9, abs=1e-13)
    by_rest = bent(arms(theta, d), 0.3).gradient("angle.rest")
    assert by_rest == pytest.approx([-K * (theta - 0.3)], rel=1e-9)


@SPACES
def test_the_force_of_an_angle_against_paper(d: int) -> None:
    """d theta / d x_i = (cos theta a/|a| - b/|b|) / (|a| sin theta): across the arm, 1 / |a| long."""
    rng = np.random.default_rng(1)
    for _ in range(10):
        x, rest = rng.normal(size=(3, d)), rng.uniform(0.0, np.pi)
        a, b = x[0] - x[1], x[2] - x[1]
        la, lb = np.linalg.norm(a), np.linalg.norm(b)
        theta = np.arccos(a @ b / (la * lb))
        slope = np.cos(theta)
        first = (slope * a / la - b / lb) / (la * np.sin(theta))
        last = (slope * b / lb - a / la) / (lb * np.sin(theta))
        assert np.linalg.norm(first) == pytest.approx(1.0 / la, rel=1e-9)
        expected = K * (theta - rest) * np.array([first, -first - last, last])
        potential = bent(x, rest)
        np.testing.assert_allclose(potential.gradient("x"), expected, rtol=1e-9, atol=1e-9)
        assert_no_force_and_no_torque(potential)


@SPACES
@pytest.mark.parametrize("rest", [0.0, np.pi])
def test_at_its_rest_a_straight_or_folded_angle_is_smooth(rest: float, d: int) -> None:
    """No force at rest; with the middle node h off the line U = k (h / p + h / q)^2 / 2."""
    for h in (0.0, 1e-30, 1e-9, 1e-7, 1e-4):
        x = np.zeros((3, d))
        x[0, 0], x[2, 0], x[1, 1] = -0.7, 1.6 if rest else -1.6, h
        ends = np.array([1.0 / 0.7, 1.0 / 1.6 if rest else -1.0 / 1.6])
        bend = abs(h * ends.sum())
        potential = bent(x, rest)
        assert potential.value() == pytest.approx(0.5 * K * bend**2, rel=1e-7, abs=0.0)
        g = potential.gradient("x")
        across = K * h * ends.sum() * np.array([-ends[0], ends.sum(), -ends[1]])
        np.testing.assert_allclose(g[:, 1], across, rtol=1e-7)
        assert np.abs(np.delete(g, 1, axis=1)).max() <= 1.001 * K * bend * h * ends[0] ** 2


@SPACES
@pytest.mark.parametrize("precision", sampled(["f64", "f32"], ["f64"]))
def test_a_straight_angle_that_wants_to_bend_has_no_direction_and_no_force(d: int, precision: str) -> None:
    x = np.zeros((3, d))
    x[:, 0] = -1.0, 0.5, 2.0
    potential = bent(x, 2.0, precision)
    assert potential.value() == pytest.approx(0.5 * K * (np.pi - 2.0) ** 2, rel=1e-6)
    assert potential.gradient("x").tolist() == np.zeros((3, d)).tolist()
    assert potential.gradient("angle.rest") == pytest.approx([-K * (np.pi - 2.0)], rel=1e-6)


# Stiffness where arms are flat: dbend = (-1/p, 1/p + 1/q, -1/q) across, q < 0 of arms that lie on each other

EPS = {"f64": 2.0**-52, "f32": 2.0**-23}
PRECISIONS = pytest.mark.parametrize("precision", EPS)
FLATS = pytest.mark.parametrize("flat", [0.0, np.pi], ids=["folded", "straight"])


def laid(flat: float, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Three nodes exactly on a line along no axis, and the stiffness there (3, d, 3, d) of k = 1."""
    along = np.array([3.0, 4.0] if d == 2 else [1.0, 2.0, 2.0])
    length = np.linalg.norm(along)
    places = np.array([-2.0, 0.0, 3.0 if flat else -3.0])
    p, q = -places[0] * length, places[2] * length
    dbend = np.array([-1.0 / p, 1.0 / p + 1.0 / q, -1.0 / q])
    across = np.eye(d) - np.outer(along, along) / length**2
    return places[:, None] * along + 1.0, np.einsum("i,j,ab->iajb", dbend, dbend, across)


def stiffness(potential: Potential) -> np.ndarray:
    """All second derivatives by x (n, d, n, d), a product for each column."""
    shape = potential.fields["x"].shape
    units = np.eye(np.prod(shape), dtype=potential.fields.dtype).reshape(-1, *shape)
    return np.stack([potential.product({"x": w}, "x") for w in units], axis=-1).reshape(*shape, *shape)


@SPACES
@FLATS
@PRECISIONS
@pytest.mark.parametrize("away", [0.0, 1e-5, 1.0])
def test_the_stiffness_of_flat_arms_against_paper(flat: float, d: int, away: float, precision: str) -> None:
    """k dbend (x) dbend, not zero; away from rest that of d^2 alone, the mean of both sides in the plane."""
    x, expected = laid(flat, d)
    found = stiffness(bent(x, abs(flat - away), precision))
    np.testing.assert_allclose(
        found, K * expected, rtol=0.0, atol=8.0 * EPS[precision] * K * np.abs(expected).max()
    )


@SPACES
@FLATS
@PRECISIONS
def test_near_flat_all_is_finite(flat: float, d: int, precision: str) -> None:
    """However little the arms lean, short or long; at rest the stiffness does not see it."""
    x = np.zeros((3, d))
    x[0, 0], x[2, 0] = -0.5, 1.5 if flat else -1.5
    size = K * (2.0 + (1.0 / 1.5 if flat else -1.0 / 1.5)) ** 2
    around = 10.0 ** -np.arange(15.0, 17.0, 0.1)  # where kinks end
    for length, rest in ((1.0, flat), (1.0, 2.0), (1e-3, 2.0)):
        potential = bent(x, rest, precision)
        for h in (0.0, *10.0 ** -np.arange(3.0, 46.0), *around, 1e-151, 1e-160, 1e-300, 5e-324):
            x[1, -1] = h
            potential.fields["x"].set(length * x)
            found = potential.value(), potential.gradient("x"), potential.gradient("angle.rest")
            stiff = stiffness(potential)
            assert all(np.isfinite(v).all() for v in (*found, stiff)), (h, length, rest)
            if rest == flat:
                across = pytest.approx(size, rel=max(8.0 * EPS[precision], 50.0 * h * h))
                assert stiff[1, -1, 1, -1] == across, h


def exact(rest: float) -> Callable[[np.ndarray], mpmath.mpf]:
    """U of three nodes as it is written, in any number of digits; a rest of pi is pi."""

    def of(x: np.ndarray) -> mpmath.mpf:
        a, b = x[0] - x[1], x[2] - x[1]
        area = (a @ a) * (b @ b) - (a @ b) ** 2  # Lagrange's identity: here are digits to lose
        return K * (mpmath.atan2(mpmath.sqrt(area), a @ b) - (mpmath.pi if rest == np.pi else rest)) ** 2 / 2

    return of


def exactly(x: np.ndarray, w: np.ndarray, rest: float) -> tuple[float, np.ndarray, np.ndarray]:
    """U, its gradient and its product with w, by differences in many digits."""
    at, along = (np.vectorize(mpmath.mpf, otypes=[object])(v.astype(float)) for v in (x, w))
    h, energy = mpmath.mpf(10) ** -25, exact(rest)
    gradient, product = np.zeros(x.shape), np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        unit = np.zeros(x.shape, dtype=int)
        unit[place] = 1
        (pp, pm), (mp, mm) = ([energy(at + s * h * unit + r * h * along) for r in (1, -1)] for s in (1, -1))
        gradient[place] = (pp + pm - mp - mm) / (4 * h)
        product[place] = (pp - pm - mp + mm) / (4 * h * h)
    return float(energy(at)), gradient, product


@SPACES
@FLATS
@PRECISIONS
@pytest.mark.parametrize("away", [0.0, 1.0])
def test_all_digits_on_both_sides_of_the_series(flat: float, d: int, away: float, precision: str) -> None:
    """Value, gradient and product against 100 digits, from near flat through the end of the series.

    A kink that is passed at the distance d bends U by 1 / d, and of this the digits are counted.
    """
    rng, rest, eps = np.random.default_rng(d), abs(flat - away), EPS[precision]
    dtype = np.dtype("f4" if precision == "f32" else "f8")
    around = np.sqrt(angles.NEAR) * np.array([0.5, 1.0 - 1e-5, 1.0 + 1e-5, 2.0])
    for lean in (1e-12, 1e-8, 1e-5, *around, 0.02, 0.3):
        x, w = np.zeros((3, d)), rng.normal(size=(3, d)).astype(dtype)
        x[0, 0], x[2, 0] = -0.75, 1.5 if flat else -1.5
        x[2, 1:] = 1.5 * np.tan(lean) * np.array([1.0] if d == 2 else [0.6, -0.8])
        x = x.astype(dtype)
        with mpmath.workdps(100):
            value, gradient, product = exactly(x, w, rest)
        potential = bent(x, rest, precision)
        assert potential.value() == pytest.approx(value, rel=8.0 * eps), lean
        size = np.abs(gradient).max()
        np.testing.assert_allclose(potential.gradient("x"), gradient, rtol=0.0, atol=8.0 * eps * size)
        size = K * 4.0 * np.abs(w).max() * (1.0 + away / lean)
        np.testing.assert_allclose(potential.product({"x": w}, "x"), product, rtol=0.0, atol=8.0 * eps * size)


@SPACES
@PRECISIONS
def test_a_right_angle_is_no_place_of_note(d: int, precision: str) -> None:
    """Where theta is as far from pi as from 0."""
    rng, eps = np.random.default_rng(d), EPS[precision]
    x = np.zeros((3, d)) + 1.0
    x[0, 0], x[2, -1] = 1.5, 3.0
    w = rng.normal(size=(3, d)).astype("f4" if precision == "f32" else "f8")
    with mpmath.workdps(100):
        value, gradient, product = exactly(x, w, 2.0)
    potential = bent(x, 2.0, precision)
    assert potential.value() == pytest.approx(value, rel=8.0 * eps)
    np.testing.assert_allclose(potential.gradient("x"), gradient, rtol=0.0, atol=16.0 * eps * K)
    np.testing.assert_allclose(potential.product({"x": w}, "x"), product, rtol=0.0, atol=64.0 * eps * K)


@SPACES
def test_the_frequency_of_a_straight_hinge(d: int) -> None:
    """w^2 = k/l^2 (2/m + 4/M) of a molecule m-M-m, once in the plane and twice in space; all else is free."""
    m, big, length = 1.3, 2.1, 0.8
    x = np.zeros((3, d))
    x[:, 0] = length * np.array([-1.0, 0.0, 1.0])
    roots = np.repeat(np.sqrt([m, big, m]), d)
    squares = np.linalg.eigvalsh(stiffness(bent(x, np.pi)).reshape(3 * d, 3 * d) / np.outer(roots, roots))
    expected = np.zeros(3 * d)
    expected[1 - d :] = K / length**2 * (2.0 / m + 4.0 / big)
    np.testing.assert_allclose(squares, expected, atol=1e-13 * expected[-1])


@SPACES
def test_bending_waves_of_a_straight_rod(d: int) -> None:
    """m w^2 = 16 k/l^2 sin^4(a / 2), a the phase from node to node: B a^4 / l^4 of a thin beam, B = k l."""
    n, length = 40, 0.25
    x = np.zeros((n, d))
    x[:, 0] = length * np.arange(n)
    fields = Fields({"x": x})
    joints = np.arange(n - 2)[:, None] + np.arange(3)
    rod = Potential(
        fields,
        [bind(angles.angle, fields, tuples=joints, data={"rest": np.pi}, parameters={"stiffness": K})],
    )
    for phase in (0.1, 1.0, 2.5, np.pi):
        wave = np.cos(phase * np.arange(n))[:, None]
        assert not rod.product({"x": wave * np.eye(d)[0]}, "x").any()  # along the rod nothing
        w = wave * np.arange(d)
        inner = rod.product({"x": w}, "x")[2:-2]
        square = 16.0 * K / length**2 * np.sin(0.5 * phase) ** 4
        np.testing.assert_allclose(inner, square * w[2:-2], rtol=0.0, atol=1e-13 * 16.0 * K / length**2)


def test_an_arm_of_length_zero_is_heard() -> None:
    assert not np.isfinite(bent([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]], 1.0).gradient("x")).all()


def molecule(steps: int, periods: float = 1.0) -> Integrator:
    """A straight molecule m-M-m, bent a little: its frequency is w^2 = k/l^2 (2/m + 4/M)."""
    m, big, length, h = 1.3, 2.1, 0.8, 1e-6
    share = h * np.array([1.0 / m, -2.0 / big, 1.0 / m])  # without momentum, and without spin
    x = np.stack([length * np.array([-1.0, 0.0, 1.0]), share, np.zeros(3)], axis=1)
    stepper = bent(x, np.pi, v=np.zeros((3, 3)), m=np.array([m, big, m]))
    period = 2.0 * np.pi / np.sqrt(K / length**2 * (2.0 / m + 4.0 / big))
    return Integrator(System(stepper, [Motion("x", "v", "m")]), SCHEMES["leapfrog"], periods * period / steps)


def test_the_period_of_a_bending_molecule() -> None:
    """Landau & Lifshitz, Mechanics, section 24: straight after a quarter, bent the other way after a half.

    Leapfrog is fast by (w h)^2 / 24 of the phase.
    """
    n = 2000
    stepper = molecule(n)
    y = stepper.potential.fields["x"]
    start = y.values[:, 1].copy()
    for quarter, expected in enumerate((0.0, -1.0, 0.0, 1.0), 1):
        stepper.advance(n // 4)
        phase = quarter * np.pi / 2.0 * (2.0 * np.pi / n) ** 2 / 24.0
        np.testing.assert_allclose(y.values[:, 1] / start, expected, atol=3.0 * phase + 1e-8)


def test_the_bending_molecule_converges_at_second_order() -> None:
    """At 0.3 of the period, no symmetry point."""

    def error(steps: int) -> float:
        stepper = molecule(steps, 0.3)
        start = stepper.potential.fields["x"].values[:, 1].copy()
        stepper.advance(steps)
        return np.abs(stepper.potential.fields["x"].values[:, 1] / start - np.cos(0.6 * np.pi)).max()

    assert_order(error, 2, (40, 80, 160))


def test_a_rod_of_springs_and_angles_sags_like_a_beam() -> None:
    """A chain, held by two nodes: a force F at its end lowers it by F l^2 / k sum_{j=1}^{n} j^2 of n joints,

    which is F L^3 / 3 B of a beam with B = k l. In that shape all nodes between are in balance.
    """
    n, length, force = 12, 0.1, 1e-5
    x = np.stack([length * np.arange(n + 2.0), np.zeros(n + 2)], axis=1)
    compliance = length**2 / K * sum(j * j for j in range(1, n + 1))
    assert compliance == pytest.approx((n * length) ** 3 / (3.0 * K * length), rel=0.15)
    for joint in range(1, n + 1):  # each turns all beyond it by its moment / k
        x[joint + 1 :, 1] -= force * length * (n + 1 - joint) / K * length * np.arange(1, n + 2 - joint)
    assert x[-1, 1] == pytest.approx(-force * compliance, rel=1e-12)
    fields = Fields({"x": x})
    joints = np.arange(n)[:, None] + np.arange(3)
    bends = bind(angles.angle, fields, tuples=joints, data={"rest": np.pi}, parameters={"stiffness": K})
    g = Potential(fields, [bends]).gradient("x")[:, 1]
    expected = np.zeros(n + 2)
    expected[-1] = -force  # the rod is held down by F, and all its inner nodes are in balance
    np.testing.assert_allclose(g[2:], expected[2:], atol=1e-7 * force)
    assert g[1] == pytest.approx(force * (n + 1), rel=1e-6)


# Dihedrals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 6])
@pytest.mark.parametrize("degrees", [0.0, 1e-5, 60.0, 90.0, 179.99, 180.0, -90.0, -60.0, -150.0])
def test_known_dihedrals(degrees: float, n: int) -> None:
    """cis 0, trans 180, clockwise positive; also read from the other end, turned, and moved."""
    phi, phase = np.radians(degrees), 0.4
    expected = K * (1.0 + np.cos(n * phi - phase))
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    turn *= np.linalg.det(turn)
    for x in (butane(phi), butane(phi)[::-1], butane(phi) @ turn.T + [5.0, -2.0, 1.0]):
        assert twisted(x, n, phase).value() == pytest.approx(expected, rel=1e-12, abs=1e-12)
    mirrored = twisted(butane(phi) * [1.0, -1.0, 1.0], n, phase).value()
    assert mirrored == pytest.approx(K * (1.0 + np.cos(n * phi + phase)), rel=1e-12, abs=1e-12)


def test_the_signs_of_dihedrals() -> None:
    """By hand: at +90 degrees sin phi = 1, so that k (1 + cos(phi - 90 deg)) is 2 k, and at -90 nothing."""
    assert twisted(butane(0.5 * np.pi), 1, 0.5 * np.pi).value() == pytest.approx(2.0 * K, rel=1e-14)
    assert twisted(butane(-0.5 * np.pi), 1, 0.5 * np.pi).value() == pytest.approx(0.0, abs=1e-14)
    assert twisted(butane(0.0)).value() == pytest.approx(2.0 * K, rel=1e-14)
    assert twisted(butane(np.pi)).value() == pytest.approx(0.0, abs=1e-14)


def by_blondel_and_karplus(x: np.ndarray) -> np.ndarray:
    """d phi / d x (4, 3): equations 27 of the paper, with F, G, H, A, B as there."""
    f, g, h = x[0] - x[1], x[1] - x[2], x[3] - x[2]
    a, b, size = np.cross(f, g), np.cross(h, g), np.linalg.norm(g)
    one, other = -size / (a @ a) * a, size / (b @ b) * b
    lean = (f @ g) / ((a @ a) * size) * a - (h @ g) / ((b @ b) * size) * b
    return np.array([one, -one + lean, -other - lean, other])


@pytest.mark.parametrize("n", [1, 3])
def test_the_force_of_a_dihedral_against_paper(n: int) -> None:
    """-n k sin(n phi - delta) d phi / dx; also where sin phi = 0, which is not singular."""
    rng = np.random.default_rng(2)
    for x in [*rng.normal(size=(10, 4, 3)), butane(0.0), butane(np.pi), butane(-0.5 * np.pi)]:
        near, far = np.cross(x[1] - x[0], x[2] - x[1]), np.cross(x[2] - x[1], x[3] - x[2])
        side = np.sign((x[1] - x[0]) @ far) or 1.0
        phi = side * np.arccos(np.clip(near @ far / np.linalg.norm(near) / np.linalg.norm(far), -1.0, 1.0))
        potential = twisted(x, n, 0.7)
        expected = -n * K * np.sin(n * phi - 0.7) * by_blondel_and_karplus(x)
        np.testing.assert_allclose(potential.gradient("x"), expected, rtol=1e-8, atol=1e-8)
        assert_no_force_and_no_torque(potential)
        by_phase = potential.gradient("dihedral.phase")
        assert by_phase == pytest.approx(K * np.sin(n * phi - 0.7), rel=1e-8)


def test_the_period_of_a_twisting_molecule() -> None:
    """Near trans, n = 1 and delta = 0: U = k phi'^2 / 2, between tops of inertia I: w^2 = k (1/I + 1/I').

    Each top is a pair of nodes on either side of an axis too heavy to move.
    """
    tilt, r, m = 1e-6, 0.9, 1.7
    x = np.array([[r, 0.0, 0.0], [-r, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    x = np.vstack(
        [x, [[-r * np.cos(tilt), r * np.sin(tilt), 1.0], [r * np.cos(tilt), -r * np.sin(tilt), 1.0]]]
    )
    heavy = 1e12
    fields = Fields({"x": x, "v": np.zeros((6, 3)), "m": np.array([m, m, heavy, heavy, m, m])})
    stiff = {"stiffness": 1e4}
    rods, ends = [[0, 2], [1, 2], [3, 4], [3, 5]], [[0, 2, 3, 4], [1, 2, 3, 5]]
    straight = [[0, 2, 1], [4, 3, 5], [0, 2, 3], [1, 2, 3], [2, 3, 4], [2, 3, 5]]
    rest = [np.pi, np.pi, *[0.5 * np.pi] * 4]
    terms = [
        bind(springs.spring, fields, tuples=rods, data={"rest": r}, parameters=stiff),
        bind(angles.angle, fields, tuples=straight, data={"rest": rest}, parameters=stiff),
        bind(
            angles.dihedral, fields, tuples=ends, data={"multiplicity": 1}, parameters={"stiffness": K / 2.0}
        ),
    ]
    period = 2.0 * np.pi / np.sqrt(K * 2.0 / (2.0 * m * r**2))
    n = 8000
    stepper = Integrator(
        System(Potential(fields, terms), [Motion("x", "v", "m")]), SCHEMES["leapfrog"], period / n
    )
    for expected in (0.0, -1.0, 0.0, 1.0):
        stepper.advance(n // 4)
        x = fields["x"].values
        twist = np.arctan2(x[4, 1], -x[4, 0]) + np.arctan2(x[0, 1], x[0, 0])
        assert twist / tilt == pytest.approx(expected, abs=2e-4)


# Judged -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "energy", sampled([angles.angle, angles.dihedral], [angles.angle]), ids=lambda e: e.name
)
def test_check_finds_nothing(energy) -> None:
    findings = list(term_check.of_energy(energy))
    assert len(findings) > 4
    assert [f for f in findings if not f.passed] == []


def test_check_finds_nothing_where_arms_are_straight() -> None:
    """At rest a smooth state; wanting to bend a kink, at which zero is the mean of both sides."""
    for rest in (np.pi, 2.0):
        potential = bent([[-1.0, 0.0], [0.5, 0.0], [2.0, 0.0]], rest)
        assert [f for f in term_check.of_potential(potential) if not f.passed] == []
