"""What a deposition starts from: targets, curves, spots against formulas of others."""

import numpy as np
import pytest
from PIL import Image
from scipy import special

from minusgrad.scene.units import UnitSystem
from minusgrad_laser.dose import stencils
from tests.plugins.laser.starts import DARK, GREY, drawn, path, target
from tests.support.command import SCENES

# The state -----------------------------------------------------------------------------------------------


def test_what_a_state_has(start) -> None:
    state = start(stencil={"kind": "airy", "size": 15, "width": 5.0})
    n, cells = len(state.fields["x"]), 40 * 30
    assert {name: values.shape for name, values in state.fields.items()} == {
        "x": (n,), "y": (n,), "power": (n,), "speed": (n,), "lit": (n,),
        "target": (cells,), "share": (cells,),
    }  # fmt: skip
    assert all(values.dtype == np.float64 for values in state.fields.values())
    assert state.units == {
        "x": "m", "y": "m", "power": "W", "speed": "m s^-1", "lit": "1", "target": "1", "share": "1"
    }  # fmt: skip
    assert set(state.fields["power"]) == {0.02}
    assert set(state.fields["speed"]) == {2.0}
    np.testing.assert_array_equal(state.fields["lit"], [0.0] + [1.0] * (n - 1))
    assert set(state.fields["share"]) == {1.0 / cells}
    assert state.motions == ()
    assert state.tuples["segments"].tolist() == [[k, k + 1] for k in range(n - 1)]
    grid = state.grids["canvas"]
    assert (grid.shape, grid.spacing, grid.fields) == ((30, 40), 1.0, ("target", "share"))
    assert list(state.tables) == ["canvas_cells", "pixel", "stencil"]
    assert list(start().tables) == ["canvas_cells", "pixel"]


def test_units_are_the_runs(start) -> None:
    """The same scene in micrometres, in metres and in millimetres and milliseconds."""
    keys = {
        "canvas": {"size": [40, 30], "pixel": "2 um"},
        "target": {"kind": "disc", "radius": "18 um", "centre": ["30 um", "40 um"]},
        "path": {"kind": "spiral", "pitch": "6 um", "spacing": "3 um", "margin": "4 um"},
        "stencil": {"kind": "airy", "size": 7, "width": "4 um"},
        "power": "5 mW",
        "speed": "3 mm/s",
    }
    si, mm = start(UnitSystem.si(), **keys), start(UnitSystem.of("mm", "kg", "ms"), **keys)
    assert si.grids["canvas"].spacing == 2e-6
    assert mm.grids["canvas"].spacing == 2e-3
    assert (si.fields["power"][0], si.fields["speed"][0]) == (5e-3, 3e-3)
    assert mm.fields["speed"][0] == 3e-3, "mm / ms = m / s"
    assert mm.fields["power"][0] == pytest.approx(5e-3 * 1e6 * 1e-9, rel=1e-15)
    np.testing.assert_allclose(path(mm), path(si) * 1e3, rtol=1e-12)
    np.testing.assert_array_equal(mm.fields["target"], si.fields["target"])
    np.testing.assert_allclose(mm.tables["stencil"], si.tables["stencil"], rtol=1e-13)
    plain = start(
        target={"kind": "disc", "radius": 9.0, "centre": [15.0, 20.0]},
        path={"kind": "spiral", "pitch": 3.0, "spacing": 1.5, "margin": 2.0},
        stencil={"kind": "airy", "size": 7, "width": 2.0},
    )
    np.testing.assert_allclose(path(si), path(plain) * 2e-6, rtol=1e-12)
    np.testing.assert_array_equal(si.fields["target"], plain.fields["target"])
    np.testing.assert_allclose(si.tables["stencil"], plain.tables["stencil"], rtol=1e-13)


# Targets -------------------------------------------------------------------------------------------------


