"""Gravity: Newton's potential, forces about a mass, given fields, drags, orbits; states to start from."""

from minusgrad.plugin import hookimpl


@hookimpl
def register_energies():
    """Gravity; about a central mass its oblateness, the perihelion advance of relativity, light; fields."""
    from .about_a_mass import oblateness, post_newtonian, radiation_pressure
    from .external_fields import (
        disc_field,
        hernquist_field,
        logarithmic_field,
        nfw_field,
        plummer_field,
    )
    from .gravity import gravity

    given = [plummer_field, hernquist_field, nfw_field, logarithmic_field, disc_field]
    return [gravity, oblateness, post_newtonian, radiation_pressure, *given]


@hookimpl
def register_dissipations():
    """Poynting-Robertson drag, and the drag of gas about a central mass."""
    from .drags import gas_drag, poynting_robertson

    return [poynting_robertson, gas_drag]


@hookimpl
def register_states():
    """Two bodies, spheres, galaxies and encounters, tables of bodies, Keplerian orbits, the Solar System."""
    from .discs.galaxies import STATES as GALAXIES
    from .orbits import Orbits
    from .planets.solar_system import SolarSystem
    from .spheres.states import STATES as SPHERES
    from .states import STATES

    return STATES | {"orbits": Orbits, "solar_system": SolarSystem} | SPHERES | GALAXIES


@hookimpl
def register_steppers():
    """Wisdom and Holman's splitting about a dominant mass."""
    from .kepler_drifts.wisdom_holman import WisdomHolman

    return {"wisdom_holman": WisdomHolman}


@hookimpl
def register_warnings():
    """Steps that are too long for the shortest orbit at the start."""
    from .shortest_orbits.shortest_orbit import warning

    return [warning]


@hookimpl
def register_observers():
    """Keplerian elements, closest approach, MEGNO; of stars Lagrangian radii, virial ratio, density."""
    from .chaos.megno import MegnoBlock
    from .clusters.density_profile import DensityProfileBlock
    from .clusters.lagrangian_radii import LagrangianRadiiBlock
    from .clusters.virial_ratio import VirialRatioBlock
    from .orbits import OBSERVERS

    return OBSERVERS | {
        "lagrangian_radii": LagrangianRadiiBlock,
        "virial_ratio": VirialRatioBlock,
        "density_profile": DensityProfileBlock,
        "megno": MegnoBlock,
    }


@hookimpl
def register_published_values():
    """Orbits and chaos, beside numbers that others have published."""
    from .published import celestial, chaos

    return [*celestial.ROWS, *chaos.ROWS]
