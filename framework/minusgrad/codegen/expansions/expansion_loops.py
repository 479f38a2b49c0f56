"""Loops that make, move and evaluate Taylor expansions in the cells of a tree.

    M_a = sum over j of b_j (z - x_j)^a / a!               moments of a cell with centre z
    L_c = sum over far cells, sum over |a + c| <= p of M_a D^(a + c) K(z - z')
    Phi(x) = sum over c of L_c (x - z)^c / c!

Phi is a polynomial in x_i - x_j for each pair of far cells, the Taylor polynomial of K around z - z', so its
forces are equal and opposite (Dehnen 2002). With r the distance of the centres and g_k = (1/r d/dr)^k K, the
derivatives follow from T^k_0 = g_k and

    T^k_(a + e_i) = x_i T^(k + 1)_a + a_i T^(k + 1)_(a - e_i)

as D^a K = T^0_a (McMurchie & Davidson 1978, J. Comput. Phys. 26, 218). Several far cells share a vector, one
to a lane. All numbers are f64: powers of lengths would leave the range of f32.

Decisions 0305.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...elements.trees.kd_tree import LEAF
from ...energies.term import Term
from ...engine.kernels import Code, dealt_in_groups, words
from ...symbolic.graph import inputs
from ...symbolic.scalar import Scalar
from ..lane_statements import AllVectors
from ..statements import indented
from .multi_indices import Index, add_indices, lower, monomials, places, unit, up_to


class ExpansionLoops(AllVectors):
    """The loops of a term over the cells of its tree; `of_tree`: the tree's arrays by name."""

    def __init__(
        self,
        term: Term,
        squared: Scalar,
        of_tree: Mapping[str, Any],
        d: int,
        order: int,
        wide: int,
    ):
        super().__init__(term, of_tree)
        self.type, self.wide = "ti.f64", wide
        self.d, self.order, self.squared = d, order, squared
        self.indices, self.at = up_to(d, order), places(d, order)
        self.size = len(self.indices)

    def _of_elements(self) -> dict[str, Any]:
        return {}

    def _load_statement(self, leaf: Scalar) -> str:
        name, _, text = super()._load_statement(leaf).partition(" = ")
        return f"{name} = {self._to_all(f'ti.f64({text})')}"

    def _code_with_arrays(self, lines: Sequence[str], **arrays: Any) -> Code:
        text = "\n".join(lines) + "\n"
        used = words(text)
        return Code(text, {n: a for n, a in (self._arrays | arrays).items() if n in used})

    # Moments

    def moments(self, x: Any, weights: Any, along: Any, moments: Any, moving: Any | None) -> Code:
        """Moments of the leaves: sum of weights times monomials; with `moving` their change.

        x (N, d): positions. weights (n,): b by row of the tree's nodes, of the change those of its tangent;
        moving: (b, the tangent of x). along: b where the positions move.
        """
        axes, each_lane = range(self.d), range(self.wide)
        adds = [f"s{k} += w * m{k}" for k in range(self.size)]
        if moving is not None:
            for k, a in enumerate(self.indices):
                parts = [f"v{i} * m{self.at[low]}" for i in axes if (low := lower(a, i)) is not None]
                if parts:
                    adds.append(f"s{k} += u * ({' + '.join(parts)})")
        each = [
            *self._nodes_of_lanes(lambda lane: f"ti.min(begin[c{lane}] + i, end[c{lane}] - 1)"),
            *(f"e{i} = {self._by_lane(f'centre[c{{lane}}, {i}] - {self._lane_position(i)}')}" for i in axes),
            f"w = {self._lane_weights('weights')}",
        ]
        if moving is not None:
            each += [
                f"u = {self._lane_weights('-along')}",
                *self._lane_tangents(),
            ]  # `-=` of vectors ends the process
        each += [*self._displacement_monomials(), *adds]
        job = [
            *(
                f"c{lane} = leaves[ti.min(block * {self.wide} + {lane}, leaves.shape[0] - 1)]"
                for lane in each_lane
            ),
            *(f"s{k} = {self._to_all('ti.f64(0.0)')}" for k in range(self.size)),
            f"for i in range({LEAF}):",
            *indented(each),
            *(f"moments[c{lane}, {k}] = s{k}[{lane}]" for lane in each_lane for k in range(self.size)),
        ]
        given = {"along": along, "moving": moving} if moving is not None else {}
        blocks = f"(leaves.shape[0] + {self.wide - 1}) // {self.wide}"
        return self._code_with_arrays(
            dealt_in_groups("block", blocks, job), x=x, weights=weights, moments=moments, **given
        )

    def _nodes_of_lanes(self, place: Callable[[int], str]) -> list[str]:
        """The row and the node of each lane, at its place in the tree."""
        rows = [f"row{lane} = order[{place(lane)}]" for lane in range(self.wide)]
        return [*rows, *(f"node{lane} = nodes[row{lane}]" for lane in range(self.wide))]

    def _lane_position(self, axis: int) -> str:
        """A component of the position of a node of each lane; in a periodic box moved into it."""
        x = f"ti.f64(x[node{{lane}}, {axis}])"
        return f"({x} + offset[row{{lane}}, {axis}])" if "offset" in self._arrays else x

    def _lane_weights(self, array: str) -> str:
        """A number of a node of each lane, zero behind the last node of a leaf."""
        there = "begin[c{lane}] + i < end[c{lane}]"
        return self._by_lane(f"ti.select({there}, {array}[row{{lane}}], ti.f64(0.0))")

    def _lane_tangents(self) -> list[str]:
        return [f"v{i} = {self._by_lane(f'ti.f64(moving[node{{lane}}, {i}])')}" for i in range(self.d)]

    def _displacement_monomials(self) -> list[str]:
        """The monomials of the displacement e in all lanes."""
        return monomials(self.d, self.order, "e", "m", lambda number: self._to_all(f"ti.f64({number!r})"))

    def gather_moments(self, moments: Any) -> Code:
        """Moments of the cells of a level from those of their children."""
        axes = range(self.d)
        lines = [f"s{k} = ti.f64(0.0)" for k in range(self.size)]
        body = [*(f"e{i} = centre[c, {i}] - centre[b, {i}]" for i in axes)]
        body += [
            *monomials(self.d, self.order, "e", "m"),
            *(f"q{k} = moments[b, {k}]" for k in range(self.size)),
        ]
        for k, a in enumerate(self.indices):
            parts = [
                f"q{self.at[b]} * m{self.at[rest]}" for b in self.indices if (rest := _index_difference(a, b))
            ]
            body.append(f"s{k} += {' + '.join(parts)}")
        lines += ["for b in range(child[c], child[c] + 2):", *indented(body)]
        lines += [f"moments[c, {k}] = s{k}" for k in range(self.size)]
        return self._code_with_arrays(self._of_level(lines), moments=moments)

    def _of_level(self, lines: Sequence[str]) -> list[str]:
        """A loop over the cells of a level that have children."""
        inner = ["c = level[0] + job", "if child[c] >= 0:", *indented(lines)]
        return dealt_in_groups("job", "level[1] - level[0]", inner)

    # Far cells

    def transfer_expansions(self, radial: Sequence[Scalar], moments: Any, local: Any, add: bool) -> Code:
        """Local expansions from the moments of far cells; `radial`: g_0, ..., g_p; or added to them."""
        axes, numbers = range(self.d), range(self.size)
        names = {self.squared.serial: "squared"}
        loads = [self._load_statement(leaf) for leaf in inputs(list(radial)) if leaf is not self.squared]
        early, lines, texts = self._hoist_statements(list(radial), {self.squared.serial}, names)
        cells = [f"f{lane} = far[q * {self.wide} + {lane}]" for lane in range(self.wide)]
        away = ""
        if "shift" in self._arrays:
            cells += [f"k{lane} = f{lane} // centre.shape[0]" for lane in range(self.wide)]
            cells += [f"f{lane} = f{lane} - k{lane} * centre.shape[0]" for lane in range(self.wide)]
            away = " - shift[k{{lane}}, {i}]"
        z = [f"x{i} = {self._by_lane(f'z{i} - centre[f{{lane}}, {i}]{away.format(i=i)}')}" for i in axes]
        each = [
            *cells,
            *z,
            f"squared = {' + '.join(f'x{i} * x{i}' for i in axes)}",
            *lines,
            *self._kernel_tensors(texts),
            *(f"m{k} = {self._by_lane(f'moments[f{{lane}}, {k}]')}" for k in numbers),
        ]
        for k, c in enumerate(self.indices):
            parts = [
                f"m{self.at[a]} * t0_{self.at[both]}"
                for a in self.indices
                if sum(both := add_indices(a, c)) <= self.order
            ]
            each.append(f"s{k} += {' + '.join(parts)}")
        ends = []
        for k in numbers:
            *summed, last = self._sum_of_lanes(f"n{k}", f"s{k}")
            ends += [*summed, last, f"local[c, {k}] {'+=' if add else '='} n{k}"]
        job = [
            *(f"z{i} = centre[c, {i}]" for i in axes),
            *(f"s{k} = {self._to_all('ti.f64(0.0)')}" for k in numbers),
            "for q in range(far_begin[c], far_begin[c + 1]):",
            *indented(each),
            *ends,
        ]
        return self._code_with_arrays(
            dealt_in_groups("c", "child.shape[0]", [*loads, *early, *job]), moments=moments, local=local
        )

    def _kernel_tensors(self, radial: Sequence[str]) -> list[str]:
        """D^a K as t0_{place}, from the texts of g_k."""
        lines = [f"t{k}_0 = {text}" for k, text in enumerate(radial)]
        for k in range(self.order - 1, -1, -1):
            for a in self.indices[1:]:
                if sum(a) > self.order - k:
                    continue
                axis = min((i for i in range(self.d) if a[i]), key=lambda i: a[i])
                below = lower(a, axis)
                assert below is not None
                text = f"x{axis} * t{k + 1}_{self.at[below]}"
                if (twice := lower(below, axis)) is not None:
                    factor = (
                        "" if below[axis] == 1 else f"{self._to_all(f'ti.f64({float(below[axis])!r})')} * "
                    )
                    text += f" + {factor}t{k + 1}_{self.at[twice]}"
                lines.append(f"t{k}_{self.at[a]} = {text}")
        return lines

    # Local expansions

    def handed_down(self, local: Any) -> Code:
        """The expansions of the cells of a level, added to those of their children."""
        axes = range(self.d)
        body = [
            *(f"e{i} = centre[b, {i}] - centre[c, {i}]" for i in axes),
            *monomials(self.d, self.order, "e", "m"),
        ]
        for k, c in enumerate(self.indices):
            parts = [
                f"q{self.at[a]} * m{self.at[rest]}" for a in self.indices if (rest := _index_difference(a, c))
            ]
            body.append(f"local[b, {k}] += {' + '.join(parts)}")
        lines = [f"q{k} = local[c, {k}]" for k in range(self.size)]
        return self._code_with_arrays(
            self._of_level([*lines, "for b in range(child[c], child[c] + 2):", *indented(body)]), local=local
        )

    def evaluate_expansions(
        self, x: Any, local: Any, values: Any, moving: Any | None, turned: Any | None
    ) -> Code:
        """Phi and its gradient at the nodes, values (n, 1 + d); turned (n, d): the Hessian times `moving`."""
        axes, d = range(self.d), self.d
        found = [self._derivative_text(along) for along in ((0,) * d, *(unit(d, i) for i in axes))]
        each = [
            *self._nodes_of_lanes(lambda lane: f"ti.min(i + {lane}, end[c] - 1)"),
            *(f"e{i} = {self._by_lane(self._lane_position(i))} - z{i}" for i in axes),
            *self._displacement_monomials(),
            *(f"p{k} = {text}" for k, text in enumerate(found)),
            *self._put_in_rows("values", "p", len(found)),
        ]
        given = {}
        if moving is not None:
            given = {"moving": moving, "turned": turned}
            each += self._lane_tangents()
            for i in axes:
                for j in range(i, d):
                    each.append(f"h{i}{j} = {self._derivative_text(add_indices(unit(d, i), unit(d, j)))}")
            for i in axes:
                each.append(f"w{i} = {' + '.join(f'h{min(i, j)}{max(i, j)} * v{j}' for j in axes)}")
            each += self._put_in_rows("turned", "w", d)
        job = [
            "c = leaves[job]",
            *(f"z{i} = {self._to_all(f'centre[c, {i}]')}" for i in axes),
            *(f"l{k} = {self._to_all(f'local[c, {k}]')}" for k in range(self.size)),
            f"for block in range((end[c] - begin[c] + {self.wide - 1}) // {self.wide}):",
            *indented([f"i = begin[c] + block * {self.wide}", *each]),
        ]
        return self._code_with_arrays(
            dealt_in_groups("job", "leaves.shape[0]", job), x=x, local=local, values=values, **given
        )

    def _put_in_rows(self, array: str, name: str, numbers: int) -> list[str]:
        """Store vectors in the rows of lanes. (Behind the last node that row is written again.)"""
        each = [(lane, k) for lane in range(self.wide) for k in range(numbers)]
        return [f"{array}[row{lane}, {k}] = {name}{k}[{lane}]" for lane, k in each]

    def _derivative_text(self, along: Index) -> str:
        """The text of a derivative of Phi at a node."""
        return " + ".join(
            f"l{self.at[c]} * m{self.at[rest]}"
            for c in self.indices
            if (rest := _index_difference(c, along)) is not None
        )


def _index_difference(a: Index, b: Index) -> Index | None:
    """alpha - beta; None where it is negative."""
    found = tuple([one - other for one, other in zip(a, b, strict=True)])
    return None if min(found) < 0 else found
