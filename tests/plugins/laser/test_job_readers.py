"""Job files of anybody: words, arcs, units, lasers that stay on; what is refused, and with which words."""

from dataclasses import replace

import numpy as np
import pytest

from minusgrad.errors import UserError
from minusgrad_laser.machine.profile import Profile
from minusgrad_laser.virtual_machine import replay
from minusgrad_laser.virtual_machine.program import parse

pytestmark = pytest.mark.unit

GRBL = Profile("engraver", field=(0.1, 0.1))
MARLIN = Profile("printer", dialect="marlin", jerk=(0.01, 0.01), junction_deviation=None)

LIGHTBURN = """; LightBurn 1.4.00
; GRBL device profile, absolute coords
; Bounds: X10 Y10 to X20 Y15
G00 G17 G40 G21 G54
G90
M4
; Cut @ 3000 mm/min, 50% power
M8
G0 X10Y10
; Layer C00
G1 X20S500F3000
G1 Y15
G1 X10
M9
G1 S0
M5
G90
; return to user-defined finish pos
G0 X0 Y0
M2
"""
LASERGRBL = """G90 (use absolute coordinates)
M3 S0
G0 X10 Y10
F1200
G1 X10.1 S120
X10.2S255
X10.3 S0
G0 X0 Y0
M5 S0
"""


def test_a_file_as_lightburn_writes_it() -> None:
    program = parse(LIGHTBURN, GRBL)
    mm = np.stack([program.x, program.y], axis=1) * 1e3
    np.testing.assert_allclose(mm, [[0, 0], [10, 10], [20, 10], [20, 15], [10, 15], [0, 0]])
    np.testing.assert_allclose(program.power, [0.0, 2.5, 2.5, 2.5, 0.0])
    np.testing.assert_allclose(program.feed, [np.inf, 0.05, 0.05, 0.05, np.inf])
    assert program.dynamic.tolist() == [False, True, True, True, False]
    assert program.line.tolist() == [9, 11, 12, 13, 19]
    assert program.dark
    assert (program.notes, program.violations) == ((), ())


def test_a_file_as_lasergrbl_writes_it() -> None:
    program = parse(LASERGRBL, replace(GRBL, power_scale=255.0))
    np.testing.assert_allclose(program.power, [0.0, 5.0 * 120 / 255, 5.0, 0.0, 0.0])
    assert not program.dynamic.any()
    np.testing.assert_allclose(program.feed[1:4], 0.02)
    assert program.notes == ("job:3: no G20 or G21 before the first move; read in millimetres",)


def test_inches_and_relative_moves() -> None:
    text = "G20 G90 M4\nG0 X1 Y1\nG1 G91 X0.5 S500 F60\nY-.5\nG21 X1\nM5"
    program = parse(text, GRBL)
    inch = 0.0254
    np.testing.assert_allclose(program.x, [0.0, inch, 1.5 * inch, 1.5 * inch, 1.5 * inch + 1e-3])
    np.testing.assert_allclose(program.y, [0.0, inch, inch, 0.5 * inch, 0.5 * inch])
    np.testing.assert_allclose(program.feed[1:], inch, err_msg="60 inches a minute")