def test_the_butterfly_is_the_posts_bit_for_bit(start) -> None:
    side = 512
    columns, rows = np.meshgrid(np.arange(side), np.arange(side))
    squared = (columns - side // 2) ** 2 + (rows - side // 2) ** 2
    angle = np.arctan2(rows - side // 2, columns - side // 2)
    wing = np.exp(np.sin(angle)) - 2 * np.cos(4 * angle) + np.sin((2 * angle - np.pi) / 24.0) ** 5
    image = (wing > squared / 20000).astype(int)
    np.testing.assert_array_equal(
        target(start(canvas={"size": [512, 512]}, target={"kind": "butterfly"})), image
    )
    assert image[:256].sum() < image[256:].sum(), "the large wings have large y"


def test_a_smaller_butterfly_is_the_same_one(start) -> None:
    whole = target(start(canvas={"size": [512, 512]}, target={"kind": "butterfly"}))
    half = target(start(canvas={"size": [256, 256], "pixel": 2.0}, target={"kind": "butterfly"}))
    np.testing.assert_array_equal(half, whole[::2, ::2])
    wide = target(start(canvas={"size": [300, 256]}, target={"kind": "butterfly"}))
    np.testing.assert_array_equal(wide[:, 22:-22], half)
    assert not wide[:, :22].any()


def test_a_disc(start) -> None:
    found = target(start())
    for row in range(30):
        for column in range(40):
            assert found[row, column] == (np.hypot(column - 19.5, row - 14.5) <= 9.0)
    off = target(start(target={"kind": "disc", "radius": 3.0, "centre": [10.0, 20.0]}))
    assert off[20, 10] == off[20, 13] == off[17, 10] == 1.0
    assert off.sum() == 29.0


def colour(grey: np.ndarray) -> np.ndarray:
    return np.repeat(grey[..., None], 3, axis=2)


def with_alpha(alpha: int) -> Image.Image:
    image = Image.fromarray(colour(GREY)).convert("RGBA")
    image.putalpha(alpha)
    return image


PICTURES = {
    "grey": (Image.fromarray(GREY), DARK),
    "16 bit": (Image.fromarray(GREY.astype(np.uint16) * 257), DARK),
    "16 bit, the high byte first": (
        Image.frombytes("I;16B", (3, 2), (GREY.astype(">u2") * 257).tobytes()),
        DARK,
    ),
    "colour": (Image.fromarray(colour(GREY)), DARK),
    "palette": (Image.fromarray(colour(GREY)).quantize(8), DARK),
    "black and white": (Image.fromarray(GREY > 100), np.array([[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])),
    "opaque": (with_alpha(255), DARK),
    "clear in part": (with_alpha(51), 0.2 * DARK),
}


@pytest.mark.parametrize("ending", ["png", "tif"])
@pytest.mark.parametrize("kind", PICTURES)
def test_pictures(start, tmp_path, kind: str, ending: str) -> None:
    image, expected = PICTURES[kind]
    found = drawn(start, image, f"p.{ending}", folder=tmp_path)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-15)
    assert found[0, 0] == (expected[0, 0] if kind == "clear in part" else 0.0), "white is 0, to the last bit"
    assert 0.0 <= found.min() < found.max() <= 1.0


def test_what_is_drawn_is_dark_or_light_and_never_transparent(start, tmp_path) -> None:
    light = drawn(start, Image.fromarray(GREY), invert=True, folder=tmp_path)
    np.testing.assert_allclose(light, 1.0 - DARK, atol=1e-15)
    light = drawn(start, with_alpha(51), invert=True, folder=tmp_path)
    np.testing.assert_allclose(light, 0.2 * (1.0 - DARK), atol=1e-15)


def test_light_of_colours_is_that_of_television(start, tmp_path) -> None:
    image = Image.fromarray(np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255]]] * 2, np.uint8))
    found = drawn(start, image, invert=True, folder=tmp_path)
    np.testing.assert_allclose(found[0], [0.299, 0.587, 0.114], atol=1e-15)


def test_a_tiff_of_floats(start, tmp_path) -> None:
    values = np.array([[0.25, 1.0], [0.0, 0.5]], np.float32)
    np.testing.assert_array_equal(
        drawn(start, Image.fromarray(values), "p.tif", folder=tmp_path), 1.0 - values[::-1]
    )


def test_a_picture_stands_as_people_see_it(start, tmp_path) -> None:
    """Orientation 6: the camera was turned; rows become columns."""
    exif = Image.Exif()
    exif[0x0112] = 6
    found = drawn(start, Image.fromarray(GREY), folder=tmp_path, exif=exif)
    np.testing.assert_allclose(found, 1.0 - np.rot90(GREY, -1)[::-1] / 255.0, atol=1e-15)


def test_the_shipped_silhouette(start, monkeypatch) -> None:
    state = start(
        folder=SCENES / "data",
        canvas={"pixel": 0.5},
        target={"kind": "image", "file": "silhouette.png"},
    )
    found = target(state)
    assert found.shape == (256, 256)
    assert state.grids["canvas"].spacing == 0.5
    assert (found.min(), found.max()) == (0.0, 1.0)
    assert 0.1 < found.mean() < 0.3
    assert found[60, 143] == found[202, 68] == 1.0, "a leg, the beak; y points up"
    monkeypatch.syspath_prepend(SCENES / "data")
    import silhouette

    np.testing.assert_array_equal(np.asarray(silhouette.heron()), np.round(255 * (1.0 - found[::-1])))


# Paths ---------------------------------------------------------------------------------------------------


