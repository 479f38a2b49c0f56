"""Slow motions of stiff rods by implicit steps, long motions by explicit ones, against closed forms."""

import numpy as np
import pytest
from benchmarks.rods import beam_rest, beam_swings, beam_values, swing_frequency

import minusgrad as mg
from tests.plugins.rods.test_motion import pendulum, total_energy
from tests.plugins.rods.test_statics import elastica


def test_the_deflection_of_a_steel_beam() -> None:
    """50 GPa, 250 mm, a radius of 1.4 mm: F L^3 / 3 EI, and to the elastica of the load with order 2."""
    deflection, _ = beam_values()
    exact = 0.25 * elastica(3.0 * deflection / 0.25)[0]
    tips = [-float(beam_rest(n).fields["x"].values[-1, 2]) for n in (10, 20)]
    assert abs(tips[1] / deflection - 1.0) < 1.2e-3
    assert abs(np.log2((tips[0] - exact) / (tips[1] - exact)) - 2.0) < 0.1


def test_the_first_tone_of_a_steel_beam() -> None:
    """1.8751^2 sqrt(EI / rho A) / L^2 = 109.6 rad/s by steps of a twenty-fifth of its period and shorter.

    Leapfrog would take 2,000 steps in each of these. Elements and steps are refined together: order 2.
    """
    deflection, first = beam_values()
    assert first == pytest.approx(109.64, rel=1e-4)
    errors = []
    for elements, parts in ((10, 25), (20, 50)):
        heights = beam_swings(elements, parts, 1.5)
        assert abs(np.abs(heights).max() / deflection - 1.0) < 0.03
        errors.append(1.0 - swing_frequency(heights, parts))
    assert 0.0 < errors[1] < 4e-3
    assert abs(np.log2(errors[0] / errors[1]) - 2.0) < 0.15


def test_a_whip_keeps_its_energy_for_long() -> None:
    """Ten falls of a rod from a hinge, 16 s, by a scheme of order 4 in 20,000 steps."""
    made = mg.load(pendulum("blanes_moan4", 8e-4, True) | {"run": {"steps": 20_000}})
    start, worst = total_energy(made), 0.0
    for _ in range(100):
        made.step(200)
        worst = max(worst, abs(total_energy(made) - start))
    assert worst < 1e-5 * 9.81 * float(made.fields["m"].values.sum()) * 0.5
