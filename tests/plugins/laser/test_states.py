"""What a deposition starts from: targets, curves, spots against formulas of others; what is refused."""

import dataclasses
import json
import struct
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy import special

import minusgrad_laser
from minusgrad import Fields, Node, hookimpl, local_energy
from minusgrad.app.runs import build
from minusgrad.assembly.contexts import ObserverContext, StateContext
from minusgrad.energies.fields import State
from minusgrad.engine import memory
from minusgrad.errors import EnergyError, SceneError, UserError, pip_line
from minusgrad.files.bounded import images
from minusgrad.files.h5md import Raster
from minusgrad.files.trajectory import Recorder
from minusgrad.scene.json_schema import schema_of
from minusgrad.scene.units import UnitSystem
from minusgrad_laser.dose import stencils
from minusgrad_laser.observers import OBSERVERS, travel
from minusgrad_laser.scores import edge_placement
from minusgrad_laser.states import LaserPath

SCENES = Path(__file__).parents[3] / "scenes"


@local_energy("anchor", over="nodes", x=Node("m"))
def anchor(x):
    """A spring to 0 along x: something to minimise."""
    return x[0] * x[0]


@hookimpl
def register_energies():
    return [anchor]


alone = ModuleType("alone")
"""The plugin's states and observers without its energies."""
alone.register_states = minusgrad_laser.register_states  # type: ignore[attr-defined]
alone.register_observers = minusgrad_laser.register_observers  # type: ignore[attr-defined]
alone.register_energies = register_energies  # type: ignore[attr-defined]

BLOCK: dict[str, Any] = {
    "canvas": {"size": [40, 30]},
    "target": {"kind": "disc", "radius": 9.0},
    "path": {"kind": "hatch", "pitch": 5.0},
    "power": 0.02,
    "speed": 2.0,
}


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., State]:
    """The state of BLOCK with other keys (None: left out), in a folder of its own, in any units."""

    def make(units: UnitSystem | None = None, seed: int = 0, folder: Path = tmp_path, **keys: Any) -> State:
        values = {key: value for key, value in (BLOCK | keys).items() if value is not None}
        units = units or UnitSystem.dimensionless()
        block = LaserPath.model_validate_json(json.dumps(values), context={"units": units})
        return block.make(StateContext(units, seed, folder))

    return make


def target(state: State) -> np.ndarray:
    """As rows and columns."""
    return state.fields["target"].reshape(state.grids["canvas"].shape)


def path(state: State) -> np.ndarray:
    return np.stack([state.fields["x"], state.fields["y"]], axis=1)


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


# Pictures ------------------------------------------------------------------------------------------------

GREY = np.array([[0, 51, 255], [255, 102, 0]], np.uint8)  # the top row first
DARK = 1.0 - GREY[::-1] / 255.0


def drawn(start: Callable, image: Image.Image, name: str = "p.png", invert: bool = False, **keys: Any):
    """The target that a picture makes, in a canvas of its own size."""
    folder = keys.pop("folder")
    image.save(folder / name, **keys)
    source = {"kind": "image", "file": name, "invert": invert}
    return target(start(canvas=None, target=source, path={"kind": "hatch", "pitch": 0.5}))


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


# What is refused -----------------------------------------------------------------------------------------

HEAD = 'plugins = []\n[units]\nsystem = "si"\n[state]\nkind = "laser_path"\n'
KEYS = {
    "canvas": "{ size = [40, 30] }",
    "target": '{ kind = "disc", radius = 9.0 }',
    "path": '{ kind = "hatch", pitch = 5.0 }',
    "power": "0.02",
    "speed": "2.0",
}
TAIL = """\
[[energy]]
kind = "anchor"
[stepper]
kind = "gradient_descent"
fields = { x = {} }
[run]
steps = 1
"""


@pytest.fixture
def scene(tmp_path: Path) -> Callable[..., Path]:
    """A scene file with other keys in its state (empty: left out), and more at its end."""

    def write(more: str = "", **keys: str) -> Path:
        lines = [f"{key} = {text}\n" for key, text in (KEYS | keys).items() if text]
        file = tmp_path / "scene.toml"
        file.write_text(HEAD + "".join(lines) + TAIL + more)
        return file

    return write


