"""Steps of blocks of nodes that no element couples: Newton's method in one kernel, a block in each lane.

Every block ends its iterations by its own corrections, and stores its state at every step, so that the bits
depend neither on other blocks nor on how many steps a call takes. On its first launch the kernel's solution
is put into the equations that the kernels of L, U and R give (`discrete_action`).

Decisions 0376.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from ...codegen.element_statements import ElementStatements
from ...energies.fields import Motion
from ...engine import storage
from ...engine.kernels import MOST_ARRAYS, BoundKernel
from ...errors import MiscompiledError, UnsolvedStepError
from ...potential.potential import Potential
from ..holds import Holds
from .block_code import BlockCode, Component
from .discrete_action import DiscreteAction
from .node_blocks import MOST, blocks_of, placed

AGREES = 1e6
"""The left sides at the kernel's solution, in roundings of their summands."""


class BlockSteps:
    """Takes many steps of all blocks in one launch; made by `block_steps`.

    `rows` (blocks, D): the place of each component in vectors (N,).
    """

    def __init__(self, action: DiscreteAction, code: BlockCode, nodes: np.ndarray, rows: np.ndarray):
        self.action, self.rows = action, rows
        blocks, size, degree = len(rows), rows.shape[1], action.galerkin.degree
        free = action.components.free.astype(np.float64)[rows]
        arrays = {
            "p": np.zeros((blocks, size)),
            "last": np.zeros((blocks, degree * size)),
            "length": np.ones(blocks),
            "flows": np.zeros((blocks, 2)),
            "failed": np.full(blocks, -1, np.int32),
            "free": free,
            "nodes": nodes.astype(np.int32),
        }
        self._arrays = {name: storage.allocate(values) for name, values in arrays.items()}
        self._steps = BoundKernel(code.steps(self._arrays), "steps", "first", "t0", "dt")
        self._velocities = BoundKernel(code.velocities(self._arrays), "t0")
        self.compared = False
        """True once the kernel's solution was put into the equations."""

    @property
    def blocks(self) -> int:
        return len(self.rows)

    def put(self, p: np.ndarray, last: np.ndarray, length: float, flows: np.ndarray) -> None:
        """Take the state of the stepper: vectors (N,), (s, N), the last length, sums (blocks, 2)."""
        arrays = self._arrays
        storage.store(arrays["p"], p[self.rows])
        storage.store(arrays["last"], last[:, self.rows].transpose(1, 0, 2).reshape(self.blocks, -1))
        storage.store(arrays["length"], np.full(self.blocks, length))
        storage.store(arrays["flows"], flows)

    def taken(self, p: np.ndarray, last: np.ndarray) -> np.ndarray:
        """Overwrite vectors by the state after the last launch; returns the sums (blocks, 2)."""
        p[self.rows] = storage.host(self._arrays["p"])
        found = storage.host(self._arrays["last"]).reshape(self.blocks, len(last), -1)
        for m in range(len(last)):
            last[m, self.rows] = found[:, m]
        return storage.host(self._arrays["flows"]).copy()

    def advance(self, steps: int, first: int, t0: float, dt: float) -> bool:
        """Take so many steps from number `first`; False if a block has no solution, which leaves rubbish."""
        self._arrays["failed"].fill(-1)
        self._steps(steps, float(first), t0, dt)
        return bool((storage.host(self._arrays["failed"]) < 0).all())

    def velocities(self, t: float) -> None:
        """Write the velocities that belong to the present momenta. Raises `UnsolvedStepError`."""
        self._arrays["failed"].fill(-1)
        self._velocities(t)
        if not (storage.host(self._arrays["failed"]) < 0).all():
            raise UnsolvedStepError("no velocity has the momentum of the step")

    def first_failed(self) -> int:
        """The first node of the first block without a solution."""
        block = int(np.flatnonzero(storage.host(self._arrays["failed"]) >= 0)[0])
        return int(storage.host(self._arrays["nodes"])[block, 0])

    def compare(self, h: float, t: float, q: np.ndarray, p: np.ndarray, u: np.ndarray) -> None:
        """Put a step's displacements u (s, N) into the equations, as other kernels give them.

        Leaves the fields elsewhere. Raises `MiscompiledError`.
        """
        self.compared, action = True, self.action
        action.begin(h, t, q, p)
        slopes = action.slopes(u)
        left = np.where(action.components.free, action.residual(slopes), 0.0)
        g = action.galerkin
        size = (
            np.abs(p).max()
            + abs(h) * np.abs(slopes[0]).max()
            + np.abs(g.slopes).max() * np.abs(slopes[1]).max()
        )
        part = min(AGREES * float(np.finfo(action.components.fields.dtype).eps), 0.01)
        if not np.abs(left).max() <= part * size:
            raise MiscompiledError(
                f"the kernel of variational steps leaves {np.abs(left).max():.3g} of the equations of a step,"
                f" whose numbers are up to {size:.3g}; report it, with the Lagrangian"
            )


def block_steps(action: DiscreteAction, motions: Sequence[Motion], holds: Holds) -> BlockSteps | None:
    """The steps of blocks of a scene; None where elements couple many nodes, or have no such kernel."""
    potentials = {letter: one.potential for letter, _, one in action.functions}
    fields = action.components.fields
    counts = {len(fields[m.position]) for m in motions}
    if len(counts) > 1 or holds.moving or not _local(potentials):
        return None
    blocks = blocks_of(potentials, counts.pop())
    if blocks is None:
        return None
    components = [
        Component(place, motion, index)
        for place in range(blocks.shape[1])
        for motion in motions
        for index in product(*map(range, fields[motion.position].shape[1:]))
    ]
    if len(components) * action.galerkin.degree > MOST:
        return None
    terms: list[Any] = []
    for letter, potential in potentials.items():
        for name, term in potential.terms.items():
            found = placed(term, name, blocks)
            if found is None:
                return None
            for one in found:
                statements = ElementStatements(term).with_prefix(f"{letter}{len(terms)}_")
                terms.append((letter, statements, one))
    moved = {n: fields[n] for m in motions for n in (m.position, m.velocity)}
    code = BlockCode(action.galerkin, components, moved, terms, bool(holds.fields))
    rows = _rows(action, components, blocks)
    made = code.steps({})
    if len(made.arrays) + 7 > MOST_ARRAYS:
        return None
    return BlockSteps(action, code, blocks, rows)


def _local(potentials: Mapping[str, Potential]) -> bool:
    """True without maps, slopes and elements that change."""
    return all(p.fixed and not p.chain.parts for p in potentials.values())


def _rows(action: DiscreteAction, components: Sequence[Component], blocks: np.ndarray) -> np.ndarray:
    """The places (blocks, D) of the components of blocks in vectors (N,)."""
    whole = action.components
    numbers = whole.parts(np.arange(len(whole)), whole.positions)
    return np.stack([numbers[c.motion.position][(blocks[:, c.place], *c.index)] for c in components], axis=1)
