"""Layers of drawings: who takes what, with which settings, in which order; areas and lines exactly."""

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from minusgrad.errors import SceneError, UserError
from minusgrad.plugin import read_toml
from minusgrad_laser.drawings.drawing import Drawing, Layer, Outline
from minusgrad_laser.jobs import gcode
from minusgrad_laser.layers.choice import choose_marks
from minusgrad_laser.layers.engraving import area_of_marks
from minusgrad_laser.layers.joined_lines import bounds_area, join_lines
from minusgrad_laser.layers.layer_table import LayersTable
from minusgrad_laser.layers.lines import TOLERANCE, simplify_line
from minusgrad_laser.layers.nesting import order_inside_first
from minusgrad_laser.layers.settings import Settings, settle_layer
from minusgrad_laser.layers.stages import Stage, join_stages, plan_stages
from minusgrad_laser.machine.profile import Profile
from minusgrad_laser.paths.stroke import Stroke
from minusgrad_laser.search.recipe import Exposure
from minusgrad_laser.tool.layer_evidence import gather_evidence
from minusgrad_laser.virtual_machine import replay

MM = 1e-3
DIODE, CONSTANT = Profile.load("grbl_diode"), Profile.load("grbl_m3")
CUT = '[[layer]]\nstroke = "red"\nmode = "cut"\nspeed = "20 mm/s"\n'
ENGRAVE = '[[layer]]\nfill = "#000"\nmode = "engrave"\n'
SCORE = '[[layer]]\nstroke = "blue"\nmode = "score"\nspeed = "50 mm/s"\npower = "50 %"\n'


def box(x: float, y: float, width: float, height: float) -> np.ndarray:
    return np.array([[x, y], [x + width, y], [x + width, y + height], [x, y + height]]) * MM


def circle(x: float, y: float, radius: float, count: int = 180) -> np.ndarray:
    t = np.arange(count) * 2.0 * np.pi / count
    return np.stack([x + radius * np.cos(t), y + radius * np.sin(t)], axis=1) * MM


def drawing(*outlines: Outline, layers: tuple[Layer, ...] = ()) -> Drawing:
    """A page of 20 x 12 mm; each outline is a piece of its own."""
    return Drawing((20 * MM, 12 * MM), outlines, layers)


def red(points: np.ndarray, closed: bool = True, piece: int = 0, **more: str) -> Outline:
    return Outline(points, closed, stroke="#ff0000", piece=piece, **more)


def black(points: np.ndarray, piece: int = 0, **more: str) -> Outline:
    return Outline(points, True, fill="#000000", piece=piece, **more)


BLUE = Outline(np.array([[2.0, 2.0], [7.0, 2.0]]) * MM, False, stroke="#0000ff", piece=9)
PART = drawing(
    red(box(1, 1, 18, 10), piece=1),
    red(circle(4, 6, 2), piece=2),
    black(box(8, 3, 6, 4), piece=3),
    BLUE,
)


def table(folder: Path, text: str) -> LayersTable:
    (folder / "part.layers.toml").write_text(text)
    return read_toml(folder / "part.layers.toml", LayersTable)


def settled(folder: Path, drawn: Drawing, text: str, machine: Profile = DIODE) -> list[tuple[Settings, list]]:
    layers = table(folder, text).layer
    chosen = choose_marks(drawn, layers, "part.svg")
    most = machine.power[1]
    return [
        (settle_layer(layer, marks, drawn, machine, Exposure(), most), marks)
        for layer, marks in zip(layers, chosen, strict=True)
    ]


def stages(folder: Path, drawn: Drawing, text: str, machine: Profile = DIODE) -> list[Stage]:
    return plan_stages(drawn, settled(folder, drawn, text, machine), machine, Exposure(), machine.pixel)


def dose_at(job: str, machine: Profile, *places: tuple[float, float]) -> list[float]:
    """The dose of a job's text at places [mm]."""
    done = replay(job, machine, full=2.5e5)
    at = [[round((1e-3 * z - o) / done.pixel) for z, o in zip(p, done.origin, strict=True)] for p in places]
    return [float(done.dose[row, column]) for column, row in at]


# Who takes what -------------------------------------------------------------------------------------


def test_each_mark_goes_to_the_layer_that_takes_it(tmp_path: Path):
    both = Outline(box(2, 8, 3, 2), True, layer="Marks", stroke="#ff0000", fill="#000000", piece=5)
    chosen = choose_marks(
        drawing(*PART.outlines, both), table(tmp_path, CUT + ENGRAVE + SCORE).layer, "a.svg"
    )
    assert [[(mark.outline, mark.kind) for mark in marks] for marks in chosen] == [
        [(0, "stroke"), (1, "stroke"), (4, "stroke")],
        [(2, "fill"), (4, "fill")],
        [(3, "stroke")],
    ]


