"""Normal modes against closed forms: chains of springs, a bent molecule, pairs of atoms, what grows.

References: Born & von Karman's chain, omega = 2 sqrt(k/m) sin(q/2); Wilson's GF method for a molecule XY2.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.sparse import block_diag, csr_array, diags_array, eye_array
from scipy.sparse.linalg import eigsh

from minusgrad import (
    Fields,
    Hold,
    Motion,
    Node,
    Parameter,
    Potential,
    Stage,
    bind,
    bind_staged,
    local_energy,
    local_map,
    staged_energy,
    ti,
)
from minusgrad.errors import EnergyError
from minusgrad.plugin import Cutoff
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.stability.lowest_eigenpairs import DENSE, lowest_eigenpairs
from minusgrad.steppers.stability.normal_modes import NormalModes, normal_modes
from minusgrad_elastic.springs import spring

MOTION = (Motion("x", "v", "m"),)
DIGITS = {"f64": 1e-12, "f32": 1e-5}
K, MASS = 3.0, 0.7


@local_energy(
    "lennard_jones", over="pairs", x=Node("m", ("d",)), epsilon=Parameter("J"), sigma=Parameter("m")
)
def lennard_jones(x, epsilon, sigma):
    s = (sigma * sigma / (x[0] - x[1]).norm_sqr()) ** 3
    return 4.0 * epsilon * (s * s - s)


@local_energy("hill", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m"))
def hill(x, k):
    return -0.5 * k * x[0].norm_sqr()


@local_map("density", gives="rho", over="pairs", x=Node("m", ("d",)), reach=Parameter("m"))
def density(x, reach):
    r = x[0] - x[1]
    return ti.exp(-r.dot(r) / (reach * reach))


@local_energy("embedding", over="nodes", rho=Node(), depth=Parameter("J"))
def embedding(rho, depth):
    return -depth * ti.sqrt(rho[0])


def fields(x: np.ndarray, m: np.ndarray | float = MASS, precision: str = "f64") -> Fields:
    mass = np.broadcast_to(np.asarray(m, float), len(x)).copy()
    return Fields({"x": x, "v": np.zeros_like(x), "m": mass}, precision=precision)


def joined(of: Fields, pairs: np.ndarray, rest: np.ndarray | float, stiffness: float = K) -> Potential:
    bound = bind(
        spring, of, tuples=pairs, data={"rest": rest}, parameters={"stiffness": stiffness}, name="springs"
    )
    return Potential(of, [bound])


def chain(n: int, precision: str = "f64") -> Potential:
    """Nodes on a line, a metre apart."""
    pairs = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    return joined(fields(np.arange(float(n))[:, None], precision=precision), pairs, 1.0)


def found(potential: Potential, count: int = 30, holds: tuple[Hold, ...] = ()) -> NormalModes:
    return normal_modes(potential, MOTION, Holds(potential.fields, holds, MOTION), count=count)


def of_chain(q: np.ndarray) -> np.ndarray:
    return 2.0 * np.sqrt(K / MASS) * np.sin(q / 2.0) / (2.0 * np.pi)


@pytest.mark.parametrize("precision", DIGITS)
def test_a_chain_between_walls(precision: str) -> None:
    """The ends are held: 18 unknowns, q = k pi / 19."""
    n = 20
    ends = (Hold("walls", "x", np.array([0, n - 1])),)
    modes = found(chain(n, precision), holds=ends)
    assert modes.total == len(modes) == n - 2
    expected = of_chain(np.arange(1, n - 1) * np.pi / (n - 1))
    assert modes.frequencies == pytest.approx(expected, rel=DIGITS[precision])
    assert not modes.zero.any()
    assert not modes.unstable.any()
    assert (modes.shapes["x"][:, [0, n - 1]] == 0.0).all()
    lowest = modes.shapes["x"][0, :, 0]
    sine = np.sin(np.pi * np.arange(n) / (n - 1))
    assert lowest / np.abs(lowest).max() == pytest.approx(sine / sine.max(), abs=100 * DIGITS[precision])
    kinetic = np.einsum("kna,lna->kl", modes.shapes["x"], modes.shapes["x"]) * MASS
    assert kinetic == pytest.approx(np.eye(n - 2), abs=10 * DIGITS[precision])


@pytest.mark.parametrize("precision", DIGITS)
def test_a_long_free_chain_by_its_sparse_matrix(precision: str) -> None:
    """More unknowns than are diagonalised: q = k pi / n, and the chain as a whole is free."""
    n, count = DENSE + 400, 8
    modes = found(chain(n, precision), count)
    assert (modes.total, len(modes)) == (n, count)
    assert modes.zero.tolist() == [True] + [False] * (count - 1)
    expected = of_chain(np.arange(1, count) * np.pi / n)
    assert modes.frequencies[1:] == pytest.approx(expected, rel=max(DIGITS[precision], 1e-8))
    again = found(chain(n, precision), count)
    assert (again.eigenvalues.tobytes(), again.shapes["x"].tobytes()) == (
        modes.eigenvalues.tobytes(),
        modes.shapes["x"].tobytes(),
    )


@pytest.mark.parametrize("precision", DIGITS)
def test_a_bent_molecule(precision: str) -> None:
    """XY2 with bonds k and a spring between its ends k2: the roots of Wilson's GF, and three zero modes."""
    angle, bond, heavy, light, k2 = 1.8, 0.96, 16.0, 1.0, 0.4
    ends = [[bond, 0.0], [bond * np.cos(angle), bond * np.sin(angle)]]
    of = fields(np.array([[0.0, 0.0], *ends]), np.array([heavy, light, light]), precision)
    across = float(np.linalg.norm(np.subtract(*ends)))
    bonds = bind(
        spring, of, tuples=[[0, 1], [0, 2]], data={"rest": bond}, parameters={"stiffness": K}, name="b"
    )
    last = bind(spring, of, tuples=[[1, 2]], data={"rest": across}, parameters={"stiffness": k2}, name="e")
    modes = found(Potential(of, [bonds, last]))
    sine = np.sqrt(2.0) * np.sin(angle / 2.0) / light
    g = np.array([[1.0 / light + (1.0 + np.cos(angle)) / heavy, sine], [sine, 2.0 / light]])
    symmetric = np.linalg.eigvals(np.diag([K, k2]) @ g)
    odd = K * (1.0 / light + (1.0 - np.cos(angle)) / heavy)
    assert modes.zero.tolist() == [True] * 3 + [False] * 3
    assert (modes.frequencies[:3] == 0.0).all()
    assert modes.eigenvalues[3:] == pytest.approx(sorted([*symmetric, odd]), rel=10 * DIGITS[precision])


