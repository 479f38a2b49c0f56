"""NAFEMS's membrane LE1 and a twisted cube beside scikit-fem and FEniCSx; f64, one thread, CPU ms.

membrane-matrix, cube-matrix   the stiffness matrix is assembled and multiplied by a vector; of the cube at a
                               deformed state
membrane-solve                 the displacement under the pull: matrix, factors, solution
cube-solve                     the equilibrium from rest, by Newton's method

All have the same nodes and cells (8,192 triangles of 6 nodes with curved sides, 36,864 tetrahedra), the same
densities of energy, and forms of their own. Answers are compared with scikit-fem's: matrices to 1e-11,
displacements to 1e-8 (membrane: the factors of a matrix with entries of 1e11) and 1e-10. Everybody's Newton
method begins at rest with the turned side in its place and halves steps until U falls; without that,
scikit-fem's inverts cells. Linear systems: ours by factors of SuperLU and by multigrid, scikit-fem's by
SuperLU, FEniCSx's by MUMPS, as symmetric. First calls compile: ours with the engine's cache on disk,
FEniCSx's with an empty one.
"""

from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec

import numpy as np

from .harness import session
from .harness.cases import OURS, BenchError, Call, Case, Column
from .harness.peers import require
from .solid_bodies import MOST, Problem, cube, membrane
from .solid_peers import FEniCSx, ScikitFem
from .statics import clocked

SIDE, PARTS = 64, (24, 16, 16)
QUICK_SIDE, QUICK_PARTS = 8, (6, 4, 4)
SCIKIT_FEM, FENICSX, MULTIGRID = "scikit-fem", "FEniCSx", "minusgrad, multigrid"


def cases() -> Iterator[Case]:
    """The matrix and the equilibrium of each body."""
    for name, solved in (("membrane", 1e-8), ("cube", 1e-10)):
        yield matrix(name)
        yield equilibrium(name, solved)


def problem(name: str) -> Problem:
    """The body of this name, for the session's settings."""
    if name == "membrane":
        return _membrane(QUICK_SIDE if session.quick() else SIDE)
    return _cube(QUICK_PARTS if session.quick() else PARTS)


_membrane, _cube = cache(membrane), cache(cube)


def cells_of(name: str) -> int:
    """How many cells it has, without making it."""
    if name == "membrane":
        return 2 * (QUICK_SIDE if session.quick() else SIDE) ** 2
    return 6 * int(np.prod(QUICK_PARTS if session.quick() else PARTS))


def matrix(name: str) -> Case:
    """Assemble K, and multiply it by a vector."""
    columns = {
        FENICSX: Column(lambda: in_fenicsx(name, "matrix"), peer=True),
        SCIKIT_FEM: Column(lambda: clocked(ScikitFem(problem(name)).product), peer=True),
        OURS: Column(lambda: clocked(product(problem(name))), engine=True),
    }
    return _case(name, "matrix", columns, lambda: ScikitFem(problem(name)).product(), 1e-11)


def equilibrium(name: str, tolerance: float) -> Case:
    """The displacement from rest."""
    columns = {
        FENICSX: Column(lambda: in_fenicsx(name, "solve"), peer=True),
        SCIKIT_FEM: Column(lambda: clocked(ScikitFem(problem(name)).solve), peer=True),
        OURS: Column(lambda: clocked(displacement(problem(name), "superlu")), engine=True),
        MULTIGRID: Column(lambda: clocked(displacement(problem(name), "multigrid")), engine=True),
    }
    return _case(name, "solve", columns, lambda: ScikitFem(problem(name)).solve(), tolerance)


def _case(
    name: str, what: str, columns: dict[str, Column], right: Callable[[], np.ndarray], tolerance: float
) -> Case:
    known = find_spec("skfem") is not None
    return Case(
        "solids",
        f"{name}-{what}",
        "f64",
        columns,
        expected=right if known else None,
        tolerance=tolerance,
        base=FENICSX,
        threads=1,
        about={"cells": cells_of(name)},
    )


def in_fenicsx(name: str, what: str) -> Call:
    """A question to its process, which goes on."""
    process = FEniCSx(problem(name))
    return lambda: process.ask(what)


def product(of: Problem) -> Callable[[], np.ndarray]:
    """K probe (n, d) by ours."""
    potential, there, probe = of.potential, of.mesh.points + of.shift, of.probe.ravel()

    def call() -> np.ndarray:
        potential.fields["x"].set(there)
        return (potential.hessian("x") @ probe).reshape(of.shift.shape)

    return call


def displacement(of: Problem, solver: str) -> Callable[[], np.ndarray]:
    """u (n, d) by the minimiser of `[stepper] kind = "newton"`."""
    if solver == "multigrid":
        require("pyamg")

    def call() -> np.ndarray:
        newton = of.newton(solver)
        newton.advance(MOST)
        if newton.outcome != "converged":
            raise BenchError(newton.verdict)
        return of.potential.fields["x"].values - of.mesh.points

    return call
