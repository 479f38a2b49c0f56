"""Places of atoms and of virtual sites, which have no mass: maps of the positions of atoms.

    virtual_sites       r = w_1 x_1 + w_2 x_2 + w_3 x_3 + c (x_2 - x_1) x (x_3 - x_1)
    local_frame_sites   r = o + p_1 e_1 + p_2 e_2 + p_3 e_3,    o = sum of w_a x_a
                        e_1 = A / |A|, e_3 = A x B / |A x B|, e_2 = e_3 x e_1,
                        A = sum of a_a x_a, B = sum of b_a x_a

Each adds to the place of its row, r (n, 3) [m], from three atoms x (N, 3) [m]; an atom is the average of
itself. Weights w, a, b (K, 3) are numbers, c (K,) [1/m] is that of the cross product, p (K, 3) [m] are
coordinates in the frame of the atoms. Energies that read `places` in place of x act on sites; the adjoint of
the map spreads their forces to atoms. In a periodic box the second and the third atom are the images that are
nearest to the first.

The sites are those of OpenMM: TwoParticleAverageSite, ThreeParticleAverageSite, OutOfPlaneSite and
LocalCoordinatesSite (OpenMM User Guide 8, chapter 19, "Virtual Sites"). Jorgensen et al. 1983, J. Chem. Phys.
79, 926 (TIP4P).

Decisions 0152.
"""

from typing import Any

import numpy as np

from minusgrad import Potential, bind
from minusgrad.plugin import Datum, Fields, Node, Output, State, UnitSystem, local_map

from .site_elements import Sites

PLACE = "place"
"""The set of atoms and sites."""
SETS = (PLACE, "atom", "atom", "atom")
PLACES = "places"
"""The field with the places of atoms and sites."""
SITES, FRAME_SITES = "sites", "frame_sites"
"""The lists of a state with the rows of both maps."""


@local_map(
    "virtual_sites",
    gives={PLACES: Output("m", ("d",), places=True)},
    over=SETS,
    images="first",
    x=Node("m", ("d",), of="atom"),
    weights=Datum(shape=(3,), differentiable=True, about="Weights of the three atoms."),
    cross=Datum("m^-1", differentiable=True, about="Weight of the cross product of both arms."),
)
def virtual_sites(x, weights, cross):
    """Places of atoms, and of sites that are averages of atoms or lie off their plane."""
    return (
        weights[0] * x[1] + weights[1] * x[2] + weights[2] * x[3] + cross * (x[2] - x[1]).cross(x[3] - x[1])
    )


@local_map(
    "local_frame_sites",
    gives={PLACES: Output("m", ("d",), places=True)},
    over=SETS,
    images="first",
    x=Node("m", ("d",), of="atom"),
    weights=Datum(shape=(3,), differentiable=True, about="Weights of the three atoms in the origin."),
    x_weights=Datum(shape=(3,), differentiable=True, about="Weights in the first axis; their sum is 0."),
    y_weights=Datum(
        shape=(3,), differentiable=True, about="Weights in the plane of the first two axes; their sum is 0."
    ),
    coordinates=Datum("m", (3,), differentiable=True, about="Coordinates along the three axes."),
)
def local_frame_sites(x, weights, x_weights, y_weights, coordinates):
    """Places of sites at fixed coordinates in a frame of three atoms."""
    origin = weights[0] * x[1] + weights[1] * x[2] + weights[2] * x[3]
    ahead = x_weights[0] * x[1] + x_weights[1] * x[2] + x_weights[2] * x[3]
    aside = y_weights[0] * x[1] + y_weights[1] * x[2] + y_weights[2] * x[3]
    up = ahead.cross(aside)
    first, third = ahead / ahead.norm(), up / up.norm()
    second = third.cross(first)
    return origin + coordinates[0] * first + coordinates[1] * second + coordinates[2] * third


MAPS = {SITES: virtual_sites, FRAME_SITES: local_frame_sites}
"""By the list of a state that has its rows."""


def site_lists(sites: Sites) -> dict[str, np.ndarray]:
    """The rows of both maps, by list; none without sites."""
    rows = {SITES: sites.rows, FRAME_SITES: sites.frames} if sites.count else {}
    return {name: one for name, one in rows.items() if len(one)}


def site_data(sites: Sites, units: UnitSystem) -> dict[str, dict[str, np.ndarray]]:
    """The data of these rows in the run's units."""
    nanometre = units.convert("1 nm", "m")
    found: dict[str, dict[str, np.ndarray]] = {
        SITES: {"weights": sites.weights, "cross": sites.cross / nanometre},
        FRAME_SITES: {
            name: values * nanometre if name == "coordinates" else values
            for name, values in sites.of_frames.items()
        },
    }
    return {name: found[name] for name in site_lists(sites)}


def site_maps(fields: Fields, state: State, units: UnitSystem) -> list[Any]:
    """The maps to the places of the atoms and sites of a state, which have run; none without sites.

    Energies are then bound to `fields.renamed({"x": PLACES})`.
    """
    made: list[Any] = [
        bind(
            of_map, fields, tuples=state.tuples[name], data=state.data[name], sizes=dict(state.sizes),
            units=units,
        )
        for name, of_map in MAPS.items()
        if name in state.tuples
    ]  # fmt: skip
    if made:
        Potential(fields, [], made).refresh()
    return made
