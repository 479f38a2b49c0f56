"""Marching through a volume: optical depths along rays, tau = integral of the density along the ray.

    tau_r = (|b - a| / S) sum over k < S of rho(cell that holds a + (k + 1/2) (b - a) / S)

a, b (rays, 3) [m]: where ray r enters and leaves the volume, from its lowest corner on. rho (cells,) [1/m]:
of cubic cells, x fastest. S: the steps of each ray. This is the midpoint rule for the exponent of the
Beer-Lambert law, I = I_0 exp(-tau), in a medium of uniform cells (Max 1995, IEEE Trans. Vis. Comput.
Graph. 1, 99).

The derivative by rho adds to each cell that a ray passes. In parallel and in fixed order: the rays are
divided into parts. Those of a part read its own copy of rho, and on the way back add to it, one after
another; then the copies are summed.

Decisions 0318.
"""
# mypy: disable-error-code="valid-type"
# (the annotations of kernels are values)

import numpy as np

from minusgrad.plugin import Between, Datum, Node, Stage, staged_map, ti

A = ti.types.ndarray
PARTS = 8
"""The parts of the rays. Constant, so that the order of sums does not depend on the number of threads."""


@ti.func
def cell_at(a, b, share, spacing, counts):
    """The number of the cell that holds a + share (b - a); points on the faces belong to a cell inside."""
    cell = 0
    for axis in ti.static((2, 1, 0)):
        at = ti.cast(ti.floor((a[axis] + share * (b[axis] - a[axis])) / spacing), ti.i32)
        cell = cell * counts[axis] + ti.min(ti.max(at, 0), counts[axis] - 1)
    return cell


@ti.kernel
def hand_out(density: A(ndim=1), copies: A(ndim=2)):
    """A copy of the density for each part of the rays."""
    for cell in range(density.shape[0]):
        for part in range(copies.shape[0]):
            copies[part, cell] = density[cell]


@ti.kernel
def collect(d_density: A(ndim=1), d_copies: A(ndim=2)):
    """The transpose of `hand_out`: the sum over the copies."""
    for cell in range(d_density.shape[0]):
        for part in range(d_copies.shape[0]):
            d_density[cell] = d_density[cell] + d_copies[part, cell]


@ti.kernel
def march(
    copies: A(ndim=2),
    enter: A(ndim=2),
    leave: A(ndim=2),
    counts: A(ndim=1),
    spacing: A(ndim=0),
    steps: A(ndim=0),
    depth: A(ndim=1),
):
    """Each ray adds up the cells at its steps."""
    for ray in range(depth.shape[0]):
        part = ray * copies.shape[0] // depth.shape[0]
        a = ti.Vector([enter[ray, 0], enter[ray, 1], enter[ray, 2]])
        b = ti.Vector([leave[ray, 0], leave[ray, 1], leave[ray, 2]])
        n = ti.Vector([counts[0], counts[1], counts[2]])
        total = 0.0 * a[0]
        for k in range(steps[None]):
            total += copies[part, cell_at(a, b, (k + 0.5) / steps[None], spacing[None], n)]
        depth[ray] = total * (b - a).norm() / steps[None]


@ti.kernel
def march_back(
    d_copies: A(ndim=2),
    enter: A(ndim=2),
    leave: A(ndim=2),
    counts: A(ndim=1),
    spacing: A(ndim=0),
    steps: A(ndim=0),
    d_depth: A(ndim=1),
):
    """The transpose of `march`: each part of the rays adds to its own copy, one ray after another."""
    parts, rays = d_copies.shape[0], d_depth.shape[0]
    for part in range(parts):
        for ray in range((part * rays + parts - 1) // parts, ((part + 1) * rays + parts - 1) // parts):
            a = ti.Vector([enter[ray, 0], enter[ray, 1], enter[ray, 2]])
            b = ti.Vector([leave[ray, 0], leave[ray, 1], leave[ray, 2]])
            n = ti.Vector([counts[0], counts[1], counts[2]])
            slope = d_depth[ray] * (b - a).norm() / steps[None]
            for k in range(steps[None]):
                cell = cell_at(a, b, (k + 0.5) / steps[None], spacing[None], n)
                d_copies[part, cell] = d_copies[part, cell] + slope


def example(rng: np.random.Generator) -> dict:
    """Rays from one side of a small volume to the other."""
    rays, counts = 7, (3, 4, 2)
    enter, leave = (rng.uniform(0.0, 0.5 * np.array(counts), (rays, 3)) for _ in range(2))
    density = rng.uniform(0.5, 1.5, int(np.prod(counts)))
    named = {"enter": enter, "leave": leave, "counts": counts, "spacing": 0.5, "steps": 9}
    return named | {"density": density}


optical_depth = staged_map(
    "optical_depth",
    gives="depth",
    claim="Optical depths along rays: the density's integral, by the midpoint rule.",
    between={"copies": Between((PARTS, "n_density"))},
    stages=[
        Stage(hand_out, writes=("copies",), backward=collect),
        Stage(march, writes=("depth",), backward=march_back),
    ],
    example=example,
    density=Node("m^-1", scale=1.0),
    enter=Datum("m", ("n_depth", 3), about="Where each ray enters the volume."),
    leave=Datum("m", ("n_depth", 3), about="Where each ray leaves the volume."),
    counts=Datum("1", (3,), integer=True, about="Number of cells along each axis."),
    spacing=Datum("m", about="Side of a cell."),
    steps=Datum("1", integer=True, about="Number of steps of each ray."),
)
