"""The sparse Hessian of 99,900 neo-Hookean tetrahedra, each made positive semi-definite; f64, in ms.

Ours is `potential.hessian("x", project="clamp")`, SciPy's CSR; TinyAD (C++) evaluates value, gradient and
projected Hessian at once (it has no Hessian alone), from the energy as its user writes it, into Eigen's
sparse matrix. What is compared is the matrix times a direction, with NumPy's: eigenvalues by `eigh`, element
by element; ours in the nine numbers of F, TinyAD's in the twelve of the nodes. The box is
pressed until its elements have negative eigenvalues.

TinyAD is found in the folder that TINYAD names, or in runs/peers/TinyAD; Eigen in EIGEN, or where Debian's
libeigen3-dev puts it.
"""

import ctypes
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from .harness import session
from .harness.cases import OURS, Call, Case, Column, Goal
from .harness.compiled import pointers, with_tinyad
from .solid import Solid

PARTS, QUICK = (18, 25, 37), (4, 4, 5)
TINYAD = "TinyAD"


def cases() -> Iterator[Case]:
    """One, in f64: TinyAD's precision."""
    yield case(QUICK if session.quick() else PARTS)


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