def test_a_layer_of_the_file_is_taken_by_its_name_and_by_its_colours(tmp_path: Path):
    bare = [Outline(box(k, 1, 0.5, 1), True, layer=name, piece=k) for k, name in enumerate(("A", "B", ""))]
    text = "".join(
        f'[[layer]]\nlayer = "{name}"\nmode = "cut"\nspeed = "9 mm/s"\n' for name in ("B", "", "A")
    )
    chosen = choose_marks(drawing(*bare), table(tmp_path, text).layer, "a.dxf")
    assert [[mark.outline for mark in marks] for marks in chosen] == [[1], [2], [0]]
    inner = red(circle(4, 6, 2), layer="A", piece=7)
    text = text.replace('"A"\n', '"A"\nstroke = "#F00"\n')
    chosen = choose_marks(drawing(*bare[1:], inner), table(tmp_path, text).layer, "a.dxf")
    assert [[mark.outline for mark in marks] for marks in chosen] == [[0], [1], [2]]


def test_what_has_neither_length_nor_area_is_no_mark(tmp_path: Path):
    point = Outline(np.ones((1, 2)) * MM, False, stroke="#00ff00", piece=20)
    line = Outline(BLUE.points, False, stroke="#0000ff", fill="#123456", piece=21)
    assert choose_marks(drawing(point, line), table(tmp_path, SCORE).layer, "a.svg")[0][0].outline == 1
    there = np.array([[0.0, 0.0], [3.0, 1.0], [4.0, 5.0], [3.0, 1.0]]) * MM  # and back along both sides
    assert not bounds_area(there)
    assert not bounds_area(np.array([[0.0, 0.0], [3.0, 0.0], [1.0, 0.0], [2.0, 0.0]]) * MM)


def test_a_loop_of_both_senses_is_an_area(tmp_path: Path):
    """An 8 has two halves, whose areas of two signs cancel: it is as dark as they are."""
    eight = np.array([[2.0, 2.0], [6.0, 6.0], [6.0, 2.0], [2.0, 6.0]]) * MM
    drawn = drawing(black(eight, 1), black(box(8, 3, 6, 4), 2))
    (marks,) = choose_marks(drawn, table(tmp_path, ENGRAVE).layer, "a.svg")
    assert [mark.outline for mark in marks] == [0, 1]
    assert area_of_marks(drawn, marks, "a", 2e-5).size == pytest.approx(32e-6, rel=1e-3)


@pytest.mark.parametrize(
    ("drawn", "text", "wrong"),
    [
        (drawing(), CUT, "part.svg: has no line and no area, got an empty drawing; draw something"),
        (
            PART,
            CUT + SCORE,
            'part.svg: no layer takes fill = "#000000" (1 outline); add layers, with output = false for what'
            " stays out",
        ),
        (
            PART,
            CUT + ENGRAVE,
            'part.svg: no layer takes stroke = "#0000ff" (1 outline); add layers, with output = false for'
            " what stays out",
        ),
        (
            PART,
            CUT + ENGRAVE + SCORE + CUT.replace("red", "lime"),
            "part.svg: has nothing that layer 'stroke #00ff00' takes; known are fill = \"#000000\", stroke ="
            ' "#0000ff", stroke = "#ff0000": correct the layer, or leave it out',
        ),
        (
            PART,
            CUT + ENGRAVE + SCORE + '[[layer]]\nlayer = "Cuts"\nmode = "cut"\nspeed = "9 mm/s"\n',
            "part.svg: has nothing that layer 'layer 'Cuts'' takes; known are fill = \"#000000\", stroke ="
            ' "#0000ff", stroke = "#ff0000"; layers \'\': correct the layer, or leave it out',
        ),
        (
            PART,
            CUT + ENGRAVE + SCORE + CUT.replace("stroke", "colour"),
            "part.svg: a mark belongs to one layer, got 'stroke #ff0000' and 'colour #ff0000' for stroke ="
            " \"#ff0000\" in layer ''; let one of them take less",
        ),
    ],
)
def test_what_no_layer_or_two_take_is_refused(tmp_path: Path, drawn: Drawing, text: str, wrong: str):
    with pytest.raises(UserError) as caught:
        settled(tmp_path, drawn, text)
    assert str(caught.value) == wrong


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (CUT.replace("red", "reddish"), ":2:10: layer.0.stroke: is no colour, got 'reddish'; write it as"),
        (CUT.replace('"20 mm/s"', "20"), ':4:9: layer.0.speed: needs a unit, got 20; write it as "10 mm/s"'),
        (CUT + "power = 4\n", ':5:9: layer.0.power: needs a unit, got 4; write it as "4 W", or as "80 %"'),
        (CUT + 'power = "0 %"\n', ":5:9: layer.0.power: needs a power above 0, got '0 %'"),
        (CUT + 'dose = "9 J/cm^2"\n', "speed follows from the dose, got both; leave one out"),
        (CUT + 'interval = "50 um"\n', 'interval is of areas, got mode "cut"; leave it out'),
        (CUT + 'colour = "red"\n', "colour is that of a stroke or a fill, got one of these, too"),
        ('[[layer]]\nmode = "cut"\n', "a layer says what it takes, got nothing; give colour, stroke"),
        (CUT + CUT, "two layers have one name, got 'stroke #ff0000' twice; join them, or give a name"),
        (CUT + "passes = 0\n", "passes"),
        (SCORE + 'kerf = "0.1 mm"\n', 'kerf is of cuts, got mode "score"; leave it out'),
        (CUT + 'kerf = "0.1"\n', "kerf"),
    ],
)
def test_a_wrong_table_is_refused_with_its_line(tmp_path: Path, text: str, wrong: str):
    with pytest.raises(SceneError) as caught:
        table(tmp_path, text)
    assert wrong in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path}/part.layers.toml:")


