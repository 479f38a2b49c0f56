"""Smoothed particle hydrodynamics: densities by kernels, a weakly compressible fluid, viscosity."""

from minusgrad.plugin import hookimpl


@hookimpl
def register_maps():
    """The density at each particle: the contributions of the others, and its own."""
    from .density import kernel_density, self_density

    return [kernel_density, self_density]


@hookimpl
def register_energies():
    """The internal energy of a weakly compressible fluid."""
    from .compression import tait

    return [tait]


@hookimpl
def register_dissipations():
    """Artificial viscosity between particles."""
    from .viscosity import artificial_viscosity

    return [artificial_viscosity]


@hookimpl
def register_states():
    """A column of fluid behind a dam that is removed."""
    from .states import STATES

    return STATES


@hookimpl
def register_observers():
    """How far a fluid has come."""
    from .observers import OBSERVERS

    return OBSERVERS


@hookimpl
def register_published_values():
    """Fluids, beside measurements that others have published."""
    from .published.fluids import ROWS

    return ROWS
