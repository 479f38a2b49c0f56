"""Lines and dots are told apart: colours by everyone's sight and in print, dashes, markers."""

from itertools import combinations

import numpy as np
import pytest

from minusgrad.plot import style
from tests.support.colour_sight import SIGHTS, distances, lab

pytestmark = pytest.mark.unit
APART = 15.0
"""CIEDE2000; two shades that touch are told apart from about 2 on."""


@pytest.mark.parametrize(
    ("one", "other", "apart"),  # of table 1 of Sharma, Wu, Dalal 2005
    [
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 2.5, 0.0), (50.0, 0.0, -2.5), 4.3065),
        ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((22.7233, 20.0904, -46.694), (23.0331, 14.973, -42.5619), 2.0373),
        ((2.0776, 0.0795, -1.135), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_distances_are_those_of_the_paper(one, other, apart):
    assert distances(np.array([one]), np.array([other]))[0, 0] == pytest.approx(apart, abs=1e-4)


def test_violet_and_blue_of_an_earlier_palette_are_one_colour_for_protanopes():
    pair = ["#7d5ba6", "#2f6db3"]
    assert distances(lab(pair), lab(pair))[0, 1] > 15.0
    assert distances(lab(pair, "protanopia"), lab(pair, "protanopia"))[0, 1] < 4.0


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("paper", ["white", "dark"])
def test_colours_of_lines_are_apart_for_everyone(paper, sight):
    colours, behind = (
        (style.COLOURS, "#ffffff") if paper == "white" else (style.ON_DARK, style.DARK["#ffffff"])
    )
    seen = lab([behind, *colours], sight)
    apart = distances(seen, seen)[np.triu_indices(len(seen), 1)]
    assert apart.min() >= APART, f"{apart.min():.1f}"


def test_pens_are_apart_in_print_without_colours():
    """The first lines of a picture have other dashes, its first dots other markers; none come twice."""
    lines, dots = ([pen(k) for k in range(32)] for pen in (style.line_pen, style.marker_pen))
    assert len({str(pen["linestyle"]) for pen in lines[:4]}) == 4
    assert len({pen["marker"] for pen in dots[:8]}) == 8
    assert all(one != other for pens in (lines, dots) for one, other in combinations(map(str, pens), 2))
