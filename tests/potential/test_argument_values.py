"""Values of arguments by which runs have derivatives: of parameters, and of data."""

import numpy as np
import pytest

from minusgrad import Datum, Fields, Node, Parameter, Potential, bind, local_energy
from minusgrad.errors import EnergyError
from minusgrad.potential.argument_values import argument_values, set_argument_values


@local_energy(
    "tie",
    over=2,
    x=Node("m"),
    k=Parameter("N/m"),
    rest=Datum("m", differentiable=True),
    order=Datum(integer=True),
)
def tie(x, k, rest, order):
    return 0.5 * k * (x[1] - x[0] - rest) ** 2 * order


def potential() -> Potential:
    fields = Fields({"x": [0.0, 1.0, 3.0]})
    data = {"rest": [0.5, 1.0], "order": [1, 2]}
    return Potential(fields, [bind(tie, fields, tuples=[[0, 1], [1, 2]], data=data, parameters={"k": 2.0})])


def test_parameters_and_data_are_read_and_written() -> None:
    one = potential()
    assert one.value() == pytest.approx(0.25 + 2.0)
    assert argument_values(one, "tie.k") == 2.0
    np.testing.assert_array_equal(argument_values(one, "tie.rest"), [0.5, 1.0])
    set_argument_values(one, "tie.k", 4.0)
    set_argument_values(one, "tie.rest", [1.0, 1.5])
    assert one.value() == pytest.approx(1.0)
    copy = argument_values(one, "tie.rest")
    copy[0] = 9.0
    assert one.value() == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["tie.order", "tie.none", "bond.k"])
def test_others_are_refused(name: str) -> None:
    with pytest.raises(EnergyError, match=r"no (parameter|term) named"):
        argument_values(potential(), name)
    with pytest.raises(EnergyError, match=r"no (parameter|term) named"):
        set_argument_values(potential(), name, 1.0)
