"""Listing of an energy: the size of its graph, and the Taichi source of its kernels."""

from dataclasses import asdict, dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from ..codegen.derivative_request import DerivativeRequest, tangents
from ..codegen.loop_choice import loops_of_map
from ..codegen.map_loops import MapLoops
from ..codegen.term_loops import Emitter
from ..codegen.tracing import Trace, of_term
from ..energies.local_energy import LocalEnergy
from ..energies.roles import Node
from ..energies.staged_energy import Staged
from ..energies.staged_map import StagedMap
from ..errors import EnergyError
from ..symbolic import differentiation, ties
from ..symbolic.graph import reachable
from ..symbolic.scalar import Scalar
from .sample_potential import instance


@dataclass(frozen=True)
class Anatomy:
    """Of one element in a space of `dimension`: operations in the graph, and the text of the kernels' loops.

    Both by what is computed: value, gradient (in all node fields), product (of the Hessian in them).
    """

    energy: str
    dimension: int
    operations: dict[str, int]
    source: dict[str, str]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def of_energy(energy: LocalEnergy | Staged, d: int = 3) -> Anatomy:
    """The listing of an energy or map at a small random state. Raises `EnergyError` for a staged one."""
    if isinstance(energy, Staged):
        kind = "map" if isinstance(energy, StagedMap) else "energy"
        raise EnergyError(f"'{energy.name}' is a staged {kind}: it has no graph, Taichi reverses its kernels")
    potential = instance(energy, d, np.random.default_rng(0))
    (term,) = potential.parts.values()
    given = {f.name: f for f in term.outputs.values()}
    emitter = loops_of_map(term, given) if given else Emitter(term)
    arrays = {a: np.zeros_like(term.fields[a].values) for a in energy.of_role(Node)}
    sweeps = {
        "gradient": DerivativeRequest(gradient=arrays),
        "product": DerivativeRequest(product=arrays, tangents=arrays),
    }
    value = emitter.forward_loops() if isinstance(emitter, MapLoops) else emitter.value()[0]
    codes = {"value": value} | {what: emitter.sweep(sweep)[0] for what, sweep in sweeps.items()}
    source = {what: code.text for what, code in codes.items()}
    return Anatomy(energy.name, d, _operation_counts(of_term(term), list(arrays)), source)


def _operation_counts(traced: Trace, nodal: list[str]) -> dict[str, int]:
    """The numbers of operations in the graphs of value, gradient and product.

    Of a map with several components, gradient and product are those of their sum.
    """
    leaves = [leaf for a in nodal for row in traced.inputs[a] for leaf in row]
    gradient = differentiation.gradient(reduce(add, traced.values), leaves)
    product = differentiation.tangent(gradient, tangents(traced, nodal))
    sizes = {
        "gradient": _operation_count(ties.settle_ties(gradient)),
        "product": _operation_count(ties.settle_ties(product)),
    }
    return {"value": _operation_count(traced.values), **sizes}


def _operation_count(outputs: list[Scalar]) -> int:
    return sum(node.op not in ("input", "constant") for node in reachable(outputs))
