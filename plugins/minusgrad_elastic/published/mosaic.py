"""Published values of Mosaic, a suite of differentiable solvers: the compliance of a cantilever."""

from typing import Any

import minusgrad
from minusgrad.plugin import PublishedValue, Workplace, published_value

DENSITIES = (0.2, 0.4, 0.5, 0.7, 0.9)
COMPLIANCES = (0.0556488, 0.00770595670, 0.00397532480, 0.00145608571, 0.000686156563)


def _compliance(density: float) -> float:
    """F . u of a force of 1, by E = E_max (x_min + (1 - x_min) rho^3); U falls by F . u / 2."""
    modulus = 70_000.0 * (1e-3 + (1.0 - 1e-3) * density**3)
    scene: dict[str, Any] = {
        "state": {
            "kind": "box", "size": [2.0, 1.0, 1.0], "cells": [8, 2, 4], "cell": "hexahedra", "density": 1.0,
        },
        "energy": [
            {"kind": "linear", "youngs_modulus": modulus, "poissons_ratio": 0.3},
            {"kind": "traction", "body": "right", "traction": [0.0, 0.0, -1.0]},
        ],
        "hold": [{"body": "left"}],
        "stepper": {"kind": "newton"},
        "run": {"steps": 5},
    }  # fmt: skip
    one: Any = minusgrad.build(scene)
    start = one.potential.value()
    one.step(one.last)
    return 2.0 * float(start - one.potential.value())


@published_value(
    "Mosaic, cantilever",
    area="elasticity",
    value=COMPLIANCES,
    tolerance=[3e-7 * value for value in COMPLIANCES],
    why="single precision of the stored array",
    source="Mosaic 0.2.0 (arXiv 2606.27895), structural_mesh/references/forward_agreement.npz",
    quick=True,
)
def compliances_of_the_cantilever(place: Workplace) -> list[float]:
    """Compliance of 8 x 2 x 4 hexahedra, clamped at one end, of five densities."""
    return [_compliance(density) for density in DENSITIES]


ROWS: list[PublishedValue] = [compliances_of_the_cantilever]
