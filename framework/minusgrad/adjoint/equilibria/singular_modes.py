"""Singular Hessians, with their mode: a rigid motion by its name, or the node where the mode is largest.

H u = 0        u is found by inverse iteration, (H + s D) u <- u with a small shift s, D = diag |H|

Decisions 0384.
"""

from collections.abc import Sequence

import numpy as np

from ...energies.fields import Field
from ...errors import RunFailedError, SingularSystemError
from ...solvers.linear_solver import LinearSolver
from ...solvers.sparse_system import SparseSystem
from ...steppers.minimisers.soft_motions import SoftMotion

ROUNDS = 3
"""Inverse iterations."""
ROUNDINGS = {"float64": 20 * 2.0**-52, "float32": 2.0**-24}
"""H u is mere rounding if it is smaller than this part of |H| |u|, by the precision of the fields."""
RIGID = 1e-6
"""A mode is a rigid motion of the nodes that it moves, up to so much of it."""
CURE = "hold a part of the body"


def refuse_singular(
    system: SparseSystem,
    images: np.ndarray,
    motions: Sequence[SoftMotion],
    fields: Sequence[Field],
    solver: LinearSolver,
) -> None:
    """Factor a Hessian. Raises `SingularSystemError` naming its mode, if it is singular.

    images: H times each of the rigid `motions` (N, k), where nothing resists it.
    """
    if free := system.free_modes(images):
        names = ", ".join(motions[k].name for k in free)
        raise SingularSystemError(f"the Hessian is singular: nothing resists {names}; {CURE}")
    limit = ROUNDINGS[fields[0].dtype.name]
    try:
        solver.factor(system)
    except SingularSystemError:
        raise named(system, shifted_mode(system), motions, fields) from None
    if solver.definite is not None and is_null(system, mode := softest(system, solver), limit):
        raise named(system, mode, motions, fields)


def named(
    system: SparseSystem, mode: np.ndarray, motions: Sequence[SoftMotion], fields: Sequence[Field]
) -> SingularSystemError:
    """The error about a singular Hessian, with its mode (N,) in words."""
    return SingularSystemError(f"the Hessian is singular: {_described(system, mode, motions, fields)}")


def is_null(system: SparseSystem, mode: np.ndarray, limit: float) -> bool:
    """True if H u is mere rounding, of a mode u (N,)."""
    moved = np.abs(system.matrix @ mode).max()
    return bool(moved <= limit * (abs(system.matrix) @ np.abs(mode)).max())


def _described(
    system: SparseSystem, mode: np.ndarray, motions: Sequence[SoftMotion], fields: Sequence[Field]
) -> str:
    """The mode in words, and the cure."""
    size = np.abs(mode)
    row = int(np.argmax(size))
    field, node = _place(fields, int(system.node[row]))
    name, count = _rigid(system, mode, motions)
    if name:
        return f"nothing resists {name} of {count} nodes, node {node} of '{field}' among them; {CURE}"
    return (
        f"it has a mode that nothing resists, largest at node {node} of '{field}'; hold this node, or give it"
        " an energy that resists"
    )


def softest(system: SparseSystem, solver: LinearSolver) -> np.ndarray:
    """The vector (N,) of size 1 that a matrix changes least, by a solver that has its factors.

    The same in every process.
    """
    mode = np.random.Generator(np.random.Philox(key=0)).normal(size=system.size)
    for _ in range(ROUNDS):
        mode = solver.solve(mode / np.linalg.norm(mode))
    return mode / np.linalg.norm(mode)


def shifted_mode(system: SparseSystem) -> np.ndarray:
    """`softest` of a matrix without factors, by those of the matrix with a small shift."""
    regular = system.shifted_system()
    solver = LinearSolver()
    solver.factor(regular)
    return softest(regular, solver)


def _rigid(system: SparseSystem, mode: np.ndarray, motions: Sequence[SoftMotion]) -> tuple[str, int]:
    """The name of the rigid motion that a mode is on the nodes connected with its largest one; "" if none."""
    from scipy.sparse.csgraph import connected_components

    _, part = connected_components(system.matrix != 0.0, directed=False)
    own = part == part[int(np.argmax(np.abs(mode)))]
    count = len(np.unique(system.node[own]))
    rigid, there = system.modes[own], mode[own]
    moving = np.abs(rigid).max(axis=0, initial=0.0) > 0.0
    if count < 2 or not moving.any():
        return "", count
    found, *_ = np.linalg.lstsq(rigid[:, moving], there, rcond=None)
    if np.linalg.norm(rigid[:, moving] @ found - there) > RIGID * np.linalg.norm(there):
        return "", count
    weights = np.abs(found) * np.linalg.norm(rigid[:, moving], axis=0)
    names = [motion.name for motion, yes in zip(motions, moving, strict=True) if yes]
    return names[int(np.argmax(weights))], count


def _place(fields: Sequence[Field], node: int) -> tuple[str, int]:
    """The field and the number of a node that is numbered through all fields."""
    for field in fields:
        if node < len(field):
            return field.name, node
        node -= len(field)
    raise RunFailedError(f"no field has node {node}")
