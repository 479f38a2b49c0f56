"""Job files: what is written, what is refused, and that every file ends with the laser off."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from minusgrad.errors import UserError
from minusgrad_laser.jobs import maps, preview, table
from minusgrad_laser.jobs.gcode import toolpath_of, write
from minusgrad_laser.jobs.toolpath import Toolpath
from minusgrad_laser.machine.profile import Profile
from minusgrad_laser.virtual_machine import replay
from minusgrad_laser.virtual_machine.dose import Canvas, lines
from minusgrad_laser.virtual_machine.motion import quantise_power
from minusgrad_laser.virtual_machine.program import parse

pytestmark = pytest.mark.unit

M4 = Profile("GRBL diode engraver", field=(0.3, 0.2), lines_per_second=500.0)
M3 = replace(M4, dynamic_power=False)
INLINE = replace(M4, dialect="marlin", junction_deviation=None, jerk=(0.01, 0.01))
FAN = replace(INLINE, dynamic_power=False, fan_pin=True)


def angle(**changes: object) -> Toolpath:
    """A travel to (1, 2) mm, and two lit moves around a corner."""
    values = {
        "x": np.array([0.0, 1e-3, 4e-3, 4e-3]),
        "y": np.array([1e-3, 2e-3, 2e-3, 6e-3]),
        "power": np.array([0.0, 0.0, 2.0, 1.0]),
        "speed": np.array([0.1, 0.1, 0.05, 0.04]),
        "lit": np.array([False, False, True, True]),
    }
    return Toolpath(**(values | changes))


def body(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith(";")]


# What is written -------------------------------------------------------------------------------------------


def test_grbl_with_power_that_follows_speed() -> None:
    """2 W is level 102 of 255: S = 101.5 / 254 of 1000, F as it is. Words that hold are left out."""
    assert body(write(angle(), M4)) == [
        "G21G90G94M5", "G0X0Y1", "M4S0", "X1Y2", "G1X4F3000S400", "Y6F2400S199", "S0", "M5",
    ]  # fmt: skip


def test_travels_are_dark_without_laser_mode_too() -> None:
    """GRBL switches the laser off in G0 with $32=1 alone, so a travel has S0, and the next move its power."""
    back = Toolpath(
        np.array([0.0, 2e-3, 4e-3, 6e-3]), np.zeros(4), np.full(4, 2.0), np.full(4, 0.05), np.arange(4) != 2
    )
    for profile in (M4, M3):
        assert body(write(back, profile))[3:6] == ["G1X2F3000S400", "G0X4S0", "G1X6S400"]


def test_grbl_with_constant_power() -> None:
    assert body(write(angle(), M3))[2] == "M3S0"


def test_marlin_inline() -> None:
    """Each travel has its feed and S0, because Marlin's G0 takes the feed that holds."""
    assert body(write(angle(), INLINE)) == [
        "G21", "G90", "M5 I", "M3 I S0", "G0 X0 Y1 F6000 S0", "X1 Y2 F8485", "G1 X4 F3000 S102",
        "Y6 F2400 S51",
        "M5 I", "M5",
    ]  # fmt: skip


def test_marlin_with_the_laser_at_the_pin_of_the_fan() -> None:
    lines = body(write(angle(lit=np.array([False, False, True, False])), FAN))
    assert lines == [
        "G21", "G90", "M107", "G0 X0 Y1 F6000", "X1 Y2 F8485", "M106 S102", "G1 X4 F3000", "M107",
        "G0 Y6 F6000",
        "M107", "M5",
    ]  # fmt: skip


def test_the_header_has_the_settings_that_the_file_needs() -> None:
    header = [line for line in write(angle(), M4).splitlines() if line.startswith(";")]
    assert header == [
        "; Toolpath of minusgrad for GRBL diode engraver: 3 moves, 2 lit",
        "; Machine: 100 x 100 mm/s, 1500 x 1500 mm/s2, full power 5 W",
        "; Settings: $11=0.010 $30=1000 $31=0 $32=1 $110=6000 $111=6000 $120=1500 $121=1500",
    ]
    assert "LASER_POWER_TRAP on" in write(angle(), INLINE)


@pytest.mark.parametrize("bits", [1, 4, 8, 10, 12])
def test_every_level_of_power_is_written_so_that_the_machine_takes_it(bits: int) -> None:
    profile = replace(M3, bits=bits, lines_per_second=np.inf)
    most = 2**bits - 1
    levels = np.unique(np.linspace(1, most, 300).astype(int))
    n = len(levels) + 1
    path = Toolpath(
        np.arange(n) * 1e-4,
        np.zeros(n),
        np.append(0, levels) * 5.0 / most,
        np.full(n, 0.05),
        np.arange(n) > 0,
    )
    program = parse(write(path, profile), profile)
    got = quantise_power(program.power, profile)[-(n - 1) :]
    np.testing.assert_allclose(got * most / 5.0, levels, rtol=1e-9)


