"""Numbers of UGRID files in text: meshlane reads them in single precision, and seven digits of a place."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reading_doubles() -> Iterator[None]:
    """Inside, meshlane reads text of UGRID in double precision."""
    from meshlane.ugrid import _ugrid

    kept = _ugrid.file_types["ascii"]
    _ugrid.file_types["ascii"] = kept | {"float_type": "f8", "int_type": "i8"}
    try:
        yield
    finally:
        _ugrid.file_types["ascii"] = kept