def complaint(scene: Path) -> str:
    """What is wrong with a scene, less its name."""
    with pytest.raises(SceneError) as refused:
        build(scene, plugins=[alone])
    return str(refused.value).replace(f"{scene}:", "")


def test_a_scene_is_built(scene) -> None:
    state = build(scene(stencil='{ kind = "airy", size = 9, width = 3.0 }'), plugins=[alone]).state
    assert state.tables["stencil"].shape == (9, 9)


def png_claiming(width: int, height: int) -> bytes:
    """A PNG of a few bytes whose head speaks of many pixels."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(b"\0"))
        + chunk(b"IEND", b"")
    )


def saved(image: Image.Image, file: Path, **keys: Any) -> bytes:
    image.save(file, **keys)
    return file.read_bytes()


def npy(array: np.ndarray, folder: Path) -> bytes:
    np.save(folder / "made.npy", array)
    return (folder / "made.npy").read_bytes()


GREY_IMAGE, IMAGE = Image.fromarray(GREY), '{ kind = "image", file = "a.png" }'
FILE, SPOT_FILE = '{ kind = "file", file = "a.csv" }', '{ kind = "file", file = "s.npy" }'
ABOVE = "needs a quantity above 0, not"
RIGHT = {"canvas": "{}", "target": IMAGE}

REFUSED: dict[str, tuple[dict[str, str], str]] = {
    "no speed": ({"speed": "0.0"}, f"10:9: state.speed: {ABOVE} 0.0"),
    "a negative speed": ({"speed": '"-1 mm/s"'}, f"10:9: state.speed: {ABOVE} '-1 mm/s'"),
    "a negative power": ({"power": "-0.1"}, "9:9: state.power: needs a quantity of at least 0, not -0.1"),
    "power in another unit": (
        {"power": '"1 J"'}, "9:9: state.power: '1 J' is an energy, but 'W' (power) is needed"),
    "no power": ({"power": ""}, "4:2: state: power: give it here or in the path's file"),
    "speed left out": ({"speed": ""}, "4:2: state: speed: give it here or in the path's file"),
    "no pixel": ({"canvas": "{ size = [4, 4], pixel = 0.0 }"}, f"6:35: state.canvas.pixel: {ABOVE} 0.0"),
    "no rows": (
        {"canvas": "{ size = [4, 0] }"}, "6:23: state.canvas.size.1: needs a number of at least 1, not 0"),
    "no size": (
        {"canvas": "{}"},
        "4:2: state: canvas: size = [columns, rows] is missing; the disc has none of its own"),
    "no size for a butterfly": (
        {"canvas": "", "target": '{ kind = "butterfly" }'},
        "4:2: state: canvas: size = [columns, rows] is missing; the butterfly has none of its own"),
    "a kind of target that is none": (
        {"target": '{ kind = "buterfly" }'},
        "7:19: state.target.kind: needs 'butterfly', 'disc', 'image' or 'svg', not 'buterfly';"
        " did you mean 'butterfly'?"),
    "a target of no kind": (
        {"target": "{ radius = 9.0 }"}, "7:10: state.target.kind: required, but missing"),
    "a target that is no table": ({"target": "9.0"}, "7:10: state.target: needs a table, not 9.0"),
    "a kind of path that is none": (
        {"path": '{ kind = "wonder" }'},
        "8:17: state.path.kind: needs 'wander', 'hatch', 'raster', 'contours', 'spiral' or 'file', not"
        " 'wonder'; did you mean 'wander'?"),
    "a key of another kind": (
        {"target": '{ kind = "butterfly", radius = 9.0 }'},
        "7:32: state.target.radius: no key 'radius'; did you mean 'radius'? (keys: centre, crop, dpi,"
        " file, invert, kind, margin, pixel, radius, scale, width)"),
    "a key of the kind of its name": (
        {"path": '{ kind = "file", file = "a.csv", length = 5 }'},
        "8:50: state.path.length: needs text in quotes, not 5"),
    "a disc beside the canvas": (
        {"target": '{ kind = "disc", radius = 1.0, centre = [99.0, 9.0] }'},
        "4:2: state: target: the disc is 0 in every cell: there is nothing to draw"),
    "a disc over all": (
        {"target": '{ kind = "disc", radius = 99.0 }'},
        "4:2: state: target: the disc is 1 in every cell: there is nothing to draw"),
    "a path of one point": (
        {"path": '{ kind = "wander", points = 1, extent = 4.0 }'},
        "8:36: state.path.points: needs a whole number of at least 2, not 1"),
    "a path that is too wide": (
        {"path": '{ kind = "spiral", pitch = 5.0, radius = 19.0 }'},
        "4:2: state: path: path outside the field: point 33 of 46 lies at x = 22.0662 m, y = 30.4173 m;"
        " the field goes from 0 to 39 m along x and to 29 m along y (6 points are outside)"),
    "no room in the margins": (
        {"path": '{ kind = "hatch", pitch = 1.0, margin = 15.0 }'},
        "4:2: state: path: the field less a margin of 15 on each side has no room for a curve"),
    "a picture that is not there": (
        {"target": '{ kind = "image", file = "b.png" }'},
        "4:2: state: cannot read 'b.png' (No such file or directory); paths start at the scene's folder"),
    "a picture outside the folder": (
        {"target": '{ kind = "image", file = "../b.png" }'},
        "4:2: state: '../b.png' lies outside the scene's folder; copy it there"),
    "a stencil of no width": (
        {"stencil": '{ kind = "airy", size = 15, width = 0.0 }'}, f"11:47: state.stencil.width: {ABOVE} 0.0"),
    "a stencil of no size": (
        {"stencil": '{ kind = "airy", size = 0, width = 1.0 }'},
        "11:35: state.stencil.size: needs a whole number of at least 1 and of at most 32768, not 0"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(scene, case: str) -> None:
    keys, message = REFUSED[case]
    assert complaint(scene(**keys)) == message


def test_all_mistakes_are_told_at_once(scene) -> None:
    message = complaint(
        scene(speed="0.0", target='{ kind = "disc" }', path='{ kind = "hatch", pitch = -1.0 }')
    )
    assert message.splitlines() == [
        "7:10: state.target.radius: required, but missing",
        f"8:34: state.path.pitch: {ABOVE} -1.0",
        f"10:9: state.speed: {ABOVE} 0.0",
    ]


FILES: dict[str, tuple[str, Callable[[Path], bytes], dict[str, str], str]] = {
    "an empty picture": ("a.png", lambda _: b"", RIGHT, "'a.png' is empty (0 bytes)"),
    "no picture": (
        "a.png", lambda _: b"%PDF-1.4 ...", RIGHT,
        "'a.png' is no image that can be read (PNG, TIFF, BMP, JPEG)"),
    "half a picture": (
        "a.png", lambda p: (SCENES / "data" / "silhouette.png").read_bytes()[:500], RIGHT,
        "'a.png' is damaged: image file is truncated; save it again"),
    "a constant picture": (
        "a.png", lambda p: saved(Image.new("L", (40, 30), 51), p), {"target": IMAGE},
        "target: 'a.png' is 0.8 in every cell: there is nothing to draw"),
    "a picture of NaN": (
        "a.tif", lambda p: saved(Image.fromarray(np.array([[0.5, 0.5], [0.5, np.nan]], np.float32)), p),
        RIGHT | {"target": IMAGE.replace("png", "tif")},
        "'a.tif' has nan in row 1 from the top, column 1; numbers in a picture go from 0 (dark)"
        " to 1 (light)"),
    "a picture beyond light": (
        "a.tif", lambda p: saved(Image.fromarray(np.array([[0.5, 1.5]], np.float32)), p),
        RIGHT | {"target": IMAGE.replace("png", "tif")},
        "'a.tif' has 1.5 in row 0 from the top, column 1; numbers in a picture go from 0 (dark)"
        " to 1 (light)"),
    "a picture of another size": (
        "a.png", lambda p: saved(GREY_IMAGE, p), {"target": IMAGE},
        "'a.png' has 3 x 2 pixels, and the canvas 40 x 30 cells; scale the image, or leave canvas.size out"),
    "several pages": (
        "a.tif", lambda p: saved(GREY_IMAGE, p, save_all=True, append_images=[GREY_IMAGE]),
        RIGHT | {"target": IMAGE.replace("png", "tif")},
        "'a.tif' has 2 pages; save the one that is meant as a file of its own"),
    "an empty path": ("a.csv", lambda _: b"", {"path": FILE}, "a.csv: has no rows; add at least one"),
    "a path of no points": (
        "a.csv", lambda _: b"x,y\n", {"path": FILE},
        "a.csv: has no rows below the column names; add at least one"),
    "a path of no length": (
        "a.csv", lambda _: b"x,y\n1,2\n", {"path": FILE}, "'a.csv' has 1 points; a path has 2 at least"),
    "a path without y": (
        "a.csv", lambda _: b"x,z\n1,2\n", {"path": FILE}, "a.csv: no column named 'y' (there are: x, z)"),
    "a path with two x": (
        "a.csv", lambda _: b"x,y,x\n1,2,3\n", {"path": FILE},
        "a.csv: 2 columns are named 'x'; give each its own name"),
    "a row that is short": (
        "a.csv", lambda _: b"# plot\nx,y\n1,2\n3\n", {"path": FILE},
        "a.csv:4: needs as many values as the first row, 2, got 1"),
    "a point that is no number": (
        "a.csv", lambda _: b"x,y\n1,2\n3,four\n", {"path": FILE},
        "a.csv:3: column 'y': needs a finite number, got 'four'"),
    "NaN power": (
        "a.csv", lambda _: b"x,y,power\n1,2,1\n# on\n3,4,nan\n", {"path": FILE, "power": ""},
        "a.csv:4: column 'power': needs a finite number, got 'nan'"),
    "negative power": (
        "a.csv", lambda _: b"x,y,power\n1,2,1\n3,4,-0.5\n", {"path": FILE, "power": ""},
        "a.csv:3: column 'power': needs a power of at least 0, got '-0.5'"),
    "zero speed": (
        "a.csv", lambda _: b"x,y,speed\n1,2,0\n3,4,1\n", {"path": FILE, "speed": ""},
        "a.csv:2: column 'speed': needs a speed above 0, got '0'"),
    "half a lit move": (
        "a.csv", lambda _: b"x,y,lit\n1,2,0\n3,4,0.5\n", {"path": FILE},
        "a.csv:3: column 'lit': needs 0 or 1, got '0.5'"),
    "power twice": (
        "a.csv", lambda _: b"x,y,power\n1,2,1\n3,4,1\n", {"path": FILE},
        "power: the path's file has it too"),
    "a path outside the field": (
        "a.csv", lambda _: b"x,y\n1,2\n3,29.5\n-1,0\n", {"path": FILE},
        "'a.csv': path outside the field: point 1 of 3 lies at x = 3 m, y = 29.5 m; the field goes from 0 to"
        " 39 m along x and to 29 m along y (2 points are outside)"),
    "no unit": (
        "a.csv", lambda _: b"x,y\n1,2\n3,4\n", {"path": FILE.replace(" }", ', length = "W" }')},
        "'1 W' is a power, but 'm' (length) is needed"),
    "a spot that is no array": (
        "s.npy", lambda _: b"PK", {"stencil": SPOT_FILE},
        "'s.npy' is no array in NumPy's format .npy (no header of an array of numbers: EOF: reading magic"
        " string, expected 8 bytes got 2); save it with numpy.save"),
    "a spot of one axis": (
        "s.npy", lambda p: npy(np.ones(3), p.parent), {"stencil": SPOT_FILE},
        "'s.npy' holds an array of shape (3,) of float64; a spot is rows and columns of numbers"),
    "a spot of NaN": (
        "s.npy", lambda p: npy(np.array([[1.0, 2.0], [np.nan, 1.0]]), p.parent), {"stencil": SPOT_FILE},
        "'s.npy' has nan in row 1, column 0"),
    "a spot of nothing": (
        "s.npy", lambda p: npy(np.zeros((2, 2)), p.parent), {"stencil": SPOT_FILE},
        "'s.npy': no sample of the spot is above 0, so it deposits nothing"),
    "a spot of words": (
        "s.csv", lambda _: b"1,2\n3,x\n", {"stencil": SPOT_FILE.replace("npy", "csv")},
        "s.csv:2: column 2: needs a finite number, got 'x'"),
}  # fmt: skip


@pytest.mark.parametrize("case", FILES)
def test_refused_files(scene, tmp_path, case: str) -> None:
    name, made, keys, message = FILES[case]
    (tmp_path / name).write_bytes(made(tmp_path / name))
    assert complaint(scene(**keys)) == f"4:2: state: {message}"


def test_a_picture_beyond_the_memory_is_never_decoded(scene, tmp_path, monkeypatch) -> None:
    """Nor is Pillow's own limit in the way of one that fits; it is put back."""
    monkeypatch.setattr(memory, "free", lambda: memory.Free(5_000_000_000))
    monkeypatch.setattr(images, "_image_channels", lambda image: pytest.fail("decoded"))
    (tmp_path / "a.png").write_bytes(claiming := png_claiming(60_000, 50_000))
    limit = Image.MAX_IMAGE_PIXELS
    assert images.decoded("a.png", claiming, 5_000_000_000) == {"large": [60_000, 50_000]}
    assert complaint(scene(**RIGHT)) == (
        "4:2: state: 'a.png': 60000 x 50000 pixels: 600 GB of memory needed, 5 GB free; scale it down"
    )
    assert limit == Image.MAX_IMAGE_PIXELS