def test_numbers_of_lines_comments_and_leading_zeros() -> None:
    text = "%\nN5 G21 G90 (metric) M04\nn10 g01 x1.5 (S900) F0600 s500 ; X9\nN15 Y.5\nN20 M05\n%"
    program = parse(text, GRBL)
    np.testing.assert_allclose(program.x, [0.0, 1.5e-3, 1.5e-3])
    np.testing.assert_allclose(program.y, [0.0, 0.0, 5e-4])
    np.testing.assert_allclose(program.power, 2.5)
    np.testing.assert_allclose(program.feed, 0.01)
    assert program.line.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("arc", "angle"),
    [
        ("G3 X0 Y10 I-10 J0", 0.5),
        ("G3 X0 Y10 R10", 0.5),
        ("G2 X0 Y10 I-10 J0", -1.5),
        ("G3 X0 Y10 R-10", 1.5),
        ("G3 X10 Y0 I-10 J0", 2.0),
        ("G91 G2 X-10 Y-10 I-10", -0.5),
    ],
)
def test_arcs(arc: str, angle: float) -> None:
    """Of circles of 10 mm from (10, 0): all places on the circle, and the length is radius times angle."""
    program = parse(f"G21 M4 S500\nG0 X10\nG1 F1000\n{arc}\nM5", replace(GRBL, field=(np.inf, np.inf)))
    x, y = 1e3 * program.x[1:], 1e3 * program.y[1:]
    centre = (10.0, 10.0) if "R-10" in arc else (0.0, 0.0)
    np.testing.assert_allclose(np.hypot(x - centre[0], y - centre[1]), 10.0, atol=1e-9)
    length = np.hypot(np.diff(x), np.diff(y)).sum()
    assert length == pytest.approx(10.0 * abs(angle) * np.pi, rel=1e-4), (
        "each chord is 2 um from the arc at most"
    )
    turned = np.unwrap(np.arctan2(y - centre[1], x - centre[0]))
    assert turned[-1] - turned[0] == pytest.approx(angle * np.pi, abs=1e-6)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("G1 X5 Q7", "no word that this machine knows, got 'Q7'; take it out"),
        ("G5 X5", "no word that this machine knows, got 'G5'; take it out"),
        ("M104 S200", "no word that this machine knows, got 'M104'; take it out"),
        ("G1 X5 Z2 F100", "a lit move changes the height, got Z2 mm; the focus is not replayed"),
        ("G1 X5 K2 F100", "a pitch out of the field is not replayed, got 'K2'; take it out"),
        ("G1 X5 P2 F100", "P belongs to no word of its line, got 'P2'; take it out"),
        (
            "M3 S500 G28",
            "G28 moves the head by a way that the file does not say, and it is lit;"
            " switch the laser off before",
        ),
        ("M6 T1", "M6 changes a tool, which is not replayed; take it out"),
        ("M3\nM0", "M0 waits for the user with the laser on; switch it off before"),
        ("$32=0", "the replay is of $32=1, got '$32=0'; take the line out"),
        ("$30=255", "the replay is of $30=1000, got '$30=255'; give power_scale in the machine's profile"),
        ("$110=900", "settings of the controller are no part of a job, got '$110=900'; take the line out"),
        ("$J=G91X5F100", "a jog is no part of a job, got '$J=G91X5F100'; write it as G0 or G1"),
        ("#1=5", "parameters and expressions are not replayed; write numbers"),
        ("O100 sub", "subroutines and loops (O) are not replayed; write their lines out"),
        ("M64 P1", "M64 switches an output that may be the laser's, which is not replayed; take it out"),
        (
            "M67 E0 Q5",
            "M67 sets an output that GRBL does not know; replay it with a machine of"
            ' dialect = "linuxcnc", and its power_scale',
        ),
        ("G1 Xnan", "a word is a letter and a number, got 'Xnan'; correct the line"),
        ("G1 X1e3", "no word that this machine knows, got 'E3'; take it out"),
        ("G1 X5 ~", "a word is a letter and a number, got '~'; correct the line"),
        ("G1 X5 X6", "X stands twice; leave one"),
        ("G0 G1 X5", "a line has one kind of move, got G0 and G1; split it"),
        ("G1 X5 F0", "F: a feed is above 0, got 0; correct it"),
        ("G1 X5 S-1", "S: a power is at least 0, got -1; correct it"),
        ("G1 X5", "G1 has no feed; write F before it"),
        ("G2 X5 F100", "an arc has no centre; write I and J, or R"),
        ("G2 X5 R1 F100", "R: no circle of this radius has both ends, got 1; correct it"),
        ("G2 X5 I1 F100", "both ends of an arc have one radius, got 3 mm between; correct I, J"),
        ("G1 X5 I2 F100", "I belongs to an arc, and this is G1; correct it"),
        ("G80 X5", "a move needs G0, G1, G2 or G3 after G80; add one"),
        ("G4", "G4 has no time; write P, in seconds"),
        ("G4 P-1", "G4: a time is at least 0, got -1; correct it"),
    ],
)
def test_what_is_refused(line: str, text: str) -> None:
    """Each with the file and the line, and exit code 2."""
    with pytest.raises(UserError) as caught:
        parse(f"G21 M4 S500\n{line}\nG1 X9 F100\nM5", GRBL, "logo.nc")
    number = 2 + line.count("\n")
    assert str(caught.value) == f"logo.nc:{number}: {text}"
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("text", ["", "; a comment\n%\n", "M5", "G1 F100"])
def test_a_file_without_moves(text: str) -> None:
    with pytest.raises(UserError, match=r"^job: no move in the file; is it G-code\?$"):
        parse(text, GRBL)


