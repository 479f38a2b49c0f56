"""Drawings of files: outlines in metres, y up, by the ending of the name."""

import numpy as np
import pytest

from minusgrad.errors import UserError
from minusgrad_laser.drawings.read import read_drawing

pytestmark = pytest.mark.unit
PAGE = '<svg xmlns="http://www.w3.org/2000/svg" width="40mm" height="30mm" viewBox="0 0 400 300">'


def test_a_rectangle_is_in_metres_from_the_lower_left_corner() -> None:
    text = f'{PAGE}<rect x="100" y="50" width="30" height="20"/></svg>'
    found = read_drawing("a.svg", text.encode(), tolerance=1e-6)
    np.testing.assert_allclose(found.size, [0.04, 0.03])
    (outline,) = found.outlines
    assert outline.closed
    assert (outline.fill, outline.stroke) == ("#000000", None)
    np.testing.assert_allclose(outline.points.min(axis=0), [0.010, 0.023], atol=1e-12)
    np.testing.assert_allclose(outline.points.max(axis=0), [0.013, 0.025], atol=1e-12)
    assert len(outline.points) == 4


def test_a_width_scales_the_page() -> None:
    text = f'{PAGE}<path d="M0,0 h400" stroke="black"/></svg>'
    found = read_drawing("A.SVG", text.encode(), tolerance=1e-6, width=0.1)
    np.testing.assert_allclose(found.size, [0.1, 0.075])
    np.testing.assert_allclose(found.outlines[-1].points, [[0.0, 0.075], [0.1, 0.075]], atol=1e-12)


def test_an_ending_that_is_none() -> None:
    with pytest.raises(UserError, match=r"'a\.pdf': is no drawing by its name, got the ending '\.pdf'; give"):
        read_drawing("a.pdf", b"", tolerance=1e-6)
