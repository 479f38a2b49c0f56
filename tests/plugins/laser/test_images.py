"""Pictures with a scale: resolutions in files, averages over cells, places on a canvas, refusals."""

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, TiffImagePlugin

from minusgrad.engine import memory
from minusgrad.errors import UserError
from minusgrad.files.bounded import images
from minusgrad.scene.units import UnitSystem

from .starts import made, target

pytestmark = pytest.mark.unit
MM = UnitSystem.of("mm", "kg", "ms")
GREY = np.random.default_rng(0).integers(0, 256, size=(12, 18), dtype=np.uint8)
DARK = 1.0 - GREY / 255.0


def drawn(
    folder: Path, cell: str, size: Any = None, units: UnitSystem = MM, name: str = "a.png", **keys: Any
):
    """The target of a picture, top row first."""
    state = made(
        folder, units, canvas={"pixel": cell, "size": size},
        target={"kind": "image", "file": name} | keys, path={"kind": "hatch", "pitch": cell},
    )  # fmt: skip
    return target(state)[::-1]


def saved(folder: Path, name: str = "a.png", grey: np.ndarray = GREY, **keys: Any) -> bytes:
    Image.fromarray(grey).save(folder / name, **keys)
    return (folder / name).read_bytes()


def with_chunk(png: bytes, x: int, y: int, unit: int) -> bytes:
    """A PNG with the chunk pHYs, written by hand."""
    body = b"pHYs" + struct.pack(">IIB", x, y, unit)
    return png[:33] + struct.pack(">I", 9) + body + struct.pack(">I", zlib.crc32(body)) + png[33:]


def tiff(folder: Path, x: float, y: float, unit: int | None) -> bytes:
    """A TIFF with the tags of a resolution."""
    tags = TiffImagePlugin.ImageFileDirectory_v2()
    tags[282], tags[283] = x, y
    if unit is not None:
        tags[296] = unit
    return saved(folder, "a.tif", tiffinfo=tags)


def test_resolutions_of_files(tmp_path: Path) -> None:
    """In pixels per metre, from what the formats' standards say."""
    png = saved(tmp_path)
    assert images.resolution("a", png) is None
    assert images.resolution("a", with_chunk(png, 50_000, 40_000, 1)) == pytest.approx((50_000, 40_000))
    assert images.resolution("a", with_chunk(png, 2, 1, 0)) is None, "only the pixel's shape"
    assert images.resolution("a", tiff(tmp_path, 254.0, 508.0, 2)) == pytest.approx((10_000, 20_000))
    assert images.resolution("a", tiff(tmp_path, 500.0, 500.0, 3)) == pytest.approx((50_000, 50_000))
    assert images.resolution("a", tiff(tmp_path, 1.0, 1.0, 1)) is None
    assert images.resolution("a", tiff(tmp_path, 254.0, 254.0, None)) == pytest.approx((10_000, 10_000))
    assert images.resolution("a", saved(tmp_path, "a.tif")) is None
    assert images.resolution("a", saved(tmp_path, "a.jpg")) is None
    assert images.resolution("a", saved(tmp_path, "a.jpg", dpi=(254, 254))) == pytest.approx((10_000, 10_000))
    assert images.resolution("a", saved(tmp_path, "a.bmp", dpi=(254, 254))) == pytest.approx(
        (10_000, 10_000), 1e-4
    )