def test_a_job_that_never_lights_the_laser() -> None:
    with pytest.raises(UserError, match=r"^job: the laser is never on; is it a job for this machine\?$"):
        replay("G21\nG0 X5", GRBL)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("M3 S500\nG1 X5 F600", "job:3: the laser is on at the end; end the file with M5 (or M107)"),
        ("M4\nG1 X5 F600 S1200\nM5", "job:3: S: power above the range, got 1200; full power is S1000"),
        ("M4\nG1 X5 F9000 S10\nM5", "job:3: F: faster than the axes, got 9000 mm/min; they reach 6000"),
        ("M4\nG1 X105 F600 S10\nM5", "job:3: X: out of the field, got 105.000 mm; it is 0 to 100 mm"),
        ("M4\nG1 Y-1 F600 S10\nM5", "job:3: Y: out of the field, got -1.000 mm; it is 0 to 100 mm"),
    ],
)
def test_broken_limits(text: str, found: str) -> None:
    assert replay(f"G21\n{text}", GRBL).violations == (found,)


def test_a_lit_move_that_is_too_short_in_time() -> None:
    done = replay("G21 M4\nG1 X5 F600 S10\nX5.01\nM5", replace(GRBL, minimum_dwell=0.1))
    assert len(done.violations) == 1
    assert done.violations[0].startswith("job:3: a lit move is too short in time, got ")
    assert done.violations[0].endswith(" ms; 100 is the least")


CLEAN = "G21G90G94M5\nG0X1Y1\nM4S0\n{}\nM5"
SLOW, ALWAYS_ON, STRONG = (
    replace(GRBL, power_slew=1.0),
    replace(GRBL, blanking=False),
    replace(GRBL, power=(1.0, 5.0)),
)


@pytest.mark.parametrize(
    ("moves", "profile", "lines"),
    [
        ("G1X2F3000S400\nX3S900\nX4S20", SLOW, [5, 6]),
        ("G1X2F3000S400\nX3S401\nX4S400", SLOW, []),
        ("G1X2F3000S400\nG0X3\nG1X4S20", SLOW, []),
        ("G1X2F3000S400\nX3S900\nX4S20", GRBL, []),
        ("G1X2F3000S400\nG0X4\nG1X5", ALWAYS_ON, [5]),
        ("G1X2F3000S400\nX4\nX5", ALWAYS_ON, []),
        ("G1X2F3000S400\nG0X4\nG1X5", GRBL, []),
        ("G1X2F3000S10", STRONG, [4]),
        ("G1X2F3000S200\nX3S0", STRONG, []),
        ("G1X2F3000S10", GRBL, []),
    ],
)
def test_limits_of_the_laser(moves: str, profile: Profile, lines: list[int]) -> None:
    """Slew, travels of a laser that is never off, least power: in these lines, and in no others."""
    found = replay(CLEAN.format(moves), profile).violations
    assert [int(text.split(":")[1]) for text in found] == lines


def test_what_is_said_of_limits_of_the_laser() -> None:
    """From 2 W to 4.5 W in moves of 1 mm: from rest at 1,500 mm/s2 to 50 mm/s in 1/30 s, then steady."""
    slew = replay(CLEAN.format("G1X2F3000S400\nX3S900\nX5"), SLOW)
    seconds = 0.5 * (1.0 / 30.0 + (1.0 - 2.5 / 3.0) / 50.0 + 1.0 / 50.0)
    assert slew.violations == (
        f"job:5: power changes too fast, got {2.5 / seconds:.4g} W/s; the laser follows 1",
    )
    dark = replay(CLEAN.format("G1X2F3000S400\nG0X4\nG1X5"), ALWAYS_ON)
    assert dark.violations == ("job:5: a travel of a laser that is never off, got 2.000 mm; draw it",)
    weak = replay(CLEAN.format("G1X2F3000S10"), STRONG)
    assert weak.violations == ("job:4: power below the least, got 0.05882 W; it is 0, or 1 W at least",)


def test_a_first_move_that_is_lit() -> None:
    note = "job:2: the first move is lit, from (0, 0); go to the start with G0"
    assert parse("G21G90M4S500\nG1X20Y20F3000\nM5", GRBL).notes == (note,)
    assert parse("G21G90M4S500\nG0X20Y20\nG1X30F3000\nM5", GRBL).notes == ()