# Settings -------------------------------------------------------------------------------------------


def test_dose_and_speed_follow_from_each_other(tmp_path: Path):
    """H = P / (v d) of an area, H = P / v sqrt(2 / pi) / w of a line."""
    text = CUT + ENGRAVE + 'power = "2 W"\nspeed = "40 mm/s"\ninterval = "80 um"\n' + SCORE
    cut, engrave, score = (one for one, _ in settled(tmp_path, PART, text))
    assert engrave.fluence == pytest.approx(2.0 / (0.04 * 80e-6))
    assert (cut.power, score.power) == (5.0, 2.5)
    assert score.fluence == pytest.approx(2.5 / 0.05 * (2.0 / np.pi) ** 0.5 / 50e-6)
    again = text.replace('speed = "50 mm/s"', f'dose = "{score.fluence:.17g} J/m^2"')
    again = again.replace('speed = "40 mm/s"', f'dose = "{engrave.fluence:.17g} J/m^2"')
    _, engrave_too, score_too = (one for one, _ in settled(tmp_path, PART, again))
    assert score_too.speed == pytest.approx(0.05)
    assert engrave_too.speed == pytest.approx(0.04)


def test_an_area_without_settings_gets_twice_the_threshold(tmp_path: Path):
    _, engrave, _ = (one for one, _ in settled(tmp_path, PART, CUT + ENGRAVE + SCORE))
    assert engrave.fluence == pytest.approx(2.5e5)
    assert (engrave.speed, engrave.power) == pytest.approx((0.095, 2.5e5 * 50e-6 * 0.095))


def test_what_the_file_states_holds_where_the_table_is_silent(tmp_path: Path):
    stated = (Layer("C01", "#ff0000", "cut", power=0.6, speed=0.012, passes=3),)
    drawn = drawing(red(box(1, 1, 3, 3), layer="C01"), layers=stated)
    ((own, _),) = settled(tmp_path, drawn, '[[layer]]\nlayer = "C01"\n')
    assert (own.mode, own.power, own.speed, own.passes) == ("cut", pytest.approx(3.0), 0.012, 3)
    ((other, _),) = settled(tmp_path, drawn, '[[layer]]\nlayer = "C01"\nspeed = "8 mm/s"\npasses = 1\n')
    assert (other.power, other.speed, other.passes) == (pytest.approx(3.0), 0.008, 1)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (
            CUT.replace('mode = "cut"\n', ""),
            'needs a mode, got none; write mode = "cut", "score" or "engrave"',
        ),
        (CUT.replace('speed = "20 mm/s"\n', ""), "needs a speed to cut, got none; write speed = "),
        (
            CUT.replace("20 mm", "200 mm"),
            "GRBL diode engraver reaches 100 mm/s, got 200 mm/s; give less speed",
        ),
        (CUT + 'power = "6 W"\n', "GRBL diode engraver has 0 to 5 W, got 6 W; give another power"),
        (CUT + 'power = "120 %"\n', "GRBL diode engraver has 0 to 5 W, got 6 W; give another power"),
    ],
)
def test_settings_beyond_the_machine_are_refused(tmp_path: Path, text: str, wrong: str):
    with pytest.raises(UserError) as caught:
        settled(tmp_path, drawing(red(box(1, 1, 3, 3))), text)
    assert str(caught.value).startswith(f"stroke #ff0000: {wrong}")


