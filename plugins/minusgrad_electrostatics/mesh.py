"""Maps of the particle-mesh Ewald method: charges to the cells of a mesh, and its Fourier transform.

    u_a  = K_a f_a,   x = sum over axes a of f_a box_a                           the place on the mesh
    Q(k) = sum over charges of q product over axes of M_5(u_a - k_a)             `mesh_charge`
    S(m) = sum over cells of Q(k) exp(-2 pi i sum over axes of m_a k_a / K_a)    `mesh_modes`

x (n, 3) [m], q (n,) [C], box (3, 3) [m] with the edge vectors in rows, K cells along each axis. Cells are in
the order of rows, S has the modes of SciPy's `rfftn` in theirs: those with 0 <= m_3 <= K_3 / 2. Essmann et
al. 1995, J. Chem. Phys. 103, 8577.

Decisions 0323.
"""

from math import prod

import numpy as np
from scipy import fft

from minusgrad.plugin import Box, Cell, Datum, Node, Output, Parameter, Stage, local_map, staged_map, ti

from .box import fractions
from .splines import ORDER, spline


@ti.func
def place(x, box, mesh):
    """The place of x on the mesh, in cells along each axis."""
    f = fractions(x, box)
    return ti.Vector([mesh[0] * f[0], mesh[1] * f[1], mesh[2] * f[2]])


def reached_cells(x, box, mesh):
    """The five cells along each axis whose splines are not zero at x."""
    u = ti.floor(place(x[0], box, mesh))
    return [u[0] - 4.0, u[1] - 4.0, u[2] - 4.0], [u[0], u[1], u[2]]


@local_map(
    "mesh_charge",
    gives="mesh_charge",
    over="nodes",
    unit="C",
    edges="periodic",
    x=Node("m", ("d",)),
    charge=Node("C"),
    box=Box(),
    mesh=Parameter(shape=(3,), scale=8.0, bounds=(float(ORDER), 4096.0)),
    at=Cell(window=reached_cells),
)
def mesh_charge(x, charge, box, mesh, at):
    """Point charges, shared among the cells of a mesh by B-splines of order 5."""
    u = place(x[0], box, mesh)
    return charge[0] * spline(u[0] - at[0] - 2.5) * spline(u[1] - at[1] - 2.5) * spline(u[2] - at[2] - 2.5)


def transform(mesh_charge, mesh, mesh_modes):
    """S = F Q, by SciPy on one thread: the bits do not depend on the number of threads."""
    cells = mesh_charge.to_numpy().reshape(mesh.to_numpy())
    found = fft.rfftn(cells, workers=1).reshape(-1)
    mesh_modes.from_numpy(np.stack([found.real, found.imag], axis=-1))


def transpose_transform(mesh, d_mesh_modes, d_mesh_charge):
    """dU/dQ += F^T dU/dS: the inverse transform without its factor, of half the modes."""
    shape, given = tuple(mesh.to_numpy()), d_mesh_modes.to_numpy()
    half = modes_shape(shape)
    waves = (given[:, 0] + 1j * given[:, 1]).reshape(half)
    twice = np.full(half[-1], 0.5, given.dtype)  # `irfftn` counts these modes twice
    twice[0] = 1.0
    if shape[-1] % 2 == 0:
        twice[-1] = 1.0
    back = fft.irfftn(waves * twice, shape, norm="forward", workers=1)
    d_mesh_charge.from_numpy(d_mesh_charge.to_numpy() + back.reshape(-1))


def modes_shape(mesh: tuple[int, ...]) -> tuple[int, ...]:
    """The modes along each axis that a real transform of a mesh has."""
    return *mesh[:-1], mesh[-1] // 2 + 1


def _example_mesh(rng: np.random.Generator) -> dict:
    mesh = (4, 3, 6)
    return {
        "mesh_charge": rng.normal(size=prod(mesh)),
        "mesh": mesh,
        "n_mesh_modes": prod(modes_shape(mesh)),
    }


mesh_modes = staged_map(
    "mesh_modes",
    gives={"mesh_modes": Output("C", (2,))},
    stages=[Stage(transform, writes=("mesh_modes",), backward=transpose_transform)],
    claim="Discrete Fourier transform of a real field over a mesh: real and imaginary part of each mode.",
    example=_example_mesh,
    linear=True,
    mesh_charge=Node("C"),
    mesh=Datum(shape=(3,), integer=True),
)
