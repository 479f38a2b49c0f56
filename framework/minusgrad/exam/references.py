"""Value and gradients of a term, three times over and not by the engine.

    taichi       Taichi's own reverse mode of the same function
    plain        the same source in plain Python, summed in a Python loop over the elements
    differences  central differences of the plain value, extrapolated to order 6 (Richardson)

All return (value, {argument: gradient}), gradients shaped as `Potential.gradient` gives them. The last two
are also had of a map: `given_values`, `weighted_differences`.
"""

import linecache
from collections.abc import Callable, Iterator
from itertools import combinations, count, permutations, product
from types import FunctionType
from typing import Any

import numpy as np

from ..energies.local_map import LocalMap
from ..energies.roles import Datum, Node, Parameter, Table, Time
from ..energies.term import Term
from ..engine import runtime, storage
from ..symbolic.sources.captured_values import captured_values
from ..symbolic.sources.snapshots import origin

Gradients = dict[str, np.ndarray]
STEP = 1e-3
"""Of the differences, relative to an argument's size."""


def elements(term: Term) -> np.ndarray:
    """The nodes of every element, shape (E, k): pairs as a list, of a map in both orders."""
    nodes = term.elements.nodes
    if not term.elements.unordered:
        return nodes
    paired = permutations if isinstance(term.energy, LocalMap) else combinations
    return np.array(list(paired(nodes.tolist(), 2)))


def plain_energy(term: Term, t: float = 0.0) -> float:
    """Sum over the elements of the plain evaluation."""
    return sum(energies(term, t))


def magnitude(term: Term, t: float = 0.0) -> float:
    """Sum of |u| over the elements: what rounding is relative to."""
    return sum(map(abs, energies(term, t)))


def energies(term: Term, t: float = 0.0, energy: Callable | None = None) -> list[float]:
    """Of each element; `energy`: the function's evaluator, if it is at hand."""
    energy = energy or term.energy.evaluator()
    return [energy(arguments) for arguments, _ in _element_arguments(term, t)]


def differences(term: Term, t: float = 0.0) -> Gradients:
    """Of the plain evaluation, element by element and component by component."""
    out, energy = _zero_gradients(term), term.energy.evaluator()
    _add_differences(out, term, energy, t, lambda e, arguments: [({}, 1.0)])
    return out


def _add_differences(out: Gradients, term: Term, energy: Callable, t: float, visits: Callable) -> None:
    """Of sum w u(arguments with what a visit changes), over an element's visits (change, w)."""
    for e, (arguments, rows) in enumerate(_element_arguments(term, t)):
        for (changed, w), (name, gradient) in product(visits(e, arguments), out.items()):
            arguments = arguments | changed
            is_node = isinstance(term.energy.roles[name], Node)
            for slot, row in enumerate(rows[name]):
                value = np.array(arguments[name][slot] if is_node else arguments[name], float)
                for c in np.ndindex(value.shape):
                    u = _energy_along(energy, arguments, name, slot if is_node else None, value, c)
                    gradient[(*row, *c)] += w * extrapolated_slope(u, STEP * max(abs(float(value[c])), 0.1))


def _energy_along(
    energy: Callable, arguments: dict, name: str, slot: int | None, value: np.ndarray, component: tuple
):
    """u as a function of the change of one component of one argument."""

    def u(change: float) -> float:
        moved = value.copy()
        moved[component] += change
        if slot is None:
            return energy(arguments | {name: moved})
        nodes = list(arguments[name])
        nodes[slot] = moved
        return energy(arguments | {name: nodes})

    return u


def extrapolated_slope(u: Callable[[float], float], h: float) -> float:
    """u'(0), with an error of order h^6."""
    d = [(u(s) - u(-s)) / (2.0 * s) for s in (h, h / 2, h / 4)]
    first = [(4.0 * d[k + 1] - d[k]) / 3.0 for k in range(2)]
    return (16.0 * first[1] - first[0]) / 15.0


