"""Derivatives as functions in the language of energies: traced, differentiated, and written as text again.

    u(a, ...)  ->  du/da  ->  def slope(a, ...): ...

So an energy may contain the derivative of another one, and is traced, evaluated in plain Python and compiled
like any function of a user.

Decisions 0129.
"""

from collections.abc import Sequence
from types import FunctionType
from typing import Any

from ...codegen.statements import template
from ...codegen.tracing import trace
from ...energies.local_energy import LocalEnergy
from ...energies.written.function import function_from_source
from ...engine.special_functions import erf, erfc
from ...symbolic.differentiation import gradient
from ...symbolic.graph import reachable
from ...symbolic.operations import TRUTHS
from ...symbolic.scalar import Scalar
from ...symbolic.ties import settle_ties


def derivative_function(energy: LocalEnergy, by: str) -> FunctionType:
    """du/d(by) as a function `slope` of the arguments of u, in its order; `by`: one with a single number.

    Raises `TraceError` for a function that cannot be traced.
    """
    graph = trace(energy, None, 1)
    ((leaf,),) = graph.inputs[by]
    return written_function("slope", energy.arguments, settle_ties(gradient(graph.value, [leaf])))


def written_function(name: str, arguments: Sequence[str], parts: Sequence[Scalar]) -> FunctionType:
    """A function of these arguments that computes nodes of a graph: a number of one node, else a vector."""
    text: dict[int, str] = {}
    lines = [f"def {name}({', '.join(arguments)}):"]
    for node in reachable(parts):
        if node.op == "input":
            argument, slot, component = node.value
            at = "".join(f"[{k}]" for k in ([] if slot is None else [slot]) + _index(component))
            text[node.serial] = f"{argument}{at}"
        elif node.number is not None:
            text[node.serial] = f"({node.number!r})"
        else:
            value = template(node).format(*(text[a.serial] for a in node.args), T="ti.f64", R="f64")
            value = value.replace("erf_f64", "erf").replace("erfc_f64", "erfc")
            text[node.serial] = f"({value})" if node.op in TRUTHS else f"r{node.serial}"
            lines += [] if node.op in TRUTHS else [f"    r{node.serial} = {value}"]
    found = [text[part.serial] for part in parts]
    vector = f"ti.Vector([{', '.join(found)}])"
    lines.append(f"    return {found[0] if len(found) == 1 else vector}")
    return function_from_source(name, "\n".join(lines) + "\n", {"erf": erf, "erfc": erfc})


def _index(component: tuple[int, ...]) -> list[Any]:
    return [", ".join(map(str, component))] if component else []