def test_pillows_own_limit_is_not_in_the_way(start, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 2)
    np.testing.assert_allclose(drawn(start, GREY_IMAGE, folder=tmp_path), DARK, atol=1e-15)
    (image,) = tmp_path.iterdir()
    np.testing.assert_array_equal(
        images.decoded(image.name, image.read_bytes(), 10**9)["light"],
        images.read("a", image.read_bytes())[0],
    )
    assert Image.MAX_IMAGE_PIXELS == 2


def test_counts_beyond_the_memory(scene, monkeypatch) -> None:
    monkeypatch.setattr(memory, "free", lambda: memory.Free(1_000_000))
    assert complaint(scene(canvas="{ size = [100, 200] }")) == (
        "6:19: state.canvas.size: 20000 cells: 4 MB of memory needed, 1 MB free"
    )
    cure = "MB of memory needed, 1 MB free; increase `pitch` or `spacing`"
    hatch = '{ kind = "hatch", pitch = 1.0, spacing = 1.2 }'
    assert complaint(scene(path=hatch)) == f"4:2: state: path: 1020 points: 2.04 {cure}"
    spiral = '{ kind = "spiral", pitch = 1.0, spacing = 0.6 }'
    assert complaint(scene(path=spiral)) == f"4:2: state: path: 1102 points: 2.2 {cure}"


