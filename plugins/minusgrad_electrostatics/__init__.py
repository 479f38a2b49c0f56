"""Long-range interactions in periodic boxes: particle-mesh Ewald, and the correction of dispersion."""

from minusgrad.plugin import hookimpl


@hookimpl
def register_compounds():
    """The maps and energies of particle-mesh Ewald, with one alpha; the correction of dispersion."""
    from .compounds import COMPOUNDS

    return COMPOUNDS
