"""The loops of element Hessians in lanes: the loops of `hessian_loops`, a block of elements at a time."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import blocks
from .graph import Scalar
from .hessian_loops import HessianLoops, lower
from .lanes import Lanes
from .proof import Number, look
from .terms import in_blocks


class LaneHessians(HessianLoops, Lanes):
    """The loops of one term's element Hessians, over the same arrays as the loops of `emitter`."""

    def prove_hessians(self, arguments: Sequence[str], t: float) -> None:
        """As `prove`, of what the loops of `hessians` have left."""
        traced = self._trace()
        leaves = [leaf for a in arguments for row in traced.inputs[a] for leaf in row]
        name = f"a number of d2u/d{' '.join(arguments)}2"
        wanted = [Number(name, graph) for graph in lower(traced.value, leaves)]
        left = blocks.rows(self._arrays[f"hessian_{'_'.join(arguments)}"], len(self.term.elements.nodes))
        look(self.term, traced, wanted, lambda rows: left[rows].T, t, {})

    def _halves(self, name: str, numbers: int) -> Any:
        return self._own_blocks(name, numbers, self.term.dtype)

    def _entry(self, out: str, number: str) -> str:
        return f"{out}[block * {self._arrays[out].shape[1]} + {number}]"

    def _weight(self, weights: str, node: str, component: tuple[int, ...]) -> str:
        shape = self.term.shape(weights)[1:]
        axes, number = (
            int(np.prod(shape, dtype=int)),
            int(np.ravel_multi_index(component, shape)) if shape else 0,
        )
        return self._vector_at(in_blocks(weights), f"{node} * {axes} + {number}")

    def _each(self, leaves: list[Scalar], lines: list[str]) -> list[str]:
        uniform = [self._load(leaf) for leaf in leaves if self._uniform(leaf)]
        own = [leaf for leaf in leaves if not self._uniform(leaf)]
        return [*self._rows_loop(own), *self._block_loop(uniform, [*self._lane_loads(own), *lines])]
