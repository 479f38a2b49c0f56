"""States of a deposition that are refused: keys, files, pictures beyond the memory."""

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

import minusgrad_laser
from minusgrad.app.runs import build
from minusgrad.engine import memory
from minusgrad.errors import SceneError, UserError, pip_line
from minusgrad.files.bounded import images
from minusgrad.scene.json_schema import schema_of
from minusgrad_laser.states import LaserPath
from tests.plugins.laser.starts import DARK, GREY, drawn, register_energies
from tests.support.command import SCENES

alone = ModuleType("alone")
"""The plugin's states and observers without its energies."""
alone.register_states = minusgrad_laser.register_states  # type: ignore[attr-defined]
alone.register_observers = minusgrad_laser.register_observers  # type: ignore[attr-defined]
alone.register_energies = register_energies  # type: ignore[attr-defined]


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
        "6:10: state: canvas: size = [columns, rows] is missing; the disc has none of its own"),
    "no size for a butterfly": (
        {"canvas": "", "target": '{ kind = "butterfly" }'},
        "4:2: state: canvas: size = [columns, rows] is missing; the butterfly has none of its own"),
    "a kind of target that is none": (
        {"target": '{ kind = "buterfly" }'},
        "7:19: state.target.kind: needs 'butterfly', 'disc', 'drawing', 'image', 'svg' or"
        " 'text', not 'buterfly'; did you mean 'butterfly'?"),
    "a target of no kind": (
        {"target": "{ radius = 9.0 }"}, "7:10: state.target.kind: required, but missing"),
    "a target that is no table": ({"target": "9.0"}, "7:10: state.target: needs a table, not 9.0"),
    "a kind of path that is none": (
        {"path": '{ kind = "wonder" }'},
        "8:17: state.path.kind: needs 'wander', 'hatch', 'raster', 'contours', 'outlines', 'spiral' or"
        " 'file', not 'wonder'; did you mean 'wander'?"),
    "a key of another kind": (
        {"target": '{ kind = "butterfly", radius = 9.0 }'},
        "7:32: state.target.radius: no key 'radius'; did you mean 'radius'? (keys: align, axes, centre,"
        " colours, crop, dpi, file, font, fonts, invert, kerning, kind, layers, length, letter_spacing,"
        " line_spacing, margin, measure, pixel, radius, scale, size, stroke, text, width)"),
    "a key of the kind of its name": (
        {"path": '{ kind = "file", file = "a.csv", length = 5 }'},
        "8:50: state.path.length: needs text in quotes, not 5"),
    "a disc beside the canvas": (
        {"target": '{ kind = "disc", radius = 1.0, centre = [99.0, 9.0] }'},
        "7:10: state: target: the disc is 0 in every cell: there is nothing to draw"),
    "a disc over all": (
        {"target": '{ kind = "disc", radius = 99.0 }'},
        "7:10: state: target: the disc is 1 in every cell: there is nothing to draw"),
    "a path of one point": (
        {"path": '{ kind = "wander", points = 1, extent = 4.0 }'},
        "8:36: state.path.points: needs a whole number of at least 2, not 1"),
    "a path that is too wide": (
        {"path": '{ kind = "spiral", pitch = 5.0, radius = 19.0 }'},
        "8:8: state: path: path outside the field: point 33 of 46 lies at x = 22.0662 m, y = 30.4173 m;"
        " the field goes from 0 to 39 m along x and to 29 m along y (6 points are outside)"),
    "no room in the margins": (
        {"path": '{ kind = "hatch", pitch = 1.0, margin = 15.0 }'},
        "8:8: state: path: the field less a margin of 15 on each side has no room for a curve"),
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
    place = {"target": "7:10", "power": "9:9"}.get(message.partition(": ")[0], "4:2")
    assert complaint(scene(**keys)) == f"{place}: state: {message}"


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
    assert complaint(scene(path=hatch)) == f"8:8: state: path: 1020 points: 2.04 {cure}"
    spiral = '{ kind = "spiral", pitch = 1.0, spacing = 0.6 }'
    assert complaint(scene(path=spiral)) == f"8:8: state: path: 1102 points: 2.2 {cure}"


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
