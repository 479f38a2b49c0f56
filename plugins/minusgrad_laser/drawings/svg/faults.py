"""What is wrong with a part of an SVG file; the walk over the file adds the place."""

from typing import NoReturn


class SvgError(Exception):
    """A text that follows the name of the element: what is wrong and the cure."""


def refuse(text: str) -> NoReturn:
    raise SvgError(text)
