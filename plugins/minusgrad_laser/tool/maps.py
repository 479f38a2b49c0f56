"""Maps of a job as files: TIFF of 32-bit floats, whose resolution is the size of a cell."""

from io import BytesIO

import numpy as np

INCH = 0.0254


def tiff(values: np.ndarray, pixel: float, about: str) -> bytes:
    """A map (rows, columns), row 0 at the bottom, as a TIFF; pixel is the side of a cell [m]."""
    from PIL import Image, TiffImagePlugin

    image = Image.fromarray(np.ascontiguousarray(values[::-1], np.float32))
    tags = TiffImagePlugin.ImageFileDirectory_v2()
    tags[270] = about  # ImageDescription
    data = BytesIO()
    image.save(data, format="TIFF", dpi=(INCH / pixel, INCH / pixel), tiffinfo=tags)
    return data.getvalue()