# Order ----------------------------------------------------------------------------------------------


def test_what_lies_inside_comes_before_what_is_around_it():
    """Rings within rings, shuffled: each comes after all that it holds, whatever is nearest."""
    rng = np.random.default_rng(5)
    rings = [(x, 5.0, r) for x in (5.0, 15.0, 25.0) for r in (4.0, 2.0, 1.0)]
    rings += [(x + dx, 5.0, 0.2) for x in (5.0, 15.0, 25.0) for dx in (-0.5, 0.5, 3.0)]
    for _ in range(10):
        some = [rings[k] for k in rng.permutation(len(rings))]
        lines = [circle(*ring, count=int(rng.integers(8, 40))) for ring in some]
        strokes = [Stroke.gapless_stroke(np.concatenate([line, line[:1]])) for line in lines]
        ordered = order_inside_first(strokes, rng.uniform(0.0, 0.03, 2))
        centres = [(one.points.min(axis=0) + one.points.max(axis=0)) / 2.0 for one in ordered]
        radii = [np.ptp(one.points, axis=0).max() / 2.0 for one in ordered]
        assert len(ordered) == len(rings)
        for j, (a, r) in enumerate(zip(centres, radii, strict=True)):
            for b, s in zip(centres[j + 1 :], radii[j + 1 :], strict=True):
                assert np.hypot(*(b - a)) + s > r  # none that comes later is inside


def test_open_lines_inside_a_part_come_first_and_are_entered_at_the_nearer_end():
    around = Stroke.gapless_stroke(np.concatenate([box(0, 0, 9, 9), box(0, 0, 9, 9)[:1]]))
    slit = Stroke.gapless_stroke(np.array([[8.0, 8.0], [1.0, 1.0]]) * MM)
    first, last = order_inside_first([around, slit], np.zeros(2))
    assert first.points[0] == pytest.approx([MM, MM])
    assert last.is_closed
    assert last.points[0] == pytest.approx([9 * MM, 9 * MM])


def test_layers_are_engraved_then_scored_then_cut_unless_they_say_otherwise(tmp_path: Path):
    text = CUT + SCORE + ENGRAVE
    assert [one.settings.mode for one in stages(tmp_path, PART, text)] == ["engrave", "score", "cut"]
    turned = text.replace('mode = "engrave"', 'mode = "engrave"\norder = 2.5')
    assert [one.settings.mode for one in stages(tmp_path, PART, turned)] == ["score", "engrave", "cut"]


# Lines ----------------------------------------------------------------------------------------------


def test_sides_of_a_part_that_meet_are_one_ring():
    corners = box(1, 1, 5, 3)
    sides = [corners[[k, (k + 1) % 4]] for k in range(4)]
    rng = np.random.default_rng(2)
    for _ in range(8):
        lines = [sides[k][:: rng.choice([1, -1])] for k in rng.permutation(4)]
        ((ring, closed),) = join_lines(lines)
        assert closed
        assert {tuple(point) for point in ring} == {tuple(point) for point in corners}
        assert np.hypot(*np.diff(np.append(ring, ring[:1], axis=0), axis=0).T).sum() == pytest.approx(16 * MM)


def test_lines_are_not_joined_at_a_fork_nor_across_a_gap():
    fork = [np.array([[0.0, 0.0], end]) * MM for end in ([1.0, 0.0], [0.0, 1.0], [-1.0, 0.0])]
    assert len(join_lines(fork)) == 3
    gap = [np.array([[0.0, 0.0], [1.0, 0.0]]) * MM, np.array([[1.02, 0.0], [2.0, 0.0]]) * MM]
    assert [closed for _, closed in join_lines(gap)] == [False, False]
    own = np.append(box(0, 0, 1, 1), box(0, 0, 1, 1)[:1], axis=0)
    assert join_lines([own])[0][1]


def test_a_simplified_line_stays_within_the_tolerance():
    ring = circle(5, 5, 4, 4000)
    line = simplify_line(np.append(ring, ring[:1], axis=0))
    assert 50 < len(line) < 200
    chord = np.hypot(*np.diff(line, axis=0).T).max()
    assert 4 * MM - np.sqrt((4 * MM) ** 2 - (chord / 2) ** 2) < 1.01 * TOLERANCE
    assert (line[0] == line[-1]).all()
    assert len(simplify_line(np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]))) == 2


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (
            CUT,
            "a part is cut along closed lines, got one from (1, 1) to (1, 4) mm that is open; close it, or",
        ),
        (
            CUT.replace("cut", "engrave"),
            "engraves areas, got an open line without a fill from (1, 1) to (1, 4)",
        ),
    ],
)
def test_open_lines_are_neither_cut_nor_engraved(tmp_path: Path, text: str, wrong: str):
    with pytest.raises(UserError) as caught:
        stages(tmp_path, drawing(red(box(1, 1, 3, 3), closed=False)), text)
    assert str(caught.value).startswith(f"stroke #ff0000: {wrong}")