def _element_arguments(term: Term, t: float) -> Iterator[tuple[dict[str, Any], dict[str, list[tuple]]]]:
    """For each element: the function's arguments, and the rows of the gradients that they belong to."""
    for e, nodes in enumerate(elements(term)):
        arguments: dict[str, Any] = {}
        rows: dict[str, list[tuple]] = {}
        for name, role in term.energy.roles.items():
            match role:
                case Node():
                    arguments[name] = [_one(term.fields[name].values[n]) for n in nodes]
                    rows[name] = [(int(n),) for n in nodes]
                case Datum():
                    arguments[name], rows[name] = _one(storage.host(term.data[name])[e]), [(e,)]
                case Parameter():
                    values = term.parameters[name]
                    row = 0 if values.index is None else int(values.index[e])
                    arguments[name] = _one(values.rows[row])
                    rows[name] = [()] if values.index is None else [(row,)]
                case Time():
                    arguments[name], rows[name] = t, [()]
                case Table():
                    arguments[name] = storage.host(term.tables[name])
        yield arguments, rows


def _one(value: np.ndarray) -> Any:
    return value.item() if np.ndim(value) == 0 else value.astype(float)


def _zero_gradients(term: Term) -> Gradients:
    shapes: dict[str, tuple[int, ...]] = {}
    for name in term.energy.differentiable:
        match term.energy.roles[name]:
            case Node():
                shapes[name] = term.fields[name].shape
            case Datum():
                shapes[name] = storage.host(term.data[name]).shape
            case Parameter():
                values = term.parameters[name]
                shapes[name] = values.rows.shape if values.index is not None else values.rows.shape[1:]
            case Time():
                shapes[name] = ()
    return {name: np.zeros(shape) for name, shape in shapes.items()}


# Maps -----------------------------------------------------------------------------------------------


def receivers(term: Term, nodes: np.ndarray, arguments: dict[str, Any]) -> Iterator[tuple[int, dict]]:
    """The places that an element contributes to: number of each, and the arguments that depend on it."""
    energy = term.energy
    if term.grid is None or not isinstance(energy, LocalMap):
        yield int(nodes[0]), {}
        return
    ranges = energy.reach()(arguments)
    on_grid = [range(max(r.start, 0), min(r.stop, n)) for r, n in zip(ranges, term.grid.shape, strict=True)]
    for place in product(*on_grid):
        yield int(np.ravel_multi_index(place, term.grid.shape)), {energy.cell: list(place)}


def given_values(term: Term, t: float = 0.0) -> np.ndarray:
    """What a map gives, summed in a Python loop."""
    assert term.gives is not None
    out, f = np.zeros(len(term.gives)), term.energy.evaluator()
    for nodes, (arguments, _) in zip(elements(term), _element_arguments(term, t), strict=True):
        for place, values in receivers(term, nodes, arguments):
            out[place] += f(arguments | values)
    return out


def weighted_differences(term: Term, weights: np.ndarray, t: float = 0.0) -> Gradients:
    """Differences of sum over the receivers p of weights_p y_p: what reaches whom stays."""
    out, nodes = _zero_gradients(term), elements(term)

    def visits(e: int, arguments: dict) -> list[tuple[dict, float]]:
        return [(values, weights[place]) for place, values in receivers(term, nodes[e], arguments)]

    _add_differences(out, term, term.energy.evaluator(), t, visits)
    return out


# Taichi's reverse mode ------------------------------------------------------------------------------

_numbers = count()
_kernels: dict[tuple, Callable] = {}


def taichi(term: Term, t: float = 0.0) -> tuple[float, Gradients]:
    """Value and gradients by a kernel that calls the function, and its `grad`."""
    arrays: dict[str, Any] = {"nodes": _array(elements(term).astype(np.int32), False)}
    for name, role in term.energy.roles.items():
        match role:
            case Node():
                arrays[name] = _array(term.fields[name].values)
            case Datum():
                arrays[name] = _array(storage.host(term.data[name]), role.differentiable)
            case Parameter():
                values = term.parameters[name]
                index = np.zeros(len(elements(term)), np.int32) if values.index is None else values.index
                arrays[name], arrays[f"row_of_{name}"] = _array(values.rows), _array(index, False)
            case Time():
                arrays[name] = _array(np.array([t]))
    arrays["U"] = _array(np.zeros(len(elements(term))))
    kernel = _compile_reference(term, arrays)
    kernel(*arrays.values())
    value = float(np.sum(arrays["U"].to_numpy()))
    arrays["U"].grad.fill(1.0)
    kernel.grad(*arrays.values())
    found = _zero_gradients(term)
    return value, {a: arrays[a].grad.to_numpy().astype(float).reshape(g.shape) for a, g in found.items()}