def test_marlin_without_inline_stays_on_in_g0() -> None:
    text = "G21\nM3 S255\nG0 X5 F6000\nG1 X9\nG0 X12\nM5"
    program = parse(text, MARLIN)
    np.testing.assert_allclose(program.power, 5.0)
    assert not program.dynamic.any(), "only inline power follows the speed"
    assert "job:3: G0 is lit, since M3 has no I; write M3 I (and 1 more)" in program.notes
    inline = parse(text.replace("M3 S", "M3 I S"), MARLIN)
    np.testing.assert_allclose(inline.power, [0.0, 5.0, 0.0])
    assert inline.notes == ()


def test_a_file_that_ends_in_m4() -> None:
    program = parse("G21 M4\nG0 X1\nG1 X5 F600 S10", GRBL)
    assert not program.dark
    assert program.notes == ("job:3: M4 holds at the end: dark while nothing moves; end the file with M5",)


def test_a_laser_that_waits_burns_in_m3_and_not_in_m4() -> None:
    """In M3 the whole energy of a dwell of 2 s at 2.5 W lands in one spot."""
    text = "G21 M{} S500\nG1 X5 Y5 F6000\nG4 P2\nG1 X6\nM5"
    levels = 128 / 255
    burnt, dark = (replay(text.format(mode), GRBL, (400, 400), 2e-5).dose for mode in (3, 4))
    cell = 2e-5**2
    moving = replay(text.format(3).replace("G4 P2\n", ""), GRBL, (400, 400), 2e-5)
    stop = 2.0 * 5.0 * levels
    assert burnt.sum() * cell - moving.dose.sum() * cell == pytest.approx(stop, rel=0.02)
    assert dark.sum() * cell < 0.1 * stop


def test_marlin_with_the_laser_at_the_pin_of_the_fan() -> None:
    text = "G21\nG90\nM106 S128\nG1 X5 F600\nM107\nG0 X9\nG1 X10\nM106 S255\nG0 X12\nM107"
    program = parse(text, MARLIN)
    np.testing.assert_allclose(program.power, [5.0 * 128 / 255, 0.0, 0.0, 5.0], err_msg="also in G0")
    np.testing.assert_allclose(program.feed, 0.01, err_msg="F holds for G0, too")
    assert not program.dynamic.any()
    assert not program.halt.any()
    assert program.dark
    on = parse(text.removesuffix("M107"), MARLIN)
    assert on.violations == ("job:9: the laser is on at the end; end the file with M5 (or M107)",)


def test_marlin_inline() -> None:
    text = "G21\nM3 I S0\nG0 X1 F6000\nG1 X5 S255 F600\nG0 X9\nG1 X10 S51\nM5 I"
    program = parse(text, MARLIN)
    np.testing.assert_allclose(program.power, [0.0, 5.0, 0.0, 1.0])
    assert not program.halt.any()
    assert program.dark
    stops = parse(text.replace("M3 I", "M3").replace("G1 X10", "M5\nM3\nG1 X10"), MARLIN)
    assert stops.halt.tolist() == [True, False, False, True], "M3 and M5 that are not inline stop the head"


def test_lines_where_the_head_stops() -> None:
    """GRBL stops for M5 and for S without a move; not for S with one."""
    program = parse("G21 M4\nG1 X1 F600 S10\nX2 S20\nS30\nX3\nM5\nX4\nM5\nX5", GRBL)
    assert program.halt.tolist() == [True, False, True, True, False]


SQUARE = """G21 ; millimetres
G90
G54
T0
G0 X1 Y1{rapid}
{on}
G1 X3 Y1{power} F3000
G1 Y3
G1 X1
G1 Y1
{off}
G0 X0 Y0
"""
FLUIDNC, SMOOTHIE, LINUXCNC = (
    Profile.load(f"{one}") for one in ("fluidnc_diode", "smoothie_co2", "linuxcnc_co2")
)
DIALECTS = [
    (GRBL, {"on": "M3 S500", "off": "M5"}, 0.5, False),
    (GRBL, {"on": "M4 S500", "off": "M5"}, 0.5, True),
    (MARLIN, {"on": "M3 I", "off": "M5 I", "power": " S51"}, 0.2, True),
    (MARLIN, {"on": "M4 S51", "off": "M5", "rapid": " F3000"}, 0.2, False),
    (FLUIDNC, {"on": "M4 S51", "off": "M5"}, 0.2, True),
    (SMOOTHIE, {"on": "M3", "off": "M5", "power": " S0.4"}, 0.4, True),
    (LINUXCNC, {"on": "M3 S51", "off": "M5"}, 0.2, False),
    (LINUXCNC, {"on": "M67 E0 Q51", "off": "M67 E0 Q0"}, 0.2, False),
]


