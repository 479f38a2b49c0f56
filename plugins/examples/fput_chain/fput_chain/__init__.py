"""The chain of Fermi, Pasta, Ulam and Tsingou: an energy, a state, the energies of its normal modes."""

from minusgrad.plugin import hookimpl


@hookimpl
def register_energies():
    """The bond of the chain."""
    from .chain import fput_bond

    return [fput_bond]


@hookimpl
def register_states():
    """The chain between two walls."""
    from .chain import Chain

    return {"fput_chain": Chain}


@hookimpl
def register_observers():
    """The energies of normal modes."""
    from .modes import ModesBlock

    return {"fput_modes": ModesBlock}
