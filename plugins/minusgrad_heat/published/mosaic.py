"""Published values of Mosaic, a suite of differentiable solvers: the thermal compliance of a slab."""

from typing import Any

import minusgrad
from minusgrad.plugin import PublishedValue, Workplace, published_value

DENSITIES = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95)
COMPLIANCES = (14223.803, 8004.0015, 1779.3594, 246.39644, 73.806175, 31.220243, 18.65851)


def _thermal_compliance(density: float) -> float:
    """Sum of f T for a heat of 1, by k = k_min + (1 - k_min) rho^3; U is minus half of it at rest."""
    thickness, conductivity = 0.125, 1e-3 + (1.0 - 1e-3) * density**3
    shape = {"size": [2.0, 1.0, thickness], "cells": [16, 8, 1], "cell": "hexahedra"}
    mesh = {"kind": "box", "density": 1.0, **shape}
    scene: dict[str, Any] = {
        "state": {"kind": "heat", "temperature": 0.0, "specific_heat": 1.0, "mesh": mesh},
        "energy": [
            {"kind": "heat_conduction", "conductivity": conductivity},
            {"kind": "heat_flux", "body": "right", "flux": 1.0 / thickness},
        ],
        "hold": [{"body": "left", "field": "T"}],
        "stepper": {"kind": "newton", "fields": {"T": {"scale": 1.0}}},
        "run": {"steps": 5},
    }
    one: Any = minusgrad.build(scene)
    one.step(one.last)
    return -2.0 * float(one.potential.value())


@published_value(
    "Mosaic, heated slab",
    area="heat",
    value=COMPLIANCES,
    tolerance=[3e-7 * value for value in COMPLIANCES],
    why="single precision of the stored array",
    source="Mosaic 0.2.0 (arXiv 2606.27895), thermal_mesh/references/forward_agreement.npz",
    quick=True,
)
def thermal_compliances_of_the_slab(place: Workplace) -> list[float]:
    """Thermal compliance of 16 x 8 hexahedra, heated at one side, of seven densities."""
    return [_thermal_compliance(density) for density in DENSITIES]


ROWS: list[PublishedValue] = [thermal_compliances_of_the_slab]
