"""What becomes of a warning of resvg: a remark where a standard says what is drawn, else a refusal.

A remark: an attribute or a property that is not valid is as good as not there, an element of no size is not
drawn, a path is drawn up to its error, a part within itself is left out (SVG 2, 5.6 and 9.5.4; CSS Syntax 3,
2.2). Refused is every other warning, those of later versions among them.

Decisions 0172.
"""

import re
from collections.abc import Iterable

from minusgrad.plugin import UserError, printable

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
SAID_OTHERWISE = "No fonts provided"
MOST_REMARKS = 10
_REMARK = re.compile("|".join(f"(?:{one})" for one in REMARKS), re.DOTALL)


def judge_warnings(file: str, warnings: Iterable[str]) -> list[str]:
    """The remarks on a file. Raises `UserError` for a warning that is none."""
    remarks = list[str]()
    for warning in warnings:
        if warning.startswith(SAID_OTHERWISE):
            continue
        if not _REMARK.match(warning):
            raise UserError(f"'{file}': {_refusal(warning)}")
        remarks.append(f"'{file}': {_remark_text(warning)}")
    return shorten_remarks(file, remarks)


def shorten_remarks(file: str, remarks: list[str]) -> list[str]:
    """The first of many."""
    if (more := len(remarks) - MOST_REMARKS) > 0:
        return [*remarks[:MOST_REMARKS], f"'{file}': {more} remarks more"]
    return remarks


def _refusal(warning: str) -> str:
    for pattern, text in CURES:
        if found := re.match(pattern, warning):
            return text.format(printable((found.groups() or ("",))[0] or warning, 60))
    return f"is not drawn as it is meant: {printable(warning, 200)}; correct it"


def _remark_text(warning: str) -> str:
    text = printable(warning, 200).rstrip(".")
    if warning.startswith("Error during path parsing"):
        text = text.replace("Error during path parsing", "a path is drawn up to its error")
    return text.replace(" is no a valid", " is no valid").replace("planed", "planned")
