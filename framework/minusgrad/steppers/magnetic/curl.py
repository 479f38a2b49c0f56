"""The curl of a vector potential: traced, differentiated, written as a function in the language of energies.

    a . A(x, ...)  ->  A_j  ->  dA_j/dx_i  ->  B(x, ...)

B is text again, so that it is traced, evaluated in plain Python and compiled like any function of a user.

Decisions 0368.
"""

from collections.abc import Mapping
from types import FunctionType
from typing import Any

import numpy as np

from ...codegen.tracing import trace
from ...energies.local_energy import LocalEnergy
from ...energies.magnetic_field import OWN, MagneticField
from ...energies.roles import Node
from ...energies.written.function import function_from_source
from ...errors import EnergyError, UserError
from ...potential.by_element.written_derivative import written_function
from ...potential.sample_potential import instance
from ...symbolic.differentiation import gradient
from ...symbolic.plain_python import evaluator
from ...symbolic.sources.captured_values import kept_by_values
from ...symbolic.ties import settle_ties

ALONG = f"{OWN}a"
STEPS = 1e-2, 1e-3, 1e-4
"""Of differences of A, in parts of the scale of its place."""


@kept_by_values
def field_function(field: MagneticField, d: int) -> FunctionType:
    """B as a function of the arguments of A: a vector in space, a number in the plane.

    Raises `EnergyError` for a function that does not return a vector of d components, and `TraceError` for
    one that cannot be traced.
    """
    names = ", ".join(field.arguments)
    if field.uniform:
        return function_from_source(
            "field", f"def field({names}):\n    return {names}{'[2]' if d == 2 else ''}\n", {}
        )
    graph = trace(projected(field, d), d, 1)
    (place,), (along,) = (graph.inputs[name] for name in (str(field.place), ALONG))
    slopes = [gradient(component, place) for component in gradient(graph.value, along)]
    parts = settle_ties([slopes[j][i] - slopes[i][j] for j, i in _pairs(d)])
    return written_function("field", field.arguments, parts)


def projected(field: MagneticField, d: int) -> LocalEnergy:
    """a . A(x, ...) for a Node field a: a scalar, from which all components of A are derived."""
    _check_vector(field, d)
    names = ", ".join(field.arguments)
    text = f"def projected({names}, {ALONG}):\n    return {ALONG}[0].dot(potential({names}))\n"
    function = function_from_source("projected", text, {"potential": field.function})
    own = {a: role for a, role in field.roles.items() if a in field.arguments}
    return LocalEnergy(field.name, function, "nodes", {**own, ALONG: Node("1", ("d",))})


def curl_error(field: MagneticField, d: int, seed: int = 0) -> tuple[float, str]:
    """The largest difference of the compiled curl from differences of A, in parts of the largest slope of A.

    With a sentence that names the worst place. A is evaluated in plain Python, at random places and with
    random parameters of the declared scales, by the stencil of order 6.
    """
    probe = instance(_probed(field, d), d, np.random.default_rng(seed))
    name = next(iter(probe.terms))
    compiled = probe.gradient(ALONG)
    places = probe.fields[str(field.place)].values
    values = {a: probe.parameter(f"{name}.{a}") for a in field.arguments if a != field.place}
    scale = field.roles[str(field.place)].scale
    several = [_curls(field, values, places, length * scale) for length in STEPS]
    found = compiled.reshape(several[0][0].shape)
    away = [np.abs(found - curl).max(axis=1) / size for curl, size in several]
    best = np.argmin(np.where(np.isfinite(away), away, np.inf), axis=0)  # a long step may meet a kink of A
    errors = np.take_along_axis(np.array(away), best[None], axis=0)[0]
    expected = np.array([several[k][0][n] for n, k in enumerate(best)])
    worst = int(np.argmax(np.where(np.isfinite(errors), errors, np.inf)))
    compared, place = (rows[worst].tolist() for rows in (expected, places))
    return float(errors[worst]), f"compiled {found[worst].tolist()}, by differences {compared} at {place}"


def _curls(
    field: MagneticField, values: Mapping[str, Any], places: np.ndarray, step: float
) -> tuple[np.ndarray, float]:
    """The curl by differences at each place, and the largest slope of A there."""
    d = places.shape[1]
    slopes = np.array([[_slopes(field, values, x, step * axis) / step for axis in np.eye(d)] for x in places])
    curls = np.stack([slopes[:, i, j] - slopes[:, j, i] for j, i in _pairs(d)], axis=1)
    return curls, float(np.abs(slopes).max()) or 1.0


def _slopes(field: MagneticField, values: Mapping[str, Any], x: np.ndarray, step: np.ndarray) -> np.ndarray:
    """The change of A along a step."""
    total = np.zeros(len(x))
    for k, weight in {1: 45.0 / 60.0, 2: -9.0 / 60.0, 3: 1.0 / 60.0}.items():
        for sign in (1.0, -1.0):
            there = {**values, str(field.place): [x + sign * k * step]}
            total += sign * weight * np.asarray(evaluator(field.function, several=True)(there), np.float64)
    return total


def _probed(field: MagneticField, d: int) -> LocalEnergy:
    """b . B(x, ...) for a Node field b, whose gradient by b is the compiled curl."""
    names = ", ".join(field.arguments)
    body = f"{ALONG}[0].dot(field({names}))" if d == 3 else f"{ALONG}[0] * field({names})"
    text = f"def probed({names}, {ALONG}):\n    return {body}\n"
    function = function_from_source("probed", text, {"field": field_function(field, d)})
    own = {a: role for a, role in field.roles.items() if a in field.arguments}
    return LocalEnergy(field.name, function, "nodes", {**own, ALONG: Node("1", ("d",) if d == 3 else ())})


def _pairs(d: int) -> list[tuple[int, int]]:
    """(j, i) of dA_j/dx_i - dA_i/dx_j, for each component of B."""
    return [(2, 1), (0, 2), (1, 0)] if d == 3 else [(1, 0)]


def spaces(field: MagneticField) -> list[int]:
    """The dimensions that a field is defined in. Raises `UserError` where it is in neither 3 nor 2."""
    found, reasons = [], []
    for d in (3, 2):
        try:
            field_function(field, d)
            found.append(d)
        except UserError as error:
            reasons.append(error)
    if not found:
        raise reasons[0]
    return found


def _check_vector(field: MagneticField, d: int) -> None:
    sample = {a: v for a, v in field.sample(np.random.default_rng(0), d).items() if a in field.arguments}
    returned = evaluator(field.function, several=True)(sample)
    if not isinstance(returned, np.ndarray) or returned.shape != (d,):
        shape = f"shape {list(np.shape(returned))}" if isinstance(returned, np.ndarray) else repr(returned)
        raise EnergyError(
            f"vector potential '{field.name}': must return a vector of {d} components here, got {shape};"
            f" return ti.Vector([{', '.join(f'A_{axis}' for axis in 'xyz'[:d])}])"
        )
