"""The kinds of paths that a scene may name."""

from typing import Annotated

from minusgrad.plugin import ByKind

from .contours import Contours
from .hatch import Hatch
from .outlines import Outlines
from .raster import Raster
from .spiral import Spiral
from .table import FromFile
from .wander import Wander

AnyPath = Annotated[Wander | Hatch | Raster | Contours | Outlines | Spiral | FromFile, ByKind()]
