"""Cloth and shells: triangles in space that stretch and bend, from files or as sheets, with their loads."""

from minusgrad.plugin import hookimpl


@hookimpl
def register_energies():
    """Membranes of several materials, bending at the edges between triangles, seams."""
    from .bending import shell_bending, shell_stretching
    from .fabrics import fabric
    from .koiter.energies import koiter_bending, koiter_stretching, shell_director
    from .membranes import membrane_neo_hookean, membrane_st_venant_kirchhoff
    from .plate_bending import fabric_bending, plate_bending, quadratic_bending
    from .seams import sewn

    membranes = [shell_stretching, membrane_st_venant_kirchhoff, membrane_neo_hookean, fabric]
    hinges = [shell_bending, plate_bending, quadratic_bending, fabric_bending]
    return [*membranes, *hinges, sewn, koiter_stretching, koiter_bending, shell_director]


@hookimpl
def register_dissipations():
    """Drag of the air, at rest or in a wind."""
    from .air import air_drag

    return [air_drag]


@hookimpl
def register_compounds():
    """All energies of a thin shell, or of a cloth, in one block; sides that are sewn together."""
    from .cloth_block import Cloth
    from .koiter.shell_block import COMPOUNDS
    from .seams import Seam

    return COMPOUNDS | {"cloth": Cloth, "seam": Seam}


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
