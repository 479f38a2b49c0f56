"""The part of a derivative request that concerns one term, by the term's own arguments.

A request names fields "x", arguments "term.argument" and the time "t"; a term knows its arguments only.

Decisions 0283.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...codegen.derivative_request import DerivativeRequest, Derivatives, adjoint_of
from ...energies.fields import BOX
from ...energies.roles import Box, Time
from ...energies.term import Term
from ...errors import EnergyError
from ..slope import Slope
from ..staged.staged_term import StagedTerm


def term_request(part: Term | StagedTerm, request: DerivativeRequest) -> DerivativeRequest:
    """The request to one term of the sum; without changes if none of its arguments has a tangent."""
    return _part_request(part, request, tangents_of(part, request.tangents), request.value)


def map_request(
    part: Term | StagedTerm, request: DerivativeRequest, adjoint_tangents: Sequence[Any]
) -> DerivativeRequest:
    """The request to the local energy of a map, adjoints . outputs, which is no part of U.

    `adjoint_tangents`: the tangents of the adjoints, in the order of the outputs.
    """
    tangents = tangents_of(part, request.tangents)
    if request.tangents:
        tangents |= {adjoint_of(k): array for k, array in enumerate(adjoint_tangents)}
    return _part_request(part, request, tangents, value=False)


def slope_request(slope: Slope, request: DerivativeRequest) -> DerivativeRequest:
    """The request to a slope, by the names of the potential."""
    if request.product or request.changes:
        raise EnergyError(
            f"slope '{slope.name}': has no second derivatives, which are third derivatives of its energy; ask"
            " for gradients, or for tangents of its outputs"
        )
    owned = {"t"} if slope.uses_time else set()
    return DerivativeRequest(
        gradient={n: array for n, array in request.gradient.items() if n in slope.fields},
        slopes=[n for n in request.slopes if n in owned or n.partition(".")[0] in slope.energy.parts],
    )


def _part_request(
    part: Term | StagedTerm,
    request: DerivativeRequest,
    tangents: Mapping[str, Any],
    value: bool,
) -> DerivativeRequest:
    return DerivativeRequest(
        value=value,
        gradient=targets_of(part, request.gradient),
        slopes=_arguments_of(part, request.slopes),
        product=targets_of(part, request.product) if tangents else {},
        changes=_arguments_of(part, request.changes) if tangents else (),
        tangents=tangents,
    )


def owner(name: str, part: Term | StagedTerm) -> str:
    """The name that a part's arguments have in requests: of the sweeps of a repeated map, one for all."""
    return part.owner or name


def tangents_of(part: Term | StagedTerm, tangents: Mapping[str, Any]) -> dict[str, Any]:
    """The tangents of a term's own arguments, by argument."""
    found = {a: tangents[f.name] for a, f in part.fields.items() if f.name in tangents}
    for argument in part.energy.roles:
        if (address := part.address(argument)) in tangents:
            found[argument] = tangents[address]
    found |= {a: tangents[BOX] for a in part.energy.of_role(Box) if BOX in tangents}
    return found | {a: tangents["t"] for a in part.energy.of_role(Time) if "t" in tangents}


def targets_of(part: Term | StagedTerm, targets: Mapping[str, Any]) -> dict[str, Any]:
    """The target arrays of a term's node fields, by argument; `targets` are by field."""
    return {a: targets[field.name] for a, field in part.fields.items() if field.name in targets}


def _arguments_of(part: Term | StagedTerm, names: Sequence[str]) -> tuple[str, ...]:
    """The term's arguments among "term.argument", "t" and "box"."""
    asked = [n.partition(".")[2] for n in names]
    found = [a for n, a in zip(names, asked, strict=True) if a and part.address(a) == n]
    found += [a for a in part.energy.of_role(Box) if BOX in names]
    return *found, *(a for a in part.energy.of_role(Time) if "t" in names)


def add_answer(total: Derivatives, part: Term | StagedTerm | Slope, answer: Derivatives) -> None:
    """Add a term's derivatives to those of the sum, under the names of the potential."""
    total.value += answer.value
    if not answer.slopes and not answer.changes:
        return
    if isinstance(part, Slope):
        for argument, values in answer.slopes.items():
            total.slopes[argument] = total.slopes.get(argument, 0.0) + values
        return
    clocks, boxes = part.energy.of_role(Time), part.energy.of_role(Box)
    for into, found in ((total.slopes, answer.slopes), (total.changes, answer.changes)):
        for argument, values in found.items():
            if argument in clocks:
                into["t"] = into.get("t", np.zeros(())) + values
            if argument in boxes:
                into[BOX] = into.get(BOX, 0.0) + values
            known = part.address(argument)
            into[known] = into.get(known, 0.0) + values