def test_without_pillow_the_extra_is_named(scene, tmp_path, monkeypatch) -> None:
    (tmp_path / "a.png").write_bytes(b"...")
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert complaint(scene(**RIGHT)) == f"4:2: state: 'a.png': needs Pillow: {pip_line('image')}"
    assert build(scene(), plugins=[alone]).state, "and other targets need it not"


def test_a_curve_that_does_not_wander(start) -> None:
    """Some seed draws 0 twice."""
    still = next(s for s in range(1000) if not np.random.RandomState(s).randint(-5, 5, size=2).any())
    message = "path: the curve does not leave its line, or its point; take more points"
    with pytest.raises(UserError, match=f"^{message}$"):
        start(seed=still, path={"kind": "wander", "points": 2, "extent": 1.0})


def test_the_schema_lists_every_kind() -> None:
    """Those that are, and not the one that stands for all others."""
    schema = schema_of({"state": {"laser_path": LaserPath}})
    kinds = {
        table["properties"]["kind"].get("const")
        for table in schema["$defs"].values()
        if "kind" in table.get("properties", {})
    }
    assert kinds >= {"butterfly", "disc", "image", "wander", "hatch", "spiral", "file", "airy", "laser_path"}
    assert not [name for name in schema["$defs"] if "Unknown" in name]