def _array(values: np.ndarray, differentiable: bool = True) -> Any:
    ti = runtime.engine()
    dtype = ti.i32 if values.dtype.kind in "iu" else ti.f64
    array = ti.ndarray(dtype, values.shape, needs_grad=differentiable and dtype == ti.f64)
    array.from_numpy(np.ascontiguousarray(values, np.int32 if dtype == ti.i32 else np.float64))
    return array


def _compile_reference(term: Term, arrays: dict[str, Any]) -> Any:
    """One kernel for each function and shape, for the engine that runs now."""
    types = {name: _array_annotation(array) for name, array in arrays.items()}
    call = ", ".join(_argument_text(term, name, arrays) for name in term.energy.arguments)
    head = ", ".join(f"{n}: {kind}" for n, kind in types.items())
    text = f"def kernel({head}):\n    for e in range(nodes.shape[0]):\n        U[e] = function({call})\n"
    key = (runtime.start_count(), captured_values(term.energy.function) or term.energy.function, text)
    if key not in _kernels:
        file = f"<reference {next(_numbers)}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        scope: dict[str, Any] = {"ti": runtime.engine(), "function": _kernel_function(term.energy.function)}
        exec(compile(text, file, "exec"), scope)
        _kernels[key] = runtime.engine().kernel(scope["kernel"])
    return _kernels[key]


def _kernel_function(function: FunctionType) -> Callable:
    """A function for kernels; of one that the framework wrote, what it calls is compiled as well."""
    function = origin(function)  # whose helpers are the engine's functions
    if not function.__code__.co_filename.startswith("<minusgrad"):
        return runtime.engine().func(function)
    names = {n: function.__globals__.get(n) for n in function.__code__.co_names}
    called = {
        n: runtime.engine().func(origin(inner))
        for n, inner in names.items()
        if isinstance(inner, FunctionType)
    }
    scope = {**function.__globals__, **called}
    return runtime.engine().func(
        FunctionType(function.__code__, scope, function.__name__, None, function.__closure__)
    )


def _array_annotation(array: Any) -> str:
    dtype, ndim, needs_grad = array.dtype.to_string(), len(array.shape), array.grad is not None
    return f"ti.types.ndarray(dtype=ti.{dtype}, ndim={ndim}, needs_grad={needs_grad})"


def _argument_text(term: Term, name: str, arrays: dict[str, Any]) -> str:
    """The text of an argument: read from its array, or a sum over the nodes."""
    if name not in term.energy.linear:
        return _read_text(term, name, arrays[name].shape[1:])
    made, k = term.energy.linear[name], term.arity
    shape = arrays[made.field].shape[1:]
    x = [_tensor_text(made.field, f"nodes[e, {s}]", shape) for s in range(k)]
    w = [_tensor_text(made.weights, f"e, {s}", arrays[made.weights].shape[2:]) for s in range(k)]
    return " + ".join(f"{a}.outer_product({b})" if shape else f"{a} * {b}" for a, b in zip(x, w, strict=True))


def _read_text(term: Term, name: str, shape: tuple[int, ...]) -> str:
    """The text of one argument of one element."""
    match term.energy.roles[name]:
        case Node():
            slots = range(term.arity)
            return f"[{', '.join(_tensor_text(name, f'nodes[e, {s}]', shape) for s in slots)}]"
        case Parameter():
            return _tensor_text(name, f"row_of_{name}[e]", shape)
        case Time():
            return f"{name}[0]"
        case _:
            return _tensor_text(name, "e", shape)


def _tensor_text(name: str, row: str, shape: tuple[int, ...]) -> str:
    entries = [f"{name}[{', '.join([row, *map(str, c)])}]" for c in np.ndindex(shape)]
    if not shape:
        return entries[0]
    if len(shape) == 1:
        return f"ti.Vector([{', '.join(entries)}])"
    rows = [f"[{', '.join(entries[k : k + shape[1]])}]" for k in range(0, len(entries), shape[1])]
    return f"ti.Matrix([{', '.join(rows)}])"
