"""The works of the scoreboard by name, and their cases."""

from collections.abc import Callable, Iterator
from importlib import import_module

from minusgrad.errors import UserError, unknown

from .harness.cases import Case, Cases

WORKS = {
    "gravity_forces": "all-pairs gravity forces",
    "neo_hookean": "neo-Hookean tetrahedra: gradient, Hessian product, element Hessians",
    "projected_hessian": "the sparse Hessian, made positive semi-definite",
    "statics": "the static bend of a beam by Newton's method",
    "drape": "a cloth of 10,000 triangles over the edge of a table: its gradient, implicit steps",
    "solids": "NAFEMS LE1 and a twisted cube beside scikit-fem and FEniCSx",
    "leapfrog": "1,000 steps of leapfrog, 1,024 bodies, with run folder and checkpoint",
    "few_bodies": "leapfrog for 2 and 8 bodies",
    "planetary_orbits": "the outer Solar System for 1,000 years",
    "far_pairs": "gravity by a tree: forces at one error, and a leapfrog step",
    "double_pendula": "1,024 double pendula by a variational integrator",
    "chain_of_rods": "a chain of 10,000 rods by RATTLE, and the same of springs",
    "liquid": "a Lennard-Jones liquid within a cutoff: velocity Verlet with lists of neighbours",
    "rigid_water": "216 rigid waters: RATTLE with lists of neighbours",
    "laser_deposit": "one iteration of laser deposition on the butterfly",
    "evolution": "programs in time: value and gradient of a whole run",
    "first_call": "the cold first call",
    "energies": "every shipped energy",
    "small_systems": "what a call costs: 256 bodies, 384 tetrahedra",
    "scaling": "time against size and cores",
    "saving": "a state of 128 MB on its way to disk",
    "ensembles": "1,024 members of small systems, and gradients of their runs",
    "sweep": "a sweep of runs of 2 s on two workers",
    "torch_call": "one call from PyTorch",
    "start": "from the command line to the first step",
}
"""By the room that has them, in the order of the tables."""


def cases(work: str) -> Cases:
    """The cases of a work, for the session's settings.

    Raises `UserError` for a work that there is not.
    """
    if work not in WORKS:
        raise UserError(unknown("work", work, WORKS))
    made: Callable[[], Iterator[Case]] = import_module(f".{work}", __package__).cases
    return made()


def find(label: str) -> Case:
    """The case of that label."""
    return next(case for case in cases(label.partition("[")[0]) if case.label == label)
