"""Fields over cells as initial states: their numbers against NumPy, and all that is refused."""

from io import BytesIO
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from PIL import Image

from minusgrad.app.runs import build
from minusgrad.energies.fields import Motion
from minusgrad.errors import SceneError

SCENE = """
plugins = ["grids"]
[units]
length = "cm"
[state]
kind = "cells"
size = [3, 2]
spacing = "5 cm"
fields = { height = FIELD, speed = { kind = "constant", unit = "m s^-1", value = 2.0 } }
MORE
[[map]]
kind = "wave"
[stepper]
kind = "evolution"
dt = "1 ms"
next = { height = "height_next", speed = "speed_next" }
[run]
steps = 1
"""
FLAT = '{ kind = "constant", unit = "m" }'


@pytest.fixture
def scene(tmp_path: Path):
    """Writes a scene with this field `height`, and files beside it."""
    Image.fromarray(np.array([[0, 51, 102], [153, 204, 255]], np.uint8)).save(tmp_path / "grey.png")
    np.save(tmp_path / "numbers.npy", np.arange(6.0).reshape(2, 3))

    def write(field: str = FLAT, more: str = "") -> Path:
        path = tmp_path / "scene.toml"
        path.write_text(dedent(SCENE).replace("FIELD", field).replace("MORE", more))
        return path

    return write


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ('{ kind = "constant", unit = "m", value = "1 m" }', np.full(6, 100.0)),
        (
            '{ kind = "picture", unit = "m", file = "grey.png", dark = "10 cm", light = 0.0 }',
            [4.0, 2.0, 0.0, 10.0, 8.0, 6.0],
        ),
        ('{ kind = "array", unit = "m", file = "numbers.npy", size = "1 cm" }', np.arange(6.0)),
        (
            '{ kind = "gaussian", unit = "m", value = 2.0, width = "5 cm", centre = ["5 cm", 0.0] }',
            [2.0 * np.exp(-0.5 * (x**2 + y**2)) for y in (0, 1) for x in (-1, 0, 1)],
        ),
    ],
    ids=["constant", "picture", "array", "gaussian"],
)
def test_values_of_a_field(scene, field: str, expected) -> None:
    """Row 0 is the bottom one: the picture's last row comes first, an array's first."""
    made = build(scene(field))
    np.testing.assert_allclose(made.fields["height"].values, expected, rtol=1e-14)
    assert made.fields["speed"].values.tolist() == [2.0] * 6
    assert made.fields["share"].values.sum() == pytest.approx(1.0)
    assert made.state.grids["cells"].shape == (2, 3)
    assert made.state.grids["cells"].spacing == pytest.approx(5.0)
    assert made.fields["speed"].unit == "m s^-1"


def test_a_vector_has_components(scene) -> None:
    path = scene()
    wind = 'fields = { wind = { kind = "vector", unit = "m s^-1", value = ["1 m s^-1", 2.5] },'
    path.write_text(path.read_text().replace("fields = {", wind))
    np.testing.assert_allclose(build(path).fields["wind"].values, [[100.0, 2.5]] * 6, rtol=1e-14)


def test_a_picture_is_averaged_over_the_pixels_of_a_cell(scene) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (4, 6)).astype(np.uint8)
    path = scene('{ kind = "picture", unit = "m", file = "fine.png" }')
    Image.fromarray(pixels).save(path.parent / "fine.png")
    blocks = pixels[::-1].reshape(2, 2, 3, 2).mean(axis=(1, 3)) / 255.0
    np.testing.assert_allclose(build(path).fields["height"].values, blocks.ravel(), rtol=1e-12)


def test_a_field_that_moves(scene) -> None:
    more = 'moves = { height = { velocity = "speed", mass = "2 kg" } }'
    (motion,) = build(scene(more=more)).state.motions
    assert motion == Motion("height", "speed", 2.0)


def npy(array: np.ndarray) -> bytes:
    data = BytesIO()
    np.save(data, array)
    return data.getvalue()


def complaint(path: Path) -> str:
    with pytest.raises(SceneError) as caught:
        build(path)
    return str(caught.value).splitlines()[0].partition("scene.toml:")[2]


@pytest.mark.parametrize(
    ("field", "said"),
    [
        (
            '{ kind = "picture", unit = "m", file = "large.png" }',
            "5:2: state: 'large.png': 4 x 4 pixels are no whole number for each of 3 x 2 cells; scale the"
            " picture",
        ),
        (
            '{ kind = "array", unit = "m", file = "bad.npy" }',
            "5:2: state: 'bad.npy' is no array in NumPy's format .npy (no header of an array of numbers: EOF:"
            " reading magic string, expected 8 bytes got 2); save it with numpy.save",
        ),
        (
            '{ kind = "array", unit = "m", file = "long.npy" }',
            "5:2: state: 'long.npy' holds an array of shape (3, 2) of float64; needs numbers for (2, 3)"
            " cells",
        ),
        (
            '{ kind = "array", unit = "m", file = "words.npy" }',
            "5:2: state: 'words.npy' holds an array of shape (2, 3) of <U1; needs numbers for (2, 3) cells",
        ),
        (
            '{ kind = "constant", unit = "m/s" }',
            "9:49: state.fields.height.unit: needs powers, as in 'm s^-1', got 'm/s'",
        ),
        (
            '{ kind = "constant", unit = "m", value = "1 kg" }',
            "5:2: state: '1 kg' is a mass, but 'm' (length)",
        ),
    ],
)
def test_fields_that_are_refused(scene, field: str, said: str) -> None:
    path = scene(field)
    Image.fromarray(np.zeros((4, 4), np.uint8)).save(path.parent / "large.png")
    for name, data in {
        "bad": b"no",
        "long": npy(np.zeros((3, 2))),
        "words": npy(np.full((2, 3), "x")),
    }.items():
        (path.parent / f"{name}.npy").write_bytes(data)
    assert complaint(path).startswith(said)


def test_names_that_are_refused(scene) -> None:
    more = 'moves = { depth = { velocity = "speed" } }'
    assert complaint(scene(more=more)) == (
        "10:9: state: moves: no field named 'depth' (there are: height, speed); name one of them"
    )
    path = scene()
    path.write_text(path.read_text().replace("speed = {", "share = {"))
    assert complaint(path) == (
        "9:10: state: fields: 'share' is the share of a cell in a mean; give the field another name"
    )
