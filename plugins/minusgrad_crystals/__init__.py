"""Crystals: lattices, potentials of metals and of tetrahedral solids, elastic constants."""

from minusgrad.plugin import hookimpl

from .states import STATES


@hookimpl
def register_energies():
    """Energies of Sutton and Chen, of Stillinger and Weber, and of Tersoff."""
    from .stillinger_weber import stillinger_weber_pair, stillinger_weber_triple
    from .sutton_chen import sutton_chen_embedding, sutton_chen_repulsion
    from .tersoff import tersoff_bond

    return [
        sutton_chen_repulsion,
        sutton_chen_embedding,
        stillinger_weber_pair,
        stillinger_weber_triple,
        tersoff_bond,
    ]


@hookimpl
def register_maps():
    """The density of Sutton and Chen; the neighbours of a bond in Tersoff's potential."""
    from .sutton_chen import sutton_chen_density
    from .tersoff import tersoff_zeta

    return [sutton_chen_density, tersoff_zeta]


@hookimpl
def register_compounds():
    """Potentials in one block: Tersoff's, Stillinger and Weber's, and embedded-atom tables, of files."""
    from .compounds import COMPOUNDS

    return COMPOUNDS


@hookimpl
def register_states():
    """Perfect crystals."""
    return STATES


@hookimpl
def register_observers():
    """Stress and elastic constants."""
    from .observers import OBSERVERS

    return OBSERVERS


@hookimpl
def register_published_values():
    """Constants of crystals, beside numbers that others have published."""
    from .published.crystals import ROWS

    return ROWS
