"""In the child: the document of ezdxf for the bytes of a DXF file, ASCII or binary, of any version.

A faulty file is read by ezdxf's recovery, and what it found is said. A file without its end is refused: a
part of the drawing may be missing.

Decisions 0176.
"""

import logging
from io import BytesIO, StringIO, TextIOWrapper
from typing import Any

from minusgrad.plugin import UserError, printable

BINARY = b"AutoCAD Binary DXF\r\n\x1a\x00"
TAIL = 4096
"""Bytes at the end of a file in which its end mark stands."""


def load_document(file: str, data: bytes) -> tuple[Any, list[str]]:
    """The document, and remarks on faults. Raises `UserError` for a file that is no DXF, or has no end."""
    if not data:
        raise UserError(f"'{file}' is empty (0 bytes)")
    if data[:4] == b"AC10":
        raise UserError(f"'{file}': is a DWG, which only its own programs read; save it as DXF")
    if b"SECTION" not in data:
        raise UserError(f"'{file}': is no DXF: it has no SECTION; save it again as DXF")
    if b"EOF" not in data[-TAIL:]:
        raise UserError(
            f"'{file}': has no end (EOF), so a part of the drawing may be missing; save it again as DXF"
        )
    logging.getLogger("ezdxf").setLevel(logging.CRITICAL)
    import ezdxf

    try:
        return _load_sound(data), []
    except (ezdxf.DXFError, ValueError, TypeError, AttributeError, KeyError, IndexError, OverflowError):
        return _recover(file, data)


def _load_sound(data: bytes) -> Any:
    from ezdxf.document import Drawing
    from ezdxf.filemanagement import dxf_stream_info
    from ezdxf.lldxf.tagger import ascii_tags_loader, binary_tags_loader, tag_compiler

    if data.startswith(BINARY):
        tags = binary_tags_loader(data, errors="surrogateescape")
    else:
        info = dxf_stream_info(StringIO(data.decode("utf-8", "ignore")))
        tags = ascii_tags_loader(
            TextIOWrapper(BytesIO(data), encoding=info.encoding, errors="surrogateescape")
        )
    return Drawing.from_tags(tag_compiler(tags))


def _recover(file: str, data: bytes) -> tuple[Any, list[str]]:
    import ezdxf
    from ezdxf import recover

    try:
        document, audit = recover.read(BytesIO(data))
    except (
        ezdxf.DXFError,
        ValueError,
        TypeError,
        AttributeError,
        KeyError,
        IndexError,
        OverflowError,
    ) as error:
        why = printable(" ".join(str(error).split()) or type(error).__name__, 200)
        raise UserError(f"'{file}': is damaged: {why}; save it again as DXF") from None
    if audit.errors:
        first, count = printable(audit.errors[0].message, 200), len(audit.errors)
        raise UserError(
            f"'{file}': is damaged: {first} ({count} faults cannot be mended); save it again as DXF"
        )
    first = f", the first: {printable(audit.fixes[0].message, 200)}" if audit.fixes else ""
    return document, [f"the file has {max(1, len(audit.fixes))} faults that were mended{first}"]