@pytest.mark.parametrize(("profile", "words", "part", "dynamic"), DIALECTS)
def test_one_square_in_every_dialect(profile: Profile, words: dict, part: float, dynamic: bool) -> None:
    """8 mm are lit at one part of full power, the travels are dark, and tools are remarked."""
    program = parse(SQUARE.format(**{"rapid": "", "power": ""} | words), profile)
    length = np.hypot(np.diff(program.x), np.diff(program.y))
    lit = program.power > 0.0
    assert length[lit].sum() == pytest.approx(8e-3)
    np.testing.assert_allclose(program.power[lit], part * profile.power[1])
    assert program.dynamic[lit].tolist() == [dynamic] * 4
    assert program.dark
    assert program.violations == ()
    assert "job:4: no tool is changed by T" in program.notes


@pytest.mark.parametrize("mode", ["M3", "M4", "M3 I"])
def test_marlin_without_power_lights_the_startup_power(mode: str) -> None:
    """Never dark: each M3 without S takes SPEED_POWER_STARTUP, 80 % as it is shipped."""
    text = f"G21\nM3 S10\nM5\n{mode}\nG1 X5 F600\nM5"
    program = parse(text, MARLIN)
    np.testing.assert_allclose(program.power, 4.0)
    assert "job:5: no S: Marlin takes 80 % of full power; write S" in program.notes
    weak = parse(text, replace(MARLIN, startup_power=0.1))
    np.testing.assert_allclose(weak.power, 0.5)


def test_smoothieware_is_lit_by_moves_alone() -> None:
    """M3 and M5 switch nothing: until the first S of a move G1 is lit with the default power."""
    program = parse(
        "G21\nG0 X1\nM3 S0.1\nG1 X2 F600\nM5\nG1 X3\nG1 X4 S0.5\nG0 X5\nG1 X6\nM221 S50\nX7", SMOOTHIE
    )
    np.testing.assert_allclose(program.power / 40.0, [0.0, 0.8, 0.8, 0.5, 0.0, 0.5, 0.25])
    text = "M3, M4 and M5 do not switch this laser: it is lit in G1 to G3 by S, and S counts in moves"
    assert f"job:3: {text} (and 1 more)" in program.notes
    assert "job:4: no S: Smoothieware takes 80 % of full power; write S (and 1 more)" in program.notes


def test_linuxcnc_is_lit_in_travels_and_ends_at_m2() -> None:
    program = parse("G21\nM3 S255\nG0 X1\nG1 X2 F600\nM2\nG1 X9", LINUXCNC)
    np.testing.assert_allclose(program.power, 60.0)
    assert "job:3: G0 is lit, since the laser is on; switch it off before" in program.notes
    assert "job:6: the job ended in line 5; nothing behind it is executed" in program.notes


def test_grbl_goes_on_behind_the_end_of_a_program() -> None:
    """M2 sets modes back: G1, G90, M5; what a sender still sends is executed."""
    program = parse("G21 G91\nM3 S500\nG1 X1 F600\nM2\nM2\nX3\nM3\nX2", GRBL)
    np.testing.assert_allclose(program.x * 1e3, [0.0, 1.0, 3.0, 2.0])
    np.testing.assert_allclose(program.power, [2.5, 0.0, 2.5])
    assert "job:5: the program ends once more" in program.notes


