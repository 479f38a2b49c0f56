"""Local maps that several tests declare, and how they are bound and measured."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from minusgrad import (
    Cell,
    Fields,
    Node,
    Parameter,
    Potential,
    Table,
    bind,
    local_energy,
    local_map,
    ti,
)
from minusgrad.codegen.map_loops import MapLoops
from minusgrad.codegen.windows.scatter_loops import WindowLoops, size_of
from tests.support import energies

T = 0.37


def error(found: np.ndarray, expected: np.ndarray) -> float:
    """Relative to the largest component."""
    assert found.shape == expected.shape
    assert np.isfinite(expected).all()
    return float(np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-300))


def window_of(potential: Potential) -> list[int | None]:
    """The size of the only map's windows along each axis, None if it depends on the state."""
    loops = loops_of(potential)
    return [size_of(ends) for ends in loops._trace_energy().window] if isinstance(loops, WindowLoops) else []


def loops_of(potential: Potential) -> MapLoops:
    """The loops of the only map."""
    (name,) = potential.maps
    return potential.kernels[name].emitter


def given_by(
    made: Any, values: Mapping[str, Any], read: Any = energies.readout, precision: str = "f64", **options: Any
) -> Potential:
    """One map over some fields, and an energy that reads what it gives (and `lean`)."""
    fields = Fields(values, precision=precision)
    term = bind(made, fields, **options)
    assert term.gives is not None
    if "lean" not in values and "lean" in read.roles:
        lean = np.random.default_rng(9).normal(size=len(term.gives))
        fields = Fields({**values, "lean": lean}, precision=precision)
        term = bind(made, fields, **options)
    return Potential(fields, [bind(read, fields, renamed={"y": term.gives.name})], [term])


@local_energy("embedding", over="nodes", rho=Node())
def embedding(rho):
    return -ti.sqrt(rho[0] + 0.1)


def box_window(x, size):
    return [x[0][a] - size for a in ti.static(range(x[0].n))], [
        x[0][a] + size for a in ti.static(range(x[0].n))
    ]


@local_map(
    "boxes", gives="y", over="nodes", x=Node(shape=("d",)), size=Parameter(), at=Cell(window=box_window)
)
def boxes(x, size, at):
    """Another number in each cell; the window depends on the state."""
    u = 1.0 + size
    for a in ti.static(range(x[0].n)):
        u = 1.3 * u + at[a] * x[0][a] + at[a]
    return u


def narrow_window(x):
    return [x[0] - 1.0], [x[0] + 1.5]


def cell_window(x):
    return [x[0]], [x[0]]


@local_map("far", gives="y", over="nodes", x=Node(), at=Cell(window=cell_window))
def far(x, at):
    return x[0] * (at[0] * at[0]) + at[0] // 3 + at[0] % 7


def tall_window(x, heights):
    return [x[0] - heights[0]], [x[0] + heights[ti.cast(x[0], ti.i32)]]


@local_map("tall", gives="y", over="nodes", x=Node(), heights=Table(), at=Cell(window=tall_window))
def tall(x, heights, at):
    return x[0] * heights[at[0]]


def six_cells(x):
    k = ti.floor(x[0])
    return [k - 2.0], [k + 3.0]


@local_map("hat", gives="y", over="nodes", x=Node(), at=Cell(window=six_cells))
def hat(x, at):
    d = x[0] - at[0]
    return ti.exp(-d * d)


@local_energy("readout_of", over="nodes", dose=Node(), share=Node())
def readout_of(dose, share):
    return dose[0] * share[0]
