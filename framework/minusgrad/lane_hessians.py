"""The loops of element Hessians in lanes: the loops of `hessian_loops`, a block of elements at a time."""

from typing import Any

import numpy as np

from .graph import Scalar
from .hessian_loops import HessianLoops
from .lanes import Lanes
from .terms import in_blocks


class LaneHessians(HessianLoops, Lanes):
    """The loops of one term's element Hessians, over the same arrays as the loops of `emitter`."""

    def _halves(self, name: str, numbers: int) -> Any:
        return self._own_blocks(name, numbers, self.term.dtype)

    def _entry(self, out: str, number: str) -> str:
        return f"{out}[block, {number}]"

    def _weight(self, weights: str, node: str, component: tuple[int, ...]) -> str:
        shape = self.term.shape(weights)[1:]
        axes, number = (
            int(np.prod(shape, dtype=int)),
            int(np.ravel_multi_index(component, shape)) if shape else 0,
        )
        return f"{in_blocks(weights)}[block, {node} * {axes} + {number}]"

    def _each(self, leaves: list[Scalar], lines: list[str]) -> list[str]:
        uniform = [self._load(leaf) for leaf in leaves if self._uniform(leaf)]
        own = [leaf for leaf in leaves if not self._uniform(leaf)]
        return [*self._rows_loop(own), *self._block_loop(uniform, [*self._lane_loads(own), *lines])]
