"""The forum post's laser: why its coordinates never moved, and that ours do.

    post   canvas[int(y) + k, int(x) + l] += amount S[k, l]      piecewise constant in x and y
    ours   the same stencil at its sub-pixel offset, bilinear between samples

A cast coordinate has the derivative zero, and autodiff is right to say so; so is a difference over a small
step. Only a step of about half a pixel shows that the dose responds.
"""

import numpy as np
import pytest

from minusgrad import (
    Between,
    Cell,
    Datum,
    Fields,
    Grid,
    Node,
    Potential,
    Stage,
    Table,
    bind,
    bind_staged,
    local_map,
    staged_energy,
    ti,
)
from minusgrad.check import term_check
from minusgrad_laser.dose.spots import length, stencil_dose
from minusgrad_laser.losses.pixel_differences import dose_l2
from tests.exams.seeds import reverse_mode

ROWS, COLUMNS, POINTS, SIZE = 40, 56, 30, 15
REAL = ti.types.ndarray(dtype=ti.f64, ndim=1)
IMAGE = ti.types.ndarray(dtype=ti.f64, ndim=2)


@pytest.fixture
def path() -> dict[str, np.ndarray]:
    """A path well inside the canvas, whose coordinates are 0.1 pixels or more from where the cast jumps."""
    rng = np.random.default_rng(3)
    x, y = (rng.integers(12, n - 12, POINTS) + rng.uniform(0.1, 0.9, POINTS) for n in (COLUMNS, ROWS))
    return {"x": x, "y": y, "power": rng.uniform(0.01, 0.03, POINTS), "speed": rng.uniform(0.5, 2.0, POINTS)}


@pytest.fixture
def target() -> np.ndarray:
    return np.random.default_rng(4).uniform(size=(ROWS, COLUMNS))


@pytest.fixture
def stencil() -> np.ndarray:
    r2 = (np.arange(SIZE) - SIZE / 2)[:, None] ** 2 + (np.arange(SIZE) - SIZE / 2) ** 2
    return np.exp(-r2 / 25.0) * (1.0 + 0.1 * np.cos(r2))


# The post's deposit ---------------------------------------------------------------------------------


