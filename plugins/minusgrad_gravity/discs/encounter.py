"""Two galaxies before their pericentre: relative place and velocity on a Kepler orbit, tilts of discs.

    r = q (1 + e) / (1 + e cos f),   dr/dt = sqrt(mu / p) e sin f,   r df/dt = sqrt(mu / p) (1 + e cos f)

q the distance at pericentre, e the eccentricity, p = q (1 + e), f < 0 the true anomaly, mu = G (M + m). The
pericentre lies on the axis x. Murray & Dermott 1999, Solar System Dynamics, 2.4.
"""

import numpy as np

from minusgrad.plugin import UserError


def encounter(
    mu: float, pericentre: float, eccentricity: float, separation: float
) -> tuple[np.ndarray, np.ndarray]:
    """Position and velocity (3,) of the second from the first, at this separation before pericentre.

    Raises `UserError` for a separation that the orbit does not have.
    """
    q, e, r = pericentre, eccentricity, separation
    if r < q:
        raise UserError(
            f"galaxy_encounter: the separation is at least the pericentre {q:g}, got {r:g}; give a larger"
            " separation or a smaller pericentre"
        )
    if e < 1.0 and r > (most := q * (1.0 + e) / (1.0 - e)):
        raise UserError(
            f"galaxy_encounter: with eccentricity {e:g} the separation is at most {most:g}, got {r:g}; give a"
            " smaller separation or a larger eccentricity"
        )
    p = q * (1.0 + e)
    cos = np.clip((p / r - 1.0) / e, -1.0, 1.0)
    sin, speed = -np.sqrt(1.0 - cos * cos), np.sqrt(mu / p)
    return r * np.array([cos, sin, 0.0]), speed * np.array([-sin, e + cos, 0.0])


def tilt_rotation(inclination: float, node: float) -> np.ndarray:
    """The rotation (3, 3) of a disc by its inclination about a line in the plane of x and y."""
    ci, si, cn, sn = np.cos(inclination), np.sin(inclination), np.cos(node), np.sin(node)
    return np.array([[cn, -sn * ci, sn * si], [sn, cn * ci, -cn * si], [0.0, si, ci]])
