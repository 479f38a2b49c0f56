"""The sparse Hessian of 99,900 neo-Hookean tetrahedra, each made positive semi-definite; f64, in ms.

Ours is `potential.hessian("x", project="clamp")`, SciPy's CSR; TinyAD (C++) evaluates value, gradient and
projected Hessian at once (it has no Hessian alone), from the energy as its user writes it, into Eigen's
sparse matrix. What is compared is the matrix times a direction, with NumPy's: eigenvalues by `eigh`, element
by element; ours in the nine numbers of F, TinyAD's in the twelve of the nodes. The box is
pressed until its elements have negative eigenvalues.

24rows: matrices of 24 rows alone, such as those of cells of eight nodes, beside `numpy.linalg.eigh` of all at
once and the matrices of its vectors: symmetric normal random ones, and those of the box's cubes, each the sum
of its six tetrahedra. All of both have negative eigenvalues, 12 and 3 of 24 on average; time includes a copy
of the lower halves, because ours are projected in place.

TinyAD is found in the folder that TINYAD names, or in runs/peers/TinyAD; Eigen in EIGEN, or where Debian's
libeigen3-dev puts it.
"""

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from minusgrad.codegen.hessians.semidefinite import projection
from minusgrad.engine import storage

from .harness import session
from .harness.cases import OURS, Call, Case, Column, Goal
from .harness.compiled import pointers, with_tinyad
from .solid import Solid

PARTS, QUICK = (18, 25, 37), (4, 4, 5)
CUBES = (8, 16, 32)
TINYAD, NUMPY = "TinyAD", "NumPy, eigh"
LOWER = np.tril_indices(24)


def cases() -> Iterator[Case]:
    """A matrix beside TinyAD in f64, its precision; matrices of 24 rows in both."""
    parts = QUICK if session.quick() else PARTS
    yield case(parts)
    for name, made in {"random": random, "solid": of_cubes}.items():
        for precision in ("f32", "f64"):
            yield rows_case(name, made, QUICK if session.quick() else CUBES, precision)


def case(parts: tuple[int, int, int]) -> Case:
    """A box of so many parts."""
    columns = {
        TINYAD: Column(lambda: by_tinyad(pressed(parts)), peer=True),
        OURS: Column(
            lambda: ours(pressed(parts)), engine=True, expected=lambda: expected_of_moduli(pressed(parts))
        ),
        "not projected": Column(
            lambda: ours(pressed(parts), None),
            engine=True,
            expected=lambda: expected(pressed(parts), projected=False),
        ),
    }
    return Case(
        "projected_hessian",
        "clamp",
        "f64",
        columns,
        expected=lambda: expected(pressed(parts)),
        tolerance=1e-7,  # TinyAD's least eigenvalue is 1e-9, not 0
        base=TINYAD,
        goals=(Goal(TINYAD, 1.0),),
        about={"tetrahedra": 6 * int(np.prod(parts))},
    )


def rows_case(
    name: str, made: Callable[[tuple[int, int, int]], np.ndarray], parts: tuple[int, int, int], precision: str
) -> Case:
    """Matrices of 24 rows, by ours and by NumPy."""

    def columns(how: Callable[[np.ndarray], Call]) -> Callable[[], Call]:
        return lambda: how(made(parts).astype(precision.replace("f", "float")))

    return Case(
        "projected_hessian",
        f"24rows-{name}",
        precision,
        {NUMPY: Column(columns(by_eigh)), OURS: Column(columns(by_kernel), engine=True)},
        expected=lambda: _clamped(made(parts))[:, *LOWER],
        tolerance=2e-5 if precision == "f32" else 1e-12,
        count=int(np.prod(parts)),
        unit="ns a matrix",
        base=NUMPY,
        goals=(Goal(NUMPY, 0.5),),
        about={"matrices": int(np.prod(parts))},
    )


@cache
def random(parts: tuple[int, int, int]) -> np.ndarray:
    """As many symmetric matrices as there are cubes, of normal random numbers."""
    half = np.random.default_rng(0).normal(size=(int(np.prod(parts)), 24, 24))
    return half + half.transpose(0, 2, 1)


