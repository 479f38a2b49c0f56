"""Dose of a replayed job against quadrature; power in levels, late or slow; axes with play; over-burn."""

from dataclasses import replace
from math import inf, pi, sqrt

import numpy as np
import pytest
from scipy.integrate import quad

from minusgrad_laser.machine.profile import Profile
from minusgrad_laser.virtual_machine import replay
from minusgrad_laser.virtual_machine.motion import quantise_power
from minusgrad_laser.virtual_machine.overburn import overburn, programmed_dose

pytestmark = pytest.mark.unit

GRBL = Profile("engraver", bits=16, power_scale=65535.0)
W = GRBL.waists[0]


def spot(x: float, y: float) -> float:
    return 2.0 / (pi * W * W) * np.exp(-2.0 * (x * x + y * y) / (W * W))


def trapezoid(t: float, length: float, v: float, a: float) -> tuple[float, float]:
    """Way and speed at a time, from rest to rest."""
    up = min(v / a, sqrt(length / a))
    peak = a * up
    steady = (length - a * up * up) / peak
    if t < up:
        return 0.5 * a * t * t, a * t
    if t < up + steady:
        return 0.5 * a * up * up + peak * (t - up), peak
    left = 2.0 * up + steady - t
    return length - 0.5 * a * left * left, a * left


@pytest.mark.parametrize("mode", [3, 4])
@pytest.mark.parametrize(("angle", "length"), [(0.0, 9.0), (0.0, 0.3), (37.0, 9.0), (90.0, 8.0)])
def test_one_block_against_quadrature(mode: int, angle: float, length: float) -> None:
    """The integral over time, by SciPy: error under 1e-3 of the line's dose, at its ends and beside it."""
    c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    end = np.round([length * c, length * s], 3) * 1e-3
    length, (c, s) = float(np.hypot(*end)), end / np.hypot(*end)
    text = f"G21 M{mode}\nG1 X{end[0] * 1e3:.3f} Y{end[1] * 1e3:.3f} F5000 S32768\nM5"
    pixel = 1e-5
    done = replay(text, GRBL, (900, 960), pixel, origin=(-3e-4, -3e-4))
    a = 1.5 / max(abs(c), abs(s))
    feed, power = 5000 / 6e4, float(quantise_power(np.array([5.0 * 32768 / 65535]), GRBL)[0])
    peak = power / feed * sqrt(2.0 / pi) / W
    for along, beside in ((0.0, 0.0), (0.03, 0.02), (0.5, 0.04), (1.5, -0.03), (0.7 * length * 1e3, 0.0)):
        x, y = along * c - beside * s, along * s + beside * c
        row, column = round((y * 1e-3 + 3e-4) / pixel), round((x * 1e-3 + 3e-4) / pixel)
        px, py = column * pixel - 3e-4, row * pixel - 3e-4

        def energy(t: float, px: float = px, py: float = py) -> float:
            way, speed = trapezoid(t, length, feed, a)
            beam = power * (speed / feed if mode == 4 else 1.0)
            return beam * spot(px - way * c, py - way * s)

        near = np.clip(px * c + py * s, 0.0, length)
        times = np.linspace(0.0, done.seconds, 4001)
        ways = [trapezoid(t, length, feed, a)[0] for t in times]
        points = np.interp([near - 3 * W, near - W, near, near + W, near + 3 * W], ways, times)
        stretches = zip(np.append(0.0, points), np.append(points, done.seconds), strict=True)
        exact = sum(quad(energy, low, high, epsabs=1e-6 * peak, limit=200)[0] for low, high in stretches)
        assert done.dose[row, column] == pytest.approx(exact, abs=5e-4 * peak), (along, beside)


def test_the_energy_of_a_job_lands_on_the_canvas() -> None:
    """At constant power it is power times time, whatever the head does."""
    text = "G21 M3\nG1 X2 Y1 F3000 S32768\nX3 Y3\nG2 X5 Y3 I1 F6000\nG1 X3 Y4\nM5"
    done = replay(text, GRBL, (320, 400), 2e-5, full=2e5, origin=(-3e-4, -3e-4))
    power = float(quantise_power(np.array([5.0 * 32768 / 65535]), GRBL)[0])
    assert done.dose.sum() * 2e5 * 2e-5**2 == pytest.approx(power * done.seconds, rel=1e-6)


@pytest.mark.parametrize(
    ("dialect", "power", "level"),
    [
        ("grbl", 5.0, 255), ("grbl", 1e-6, 1), ("grbl", 5.0 * 0.5 / 254, 1),
        ("grbl", 5.0 * 127.5 / 254, 128),
        ("grbl", 0.0, 0), ("marlin", 5.0 * 0.4 / 255, 0), ("marlin", 5.0 * 127.6 / 255, 128),
        ("marlin", 9.0, 255),
    ],
)  # fmt: skip
def test_levels_of_power(dialect: str, power: float, level: int) -> None:
    profile = replace(GRBL, dialect=dialect, bits=8)
    assert float(quantise_power(np.array([power]), profile)[0]) * 255 / 5.0 == pytest.approx(level)


def test_the_least_power() -> None:
    profile = replace(GRBL, power=(0.5, 5.0))
    np.testing.assert_allclose(quantise_power(np.array([0.0, 0.1, 2.0]), profile), [0.0, 0.5, 2.0], atol=2e-4)


