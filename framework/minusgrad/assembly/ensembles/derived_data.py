"""Data of terms that follow from where nodes start, such as places at rest, for the states of members.

Decisions 0166.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from ...energies.constraint import Constraint
from ...energies.term import Term
from ...errors import UserError
from ...potential.constraints.held_planes import HeldPlanes, held_planes
from ..built_scene import BuiltScene


class DerivedData:
    """The derived data of the terms of a scene, at the fields of other states of it."""

    def __init__(self, template: BuiltScene):
        self._template = template

    def at(self, fields: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The data that differ from those of the scene, by "term.argument"; fields: of another state.

        Raises `UserError` where a term has none there.
        """
        template, first = self._template, self._template.state.fields
        changed = {name for name, values in fields.items() if not np.array_equal(values, first[name])}
        self._refuse_kept_shapes(changed)
        found, planes = dict[str, np.ndarray](), list[HeldPlanes]()
        for term in self._following() if changed else ():
            try:
                data = term.derived_at(fields, template.given_holds, planes)
            except UserError as error:
                raise UserError(f"makes a state without the data of a term: {error}") from None
            if (of_start := held_planes(term)) is not None:
                moved = data.get("point", of_start.places)
                planes.append(replace(of_start, places=np.asarray(moved, np.float64)))
            if not changed & {field.name for field in term.fields.values()}:
                continue
            for argument, values in data.items():
                if not np.array_equal(values, np.asarray(term.data[argument])):
                    found[f"{term.name}.{argument}"] = values
        return found

    def _refuse_kept_shapes(self, changed: set[str]) -> None:
        """Refuse other starts of nodes whose places constraints of compounds have taken."""
        for path, term in self._template.bound.items():
            if path[0] != "compound" or not isinstance(term, Term) or not isinstance(term.energy, Constraint):
                continue
            if own := sorted(changed & {field.name for field in term.fields.values()}):
                raise UserError(
                    f"makes a state with other '{own[0]}', where '{term.name}' keeps the shape that its nodes"
                    " have in the scene; vary another key, or run scenes of their own"
                )

    def _following(self) -> Iterator[Term]:
        """The terms with derived data; those that keep nodes in planes are first."""
        own = [term for term in self._template.bound.values() if isinstance(term, Term)]
        kept = [term for term in own if held_planes(term) is not None]
        yield from kept
        yield from (term for term in own if term.follows and not any(term is one for one in kept))
