"""Maps of a canvas as files: TIFF of 32-bit numbers with its resolution, and HDF5 with units.

In memory row 0 is the bottom row; a picture has it at its foot.
"""

from io import BytesIO
from pathlib import Path

import h5py
import numpy as np

from minusgrad.plugin import UserError, pip_line, write_file

CENTIMETRE = 3
"""TIFF's number of the unit of resolution."""


def tiff(values: np.ndarray, pixel: float, what: str) -> bytes:
    """A TIFF of a map (rows, columns) whose cells have the side `pixel` [m]; `what` is its description.

    Raises `UserError` without Pillow.
    """
    try:
        from PIL import Image
    except ImportError:
        raise UserError(f"TIFF: needs Pillow: {pip_line('image')}") from None
    buffer = BytesIO()
    per_centimetre = 1e-2 / pixel
    Image.fromarray(np.ascontiguousarray(values[::-1], np.float32)).save(
        buffer,
        "TIFF",
        resolution_unit=CENTIMETRE,
        x_resolution=per_centimetre,
        y_resolution=per_centimetre,
        description=what,
        software="minusgrad",
    )
    return buffer.getvalue()


def hdf5(path: str | Path, maps: dict[str, np.ndarray], pixel: float, full: float) -> None:
    """Write maps (rows, columns) by name, in parts of the fluence `full` [J/m^2], to an HDF5 file."""
    image = BytesIO()
    with h5py.File(image, "w") as file:
        file.attrs.update(
            {"pixel": pixel, "pixel_unit": "m", "full": full, "full_unit": "J m^-2", "rows": "bottom first"}
        )
        for name, values in maps.items():
            file.create_dataset(name, data=np.asarray(values, float), compression="gzip")
            file[name].attrs["unit"] = "1"
    write_file(path, image.getvalue())
