"""minusgrad in Mosaic's domain `structural-mesh`: compliance of a cantilever of densities.

Mosaic loads this file beside `problems.py` (see `tesseract_config.yaml`). Gradients come from the energy, by
the implicit function theorem at the equilibrium.
"""

from typing import Any

import numpy as np
from mosaic_shared.problems.structural_mesh import InputSchema as CanonicalInputs
from mosaic_shared.problems.structural_mesh import OutputSchema as CanonicalOutputs
from mosaic_shared.schema_types import make_differentiable
from problems import Structural
from tesseract_core.runtime import ShapeDType


class InputSchema(make_differentiable(CanonicalInputs, ["rho"])):  # type: ignore[misc]
    """Densities, conditions, mesh, and the moduli of the solid."""

    E_max: float = 70_000.0
    nu: float = 0.3
    xmin: float = 1e-3


class OutputSchema(make_differentiable(CanonicalOutputs, ["compliance"])):  # type: ignore[misc]
    """The compliance."""


def _problem(inputs: dict[str, Any]) -> tuple[Structural, np.ndarray]:
    mesh = inputs["hex_mesh"]
    points, cells = mesh["points"][: mesh["n_points"]], mesh["faces"][: mesh["n_faces"]]
    given = {name: inputs[name] for name in ("E_max", "nu", "xmin")}
    return Structural(points, cells, inputs["boundary_conditions"], **given), inputs["rho"][: len(cells)]


def _padded(values: np.ndarray, like: np.ndarray) -> np.ndarray:
    """One number for each row of the padded input."""
    whole = np.zeros(np.shape(like), np.float32)
    whole[: len(values)] = values
    return whole


def apply(inputs: InputSchema) -> OutputSchema:
    """The compliance of the densities."""
    problem, rho = _problem(inputs.model_dump())
    return OutputSchema(compliance=np.float32(problem.compliance(rho)))


def vector_jacobian_product(
    inputs: InputSchema, vjp_inputs: set[str], vjp_outputs: set[str], cotangent_vector: dict[str, Any]
) -> dict[str, Any]:
    """The cotangent of the compliance times its gradient."""
    assert vjp_inputs <= {"rho"}
    assert vjp_outputs <= {"compliance"}
    given = inputs.model_dump()
    problem, rho = _problem(given)
    seed = float(cotangent_vector.get("compliance", 0.0))
    return {"rho": _padded(seed * problem.gradient(rho), given["rho"])} if "rho" in vjp_inputs else {}


def jacobian_vector_product(
    inputs: InputSchema, jvp_inputs: set[str], jvp_outputs: set[str], tangent_vector: dict[str, Any]
) -> dict[str, Any]:
    """The change of the compliance along a change of the densities."""
    assert jvp_inputs <= {"rho"}
    assert jvp_outputs <= {"compliance"}
    problem, rho = _problem(inputs.model_dump())
    along = np.asarray(tangent_vector["rho"], np.float64)[: len(rho)]
    return {"compliance": np.float32(problem.gradient(rho) @ along)}


def abstract_eval(abstract_inputs: Any) -> dict[str, Any]:
    """Shapes of the outputs."""
    return {"compliance": ShapeDType(shape=(), dtype="float32")}
