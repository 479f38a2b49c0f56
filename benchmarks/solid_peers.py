"""The membrane and the cube by scikit-fem and, in a process of its own, by FEniCSx.

FEniCSx is found by the variable FENICSX, the Python of an environment that has it:

    python3.12 -m venv fenicsx;  fenicsx/bin/pip install dolfinx-solver-real mpich
    FENICSX=fenicsx/bin/python minusgrad bench solids
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import splu
from scipy.spatial import cKDTree

from .beam_peers import rubber_forms
from .harness.cases import BenchError, Clocked, MissingColumnError
from .harness.peers import require
from .solid_bodies import BODY_FORCE, MOST, PULL, TRACTION, Problem

Answer = Callable[[], Any]
VARIABLE = "FENICSX"
PROGRAM = Path(__file__).parent / "programs" / "solids_in_fenicsx.py"


class ScikitFem:
    """Basis, forms and order of unknowns; its factors are SuperLU's, with the options of ours."""

    def __init__(self, problem: Problem):
        require("skfem")
        require("meshio")
        import meshio
        import skfem
        from skfem.io.meshio import from_meshio

        self.problem, kind = problem, "triangle6" if problem.d == 2 else "tetra"
        mesh = from_meshio(meshio.Mesh(problem.mesh.points, [(kind, problem.mesh.cells)]))
        cell = skfem.ElementTriP2() if problem.d == 2 else skfem.ElementTetP1()
        vector = skfem.ElementVector(cell)
        self.basis = skfem.Basis(mesh, vector, intorder=2 if problem.d == 2 else 1)
        self.edge = skfem.FacetBasis(
            mesh, vector, facets=_outer(mesh) if problem.d == 2 else None, intorder=4
        )
        self.order = _order_of_unknowns(self.basis.doflocs, problem.mesh.points)
        self.forms = _plane_stress(skfem, problem) if problem.d == 2 else _rubber(skfem, problem)

    def matrix(self, u: np.ndarray) -> csc_matrix:
        """The stiffness at a displacement (n d,), in its own order of unknowns."""
        return self.forms[2].assemble(self.basis, p=self.basis.interpolate(u))

    def force(self, u: np.ndarray) -> np.ndarray:
        """The out-of-balance force (n d,), in its own order."""
        return self.forms[1].assemble(self.basis, p=self.basis.interpolate(u)) - self.load

    @cached_property
    def load(self) -> np.ndarray:
        """Of the dead loads (n d,)."""
        inside, on_edge = self.forms[3:]
        return inside.assemble(self.basis) + on_edge.assemble(self.edge)

    def product(self) -> np.ndarray:
        """K probe (n, d) at the shift of the problem."""
        u, probe = (values.ravel()[self.order] for values in (self.problem.shift, self.problem.probe))
        return self.as_nodes(self.matrix(u) @ probe)

    def solve(self) -> np.ndarray:
        """The displacement (n, d) of the equilibrium."""
        goal = (self.problem.target - self.problem.mesh.points).ravel()[self.order]
        held = self.problem.held.ravel()[self.order]
        u, free = np.where(held, goal, 0.0), np.flatnonzero(~held)
        for _ in range(MOST):
            out = self.force(u)[free]
            if np.abs(out).max() <= self.problem.enough:
                return self.as_nodes(u)
            step = np.zeros(len(u))
            step[free] = -_solved(self.matrix(u)[free][:, free], out)
            u = self.lower(u, step, float(out @ step[free]))
        raise BenchError("scikit-fem: no equilibrium")

    def lower(self, u: np.ndarray, step: np.ndarray, slope: float) -> np.ndarray:
        """Halve a step until U falls; U is NaN where a cell is inverted."""
        now, part = self.energy(u), 1.0
        while part > 1e-10:
            if self.energy(u + part * step) <= now + 1e-4 * part * slope + 1e-12 * abs(now):
                return u + part * step
            part *= 0.5
        raise BenchError("scikit-fem: no step lowers U")

    def energy(self, u: np.ndarray) -> float:
        """U"""
        with np.errstate(invalid="ignore", divide="ignore"):
            strain = self.forms[0].assemble(self.basis, p=self.basis.interpolate(u))
        return float(strain - self.load @ u)

    def as_nodes(self, values: np.ndarray) -> np.ndarray:
        """Values (n, d) at our nodes of values in its order."""
        found = np.empty(len(values))
        found[self.order] = values
        return found.reshape(-1, self.problem.d)


