"""A staged energy of two kernels: particles deposit to cells of a line, and their polynomial is summed."""

import numpy as np

from minusgrad import Between, Datum, Fields, Node, Parameter, Stage, Time, bind_staged, staged_energy, ti
from minusgrad.potential.staged.staged_term import StagedTerm

A = ti.types.ndarray


@ti.kernel
def deposit(x: A(ndim=1), k: A(ndim=0), grid: A(ndim=1)):
    """A particle between two cells gives k (1 - f)^2 to the one and k f to the other."""
    ti.loop_config(serialize=True)
    for i in range(x.shape[0]):
        cell = ti.floor(x[i], ti.i32)
        f = x[i] - cell
        grid[cell] += k[None] * (1 - f) ** 2
        grid[cell + 1] += k[None] * f


@ti.kernel
def cubes(grid: A(ndim=1), w: A(ndim=1), t: A(ndim=0), U: A(ndim=0)):
    ti.loop_config(serialize=True)
    for i in range(grid.shape[0]):
        U[None] += w[i] * ti.cos(t[None]) * grid[i] ** 3


CELLS = 8
GRID = {"grid": Between(("cells",))}
CLUMPING = staged_energy(
    "clumping",
    stages=[Stage(deposit, ("grid",)), Stage(cubes, ("U",))],
    between=GRID,
    x=Node("m"),
    k=Parameter("N/m", default=2.0),
    w=Datum(shape=("cells",), differentiable=True),
    t=Time(),
)


def clumping(n: int = 20, **options) -> StagedTerm:
    rng = np.random.default_rng(0)
    fields = Fields({"x": rng.uniform(0, CELLS - 1, n)})
    return bind_staged(CLUMPING, fields, data={"w": rng.uniform(1, 2, CELLS)}, **options)
