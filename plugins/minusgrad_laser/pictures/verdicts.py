"""What becomes of a warning of resvg: a remark where a standard says what is drawn, else a refusal.

A remark: an attribute or a property that is not valid is as good as not there, an element of no size is not
drawn, a path is drawn up to its error, a part within itself is left out (SVG 2, 5.6 and 9.5.4; CSS Syntax 3,
2.2). Refused is every other warning, those of later versions among them.

Decisions 0172.
"""

import re
from collections.abc import Iterable
from math import inf

from minusgrad.plugin import UserError, printable

from ..drawings.flat_pen import FlatPen, TooManyPointsError
from ..drawings.svg.faults import SvgError
from ..drawings.svg.path_data import draw_path
from .document import AT_LINE

REMARKS = (
    r"Failed to parse ",
    r"Invalid '?(font|gradient)",
    r"Error during path parsing",
    r".* '.*' has an invalid '?[\w ]+'? ?(value|size|region)?\. Skipped\.",
    r"(Mask|Filter|Pattern|Image|Filter has) .*(size|region)\.( Skipped\.)?",
    r".* has less than 2 points\. Skipped\.",
    r"(Filters on|Clipping of|Masking of|.* on) zero-sized shapes (are|is) not allowed\.",
    r".* cannot reference ",
    r".* cannot be used to (fill|stroke) a shape\.",
    r"'.*' is no a valid '.*' child\.",
    r"'.*' is not a valid filter primitive\. Skipped\.",
    r"\w+ filter input isn't supported",
    r"Unknown filter primitive reference",
    r"The 'feImage' element lacks",
    r"Image lacks the ",
    r"Recursive marker detected",
    r"Fallback from .* to ",
    r"path stroking failed",
    r"The @(?!import\b)[\w-]+ rule is not supported\.",
    r"':(hover|active|focus|visited|link|target|focus-within|focus-visible)' is not supported",
    r"a decoration span has a malformed bbox",
)
"""Beginnings of warnings that are remarks."""
CURES = (
    (
        r"No fonts with a (.*) character",
        "no font has the character {}; give a font that does by fonts (--font), or convert text to paths",
    ),
    (r"Recursive 'use'", "a <use> draws a part in which it stands itself, without end; remove it"),
    (
        r"(?:Failed to decode a|'.*' is not a PNG|Failed to load nested)",
        "a picture in it is no PNG, JPEG, GIF, WebP or SVG that can be read; embed it again",
    ),
    (r"The @import rule", "element <style>: @import is not followed; copy the styles into the file"),
    (
        r"(?:':(.*)' is not supported|Selector parsing|\d+ bytes were left)",
        "element <style>: a selector is not understood ({}); use types, classes, ids and attributes",
    ),
    (
        r"Failed to allocate a group layer",
        "a group takes more memory than there is; give larger cells, or expand it",
    ),
)
"""Beginnings of warnings that refuse the file, and what is wrong."""
PATH_ERROR = "Error during path parsing"
SAID_OTHERWISE = "No fonts provided"
MOST_REMARKS = 10
_AT = re.compile(rf" '{AT_LINE} (\d+)'")
_VALUE = re.compile(r"Failed to parse ([\w-]+) value: '(.*)'")
_PATH = re.compile(rb"\sd\s*=\s*(['\"])(.*?)\1", re.DOTALL)
_REMARK = re.compile("|".join(f"(?:{one})" for one in REMARKS), re.DOTALL)


def judge_warnings(file: str, data: bytes, warnings: Iterable[str]) -> list[str]:
    """The remarks on a file, with their lines where these are known.

    Raises `UserError` for a warning that is none.
    """
    remarks = list[str]()
    for warning in warnings:
        if warning.startswith(SAID_OTHERWISE):
            continue
        if not _REMARK.match(warning):
            raise UserError(f"'{file}': {_refusal(warning)}")
        line, text = _line_of(data, warning), _remark_text(warning)
        remarks.append(f"'{file}':{line}: {text}" if line else f"'{file}': {text}")
    return shorten_remarks(file, remarks)


def shorten_remarks(file: str, remarks: list[str]) -> list[str]:
    """The first of many."""
    if (more := len(remarks) - MOST_REMARKS) > 0:
        return [*remarks[:MOST_REMARKS], f"'{file}': {more} remarks more"]
    return remarks


def _line_of(data: bytes, warning: str) -> int:
    """The line that a warning is about: of its element, or of the first of its value; 0 where unknown."""
    if found := _AT.search(warning):
        return int(found[1])
    if found := _VALUE.search(warning):
        for mark in ('"', "'"):
            if (at := data.find(f"{found[1]}={mark}{found[2]}{mark}".encode())) >= 0:
                return data.count(b"\n", 0, at) + 1
    if warning.startswith(PATH_ERROR):
        paths = (one for one in _PATH.finditer(data) if _is_wrong_path(one[2].decode("utf-8", "replace")))
        return next((data.count(b"\n", 0, one.start()) + 1 for one in paths), 0)
    return 0


def _is_wrong_path(text: str) -> bool:
    try:
        draw_path(text, FlatPen(inf))
    except SvgError:
        return True
    except TooManyPointsError:
        return False
    return False


def _refusal(warning: str) -> str:
    for pattern, text in CURES:
        if found := re.match(pattern, warning):
            return text.format(printable((found.groups() or ("",))[0] or warning, 60))
    return f"is not drawn as it is meant: {printable(warning, 200)}; correct it"


def _remark_text(warning: str) -> str:
    text = printable(warning, 200).rstrip(".")
    text = text.replace(PATH_ERROR, "a path is drawn up to its error")
    text = _AT.sub("", text)
    return text.replace(" is no a valid", " is no valid").replace("planed", "planned")
