"""Windows of whole vectors and of others, within the grid and over its rim, against sums in NumPy."""

import numpy as np
import pytest

from minusgrad import Fields, Potential, bind
from minusgrad.codegen.windows.scatter_lane_loops import WindowLanes
from minusgrad.energies.fields import Grid
from minusgrad.plugin import Cell, Node, Table, local_energy, local_map, ti

SHAPE = (40, 48)
TOLERANCE = {"f32": 2e-6, "f64": 1e-14}


def stamped(x, y, stamp):
    """As many cells as the stamp has samples, and one more for its place within the cell."""
    row, column = ti.floor(y[0]), ti.floor(x[0])
    return [row, column], [row + stamp.shape[0], column + stamp.shape[1]]


@local_map(
    "stamps", gives="canvas", over="nodes", x=Node(), y=Node(), at=Cell(window=stamped), stamp=Table(axes=2)
)
def stamps(x, y, at, stamp):
    row, column = ti.floor(y[0]), ti.floor(x[0])
    a = x[0] - column
    k, l = at[0] - ti.cast(row, ti.i32), at[1] - ti.cast(column, ti.i32)  # noqa: E741
    return (y[0] - row) * ((1.0 - a) * stamp[k, l] + a * stamp[k, l - 1])


@local_energy("paint", over="nodes", canvas=Node(), colour=Node())
def paint(canvas, colour):
    return colour[0] * canvas[0]


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("samples", [7, 9, 31])
def test_windows_give_and_take_what_numpy_does(samples: int, precision: str) -> None:
    draw = np.random.default_rng(samples)
    stamp = draw.uniform(size=(samples, samples))
    x, y = (draw.uniform(-samples - 3, n + 3, 60) for n in SHAPE[::-1])  # beyond the grid, too
    colour = draw.uniform(size=SHAPE)
    of = Fields({"x": x, "y": y, "colour": colour.ravel()}, precision=precision)
    x, y, colour = (of[n].values.astype(float) for n in ("x", "y", "colour"))
    colour = colour.reshape(SHAPE)
    put = bind(stamps, of, tables={"stamp": stamp}, grid=Grid(SHAPE), outside="cut")
    u = Potential(of, [bind(paint, of)], [put])
    assert isinstance(u.chain.loops["stamps"], WindowLanes)

    around = samples + 4
    canvas = np.zeros((SHAPE[0] + 2 * around, SHAPE[1] + 2 * around))
    painted = np.pad(colour, around)
    slopes = np.zeros((2, len(x)))
    for e, (row, column) in enumerate(np.floor([y, x]).astype(int).T):
        a, b = x[e] - column, y[e] - row
        low, high = np.pad(stamp, ((0, 1), (0, 1))), np.pad(stamp, ((0, 1), (1, 0)))
        cells = (slice(row + around, row + around + samples + 1),)
        cells += (slice(column + around, column + around + samples + 1),)
        canvas[cells] += b * ((1.0 - a) * low + a * high)
        felt = painted[cells]
        slopes[:, e] = b * (felt * (high - low)).sum(), (felt * ((1.0 - a) * low + a * high)).sum()
    expected = canvas[around:-around, around:-around].ravel()
    found = {name: u.gradient(name) for name in ("x", "y")}
    assert of["canvas"].values == pytest.approx(expected, abs=TOLERANCE[precision] * expected.max())
    for name, slope in zip(found, slopes, strict=True):
        assert found[name] == pytest.approx(slope, abs=10 * TOLERANCE[precision] * np.abs(slope).max())
