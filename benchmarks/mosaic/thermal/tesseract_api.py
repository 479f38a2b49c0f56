"""minusgrad in Mosaic's domain `thermal-mesh`: thermal compliance and source identification of a slab.

Mosaic loads this file beside `problems.py` (see `tesseract_config.yaml`). Gradients come from the energy, by
the implicit function theorem at the equilibrium.
"""

from typing import Any

import numpy as np
from mosaic_shared.problems.thermal_mesh import InputSchema as CanonicalInputs
from mosaic_shared.problems.thermal_mesh import OutputSchema as CanonicalOutputs
from mosaic_shared.schema_types import make_differentiable
from problems import Thermal
from tesseract_core.runtime import ShapeDType

INPUTS = ("rho", "source")
OUTPUTS = ("thermal_compliance", "identification_error")


class InputSchema(make_differentiable(CanonicalInputs, list(INPUTS))):  # type: ignore[misc]
    """Densities, sources, target, conditions, mesh, and the conductivity of the solid."""

    k_max: float = 1.0
    p_exp: float = 3.0


class OutputSchema(make_differentiable(CanonicalOutputs, list(OUTPUTS))):  # type: ignore[misc]
    """Thermal compliance and identification error."""


def _problem(inputs: dict[str, Any]) -> tuple[Thermal, np.ndarray, np.ndarray]:
    mesh = inputs["hex_mesh"]
    points, cells = mesh["points"][: mesh["n_points"]], mesh["faces"][: mesh["n_faces"]]
    target, source = np.asarray(inputs["target_temperature"], np.float64), np.zeros(len(cells))
    given = np.asarray(inputs["source"], np.float64)[: len(cells)]
    source[: len(given)] = given
    aim = np.zeros(len(points))
    aim[: len(target)] = target[: len(points)]
    conditions = inputs["boundary_conditions"]
    problem = Thermal(points, cells, conditions, aim, inputs["k_max"], inputs["p_exp"])
    return problem, inputs["rho"][: len(cells)], source


def apply(inputs: InputSchema) -> OutputSchema:
    """Both outputs."""
    problem, rho, source = _problem(inputs.model_dump())
    return OutputSchema(**{name: np.float32(problem.value(name, rho, source)) for name in OUTPUTS})


def vector_jacobian_product(
    inputs: InputSchema, vjp_inputs: set[str], vjp_outputs: set[str], cotangent_vector: dict[str, Any]
) -> dict[str, Any]:
    """The cotangents of the outputs times their gradients, for each input."""
    assert vjp_inputs <= set(INPUTS)
    assert vjp_outputs <= set(OUTPUTS)
    given = inputs.model_dump()
    problem, rho, source = _problem(given)
    found = {name: np.zeros(np.shape(given[name]), np.float32) for name in vjp_inputs}
    for output in sorted(vjp_outputs):
        slopes = problem.gradient(output, rho, source)
        for name, whole in found.items():
            count = min(len(whole), len(slopes[name]))
            whole[:count] += np.float32(float(cotangent_vector[output]) * slopes[name][:count])
    return found


def jacobian_vector_product(
    inputs: InputSchema, jvp_inputs: set[str], jvp_outputs: set[str], tangent_vector: dict[str, Any]
) -> dict[str, Any]:
    """The changes of the outputs along changes of the inputs."""
    assert jvp_inputs <= set(INPUTS)
    assert jvp_outputs <= set(OUTPUTS)
    problem, rho, source = _problem(inputs.model_dump())
    found = {}
    for output in sorted(jvp_outputs):
        slopes = problem.gradient(output, rho, source)
        along = [slopes[n][: len(v)] @ v[: len(rho)] for n, v in tangent_vector.items()]
        found[output] = np.float32(sum(along))
    return found


def abstract_eval(abstract_inputs: Any) -> dict[str, Any]:
    """Shapes of the outputs."""
    return {name: ShapeDType(shape=(), dtype="float32") for name in OUTPUTS}
