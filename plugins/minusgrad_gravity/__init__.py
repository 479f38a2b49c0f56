"""Gravity: Newton's potential, forces about a central mass, drags, orbits; and states to start from."""

from minusgrad.plugin import hookimpl


@hookimpl
def register_energies():
    """Gravity; about a central mass its oblateness, the perihelion advance of relativity, and light."""
    from .about_a_mass import oblateness, post_newtonian, radiation_pressure
    from .gravity import gravity

    return [gravity, oblateness, post_newtonian, radiation_pressure]


@hookimpl
def register_dissipations():
    """Poynting-Robertson drag, and the drag of gas about a central mass."""
    from .drags import gas_drag, poynting_robertson

    return [poynting_robertson, gas_drag]


@hookimpl
def register_states():
    """Two bodies, a Plummer sphere, random points, a table of bodies, Keplerian orbits."""
    from .orbits import Orbits
    from .states import STATES

    return STATES | {"orbits": Orbits}


@hookimpl
def register_observers():
    """Keplerian elements of bodies, and the closest approach of two."""
    from .orbits import OBSERVERS

    return OBSERVERS
