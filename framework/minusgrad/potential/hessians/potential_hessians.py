"""Hessians of a potential: d2U/(dx dx) over some fields, as a sparse matrix with a fixed pattern.

    H = sum over terms, sum over elements, of the element's Hessian at the rows of its nodes

Row of a number: the first row of its field + node * components + component; fields are in order, one after
another.

The pattern holds every block of nodes that meet in an element, zeros too: it never changes, so that a solver
can keep its analysis of it (an ordering, a symbolic factorisation). Lists of neighbours change it when they
are rebuilt, and tuples that change.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...codegen.hessians.semidefinite import PROJECTIONS
from ...codegen.term_loops import Emitter
from ...elements.trees.near_pairs import NearPairs
from ...energies.fields import BOX, Field
from ...energies.term import Term
from ...errors import EnergyError, unknown
from .element_hessians import ElementHessians
from .hessian_sum import HessianSum

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class PotentialHessians:
    """The Hessians of a potential, by element and assembled; compiled at their first use.

    `maps` are in the order in which they run. What was computed of terms whose elements are fixed is kept
    when others change.
    """

    def __init__(self, fields: Mapping[str, Field], parts: Mapping[str, Any], maps: Mapping[str, Term]):
        self._fields, self._parts, self._maps = fields, parts, maps
        self._emitters: Mapping[str, Emitter | None] = {}
        self._elements: dict[tuple[str, tuple[str, ...]], ElementHessians] = {}
        self._sums: dict[tuple[str, ...], HessianSum] = {}

    def use(self, emitters: Mapping[str, Emitter | None]) -> None:
        """Take the loops of all terms, by name; of a staged term None."""
        new = {name for name, emitter in emitters.items() if self._emitters.get(name, self) is not emitter}
        self._emitters = emitters
        self._elements = {key: share for key, share in self._elements.items() if key[0] not in new}
        if any(self._has_fixed_elements(name) for name in new):
            self._sums.clear()

    def _has_fixed_elements(self, name: str) -> bool:
        part = self._parts.get(name)
        return not isinstance(part, Term) or part.elements.fixed

    def matrix(self, wrt: str | Sequence[str], t: float, project: str | None) -> "csr_matrix":
        """H over the fields `wrt`, one after another."""
        names = self._hessian_names(wrt, project)
        for name in sorted(self._parts, key=lambda n: self._emitters.get(n, n) is not None):  # staged first
            self._refuse_chained(name, names)
        reading = [n for n in self._parts if n not in self._maps and self._term_arguments(n, names)]
        if names not in self._sums:
            fixed = [self.of_term(name, names) for name in reading if self._has_fixed_elements(name)]
            self._sums[names] = HessianSum([self._fields[name] for name in names], fixed)
        every = [name for name in reading if not self._has_fixed_elements(name)]
        if self._sums[names].fixed.shares:  # those without elements add nothing: they are not compiled
            every = [name for name in every if self._parts[name].elements.rows]
        changing = [self.of_term(name, names) for name in every]
        return self._sums[names].matrix(t, project, changing)

    def elements(self, term: str, wrt: str | Sequence[str], t: float, project: str | None) -> np.ndarray:
        """The Hessians of a term's elements, (E, m, m) in f64."""
        names = self._hessian_names(wrt, project)
        if term not in self._parts:
            raise EnergyError(unknown("term", term, self._parts))
        self._refuse_chained(term, names)
        if not self._term_arguments(term, names):
            raise EnergyError(f"{term} does not read {' or '.join(names)}: its elements have no Hessian")
        return self.of_term(term, names).full_matrices(t, project)

    def _refuse_trees(self, term: str) -> None:
        """Refuse far pairs: no sum over elements has their Hessian, which is dense."""
        if isinstance(getattr(self._parts[term], "elements", None), NearPairs):
            raise EnergyError(
                f"{term}.far: has no Hessian matrix, got a request for one; use products, or leave `far` out"
            )

    def of_term(self, term: str, names: tuple[str, ...]) -> "ElementHessians":
        """The Hessians of a term's present elements."""
        self._refuse_trees(term)
        known = self._elements.get((term, names))
        if known is None or not known.follow():
            emitter = self._emitters[term]
            assert emitter is not None
            self._elements[term, names] = ElementHessians(emitter, self._term_arguments(term, names))
        return self._elements[term, names]

    def _term_arguments(self, term: str, names: tuple[str, ...]) -> list[str]:
        """The term's arguments that stand for the fields, in the order of the fields."""
        return [a for name in names for a, f in self._parts[term].fields.items() if f.name == name]

    def _hessian_names(self, wrt: str | Sequence[str], project: str | None) -> tuple[str, ...]:
        names = (wrt,) if isinstance(wrt, str) else tuple(wrt)
        for name in names:
            self._fields[name]  # raises for a name that no field has
        outputs = {f.name for part in self._maps.values() for f in part.outputs.values()}
        if BOX in names:
            raise EnergyError(
                f"'{BOX}': is read by all elements, so its second derivatives are no sum over nodes of an"
                " element; use potential.product, which is the Hessian times a tangent"
            )
        if found := [n for n in names if n in outputs]:
            raise EnergyError(f"'{found[0]}' is computed by a map; give the fields that it depends on")
        if not names or len(set(names)) != len(names):
            raise EnergyError(f"a Hessian needs one or more different fields, got [{', '.join(names)}]")
        if project is not None and project not in PROJECTIONS:
            raise EnergyError(unknown("projection", project, [*PROJECTIONS, "None"]))
        return names

    def _refuse_chained(self, name: str, names: tuple[str, ...]) -> None:
        """Raise `EnergyError` where U is no sum over elements of functions of these fields."""
        part = self._parts[name]
        if name in self._emitters and self._emitters[name] is None and self._term_arguments(name, names):
            kind = "map" if part.outputs else "energy"
            raise EnergyError(
                f"'{name}' is a staged {kind}, which has no second derivatives; write it as a local {kind}"
            )
        moved = set(names)
        for of_map in self._maps.values():
            if any(f.name in moved for f in of_map.fields.values()):
                moved |= {f.name for f in of_map.outputs.values()}
        if found := [f.name for f in part.fields.values() if f.name in moved - set(names)]:
            raise EnergyError(
                f"'{name}' reads '{found[0]}', which a map computes from {', '.join(names)}: this Hessian is"
                " no sum over elements; use potential.product, which is the Hessian times a tangent"
            )
