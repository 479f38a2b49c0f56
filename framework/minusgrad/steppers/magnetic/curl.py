"""The curl of a vector potential: traced, differentiated, written as a function in the language of energies.

    a . A(x, ...)  ->  A_j  ->  dA_j/dx_i  ->  B(x, ...)

B is text again, so that it is traced, evaluated in plain Python and compiled like any function of a user.
"""

import linecache
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from types import FunctionType
from typing import Any

import numpy as np

from ...codegen.statements import template
from ...codegen.tracing import trace
from ...energies.local_energy import LocalEnergy, Node
from ...energies.magnetic_field import OWN, MagneticField
from ...engine import runtime
from ...engine.special_functions import erf
from ...errors import EnergyError
from ...symbolic.differentiation import gradient
from ...symbolic.graph import reachable
from ...symbolic.operations import TRUTHS
from ...symbolic.plain_python import evaluator
from ...symbolic.scalar import Scalar

ALONG = f"{OWN}a"


@cache
def field_function(field: MagneticField, d: int) -> FunctionType:
    """B as a function of the arguments of A: a vector in space, a number in the plane.

    Raises `EnergyError` for a function that does not return a vector of d components, and `TraceError` for
    one that cannot be traced.
    """
    names = ", ".join(field.arguments)
    if field.uniform:
        return written("field", f"def field({names}):\n    return {names}{'[2]' if d == 2 else ''}\n", {})
    graph = trace(projected(field, d), d, 1)
    (place,), (along,) = (graph.inputs[name] for name in (str(field.place), ALONG))
    slopes = [gradient(component, place) for component in gradient(graph.value, along)]
    pairs = [(2, 1), (0, 2), (1, 0)] if d == 3 else [(1, 0)]
    parts = [slopes[j][i] - slopes[i][j] for j, i in pairs]
    return written("field", _source(field, names, parts), {"erf": erf})


def projected(field: MagneticField, d: int) -> LocalEnergy:
    """a . A(x, ...) for a Node field a: a scalar, from which all components of A are derived."""
    _check_vector(field, d)
    names = ", ".join(field.arguments)
    text = f"def projected({names}, {ALONG}):\n    return {ALONG}[0].dot(potential({names}))\n"
    function = written("projected", text, {"potential": field.function})
    own = {a: role for a, role in field.roles.items() if a in field.arguments}
    return LocalEnergy(field.name, function, "nodes", {**own, ALONG: Node("1", ("d",))})


def plain_potential(field: MagneticField, values: Mapping[str, Any]) -> np.ndarray:
    """A at one place in plain Python; `values` by argument."""
    return np.asarray(evaluator(field.function, several=True)(values), np.float64)


def _check_vector(field: MagneticField, d: int) -> None:
    sample = {a: v for a, v in field.sample(np.random.default_rng(0), d).items() if a in field.arguments}
    returned = evaluator(field.function, several=True)(sample)
    if not isinstance(returned, np.ndarray) or returned.shape != (d,):
        shape = f"shape {list(np.shape(returned))}" if isinstance(returned, np.ndarray) else repr(returned)
        raise EnergyError(
            f"vector potential '{field.name}': must return a vector of {d} components here, got {shape};"
            f" return ti.Vector([{', '.join(f'A_{axis}' for axis in 'xyz'[:d])}])"
        )


def _source(field: MagneticField, names: str, parts: Sequence[Scalar]) -> str:
    """The text of a function that computes these nodes."""
    text: dict[int, str] = {}
    lines = [f"def field({names}):"]
    for node in reachable(parts):
        if node.op == "input":
            argument, slot, component = node.value
            at = "".join(f"[{k}]" for k in ([] if slot is None else [slot]) + _index(component))
            text[node.serial] = f"{argument}{at}"
        elif node.number is not None:
            text[node.serial] = f"({node.number!r})"
        else:
            value = template(node).format(*(text[a.serial] for a in node.args), T="ti.f64", R="f64")
            value = value.replace("erf_f64", "erf")
            text[node.serial] = f"({value})" if node.op in TRUTHS else f"r{node.serial}"
            lines += [] if node.op in TRUTHS else [f"    r{node.serial} = {value}"]
    found = [text[part.serial] for part in parts]
    vector = f"ti.Vector([{', '.join(found)}])"
    lines.append(f"    return {found[0] if len(found) == 1 else vector}")
    return "\n".join(lines) + "\n"


def _index(component: tuple[int, ...]) -> list[Any]:
    return [", ".join(map(str, component))] if component else []


def written(name: str, source: str, scope: Mapping[str, Any]) -> FunctionType:
    """The function of this source, which `inspect` can read."""
    file = f"<minusgrad {name} {sha256(source.encode()).hexdigest()[:16]}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names: dict[str, Any] = {"ti": runtime.engine(), "__name__": __name__, **scope}
    exec(compile(source, file, "exec"), names)
    return names[name]
