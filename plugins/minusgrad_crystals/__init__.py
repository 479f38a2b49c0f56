"""Crystals: lattices, potentials of metals and of tetrahedral solids, elastic constants."""

from minusgrad.plugin import hookimpl

from .states import STATES


@hookimpl
def register_energies():
    """Repulsion and cohesion of Sutton and Chen; pairs and triples of Stillinger and Weber."""
    from .stillinger_weber import stillinger_weber_pair, stillinger_weber_triple
    from .sutton_chen import sutton_chen_embedding, sutton_chen_repulsion

    return [sutton_chen_repulsion, sutton_chen_embedding, stillinger_weber_pair, stillinger_weber_triple]


@hookimpl
def register_maps():
    """The density of Sutton and Chen."""
    from .sutton_chen import sutton_chen_density

    return [sutton_chen_density]


@hookimpl
def register_states():
    """Perfect crystals."""
    return STATES


@hookimpl
def register_observers():
    """Stress and elastic constants."""
    from .observers import OBSERVERS

    return OBSERVERS