def test_feeds_make_up_for_rounded_powers_and_places() -> None:
    """Where power follows speed, P L / F of each move is right, though P has 8 bits and places 1 um."""
    rng = np.random.default_rng(1)
    n = 200
    path = Toolpath(
        1e-3 + np.cumsum(rng.uniform(4e-6, 3e-5, n)), 1e-3 + np.cumsum(rng.uniform(-5e-6, 5e-6, n)),
        rng.uniform(0.2, 4.0, n), np.full(n, 1e-4), np.arange(n) > 0,
    )  # fmt: skip
    program = parse(write(path, M4), M4)
    lit = program.power > 0.0
    length = np.hypot(np.diff(program.x), np.diff(program.y))[lit]
    got = quantise_power(program.power[lit], M4) * length / program.feed[lit]
    wanted = path.power[1:] * path.lengths / path.speed[1:]
    np.testing.assert_allclose(got, wanted, rtol=2e-3)


def test_a_feed_never_passes_what_the_axes_reach() -> None:
    """The level above would need more than 100 mm/s, so it is the one below, and a lower feed."""
    one = np.ones(2)
    path = Toolpath(np.array([0.0, 0.02]), 0.0 * one, 100.6 * 5.0 / 255 * one, 0.1 * one, one > 0.0)
    assert "G1X20F5964S392" in write(path, M4), "level 100 at 6000 100 / 100.6 mm/min"


def test_a_toolpath_comes_back_from_its_file() -> None:
    path = angle()
    again = toolpath_of(parse(write(path, INLINE), INLINE))
    np.testing.assert_allclose(again.x[1:], path.x, atol=1e-9)
    np.testing.assert_allclose(again.y[1:], path.y, atol=1e-9)
    np.testing.assert_array_equal(again.lit[1:], path.lit)
    np.testing.assert_allclose(again.power[3:], path.power[2:], rtol=1e-9)
    np.testing.assert_allclose(again.speed[3:], path.speed[2:], rtol=1e-3)


@pytest.mark.parametrize("profile", [M4, M3, INLINE, FAN])
def test_the_toolpath_of_a_file_is_written_again(profile: Profile) -> None:
    """Travels of G0 have infinite speed, and need no finite one."""
    again = toolpath_of(parse(write(angle(), profile), profile))
    back = parse(write(again, profile), profile)
    np.testing.assert_allclose(np.stack([back.x, back.y])[:, -4:] * 1e3, [[0, 1, 4, 4], [1, 2, 2, 6]])
    assert (back.power > 0.0)[-3:].tolist() == [False, True, True]


@pytest.mark.parametrize("profile", [M4, INLINE])
def test_power_that_follows_speed_leaves_the_dose_of_the_toolpath(profile: Profile) -> None:
    """Within 1 % in L1, in both dialects, though the head is nowhere at the programmed speed."""
    t = np.linspace(0.0, 6.0, 200)
    path = Toolpath(
        1.5e-3 + (4e-4 + 1e-4 * t) * np.cos(t), 1.5e-3 + (4e-4 + 1e-4 * t) * np.sin(t),
        2.0 + 1.5 * np.sin(5.0 * t), np.full(200, 0.08), t > 0.0,
    )  # fmt: skip
    done = replay(write(path, profile), profile, (150, 150))
    canvas = Canvas((150, 150), 2e-5, profile.waists, (0.0, 0.0))
    places = np.stack([path.x, path.y], axis=1)
    lines(canvas, places[:-1], places[1:], path.power[1:] / path.speed[1:])
    assert done.plan.peak[1:].max() < 0.07
    assert abs(done.dose - canvas.values()).sum() < 0.01 * canvas.values().sum()


