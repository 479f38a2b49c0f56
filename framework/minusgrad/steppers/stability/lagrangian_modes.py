"""Small vibrations of a Lagrangian about its present coordinates, at rest.

    K u = omega^2 M u,     M = d2L/dv2,  K = d2(U - L)/dq2 + sum_e lambda_e d2g_e/dq2      at v = 0

over the free components, and along constraints g = 0, where C u = 0 with C = dg/dq and the multipliers lambda
that balance d(U - L)/dq best, in the metric of M. Modes have u M u = 1. A term of L that couples q to v, as
the Coriolis force does, is gyroscopic: its matrix d2L/dv dq less the transpose turns vibrations into each
other, and no omega of K and M alone is one of the motion (Meirovitch 1974, AIAA J. 12, 1337).

Decisions 0374.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...energies.fields import Motion
from ...errors import EnergyError
from ...potential.constraints.constraints import Constraints
from ...potential.potential import Potential
from ..holds import Holds
from ..implicit.moving_components import MovingComponents
from ..variational.mass_matrix import refuse_singular
from .constrained_modes import DEPENDENT, refuse_violated
from .normal_modes import ZERO, NormalModes, signed

MOST = 3000
"""Most free components: the matrices are dense."""
REST = 1e-9
"""At rest, the gradient is less than this part of what it is summed from."""
GYROSCOPIC = 1e-10
"""The gyroscopic matrix, in parts of sqrt(|K| |M|), that passes for rounding."""


def lagrangian_modes(
    potential: Potential,
    lagrangian: Potential,
    motions: Sequence[Motion],
    holds: Holds,
    t: float = 0.0,
    count: int = 30,
    constraints: Constraints | None = None,
) -> NormalModes:
    """The `count` lowest modes of L - U at the present coordinates and time t, or all if there are fewer.

    Present velocities do not count. Raises `EnergyError` where nothing moves freely, for more than `MOST`
    components, a mass matrix that is singular or has a negative eigenvalue, gyroscopic terms, and constraints
    that are dependent or are not met.
    """
    from scipy.linalg import eigh

    if count < 1:
        raise EnergyError(f"normal modes: at least one is needed, got {count}; ask for more")
    parts = MovingComponents(lagrangian.fields, motions, holds)
    free, names = parts.free, parts.positions
    if not free.any():
        raise EnergyError("normal modes: every component is held; leave some free")
    if (size := int(free.sum())) > MOST:
        raise EnergyError(
            f"normal modes: a Lagrangian may have {MOST} free components, got {size}; hold some"
        )
    with _at_rest(parts, potential, lagrangian):
        whole = lagrangian.hessian([*names, *parts.velocities], t).tocsr()
        n = len(parts)
        refuse_singular(whole[n:, n:], lagrangian, parts)
        mass, mixed = whole[n:, n:].toarray()[free][:, free], whole[n:, :n].toarray()[free][:, free]
        stiffness, force = -whole[:n, :n].toarray(), -_gradient(lagrangian, parts, t)
        scale = np.abs(force)
        if potential.terms:
            stiffness = stiffness + potential.hessian(names, t).toarray()
            slopes = _gradient(potential, parts, t)
            force, scale = force + slopes, scale + np.abs(slopes)
        kernel, force = np.eye(n)[free][:, free], force[free]
        if constraints is not None:
            kernel, bent, force = _along(constraints, names, free, force, mass, t)
            stiffness = stiffness + bent
    stiffness = stiffness[free][:, free]
    if not (np.isfinite(stiffness).all() and np.isfinite(mass).all()):
        raise EnergyError("normal modes: the derivatives of L are not finite; use a state in its domain")
    _refuse_gyroscopic(kernel.T @ (mixed - mixed.T) @ kernel, stiffness, mass)
    heavy = kernel.T @ mass @ kernel
    if (least := float(np.linalg.eigvalsh(heavy)[0])) <= 0.0:
        raise EnergyError(
            "normal modes: the mass matrix d2L/dv2 is not positive definite, got an eigenvalue of"
            f" {least:.3g}; use another Lagrangian"
        )
    values, vectors = eigh(kernel.T @ (0.5 * (stiffness + stiffness.T)) @ kernel, heavy)
    largest, kept = float(np.abs(values).max()), min(count, len(values))
    shapes = np.zeros((kept, len(parts)))
    shapes[:, free] = signed(kernel @ vectors[:, :kept]).T
    by_field = [parts.parts(shape, names) for shape in shapes]
    pushed = np.zeros(len(parts))
    pushed[free] = force
    return NormalModes(
        values[:kept],
        {name: np.array([one[name] for one in by_field]) for name in names},
        len(values),
        np.abs(values[:kept]) <= ZERO * largest,
        {name: float(np.abs(f).max()) for name, f in parts.parts(pushed, names).items()},
        bool(np.abs(pushed).max() <= REST * max(float(scale.max()), np.finfo(float).tiny)),
    )


@contextmanager
def _at_rest(parts: MovingComponents, *potentials: Potential) -> Iterator[None]:
    """Velocities of zero, and the present ones again afterwards."""
    fields = [p.fields[name] for p in potentials for name in parts.velocities if name in p.fields]
    before = [field.values.copy() for field in fields]
    try:
        for field in fields:
            field.set(np.zeros_like(field.values))
        yield
    finally:
        for field, values in zip(fields, before, strict=True):
            field.set(values)


def _gradient(potential: Potential, parts: MovingComponents, t: float) -> np.ndarray:
    """The derivatives by coordinates (N,)."""
    return parts.joined({n: potential.gradient(n, t) for n in parts.positions}, parts.positions)


def _along(
    constraints: Constraints, names: Sequence[str], free: np.ndarray, force: np.ndarray, mass: Any, t: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The directions along constraints (n, k), what they add to K (N, N), and the force along them (n,)."""
    equations = constraints.equations(list(names))
    equations.load(t)
    jacobian = equations.jacobian()
    refuse_violated(equations, jacobian)
    rows = jacobian.toarray()[:, free]
    if len(rows) >= rows.shape[1]:
        raise EnergyError(
            f"normal modes: {len(rows)} constraints leave nothing to vibrate, got {rows.shape[1]} free"
        )
    basis, upper = np.linalg.qr(rows.T, mode="complete")
    sizes = np.abs(np.diagonal(upper))
    if sizes.min() <= 1e-10 * sizes.max():
        raise EnergyError(DEPENDENT)
    lighter = np.linalg.solve(mass, np.column_stack([rows.T, force]))
    weights = -np.linalg.solve(rows @ lighter[:, :-1], rows @ lighter[:, -1])
    return basis[:, len(rows) :], equations.hessian(weights).toarray(), force + rows.T @ weights


def _refuse_gyroscopic(turning: np.ndarray, stiffness: np.ndarray, mass: np.ndarray) -> None:
    """Raise `EnergyError` where L couples coordinates and velocities."""
    scale = np.sqrt(np.abs(stiffness).max() * np.abs(mass).max())
    if (size := float(np.abs(turning).max(initial=0.0))) > GYROSCOPIC * scale:
        raise EnergyError(
            f"normal modes: L couples coordinates to velocities, got a gyroscopic matrix of {size:.3g}, under"
            " which vibrations are no modes of M and K; run the scene, and look at its spectrum"
        )
