"""A cloth of 10,000 triangles falls over the edge of a table by implicit Euler; its gradient beside C.

gradient    membranes and hinges of the cloth, bent and shaken; C (`reference/cloth.c`) adds to sums of each
            thread, which is our scheme, too
steps       CPU ms an iteration of Newton's method, in steps of 10 ms from rest on the table: ours as `auto`
            chooses, and by SuperLU; the answer is what the last step leaves of its equation, in weights

    m (v' - v) / h + dU/dx(x') = 0       at free components

`python -m benchmarks.drape` prints the iterations of each step and what they are spent on.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from minusgrad import Fields, Potential
from minusgrad.engine import runtime, storage
from minusgrad.steppers.implicit.implicit_integrator import ImplicitIntegrator

from . import cloth_in_c
from .cloth import Cloth
from .harness import session
from .harness.cases import OURS, C, Call, Case, Clocked, Column, Goal
from .harness.compiled import DTYPE
from .harness.worker import peak_memory

PARTS, QUICK = (50, 100), (6, 12)
STEPS, SHOWN = 5, 40
DT = 0.01
TOLERANCE = {"f32": 2e-5, "f64": 1e-12}
SUPERLU = "minusgrad, SuperLU"
LEFT = 1e-6
"""What may be left of the equation of a step, in weights of a node: its forces are 1e5 weights."""


def cases() -> Iterator[Case]:
    """The gradient in each precision, and steps."""
    parts = QUICK if session.quick() else PARTS
    for precision in ("f32", "f64"):
        yield gradient(parts, precision)
    yield steps(parts)


def gradient(parts: tuple[int, int], precision: str) -> Case:
    """dU/dx of the cloth alone, one thread."""
    return Case(
        "drape",
        "gradient",
        precision,
        {
            C: Column(lambda: cloth_in_c.gradient(shaken(parts, precision), precision, 1)),
            OURS: Column(lambda: our_gradient(shaken(parts, precision), precision), engine=True),
        },
        expected=lambda: shaken(parts, precision).gradient(),
        tolerance=TOLERANCE[precision],
        count=2 * int(np.prod(parts)),
        unit="ns a triangle",
        goals=(Goal(C, 1.5),),
        threads=1,
        about={"triangles": 2 * int(np.prod(parts))},
    )


def steps(parts: tuple[int, int]) -> Case:
    """Steps from rest on the table; the first call compiles and analyses."""
    return Case(
        "drape",
        "steps",
        "f64",
        {
            SUPERLU: Column(lambda: clocked_steps(parts, "superlu"), engine=True),
            OURS: Column(lambda: clocked_steps(parts, "auto"), engine=True),
        },
        expected=lambda: np.zeros(1),
        tolerance=LEFT,
        unit="ms an iteration",
        base=SUPERLU,
        goals=(Goal(SUPERLU, 0.6),),
        threads=1,
        about={"triangles": 2 * int(np.prod(parts)), "steps": STEPS},
    )


@cache
def shaken(parts: tuple[int, int], precision: str) -> Cloth:
    """In numbers that the precision holds."""
    return Cloth.of(parts).shaken().rounded(DTYPE[precision])


def our_gradient(cloth: Cloth, precision: str) -> Call:
    """dU/dx of the shipped energies."""
    fields = Fields({"x": cloth.x}, precision=precision)
    potential, out = (
        Potential(fields, cloth.fabric(fields)),
        storage.allocate(cloth.x.astype(DTYPE[precision])),
    )

    def call() -> np.ndarray:
        potential.gradient_into({"x": out})
        runtime.sync()
        return out

    return call


def clocked_steps(parts: tuple[int, int], solver: str) -> Callable[[], Clocked]:
    """The same steps at each call, by the CPU clock of the process."""
    cloth = Cloth.of(parts)
    stepper = cloth.draped(DT, solver)
    fields, began = stepper.potential.fields, stepper.state()

    def call() -> Clocked:
        fields["x"].set(cloth.x)
        fields["v"].set(np.zeros_like(cloth.x))
        stepper.restore(began)
        first, start = stepper.solver.iterations, time.process_time()
        stepper.advance(STEPS - 1)
        before = fields["v"].values.copy()
        stepper.advance(1)
        seconds = time.process_time() - start
        left = unbalanced(stepper, cloth, before)
        return Clocked(seconds / (stepper.solver.iterations - first), np.array([left]), peak_memory(False))

    return call


def unbalanced(stepper: ImplicitIntegrator, cloth: Cloth, before: np.ndarray) -> float:
    """The largest force that the equation of a step leaves at free nodes, in weights of a node."""
    v, pull = stepper.potential.fields["v"].values, stepper.potential.gradient("x")
    left = cloth.masses[:, None] * (v - before) / DT + pull
    return float(np.abs(left[stepper.holds.free("x")]).max() / (9.81 * cloth.masses.mean()))


class Spent:
    """CPU seconds of methods by name, those within another one left out of it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._inner = [0.0]

    def watch(self, owner: Any, method: str, name: str) -> None:
        """Measure a method of an object from now on."""
        plain = getattr(owner, method)

        def watched(*given: Any, **named: Any) -> Any:
            start = time.process_time()
            self._inner.append(0.0)
            try:
                return plain(*given, **named)
            finally:
                whole = time.process_time() - start
                self.seconds[name] += whole - self._inner.pop()
                self._inner[-1] += whole

        setattr(owner, method, watched)


def main() -> None:
    """Print a row for each step."""
    runtime.start(runtime.Options(threads=1))
    cloth, start = Cloth.of(PARTS), time.process_time()
    stepper, spent = cloth.draped(DT), Spent()
    fields = stepper.potential.fields
    spent.watch(stepper.solver.objective, "hessian", "Hessian")
    spent.watch(stepper.solver.solver, "factor", "factors")
    spent.watch(stepper.solver.solver, "solve", "solutions")
    spent.watch(stepper.solver.objective, "evaluate_into", "gradient")
    spent.watch(stepper.solver.objective, "magnitude", "gradient")
    names = "Hessian", "factors", "solutions", "gradient", "the rest"
    print(f"{len(cloth.triangles)} triangles; made in {time.process_time() - start:.1f} s of CPU")
    print("step  iterations  s an iteration  " + "  ".join(names) + "  left [weights of a node]  lowest [m]")
    for step in range(1, SHOWN + 1):
        spent.seconds.clear()
        first, start, before = stepper.solver.iterations, time.process_time(), fields["v"].values.copy()
        stepper.advance(1)
        whole, many = time.process_time() - start, stepper.solver.iterations - first
        spent.seconds["the rest"] = whole - sum(spent.seconds.values())
        parts = "  ".join(f"{spent.seconds[name] / many:{len(name)}.4f}" for name in names)
        left, low = unbalanced(stepper, cloth, before), float(fields["x"].values[:, 2].min())
        print(f"{step:4}  {many:10}  {whole / many:14.4f}  {parts}  {left:24.1e}  {low:.4f}", flush=True)
    print(stepper.solver_used)


if __name__ == "__main__":
    main()
