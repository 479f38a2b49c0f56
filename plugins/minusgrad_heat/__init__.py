"""Heat conduction: temperatures over the nodes of a mesh, sources, boundaries; steady and in time."""

from minusgrad.plugin import hookimpl


@hookimpl
def register_energies():
    """Conduction, sources, and the exchange of heat through boundaries."""
    from .boundaries import convection, heat_flux, thermal_radiation
    from .conduction import anisotropic_conduction, conduction, heat_source

    return [conduction, anisotropic_conduction, heat_source, convection, heat_flux, thermal_radiation]


@hookimpl
def register_states():
    """A body of one density and specific heat on a mesh."""
    from .states import STATES

    return STATES


@hookimpl
def register_observers():
    """The heat in a body, and how much flows in."""
    from .observers import OBSERVERS

    return OBSERVERS


@hookimpl
def register_published_values():
    """Heat conduction, beside numbers that others have published."""
    from .published import mosaic, nafems, quenching

    return [*mosaic.ROWS, *quenching.ROWS, *nafems.ROWS]
