"""The exact Hessian of a potential: a sum over elements, or made of products where it is none."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...errors import EnergyError
from ...potential.potential import Potential

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

COLUMNS = 1500
"""Numbers in the fields up to which products are taken, one for each."""


def exact_hessian(potential: Potential, names: Sequence[str], t: float = 0.0) -> "csr_matrix":
    """d2U/(d(names) d(names)), sparse and in f64; rows as those of `Potential.hessian`.

    An energy that reads maps has a Hessian that is no sum over elements: it is made of products with unit
    tangents, up to `COLUMNS` numbers. Raises `EnergyError` for more, and for energies without second
    derivatives.
    """
    from scipy.sparse import csr_matrix

    try:
        return potential.hessian(names, t)
    except EnergyError:
        shapes = {name: potential.fields[name].shape for name in names}
        if sum(int(np.prod(shape, dtype=int)) for shape in shapes.values()) > COLUMNS:
            raise
    columns = []
    tangents = {name: np.zeros(shape) for name, shape in shapes.items()}
    for tangent in tangents.values():
        for place in np.ndindex(tangent.shape):
            tangent[place] = 1.0
            found = [potential.product(tangents, name, t).ravel() for name in names]
            columns.append(np.concatenate(found).astype(np.float64))
            tangent[place] = 0.0
    whole = np.array(columns)
    return csr_matrix(0.5 * (whole + whole.T))
