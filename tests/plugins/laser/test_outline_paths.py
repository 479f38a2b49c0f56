"""Paths along the lines of a drawing: where its target lies, by layer and colour."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minusgrad.energies.fields import State
from minusgrad.errors import UserError
from minusgrad.scene.units import UnitSystem

from .starts import made, path, target

pytestmark = pytest.mark.unit
OPEN = (
    '<svg xmlns="http://www.w3.org/2000/svg" xmlns:inkscape="http://www.inkscape.org/namespaces/inkscape"'
    ' width="{}" height="{}" viewBox="0 0 40 30">'
)
BODY = (
    '<g inkscape:groupmode="layer" inkscape:label="Cut"><rect x="10" y="5" width="12" height="8"/></g>'
    '<g id="Score" fill="none" stroke="red"><path d="M5,20 h20"/><path d="M5,24 l9,-2"/></g></svg>'
)


def state_of(
    folder: Path,
    text: str = OPEN.format("4mm", "3mm") + BODY,
    keys: dict[str, Any] | None = None,
    **path_keys: Any,
) -> State:
    """Cells of 0.1 mm."""
    (folder / "a.svg").write_text(text)
    units = path_keys.pop("units", UnitSystem.of("mm", "kg", "ms"))
    keys = {"margin": "0.5 mm"} | (keys or {})
    return made(
        folder, units, canvas={"size": keys.pop("size", None), "pixel": path_keys.pop("pixel", "0.1 mm")},
        target={"kind": "svg", "file": "a.svg"} | keys,
        path={"kind": "outlines", "file": "a.svg", "spacing": "0.5 mm"} | path_keys,
    )  # fmt: skip


PAGES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "in millimetres": (OPEN.format("4mm", "3mm"), {}, {}),
    "without a margin": (OPEN.format("4mm", "3mm"), {"margin": 0.0}, {}),
    "on a larger canvas": (OPEN.format("4mm", "3mm"), {"size": [67, 51]}, {}),
    "of a width": (OPEN.format("4mm", "3mm"), {"width": "8 mm"}, {"width": "8 mm"}),
    "of a box alone": (OPEN.format("100%", "100%"), {"width": "4 mm"}, {"width": "4 mm"}),
    "at 72 dpi": (OPEN.format("12", "9"), {"dpi": 72.0}, {"dpi": 72.0}),
    "at 72 dpi in millimetres": (OPEN.format("4mm", "3mm"), {"dpi": 72.0}, {"dpi": 72.0}),
    "with a height that follows": (OPEN.format("4mm", "auto"), {}, {}),
}


@pytest.mark.parametrize("case", PAGES)
def test_lines_lie_where_the_target_does(tmp_path: Path, case: str) -> None:
    """The rectangle's line is the rim of the cells that the picture of the same file darkens."""
    page, keys, its = PAGES[case]
    state = state_of(tmp_path, page + BODY, keys, layers=["Cut"], **its)
    dark = target(state)
    rows, columns = np.nonzero(dark > 0.999)
    points = path(state) / 0.1
    low = np.floor(points.min(axis=0) + 0.5 + 1e-6), np.ceil(points.max(axis=0) - 0.5 - 1e-6)
    box = [[columns.min(), rows.min()], [columns.max(), rows.max()]]
    assert np.abs(np.array(low) - box).max() <= 1.0
    # the area within the line is the darkness of the picture's rectangle
    window = dark[rows.min() - 1 : rows.max() + 2, columns.min() - 1 : columns.max() + 2]
    x, y = points[:-1].T
    area = abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2.0
    assert window.sum() == pytest.approx(area, rel=2e-3)
    r, c = np.mgrid[rows.min() - 1 : rows.max() + 2, columns.min() - 1 : columns.max() + 2]
    centre = [(c * window).sum() / window.sum(), (r * window).sum() / window.sum()]
    assert centre == pytest.approx((points.min(axis=0) + points.max(axis=0)) / 2.0, abs=0.03)


def test_each_line_is_followed_once_with_travels_between(tmp_path: Path) -> None:
    state = state_of(tmp_path, order="given")
    points, lit = path(state), state.fields["lit"]
    lengths = np.hypot(*np.diff(points, axis=0).T)
    assert lengths[lit[1:] == 1.0].sum() == pytest.approx(2 * (1.2 + 0.8) + 2.0 + np.hypot(0.9, 0.2))
    assert (lit == 0.0).sum() == 3
    assert lengths[lit[1:] == 1.0].max() <= 0.5 + 1e-9
    corners = np.array([[1.0, 2.5], [2.2, 2.5], [2.2, 1.7], [1.0, 1.7]]) + 0.5 - 0.05
    for corner in corners:
        assert np.hypot(*(points - corner).T).min() < 1e-9


@pytest.mark.parametrize(
    ("keys", "length"),
    [
        ({"layers": ["Score"]}, 2.0 + np.hypot(0.9, 0.2)),
        ({"colours": ["#ff0000"]}, 2.0 + np.hypot(0.9, 0.2)),
        ({"colours": ["Black"]}, 4.0),
        ({"layers": ["Cut", "Score"], "colours": ["red"]}, 2.0 + np.hypot(0.9, 0.2)),
    ],
)
def test_layers_and_colours(tmp_path: Path, keys: dict[str, Any], length: float) -> None:
    state = state_of(tmp_path, **keys)
    lengths = np.hypot(*np.diff(path(state), axis=0).T)
    assert lengths[state.fields["lit"][1:] == 1.0].sum() == pytest.approx(length)


def test_a_run_without_units_needs_a_width(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text(OPEN.format("4mm", "3mm") + BODY)
    keys = {"target": {"kind": "svg", "file": "a.svg", "width": 40.0, "margin": 2.0}, "canvas": None}
    line = {"kind": "outlines", "file": "a.svg", "spacing": 5.0}
    state = made(tmp_path, None, path=line | {"width": 40.0}, **keys)
    assert path(state).min(axis=0) == pytest.approx([5 + 1.5, 6 + 1.5])
    with pytest.raises(UserError, match=r"path: 'a\.svg': a resolution needs a unit of length"):
        made(tmp_path, None, path=line, **keys)


REFUSED = {
    "a layer": (
        {"layers": ["cut"]}, {},
        "'a.svg': no shape is on a layer 'cut' (there are: 'Cut', 'Score')"),
    "a colour": (
        {"colours": ["#00f"]}, {},
        "path: 'a.svg': no outline has the colour '#0000ff' (there are: '#000000', '#ff0000')"),
    "a word": (
        {"colours": ["rouge"]}, {}, "colours: colour 'rouge' is not resolved; give it as #rrggbb"),
    "another kind of file": (
        {"file": "a.png"}, {},
        "'a.png': is no drawing by its name, got the ending '.png'; give a file of .svg"),
    "the rim of the canvas": (
        {}, {"margin": 0.0, "size": [40, 30]},
        "path: 'a.svg': its lines reach 0.05 mm beyond the centres of the outermost cells; give the target a"
        " margin, or a larger canvas.size"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(tmp_path: Path, case: str) -> None:
    line, keys, message = REFUSED[case]
    body = BODY.replace('x="10"', 'x="0"') if case == "the rim of the canvas" else BODY
    (tmp_path / "a.png").write_bytes(b"x")
    with pytest.raises(UserError) as refused:
        state_of(tmp_path, OPEN.format("4mm", "3mm") + body, keys, **line)
    assert str(refused.value).startswith(message)
