"""Cloth and shells: triangles in space that stretch and bend, from files or as sheets, with their loads."""

from minusgrad.plugin import hookimpl


@hookimpl
def register_energies():
    """Stretching of triangles, bending at the edges between them."""
    from .bending import shell_bending, shell_stretching

    return [shell_stretching, shell_bending]


@hookimpl
def register_states():
    """Surfaces from files, flat sheets."""
    from .sheet_state import Sheet
    from .surface_state import Surface

    return {"surface": Surface, "sheet": Sheet}