@pytest.mark.parametrize(("wanted", "ripple"), [(8.0, 0.1), (1.3, 0.6)])
def test_powers_of_few_levels_are_dithered(wanted: float, ripple: float) -> None:
    """A line in moves of 20 um goes at 30 mm/s: 2.4 levels are 2 and 3 in turn, 0.4 are 0 and 1."""
    n = 300
    x, level = 1e-3 + 2e-5 * np.arange(n), 5.0 / 255
    path = Toolpath(x, np.full(n, 1e-3), np.full(n, wanted * level), np.full(n, 0.1), np.arange(n) > 0)
    machine = replace(M4, lines_per_second=np.inf)
    done = replay(write(path, machine), machine, (100, 400))
    middle = done.dose[50, 100:250]
    line = wanted * level / 0.1 * np.sqrt(2.0 / np.pi) / machine.waists[0]
    assert done.plan.peak[100:200].max() < 0.031
    assert middle.mean() == pytest.approx(line, rel=0.02)
    assert np.ptp(middle) < ripple * line


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(2, 40),
    step=st.sampled_from([3e-7, 2e-5, 3e-3]),
    profile=st.sampled_from([M4, M3, INLINE, FAN]),
    latency=st.sampled_from([0.0, 1e-3]),
    play=st.sampled_from([0.0, 5e-5]),
)
def test_every_file_ends_with_the_laser_off(
    seed: int, count: int, step: float, profile: Profile, latency: float, play: float
) -> None:
    """Whatever the toolpath: the last word is the one that switches it off, and no limit is broken."""
    rng = np.random.default_rng(seed)
    x, y = 0.1 + np.cumsum(rng.normal(0.0, step, (2, count)), axis=1)
    path = Toolpath(
        x, y, rng.uniform(0.0, 5.0, count), rng.uniform(1e-3, 0.1, count), rng.uniform(size=count) < 0.7
    )
    profile = replace(profile, latency=latency, backlash=(play, play))
    if len(np.unique(np.rint(np.stack([x, y]) * 1e6), axis=1).T) < 2:
        with pytest.raises(UserError, match="no move is longer than 1 um"):
            write(path, profile)
        return
    text = write(path, profile)
    last = body(text)[-2:]
    assert last == {False: ["S0", "M5"], True: ["M5 I", "M5"]}[profile.dialect == "marlin"] or (
        profile.fan_pin and last == ["M107", "M5"]
    )
    program = parse(text, profile)
    assert program.dark
    assert program.violations == ()


# What is refused -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"power": np.array([0.0, 0.0, 6.0, 7.0])}, "power is at most 5 W, got 6 W at point 2 (and 1 more)"),
        ({"power": np.array([0.0, 0.0, -1.0, 1.0])}, "power is at least 0 W, got -1 W at point 2"),
        ({"power": np.array([0.0, 0.0, np.nan, 1.0])}, "power is a number, got nan at point 2"),
        ({"x": np.array([0.0, 1e-3, np.inf, 4e-3])}, "x is a number, got inf at point 2"),
        (
            {"y": np.array([1e-3, 2e-3, 2e-3, 0.21])},
            "y lies within the field of 200 mm, got 210 mm at point 3",
        ),
        (
            {"x": np.array([-1e-3, 1e-3, 4e-3, 4e-3])},
            "x lies within the field of 300 mm, got -1 mm at point 0",
        ),
        (
            {"speed": np.array([1.0, 1.0, 0.2, 0.1])},
            "speed is within those of the axes, got 200 mm/s at point 2",
        ),
        ({"speed": np.array([1.0, 1.0, 0.0, 0.1])}, "speed is above 0 mm/s, got 0 mm/s at point 2"),
    ],
)
def test_broken_limits_are_refused(changes: dict[str, np.ndarray], text: str) -> None:
    with pytest.raises(UserError) as caught:
        write(angle(**changes), M4)
    head = "toolpath: limits of the machine are broken, so no job is written:\n  "
    assert str(caught.value) == head + text


def test_limits_of_other_machines() -> None:
    for profile, text in (
        (replace(M4, power=(1.5, 5.0)), "power is 0, or at least 1.5 W, got 1 W at point 3"),
        (
            replace(M4, minimum_dwell=0.05),
            "a lit move takes 50 ms at least, got 20 ms at point 2",
        ),
        (
            replace(M4, blanking=False),
            "this laser is never off, so there are no travels, got 1 mm at point 2",
        ),
    ):
        lit = np.array([False, False, profile.blanking, True])
        with pytest.raises(UserError, match=re.escape(text)):
            write(angle(lit=lit, x=np.array([0.0, 1e-3, 2e-3, 2e-3])), profile)


def test_all_broken_limits_are_listed() -> None:
    with pytest.raises(UserError) as caught:
        write(angle(power=np.full(4, 9.0), speed=np.full(4, 9.0)), M4)
    assert len(str(caught.value).splitlines()) == 3


def test_a_toolpath_of_one_point() -> None:
    one = np.zeros(1)
    with pytest.raises(UserError, match="a toolpath has two points at least, got 1"):
        write(Toolpath(one, one, one, one, one), M4)


