"""What runs of a scene record: the units of all series, and the grids that fields lie on."""

from ...energies.fields import State
from ...energies.term import Term
from ...files.h5md import Raster
from ...files.trajectory import Recorder
from ...potential.potential import Potential
from ...potential.staged.staged_term import StagedTerm
from ...scene.units import UnitSystem, product, quotient
from ...steppers.constrained.plane_reactions import plane_constraints
from ...steppers.systems.system import System
from .drawn_looks import drawn_looks

ENERGIES = (
    "kinetic",
    "energy_function",
    "total",
    "work",
    "dissipated",
    "damped",
    "heat",
    "cell",
)
"""Series that are energies, whatever the scene."""


def recorder(state: State, system: System, units: UnitSystem) -> Recorder:
    """A new recorder of a system's series and frames, in the run's units."""
    seconds = units.symbol("s"), units.in_si("s")
    length = units.symbol("m"), units.in_si("m")
    grids = {name: Raster(grid.shape, grid.spacing, length) for name, grid in state.grids.items()}
    known = recorded_units(state, system, units)
    looks = drawn_looks(state, length)
    return Recorder(known, seconds, state.tuples, state.shown, grids, system.fields.periodic, looks=looks)


def recorded_units(state: State, system: System, units: UnitSystem) -> dict[str, tuple[str, float]]:
    """Symbol and size in SI of everything that may be recorded."""
    pairs = {state.labels.get(n, n): f.unit for n, f in system.fields.items()}
    energies = [*ENERGIES, *(f"potential/{t}" for t in system.potential.terms)]
    pairs |= dict.fromkeys(energies, "J") | {"box/edges": "m", "drift": "1"}
    planes = plane_constraints(system.constraints)
    supported = [*dict.fromkeys([*system.holds.fields, *planes.values()])]
    for field in supported:
        label = "reaction" if len(supported) == 1 else f"reaction/{field}"
        force = quotient("J", system.fields[field].unit)
        pairs |= dict.fromkeys([label, *(f"{label}/{h}" for h in [*system.holds.names, *planes])], force)
    for motion in state.motions:
        suffix = "" if len(state.motions) == 1 else f"/{motion.position}"
        mass = system.fields[motion.inertia].unit if isinstance(motion.inertia, str) else "1"
        p = product(mass, system.fields[motion.velocity].unit)
        if system.lagrangian is not None:
            p = quotient("J s", system.fields[motion.position].unit)
            pairs |= {f"momentum{suffix}": p, f"conjugate_momentum{suffix}": p}
            continue
        pairs |= {
            f"momentum{suffix}": p,
            f"angular_momentum{suffix}": product(p, system.fields[motion.position].unit),
        }
    if system.lagrangian is not None:
        terms = system.lagrangian.terms
        maps = {n for term in terms.values() for n in term.energy.generators}
        pairs |= {f"momentum_map/{n}": "J s" for n in maps}
        pairs |= {f"momentum_map/{t}_{n}": "J s" for t in terms for n in maps}
    return {label: (units.symbol(u), units.in_si(u)) for label, u in pairs.items()}


def grids_of_fields(state: State, potential: Potential) -> dict[str, str]:
    """The grid that each field over one lies on, by field."""
    places = {field: name for name, grid in state.grids.items() for field in grid.fields}
    of_grid = {id(grid): name for name, grid in state.grids.items()}
    terms = [part for part in potential.parts.values() if isinstance(part, Term)]
    over = {f.name: term.grid_of(a) for term in terms for a, f in term.fields.items()}
    given = {f.name: m.receiving_grid for m in terms for f in m.outputs.values()}
    staged = [part for part in potential.parts.values() if isinstance(part, StagedTerm)]
    given |= {f.name: m.cells for m in staged for f in m.outputs.values()}
    read, written = (
        {n: of_grid[id(g)] for n, g in some.items() if id(g) in of_grid} for some in (over, given)
    )
    return read | places | written
