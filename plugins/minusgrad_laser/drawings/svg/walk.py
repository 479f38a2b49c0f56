"""The walk over what an SVG file draws: shapes in the order of painting, with their matrices and paints.

    matrix of an element = matrix of what it stands in . its transform . its place (x, y, viewBox)

`<use>` draws its part where it stands and with what is inherited there. Of a `<switch>` the first part whose
conditions are true is drawn, for readers of English. What is not drawn anywhere is not looked at.

Decisions 0174.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from minusgrad.plugin import UserError

from ...pictures.page import read_page
from ..flat_pen import MOST_POINTS, TooManyPointsError
from . import paints
from .clips import clip_state, open_viewport
from .colours import parse_opacity
from .context import Context, Shape, State
from .elements import SHAPES, Document, Element
from .faults import SvgError, refuse
from .painted import painted_shape
from .transforms import element_transform, multiply, translation
from .viewports import box_matrix, read_box

ANIMATIONS = ("animate", "animateColor", "animateTransform", "animateMotion", "set")
REFUSED = dict.fromkeys(ANIMATIONS, "a drawing stands still; remove the animation") | {
    "image": "pictures inside a drawing have no outline; remove it, or engrave the file as a picture",
    "text": "text needs a font; convert text to paths",
    "foreignObject": "only shapes are drawn; remove it",
    "script": "scripts are not run; remove it",
    "flowRoot": "text needs a font; convert text to paths",
    "mesh": "a mesh has no plain colour; remove it",
}
_NOT_DRAWN = (
    "defs symbol clipPath mask marker pattern linearGradient radialGradient meshgradient hatch filter style"
    " title desc metadata view cursor font font-face color-profile solidColor solidcolor"
)
DRAWN = frozenset(("g", "a", "svg", "switch", "use", *SHAPES))
NOT_DRAWN = frozenset(_NOT_DRAWN.split())
"""Elements whose content is not drawn where it stands."""


class Walk:
    """One file. size: of its page [m]. What is left out is in the remarks of its context."""

    def __init__(
        self,
        document: Document,
        tolerance: float,
        dpi: float,
        width: float | None,
        layers: Sequence[str] | None = None,
        without: Sequence[str] = (),
    ):
        self.document, self.context = document, Context(document, tolerance, dpi, layers, without)
        root = document.root
        for element in root.descendants():
            if element.tag == "script":
                raise document.error(element.line, f"element <script>: {REFUSED['script']}")
        page = read_page(f"'{document.file}':{root.line}", root.attributes, dpi)
        if width is None and not page.is_sized:
            raise UserError(f"'{document.file}': its width and height have no unit of length; give width")
        if page.width is None or page.height is None:
            raise document.error(root.line, "has neither a width and a height nor a viewBox; give it them")
        try:
            box = read_box(root)
            self.box = box_matrix(root, box, (page.width, page.height))
        except SvgError as fault:
            raise document.error(root.line, str(fault)) from None
        self.px = 0.0254 / dpi if width is None else width / page.width
        self.viewport = box[2:] if box else (page.width, page.height)
        self.size = (page.width * self.px, page.height * self.px)

    def shapes(self) -> Iterator[Shape]:
        """What is painted, from the back to the front. Raises `UserError` with line and element."""
        root = self.document.root
        page = (self.px, 0.0, 0.0, -self.px, 0.0, self.size[1])
        state = State(page, self.viewport, {})
        yield from self._visit(root, replace(state, matrix=multiply(page, self.box)), is_root=True)

    def _visit(self, element: Element, state: State, is_root: bool = False) -> Iterator[Shape]:
        try:
            inner = self._enter(element, state, is_root)
            if inner is None:
                return
            tag = element.tag
            if tag in SHAPES:
                shape = painted_shape(self.context, element, inner)
                if shape is not None:
                    yield shape
                parts: list[tuple[Element, State]] = []
            elif tag == "use":
                parts = list(self._used_parts(element, inner))
            elif tag == "svg" and not is_root:
                within = open_viewport(self.context, element, element, inner)
                parts = [] if within is None else [(one, within) for one in element.children]
            elif tag == "switch":
                known = (one for one in element.children if one.tag in (*DRAWN, *REFUSED))
                parts = [(one, inner) for one in known if self._is_meant(one)][:1]
            else:
                parts = [(one, inner) for one in element.children]
        except SvgError as fault:
            raise self.document.error(element.line, f"element <{element.tag}>: {fault}") from None
        except TooManyPointsError:
            raise UserError(
                f"'{self.document.file}': its curves take more than {MOST_POINTS:,} points at this tolerance;"
                " give a larger one, or simplify the drawing"
            ) from None
        for part, its in parts:
            yield from self._visit(part, its)

    def _enter(self, element: Element, state: State, is_root: bool = False) -> State | None:
        """The state within an element; None where it is not drawn."""
        tag, declared = element.tag, element.declared
        if not tag or tag in NOT_DRAWN or declared.get("display", "inline").lower() == "none":
            return None
        if not self._is_meant(element):
            return None
        style = paints.inherit(state.style, declared)
        if tag in (*SHAPES, *REFUSED) and not self.context.wants(state):
            return None
        if tag in REFUSED:
            if tag != "script" and style.get("visibility", "visible") != "visible":
                return None
            if tag in self.context.without:
                self.context.remarks[f"elements <{tag}> are left out"] = None
                return None
            refuse(REFUSED[tag])
        if tag not in DRAWN:
            self.context.remark(element, "is not known and not drawn")
            return None
        if tag in (*SHAPES, "use") and any(one.tag in ANIMATIONS for one in element.children):
            refuse(REFUSED["animate"])
        paints.refuse_effects(declared)
        if declared.get("mix-blend-mode", "normal").lower() not in ("normal", "", "initial", "unset"):
            self.context.remarks["colours are read without their blending"] = None
        if is_root:
            paints.refuse_background(declared)
        fade = state.fade * parse_opacity("opacity", declared.get("opacity", "1"))
        if fade == 0.0:
            return None
        inner = replace(state, style=style, fade=fade)
        moved = element_transform(declared, self.context.lengths, state.viewport)
        if moved is not None:
            if is_root:
                refuse("a transform of the whole page is read by some programs only; put it on a group")
            if moved[0] * moved[3] == moved[1] * moved[2]:
                return None  # SVG 2, 8.5: not invertible
            inner = replace(inner, matrix=multiply(state.matrix, moved))
        inner = clip_state(self.context, element, inner, self._enter, self._used_parts)
        return inner if is_root else self._name_layer(element, inner)

    def _is_meant(self, element: Element) -> bool:
        """Whether the conditions of an element are true."""
        attributes = element.attributes
        if attributes.get("requiredExtensions", "").strip():
            return False
        if "systemLanguage" not in attributes:
            return True
        spoken = [one.strip().lower() for one in attributes["systemLanguage"].split(",")]
        meant = any(one == "en" or one.startswith("en-") for one in spoken)
        text = "drawn" if meant else "left out"
        self.context.remark(element, f"is for some languages and {text}, as for readers of English")
        return meant

    def _name_layer(self, element: Element, state: State) -> State:
        attributes = element.attributes
        if element.tag != "g":
            return state
        if attributes.get("inkscape:groupmode") == "layer":
            name = attributes.get("inkscape:label") or attributes.get("id")
            return replace(state, layer=name) if name else state
        if state.group is None and attributes.get("id"):
            return replace(state, group=attributes["id"])
        return state

    def _used_parts(self, element: Element, state: State) -> Iterator[tuple[Element, State]]:
        href = element.attributes.get("href", "").strip()
        if not href:
            return
        if href[:1] != "#":
            refuse(f"refers to '{href[:60]}'; only what is in the file is drawn")
        part = self.document.named[href[1:]]
        w, h = state.viewport
        place = (
            self.context.length(key, element.attributes.get(key, "0"), whole, state)
            for key, whole in (("x", w), ("y", h))
        )
        state = replace(state, matrix=multiply(state.matrix, translation(*place)))
        if part.tag not in ("symbol", "svg"):
            if part.tag not in ("g", "a", "switch", "use", *SHAPES, *REFUSED):
                refuse(f"draws a <{part.tag}>, which is not drawn by itself; remove it")
            yield part, state
            return
        if part.parent is None:
            refuse("draws the whole file; remove it")
        if part.declared.get("display", "inline").lower() == "none" and part.tag == "svg":
            return
        paints.refuse_effects(part.declared)
        fade = state.fade * parse_opacity("opacity", part.declared.get("opacity", "1"))
        style = paints.inherit(state.style, part.declared)
        if element_transform(part.declared, self.context.lengths, state.viewport) is not None:
            refuse(f"a transform of <{part.tag}> is read by some programs only; put it on a group")
        inner = replace(state, style=style, fade=fade)
        inner = clip_state(self.context, part, inner, self._enter, self._used_parts)
        within = open_viewport(self.context, element, part, inner)
        if within is not None and fade > 0.0:
            yield from ((one, within) for one in part.children)