@pytest.mark.parametrize("machine", [DIODE, CONSTANT], ids=["M4", "M3"])
def test_each_line_gets_all_its_passes_before_the_next(tmp_path: Path, machine: Profile):
    """Scored rings: one travel to each, and three times around."""
    text = CUT.replace("cut", "score") + "passes = 3\n"
    (one,) = stages(tmp_path, drawing(*PART.outlines[:2]), text, machine)
    assert np.count_nonzero(~one.path.lit) == 2
    around = 2 * (18 + 10) + 2.0 * np.pi * 2.0
    assert one.way == pytest.approx(3 * around * MM, rel=1e-3)


@pytest.mark.parametrize("passes", [1, 3])
def test_a_cut_has_the_size_of_its_outlines_by_its_kerf(tmp_path: Path, passes: int):
    """A kerf as measured, of all passes: edges within 1 um, the path half of it outside, holes first."""
    text = CUT + f'kerf = "0.14 mm"\npasses = {passes}\n'
    made = stages(tmp_path, drawing(red(box(1, 1, 8, 5), piece=1), red(box(3, 2, 2, 2), piece=2)), text)
    (cut,) = made
    assert cut.cut is not None
    assert cut.cut.kerf == pytest.approx(0.14e-3, rel=1e-6)
    path = join_stages(made)
    evidence, (scores,), _ = gather_evidence(
        gcode.write(path, DIODE), path, made, DIODE, Exposure(), 20e-6, "part", "part.gcode"
    )
    assert float(scores.numbers["edge_mean"]) < 1e-6
    assert scores.numbers["edge_missing"] == 0.0
    assert evidence.violations == ()
    first, second = np.split(path.x, np.flatnonzero(~path.lit)[1:])
    assert np.ptp(first) < 2 * MM  # the path goes into the corners of the hole, and around those of the part
    assert np.ptp(second) == pytest.approx(8.14 * MM, abs=0.05 * MM)
    assert cut.way == pytest.approx(passes * (2 * 13 + 4 * 2) * MM, rel=0.02)


def test_tabs_hold_a_part_and_leads_lie_in_the_waste(tmp_path: Path):
    """Two bridges of 0.6 mm: so much of the outline is not cut; a lead of 1 mm begins 0.7 mm off the part."""
    drawn, text = drawing(red(box(4, 4, 8, 5))), CUT + 'kerf = "0.14 mm"\n'
    (whole,) = stages(tmp_path, drawn, text)
    (held,) = stages(tmp_path, drawn, text + 'tabs = 2\ntab_width = "0.6 mm"\n')
    (led,) = stages(tmp_path, drawn, text + 'lead = "1 mm"\n')
    assert whole.cut is not None
    assert held.cut is not None
    path = join_stages([held])
    evidence, _, _ = gather_evidence(
        gcode.write(path, DIODE), path, [held], DIODE, Exposure(), 20e-6, "part", "part.gcode"
    )
    assert evidence.violations == ()
    assert held.cut.samples.pieces.sum() < whole.cut.samples.pieces.sum() - 2 * 0.6 * MM
    x, y = led.path.x, led.path.y
    beyond = max(4 * MM - x.min(), 4 * MM - y.min(), x.max() - 12 * MM, y.max() - 9 * MM)
    assert beyond == pytest.approx(0.5**0.5 * MM + 0.07 * MM, abs=0.03 * MM)


def test_a_kerf_that_no_line_has_is_refused(tmp_path: Path):
    with pytest.raises(UserError) as caught:
        stages(tmp_path, drawing(red(box(1, 1, 8, 5))), CUT + 'kerf = "2 mm"\n')
    assert re.match(
        r"stroke #ff0000: a kerf of a spot of 100 um is .* to 3\d\d um, got 2000 um; give",
        str(caught.value),
    )


def test_a_line_too_fast_to_cut_is_refused(tmp_path: Path):
    with pytest.raises(UserError) as caught:
        stages(tmp_path, drawing(red(box(1, 1, 8, 5))), CUT + 'power = "0.1 W"\n')
    assert str(caught.value).startswith("stroke #ff0000: 0.1 W at 20 mm/s leave 0.64 of the dose that cuts")


