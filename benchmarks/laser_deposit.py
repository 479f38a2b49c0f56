"""One iteration of laser deposition: dose, mean squared error, gradient by x, y, power and speed, in ms.

5,000 points on 512 x 512 cells, a 15 x 15 stencil: the forum post's data (`laser_post`). A large case has
100,000 points on 2,048 x 2,048 cells, beside an iteration of the post's in the same run. Dose, loss and each
of the four gradients of every column are compared with NumPy in f64, in parts of the largest value of each.
One column is not of this model and is compared with its own: "with the place rounded" to a pixel, as the post
did, x and y have no gradient but that of the segments' lengths.
"""

import ctypes
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from minusgrad import Fields, Potential, bind
from minusgrad.energies.fields import Grid
from minusgrad.engine import runtime
from minusgrad_laser.dose.spots import stencil_dose
from minusgrad_laser.losses.pixel_differences import dose_l2

from . import laser_peers
from .harness import session
from .harness.cases import OURS, C, Call, Case, Column, Goal
from .harness.compiled import DTYPE, aligned, library, pointers
from .laser_post import MARGIN, Path4, Result, Scaled, Task, expected, task
from .laser_taichi import SeedsForm

TOLERANCE = {"f32": 2e-4, "f64": 1e-11}
BEST_TORCH, BEST_JAX = "torch eager", "JAX, vjp by hand"
BUTTERFLY = "minusgrad, the post's"
GOALS = (Goal(C, 2.0), Goal(BEST_TORCH, 0.2), Goal(BEST_JAX, 0.5))
LARGE = (Goal(BUTTERFLY, 30.0), Goal(C, 2.0))


def cases() -> Iterator[Case]:
    """In each precision, and a large canvas."""
    for precision in ("f32", "f64"):
        yield case(500 if session.quick() else 5000, precision)
    yield large(2000, 256) if session.quick() else large(100_000, 2048)


def asked(given: Callable[[], Task]) -> tuple[Callable[..., Column], Callable[[bool], Scaled]]:
    """A maker of columns that answer for a task, and the right answer; `cast`: with the place rounded."""

    @cache
    def right(cast: bool) -> Scaled:
        return Scaled.by(expected(given(), cast))

    def column(make, cast: bool = False, **more) -> Column:  # type: ignore[no-untyped-def]
        def scaled() -> Call:
            call, scale = make(given()), right(cast)
            return lambda: scale.of(call())

        return Column(scaled, expected=lambda: right(cast).right, **more)

    return column, right


def large(points: int, size: int) -> Case:
    """So many points on so many cells along a side, in f32, beside the post's 5,000 on 512 x 512."""
    column, right = asked(cache(lambda: task(points, DTYPE["f32"], size)))
    of_post, _ = asked(cache(lambda: task(5000, DTYPE["f32"])))
    columns = {
        C: column(in_c),
        OURS: column(lambda given: ours(given, "f32"), engine=True),
        BUTTERFLY: of_post(lambda given: ours(given, "f32"), engine=True),
    }
    return Case(
        "laser_deposit",
        f"{points}",
        "f32",
        columns,
        expected=lambda: right(False).right,
        tolerance=TOLERANCE["f32"],
        goals=LARGE,
        about={"points": points, "cells": size * size},
    )


def case(points: int, precision: str, work: str = "laser_deposit", threads: int = 0) -> Case:
    """So many points of the curve."""
    given = task(points, DTYPE[precision])
    column, right = asked(lambda: given)
    columns = {
        C: column(in_c),
        OURS: column(lambda given: ours(given, precision), engine=True),
        "scatter kernels, Tape": column(lambda given: SeedsForm(given).bilinear, engine=True),
        "with the place rounded": column(lambda given: SeedsForm(given).cast, cast=True, engine=True),
    }
    columns |= {name: column(make, peer=True) for name, make in laser_peers.MAKERS.items()}
    return Case(
        work,
        f"{points}",
        precision,
        columns,
        expected=lambda: right(False).right,
        tolerance=TOLERANCE[precision],
        goals=GOALS,
        threads=threads,
        about={"points": points, "cells": given.target.size},
    )


def ours(given: Task, precision: str) -> Call:
    """The shipped map and energy: value and gradient in one pass."""
    points, shape = len(given.path.x), given.target.shape
    cells = {"target": given.target.ravel(), "share": np.full(given.target.size, 1 / given.target.size)}
    fields = Fields(given.path._asdict() | cells, precision=precision)
    segments = np.stack([np.arange(points - 1), np.arange(1, points)], axis=1)
    spots = bind(stencil_dose, fields, tuples=segments, tables={"stencil": given.stencil}, grid=Grid(shape))
    potential = Potential(fields, [bind(dose_l2, fields)], [spots])
    gradient = np.zeros((4, points), given.target.dtype)
    targets = dict(zip(Path4._fields, gradient, strict=True))

    def call() -> Result:
        loss = potential.evaluate_into(targets)
        runtime.sync()
        return Result(fields["dose"].values.reshape(shape), loss, gradient)

    return call


def in_c(given: Task) -> Call:
    """`reference/laser_deposit.c`"""
    dtype = given.target.dtype
    function = library("laser_deposit.c", {4: "f32", 8: "f64"}[dtype.itemsize]).iterate
    function.restype = ctypes.c_double
    (rows, cols), points = given.target.shape, len(given.path.x)
    canvas = aligned(np.zeros((rows + 2 * MARGIN, cols + 2 * MARGIN)), dtype)
    residual, gradient = aligned(0 * canvas, dtype), aligned(np.zeros((4, points)), dtype)
    work = aligned(np.zeros(6 * points), dtype)
    arrays = (*given.path, given.stencil, given.target, canvas, residual, gradient, work)
    sizes = [ctypes.c_int(n) for n in (points, session.threads(), rows, cols)]

    def call() -> Result:
        loss = function(*sizes, *pointers(arrays))
        return Result(canvas[MARGIN:-MARGIN, MARGIN:-MARGIN], loss, gradient)

    return call
