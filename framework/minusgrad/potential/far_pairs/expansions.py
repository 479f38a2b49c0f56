"""Expansions of functions of the distance in the cells of a tree: from weights to a potential at each node.

    Phi(i) = sum over far j of w_j K(|x_i - x_j|^2)

Weights are moved up the tree as moments, across to far cells as local expansions, and down to the nodes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...codegen.expansions.expansion_loops import ExpansionLoops
from ...codegen.expansions.radial_factors import RadialFactors, position_of
from ...elements.trees.near_pairs import NearPairs
from ...energies.term import Term
from ...engine.kernels import BoundKernel, Code
from ...symbolic.scalar import Scalar


class Expansions:
    """Moments and local expansions of a term over the near pairs of a tree, and their kernels."""

    def __init__(self, term: Term, factors: RadialFactors):
        assert isinstance(term.elements, NearPairs)
        self.term, self.factors, self.near = term, factors, term.elements
        tree, cells, choice = self.near.tree, self.near.cells, self.near.choice
        self.level = np.zeros(2, np.int32)
        of_tree = {
            "nodes": tree.nodes,
            "order": tree.order,
            "begin": tree.begin,
            "end": tree.end,
            "child": tree.child,
            "leaves": tree.leaves,
            "centre": tree.centre,
            "far_begin": cells.far.begin,
            "far": cells.far.partners,
            "level": self.level,
        }
        if tree.offset is not None:
            of_tree |= {"offset": tree.offset, "shift": cells.shift}
        self.loops = ExpansionLoops(term, factors.squared, of_tree, tree.d, choice.order, self.near.wide)
        self.x = term.fields[position_of(term)].array
        self._arrays: dict[Any, np.ndarray] = {}
        self._kernels: dict[Any, tuple[BoundKernel, Any]] = {}

    def moments(self, name: str, weights: np.ndarray) -> np.ndarray:
        """The moments of all cells for weights of the nodes, (n,)."""
        return self._gather_moments(name, weights, None, None)

    def change_of_moments(
        self, name: str, change: np.ndarray, weights: np.ndarray, moving: Any | None
    ) -> np.ndarray:
        """Their change as weights change, and positions move along a tangent."""
        return self._gather_moments(name, change, weights, moving)

    def _gather_moments(
        self, name: str, own: np.ndarray, along: np.ndarray | None, moving: Any | None
    ) -> np.ndarray:
        moments = self._kept_array(("moments", name), (self.near.tree.cells + 1, self.loops.size))
        held = self._held_values(("weights", name), own)
        base = None if moving is None else self._held_values(("along", name), along)
        self._launch_kernel(
            ("moments", name, id(moving)),
            lambda: self.loops.moments(self.x, held, base, moments, moving),
            moving,
        )
        for low, high in reversed(self.near.tree.levels[:-1]):
            self.level[:] = low, high
            self._launch_kernel(("gathered", name), lambda: self.loops.gather_moments(moments))
        return moments

    def local(self, name: str, parts: Sequence[tuple[Scalar, np.ndarray]], t: float) -> np.ndarray:
        """The local expansions of all cells: the sum over pairs of a function K and moments."""
        made = self._kept_array(("local", name), (self.near.tree.cells, self.loops.size))
        for k, (kernel, moments) in enumerate(parts):

            def code(kernel: Scalar = kernel, moments: np.ndarray = moments, k: int = k) -> Code:
                radial = self.factors.radial(kernel, self.near.choice.order)
                return self.loops.transfer_expansions(radial, moments, made, add=k > 0)

            self._launch_kernel(
                ("transferred", name, k, kernel.serial, id(moments)), code, scalars=("t",), t=t
            )
        for low, high in self.near.tree.levels[:-1]:
            self.level[:] = low, high
            self._launch_kernel(("handed down", name), lambda: self.loops.handed_down(made))
        return made

    def at_nodes(self, local: np.ndarray, moving: Any | None = None) -> tuple[np.ndarray, np.ndarray, Any]:
        """Phi (n,), its gradient (n, d), and its Hessian times a tangent of the positions (n, d)."""
        n, d = self.near.tree.count, self.near.tree.d
        values = self._kept_array(("values", id(local)), (n, 1 + d))
        turned = None if moving is None else self._kept_array(("turned", id(local)), (n, d))
        self._launch_kernel(
            ("evaluated", id(local), id(moving)),
            lambda: self.loops.evaluate_expansions(self.x, local, values, moving, turned),
            moving,
        )
        return values[:, 0], values[:, 1:], turned

    def _kept_array(self, key: Any, shape: tuple[int, ...]) -> np.ndarray:
        if key not in self._arrays:
            self._arrays[key] = np.zeros(shape)
        return self._arrays[key]

    def _held_values(self, key: Any, values: Any) -> np.ndarray:
        held = self._kept_array(key, (self.near.tree.count,))
        held[:] = values
        return held

    def _launch_kernel(
        self, key: Any, code: Any, keep: Any = None, scalars: tuple[str, ...] = (), t: float = 0.0
    ) -> None:
        """Launch a kernel, made at the first call; `keep`: an array whose id is in the key."""
        if key not in self._kernels:
            self._kernels[key] = BoundKernel(code(), *scalars), keep
        self._kernels[key][0](*((t,) if scalars else ()))