@cache
def of_cubes(parts: tuple[int, int, int]) -> np.ndarray:
    """The Hessians of the pressed box's cubes in the places of their eight corners."""
    solid = pressed(parts)
    H, cubes = solid.element_hessians().reshape(-1, 6, 4, 3, 4, 3), solid.cells.reshape(-1, 24)
    found = np.zeros((len(cubes), 8, 3, 8, 3))
    for cube, nodes in enumerate(cubes):
        corners = np.unique(nodes, return_inverse=True)[1].reshape(6, 4)
        for own, at in zip(H[cube], corners, strict=True):
            found[cube][at[:, None], :, at[None, :]] += own.transpose(0, 2, 1, 3)
    return found.reshape(-1, 24, 24)


def by_eigh(H: np.ndarray) -> Call:
    """NumPy, all at once."""
    return lambda: _clamped(H)[:, *LOWER]


def by_kernel(H: np.ndarray) -> Call:
    """The kernel of `semidefinite`."""
    lower = np.ascontiguousarray(H[:, *LOWER])
    packed = storage.allocate(lower.copy())
    project = projection(packed, 24, "clamp")

    def call() -> Any:
        storage.host(packed)[...] = lower
        project()
        return storage.host(packed)

    return call


@cache
def pressed(parts: tuple[int, int, int]) -> Solid:
    """Pressed to three quarters of its height."""
    solid = Solid.of(parts)
    return replace(solid, x=solid.x * [1.0, 1.0, 0.75])


def expected(solid: Solid, projected: bool = True) -> np.ndarray:
    """H along, by NumPy."""
    H = solid.element_hessians()
    return _along(solid, _clamped(H) if projected else H)


def expected_of_moduli(solid: Solid) -> np.ndarray:
    """W^T P(M) W along, by NumPy, of H = W^T M W: the moduli M are projected, 9 rows of an element."""
    W = np.einsum("eak,cd->eckad", solid.gradients, np.eye(3)).reshape(-1, 9, 12)
    back = np.linalg.pinv(W)
    moduli = back.transpose(0, 2, 1) @ solid.element_hessians() @ back
    return _along(solid, W.transpose(0, 2, 1) @ _clamped(moduli) @ W)


def _clamped(matrices: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(matrices)
    return (vectors * np.maximum(values, 0.0)[:, None]) @ vectors.transpose(0, 2, 1)


def _along(solid: Solid, H: np.ndarray) -> np.ndarray:
    out = np.zeros_like(solid.x)
    changes = np.einsum("eij,ej->ei", H, solid.along[solid.cells].reshape(-1, 12))
    np.add.at(out, solid.cells, changes.reshape(-1, 4, 3))
    return out


class Times:
    """A matrix times a direction, when it is looked at."""

    def __init__(self, matrix: Any, along: np.ndarray):
        self._matrix, self._along = matrix, along

    def numpy(self) -> np.ndarray:
        """(n, 3)"""
        return (self._matrix @ self._along.ravel()).reshape(-1, 3)


def ours(solid: Solid, project: str | None = "clamp") -> Call:
    """SciPy's CSR."""
    potential = solid.potential("f64")
    return lambda: Times(potential.hessian("x", project=project), solid.along)


def by_tinyad(solid: Solid) -> Call:
    """`eval_with_hessian_proj`"""
    library = with_tinyad("tinyad_hessian.cpp")
    library.solid.restype = ctypes.c_void_p
    weights = np.ascontiguousarray(solid.gradients[:, 1:].reshape(-1, 9))
    arrays = [np.ascontiguousarray(a) for a in (solid.x, solid.along, solid.cells, weights, solid.volumes)]
    sizes = [ctypes.c_int(n) for n in (len(solid.x), len(solid.cells), session.threads())]
    made = ctypes.c_void_p(library.solid(*sizes, *pointers(arrays), *map(ctypes.c_double, solid.lame)))
    out = np.zeros_like(solid.x)

    class Product:
        def numpy(self) -> np.ndarray:
            library.product(made, *pointers([out]))
            return out

    def call(keep: list[np.ndarray] = arrays) -> Product:
        library.evaluate(made)
        return Product()

    return call