def _solved(matrix: csc_matrix, right: np.ndarray) -> np.ndarray:
    options = {"SymmetricMode": True}
    factors = splu(matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
    return factors.solve(right)


def _outer(mesh: Any) -> np.ndarray:
    """The facets on the outer ellipse of the membrane."""
    on = lambda x: np.abs((x[0] / 3.25) ** 2 + (x[1] / 2.75) ** 2 - 1.0) < 1e-9  # noqa: E731
    ends = on(mesh.p[:, mesh.facets]).all(axis=0)
    return np.intersect1d(np.flatnonzero(ends), mesh.boundary_facets())


def _order_of_unknowns(places: np.ndarray, points: np.ndarray) -> np.ndarray:
    """For each unknown of a program its number in our order, by its place (d, n d); components follow."""
    d = points.shape[1]
    apart, node = cKDTree(points).query(places[:d].T)
    assert apart.max() < 1e-10
    axis = np.zeros(len(node), int)
    for k in range(1, d):  # the unknowns of a node follow each other
        axis[k::d] = k
    assert (node[::d] == node[d - 1 :: d]).all()
    return node * d + axis


def _plane_stress(skfem: Any, problem: Problem) -> tuple[Any, ...]:
    from skfem.helpers import ddot, dot, eye, sym_grad, trace

    mu, lam = problem.mu, problem.lam

    def stress(e: Any) -> Any:
        return 2.0 * mu * e + lam * eye(trace(e), 2)

    def density(w: Any) -> Any:
        e = _symmetric(w["p"].grad)
        return 0.5 * ddot(stress(e), e)

    return (
        skfem.Functional(density),
        skfem.LinearForm(lambda v, w: ddot(stress(_symmetric(w["p"].grad)), sym_grad(v))),
        skfem.BilinearForm(lambda u, v, w: ddot(stress(sym_grad(u)), sym_grad(v))),
        skfem.LinearForm(lambda v, w: 0.0 * v[0]),
        skfem.LinearForm(lambda v, w: PULL * dot(w.n, v)),
    )


def _symmetric(A: np.ndarray) -> np.ndarray:
    return 0.5 * (A + np.swapaxes(A, 0, 1))


def _rubber(skfem: Any, problem: Problem) -> tuple[Any, ...]:
    from skfem.helpers import dot

    def constant(vector: tuple[float, ...]) -> Any:
        return skfem.LinearForm(lambda v, w: dot(np.array(vector)[:, None, None] + 0.0 * w.x, v))

    forms = rubber_forms(skfem, problem.mu, problem.lam)
    return *forms, constant(BODY_FORCE), constant(TRACTION)


class FEniCSx:
    """The process of another Python, which has the problem and answers "matrix" and "solve"."""

    def __init__(self, problem: Problem):
        self.folder = Path(tempfile.mkdtemp(prefix="minusgrad-bench-"))
        problem.write(self.folder / "problem.npz")
        self._process = subprocess.Popen(
            [python(), str(PROGRAM), problem.name, str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
            | {"OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(self.folder)},  # an empty cache of forms
        )

    def ask(self, what: str) -> Clocked:
        """CPU seconds, of the compiler too, and the answer (n, d).

        Raises `BenchError` where the process has ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(what, file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise BenchError(f"FEniCSx: its process ended with {self._process.wait()}")
        found = json.loads(line)
        return Clocked(found["seconds"], np.load(self.folder / "answer.npy"), found["memory"])


def python() -> str:
    """The Python of FEniCSx. Raises `MissingColumnError` where none is named."""
    named = os.environ.get(VARIABLE, "")
    if not named:
        raise MissingColumnError(f"FEniCSx: no Python is named by {VARIABLE}")
    if not Path(named).is_file():
        raise MissingColumnError(f"FEniCSx: {VARIABLE} names {named}, which is no file")
    return named
