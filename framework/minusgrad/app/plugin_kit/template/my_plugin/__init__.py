"""A plugin of minusgrad: Morse bonds, a chain of them, and its length."""

from minusgrad.plugin import hookimpl


@hookimpl
def register_energies():
    """The energies of `[[energy]] kind`."""
    from .bond import bond

    return [bond]


@hookimpl
def register_states():
    """The states of `[state] kind`."""
    from .chain import Chain

    return {"my_plugin_chain": Chain}


@hookimpl
def register_observers():
    """The observers of `[[observe]] kind`."""
    from .length import LengthBlock

    return {"my_plugin_length": LengthBlock}
