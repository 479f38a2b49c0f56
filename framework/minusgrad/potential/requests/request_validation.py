"""Names and shapes in derivative requests: fields "x", arguments "term.argument", the time "t"."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from ...codegen.derivative_request import DerivativeRequest
from ...energies.fields import BOX, Fields
from ...energies.term import Term
from ...errors import EnergyError, choices, unknown
from ..map_chain import MapChain
from ..staged.staged_term import StagedTerm
from ..term_kernels import TermKernels
from .common_parameters import CommonParameters


class RequestValidation:
    """Refuses, with `EnergyError`, requests with unknown names or wrong shapes."""

    def __init__(
        self,
        fields: Fields,
        parts: Mapping[str, Term | StagedTerm],
        kernels: Mapping[str, TermKernels | StagedTerm],
        chain: MapChain,
        common: CommonParameters,
    ):
        self._fields, self._parts, self._kernels, self._chain = fields, parts, kernels, chain
        self._common = common

    def check(self, request: DerivativeRequest) -> None:
        """Refuse unknown names, a target array given twice, and tangents of map outputs."""
        for name in (*request.gradient, *request.product):
            self._fields[name]
        targets = [*request.gradient.values(), *request.product.values()]
        if len({id(array) for array in targets}) < len(targets):
            raise EnergyError("one array is given for two derivatives; give each an array of its own")
        if found := [n for n in (*request.slopes, *request.changes) if n in self._fields and n != BOX]:
            raise EnergyError(f"'{found[0]}' is a field: its derivatives go into an array of its shape")
        for name in (*request.slopes, *request.changes, *request.tangents):
            if name in self._chain.outputs and name in request.tangents:
                raise EnergyError(
                    f"'{name}' is computed by a map and has no tangent of its own; give tangents of its"
                    f" inputs ({', '.join(self._map_inputs())})"
                )
            if name != "t" and name not in self._fields:
                self._check_argument(name, request.tangents)

    def check_tangent(self, name: str, values: Any) -> None:
        """Refuse a tangent that is not real, or not in the shape of the field or argument."""
        if np.asarray(values).dtype.kind not in "iuf":
            raise EnergyError(f"the tangent of '{name}' needs real numbers")
        if name in self._fields:
            right: tuple[int, ...] = self._fields[name].shape
            if np.shape(values) != right:
                shapes = f"{list(np.shape(values))}, the field {list(right)}"
                raise EnergyError(f"the tangent of '{name}' has shape {shapes}")
            return
        if name != "t":
            self._check_argument(name, (name,))
        if np.shape(values) not in ((), right := self.shape(name)):
            shapes = f"{list(np.shape(values))}, its values {list(right)}"
            raise EnergyError(f"the tangent of '{name}' has shape {shapes}")

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of the values of "term.argument"; () of the time."""
        term, argument = self._common.places_of(name)[0]
        if name in self._fields:
            return self._fields[name].shape
        return () if name == "t" else self._kernels[term].shape(argument)

    def kernels(self, term: str) -> TermKernels | StagedTerm:
        """The kernels of a term or map. Raises `EnergyError` for an unknown name."""
        if term not in self._kernels:
            if owners := [n for n, part in self._parts.items() if term in part.energy.roles]:
                names = " or ".join(f"'{owner}.{term}'" for owner in owners)
                raise EnergyError(f"'{term}': needs the name of its term in front, got none; write {names}")
            raise EnergyError(unknown("term", term, self._parts))
        return self._kernels[term]

    def _check_argument(self, name: str, tangents: Collection[str]) -> None:
        """Refuse an argument without a derivative, and a tangent of an argument that is Linear in a field."""
        if "." not in name:
            self._fields[name]
        self._common.refuse_part(name)
        term, argument = self._common.places_of(name)[0]
        self.kernels(term)
        part = self._parts[term]
        known = [a for a in part.energy.differentiable if a not in part.fields]
        known += [] if name in tangents else getattr(part.energy, "linear", ())
        if argument not in known:
            there = choices(argument, known)
            raise EnergyError(f"{term} has no derivative with respect to '{argument}'{there}")

    def _map_inputs(self) -> list[str]:
        """The fields that maps read and none of them writes."""
        read = {f.name for part in self._chain.maps.values() for f in part.fields.values()}
        return sorted(read - set(self._chain.outputs))
