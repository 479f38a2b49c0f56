"""The kinds of targets that a scene may name."""

from typing import Annotated

from minusgrad.plugin import ByKind

from .butterfly import Butterfly
from .disc import Disc
from .image import FromImage
from .outlines import FromDrawing
from .svg import FromSvg
from .text import FromText

AnyTarget = Annotated[Butterfly | Disc | FromDrawing | FromImage | FromSvg | FromText, ByKind()]
