"""scikit-fem as an independent peer, on meshes from Gmsh with curved sides: energy, forces, stiffness matrix.

Its own reader, shape functions, mapping and forms of a neo-Hookean solid; only the points of quadrature are
ours, since the density is no polynomial. Degrees of freedom are matched by their places.
"""

from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest

from minusgrad import Fields, Potential, bind
from minusgrad_elastic.hyperelastic import neo_hookean
from minusgrad_elastic.mesh import Mesh
from minusgrad_elastic.mesh_files.gmsh import read
from minusgrad_elastic.mesh_files.inspection import inspect
from minusgrad_elastic.solids import solid

FILES = Path(__file__).parents[2] / "meshes"
E, NU = 3.0, 0.3
MU, LAM = E / (2.0 * (1.0 + NU)), E * NU / ((1.0 + NU) * (1.0 - 2.0 * NU))


def forms(skfem: Any, d: int, mu: float = MU, lam: float = LAM) -> tuple[Any, Any, Any]:
    """psi, its first variation and its second, of mu/2 (F:F - d) - mu ln J + lambda/2 (ln J)^2."""
    from skfem.helpers import ddot, det, grad, inv, mul, trace, transpose

    one = np.eye(d)[:, :, None, None]

    @skfem.Functional
    def energy(w):
        F = grad(w["u"]) + one
        log = np.log(det(F))
        return 0.5 * mu * (ddot(F, F) - d) - mu * log + 0.5 * lam * log**2

    @skfem.LinearForm
    def residual(v, w):
        F = grad(w["u"]) + one
        return ddot(mu * F + (lam * np.log(det(F)) - mu) * transpose(inv(F)), grad(v))

    @skfem.BilinearForm
    def matrix(u, v, w):
        F, dF = grad(w["u"]) + one, grad(u)
        G = inv(F)
        stress = lam * trace(mul(G, dF)) * transpose(G)
        stress = stress - (lam * np.log(det(F)) - mu) * mul(transpose(G), mul(transpose(dF), transpose(G)))
        return mu * ddot(dF, grad(v)) + ddot(stress, grad(v))

    return energy, residual, matrix


def bases(skfem: Any, peer: Any, element: Any, mesh: Mesh) -> list[Any]:
    """A basis for the cells of each rule: curved tetrahedra have another one than straight ones."""
    ((at,), (kind,)) = mesh.at_points, mesh.kinds
    counts, found = np.bincount(at.cell), []
    for rule in (kind.rule, *([kind.curved] if kind.curved else [])):
        chosen = np.flatnonzero(counts == len(rule[1]))
        points, weights = rule[0].T, rule[1] / kind.parts
        if kind.parts == 1:  # of the cube from 0 to 1
            points, weights = 0.5 * (points + 1.0), rule[1] * 0.5**mesh.dimension
        if len(chosen):
            found.append(skfem.Basis(peer, element, quadrature=(points, weights), elements=chosen))
    return found


def same_places(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """For each of their places the number of our node there."""
    apart = np.linalg.norm(theirs[:, None] - ours, axis=2)
    assert apart.min(axis=1).max() < 1e-12
    return apart.argmin(axis=1)


@pytest.mark.parametrize(
    ("name", "element"),
    [
        ("quarter", "ElementTriP2"),
        ("quadrangles", "ElementQuad1"),
        ("pipe_8", "ElementHex1"),
        ("pipe_10", "ElementTetP2"),
        ("pipe_27", "ElementHex2"),
    ],
)
def test_energy_forces_and_matrix_are_those_of_scikit_fem(name: str, element: str) -> None:
    skfem = pytest.importorskip("skfem", reason="needs scikit-fem: pip install scikit-fem")
    from skfem.io.meshio import from_meshio

    mesh, _ = inspect(read(name, (FILES / f"{name}.msh").read_bytes()))
    d, seen = mesh.dimension, meshio.read(FILES / f"{name}.msh")
    cells = [block for block in seen.cells if block.dim == d]
    peer = from_meshio(meshio.Mesh(seen.points[:, :d], cells))
    vector = skfem.ElementVector(getattr(skfem, element)())
    found = bases(skfem, peer, vector, mesh)
    places = found[0].doflocs.T[:, :d] if d == 3 else found[0].doflocs.T
    node, axis = same_places(mesh.points, places), np.zeros(len(places), int)
    seen_before: dict[int, int] = {}
    for k, n in enumerate(node.tolist()):  # the components of a node follow each other
        axis[k] = seen_before.get(n, 0)
        seen_before[n] = axis[k] + 1
    order = node * d + axis
    assert np.array_equal(np.sort(order), np.arange(mesh.points.size))

    shift = 0.08 * np.sin(2.0 * mesh.points[:, ::-1] + 1.0)
    state, fields = solid(mesh, 1.0), Fields({"x": mesh.points + shift})
    data = {argument: state.data["cells"][argument] for argument in ("gradients", "volume")}
    moduli = {"youngs_modulus": E, "poissons_ratio": NU}
    rows = state.quadratures["cells"].nodes
    potential = Potential(fields, [bind(neo_hookean, fields, tuples=rows, data=data, parameters=moduli)])
    energy, residual, matrix = forms(skfem, d)
    u = shift.ravel()[order]
    given = [{"u": basis.interpolate(u)} for basis in found]
    pairs = list(zip(found, given, strict=True))
    assert potential.value() == pytest.approx(sum(energy.assemble(b, **w) for b, w in pairs), rel=1e-10)
    forces = sum(residual.assemble(b, **w) for b, w in pairs)
    ours = potential.gradient("x").ravel()[order]
    np.testing.assert_allclose(ours, forces, rtol=0.0, atol=1e-10 * np.abs(forces).max())
    theirs = sum(matrix.assemble(b, **w) for b, w in pairs)
    off = potential.hessian("x")[order][:, order] - theirs
    assert np.abs(off.data).max() <= 1e-10 * np.abs(theirs.data).max()
