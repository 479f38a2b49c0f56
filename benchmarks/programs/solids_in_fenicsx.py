"""The membrane and the twisted cube by FEniCSx; `solid_peers.FEniCSx` starts it in another environment.

    python solids_in_fenicsx.py membrane|cube FOLDER

FOLDER has problem.npz. Each line of input, "matrix" or "solve", is answered with CPU seconds and peak
memory as JSON, and with answer.npy. Newton's method halves steps until the energy falls; linear systems are
MUMPS's, as symmetric. The first question compiles its forms.
"""

import json
import resource
import sys
import time

import basix.ufl
import dolfinx_solver  # noqa: F401 - finds MPI
import numpy as np
import ufl
from dolfinx import fem, mesh
from dolfinx.fem import petsc
from mpi4py import MPI
from petsc4py import PETSc
from scipy.spatial import cKDTree

PULL = 10e6
BODY_FORCE, TRACTION = (0.0, -0.5, 0.0), (0.1, 0.0, 0.0)
MOST = 40
BASIX_TRIANGLE = [0, 1, 2, 4, 5, 3]
"""Our nodes of a triangle of order 2 in its order."""


class Body:
    """Mesh, space and forms."""

    def __init__(self, name, given):
        self.given, self.flat = given, name == "membrane"
        shape, order = ("triangle", 2) if self.flat else ("tetrahedron", 1)
        cells = given["cells"][:, BASIX_TRIANGLE] if self.flat else given["cells"]
        d = given["points"].shape[1]
        element = basix.ufl.element("Lagrange", shape, order, shape=(d,))
        self.mesh = mesh.create_mesh(MPI.COMM_SELF, cells.astype(np.int64), element, given["points"])
        self.space = fem.functionspace(self.mesh, element)
        places = self.space.tabulate_dof_coordinates()[:, :d]
        apart, self.node = cKDTree(given["points"]).query(places)
        assert apart.max() < 1e-10
        self.u, self.forms = fem.Function(self.space), None

    def compile(self):
        """Energy, force and matrix."""
        v, du, u = ufl.TestFunction(self.space), ufl.TrialFunction(self.space), self.u
        mu, lam = self.given["moduli"]
        dx = ufl.Measure("dx", self.mesh, metadata={"quadrature_degree": 2 if self.flat else 1})
        if self.flat:
            e = ufl.sym(ufl.grad(u))
            psi = mu * ufl.inner(e, e) + 0.5 * lam * ufl.tr(e) ** 2
            facets = mesh.locate_entities_boundary(self.mesh, 1, on_outer_edge)
            tags = mesh.meshtags(self.mesh, 1, np.sort(facets), np.full(len(facets), 1, np.int32))
            ds = ufl.Measure("ds", self.mesh, subdomain_data=tags)
            energy = psi * dx - PULL * ufl.dot(ufl.FacetNormal(self.mesh), u) * ds(1)
        else:
            F = ufl.Identity(3) + ufl.grad(u)
            J = ufl.det(F)
            psi = 0.5 * mu * (ufl.inner(F, F) - 3) - mu * ufl.ln(J) + 0.5 * lam * ufl.ln(J) ** 2
            energy = psi * dx - ufl.dot(ufl.as_vector(BODY_FORCE), u) * dx
            energy -= ufl.dot(ufl.as_vector(TRACTION), u) * ufl.Measure("ds", self.mesh)
        force = ufl.derivative(energy, u, v)
        self.forms = fem.form(force), fem.form(ufl.derivative(force, u, du))
        self.energy = fem.form(energy)
        self.matrix = petsc.create_matrix(self.forms[1])
        self.vector = petsc.create_vector(self.space)
        self.solver = PETSc.KSP().create(MPI.COMM_SELF)
        self.solver.setType("preonly")
        self.solver.getPC().setType("cholesky")
        self.solver.getPC().setFactorSolverType("mumps")

    def set(self, values):
        """The displacement (n, d) at our nodes."""
        self.u.x.array[:] = values[self.node].ravel()

    def at_nodes(self, array):
        """Its unknowns as values (n, d) at our nodes."""
        found = np.empty_like(self.given["points"])
        found[self.node] = array.reshape(len(self.node), -1)
        return found

    def product(self):
        """K probe, K at the shift."""
        self.set(self.given["shift"])
        self.matrix.zeroEntries()
        petsc.assemble_matrix(self.matrix, self.forms[1])
        self.matrix.assemble()
        probe = self.vector.duplicate()
        probe.setArray(self.given["probe"][self.node].ravel())
        return self.at_nodes((self.matrix * probe).getArray().copy())

    def solve(self):
        """The displacement (n, d) of the equilibrium, from rest with held components in their places."""
        given = self.given
        fixed = given["held"][self.node]
        held, d = fixed.ravel(), fixed.shape[1]
        unknowns = [(d * np.flatnonzero(fixed[:, k]) + k).astype(np.int32) for k in range(d)]
        conditions = [fem.dirichletbc(0.0, of, self.space.sub(k)) for k, of in enumerate(unknowns)]
        self.set(np.where(given["held"], given["target"] - given["points"], 0.0))
        for _ in range(MOST):
            with self.vector.localForm() as local:
                local.set(0.0)
            petsc.assemble_vector(self.vector, self.forms[0])
            self.vector.array[held] = 0.0
            if np.abs(self.vector.array).max() <= given["enough"]:
                return self.at_nodes(self.u.x.array.copy())
            self.matrix.zeroEntries()
            petsc.assemble_matrix(self.matrix, self.forms[1], bcs=conditions)
            self.matrix.assemble()
            self.solver.setOperators(self.matrix)
            step = self.vector.duplicate()
            self.solver.solve(self.vector, step)
            self.lower(-step.array, self.vector.dot(step))
        raise RuntimeError("no equilibrium")

    def lower(self, step, slope):
        """Halve a step until the energy falls; the energy is NaN where a cell is inverted."""
        now, u, part = fem.assemble_scalar(self.energy), self.u.x.array.copy(), 1.0
        while part > 1e-10:
            self.u.x.array[:] = u + part * step
            if fem.assemble_scalar(self.energy) <= now - 1e-4 * part * slope + 1e-12 * abs(now):
                return
            part *= 0.5
        raise RuntimeError("no step lowers the energy")


def on_outer_edge(x):
    """Whether places (3, n) lie on the outer ellipse."""
    return np.abs((x[0] / 3.25) ** 2 + (x[1] / 2.75) ** 2 - 1.0) < 1e-9


def cpu_seconds():
    """Of this process and of the compilers that it has started."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def main(name, folder):
    """Answer until the input ends."""
    body = Body(name, dict(np.load(f"{folder}/problem.npz")))
    for line in sys.stdin:
        began = cpu_seconds()
        if body.forms is None:
            body.compile()
        answer = body.product() if line.strip() == "matrix" else body.solve()
        seconds = cpu_seconds() - began
        np.save(f"{folder}/answer.npy", answer)
        memory = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(json.dumps({"seconds": seconds, "memory": memory}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