def test_a_turned_picture_has_its_axes_turned(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = with_chunk(saved(tmp_path, exif=exif), 50_000, 25_000, 1)
    assert images.resolution("a", turned) == pytest.approx((25_000, 50_000))
    (tmp_path / "a.png").write_bytes(turned)
    assert drawn(tmp_path, "10 um", scale="file").shape == (36, 48)


def test_pixel_for_pixel(tmp_path: Path) -> None:
    """A resolution equal to the canvas's changes no number, though the file has 1 / 25.4 um rounded."""
    (tmp_path / "a.png").write_bytes(with_chunk(saved(tmp_path), 39_370, 39_370, 1))
    np.testing.assert_array_equal(drawn(tmp_path, "25.4 um", scale="file"), DARK)
    np.testing.assert_array_equal(drawn(tmp_path, "20 um", pixel="20 um"), DARK)
    np.testing.assert_array_equal(drawn(tmp_path, "20 um", width="0.36 mm"), DARK)
    np.testing.assert_array_equal(drawn(tmp_path, "100 um", dpi=254.0), DARK)


def test_cells_get_averages_over_their_area(tmp_path: Path) -> None:
    """Against sums over a grid so fine that each pixel and each cell is a whole number of its squares."""
    saved(tmp_path)
    halves = drawn(tmp_path, "20 um", pixel="10 um")
    np.testing.assert_allclose(halves, DARK.reshape(6, 2, 9, 2).mean(axis=(1, 3)), atol=1e-12)
    doubled = drawn(tmp_path, "5 um", pixel="10 um")
    np.testing.assert_allclose(doubled, np.kron(DARK, np.ones((2, 2))), atol=1e-12)
    fine = np.kron(DARK, np.ones((3, 3)))  # squares of 10 / 3 um
    fine = np.pad(fine, ((0, 0), (0, 2)))  # 54 squares along x are 13.5 cells
    fine = np.pad(fine[::-1], ((0, 0), (0, 0)))
    mixed = drawn(tmp_path, f"{40 / 3} um", pixel="10 um")
    assert mixed.shape == (9, 14)
    np.testing.assert_allclose(mixed[::-1], fine.reshape(9, 4, 14, 4).mean(axis=(1, 3)), atol=1e-12)
    assert mixed.sum() * (40 / 3) ** 2 == pytest.approx(DARK.sum() * 100.0, rel=1e-12), "the dose is kept"


def test_pixels_that_are_not_square(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(with_chunk(saved(tmp_path), 100_000, 50_000, 1))
    np.testing.assert_allclose(
        drawn(tmp_path, "20 um", scale="file"), DARK.reshape(12, 9, 2).mean(axis=2), atol=1e-12
    )


def test_margins_and_larger_canvases(tmp_path: Path) -> None:
    saved(tmp_path)
    np.testing.assert_array_equal(
        drawn(tmp_path, "20 um", pixel="20 um", margin="50 um"), np.pad(DARK, 3), "3 cells are 60 um"
    )
    inside = drawn(tmp_path, "20 um", pixel="20 um", size=[23, 20])
    np.testing.assert_array_equal(inside[4:16, 2:20], DARK)
    assert inside.sum() == pytest.approx(DARK.sum())


REFUSED = {
    "no resolution": (
        {"scale": "file"},
        "'a.png' has no resolution in its file, so its size is unknown; give pixel, width or dpi"),
    "two scales": (
        {"dpi": 254.0, "width": "1 mm"}, "target: width and dpi are scales of 'a.png'; give one of them"),
    "the file's and another": (
        {"pixel": "1 um", "scale": "file"},
        "target: pixel and scale are scales of 'a.png'; give one of them"),
    "larger than the field": (
        {"pixel": "20 um", "size": [18, 11]},
        "'a.png': the drawing is 0.36 x 0.24 mm and its margin 0, larger than the canvas of 0.36 x 0.22;"
        " scale the drawing down, or leave canvas.size out"),
    "larger with its margin": (
        {"pixel": "20 um", "size": [18, 12], "margin": "20 um"},
        "'a.png': the drawing is 0.36 x 0.24 mm and its margin 0.02, larger than the canvas of 0.36 x 0.24;"
        " scale the drawing down, or leave canvas.size out"),
    "smaller than a cell": (
        {"pixel": "1 um"},
        "'a.png': the drawing is 0.018 x 0.012 mm, less than two cells; decrease canvas.pixel"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(tmp_path: Path, case: str) -> None:
    keys, message = REFUSED[case]
    saved(tmp_path)
    with pytest.raises(UserError) as refused:
        drawn(tmp_path, "20 um", **keys)
    assert str(refused.value) == message


def test_a_resolution_without_units_and_cells_without_memory(tmp_path: Path, monkeypatch) -> None:
    saved(tmp_path)
    with pytest.raises(
        UserError, match=r"'a\.png': a resolution needs a unit of length, got none; give units, or"
    ):
        drawn(tmp_path, 1.0, units=UnitSystem.dimensionless(), dpi=254.0)
    monkeypatch.setattr(memory, "free", lambda: memory.Free(1_000_000))
    with pytest.raises(UserError) as refused:
        drawn(tmp_path, "20 um", width="4 mm")
    assert str(refused.value) == (
        "'a.png': 200 x 134 cells: 5.36 MB of memory needed, 1 MB free; increase canvas.pixel, or scale the"
        " drawing down"
    )


def test_the_shipped_heron() -> None:
    """The silhouette at 20 um a pixel: 5.12 mm, and legs that are thinner than two spots of 100 um."""
    data = Path(__file__).parents[3] / "scenes" / "data"
    found = drawn(data, "20 um", name="heron.png", scale="file")
    assert found.shape == (256, 256)
    np.testing.assert_array_equal(found, drawn(data, "20 um", name="silhouette.png", pixel="20 um"))
    leg = found[220] > 0.5
    widths = np.diff(np.flatnonzero(np.diff(np.pad(leg, 1).astype(int))))[::2]
    assert widths.min() * 20 == 80
    assert len(widths) >= 6
