"""Stages that run again and kernels by threads: the bits of full storage, true gradients."""

from collections.abc import Callable

import numpy as np
import pytest

from minusgrad import (
    Between,
    Fields,
    Node,
    Parameter,
    Stage,
    bind_staged,
    staged_energy,
    ti,
)
from minusgrad.engine import runtime
from minusgrad.potential.staged.staged_term import Staged, StagedTerm
from tests.support.staged_kernels import A, N, at_rest, order, shared, squares

# Recomputation --------------------------------------------------------------------------------------


@ti.kernel
def to_grid(x: A(ndim=1), v: A(ndim=1), grid: A(ndim=2)):
    """Particles give mass and momentum to the two cells beside them."""
    ti.loop_config(serialize=True)
    for i in range(x.shape[0]):
        cell = ti.floor(x[i], ti.i32)
        f = x[i] - cell
        grid[cell, 0] += 1 - f
        grid[cell + 1, 0] += f
        grid[cell, 1] += (1 - f) * v[i]
        grid[cell + 1, 1] += f * v[i]


@ti.kernel
def to_particles(
    x: A(ndim=1), v: A(ndim=1), grid: A(ndim=2), k: A(ndim=0), x_new: A(ndim=1), v_new: A(ndim=1)
):
    """They take half the velocity of the grid, and a push of a spring to the middle."""
    ti.loop_config(serialize=True)
    for i in range(x.shape[0]):
        cell = ti.floor(x[i], ti.i32)
        f = x[i] - cell
        around = (1 - f) * grid[cell, 1] / grid[cell, 0] + f * grid[cell + 1, 1] / (grid[cell + 1, 0] + 0.01)
        v_next = 0.5 * v[i] + 0.5 * around - 0.05 * k[None] * (x[i] - 4.0)
        v_new[i] = v_next
        x_new[i] = x[i] + 0.05 * v_next


STEPS = 6


def loop(grids: list[str], particles: list[int], recompute: tuple[bool, bool]) -> Staged:
    """Particles and a grid for some steps; step s goes by grids[s] from particles[s] to the next."""
    stages = [Stage(at_rest, ("v",), rename={"v": f"v{particles[0]}"}, recompute=recompute[1])]
    between = dict.fromkeys(grids, Between((10, 2)))
    state = [("x" if s == 0 else f"x{p}", f"v{p}") for s, p in enumerate(particles)]
    for s, grid in enumerate(grids):
        here, there = dict(zip("xv", state[s], strict=True)), state[s + 1]
        both = {**here, "grid": grid, "x_new": there[0], "v_new": there[1]}
        stages.append(Stage(to_grid, ("grid",), rename={**here, "grid": grid}, recompute=recompute[0]))
        stages.append(Stage(to_particles, ("x_new", "v_new"), rename=both, recompute=recompute[1]))
    stages.append(Stage(squares, ("U",), rename={"x": state[-1][0]}))
    between |= {name: N for pair in state for name in pair if name != "x"}
    return staged_energy("loop", stages=stages, between=between, x=Node("m"), k=Parameter(default=1.3))


FULL = loop([f"grid{s}" for s in range(STEPS)], list(range(STEPS + 1)), (False, False))
ONE_GRID = loop(["grid"] * STEPS, list(range(STEPS + 1)), (True, False))
THREE_STATES = loop(["grid"] * STEPS, [0, 1, 2] * 2 + [0], (True, True))


def particles() -> Fields:
    return Fields({"x": np.random.default_rng(3).uniform(1.0, 7.0, 30)})


@pytest.mark.parametrize(("energy", "held"), [(ONE_GRID, (1, 14)), (THREE_STATES, (1, 7))])
def test_recomputation_gives_the_bits_of_full_storage(energy: Staged, held: tuple[int, int]) -> None:
    full, saving = bind_staged(FULL, particles()), bind_staged(energy, particles())
    assert full.value() == saving.value()
    for argument in ("x", "k"):
        assert np.array_equal(full.gradient(argument), saving.gradient(argument))

    def count(term: StagedTerm) -> tuple[int, int]:
        grids = sum(name.startswith("grid") for name in term.arrays)
        return grids, sum(name[0] in "xv" for name in term.arrays)

    assert count(full) == (STEPS, 14)
    assert count(saving) == held


def test_the_loop_has_a_true_gradient() -> None:
    term = bind_staged(ONE_GRID, particles())
    start = term.fields["x"].values.copy()

    def value(x: np.ndarray) -> float:
        term.fields["x"].set(x)
        return term.value()

    gradient = term.gradient("x")
    assert np.abs(gradient).min() > 0.0
    assert order(value, start, gradient) > 1.9


def test_a_stage_runs_again_only_where_its_array_holds_something_else() -> None:
    def runs(energy: Staged) -> int:
        return sum(act == "run" for act, _ in energy.schedule.backward)

    assert (runs(FULL), runs(ONE_GRID)) == (0, STEPS - 1)
    assert runs(THREE_STATES) > STEPS


# Bits -----------------------------------------------------------------------------------------------


@ti.kernel
def any_order(x: A(ndim=1), U: A(ndim=0)):
    for i in range(x.shape[0]):
        U[None] += ti.sin(x[i])


@ti.kernel
def fixed_order(x: A(ndim=1), U: A(ndim=0)):
    ti.loop_config(serialize=True)
    for i in range(x.shape[0]):
        U[None] += ti.sin(x[i])


def with_many(kernel: Callable, n: int = 200_000) -> StagedTerm:
    fields = Fields({"x": np.random.default_rng(0).normal(size=n)})
    roles = {"s": Parameter(default=1.0)} if kernel is shared else {}
    return bind_staged(staged_energy("e", stages=[Stage(kernel, ("U",))], x=Node(), **roles), fields)


def test_a_kernel_that_adds_in_any_order_is_found(two_threads) -> None:
    """Sooner or later: where another program keeps one core busy, one thread may do it all."""
    term = with_many(any_order, 2_000_000)
    assert any(term.unsteady() == ["U"] for _ in range(100))


@pytest.mark.parametrize("kernel", [fixed_order, shared])
def test_serialised_kernels_have_the_same_bits_at_any_number_of_threads(
    two_threads, kernel: Callable
) -> None:
    term = with_many(kernel)
    assert term.unsteady() == []
    two = term.value(), *term.gradients(term.energy.differentiable).values()
    runtime.start(runtime.Options(threads=1))
    one = term.value(), *term.gradients(term.energy.differentiable).values()
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