@pytest.mark.parametrize("precision", DIGITS)
def test_two_lennard_jones_atoms(precision: str) -> None:
    """At r = 2^(1/6) sigma the stiffness is 72 epsilon / (2^(1/3) sigma^2); the reduced mass is m / 2."""
    epsilon, sigma = 0.3, 1.7
    of = fields(np.array([[0.0, 0.0, 0.0], [2 ** (1 / 6) * sigma, 0.0, 0.0]]), precision=precision)
    atoms = Potential(of, [bind(lennard_jones, of, parameters={"epsilon": epsilon, "sigma": sigma})])
    modes = found(atoms)
    stiffness = 72.0 * epsilon / (2.0 ** (1 / 3) * sigma**2)
    assert modes.at_rest
    assert modes.zero.tolist() == [True] * 5 + [False]
    assert modes.eigenvalues[5] == pytest.approx(2.0 * stiffness / MASS, rel=10 * DIGITS[precision])


def test_a_place_that_is_no_minimum() -> None:
    """Beyond the inflection the atoms part, and the gradient says that they are not at rest."""
    of = fields(np.array([[0.0, 0.0], [1.5, 0.0]]))
    atoms = Potential(of, [bind(lennard_jones, of, parameters={"epsilon": 1.0, "sigma": 1.0})])
    modes = found(atoms)
    r = 1.5
    bent = 4.0 * (156.0 / r**14 - 42.0 / r**8)
    force = 4.0 * (6.0 / r**7 - 12.0 / r**13)
    assert not modes.at_rest
    assert modes.gradient == {"x": pytest.approx(force, rel=1e-12)}
    assert modes.eigenvalues[0] == pytest.approx(2.0 * bent / MASS, rel=1e-12)
    assert modes.unstable.tolist() == [True, False, False, False]
    assert modes.frequencies[0] == pytest.approx(-np.sqrt(-2.0 * bent / MASS) / (2.0 * np.pi), rel=1e-12)


