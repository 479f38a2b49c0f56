"""Misfit: the squared distance of a field from measured values, in standard deviations.

    L = sum over nodes |x - target|^2 / (2 sigma^2)

x and target: scalars or vectors, with the unit of the field; sigma: the standard deviation of one number. If
the errors are normal, L is -log of the likelihood up to a constant, and its Hessian at the minimum is the
inverse covariance of the estimates.
"""

from math import inf

from ..errors import EnergyError
from .fields import Field
from .local_energy import LocalEnergy, local_energy
from .roles import Datum, Node, Parameter


def misfit(field: Field) -> LocalEnergy:
    """The misfit of a field's kind. Raises `EnergyError` for values that are neither numbers nor vectors."""
    if len(field.shape) > 2:
        raise EnergyError(
            f"misfit: needs numbers or vectors, got '{field.name}' of shape {list(field.shape)}; reshape it"
        )
    shape, unit = field.shape[1:], field.unit
    declare = local_energy(
        "misfit",
        over="nodes",
        x=Node(unit, shape),
        target=Datum(unit, shape),
        sigma=Parameter(unit, default=1.0, bounds=(0.0, inf), open=True),
    )
    return declare(_of_vectors if shape else _of_numbers)


def _of_numbers(x, target, sigma):
    """Half the squared distance in standard deviations."""
    r = (x[0] - target) / sigma
    return 0.5 * r * r


def _of_vectors(x, target, sigma):
    """Half the squared distance in standard deviations."""
    r = (x[0] - target) / sigma
    return 0.5 * r.dot(r)