def test_a_scored_ring_at_constant_power_has_one_dose(tmp_path: Path):
    """Pieces of less power where the head is slow: with M3 a corner has what it has with M4, no burn."""
    text = CUT.replace("cut", "score").replace("20 mm", "60 mm")
    made = stages(tmp_path, drawing(red(box(2, 2, 8, 5))), text, CONSTANT)
    path = join_stages(made)
    evidence, _, _ = gather_evidence(
        gcode.write(path, CONSTANT), path, made, CONSTANT, Exposure(), 20e-6, "part", "part.gcode"
    )
    assert np.nanmax(evidence.overburn) < 1.45
    assert evidence.burns == []


# Areas ----------------------------------------------------------------------------------------------


def test_an_area_is_what_is_seen(tmp_path: Path):
    """Black with a hole by its own rule, less what white hides, less nothing that lies below."""
    below = Outline(box(0, 0, 20, 12), True, fill="#ffffff", piece=1)
    ring = [black(box(2, 2, 10, 8), piece=2, rule="evenodd"), black(box(4, 4, 2, 2), piece=2, rule="evenodd")]
    above = Outline(box(8, 4, 3, 3), True, fill="#ffffff", piece=3)
    drawn = drawing(below, *ring, above)
    marks = choose_marks(
        drawn, table(tmp_path, ENGRAVE + '[[layer]]\nfill = "white"\noutput = false\n').layer, "a.svg"
    )[0]
    assert area_of_marks(drawn, marks, "a", 20e-6).size == pytest.approx((80 - 4 - 9) * MM**2, rel=1e-4)


def test_closed_lines_bound_an_area_by_the_even_odd_rule(tmp_path: Path):
    drawn = drawing(red(box(2, 2, 10, 8), piece=1), red(box(4, 4, 2, 2), piece=2))
    (stage,) = stages(tmp_path, drawn, '[[layer]]\nstroke = "red"\nmode = "engrave"\n')
    assert stage.area is not None
    assert stage.area.size == pytest.approx(76 * MM**2, rel=1e-4)


@pytest.mark.parametrize("machine", [DIODE, CONSTANT], ids=["M4", "M3"])
@pytest.mark.parametrize("angle", [0, 90])
def test_an_engraved_area_has_its_dose_and_its_size(tmp_path: Path, machine: Profile, angle: int):
    """2 T in the middle, even to the 1.4 % of lines half a spot apart, and T on all four edges."""
    drawn = drawing(black(box(8, 6, 2.0, 1.5)))
    (stage,) = stages(tmp_path, drawn, ENGRAVE + f"angle = {angle}\n", machine)
    job = gcode.write(join_stages([stage]), machine)
    inside = dose_at(job, machine, (8.5, 6.5), (9.0, 6.75), (9.5, 7.0), (9.02, 6.78))
    assert inside == pytest.approx([1.0] * 4, rel=0.03)
    edges = dose_at(job, machine, (8.0, 6.7), (10.0, 6.7), (9.0, 6.0), (9.0, 7.5))
    assert edges == pytest.approx([0.5] * 4, abs=0.05)  # 0.05 are 3 um


@pytest.mark.parametrize("dose", [0.7, 1.0, 4.0])
@pytest.mark.parametrize("spot", [(100e-6, 100e-6), (60e-6, 150e-6)], ids=["round", "elliptical"])
def test_an_area_is_marked_up_to_its_outline_by_any_dose(tmp_path: Path, dose: float, spot: tuple):
    """The threshold is on all four edges, whatever the dose, for a spot that is longer along y."""
    machine = replace(DIODE, spot=spot, pixel=10e-6, bits=12)
    text = ENGRAVE + f'dose = "{dose * 2.5e5:g} J/m^2"\ninterval = "40 um"\n'
    (stage,) = stages(tmp_path, drawing(black(box(8, 6, 2.0, 1.6))), text, machine)
    job = gcode.write(join_stages([stage]), machine)
    edges = dose_at(job, machine, (8.0, 6.7), (10.0, 6.7), (9.0, 6.0), (9.0, 7.6))
    assert edges == pytest.approx([0.5] * 4, abs=0.05 * max(dose, 1.0))
    assert dose_at(job, machine, (9.0, 6.8)) == pytest.approx([dose], rel=0.03)


def test_parts_narrower_than_their_dose_are_kept_and_said(tmp_path: Path):
    drawn = drawing(black(box(8, 6, 2.0, 1.5), piece=1), black(box(12, 6.01, 2.0, 0.06), piece=2))
    (stage,) = stages(tmp_path, drawn, ENGRAVE + 'dose = "2 MJ/m^2"\n')
    (remark,) = stage.remarks
    assert re.fullmatch(
        r"fill #000000: 3\.\d % of the area is narrower than .*, and is marked too wide", remark
    )
    assert stage.path.x[1:][stage.path.lit[1:]].max() == pytest.approx(14 * MM, abs=1e-5)