@pytest.mark.parametrize("profile", [M4, M3, INLINE, FAN])
@pytest.mark.parametrize("late", [{}, {"latency": 1e-3}, {"backlash": (5e-5, 5e-5)}])
def test_moves_that_are_all_shorter_than_rounding(profile: Profile, late: dict[str, object]) -> None:
    x = 1e-3 + np.array([0.0, 3e-7, 1e-7, 2e-7])
    with pytest.raises(UserError) as caught:
        write(angle(x=x, y=np.full(4, 1e-3)), replace(profile, **late))
    assert str(caught.value) == (
        "toolpath: no move is longer than 1 um, got 0.3 um along an axis at most; files have places of"
        " 1 um, so merge moves, scale the drawing up, or give the profile more `decimals`"
    )


def test_limits_that_only_the_file_shows() -> None:
    """The slew is that of the planned motion, so it is read from the file: nothing is written."""
    with pytest.raises(
        UserError, match=r"\n  job:9: power changes too fast, got \S+ W/s; the laser follows 1$"
    ):
        write(angle(), replace(M4, power_slew=1.0))
    assert write(angle(), replace(M4, power_slew=100.0))


@pytest.mark.parametrize("profile", [M4, M3, INLINE])
@pytest.mark.parametrize("pace", [0.05, 0.1])
def test_powers_are_rounded_to_no_less_than_the_least(profile: Profile, pace: float) -> None:
    """2.2 levels are the least: powers of it are written as 3 levels, also in moves that are dithered."""
    n, least = 60, 2.2 * 5.0 / 255
    machine = replace(profile, power=(least, 5.0), lines_per_second=np.inf)
    path = Toolpath(
        1e-3 + 2e-5 * np.arange(n), np.full(n, 1e-3), np.full(n, least), np.full(n, pace), np.arange(n) > 0
    )
    done = parse(write(path, machine), machine)
    got = quantise_power(done.power, replace(machine, power=(0.0, 5.0)))
    assert got[got > 0.0].min() >= least


# Files -----------------------------------------------------------------------------------------------------


@pytest.fixture
def corner() -> Callable[[], object]:
    return replay(write(angle(), M4), M4, (320, 260))


def test_the_motion_as_a_table(corner) -> None:
    """Each row's place is where speeds, linear between rows, have brought the head."""
    text = table.write(corner.motion)
    assert text.splitlines()[0] == "t [s],x [mm],y [mm],v [mm/s],P [W]"
    t, x, y, v, power = np.loadtxt(text.splitlines()[1:], delimiter=",").T
    assert t[-1] == pytest.approx(corner.seconds, abs=1e-6)
    way = np.hypot(np.diff(x), np.diff(y))
    np.testing.assert_allclose(0.5 * (v[1:] + v[:-1]) * np.diff(t), way, atol=2e-3)
    assert power.max() == pytest.approx(2.0, rel=1e-3)
    assert (x[-1], y[-1]) == (4.0, 6.0)


def test_the_preview(corner) -> None:
    svg = preview.write(angle(), M4)
    assert svg.startswith('<svg xmlns="http://www.w3.org/2000/svg" width="')
    assert 'stroke-dasharray="' in svg
    assert ">1 mm</text>" in svg
    assert svg.count('<path d="M') == 1, "one travel"
    colours = [preview.shade((k + 0.5) / preview.LEVELS) for k in (9, 4)]
    assert all(f'stroke="{colour}"' in svg for colour in colours), "2 W and 1 W of 5 W"


def test_maps_as_tiff_and_hdf5(corner, tmp_path: Path) -> None:
    """20 um a pixel are 500 pixels a centimetre; the bottom row is the picture's last."""
    (tmp_path / "dose.tiff").write_bytes(maps.tiff(corner.dose, 2e-5, "dose"))
    with Image.open(tmp_path / "dose.tiff") as image:
        assert image.size == (260, 320)
        assert image.info["dpi"] == pytest.approx((1270.0, 1270.0))
        assert image.tag_v2[296] == 3
        assert image.tag_v2[270] == "dose"
        np.testing.assert_allclose(np.asarray(image)[::-1], corner.dose, rtol=1e-6, atol=1e-3)
    maps.hdf5(tmp_path / "maps.h5", {"dose": corner.dose, "developed": corner.dose > 0.5}, 2e-5, 2.5e5)
    with h5py.File(tmp_path / "maps.h5") as file:
        np.testing.assert_array_equal(file["dose"], corner.dose)
        assert file["developed"].shape == (320, 260)
        assert (file.attrs["pixel"], file.attrs["pixel_unit"], file.attrs["full"]) == (2e-5, "m", 2.5e5)