def test_unstable_modes_of_a_sparse_matrix() -> None:
    """On a hill every mode of the chain is lowered: lambda = (4 k sin(q/2)^2 - h) / m."""
    n, count, h = DENSE + 200, 6, 2e-5
    of = fields(np.arange(float(n))[:, None] - 0.5 * (n - 1))
    pairs = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    bound = bind(spring, of, tuples=pairs, data={"rest": 1.0}, parameters={"stiffness": K})
    modes = found(Potential(of, [bound, bind(hill, of, parameters={"k": h})]), count)
    expected = (4.0 * K * np.sin(np.arange(count) * np.pi / n / 2.0) ** 2 - h) / MASS
    assert modes.eigenvalues == pytest.approx(expected, rel=1e-7)
    assert modes.unstable.tolist() == (expected < 0.0).tolist()
    assert 1 <= modes.unstable.sum() < count


def test_an_energy_of_a_map() -> None:
    """Its Hessian is no sum over elements, and is made of products; against differences of the gradient."""
    rng = np.random.default_rng(3)
    of = fields(rng.normal(size=(4, 2)), np.array([1.0, 2.0, 3.0, 4.0]))
    rho = bind(density, of, parameters={"reach": 1.1})
    potential = Potential(of, [bind(embedding, of, parameters={"depth": 2.0})], [rho])
    modes = found(potential)
    x, root = of["x"].values.copy(), np.repeat(np.sqrt(of["m"].values), 2)
    columns = []
    for unit in np.eye(8) * 1e-5:
        sides = []
        for sign in (1.0, -1.0):
            of["x"].set(x + sign * unit.reshape(4, 2))
            sides.append(potential.gradient("x").ravel())
        columns.append((sides[0] - sides[1]) / 2e-5)
    expected = np.linalg.eigvalsh(np.array(columns) / root / root[:, None])
    assert modes.eigenvalues == pytest.approx(expected, abs=1e-8)


def test_a_periodic_crystal() -> None:
    """32 atoms, the nearest images within a sharp cutoff: the Hessian of each pair summed in NumPy."""
    a, cut = 1.56, 1.5
    corners = a * np.stack(np.meshgrid(*[np.arange(2.0)] * 3), axis=-1).reshape(-1, 1, 3)
    x = (corners + 0.5 * a * np.array([[0, 0, 0], [1, 1, 0], [1, 0, 1], [0, 1, 1]])).reshape(-1, 3)
    size = np.eye(3) * 2.0 * a
    of = Fields({"x": x, "v": np.zeros_like(x), "m": np.full(32, MASS), "box": size[None]})
    given = {"epsilon": 1.0, "sigma": 1.0}
    u = Potential(of, [bind(lennard_jones, of, parameters=given, cutoff=Cutoff(cut, skin=0.05, sharp=True))])
    expected = np.zeros((32, 3, 32, 3))
    for i, j in zip(*np.triu_indices(32, 1), strict=True):
        d = x[i] - x[j]
        d -= 2.0 * a * np.rint(d / (2.0 * a))
        if (r := float(np.linalg.norm(d))) < cut:
            slope, bend = 24.0 / r**7 - 48.0 / r**13, 624.0 / r**14 - 168.0 / r**8
            block = bend * np.outer(d, d) / r**2 + slope / r * (np.eye(3) - np.outer(d, d) / r**2)
            for p, q, sign in ((i, i, 1.0), (j, j, 1.0), (i, j, -1.0), (j, i, -1.0)):
                expected[p, :, q] += sign * block
    values = np.linalg.eigvalsh(expected.reshape(96, 96) / MASS)
    modes = found(u, 96)
    assert modes.eigenvalues == pytest.approx(values, abs=1e-11 * values[-1])
    assert modes.zero.sum() == 3
    assert modes.at_rest


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (
            lambda p: normal_modes(p, (), Holds(p.fields)),
            "normal modes: no field moves by Newton's law; give a state with positions and masses",
        ),
        (lambda p: found(p, 0), "normal modes: at least one is needed, got 0; ask for more"),
        (
            lambda p: found(p, holds=(Hold("all", "x", np.arange(3)),)),
            "normal modes: every component is held; leave some free",
        ),
    ],
)
def test_mistakes(asked: Callable, text: str) -> None:
    with pytest.raises(EnergyError) as error:
        asked(chain(3))
    assert str(error.value) == text