def test_power_follows_motion_by_the_latency() -> None:
    """A line that is lit from 4 to 5.5 mm at 100 mm/s appears 0.2 mm further, 2 ms late."""
    text = "G21 M3\nG1 X4 F6000 S0\nX5.5 S32768\nX9 S0\nM5"
    late = replay(text, replace(GRBL, latency=2e-3), (60, 500), 2e-5, origin=(0.0, -6e-4))
    true = replay(text, GRBL, (60, 500), 2e-5, origin=(0.0, -6e-4))
    np.testing.assert_allclose(late.dose[:, 10:], true.dose[:, :-10], atol=5e-4 * true.dose.max())


def test_backlash_shifts_what_is_drawn_backwards() -> None:
    """Towards larger x the head is true, towards smaller x it lags by the play."""
    text = "G21 M4\nG0 Y1\nG1 X4 F3000 S32768\nG0 Y2\nG1 X2 S32768\nM5"
    slack = replay(text, replace(GRBL, backlash=(1e-4, 0.0)), (150, 260), 2e-5)
    true = replay(text, GRBL, (150, 260), 2e-5)
    np.testing.assert_allclose(slack.dose[:75], true.dose[:75], atol=2e-3 * true.dose.max())
    middle = slice(130, 190)
    np.testing.assert_allclose(slack.dose[75:, middle], true.dose[75:, middle], atol=2e-3 * true.dose.max())
    half = 0.5 * true.dose[100].max()
    starts = [np.flatnonzero(done.dose[100] > half)[0] for done in (true, slack)]
    assert starts[1] - starts[0] == 5, "the left end, 0.1 mm = 5 cells further right"


def test_power_that_rises_slowly() -> None:
    """At 100 W/s, 2.5 W are reached 25 ms after the start: the energy is that of a ramp."""
    text = "G21 M3\nG1 X9 F3000 S32768\nM5"
    profile = replace(GRBL, power_slew=100.0)
    done = replay(text, profile, (60, 500), 2e-5, origin=(-3e-4, -6e-4))
    power = float(quantise_power(np.array([5.0 * 32768 / 65535]), profile)[0])
    rise = power / 100.0
    energy = done.dose.sum() * 2e-5**2
    assert energy == pytest.approx(power * (done.seconds - 0.5 * rise), rel=2e-3)


# Corners ---------------------------------------------------------------------------------------------------


CORNER = "G21 M{}\nG0 Y8\nG1 X8 F6000 S{}\nY0\nM5"


@pytest.mark.parametrize(
    ("mode", "bits", "low", "high"),
    [(3, 8, 11.0, 12.2), (4, 8, 1.24, 1.27), (4, 16, 1.2195, 1.2215)],
)
def test_over_burn_at_a_square_corner(mode: int, bits: int, low: float, high: float) -> None:
    """Peak at the corner over the line's dose: 11.6 at constant power. Power that follows speed leaves the
    1.22 of two lines that overlap, max over u of exp(-2 u^2) (1 + erf(sqrt 2 u)); 1.26 in 8 bits, rounded up.
    """
    profile = Profile("engraver", bits=bits, lines_per_second=500.0)
    done = replay(CORNER.format(mode, 502), profile, (160, 160), 2.5e-6, origin=(7.75e-3, 7.75e-3))
    line = float(quantise_power(np.array([2.51]), profile)[0]) / 0.1 * sqrt(2.0 / pi) / W
    assert low < done.dose.max() / line < high
    burn = overburn(done)
    assert np.nanmax(burn) == pytest.approx(done.dose.max() / line, rel=1e-9)
    row, column = np.unravel_index(np.nanargmax(burn), burn.shape)
    assert abs(row - 98) <= 4
    assert abs(column - 98) <= 4, "inside of the corner, which is cell (100, 100)"


def test_over_burn_of_lines_of_different_energy() -> None:
    """Each line counts by what was meant there: 1 in the middle of a strong and of a weak one, NaN beside."""
    text = "G21 M4\nG0 Y1\nG1 X8 F3000 S60000\nG0 Y2\nG1 X0 S6000\nM5"
    done = replay(text, GRBL, (150, 400), 2e-5)
    burn = overburn(done)
    np.testing.assert_allclose(burn[[50, 100], 200], 1.0, atol=2e-3)
    assert np.isnan(burn[10, 200])


def test_the_programmed_dose_has_no_inertia() -> None:
    text = "G21 M4\nG1 X3 Y1 F3000 S32768\nX5 Y5\nM5"
    follows, infinite = (
        replay(text, GRBL),
        replay(text.replace("M4", "M3"), replace(GRBL, acceleration=(1e9, 1e9))),
    )
    meant = programmed_dose(follows)
    assert abs(follows.dose - meant).max() < 2e-3 * meant.max()
    assert abs(infinite.dose - meant).max() < 2e-3 * meant.max()


def test_a_canvas_around_the_lit_moves() -> None:
    done = replay("G21 M4\nG0 X5 Y7\nG1 X8 F3000 S32768\nM5", GRBL)
    np.testing.assert_allclose(done.origin, (4.84e-3, 6.84e-3), atol=1e-9)
    assert done.dose.shape == (17, 167)
    inside = replay("G21 M4\nG0 X5 Y7\nG1 X8 F3000 S32768\nM5", GRBL, (600, 600))
    np.testing.assert_allclose(inside.dose[342:359, 242:409], done.dose, atol=1e-6 * done.dose.max())


def test_starvation_is_noted() -> None:
    moves = (f"G1 X{0.02 * k:.2f} F6000 S10" for k in range(2, 61))
    text = "G21 M4\nG0 X0.02\n" + "\n".join(moves) + "\nM5"
    assert replay(text, replace(GRBL, lines_per_second=inf)).notes == ()
    notes = replay(text, replace(GRBL, lines_per_second=50.0)).notes
    assert len(notes) == 1
    assert notes[0].endswith(" times, because lines came too slowly")
