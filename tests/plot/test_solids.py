"""Tubes and sheets in pictures: what hides what, stripes along d1, two sides, widths, frames over time."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from minusgrad.assembly.building.drawn_looks import look
from minusgrad.errors import EnergyError
from minusgrad.files import trajectory
from minusgrad.files.checkpoint import Snapshot
from minusgrad.files.frames.looks import ListLook
from minusgrad.files.run_folder import RunDir
from minusgrad.files.trajectory import Recorder
from minusgrad.plot import meshes
from minusgrad.plot.shapes import surfaces
from minusgrad.plot.solids import shading, sheets, tubes
from minusgrad.plot.solids.pieces import joined
from minusgrad.scene.solid_looks import Sheets, Tubes
from tests.support.seen_pictures import captured_figure, pixel_colour

METRE = ("m", 1.0)
UP = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
"""The view from above: x to the right, y up, z to the eye."""
RED, BLUE, WHITE = np.eye(3)[0], np.eye(3)[2], np.ones(3)


def line(points) -> tuple[np.ndarray, np.ndarray]:
    """Points and the lines between them."""
    points = np.asarray(points, float)
    return points, np.stack([np.arange(len(points) - 1), np.arange(1, len(points))], axis=1)


def tube(points, width, rgb, q=None, outline="tube"):
    x, lines = line(points)
    count = len(lines)
    q = None if q is None else np.tile(np.asarray(q, float), (count, 1))
    second = np.tile(BLUE, (count, 1))
    return tubes.tubes(
        x, lines, np.tile(np.asarray(width, float), (count, 1)), q, outline, np.tile(rgb, (count, 1)), second
    )


def image(*pieces, low=(-1.0, -1.0), pixels=80, scale=40.0):
    """What is seen from above, first row below."""
    return shading.shaded_image(joined(pieces), np.array(low), scale, (pixels, pixels), WHITE)


def hue(colour) -> int:
    """Which of red, green and blue is strongest."""
    return int(np.argmax(colour[:3]))


def at(picture, x, y, low=(-1.0, -1.0), scale=40.0):
    return picture[int((y - low[1]) * scale), int((x - low[0]) * scale)]


def test_the_nearer_tube_hides_the_other() -> None:
    """Two crossed tubes, one 0.5 above the other; then the other way round; their widths are true."""
    for height, winner in ((0.5, 0), (-0.5, 2)):
        one = tube([[-0.9, 0.0, height], [0.9, 0.0, height]], (0.3, 0.3), RED)
        other = tube([[0.0, -0.9, 0.0], [0.0, 0.9, 0.0]], (0.3, 0.3), BLUE)
        seen = image(one, other)
        assert hue(at(seen, 0.02, 0.02)) == winner
        assert hue(at(seen, 0.5, 0.02)) == 0
        assert hue(at(seen, 0.02, 0.5)) == 2
        assert at(seen, 0.5, 0.5)[3] == 0.0
        column = seen[:, int(1.5 * 40), 3]
        assert column.sum() == pytest.approx(0.3 * 40, abs=1.0)


def test_tubes_that_pass_through_each_other_share_the_picture() -> None:
    """No order of whole shapes draws two rods that cross in a point: left one is above, right the other."""
    one = tube([[-0.9, 0.0, 0.4], [0.9, 0.0, -0.4]], (0.3, 0.3), RED)
    other = tube([[-0.9, 0.05, -0.4], [0.9, 0.05, 0.4]], (0.3, 0.3), BLUE)
    seen = image(one, other)
    assert (hue(at(seen, -0.5, 0.02)), hue(at(seen, 0.5, 0.02))) == (0, 2)


def test_stripes_lie_along_d1() -> None:
    """Where d1 of a rod along x is away from the eye, the thin stripe is seen; turned, the wide one."""
    half = np.sqrt(0.5)
    lies = np.array([half, 0.0, half, 0.0])  # a quarter turn about y: d3 = x, d1 = -z, d2 = y
    away = tube([[-0.9, 0.0, 0.0], [0.9, 0.0, 0.0]], (0.6, 0.6), RED, lies)
    assert tubes.axes_of(lies[None])[0] == pytest.approx(
        np.array([[0.0, 0, -1], [0, 1, 0], [1, 0, 0]]), abs=1e-15
    )
    seen = image(away)
    assert at(seen, 0.0, 0.0)[1] > 0.5, "the thin stripe, opposite to d1"
    assert at(seen, 0.0, 0.13)[1] < 0.3
    turned = np.array([half, 0.0, -half, 0.0])  # d3 = -x, d1 = z
    seen = image(tube([[0.9, 0.0, 0.0], [-0.9, 0.0, 0.0]], (0.6, 0.6), RED, turned))
    assert at(seen, 0.0, 0.13)[1] > 0.5, "the wide stripe, along d1"


def test_a_twisted_tube_shows_as_many_stripes_as_it_turns() -> None:
    """Along the middle of a rod of two turns the wide stripe and the thin one are met twice each."""
    count = 64
    x, lines = line(np.column_stack([np.linspace(-0.9, 0.9, count + 1), *np.zeros((2, count + 1))]))
    angle = 0.5 * np.pi + 4.0 * np.pi * (np.arange(count) + 0.5) / count
    half = np.sqrt(0.5)
    lies, roll = np.array([half, 0.0, half, 0.0]), np.stack([np.cos(angle / 2), np.sin(angle / 2)], axis=1)
    q = np.array([_times([c, s, 0.0, 0.0], lies) for c, s in roll])
    one = np.tile(RED, (count, 1))
    piece = tubes.tubes(x, lines, np.full((count, 2), 0.4), q, "tube", one, one)
    seen = image(piece, pixels=160, scale=80.0)
    bright = seen[80, :, 1] > 0.4
    assert np.count_nonzero(np.diff(bright.astype(int)) == 1) == 4


def _times(a, b):
    w, v = a[0] * b[0] - np.dot(a[1:], b[1:]), np.cross(a[1:], b[1:])
    return np.append(w, a[0] * np.array(b[1:]) + b[0] * np.array(a[1:]) + v)


def test_bars_have_two_sides() -> None:
    """A ribbon 0.6 wide along d1 and 0.05 along d2: its side along d2 has the first colour."""
    flat = np.array([0.5, 0.5, 0.5, 0.5])  # d1 = y, d2 = z, d3 = x
    points = [[-0.9, 0.0, 0.0], [0.9, 0.0, 0.0]]
    assert hue(at(image(tube(points, (0.6, 0.05), RED, flat, "bar")), 0.0, 0.0)) == 0
    back = np.array([0.5, -0.5, 0.5, -0.5])  # d1 = -y, d2 = -z, d3 = x
    axes = tubes.axes_of(back[None])[0]
    assert axes[2] == pytest.approx([1.0, 0.0, 0.0])
    assert axes[1] == pytest.approx([0.0, 0.0, -1.0])
    assert hue(at(image(tube(points, (0.6, 0.05), RED, back, "bar")), 0.0, 0.0)) == 2


def test_a_tube_around_a_circle_has_the_area_of_a_torus() -> None:
    """4 pi^2 R r from a polygon of 60 lines, to half a percent; normals point away from its axis."""
    angle = 2.0 * np.pi * np.arange(60) / 60
    x = np.column_stack([np.cos(angle), np.sin(angle), 0 * angle])
    lines = np.column_stack([np.arange(60), (np.arange(60) + 1) % 60])
    piece = tubes.tubes(x, lines, np.full((60, 2), 0.2), None, "tube", np.ones((60, 3)), np.ones((60, 3)))
    legs = np.cross(piece.corners[:, 1] - piece.corners[:, 0], piece.corners[:, 2] - piece.corners[:, 0])
    area = 0.5 * np.linalg.norm(legs, axis=1)
    # twenty sides have 0.9959 of the circumference of a circle
    assert area.sum() == pytest.approx(4.0 * np.pi**2 * 0.1 * 0.9959, rel=5e-3)
    middle = piece.corners.mean(axis=1)
    foot = middle * [1.0, 1.0, 0.0]
    foot /= np.linalg.norm(foot, axis=1)[:, None]
    assert (np.einsum("fi,fi->f", legs, middle - foot) > 0.0).all()


def test_sheets_have_two_sides_and_a_rim() -> None:
    x = np.array([[-0.8, -0.8, 0.0], [0.8, -0.8, 0.0], [0.8, 0.8, 0.0], [-0.8, 0.8, 0.0]])
    facets = np.array([[0, 1, 2], [0, 2, 3]])
    front, back = np.tile(RED, (2, 1)), np.tile(BLUE, (2, 1))
    piece = sheets.sheet(x, facets, np.full(2, 0.1), front, back)
    assert hue(at(image(piece), 0.1, 0.1)) == 0
    assert hue(at(image(piece._replace(corners=piece.corners @ np.diag([1.0, -1.0, -1.0]))), 0.1, 0.1)) == 2
    legs = np.cross(piece.corners[:, 1] - piece.corners[:, 0], piece.corners[:, 2] - piece.corners[:, 0])
    volume = np.einsum("fi,fi->", piece.corners.mean(axis=1), legs) / 6.0
    assert volume == pytest.approx(1.6 * 1.6 * 0.1), "closed, and as thick as it is"


def test_normals_of_nodes_are_those_of_a_ball() -> None:
    """To the first order in the size of facets: at the poles they are unlike each other."""
    off = [np.abs(sheets.node_normals(*ball_mesh(count)) - ball_mesh(count)[0]).max() for count in (24, 48)]
    assert off[0] < 0.025
    assert off[0] / off[1] > 1.9


def ball_mesh(count: int) -> tuple[np.ndarray, np.ndarray]:
    """A unit ball of `count` meridians, outwards."""
    around, up = np.meshgrid(2 * np.pi * np.arange(count) / count, np.pi * np.arange(1, count) / count)
    x = np.stack([np.sin(up) * np.cos(around), np.sin(up) * np.sin(around), np.cos(up)], -1).reshape(-1, 3)
    number = np.arange(len(x)).reshape(count - 1, count)
    one, other = number[:-1], number[1:]
    aside = partial(np.roll, shift=-1, axis=1)
    quads = np.stack([one, other, aside(other), aside(one)], axis=-1).reshape(-1, 4)
    facets = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    top, end = len(x), len(x) + 1
    first, last = number[0], number[-1]
    caps = [[top, a, b] for a, b in zip(first, np.roll(first, -1), strict=True)]
    caps += [[end, b, a] for a, b in zip(last, np.roll(last, -1), strict=True)]
    return np.concatenate([x, [[0, 0, 1.0], [0, 0, -1.0]]]), np.concatenate([facets, caps])


def rod_run(path: Path) -> Path:
    """A straight rod along x of radius 5 cm that rolls by a half turn, in two frames."""
    x, lines = line(np.column_stack([np.linspace(0.0, 1.0, 5), np.zeros((5, 2))]))
    looks = {"edges": ListLook("tube", np.full((4, 2), 0.1), "q", METRE)}
    recorder = Recorder({"position": METRE}, ("s", 1.0), {"edges": lines}, ("edges",), looks=looks)
    lies = np.array([np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0])
    with RunDir.create(path, b"", []) as run:
        for step, angle in enumerate((0.0, np.pi)):
            q = _times([np.cos(angle / 2), np.sin(angle / 2), 0.0, 0.0], lies)
            recorder.record_frame(step, float(step), {"position": x, "q": np.tile(q, (4, 1))})
        run.save(Snapshot(1, 1.0, 1.0, {}, meta={"title": "rod"}), recorder, keep=2)
    return path


def test_a_run_keeps_what_its_lines_look_like(tmp_path: Path) -> None:
    found = trajectory.looks(rod_run(tmp_path / "run"))["edges"]
    assert (found.shape, found.frames, found.unit) == ("tube", "q", METRE)
    assert found.sizes == pytest.approx(np.full((4, 2), 0.1))


def test_a_picture_of_a_run_has_its_tube(tmp_path: Path) -> None:
    """From above d1 is away from the eye at first, towards it at the end: the stripe is wide then."""
    run = rod_run(tmp_path / "run")
    lists = meshes.drawable(run)
    wide = []
    for step in (0, 1):
        draw = partial(meshes.draw, run=run, lists=lists, series={}, until=step, eye=UP)
        figure = captured_figure(draw)
        assert pixel_colour(figure, (0.5, 0.2)) == pytest.approx(np.ones(3)), "nothing is beside the rod"
        assert pixel_colour(figure, (0.5, 0.03))[2] < 0.98
        wide.append(pixel_colour(figure, (0.5, 0.014))[0] > 0.6)
    assert wide == [False, True]


def test_obstacles_hide_what_is_behind_them(tmp_path: Path) -> None:
    """Of a rod that goes through a ball the part inside is hidden, and nothing else."""
    run = rod_run(tmp_path / "run")
    shapes = [{"term": "ball", "kind": "sphere", "centre": [0.5, 0.0, 0.0], "radius": 0.2}]
    path = tmp_path / "ball"
    x, lines = line(np.column_stack([np.linspace(0.0, 1.0, 5), np.zeros((5, 2))]))
    looks = {"edges": ListLook("tube", np.full((4, 2), 0.1), "", METRE)}
    recorder = Recorder({"position": METRE}, ("s", 1.0), {"edges": lines}, ("edges",), looks=looks)
    with RunDir.create(path, b"", []) as made:
        recorder.record_frame(0, 0.0, {"position": x})
        made.save(Snapshot(0, 0.0, 1.0, {}, meta={"surroundings": {"shapes": shapes}}), recorder, keep=2)
    figure = captured_figure(partial(meshes.draw, run=path, lists=meshes.drawable(run), series={}, eye=UP))
    grey, blue = pixel_colour(figure, (0.5, 0.02)), pixel_colour(figure, (0.15, 0.01))
    assert np.ptp(grey) < 0.05 < np.ptp(blue)


def test_facets_in_space_are_drawn_without_a_look() -> None:
    assert meshes.can_draw(np.array([[0, 1, 2]]), 3)
    part = meshes.part(np.eye(3), np.array([[0, 1, 2]]), surfaces.view(0.3, 0.4))
    assert part.is_filled
    assert len(part.began) == 3


def test_lines_in_the_plane_are_no_tubes(tmp_path: Path) -> None:
    from minusgrad.plot.solids.solid_artists import DrawnSolids

    assert not DrawnSolids(rod_run(tmp_path / "run"), {"edges": np.array([[0, 1]])}, np.eye(2))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (Tubes((0.1, 0.1, 0.1)), "looks.edges: needs sizes (2, 2), got (3,); give one for each"),
        (Tubes((0.1, -0.1)), "looks.edges: sizes must be above zero, got -0.1; correct them"),
        (Sheets(0.1), "looks.edges: needs elements of three nodes, got 2; use another list"),
        (Tubes((0.1, 0.1), "q"), "looks.edges: frames 'q' need a row for each of 2 lines, got 3; name the"),
        (Tubes((0.1, 0.1), outline="disc"), "looks.edges: outline must be 'tube' or 'bar', got 'disc'"),  # type: ignore[arg-type]
    ],
)
def test_a_look_that_does_not_fit_is_refused(given, text) -> None:
    with pytest.raises(EnergyError) as caught:
        look("edges", given, np.array([[0, 1], [1, 2]]), 3)
    assert str(caught.value).startswith(text)


def test_a_look_needs_its_list() -> None:
    with pytest.raises(EnergyError, match=r"looks\.rope: there is no list of this name"):
        look("rope", Tubes((1.0, 1.0)), None)


def test_both_sides_are_told_apart() -> None:
    """The colours of tubes and stripes, and of both sides of sheets, for readers without red or green."""
    from minusgrad.plot.solids.solid_artists import BACK, FRONT, ROD, STRIPE
    from tests.support import colour_sight

    for pair in ((FRONT, BACK), (ROD, STRIPE)):
        for sight in colour_sight.SIGHTS:
            seen = colour_sight.lab(list(pair), sight)
            assert colour_sight.distances(seen, seen)[0, 1] > 15.0