@ti.kernel
def squares(x: ti.types.ndarray(ndim=1), U: ti.types.ndarray(ndim=0)):
    ti.loop_config(serialize=True)
    for i in range(x.shape[0]):
        U[None] += x[i] ** 2


def test_an_energy_of_kernels() -> None:
    of = Fields({"x": np.ones(3), "v": np.zeros(3), "m": np.ones(3)})
    kernels = bind_staged(staged_energy("e", stages=[Stage(squares, ("U",))], x=Node()), of)
    with pytest.raises(EnergyError) as error:
        found(Potential(of, [kernels]))
    assert str(error.value) == (
        "e: a staged energy has first derivatives only, because Taichi reverses its kernels once; for second"
        " ones write it as a local energy, or as maps and one"
    )


# The eigenvalues themselves -----------------------------------------------------------------------------


def laplacian(n: int) -> csr_array:
    ends = np.full(n, 2.0)
    ends[[0, -1]] = 1.0
    return csr_array(diags_array([ends, -np.ones(n - 1), -np.ones(n - 1)], offsets=[0, 1, -1]))


COPIES = [partial(laplacian, 301)() for _ in range(4)]


@pytest.mark.unit
@pytest.mark.parametrize("lowered", [0.0, 3e-4, 0.2, 5.0])
def test_equal_eigenvalues_are_all_found(lowered: float) -> None:
    """Four equal chains: every eigenvalue four times, wherever zero lies among them."""
    size = 4 * 301
    matrix = block_diag(COPIES, format="csr") - lowered * eye_array(size)
    values, vectors, largest = lowest_eigenpairs(matrix, 10)
    once = 4.0 * np.sin(np.arange(3) * np.pi / 602) ** 2 - lowered
    assert values == pytest.approx(np.repeat(once, 4)[:10], abs=1e-12)
    assert vectors.T @ vectors == pytest.approx(np.eye(10), abs=1e-10)
    assert np.abs(matrix @ vectors - vectors * values).max() < 1e-10
    assert largest >= max(4.0 - lowered, lowered) * 0.999


@pytest.mark.unit
@pytest.mark.parametrize("lost", [0, 3, 9])
def test_an_eigenvalue_that_the_method_misses_is_noticed(lost: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first time, the method that is called leaves one out; it is asked for more."""
    calls = []

    def forgetful(matrix: csr_array, k: int, **how: Any) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = eigsh(matrix, k + 1, **how)
        calls.append(k)
        order = np.argsort(values)
        dropped = lost if len(calls) == 1 else len(order) - 1
        return values[np.delete(order, dropped)], vectors[:, np.delete(order, dropped)]

    monkeypatch.setattr("scipy.sparse.linalg.eigsh", forgetful)
    values, _, _ = lowest_eigenpairs(laplacian(2 * DENSE), 10)
    assert values == pytest.approx(4.0 * np.sin(np.arange(10) * np.pi / DENSE / 4.0) ** 2, abs=1e-12)
    assert len(calls) == 2


@pytest.mark.unit
def test_a_matrix_of_zeros() -> None:
    values, vectors, largest = lowest_eigenpairs(csr_array((2 * DENSE, 2 * DENSE)), 3)
    assert (values == 0.0).all()
    assert largest == 0.0
    assert vectors.T @ vectors == pytest.approx(np.eye(3))


@pytest.mark.unit
def test_a_matrix_that_is_not_finite() -> None:
    with pytest.raises(EnergyError) as error:
        lowest_eigenpairs(np.full((2, 2), np.nan), 1)
    text = "normal modes: the Hessian is not finite; use a state in the domain of the energy"
    assert str(error.value) == text