def posts_curve(n: int, side: int, seed: int) -> np.ndarray:
    """The post's lines once more: draws in its order, axis by axis."""
    np.random.seed(seed)
    radius = np.cumsum(np.random.randint(-5, 5, size=n))
    turned = np.cumsum(np.random.rand(n)) * 5 / 180.0 * np.pi
    axes = []
    for u in (radius * np.cos(turned), radius * np.sin(turned)):
        u = u / (np.max(u) - np.min(u)) * 400
        axes.append(u - np.mean(u) + side / 2)
    return np.stack(axes, axis=1)


WANDER = {"kind": "wander", "points": 5000, "extent": 400.0}


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1])
def test_the_posts_curve(start, seed: int) -> None:
    found = path(start(seed=seed, canvas={"size": [512, 512]}, path=WANDER))
    np.testing.assert_allclose(found, posts_curve(5000, 512, seed), rtol=0.0, atol=1e-12)


def test_the_posts_curve_is_always_this_one(start) -> None:
    """Numbers of NumPy's frozen stream, written down."""
    found = path(start(canvas={"size": [512, 512]}, path=WANDER))
    np.testing.assert_allclose(found[0], [257.0376948586035, 254.9189589087433], rtol=1e-12)
    np.testing.assert_allclose(found[:3, 0], [257.03769486, 256.63433969, 256.47312169], rtol=1e-10)
    np.testing.assert_allclose(np.ptp(found, axis=0), 400.0, rtol=1e-13)


def test_every_seed_has_a_curve_of_its_own(start) -> None:
    seeds = [0, 1, 2**32, 2**32 + 1, 2**40]
    ends = {tuple(path(start(seed=s, canvas={"size": [512, 512]}, path=WANDER))[-1]) for s in seeds}
    assert len(ends) == len(seeds)


def test_wandering_is_around_the_middle_of_any_canvas(start) -> None:
    canvas = {"size": [60, 50], "pixel": 0.5}
    found = path(start(canvas=canvas, path={"kind": "wander", "points": 300, "extent": 10.0}))
    np.testing.assert_allclose(found.mean(axis=0), [15.0, 12.5], rtol=1e-13)
    np.testing.assert_allclose(np.ptp(found, axis=0), 10.0, rtol=1e-13)


def test_hatch(start) -> None:
    """Five lines in a field of 39 x 29: to and fro, margins kept."""
    found = path(start(path={"kind": "hatch", "pitch": 6.0, "spacing": 4.0, "margin": 2.0}))
    x = np.linspace(2.0, 37.0, 10)  # 35 / 4 is 9 steps, of 3.9 each
    y = [2.5, 8.5, 14.5, 20.5, 26.5]
    expected = [[a, b] for k, b in enumerate(y) for a in (x if k % 2 == 0 else x[::-1])]
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert path(start()).tolist()[:2] == [[0.0, 2.0], [39 / 8, 2.0]], "spacing: the pitch, if nothing is said"
    whole = path(start(canvas={"size": [40, 34]}, path={"kind": "hatch", "pitch": 1.1, "spacing": 39.0}))
    assert len(whole) == 2 * 31, "rounding loses no line: 33 / 1.1 is 29.999999999999996"
    assert whole[:, 1].max() == 33.0


def test_spiral(start) -> None:
    found = path(start(path={"kind": "spiral", "pitch": 4.0, "spacing": 0.01, "margin": 1.0}))
    middle, apart = np.array([19.5, 14.5]), np.linalg.norm(np.diff(found, axis=0), axis=1)
    np.testing.assert_allclose(apart[100:], 0.01, rtol=1e-5)
    assert apart.max() < 0.0101
    radius = np.linalg.norm(found - middle, axis=1)
    turned = np.unwrap(np.arctan2(*(found - middle)[1:, ::-1].T))
    np.testing.assert_allclose(radius[1:], 4.0 * turned / (2.0 * np.pi), rtol=1e-9)
    assert found[0].tolist() == middle.tolist()
    assert 13.49 < radius[-1] <= 13.5
    small = path(start(path={"kind": "spiral", "pitch": 4.0, "radius": 6.0}))
    assert 5.0 < np.linalg.norm(small - middle, axis=1).max() <= 6.0
    assert np.linalg.norm(np.diff(small[-2:], axis=0)) == pytest.approx(4.0, rel=0.2), "spacing: the pitch"


CURVE = "# of a plotter\n x, name, y ,power, speed\n1, a, 2, 0.5, 3\n\n4.5, b, 6, 0, 2.5\n"


