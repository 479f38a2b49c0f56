"""Present rest shapes of solids whose nodes at rest are a field, seen from the rest shape of the mesh.

    G = sum_a X_a (x) w_a           deformation gradient from the mesh as it was made to the nodes at rest X
    V = V_mesh det G                the present volume at rest of a cell or of a quadrature point

G (E, d, d) [1], V (E,) [m^3].

Decisions 0385.
"""

from typing import Any

import numpy as np

from minusgrad.plugin import LinearDerivatives

FIELD, REST = "x", "rest"


def growth(term: Any) -> np.ndarray | float:
    """det G (E,) of a term of a potential; 1 of one whose rest shape is that of the mesh."""
    if not any(made.field == REST for made in term.energy.linear.values()):
        return 1.0
    G = deformation(LinearDerivatives(term, FIELD))
    assert G is not None
    return np.linalg.det(G)


def deformation(derivatives: LinearDerivatives) -> np.ndarray | None:
    """G, in the space of the derivatives; None of a term whose rest shape is that of the mesh."""
    linear = derivatives.term.energy.linear.items()
    argument = next((name for name, made in linear if made.field == REST), None)
    return None if argument is None else derivatives.matrix(argument)
