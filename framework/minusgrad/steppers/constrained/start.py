"""Constraints at the start of a motion: dependent ones are refused, starts that violate g are projected.

    dependent       the gradient of an equation is a combination of those of others, by the pivots of G W G^T
    redundant       so at nearby positions, too, and the others imply it
    contradictory   so at nearby positions, too, and no positions fulfil all
    singular        so at the start alone, as of rods in line

A start may violate g by the rounding of numbers in a file; then it is projected without a word.
"""

import numpy as np

from ...errors import EnergyError, UnsolvedStepError
from .projections import MOST, Projections

ROUGH = {"float64": 1e-7, "float32": 1e-4}
"""The largest violation of a start that passes for rounding."""
PIVOT = {"float64": 1e-10, "float32": 1e-5}
"""The least pivot of independent equations at the start, relative to the diagonal."""
NEAR = 1e-2
"""How far nodes are moved, in parts of the largest coordinate, to tell singular from redundant."""
CURE = "correct the start, or move it there by project_start = true"


def prepare(projections: Projections, t: float) -> None:
    """Refuse dependent constraints and starts that violate them; project other starts.

    Raises `EnergyError` naming elements and nodes.
    """
    projections.load(t)
    _refuse_immovable(projections)
    _refuse_dependent(projections, t)
    _project_positions(projections, t)
    projections.load(t)
    _refuse_dependent(projections, t)
    _project_velocities(projections)


def _refuse_immovable(p: Projections) -> None:
    """Refuse equations that no free component can change."""
    p.factor()
    if (bad := np.flatnonzero(~(p.sizes > 0.0))).size:
        row = p.equations.row(int(bad[0]))
        raise EnergyError(
            f"{row}: its gradient is zero at the start, so that no force can keep it; write g with a gradient"
            " where it is zero, or start elsewhere"
        )
    if (bad := np.flatnonzero(~(p.gram.diagonal > 0.0))).size:
        row = p.equations.row(int(bad[0]))
        raise EnergyError(f"{row}: all that it binds is held, got nothing that may move; leave it out")


def _dependent(p: Projections) -> int | None:
    """The first equation that is no more than others together, at the Jacobian that was loaded."""
    p.factor()
    ratio = p.gram.factors.pivots / p.gram.diagonal
    bad = np.flatnonzero(~(ratio > PIVOT[p.constraints.fields.dtype.name]))
    places = np.argsort(p.gram.factors.order)
    return int(min(bad, key=lambda k: places[k])) if bad.size else None


def _refuse_dependent(p: Projections, t: float) -> None:
    row = _dependent(p)
    if row is None:
        return
    said = p.combined(row)
    if _regular_nearby(p, t):
        raise EnergyError(
            f"{said} at the start, which is a singular configuration, as of rods in line; start elsewhere"
        )
    weights, g = p.gram.factors.combination(row), p.equations.values()
    size = float(np.abs(weights * p.sizes).sum()) * p.equations.extent()
    if abs(float(weights @ g)) > ROUGH[p.constraints.fields.dtype.name] * size:
        raise EnergyError(f"{said}: they contradict each other; correct the data of one of them")
    raise EnergyError(f"{said}: it is redundant; leave one of them out")


def _regular_nearby(p: Projections, t: float) -> bool:
    """True if all equations are independent where free components are moved a little; fields stay."""
    fields, extent, rng = p.constraints.fields, p.equations.extent(), np.random.default_rng(0)
    before = {name: fields[name].values.copy() for name in p.names}
    for name, x in before.items():
        moved = NEAR * extent * rng.uniform(-1.0, 1.0, x.shape)
        fields[name].set(np.where(p.holds.free(name), x + moved, x))
    p.load(t)
    regular = _dependent(p) is None
    for name, x in before.items():
        fields[name].set(x)
    p.load(t)
    return regular


def _project_positions(p: Projections, t: float) -> None:
    """Move positions onto g = 0 by a short way, in the metric of masses; refuse to move some.

    Along the gradients at the start where that leads there; else along those at each iteration.
    """
    eps, extent = float(np.finfo(p.constraints.fields.dtype).eps), p.equations.extent()
    rough = ROUGH[p.constraints.fields.dtype.name]
    g = p.equations.values()
    off = np.abs(g) / (p.sizes * extent)
    if wrong := _not_projectable(p, off, rough):
        k = max(wrong, key=lambda k: off[k])
        raise EnergyError(
            f"{p.equations.row(k)}: is violated at the start, got g = {g[k]:.6g}, a distance of"
            f" {off[k]:.2g} of the largest coordinate; {CURE}"
        )
    try:
        p.project(t)  # as runs of fits begin, so that a run with fitted values begins there, too
        return
    except UnsolvedStepError:
        p.load(t)
    last = np.inf
    for _ in range(MOST):
        worst = float(off.max(initial=0.0))
        if worst <= 4.0 * eps or (worst <= 64.0 * eps and worst > 0.5 * last):
            return
        p.shift(g)
        p.load(t)
        g, last = p.equations.values(), worst
        off = np.abs(g) / (p.sizes * extent)
        if not np.isfinite(off).all():
            break
    k = int(np.argmax(np.where(np.isfinite(off), off, np.inf)))
    raise EnergyError(
        f"{p.equations.row(k)}: no projection of the start reaches it, got g = {g[k]:.3g}; the constraints"
        " contradict each other, or the start is too far off"
    )


def _not_projectable(p: Projections, off: np.ndarray, rough: float) -> list[int]:
    """The equations that are violated by more than rounding, and whose starts may not be moved."""
    bad = [int(k) for k in np.flatnonzero(~(off <= rough))]
    return [k for k in bad if p.equations.row(k).constraint not in p.constraints.projected]


def _project_velocities(p: Projections) -> None:
    """Make velocities tangent; refuse what may not be changed."""
    rates = p.rates_of_change().copy()
    fields = p.constraints.fields
    v = np.concatenate([fields[m.velocity].values.astype(np.float64).ravel() for m in p.motions])
    fastest = float(np.abs(v[p.equations.members]).max(initial=0.0))
    with np.errstate(all="ignore"):
        off = np.where(rates == 0.0, 0.0, np.abs(rates) / (p.sizes * fastest))
    if wrong := _not_projectable(p, off, ROUGH[fields.dtype.name]):
        k = max(wrong, key=lambda k: off[k])
        raise EnergyError(
            f"{p.equations.row(k)}: velocities violate it at the start, got dg/dt = {rates[k]:.6g}; {CURE}"
        )
    p.velocities()
