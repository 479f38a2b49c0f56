"""A Lennard-Jones liquid of 32,000 and 256,000 atoms (`liquid_state`), with one thread and with all.

    32000-step-2       ns an atom and step of velocity Verlet, whole steps, lists included, by two threads
    32000-lists-2      ns an atom of a list of neighbours within cutoff and skin (`liquid_lists`)
    32000-product-2    ns an atom of a Hessian product, beside the gradient (`liquid_product`)

LAMMPS rebuilds its lists at every 20th step, unseen; ours are rebuilt before a pair can be missed, here at
about every tenth step. Every call begins at the same state. What is right are the positions by our loops
over one target at a time, in f64; OpenMM, whose CPU platform computes in f32, takes the leapfrog form of the
scheme. LAMMPS, which misses pairs late in its 20 steps, is off by 1e-4 sigma after 40; the others agree to
rounding. The energy of the start, by SciPy's tree and NumPy, is compared with that of every program, so that
cutoff, units and potential are the same.
"""

from collections.abc import Iterator

import numpy as np

from minusgrad.engine import runtime

from . import liquid_lists, liquid_product
from .harness import session
from .harness.cases import OURS, Case, Column, Goal, Posed
from .liquid_peers import in_jax_md, in_lammps, in_openmm, in_torch_sim
from .liquid_state import energy, expected, state, stepper

LAMMPS, OPENMM, JAX_MD, TORCH_SIM = "LAMMPS opt", "OpenMM", "JAX-MD", "torch-sim"
SIDES, QUICK = {20: 40, 40: 20}, {8: 20}
"""Steps a call by the cells along each axis."""
AGREEMENT = {"f32": 1e-5, "f64": 1e-10}
"""Of energies of the start."""


def cases() -> Iterator[Case]:
    """Sizes, precisions, one thread and all."""
    for side, steps in (QUICK if session.quick() else SIDES).items():
        for threads in sorted({1, session.threads()}):
            for precision in ("f32", "f64"):
                yield case(side, precision, steps, threads)
                yield liquid_lists.case(side, precision, threads)
                yield liquid_product.case(side, precision, threads)


def case(side: int, precision: str, steps: int, threads: int = 0) -> Case:
    """So many cells of a crystal along each axis, and steps a call."""
    columns = {
        LAMMPS: Column(lambda: in_lammps(side, steps), peer=True),
        OURS: Column(lambda: ours(side, precision, steps), engine=True),
        JAX_MD: Column(lambda: in_jax_md(side, precision, steps), peer=True),
        TORCH_SIM: Column(lambda: in_torch_sim(side, precision, steps), peer=True, most=2e6),
    }
    goals = [Goal(LAMMPS, 0.6 if precision == "f64" else 0.45), Goal(JAX_MD, 0.05)]
    if precision == "f32":
        columns[OPENMM] = Column(lambda: in_openmm(side, steps), peer=True)
        goals.append(Goal(OPENMM, 0.25))
    n = 4 * side**3
    return Case(
        "liquid",
        f"{n}-step-{threads}",
        precision,
        columns,
        expected=lambda: expected(side, steps),
        tolerance=1e-5,
        count=n * steps,
        unit="ns an atom-step",
        base=LAMMPS,
        goals=tuple(goals),
        threads=threads,
        energy=lambda: energy(side),
        agreement=AGREEMENT[precision],
        about={"N": n, "steps": steps, "threads": threads},
    )


def ours(side: int, precision: str, steps: int) -> Posed:
    """`advance`"""
    x, v, box = state(side)
    fields, integrator = stepper(x, v, box, precision)
    began = integrator.state()

    def call() -> np.ndarray:
        fields["x"].set(x)
        fields["v"].set(v)
        integrator.restore(began)
        integrator.advance(steps)
        runtime.sync()
        return fields["x"].values

    return Posed(call, integrator.potential.value() / len(x))
