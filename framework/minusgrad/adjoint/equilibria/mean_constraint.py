"""A limit of the mean of a field: the constraint of a fit.

    g = (sum over nodes of q) / n - limit

q: a field of numbers, which may be the output of maps, such as the densities that a filter gives.

Decisions 0386.
"""

import numpy as np

from ...energies import term as terms
from ...energies.fields import Fields
from ...energies.local_energy import local_energy
from ...energies.roles import Node, Parameter
from ...errors import EnergyError
from ...potential.potential import Potential


class MeanConstraint:
    """g over the fields of a potential, at their present values.

    Raises `EnergyError` for a field that is not one of numbers, or that does not exist.
    """

    def __init__(self, potential: Potential, field: str, limit: float):
        fields: Fields = potential.fields
        of = fields[field]
        if len(of.shape) > 1:
            raise EnergyError(f"'{field}': a mean needs numbers, got values of shape {list(of.shape[1:])}")
        declare = local_energy("mean", over="nodes", q=Node(of.unit), share=Parameter())
        term = terms.bind(declare(_share), fields, renamed={"q": field}, parameters={"share": 1.0 / len(of)})
        maps = list(potential.maps.values()) if field in fields.derived else []
        self.limit, self._mean = limit, Potential(fields, [term], maps)

    def value(self) -> float:
        """g."""
        return self._mean.value() - self.limit

    def slope(self, name: str) -> np.ndarray | None:
        """dg/d(field or parameter), in f64; None where the mean does not depend on it."""
        if name in self._mean.reads or name.partition(".")[0] in self._mean.maps:
            return self._mean.gradient(name).astype(np.float64)
        return None


def _share(q, share):
    """The share of one node in the mean."""
    return share * q[0]
