"""What a call costs where there is little to compute: a gradient, ours beside C, in ms a call.

    gravity    all-pairs forces of 256 bodies
    solid      neo-Hookean gradient of 384 tetrahedra

The works are those of `gravity_forces` and `neo_hookean`, whose larger sizes do not feel the call.
"""

from collections.abc import Iterator
from dataclasses import replace

from . import gravity_forces, neo_hookean
from .harness.cases import OURS, C, Case, Goal

BODIES, PARTS = 256, 4
GRAVITY, SOLID = 2.0, 3.0
"""Goals: at most so many times the time of C."""


def cases() -> Iterator[Case]:
    """Both in each precision."""
    for precision in ("f32", "f64"):
        yield _beside_c("gravity", BODIES, gravity_forces.case(BODIES, precision), C, GRAVITY)
        solid = next(neo_hookean.of((PARTS,) * 3, precision))
        yield _beside_c("solid", 6 * PARTS**3, solid, neo_hookean.BY_SLOTS, SOLID)


def _beside_c(physics: str, size: int, case: Case, base: str, goal: float) -> Case:
    """C and ours alone, in ms a call."""
    return replace(
        case,
        work="small_systems",
        name=f"{physics}-{size}",
        columns={base: case.columns[base], OURS: case.columns[OURS]},
        count=1,
        unit="ms",
        base=base,
        goals=(Goal(base, goal),),
        about={"physics": physics, "size": size},
    )
