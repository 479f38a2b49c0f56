"""Sums of a pair energy over the images of a periodic box: whether they converge, and how far they reach.

    tail(R) = N / V  integral over r > R of |K'(r)| S_d r^(d - 1) dr

is the force of all images beyond R, if they pulled one way. The sum converges if the shells of |K| r^(d - 1),
from each distance to twice as far, fall at least as `SLOWEST` at the end; K is evaluated from the traced
function. Images beyond R are left out, where tail(R) is the error times the largest |K'| about the mean
distance of nodes. 1 / r does not converge, nor does any power that falls more slowly than 1 / r^d.

Decisions 0309.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...elements.trees.box_images import MOST, boxes_within
from ...elements.trees.near_pairs import NearPairs
from ...energies.local_energy import IMAGE_BOX, IMAGES
from ...energies.roles import Time
from ...energies.term import Term
from ...errors import EnergyError
from ...symbolic.graph import inputs
from ...symbolic.numpy_values import numbers
from ...symbolic.scalar import Scalar
from .radial_factors import RadialFactors

USUAL_ERROR = 1e-6
"""The error of tails where an opening angle was asked for in place of an error."""
SPARE = 1.1
"""Images are taken within so many times the reach, so that parameters may change a little."""
FINE, DOUBLINGS, LAST = 64, 40, 4
"""Samples of a doubling of the distance; doublings from half the mean distance of nodes on; the last ones."""
SLOWEST = 0.97
AREA = {2: 2.0 * np.pi, 3: 4.0 * np.pi}
CURE = "give a cutoff, or leave `far` and the box out"


@dataclass(frozen=True)
class _Shells:
    """Radii (m,), and K and |dK/dr| there."""

    r: np.ndarray
    k: np.ndarray
    slope: np.ndarray

    def integrals(self, values: np.ndarray, d: int) -> np.ndarray:
        """The integrals of |values| S_d r^(d - 1) around each radius."""
        with np.errstate(all="ignore"):
            return np.abs(values) * AREA[d] * self.r**d * (np.log(2.0) / FINE)


def settle(term: Term) -> None:
    """Let a tree in a periodic box have the images that the energy reaches, once.

    Raises `EnergyError` for an energy whose sum over images does not converge, or reaches too many.
    """
    near = term.elements
    assert isinstance(near, NearPairs)
    box = near.reference.geometry
    if box is None or not any(near.reference.periodic) or len(near.box_images) > 1:
        return
    need = reach(term)
    if max(boxes_within(box, SPARE * need)) > MOST:
        raise EnergyError(
            f"{term.name}.far: its sum over images reaches to {need:.4g} at the error that was asked for, got"
            f" a box with faces {box.least_height:.4g} apart; use a larger box or error, or {CURE}"
        )
    near.take_images(SPARE * need)


def require(term: Term, t: float) -> None:
    """Raise `EnergyError` where parameters or the box need more images now than the tree has.

    A tree that is frozen for a check is one function of parameters as it is.
    """
    near = term.elements
    assert isinstance(near, NearPairs)
    if len(near.box_images) == 1 or np.isinf(near.choice.skin):
        return
    box = near.reference.geometry
    assert box is not None
    if (boxes_within(box, near.cells.reach) > near.box_images.vectors.max(axis=0)).any():
        raise EnergyError(
            f"{term.name}.far: its sum over images reaches to {near.cells.reach:.4g}, got a smaller box"
            f" than it was built for, with faces {box.least_height:.4g} apart; build the scene with this box"
        )
    if (need := reach(term, t)) > near.cells.reach:
        raise EnergyError(
            f"{term.name}.far: its sum over images reaches to {need:.4g} with the present parameters, got"
            f" images within {near.cells.reach:.4g}; build the scene with these parameters"
        )


def without_images(term: Term) -> Term:
    """The same term with the energy as its function is written: of two nodes, not of their images."""
    if IMAGES not in term.energy.roles:
        return term
    roles = {a: r for a, r in term.energy.roles.items() if a not in (IMAGES, IMAGE_BOX)}
    return replace(term, energy=replace(term.energy, roles=roles, positions=()))


def reach(term: Term, t: float = 0.0) -> float:
    """The distance beyond which images are left out. Raises `EnergyError` where the sum does not converge."""
    near = term.elements
    assert isinstance(near, NearPairs)
    factors, box, d = RadialFactors.of(without_images(term)), near.reference.geometry, near.d
    assert box is not None
    density = len(near.nodes) / box.volume
    apart, furthest = density ** (-1.0 / d), 0.0
    error = near.choice.error or USUAL_ERROR
    for product in factors.products:
        shells = _evaluate_shells(term, factors, product.kernel, apart, t)
        _refuse_divergence(term, shells, d)
        tails = density * np.cumsum(shells.integrals(shells.slope, d)[::-1])[::-1]
        scale = np.abs(shells.slope[: 2 * FINE]).max()
        beyond = np.flatnonzero(tails <= error * scale)
        assert len(beyond)
        furthest = max(furthest, float(shells.r[beyond[0]]))
    return furthest


def _evaluate_shells(term: Term, factors: RadialFactors, kernel: Scalar, apart: float, t: float) -> _Shells:
    r = 0.5 * apart * 2.0 ** ((np.arange(DOUBLINGS * FINE) + 0.5) / FINE)
    graphs: Sequence[Scalar] = factors.radial(kernel, 1)
    leaves = {leaf.serial: value_of(term, factors, leaf, r * r, t) for leaf in inputs(list(graphs))}
    with np.errstate(all="ignore"):
        k, twice = (np.broadcast_to(n, r.shape) for n in numbers(list(graphs), leaves, term.tables))
    return _Shells(r, np.asarray(k), np.asarray(twice) * r)


def value_of(term: Term, factors: RadialFactors, leaf: Scalar, s: np.ndarray, t: float) -> np.ndarray:
    """The value of a leaf of K: s, the time, or a parameter."""
    if leaf is factors.squared:
        return s
    argument, _, component = leaf.value[:3]
    if isinstance(term.energy.roles[argument], Time):
        return np.asarray(t)
    return np.asarray(term.parameters[argument].rows[(0, *component)], np.float64)


def _refuse_divergence(term: Term, shells: _Shells, d: int) -> None:
    """Refuse a function whose shells do not fall, and one that is not finite somewhere."""
    energies = shells.integrals(shells.k, d).reshape(-1, FINE).sum(axis=1)
    what = f"{term.name}.far: needs a sum over the images of the box that converges"
    if not (np.isfinite(energies).all() and np.isfinite(shells.slope).all()):
        raise EnergyError(f"{what}, got an energy that is not finite at some distance; {CURE}")
    before, last = energies[-LAST - 1 : -1], energies[-LAST:]
    if (last <= SLOWEST * before).all():
        return
    power = d - float(np.log2(np.maximum(last, 1e-300) / np.maximum(before, 1e-300)).mean())
    if d == 3 and abs(power - 1.0) < 0.01:
        raise EnergyError(
            f"{what}, got one that falls as 1 / r: of charges it is computed by mesh Ewald sums, the compound"
            " 'pme' of electrostatics; gravity has none in a box"
        )
    raise EnergyError(f"{what}, got one that falls as 1 / r^{power:.2g}, which needs more than {d}; {CURE}")
