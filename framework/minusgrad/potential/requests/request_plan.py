"""A derivative request shared out: the part of each term, and the arrays that are zeroed before.

The first term that adds to an array overwrites it, if its kernel writes every node; else the array is zeroed.
Maps and slopes whose outputs have no adjoint, because nothing reads them, have no part in it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...codegen.derivative_request import DerivativeRequest
from ...energies.term import Term
from ..map_chain import MapChain
from ..slope import SlopeKernels
from ..staged.staged_map_kernels import StagedMapKernels
from ..staged.staged_term import StagedTerm
from ..term_kernels import TermKernels
from .term_request import term_request


@dataclass(frozen=True)
class RequestPlan:
    """The requests to the terms, in the order in which they run: the sum first, then the maps in reverse.

    `zeroed`: arrays to be zeroed before. `seeded`: adjoints of map outputs, and the array that each begins
    with. `copied`: of map outputs, the target array and the adjoint that is copied to it afterwards.
    `request` keeps its arrays alive, whose ids are in the keys of kernels.
    """

    requests: Mapping[str, DerivativeRequest]
    zeroed: Sequence[Any]
    copied: Sequence[tuple[Any, Any]]
    seeded: Sequence[tuple[Any, Any]]
    request: DerivativeRequest

    @classmethod
    def of(
        cls,
        request: DerivativeRequest,
        tangents: Mapping[str, Any],
        terms: Mapping[str, Term | StagedTerm],
        chain: MapChain,
        kernels: Mapping[str, TermKernels | StagedTerm | SlopeKernels | StagedMapKernels],
    ) -> "RequestPlan":
        """`tangents`: those of the request and of the map outputs that they change."""
        terms = {} if request.only_seeds else terms
        adjoints = {n: f.array for n, f in chain.adjoints.items()}
        changes = {n: f.array for n, f in chain.adjoint_tangents.items()} if tangents else {}
        gradient, product = {**request.gradient, **adjoints}, {**request.product, **changes}
        full = replace(request, gradient=gradient, product=product, tangents=tangents)
        requests = {name: term_request(part, full) for name, part in terms.items()}
        read = {field.name for term in terms.values() for field in term.fields.values()}
        reached, _ = chain.needed_parts(read | {*request.seeds})
        for name, one in chain.requests(full).items():
            if name in reached or one.slopes or one.changes:
                requests[name] = one
        requests, zeroed = _overwriting_requests(
            full, {n: one for n, one in requests.items() if one}, {**terms, **chain.parts}, kernels, request
        )
        seeded = [(adjoints[n], seed) for n, seed in request.seeds.items()]
        copied = [(a, adjoints[n]) for n, a in request.gradient.items() if n in adjoints]
        copied += [(a, changes[n]) for n, a in request.product.items() if n in changes]
        return cls(requests, zeroed, copied, seeded, request)

    def read_fields(self, parts: Mapping[str, Any], kernels: Mapping[str, Any]) -> set[str]:
        """The fields that the kernels of the plan read; of slopes and stages all of theirs."""
        found = set()
        for name, one in self.requests.items():
            fields, of_part = parts[name].fields.values(), kernels[name]
            arrays = of_part.arrays(one) if isinstance(of_part, TermKernels) else None
            found |= {f.name for f in fields if arrays is None or id(f.array) in arrays}
        return found


def _overwriting_requests(
    full: DerivativeRequest,
    requests: Mapping[str, DerivativeRequest],
    parts: Mapping[str, Any],
    kernels: Mapping[str, Any],
    asked: DerivativeRequest,
) -> tuple[dict[str, DerivativeRequest], list[Any]]:
    """The requests with the arrays that each overwrites, and the arrays that none overwrites."""
    kept = ({*asked.gradient}, {*asked.product}) if asked.adds else (set(), set())
    left = {("d", n): a for n, a in full.gradient.items() if n not in kept[0] | set(asked.seeds)}
    left |= {("dd", n): a for n, a in full.product.items() if n not in kept[1]}
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
