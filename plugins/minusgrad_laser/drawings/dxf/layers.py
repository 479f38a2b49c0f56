"""In the child: the layers of a document: which are drawn, and what colour an entity has.

Colours are those of AutoCAD's index (ACI) or true colours. Index 7, white on black and black on white, is
black: a drawing is ink on paper.
"""

from typing import Any

BYBLOCK, BYLAYER = 0, 256
BLACK = "#000000"
NEVER_PLOTTED = "defpoints"
"""The layer of dimensions' definition points, which no program plots."""
DASH = 49
"""Group code of a dash, a dot or a gap of a line type."""


class Layers:
    """The layers of a document of ezdxf. chosen: names that are read; None for those that are plotted."""

    def __init__(self, document: Any, chosen: list[str] | None):
        self.table = {layer.dxf.name.casefold(): layer for layer in document.layers}
        self.names = {key: layer.dxf.name for key, layer in self.table.items()}
        self.chosen = None if chosen is None else {one.casefold() for one in chosen}
        self.document = document

    def resolve(self, entity: Any, around: str) -> str:
        """The layer's name as the file writes it; around: that of the INSERT."""
        name = str(entity.dxf.get("layer", "0"))
        if name == "0":
            name = around
        return self.names.setdefault(name.casefold(), name)

    def why_left_out(self, name: str) -> str:
        """Empty for a layer that is drawn."""
        if self.chosen is not None:
            return "" if name.casefold() in self.chosen else "not chosen"
        layer = self.table.get(name.casefold())
        if name.casefold() == NEVER_PLOTTED:
            return "not plotted"
        if layer is None:
            return ""
        if layer.is_frozen():
            return "frozen"
        if layer.is_off():
            return "off"
        return "" if layer.dxf.get("plot", 1) else "not plotted"

    def is_frozen(self, name: str) -> bool:
        """True for the layer of an INSERT whose whole block is not drawn."""
        layer = self.table.get(name.casefold())
        return self.chosen is None and layer is not None and bool(layer.is_frozen())

    def layer_colour(self, name: str) -> str:
        layer = self.table.get(name.casefold())
        if layer is None:
            return BLACK
        if layer.dxf.hasattr("true_color"):
            return true_colour(layer.dxf.true_color)
        return index_colour(abs(int(layer.dxf.get("color", 7))))

    def colour(self, entity: Any, name: str, around: str) -> str:
        """The colour of an entity on a layer; around: that of the INSERT."""
        if entity.dxf.hasattr("true_color"):
            return true_colour(entity.dxf.true_color)
        index = int(entity.dxf.get("color", BYLAYER))
        if index == BYBLOCK:
            return around
        return index_colour(index) if 0 < index < BYLAYER else self.layer_colour(name)

    def is_dashed(self, entity: Any, name: str) -> bool:
        """True for a line type other than a full line."""
        kind = str(entity.dxf.get("linetype", "BYLAYER")).casefold()
        if kind == "bylayer":
            layer = self.table.get(name.casefold())
            kind = "continuous" if layer is None else str(layer.dxf.get("linetype", "continuous")).casefold()
        if kind in ("continuous", "byblock", ""):
            return False
        if kind not in self.document.linetypes:
            return False
        pattern = self.document.linetypes.get(kind).pattern_tags
        return any(tag.code == DASH for tag in getattr(pattern, "tags", ()))


def index_colour(index: int) -> str:
    from ezdxf.colors import aci2rgb

    return BLACK if index == 7 or not 0 < index < BYLAYER else "#{:02x}{:02x}{:02x}".format(*aci2rgb(index))


def true_colour(value: int) -> str:
    return f"#{int(value) & 0xFFFFFF:06x}"
