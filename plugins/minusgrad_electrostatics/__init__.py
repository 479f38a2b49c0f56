"""Long-range interactions in periodic boxes: particle-mesh Ewald, and the correction of dispersion."""

from minusgrad.plugin import hookimpl


@hookimpl
def register_compounds():
    """The maps and energies of particle-mesh Ewald, with one alpha; the correction of dispersion."""
    from .compounds import COMPOUNDS

    return COMPOUNDS


@hookimpl
def register_published_values():
    """Charges in periodic boxes, beside numbers that others have published."""
    from .published.ewald_sums import ROWS

    return ROWS