# What is seen --------------------------------------------------------------------------------------------


class WithDose(LaserPath):
    """A state with a dose of its own, which nobody maintains."""

    def make(self, context: StateContext) -> State:
        state = super().make(context)
        dose = np.linspace(0.0, 2.0, len(state.fields["target"]))
        return dataclasses.replace(
            state, fields=dict(state.fields) | {"dose": dose}, units=dict(state.units) | {"dose": "1"}
        )


dosed = ModuleType("dosed")


@hookimpl
def register_states():
    return {"laser_path": WithDose}


dosed.register_states, dosed.register_energies = register_states, register_energies  # type: ignore[attr-defined]


@pytest.fixture
def looking(scene) -> Callable[..., ObserverContext]:
    def look(recorder: Recorder) -> ObserverContext:
        s = build(scene(), plugins=[dosed])
        return ObserverContext(s.units, s.stepper, recorder, s.state.labels, s.state, s.stepper.system)

    return look


def seen(observer) -> dict[str, np.ndarray]:
    """The values of what an observer has recorded, by series."""
    state = observer.recorder.state()
    return {name.removesuffix("/value"): rows for name, rows in state.items() if name.endswith("/value")}


def recorder() -> Recorder:
    return Recorder({}, ("s", 1.0), grids={"canvas": Raster((30, 40), 1.0, ("m", 1.0))})


