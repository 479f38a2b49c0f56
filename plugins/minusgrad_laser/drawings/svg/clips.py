"""Clip paths and viewports as regions, which hold a shape wholly or cut it."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from . import paints
from .context import Context, State
from .elements import SHAPES, Element
from .faults import refuse
from .painted import draw_lines
from .regions import Region, map_points, polygon_region, rectangle_region
from .transforms import element_transform, multiply, translation
from .viewports import box_matrix, read_box

CURE = "cut the shapes themselves, or engrave the file as a picture"
Enter = Callable[[Element, State], State | None]
"""The state within an element, None where it is not drawn."""
Parts = Callable[[Element, State], Iterator[tuple[Element, State]]]
"""What a `<use>` draws."""


def clip_state(context: Context, element: Element, state: State, enter: Enter, parts: Parts) -> State:
    """The state with the region of the element's clip path. Raises `SvgError`."""
    text = element.declared.get("clip-path", "none")
    if text.lower() in ("none", "", "initial", "unset"):
        return state
    reference = paints.split_reference(text)
    found = context.document.named.get(reference[0]) if reference is not None and not reference[1] else None
    if found is None or found.tag != "clipPath":
        refuse(f"clip-path '{text[:40]}' refers to no <clipPath> of this file; {paints.PICTURE}")
    return replace(state, regions=(*state.regions, _clip_region(context, found, state, enter, parts)))


def _clip_region(context: Context, clip: Element, state: State, enter: Enter, used_parts: Parts) -> Region:
    name = f"<clipPath> of line {clip.line}"
    parts = [one for one in clip.children if one.tag and one.tag not in ("title", "desc", "metadata")]
    inner = replace(state, style={}, regions=(), is_clip=True)
    units = clip.attributes.get("clipPathUnits", "userSpaceOnUse")
    if any("clip-path" in one.declared for part in parts for one in part.descendants()):
        refuse(f"{name} is clipped itself; {CURE}")
    if len(parts) != 1 or units != "userSpaceOnUse" or clip.declared.get("clip-path", "none") != "none":
        refuse(f"{name} is no convex shape; {CURE}")
    moved = element_transform(clip.declared, context.lengths, state.viewport)
    if moved is not None:
        inner = replace(inner, matrix=multiply(inner.matrix, moved))
    part = parts[0]
    entered = enter(part, inner)
    if entered is not None and part.tag == "use":
        found = list(used_parts(part, entered))
        part, used = found[0] if len(found) == 1 else (part, entered)
        if "clip-path" in part.declared:
            refuse(f"{name} is clipped itself; {CURE}")
        entered = enter(part, used)
    if entered is None or part.tag not in SHAPES or entered.regions or "visibility" in entered.style:
        refuse(f"{name} is no convex shape; {CURE}")
    lines, _ = draw_lines(context, part, entered)
    if len(lines) != 1 or len(lines[0][0]) < 3:
        refuse(f"{name} is no convex shape; {CURE}")
    return polygon_region(map_points(entered.matrix, lines[0][0]), name)


def open_viewport(context: Context, holder: Element, element: Element, state: State) -> State | None:
    """Within an `<svg>` or a `<symbol>`, whose place may be that of a `<use>` (`holder`)."""
    w, h = state.viewport
    size = []
    for key, whole in (("width", w), ("height", h)):
        text = "auto"
        for one in (holder, element):
            text = one.attributes.get(key, "auto").strip() or "auto"
            if text != "auto":
                break
        size.append(whole if text == "auto" else context.length(key, text, whole, state))
    if min(size) <= 0.0:
        return None
    matrix = state.matrix
    if element.tag == "svg":
        place = (
            context.length(key, element.attributes.get(key, "0"), whole, state)
            for key, whole in (("x", w), ("y", h))
        )
        matrix = multiply(matrix, translation(*place))
    regions = state.regions
    overflow = element.declared.get("overflow", "hidden").lower()
    if overflow == "auto":
        refuse(f"overflow 'auto' of <{element.tag}> is read in two ways; give visible or hidden")
    if overflow != "visible":
        name = f"<{element.tag}> of line {element.line}"
        regions = (*regions, rectangle_region(matrix, (size[0], size[1]), name))
    box = read_box(element)
    matrix = multiply(matrix, box_matrix(element, box, (size[0], size[1])))
    viewport = (box[2], box[3]) if box else (size[0], size[1])
    return replace(state, matrix=matrix, viewport=viewport, regions=regions)
