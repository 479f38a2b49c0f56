"""Constraints at the start of a motion: dependent ones are refused, starts that violate g are projected.

    x <- x - W G0^T L,  g(x, t) = 0;   then v <- v - W G^T M, tangent         G0 (E, N) at the start

as runs with derivatives begin (`projected_start`), so that both begin at the same bits. Where no L leads
there, the start is far: it is moved by the method of Levenberg and Marquardt first, which has no derivative.
A start may violate g by the rounding of numbers in a file; then it is projected without a word.

Decisions 0382.
"""

from typing import TYPE_CHECKING

import numpy as np

from ...errors import EnergyError, TermError, UnsolvedStepError
from .dependent_constraints import (
    CURE,
    NEAR,
    kept_wrong,
    refuse_dependent,
    refuse_immovable,
    refuse_unreached,
    refuse_violated,
    row_sizes,
)
from .levenberg_marquardt import approached
from .projections import Projections

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class ProjectedStart:
    """Positions and velocities at the start: as they were given, and as they were projected.

    Refuses dependent constraints and starts that violate them; projects other starts. Raises `TermError`
    naming elements and nodes.
    """

    def __init__(self, projections: Projections, t: float):
        fields = projections.constraints.fields
        self._fields = [fields[n] for m in projections.motions for n in (m.position, m.velocity)]
        self._given = [field.values.copy() for field in self._fields]
        self._far = _prepare(projections, t)
        self._projected = [field.values.copy() for field in self._fields]

    def give_back(self) -> None:
        """Be where the start was given, unless the fields were written since it was projected.

        Runs that project their start themselves begin there. Raises `EnergyError` for a start that is far.
        """
        if self._far:
            raise EnergyError(
                "constraints: the start is so far from them that no single projection reaches them, which a"
                " derivative needs; begin nearer, such as where a run of 0 steps begins"
            )
        if all(np.array_equal(f.values, x) for f, x in zip(self._fields, self._projected, strict=True)):
            for field, values in zip(self._fields, self._given, strict=True):
                field.set(values)


def _prepare(projections: Projections, t: float) -> bool:
    """Refuse what cannot begin; project the start. True of a start that is far."""
    p = projections
    p.load(t)
    whole = p.equations.jacobian()
    refuse_immovable(p.equations, row_sizes(whole), row_sizes(whole[:, _free(p)]))
    _refuse_dependent(p, t)
    far = _project_positions(p, t)
    p.load(t)
    _refuse_dependent(p, t)
    try:
        p.begin(t)
    except UnsolvedStepError as error:
        raise TermError(f"{error}; start elsewhere", p.equations.row(0).constraint) from error
    _project_velocities(p)
    return far


def _free(p: Projections) -> np.ndarray:
    """The numbers of the free components."""
    return np.flatnonzero(np.concatenate([p.holds.free(name).ravel() for name in p.names]))


def _refuse_dependent(p: Projections, t: float) -> None:
    jacobian, precision = p.equations.jacobian()[:, _free(p)], p.constraints.fields.dtype.name
    refuse_dependent(p.equations, jacobian, p.equations.values(), precision, lambda: _nearby(p, t))


def _nearby(p: Projections, t: float) -> "csr_matrix":
    """G where free components are moved a little; fields stay."""
    fields, extent, rng = p.constraints.fields, p.equations.extent(), np.random.default_rng(0)
    before = {name: fields[name].values.copy() for name in p.names}
    for name, x in before.items():
        moved = NEAR * extent * rng.uniform(-1.0, 1.0, x.shape)
        fields[name].set(np.where(p.holds.free(name), x + moved, x))
    p.load(t)
    found = p.equations.jacobian()[:, _free(p)]
    for name, x in before.items():
        fields[name].set(x)
    p.load(t)
    return found


def _violations(p: Projections, g: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.where(g == 0.0, 0.0, np.abs(g) / (p.sizes * p.equations.extent()))


def _project_positions(p: Projections, t: float) -> bool:
    """Move positions onto g = 0 in the metric of masses; refuse to move some. True of a start that is far."""
    g, precision = p.equations.values(), p.constraints.fields.dtype.name
    refuse_violated(p.equations, g, _violations(p, g), p.constraints.projected, precision)
    try:
        p.project(t)
    except UnsolvedStepError:
        _project_from_far(p, t)
        return True
    return False


def _project_from_far(p: Projections, t: float) -> None:
    fields = p.constraints.fields
    velocities = {m.velocity: fields[m.velocity].values.copy() for m in p.motions}
    place = _LinearisedStart(p, t)
    reached = approached(place, float(np.finfo(fields.dtype).eps))
    for name, v in velocities.items():
        fields[name].set(v)
    try:
        if reached:
            p.project(t)
            return
    except UnsolvedStepError:
        pass
    place.back()
    g = p.equations.values()
    off = _violations(p, g)
    row = p.equations.row(int(np.argmax(np.where(np.isfinite(off), off, np.inf))))
    refuse_unreached(row.constraint, f"{row}: no projection reaches it, got g = {g[int(np.argmax(off))]:.3g}")


class _LinearisedStart:
    """The constraints of projections at time t, for damped steps (`levenberg_marquardt.Linearised`)."""

    def __init__(self, projections: Projections, t: float):
        self._projections, self._t = projections, t
        self._fields = [projections.constraints.fields[name] for name in projections.names]

    def take(self) -> tuple[np.ndarray, np.ndarray, float]:
        p = self._projections
        self._x = [field.values.copy() for field in self._fields]
        p.load(self._t)
        p.factor()
        self._g = p.equations.values().copy()
        return self._g, np.sqrt(p.gram.diagonal), float(_violations(p, self._g).max(initial=0.0))

    def step(self, damping: float) -> np.ndarray:
        p = self._projections
        self.back()
        p.damped(self._g, damping)
        p.equations.load(self._t)
        return p.equations.values()

    def back(self) -> None:
        """Be at the place that was taken."""
        for field, x in zip(self._fields, self._x, strict=True):
            field.set(x)
        self._projections.load(self._t)


def _project_velocities(p: Projections) -> None:
    """Make velocities tangent; refuse to change some."""
    rates = p.rates_of_change().copy()
    fields = p.constraints.fields
    v = np.concatenate([fields[m.velocity].values.astype(np.float64).ravel() for m in p.motions])
    fastest = float(np.abs(v[p.equations.members]).max(initial=0.0))
    with np.errstate(all="ignore"):
        off = np.where(rates == 0.0, 0.0, np.abs(rates) / (p.sizes * fastest))
    k = kept_wrong(p.equations, off, p.constraints.projected, fields.dtype.name)
    if k is not None:
        row = p.equations.row(k)
        raise TermError(
            f"{row}: velocities violate it at the start, got dg/dt = {rates[k]:.6g}; {CURE}", row.constraint
        )
    p.velocities()