def test_a_curve_from_a_file(start, tmp_path) -> None:
    (tmp_path / "path.csv").write_text(CURVE)
    state = start(path={"kind": "file", "file": "path.csv"}, power=None, speed=None)
    assert path(state).tolist() == [[1.0, 2.0], [4.5, 6.0]]
    assert state.fields["power"].tolist() == [0.5, 0.0]
    assert state.fields["speed"].tolist() == [3.0, 2.5]
    (tmp_path / "path.csv").write_text("y,x\n2,1\n6,4.5\n")
    state = start(path={"kind": "file", "file": "path.csv"})
    assert path(state).tolist() == [[1.0, 2.0], [4.5, 6.0]]
    assert state.fields["power"].tolist() == [0.02] * 2


def test_strokes_from_a_file(start, tmp_path) -> None:
    """No move ends at the first point, whatever its row says."""
    (tmp_path / "path.csv").write_text("x,y,lit\n1,2,1\n3,4,1\n5,6,0\n7,8,1\n")
    state = start(path={"kind": "file", "file": "path.csv"})
    assert state.fields["lit"].tolist() == [0.0, 1.0, 0.0, 1.0]


def test_a_file_in_its_own_units(start, tmp_path) -> None:
    (tmp_path / "path.csv").write_text(CURVE)
    file = {"kind": "file", "file": "path.csv", "length": "um", "power": "mW", "speed": "mm/s"}
    state = start(
        UnitSystem.si(),
        canvas={"size": [40, 30], "pixel": "1 um"},
        target={"kind": "disc", "radius": "9 um"},
        path=file,
        power=None,
        speed=None,
    )
    np.testing.assert_allclose(path(state), np.array([[1.0, 2.0], [4.5, 6.0]]) * 1e-6, rtol=1e-15)
    np.testing.assert_allclose(state.fields["power"], [5e-4, 0.0], rtol=1e-15)
    np.testing.assert_allclose(state.fields["speed"], [3e-3, 2.5e-3], rtol=1e-15)


def test_rounding_does_not_put_a_point_outside(start, tmp_path) -> None:
    (tmp_path / "path.csv").write_text("x,y\n-1e-12,0\n39.000000000001,29\n")
    found = path(start(path={"kind": "file", "file": "path.csv"}))
    assert found.tolist() == [[0.0, 0.0], [39.0, 29.0]]


# Spots ---------------------------------------------------------------------------------------------------


def test_the_airy_function() -> None:
    for z in (np.linspace(0.0, 1.0, 501), np.linspace(1.0, 25.0, 2001)):
        np.testing.assert_allclose(stencils.airy(z), special.airy(z)[0], rtol=1e-13)
    far = np.linspace(25.0, 100.0, 301)
    np.testing.assert_allclose(stencils.airy(far), special.airy(far)[0], rtol=1e-12)
    assert stencils.airy(np.array([300.0, 1e6])).tolist() == [0.0, 0.0]


def test_the_posts_stencil(start) -> None:
    columns, rows = np.meshgrid(np.arange(15) - 15 / 2.0, np.arange(15) - 15 / 2.0)
    spot = special.airy((np.sqrt(columns**2 + rows**2) / 5) ** 2)[0]
    found = start(stencil={"kind": "airy", "size": 15, "width": 5.0}).tables["stencil"]
    np.testing.assert_allclose(found, spot / np.max(spot), rtol=1e-12)
    assert found.max() == found[7, 7] == found[8, 8] == 1.0


def test_a_spot_in_cells_of_the_canvas(start) -> None:
    """Twice the pixel, half as many samples over the same spot; an even size has its middle on a sample."""
    fine = start(stencil={"kind": "airy", "size": 16, "width": 5.0}).tables["stencil"]
    coarse = start(
        canvas={"size": [40, 30], "pixel": 2.0}, stencil={"kind": "airy", "size": 8, "width": 5.0}
    ).tables["stencil"]
    np.testing.assert_allclose(coarse, fine[::2, ::2], rtol=1e-13)
    assert fine.argmax() == 8 * 16 + 8


SPOT = np.array([[0.0, 1.0, 2.0], [3.0, 4.0, -0.5]])


def test_a_measured_spot(start, tmp_path) -> None:
    """Numbers stand as they are, row 0 at the bottom; pictures are turned upright; the largest is 1."""
    np.save(tmp_path / "spot.npy", SPOT)
    (tmp_path / "spot.csv").write_text("# seen\n0, 1, 2\n3, 4, -0.5\n")
    Image.fromarray(GREY).save(tmp_path / "spot.PNG", "png")
    for name in ("spot.npy", "spot.csv"):
        found = start(stencil={"kind": "file", "file": name}).tables["stencil"]
        np.testing.assert_array_equal(found, SPOT / 4.0)
    found = start(stencil={"kind": "file", "file": "spot.PNG"}).tables["stencil"]
    np.testing.assert_allclose(found, GREY[::-1] / 255.0, atol=1e-15)
