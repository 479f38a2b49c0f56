"""A derivative request shared out: what each term computes, and which arrays are zeroed before.

The first term that adds to an array overwrites it, if its kernel writes every node; else the array is zeroed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..codegen.derivative_request import DerivativeRequest
from ..energies.term import Term
from .map_chain import MapChain
from .staged_term import StagedTerm
from .term_kernels import TermKernels
from .term_request import map_request, term_request


@dataclass(frozen=True)
class RequestPlan:
    """The requests to the terms, in the order in which they run: the sum first, then the maps in reverse.

    `zeroed`: arrays to be zeroed before. `copied`: of map outputs, the target array and the adjoint that is
    copied to it afterwards. `request` keeps its arrays alive, whose ids are in the keys of kernels.
    """

    requests: Mapping[str, DerivativeRequest]
    zeroed: Sequence[Any]
    copied: Sequence[tuple[Any, Any]]
    request: DerivativeRequest

    @classmethod
    def of(
        cls,
        request: DerivativeRequest,
        tangents: Mapping[str, Any],
        terms: Mapping[str, Term | StagedTerm],
        chain: MapChain,
        kernels: Mapping[str, TermKernels | StagedTerm],
    ) -> "RequestPlan":
        """`tangents`: those of the request and of the map outputs that they change."""
        adjoints = {n: f.array for n, f in chain.adjoints.items()}
        changes = {n: f.array for n, f in chain.adjoint_tangents.items()} if tangents else {}
        gradient, product = {**request.gradient, **adjoints}, {**request.product, **changes}
        full = replace(request, gradient=gradient, product=product, tangents=tangents)
        requests = {name: term_request(name, part, full) for name, part in terms.items()}
        for name, part in reversed(chain.maps.items()):
            requests[name] = map_request(name, part, full, chain.adjoint_tangent(part))
        requests, zeroed = _overwriting(
            full, {n: one for n, one in requests.items() if one}, {**terms, **chain.maps}, kernels
        )
        copied = [(a, adjoints[n]) for n, a in request.gradient.items() if n in adjoints]
        copied += [(a, changes[n]) for n, a in request.product.items() if n in changes]
        return cls(requests, zeroed, copied, request)


def _overwriting(
    full: DerivativeRequest,
    requests: Mapping[str, DerivativeRequest],
    parts: Mapping[str, Term | StagedTerm],
    kernels: Mapping[str, TermKernels | StagedTerm],
) -> tuple[dict[str, DerivativeRequest], list[Any]]:
    """The requests with the arrays that each overwrites, and the arrays that none overwrites."""
    left = {("d", n): array for n, array in full.gradient.items()}
    left |= {("dd", n): array for n, array in full.product.items()}
    zeroed, decided = [], {}
    for name, one in requests.items():
        overwrite = []
        for order, arguments in (("d", one.gradient), ("dd", one.product)):
            for argument in arguments:
                key = order, parts[name].fields[argument].name
                if key in left and kernels[name].writes_every_node:
                    overwrite.append((order, argument))
                    del left[key]
                elif key in left:
                    zeroed.append(left.pop(key))
        decided[name] = replace(one, overwrite=tuple(overwrite))
    return decided, [*zeroed, *left.values()]