SCORES = (
    "intersection_over_union",
    "edge_error_mean",
    "edge_error_95_percent",
    "edge_error_max",
    "over_exposed_area",
    "under_exposed_area",
)


def test_a_deposition_is_seen(looking) -> None:
    raster = Raster((30, 40), 1.0, ("m", 1.0))
    context = looking(recorder())
    noted = Recorder({}, ("s", 1.0), context.state.tuples, grids={"canvas": raster})
    context = dataclasses.replace(context, recorder=noted)
    fields = context.stepper.potential.fields
    block = OBSERVERS["deposition"].model_validate({"every": 3})
    observer = block.make(context)
    late = np.random.default_rng(0).uniform(0.0, 1.5, 1200)
    context.stepper.potential.refresh = lambda t: fields["dose"].set(late)
    rng = np.random.default_rng(1)
    n = len(fields["x"])
    for name in ("x", "y", "power", "speed"):
        fields[name].set(rng.uniform(0.5, 3.0, n))
    before = {name: f.values.copy() for name, f in fields.items() if name != "dose"}
    observer.observe()
    assert all(np.array_equal(fields[name].values, values) for name, values in before.items())
    assert observer.trigger.n == 3
    found, aim = seen(observer), before["target"]
    np.testing.assert_array_equal(found["grids/canvas/dose"][0], late.reshape(30, 40))
    np.testing.assert_array_equal(found["grids/canvas/error"][0], (late - aim).reshape(30, 40))
    xy = np.column_stack([before["x"], before["y"]])
    np.testing.assert_array_equal(found["particles/all/position"][0], xy)
    for name in ("power", "speed"):
        np.testing.assert_array_equal(found[f"cells/segments/{name}"][0], before[name][1:])
    assert found["observables/mean_square_error"][0] == pytest.approx(np.mean((late - aim) ** 2), rel=1e-13)
    assert found["observables/peak_dose"][0] == late.max()
    length = np.linalg.norm(np.diff(xy, axis=0), axis=1)
    assert found["observables/path_length"][0] == pytest.approx(length.sum(), rel=1e-13)
    assert found["observables/job_time"][0] == pytest.approx((length / before["speed"][1:]).sum(), rel=1e-13)
    assert set(found) == {
        "grids/canvas/dose", "grids/canvas/error", "particles/all/position", "cells/segments/power",
        "cells/segments/speed", "observables/mean_square_error", "observables/peak_dose",
        "observables/path_length", "observables/job_time", *(f"observables/{name}" for name in SCORES),
    }  # fmt: skip
    cut, wanted = late > 0.5, aim > 0.5
    overlap = (cut & wanted).sum() / (cut | wanted).sum()
    assert found["observables/intersection_over_union"][0] == pytest.approx(overlap, rel=1e-13)
    assert found["observables/over_exposed_area"][0] == (cut & ~wanted).sum()
    assert found["observables/under_exposed_area"][0] == (wanted & ~cut).sum()
    placed = edge_placement(late.reshape(30, 40), aim.reshape(30, 40), 1.0)
    for name, value in zip(
        SCORES[1:4], (placed.mean, placed.quantile(0.95), placed.largest_error), strict=True
    ):
        assert found[f"observables/{name}"][0] == pytest.approx(value, rel=1e-12)