def test_an_open_line_at_constant_power_has_dark_leads(tmp_path: Path):
    """The head has its speed where the line begins, so that its ends do not burn; not so out of the field."""
    (stage,) = stages(tmp_path, drawing(BLUE), SCORE, CONSTANT)
    lead = 0.05**2 / 2.0 + 0.05 * 1e-4
    assert stage.path.x == pytest.approx([2 * MM - lead, 2 * MM, 7 * MM, 7 * MM + lead])
    assert stage.path.lit.tolist() == [False, False, True, False]
    near = Outline(BLUE.points - [1.5 * MM, 0.0], False, stroke="#0000ff")
    (stage,) = stages(tmp_path, drawing(near), SCORE, CONSTANT)
    assert stage.path.x[0] == pytest.approx(0.5 * MM)
    (stage,) = stages(tmp_path, drawing(BLUE), SCORE)
    assert len(stage.path) == 2


def test_regions_apart_are_engraved_one_by_one(tmp_path: Path):
    """Two squares 100 mm apart: the head goes from one to the other once."""
    drawn = drawing(black(box(8, 8, 2, 2), piece=1), black(box(108, 8, 2, 2), piece=2))
    (stage,) = stages(tmp_path, drawn, ENGRAVE)
    far = stage.path.lengths > 0.05
    assert np.count_nonzero(far) == 1
    assert stage.way == pytest.approx(2 * 2 * MM * 40, rel=0.01)


def test_overscan_stays_in_the_field_and_is_dark(tmp_path: Path):
    drawn = drawing(black(box(1, 1, 2, 1)))
    (stage,) = stages(tmp_path, drawn, ENGRAVE, CONSTANT)
    assert stage.settings.overscan == pytest.approx(0.095**2 / 2.0 + 0.095 * 1e-4)
    assert stage.path.x.min() == 0.0
    assert stage.path.x.max() == pytest.approx(3 * MM + stage.settings.overscan)
    lit = stage.path.lit[1:]
    assert stage.path.x[1:][lit].min() == pytest.approx(1 * MM, abs=1e-9)


# The job --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", ["grbl_diode", "grbl_m3", "marlin_diode"])
def test_the_file_names_its_layers_and_switches_the_air(tmp_path: Path, machine: str):
    """Also behind compensation of backlash and latency, which adds and splits moves."""
    m = Profile.load(machine)
    text = CUT + 'air = "M8"\npasses = 2\n' + ENGRAVE + SCORE
    made = stages(tmp_path, PART, text, m)
    lines = gcode.write(join_stages(made), m).splitlines()
    heads = [k for k, line in enumerate(lines) if line.startswith(("; engrave", "; score", "; cut"))]
    assert [lines[k].split()[1] for k in heads] == ["engrave", "score", "cut"]
    assert lines[heads[2]].endswith("20 mm/s, 2 times")
    on, off = lines.index("M8"), lines.index("M9")
    assert heads[2] < on < off
    moves = [line for line in lines[heads[2] + 1 : on] if line[0] in "GXY"]
    assert moves  # the travel: the head stops for M8 in the dark
    assert all(not line.startswith("G1") for line in moves)
    assert lines[off - 1].startswith("M5")
    evidence, scores, _ = gather_evidence(
        "\n".join(lines) + "\n", join_stages(made), made, m, Exposure(), m.pixel, "part", "part.gcode"
    )
    assert evidence.violations == ()
    assert [one.numbers["mode"] for one in scores] == ["engrave", "score", "cut"]
    assert all(float(one.numbers.get("marked", 1.0)) > 0.99 for one in scores)


def test_the_doses_of_layers_add_up(tmp_path: Path):
    made = stages(tmp_path, PART, CUT + ENGRAVE + SCORE)
    path = join_stages(made)
    text = gcode.write(path, DIODE)
    evidence, scores, done = gather_evidence(text, path, made, DIODE, Exposure(), 20e-6, "part", "part.gcode")
    whole = replay(text, DIODE, full=2.5e5)
    assert done.dose == pytest.approx(whole.dose, abs=1e-9)
    assert evidence.seconds == whole.seconds
    assert sum(float(one.numbers["seconds"]) for one in scores) <= whole.seconds


