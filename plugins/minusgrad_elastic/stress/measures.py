"""Measures of stress and strain: numbers of the tensors at points, cells or nodes.

    von Mises        sqrt(3/2 s : s),  s = sigma - tr sigma / 3 I
    principal        s_1 >= s_2 >= s_3, the eigenvalues of sigma, and unit vectors along them, in rows
    Tresca           s_1 - s_3, twice the largest shear stress
    hydrostatic      tr sigma / 3, positive in tension: a pressure is negative
    strain           E = (F^T F - I) / 2, Green's; of the linear theory e = (F + F^T) / 2 - I

sigma (E, 3, 3) [Pa] is Cauchy's stress, F (E, 3, 3) [1] the deformation gradient. A measure of a difference
of two stresses bounds that of the measure: |m(a) - m(b)| <= `bound_measure`(a - b), since von Mises and
Tresca are seminorms of sigma and eigenvalues move by no more than the largest one of the difference (Weyl).

von Mises 1913, Nachr. Ges. Wiss. Goettingen, 582; Tresca 1864, C. R. Acad. Sci. 59, 754.
"""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

Measure = Literal[
    "von_mises",
    "cauchy",
    "first_piola_kirchhoff",
    "principal",
    "principal_directions",
    "tresca",
    "hydrostatic",
    "strain",
]
LABELS: dict[Measure, str] = {
    "von_mises": "von_mises_stress",
    "cauchy": "cauchy_stress",
    "first_piola_kirchhoff": "first_piola_kirchhoff_stress",
    "principal": "principal_stress",
    "principal_directions": "principal_directions",
    "tresca": "tresca_stress",
    "hydrostatic": "hydrostatic_stress",
    "strain": "strain",
}
PURE = ("principal_directions", "strain")
"""Measures without a unit."""
PEAKS: tuple[Measure, ...] = ("von_mises", "tresca", "principal")
"""Measures that have a largest value worth a number: of the principal stresses the first one."""


def base_of(measure: Measure) -> str:
    """The tensor that a measure is of."""
    return measure if measure in ("first_piola_kirchhoff", "strain") else "cauchy"


def measured(measure: Measure, tensors: Mapping[str, np.ndarray]) -> np.ndarray:
    """A measure of tensors (E, 3, 3) by name: (E,), (E, 3) or (E, 3, 3)."""
    tensor = tensors[base_of(measure)]
    return FUNCTIONS[measure](tensor) if measure in FUNCTIONS else tensor


def von_mises(stress: np.ndarray) -> np.ndarray:
    """sqrt(3/2 s : s) of stresses (E, 3, 3)."""
    s = stress - np.trace(stress, axis1=1, axis2=2)[:, None, None] / 3.0 * np.eye(3)
    return np.sqrt(1.5 * (s * s).sum(axis=(1, 2)))


def principal_values(stress: np.ndarray) -> np.ndarray:
    """Eigenvalues (E, 3) of stresses (E, 3, 3), the largest first; NaN where a stress is not finite."""
    return _eigenpairs(stress)[0]


def principal_directions(stress: np.ndarray) -> np.ndarray:
    """Unit vectors (E, 3, 3) in rows, in the order of eigenvalues; their largest component is positive."""
    rows = _eigenpairs(stress)[1].transpose(0, 2, 1)
    largest = np.take_along_axis(rows, np.abs(rows).argmax(axis=2)[..., None], axis=2)
    return rows * np.where(largest < 0.0, -1.0, 1.0)


def tresca(stress: np.ndarray) -> np.ndarray:
    """The largest eigenvalue less the smallest (E,)."""
    values = principal_values(stress)
    return values[:, 0] - values[:, 2]


def hydrostatic(stress: np.ndarray) -> np.ndarray:
    """tr sigma / 3 (E,)."""
    return np.trace(stress, axis1=1, axis2=2) / 3.0


def bound_measure(measure: Measure, apart: np.ndarray) -> np.ndarray:
    """How far a measure of two stresses may differ whose difference is (E, 3, 3): (E,)."""
    if measure == "principal":
        return np.abs(principal_values(apart)).max(axis=1)
    return np.abs(FUNCTIONS[measure](apart))


def _eigenpairs(stress: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, the largest first, and vectors in columns."""
    sound = np.isfinite(stress).all(axis=(1, 2))
    even = np.where(sound[:, None, None], 0.5 * (stress + stress.transpose(0, 2, 1)), 0.0)
    values, vectors = np.linalg.eigh(even)
    values, vectors = values[:, ::-1].copy(), vectors[:, :, ::-1].copy()
    values[~sound], vectors[~sound] = np.nan, np.nan
    return values, vectors


FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "von_mises": von_mises,
    "principal": principal_values,
    "principal_directions": principal_directions,
    "tresca": tresca,
    "hydrostatic": hydrostatic,
}
"""Of Cauchy's stress."""
