"""Maps and slopes side by side in one kernel: few compilations, and every wrong number is found."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from minusgrad.engine import kernels
from minusgrad.errors import MiscompiledError
from minusgrad.plugin import Evolution
from minusgrad.potential.joined_launch import JoinedLaunch
from minusgrad.symbolic.operations import OPERATIONS
from tests.steppers.programs.test_serial_steps import cloud, crowd, flock, held_chain, long_chain, ring
from tests.support.tiers import sampled

WRONG = [
    (held_chain, "mul", "link"),  # an energy of a slope with a factor
    (held_chain, "sin", "kick"),  # a map with an explicit time
    (ring, "sqrt", "well"),  # two slopes of one energy
    (ring, "exp", "damped"),  # the second map into a field
    (crowd, "exp", "shoved"),  # over pairs
    (crowd, "sin", "eased"),
    (cloud, "abs", "splat"),  # to a grid, and back from it
    (cloud, "cos", "relaxed"),
    (flock, "tanh", "drawn"),
]


@pytest.mark.parametrize("made", [held_chain, ring, crowd, cloud, flock])
@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_the_outputs_are_those_of_single_kernels(made: Callable[[str], Evolution], precision: str) -> None:
    potential = made(precision).potential
    launch = JoinedLaunch(potential)
    assert launch.serves
    launch(0.3)
    found = {name: field.values.copy() for name, field in potential.map_outputs.items()}
    for field in potential.map_outputs.values():
        field.array.fill(np.nan)
    potential.refresh(0.3)
    eps = np.finfo(precision.replace("f", "float")).eps
    for name, field in potential.map_outputs.items():
        most = np.abs(field.values).max()
        assert most > 0.0
        np.testing.assert_allclose(found[name], field.values, rtol=0, atol=8 * eps * most)


@pytest.mark.parametrize("row", sampled(WRONG, WRONG[:4]), ids=lambda row: f"{row[0].__name__}-{row[2]}")
def test_wrong_numbers_of_a_piece_are_found(
    row: tuple[Callable[[str], Evolution], str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, operation, name = row
    right = OPERATIONS[operation]
    text = f"({right.text} * {{T}}(1.25))"
    monkeypatch.setitem(OPERATIONS, operation, replace(right, text=text))
    one = made("f64")
    with pytest.raises(MiscompiledError, match=f"^term '{name}', "):
        one.advance(1)
    assert one.step == 0


def test_a_program_is_compiled_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once side by side, and once for many steps."""
    compiled, compile_kernel = set(), kernels._compiled_kernel

    def noted(source: str) -> Callable[..., None]:
        compiled.add(source)
        return compile_kernel(source)

    monkeypatch.setattr(kernels, "_compiled_kernel", noted)
    flock("f64").advance(3)
    assert len(compiled) == 2


def test_more_arrays_than_a_kernel_may_have_are_not_joined() -> None:
    assert not JoinedLaunch(long_chain("f64").potential).serves


def test_numbers_that_are_not_defined_are_left_to_single_kernels() -> None:
    """Of positions that are not finite: exp(-r^2) of them is zero."""
    potential = crowd("f64").potential
    launch = JoinedLaunch(potential)
    assert launch.defined
    potential.fields["x"].set(np.full((6, 2), np.nan))
    assert not launch.defined
