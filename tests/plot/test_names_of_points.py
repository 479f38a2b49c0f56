"""Points of a picture are told apart: names do not overlap, repeated colours have a key, zooms say so."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.text import Annotation

from minusgrad.plot import picture_files
from minusgrad.plot.bodies import orbits
from tests.support.recorded_runs import T
from tests.support.recorded_runs import recorded_run as _run

SPREAD = [[0.0, 0.0], [-5.0, -2.0], [-9.0, -3.0], [-11.0, 15.0], [25.0, 17.0], [32.0, -22.0]]


def _drawn(run, names=()):
    with picture_files.Paper().rc():
        figure = picture_files.figure()
        orbits.draw(figure, run, list(names), {})
        figure.canvas.draw()
    return figure


def _turning(places):
    """Positions (T, N, 2) of points that end at these places."""
    angle = (T - T[-1])[:, None]
    turn = np.stack([np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)], axis=-1)
    return np.einsum("tnij,nj->tni", turn.reshape(len(T), 1, 2, 2), np.asarray(places, float))


def test_names_of_close_points_do_not_overlap(tmp_path):
    names = ["sun", "jupiter", "saturn", "uranus", "neptune", "pluto"]
    figure = _drawn(_run(tmp_path / "run", {"position": _turning(SPREAD)}), names)
    boxes = {t.get_text(): t.get_window_extent() for t in figure.findobj(Annotation)}
    assert [*boxes] == names
    for one, other in combinations(names, 2):
        assert not boxes[one].overlaps(boxes[other]), f"{one}, {other}"
    inner = figure.axes[0].get_window_extent()
    assert all(box.x0 > inner.x0 for box in boxes.values()), "none over the numbers of an axis"


@pytest.mark.parametrize(("count", "key"), [(8, "none"), (11, "legend"), (30, "colour bar")])
def test_colours_that_repeat_have_a_key(tmp_path, count, key):
    angle = 2 * np.pi * np.arange(count) / count
    figure = _drawn(
        _run(tmp_path / "run", {"position": _turning(np.stack([np.cos(angle), np.sin(angle)], 1))})
    )
    legend, bars = figure.axes[0].get_legend(), figure.axes[1:]
    assert {"none": (False, 0), "legend": (True, 0), "colour bar": (False, 1)}[key] == (
        bool(legend),
        len(bars),
    )
    ends = [line for line in figure.axes[0].lines if line.get_markersize() == 4.5]
    pens = {(line.get_color(), line.get_marker()) for line in ends}
    assert len(ends) == len(pens) == count, "no two nodes look alike"
    if legend:
        assert [text.get_text() for text in legend.get_texts()] == [str(k) for k in range(count)]


def test_names_need_no_key(tmp_path):
    angle = 2 * np.pi * np.arange(11) / 11
    run = _run(tmp_path / "run", {"position": _turning(np.stack([np.cos(angle), np.sin(angle)], 1))})
    assert _drawn(run, [f"b{k}" for k in range(11)]).axes[0].get_legend() is None


def test_a_zoom_says_how_much_and_where(tmp_path):
    near = [[1.0, 0.0], [0.0, 1.2], [-1.4, 0.0], [0.0, -1.5]]
    run = _run(tmp_path / "run", {"position": _turning([*near, [60.0, 0.0], [0.0, 70.0]])})
    whole, zoomed = _drawn(run).axes
    factor = np.ptp(whole.get_xlim()) / np.ptp(zoomed.get_xlim())
    assert factor > 20.0
    assert zoomed.get_title(loc="left") == f"the middle, {factor:.2g} × enlarged"
    corners = {patch.get_bbox().bounds for patch in whole.patches if hasattr(patch, "get_bbox")}
    (left, right), (low, high) = zoomed.get_xlim(), zoomed.get_ylim()
    frames = [getattr(child, "rectangle", None) for child in whole.get_children()]
    frames = [frame.get_bbox().bounds for frame in frames if frame is not None]
    assert any(np.allclose(b, (left, low, right - left, high - low)) for b in [*corners, *frames])