def test_a_scored_line_has_its_fluence_and_each_pass_adds_to_it(tmp_path: Path):
    for passes in (1, 2):
        (stage,) = stages(tmp_path, drawing(BLUE), SCORE + f"passes = {passes}\n")
        (dose,) = dose_at(gcode.write(join_stages([stage]), DIODE), DIODE, (4.5, 2.0))
        assert dose == pytest.approx(passes * stage.settings.fluence / 2.5e5, rel=0.005)


@pytest.mark.parametrize("name", ["grbl_diode", "grbl_m3", "marlin_diode"])
@pytest.mark.parametrize("mode", ["score", "engrave"])
def test_a_power_between_two_levels_leaves_its_dose(tmp_path: Path, name: str, mode: str):
    """3.3 % of 255 levels are 8.4, and 8 have less: the head is as much slower, with every kind of power."""
    machine = Profile.load(name)
    keys = f'mode = "{mode}"\npower = "3.3 %"\nspeed = "10 mm/s"\n'
    if mode == "score":
        drawn, text, places = drawing(BLUE), '[[layer]]\nstroke = "blue"\n' + keys, [(4.5, 2.0)]
    else:
        drawn, text = drawing(black(box(8, 3, 4, 2.03))), '[[layer]]\nfill = "#000"\n' + keys
        places = [(10.0, 3.6 + 0.02 * k) for k in range(40)]
    made = stages(tmp_path, drawn, text, machine)
    doses = dose_at(gcode.write(join_stages(made), machine), machine, *places)
    assert np.mean(doses) == pytest.approx(made[0].settings.fluence / 2.5e5, rel=0.005)


@pytest.mark.parametrize("machine", [DIODE, CONSTANT], ids=["M4", "M3"])
def test_scored_lines_of_all_directions_have_the_dose_that_is_asked_for(tmp_path: Path, machine: Profile):
    """The middle of a line has q sqrt(2 / pi) / w, with the waist w of the spot across the line."""
    machine = replace(machine, spot=(60e-6, 150e-6))
    ways = ([[2.0, 2.0], [7.0, 2.0]], [[2.0, 4.0], [2.0, 9.0]], [[5.0, 4.0], [9.0, 8.0]])
    lines = [Outline(np.array(one) * MM, False, stroke="#0000ff", piece=k) for k, one in enumerate(ways)]
    made = stages(
        tmp_path, drawing(*lines), SCORE.replace('speed = "50 mm/s"', 'dose = "60 J/cm^2"'), machine
    )
    text = gcode.write(join_stages(made), machine)
    doses = dose_at(text, machine, (4.5, 2.0), (2.0, 6.5), (7.0, 6.0))
    assert np.array(doses) == pytest.approx(60.0 / 25.0, rel=0.01)
    evidence, _, _ = gather_evidence(
        text, join_stages(made), made, machine, Exposure(), 20e-6, "a", "a.gcode"
    )
    assert np.nanmax(evidence.overburn) < 1.1


def test_an_even_dose_that_needs_less_than_the_least_power_is_refused(tmp_path: Path):
    machine = replace(DIODE, spot=(60e-6, 150e-6), power=(1.5, 5.0))
    text = SCORE.replace('speed = "50 mm/s"', 'dose = "60 J/cm^2"')
    with pytest.raises(UserError, match=r"stroke #0000ff: GRBL diode engraver has 1\.5 to 5 W, got 1 W"):
        settled(tmp_path, drawing(BLUE), text, machine)


def test_a_scored_line_is_as_wide_as_its_dose_says(tmp_path: Path):
    """D(y) = D_0 exp(-2 y^2 / w^2) is the threshold at y = w sqrt(ln(D_0 / T) / 2)."""
    made = stages(tmp_path, drawing(red(box(1, 1, 40, 3))), CUT.replace("cut", "score"))
    path = join_stages(made)
    _, (scores,), _ = gather_evidence(
        gcode.write(path, DIODE), path, made, DIODE, Exposure(), 20e-6, "part", "part.gcode"
    )
    peak = made[0].settings.fluence / 2.5e5
    half = 50e-6 * np.sqrt(0.5 * np.log(peak / 0.5))
    assert float(scores.numbers["width"]) == pytest.approx(2.0 * half, rel=0.005)


def test_travels_between_lines_are_short(tmp_path: Path):
    """A row of 30 holes, shuffled in the file: the way between them is that along the row."""
    rng = np.random.default_rng(1)
    holes = [red(circle(1.0 + k, 3.0, 0.2), piece=k) for k in rng.permutation(30)]
    (stage,) = stages(tmp_path, drawing(*holes), CUT.replace("cut", "score"))
    starts = [line[0] for line in stage.lines]
    assert sum(np.hypot(*(b - a)) for a, b in pairwise(starts)) < 1.3 * 29 * MM
