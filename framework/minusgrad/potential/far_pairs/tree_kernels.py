"""The kernels of a term over a tree: near pairs one by one, far ones by expansions.

    U = sum over near pairs of u + 1/2 sum over i, t of a_t(i) Phi_t(i)
    Phi_t(i) = sum over far j of b_t(j) K_t(|x_i - x_j|^2)

With u(i, j) = u(j, i), the force on node i, and the derivative by its fields, is that of its own factor a:
those of b are of other nodes. All is derived of this one function, with the tree as it is.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import nan
from typing import Any

import numpy as np

from ...codegen.derivative_request import DerivativeRequest, Derivatives
from ...codegen.expansions import image_sums
from ...codegen.expansions.radial_factors import RadialFactors, position_of
from ...codegen.term_loops import Emitter
from ...elements.trees.near_pairs import NearPairs
from ...energies.fields import ordered_sum
from ...energies.local_energy import IMAGE_BOX
from ...energies.term import Term
from ...engine import storage
from ...errors import EnergyError
from ...symbolic import differentiation
from ...symbolic.graph import inputs
from ...symbolic.numpy_values import numbers
from ...symbolic.scalar import Scalar
from ..term_kernels import TermKernels
from .expansions import Expansions


class FarPairs:
    """The energy of the far pairs of a term, and its derivatives."""

    def __init__(self, term: Term):
        self.term, self.position = term, position_of(term)
        self.factors = RadialFactors.of(image_sums.without_images(term))
        self.expansions = Expansions(term, self.factors)
        self.nodes, self.index = self.expansions.near.nodes, self.expansions.near.index
        self._asked: Any = None

    def by_node(self, t: float) -> np.ndarray:
        """Half of a(i) Phi(i) for each node, (n,): they add up to the energy."""
        self._require_images(t)
        found = np.zeros(len(self.nodes))
        for k, one in enumerate(self.factors.products):
            moments = self.expansions.moments(f"b{k}", self.of_nodes(one.b))
            local = self.expansions.local(f"phi{k}", [(one.kernel, moments)], t)
            found += 0.5 * self.of_nodes(one.a) * self.expansions.at_nodes(local)[0]
        return found

    def _require_images(self, t: float) -> None:
        """Ask once for each set of parameters and box whether the images of the tree are enough."""
        term, box = self.term, self.expansions.near.reference.box
        if box is None:
            return
        numbers = [v.rows.tobytes() for v in term.parameters.values()]
        now = numbers, storage.host(box).tobytes(), t if term.uses_time else None
        if now != self._asked:
            image_sums.require(term, t)
            self._asked = now

    def sweep(self, wanted: DerivativeRequest, t: float) -> Derivatives:
        """The derivatives of a request; adds to its arrays. Raises `EnergyError` for those by the box."""
        self._require_images(t)
        if IMAGE_BOX in (
            *wanted.gradient,
            *wanted.slopes,
            *wanted.tangents,
            *wanted.product,
            *wanted.changes,
        ):
            raise EnergyError(
                f"{self.term.name}.far: has no derivatives by the periodic box, and no pressure; use a cutoff"
            )
        tangents = wanted.tangents
        for argument, values in tangents.items():
            if argument not in self.term.read:
                self.expansions.loops.set_tangent(argument, values)
        total = Derivatives()
        for k in range(len(self.factors.products)):
            self._add_product(k, wanted, t, total)
        return total

    def _add_product(self, k: int, wanted: DerivativeRequest, t: float, total: Derivatives) -> None:
        """Add the derivatives of product k."""
        one, ex, term = self.factors.products[k], self.expansions, self.term
        moving = wanted.tangents.get(self.position)
        weights, a = self.of_nodes(one.b), self.of_nodes(one.a)
        moments = ex.moments(f"b{k}", weights)
        phi, slope, turned = ex.at_nodes(ex.local(f"phi{k}", [(one.kernel, moments)], t), moving)
        if wanted.value:
            total.value += 0.5 * ordered_sum(a * phi)
        for argument, into in wanted.gradient.items():
            if argument == self.position:
                self._add_to(into, a[:, None] * slope)
            else:
                for leaf, by in self._by_field(one.a, argument):
                    self._add_to(into, self.of_nodes(by) * phi, leaf.value[2])
        for argument in wanted.slopes:
            total.slopes[argument] = total.slopes.get(argument, 0.0) + self._by_argument(
                argument,
                lambda kernel, leaf: (
                    0.5 * ordered_sum(a * ex.at_nodes(ex.local(f"psi{k}", [(kernel, moments)], t))[0])
                ),
                one.kernel,
            )
        if not (wanted.product or wanted.changes):
            return
        nodal = {n: v for n, v in wanted.tangents.items() if n in term.fields and n != self.position}
        da, db = self._number_tangent(one.a, nodal), self._number_tangent(one.b, nodal)
        changed = ex.change_of_moments(f"db{k}", db, weights, moving)
        dot = self._kernel_change(one.kernel, wanted.tangents)
        parts = [(one.kernel, changed), *([(dot, moments)] if dot is not None else [])]
        dphi, dslope, _ = ex.at_nodes(ex.local(f"dphi{k}", parts, t))
        if moving is not None:
            moved = np.asarray(storage.host(moving), np.float64)[self.index]
            dphi, dslope = dphi + np.einsum("ni,ni->n", slope, moved), dslope + turned
        for argument, into in wanted.product.items():
            if argument == self.position:
                self._add_to(into, da[:, None] * slope + a[:, None] * dslope)
            else:
                for leaf, by in self._by_field(one.a, argument):
                    change = self._number_tangent(by, nodal) * phi + self.of_nodes(by) * dphi
                    self._add_to(into, change, leaf.value[2])

        def changes(kernel: Scalar, leaf: Scalar) -> float:
            second = self._kernel_change(kernel, wanted.tangents)
            psi, by_x, _ = ex.at_nodes(ex.local(f"psi{k}", [(kernel, moments)], t))
            both = [(kernel, changed), *([(second, moments)] if second is not None else [])]
            dpsi = ex.at_nodes(ex.local(f"dpsi{k}", both, t))[0]
            if moving is not None:
                dpsi = dpsi + np.einsum("ni,ni->n", by_x, moved)
            return 0.5 * ordered_sum(da * psi + a * dpsi)

        for argument in wanted.changes:
            total.changes[argument] = total.changes.get(argument, 0.0) + self._by_argument(
                argument, changes, one.kernel
            )

    # Numbers of nodes

    def of_nodes(self, graph: Scalar) -> np.ndarray:
        """A number that depends on the fields of one node, at every node."""
        leaves = {}
        for leaf in inputs([graph]):
            values = storage.host(self.term.fields[leaf.value[0]].array)[self.index]
            leaves[leaf.serial] = values[(slice(None), *leaf.value[2])].astype(np.float64)
        found = numbers([graph], leaves, self.term.tables)[0]
        return np.broadcast_to(np.asarray(found, np.float64), self.nodes.shape)

    def _number_tangent(self, graph: Scalar, tangents: Mapping[str, Any]) -> np.ndarray:
        """The change of such a number along tangents of fields."""
        found = np.zeros(len(self.nodes))
        for leaf in inputs([graph]):
            if leaf.value[0] in tangents:
                (by,) = differentiation.gradient(graph, [leaf])
                along = storage.host(tangents[leaf.value[0]])[self.index]
                found += self.of_nodes(by) * along[(slice(None), *leaf.value[2])].astype(np.float64)
        return found

    def _by_field(self, graph: Scalar, argument: str) -> list[tuple[Scalar, Scalar]]:
        """The leaves of a field, and the derivatives by them."""
        leaves = [leaf for leaf in inputs([graph]) if leaf.value[0] == argument]
        return [(leaf, differentiation.gradient(graph, [leaf])[0]) for leaf in leaves]

    def _add_to(self, into: Any, values: np.ndarray, component: tuple[int, ...] = ()) -> None:
        array: Any = storage.host(into)
        array[(self.index, *component)] += values.astype(array.dtype)
        if isinstance(into, storage.ArraySlot):
            into.writes += 1

    # Functions of the distance

    def _by_argument(self, argument: str, number: Any, kernel: Scalar) -> np.ndarray:
        """A derivative with respect to an argument of K, component by component."""
        found = np.zeros(self.term.shape(argument))
        for leaf in self.factors.traced.inputs[argument][0]:
            (by,) = differentiation.gradient(kernel, [leaf])
            if by.number != 0.0:
                found[leaf.value[2]] = number(by, leaf)
        return found

    def _kernel_change(self, kernel: Scalar, tangents: Mapping[str, Any]) -> Scalar | None:
        """The change of K along tangents of its arguments; None if it does not change."""
        graph = kernel.graph
        along = {
            leaf.serial: graph.input(*leaf.value, "dot")
            for leaf in inputs([kernel])
            if leaf is not self.factors.squared and leaf.value[0] in tangents
        }
        (found,) = differentiation.tangent([kernel], along)
        return None if found.number == 0.0 else found


STEPS = "derivatives of runs need the tree of each step's positions"


def refuse_kept_trees(terms: Iterable[Any], reason: str = STEPS) -> None:
    """Refuse trees that stay for several steps: derivatives that are computed later would not meet the same.

    Raises `EnergyError` with the reason.
    """
    for term in terms:
        elements = getattr(term, "elements", None)
        if isinstance(elements, NearPairs) and elements.choice.skin > 0.0:
            raise EnergyError(
                f"{term.name}.far.skin: {reason}, got a skin of {elements.choice.skin:g}; leave `skin` out"
            )


class TreeKernels(TermKernels):
    """Value and derivatives of a term over the near pairs of a tree, with those of its far pairs."""

    def __init__(self, term: Term, emitter: Emitter):
        super().__init__(term, emitter)
        self.far = FarPairs(term)

    def value(self, t: float) -> float:
        return nan if self.is_undefined() else super().value(t) + ordered_sum(self.far.by_node(t))

    def by_element(self, t: float) -> np.ndarray:
        """The energy of each target: near pairs that it counts, and half of its far ones."""
        near = super().by_element(t)
        return near if self.is_undefined() else near + self.far.by_node(t)

    def magnitude(self, t: float) -> float:
        near = super().magnitude(t)
        return near if self.is_undefined() else near + ordered_sum(np.abs(self.far.by_node(t)))

    def sweep(self, wanted: DerivativeRequest, t: float) -> Derivatives:
        if self.is_undefined():
            return self.not_a_number(wanted)
        near, far = super().sweep(wanted, t), self.far.sweep(wanted, t)
        slopes = {a: values + far.slopes[a] for a, values in near.slopes.items()}
        changes = {a: values + far.changes[a] for a, values in near.changes.items()}
        return Derivatives(near.value + far.value, slopes, changes)

    def prepare_sweep(self, wanted: DerivativeRequest) -> Callable[[float], Derivatives]:
        return partial(self.sweep, wanted)

    def arrays(self, wanted: DerivativeRequest) -> set[int]:
        return super().arrays(wanted) | {id(field.array) for field in self.term.fields.values()}
