"""Cloth and shells: triangles in space that stretch and bend, from files or as sheets, with their loads."""

from minusgrad.plugin import hookimpl


@hookimpl
def register_energies():
    """Stretching of triangles, bending at the edges between them."""
    from .bending import shell_bending, shell_stretching
    from .koiter.energies import koiter_bending, koiter_stretching, shell_director

    return [shell_stretching, shell_bending, koiter_stretching, koiter_bending, shell_director]


@hookimpl
def register_compounds():
    """All energies of a thin shell in one block."""
    from .koiter.shell_block import COMPOUNDS

    return COMPOUNDS


@hookimpl
def register_states():
    """Surfaces from files, flat sheets."""
    from .koiter.shell_state import ShellState
    from .sheet_state import Sheet
    from .surface_state import Surface

    return {"surface": Surface, "sheet": Sheet, "shell": ShellState}


@hookimpl
def register_observers():
    """Stress through the thickness of thin shells."""
    from .koiter.stress import OBSERVERS

    return OBSERVERS
