"""Questions to Lagrangians: regular mass matrices, declared symmetries."""

from dataclasses import replace

import pytest

from minusgrad.adjoint.checks.lagrangian_check import of_lagrangian
from minusgrad.plugin import ti
from minusgrad_control.mechanisms import cart_pole, double_pendulum, turning_weight
from tests.support import lagrangians as books


def fall(q):
    return ti.Vector([1.0, 0.0])


@pytest.mark.parametrize(
    ("energy", "failed"),
    [
        (books.kepler, set()),
        (books.linked, set()),
        (double_pendulum, set()),
        (cart_pole, set()),
        pytest.param(turning_weight, set(), marks=pytest.mark.long),
        (books.flat, {"mass"}),
        (replace(books.kepler, generators={"falling": fall}), {"momentum"}),
    ],
    ids=["kepler", "linked", "double_pendulum", "cart_pole", "turning_weight", "flat", "falling"],
)
def test_only_what_is_wrong_is_found(energy, failed) -> None:
    findings = [*of_lagrangian(energy)]
    assert {f.question for f in findings if not f.passed} == failed
    assert sum(f.question == "mass" for f in findings) == 4
    assert {"taylor", "product", "path", "value"} <= {f.question for f in findings}