@pytest.mark.parametrize(
    ("line", "remark"),
    [
        ("T12", "no tool is changed by T"),
        ("G61", None), ("G17", None), ("M8", None),
        ("G64", "corners are replayed sharp: G64 may round them"),
        ("$X", "unlocking ($X) moves nothing"), ("$30=1000", "$30 is as the machine's profile has it"),
        ("$32 = 1", "$32 is as the machine's profile has it"),
        ("$H", "$H moves the head by a way that the file does not say; its time is not counted"),
        ("G28", "G28 moves the head by a way that the file does not say; its time is not counted"),
        ("G92 X0 Y0", None), ("G92 X0", None),
        ("O1000", "a program number (O) is no command"), ("%", None),
        ("/ G90", "GRBL executes lines behind a slash (/)"),
        ("N4 G90*73", "GRBL knows no checksums (*); a sender takes them out"),
        ("G21 G0 Z5", "moves of the height (Z) by G0 are replayed without their time"),
        ("M1", "M1 waits for the user; the time is not counted"),
    ],
)  # fmt: skip
def test_what_neither_moves_nor_lights(line: str, remark: str | None) -> None:
    """The square is the same, and whatever is not plain is remarked with its line."""
    square = SQUARE.format(rapid="", power="", on="M4 S500", off="M5")
    plain, found = parse(f"\n{square}", GRBL), parse(f"{line}\n{square}", GRBL)
    for one in ("x", "y", "power", "feed", "dynamic"):
        np.testing.assert_array_equal(getattr(found, one), getattr(plain, one))
    assert set(found.notes) - set(plain.notes) <= {f"job:1: {remark}", f"job:1: {remark} (and 1 more)"}
    assert (len(found.notes) > len(plain.notes)) == (remark is not None and "tool" not in remark)


def test_a_mark_of_encoding_and_blanks_within_numbers() -> None:
    program = parse("\ufeffG 2 1 G 9 0\nM4 S5 00\nG 1 X 1 0 F600", GRBL)
    np.testing.assert_allclose(program.x * 1e3, [0.0, 10.0])
    np.testing.assert_allclose(program.power, 2.5)


def test_a_wrong_checksum_is_a_finding() -> None:
    """Replayed, since the words are clear; a controller asks for the line again."""
    right = parse("N1 G21*27\nN2 M3 I S255*10\nN3 G1 X5 F600*54\nM5 I", MARLIN)
    assert right.violations == ()
    wrong = parse("N1 G21*28\nM3 I S255\nG1 X5 F600\nM5 I", MARLIN)
    assert wrong.violations == (
        "job:1: the checksum of the line is 27, got 28; a controller does not execute it",
    )


def test_heights() -> None:
    """One height for all that is lit; a lit head that moves along Z alone burns one place for the time."""
    one = parse("G21 G0 Z5\nM3 S500\nG1 X5 F600\nM5\nG0 Z9\nX0\nZ5\nM3\nG1 X2", GRBL)
    assert len(one) == 3
    plunge = parse("G21 M3 S500\nG0 X1\nG1 Z-2 F60\nM5", GRBL)
    np.testing.assert_allclose(plunge.wait, [0.0, 2.0])
    np.testing.assert_allclose(plunge.power, [0.0, 2.5])
    with pytest.raises(
        UserError, match="lit moves have one height, got Z-1 mm after Z0 mm; the focus is not"
    ):
        parse("G21 M4 S500\nG1 X5 F600\nG0 Z-1\nG1 X0", GRBL)


def test_other_origins() -> None:
    """G55 in place of G54 is a name for where the origin is; a change of origins within a job is refused."""
    notes = parse("G55 G21 M4 S500\nG0 X1\nG1 X5 F600\nM5", GRBL).notes
    assert notes == ("job:1: all places are in the coordinates of G55",)
    with pytest.raises(UserError, match=r"^job:3: G54 moves the origin, which is not replayed; take it out$"):
        parse("G55 G21 M4 S500\nG0 X1\nG54", GRBL)


def test_the_way_home_within_a_job() -> None:
    lost = "G21 M4 S500\nG1 X5 F600\nG28\n"
    assert len(parse(f"{lost}G0 X1 Y2\nG1 X3", GRBL)) == 3
    for move in ("G1 X3 Y3", "G0 X3", "G91 G0 X1 Y1"):
        with pytest.raises(
            UserError, match=r"job:4: the place of the head is unknown since line 3; go on with"
        ):
            parse(lost + move, GRBL)


def test_a_dwell_of_marlin_sets_no_power() -> None:
    """S of G4 are seconds."""
    program = parse("G21\nM3 I S255\nG1 X5 F600\nG4 S2\nG1 X9\nM5 I", MARLIN)
    np.testing.assert_allclose(program.wait, [0.0, 2.0, 0.0])
    np.testing.assert_allclose(program.power[[0, 2]], 5.0)


def test_speed_in_percent_of_marlin() -> None:
    program = parse("G21\nM3 I S255\nG1 X5 F600\nM220 S50\nG1 X9\nM5 I", MARLIN)
    np.testing.assert_allclose(program.feed, [0.01, 0.005])