def test_a_developed_map_is_scored_in_place_of_the_dose(looking) -> None:
    """And the time of planned motion stands in place of length over speed."""
    context = looking(recorder())
    fields = context.stepper.potential.fields
    noted = Recorder(
        {}, ("s", 1.0), context.state.tuples, grids={"canvas": Raster((30, 40), 1.0, ("m", 1.0))}
    )
    aim = fields["target"].values.astype(float)
    more = {"developed": aim, "duration": np.full(len(fields["x"]), 0.25)}
    both = Fields({name: f.values for name, f in fields.items()} | more)
    context.stepper.potential.fields = both
    context.stepper.fields = both
    context.stepper.potential.refresh = lambda t: None
    context = dataclasses.replace(context, recorder=noted)
    observer = OBSERVERS["deposition"].model_validate({"every": 1}).make(context)
    observer.observe()
    found = seen(observer)
    assert found["observables/intersection_over_union"][0] == 1.0
    assert found["observables/edge_error_max"][0] < 1e-12
    assert found["observables/job_time"][0] == 0.25 * len(both["x"])
    np.testing.assert_array_equal(found["grids/canvas/developed"][0], aim.reshape(30, 40))


def test_units_of_what_is_seen(looking) -> None:
    notes = recorder()
    OBSERVERS["deposition"].model_validate({"every": 1, "dose": "power"})
    OBSERVERS["deposition"].model_validate({"every": 1}).make(looking(notes))
    assert notes._units == {
        "dose": ("1", 1.0), "error": ("1", 1.0), "peak_dose": ("1", 1.0), "mean_square_error": ("1", 1.0),
        "job_time": ("s", 1.0), "path_length": ("m", 1.0), "position": ("m", 1.0),
        "power": ("m^2 kg s^-3", 1.0), "speed": ("m s^-1", 1.0), "intersection_over_union": ("1", 1.0),
        "edge_error_mean": ("m", 1.0), "edge_error_95_percent": ("m", 1.0), "edge_error_max": ("m", 1.0),
        "over_exposed_area": ("m^2", 1.0), "under_exposed_area": ("m^2", 1.0),
    }  # fmt: skip


def test_a_hatch_takes_so_long(start) -> None:
    """5 lines of 35 m and 4 steps of 6 m, at 2 m/s."""
    state = start(path={"kind": "hatch", "pitch": 6.0, "spacing": 1.0, "margin": 2.0})
    found = travel(Fields(state.fields), state.tuples["segments"])
    assert found == pytest.approx({"path_length": 199.0, "job_time": 99.5}, rel=1e-13)


def test_an_observer_that_has_no_dose(looking) -> None:
    context = looking(recorder())
    n = len(context.state.fields["x"])
    for name, message in (
        (
            "dosis",
            "no field named 'dosis'; did you mean 'dose'?"
            " (there are: x, y, power, speed, lit, target, share, dose)",
        ),
        ("power", f"dose: field 'power' has shape ({n},); the canvas has 1200 cells"),
    ):
        with pytest.raises((EnergyError, UserError)) as refused:
            OBSERVERS["deposition"].model_validate({"every": 1, "dose": name}).make(context)
        assert str(refused.value) == message
    bare = dataclasses.replace(context, state=dataclasses.replace(context.state, grids={}))
    with pytest.raises(UserError, match=r"^the state has no canvas; take \[state\] kind = 'laser_path'$"):
        OBSERVERS["deposition"].model_validate({"every": 1}).make(bare)