@ti.kernel
def cast_deposit(x: REAL, y: REAL, amount: REAL, stencil: IMAGE, canvas: IMAGE):
    ti.loop_config(serialize=True)
    for i, k, l in ti.ndrange(x.shape[0], stencil.shape[0], stencil.shape[1]):  # noqa: E741
        row = ti.cast(y[i] - stencil.shape[0] // 2 + k, ti.i32)
        column = ti.cast(x[i] - stencil.shape[1] // 2 + l, ti.i32)
        canvas[row, column] += amount[i] * stencil[k, l]


@ti.kernel
def squares(canvas: IMAGE, target: IMAGE, U: ti.types.ndarray(dtype=ti.f64, ndim=0)):
    ti.loop_config(serialize=True)
    for p, q in ti.ndrange(canvas.shape[0], canvas.shape[1]):
        U[None] += (canvas[p, q] - target[p, q]) ** 2


def cast_loss(x, y, amount, stencil, target) -> tuple[float, dict[str, np.ndarray]]:
    """The loss by plain Taichi, and its gradient by plain Taichi's reverse mode."""
    given = {"x": x, "y": y, "amount": amount, "stencil": stencil}
    arrays = {name: reverse_mode.array(values) for name, values in given.items()}
    canvas, against = reverse_mode.array(np.zeros((ROWS, COLUMNS))), reverse_mode.array(target)
    loss = reverse_mode.array(0.0)
    cast_deposit(*arrays.values(), canvas)
    squares(canvas, against, loss)
    loss.grad.fill(1.0)
    squares.grad(canvas, against, loss)
    cast_deposit.grad(*arrays.values(), canvas)
    return float(loss.to_numpy()), {n: arrays[n].grad.to_numpy() for n in ("x", "y", "amount")}


def test_a_cast_coordinate_has_exactly_no_gradient(path, stencil, target) -> None:
    here = (path["x"], path["y"], path["power"], stencil, target)
    start, gradient = cast_loss(*here)
    assert not gradient["x"].any()
    assert not gradient["y"].any()
    assert np.abs(gradient["amount"]).min() > 0.0
    for axis in (0, 1):
        for h in (1e-6, 1e-3, 0.05):
            moved = [value + h * (k == axis) for k, value in enumerate(here[:2])]
            assert cast_loss(*moved, *here[2:])[0] == start  # a small difference says zero, too
        moved = [value + 0.5 * (k == axis) for k, value in enumerate(here[:2])]
        assert abs(cast_loss(*moved, *here[2:])[0] - start) > 1e-5 * start


def cast_in_stages(path, stencil, target) -> Potential:
    fields = Fields({"x": path["x"], "y": path["y"], "amount": path["power"]})
    energy = staged_energy(
        "post",
        x=Node("m"),
        y=Node("m"),
        amount=Node(),
        stencil=Datum(shape=("k", "l")),
        target=Datum(shape=(ROWS, COLUMNS)),
        between={"canvas": Between((ROWS, COLUMNS))},
        stages=[Stage(cast_deposit, ("canvas",)), Stage(squares, ("U",))],
    )
    return Potential(fields, [bind_staged(energy, fields, data={"stencil": stencil, "target": target})])


def reported(potential: Potential) -> set[str]:
    """The arguments that `check` finds something wrong with."""
    return {finding.argument for finding in term_check.of_potential(potential) if not finding.passed}


# Ours -----------------------------------------------------------------------------------------------


def window(x, y, stencil):
    row, column = ti.floor(y[1]) - stencil.shape[0] // 2, ti.floor(x[1]) - stencil.shape[1] // 2
    return [row, column], [row + stencil.shape[0] - 1, column + stencil.shape[1] - 1]


@local_map(
    "cast_dose",
    gives="dose",
    over=2,
    x=Node(),
    y=Node(),
    power=Node(),
    speed=Node(),
    at=Cell(window=window),
    stencil=Table(axes=2),
)
def cast_dose(x, y, power, speed, at, stencil):
    """The post's deposit as a local map: the stencil at the integer pixel, and the dwell time as it is."""
    k = at[0] - ti.cast(ti.floor(y[1]), ti.i32) + stencil.shape[0] // 2
    l = at[1] - ti.cast(ti.floor(x[1]), ti.i32) + stencil.shape[1] // 2  # noqa: E741
    return power[1] * length(x, y) / speed[1] * stencil[k, l]


def potential(a_map, path, stencil, target) -> Potential:
    cells = ROWS * COLUMNS
    fields = Fields({**path, "target": target.ravel(), "share": np.full(cells, 1.0 / cells)})
    count = len(path["x"])
    segments = np.stack([np.arange(count - 1), np.arange(1, count)], axis=1)
    dose = bind(a_map, fields, tuples=segments, tables={"stencil": stencil}, grid=Grid((ROWS, COLUMNS), 1.0))
    return Potential(fields, [bind(dose_l2, fields)], [dose])


def deposited(path, stencil) -> np.ndarray:
    """The dose by a NumPy loop over points and samples: each sample is split over four cells."""
    dose = np.zeros((ROWS, COLUMNS))
    for i in range(1, POINTS):
        step = np.hypot(path["x"][i] - path["x"][i - 1], path["y"][i] - path["y"][i - 1])
        amount = path["power"][i] * step / path["speed"][i]
        row, column = int(path["y"][i]), int(path["x"][i])
        b, a = path["y"][i] - row, path["x"][i] - column
        for k in range(SIZE):
            for l in range(SIZE):  # noqa: E741
                p, q = row - SIZE // 2 + k, column - SIZE // 2 + l
                dose[p, q] += (1 - b) * (1 - a) * amount * stencil[k, l]
                dose[p, q + 1] += (1 - b) * a * amount * stencil[k, l]
                dose[p + 1, q] += b * (1 - a) * amount * stencil[k, l]
                dose[p + 1, q + 1] += b * a * amount * stencil[k, l]
    return dose


def test_our_dose_is_that_of_a_numpy_loop(path, stencil, target) -> None:
    ours = potential(stencil_dose, path, stencil, target)
    expected = deposited(path, stencil)
    assert ours.value() == pytest.approx(np.mean((expected - target) ** 2), rel=1e-13)
    dose = ours.fields["dose"].values.reshape(ROWS, COLUMNS)
    assert np.abs(dose - expected).max() < 1e-14 * expected.max()


@pytest.mark.parametrize("field", ["x", "y", "power", "speed"])
def test_our_gradient_agrees_with_differences_at_every_small_step(field, path, stencil, target) -> None:
    """The error of a central difference falls as h^2 until it is rounding."""
    ours = potential(stencil_dose, path, stencil, target)
    direction = np.random.default_rng(5).normal(size=POINTS) * np.abs(path[field]).mean() * 1e-2
    slope = float(ours.gradient(field) @ direction)
    assert abs(slope) > 1e-6

    def loss(h: float) -> float:
        ours.fields[field].set(path[field] + h * direction)
        return ours.value()

    for h in (0.25, 1e-1, 1e-2, 1e-3, 1e-4):
        error = abs((loss(h) - loss(-h)) / (2 * h) - slope)
        assert error < (0.1 * h * h + 1e-13 / h) * max(abs(slope), 1e-2)


def test_check_reports_the_casts_and_passes_ours(path, stencil, target) -> None:
    few = {name: values[:6] for name, values in path.items()}
    assert reported(cast_in_stages(few, stencil, target)) == {"x", "y"}
    assert reported(potential(cast_dose, few, stencil, target)) == {"x", "y"}
    assert reported(potential(stencil_dose, few, stencil, target)) == set()


def test_a_segment_of_no_length_has_a_finite_gradient(path, stencil, target) -> None:
    path["x"][7], path["y"][7] = path["x"][6], path["y"][6]
    ours = potential(stencil_dose, path, stencil, target)
    for field in path:
        assert np.isfinite(ours.gradient(field)).all()
    assert ours.gradient("power")[7] == 0.0
