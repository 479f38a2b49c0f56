"""The wave equation on cells: height h (cells,) [m], speed u = dh/dt (cells,) [m/s].

    d2h/dt2 = c^2 laplace(h),        laplace(h) = (h_east + h_west + h_north + h_south - 4 h) / s^2

c [m/s] is the speed of waves, s [m] the side of a cell. A step of symplectic Euler,

    u' = u + dt c^2 laplace(h),      h' = h + dt u'

is the leapfrog scheme h_{n+1} = 2 h_n - h_{n-1} + (c dt)^2 laplace(h_n) (Courant, Friedrichs & Lewy 1928,
Math. Ann. 100, 32), stable while c dt <= s / sqrt(2). The same wave has an energy, that of a surface with the
tension sigma [N/m], for small slopes; m [kg] is the mass of a cell:

    U = sigma/2 sum over cells s^2 |grad h|^2 = sigma/2 sum over neighbours (h_i - h_j)^2,
    c^2 = sigma s^2 / m

At a clamped edge the surface is level (dh/dn = 0); beyond an edge with zeros it is at rest.
"""

from math import inf

from minusgrad.plugin import Node, Output, Parameter, Spacing, TimeStep, local_energy, local_map


@local_map(
    "wave",
    over="cells",
    gives={"height_next": Output("m"), "speed_next": Output("m s^-1")},
    height=Node("m"),
    speed=Node("m s^-1"),
    c=Parameter(
        "m/s",
        default=1.0,
        bounds=(0.0, inf),
        about="Speed of waves; c dt is at most the side of a cell over sqrt(2).",
    ),
    s=Spacing(),
    dt=TimeStep(),
)
def wave(height, speed, c, s, dt):
    """A step of the wave equation: height and speed at the end of the step."""
    around = height[1, 0] + height[-1, 0] + height[0, 1] + height[0, -1] - 4.0 * height[0, 0]
    u = speed[0, 0] + dt * (c / s) ** 2 * around
    return height[0, 0] + dt * u, u


@local_energy(
    "surface_tension",
    over="cells",
    height=Node("m"),
    tension=Parameter("N/m", bounds=(0.0, inf), about="Surface tension sigma: force per length."),
)
def surface_tension(height, tension):
    """A surface under tension: U = sigma/2 sum of (h_i - h_j)^2 over neighbours; its edges are clamped.

    Periodic edges are possible, too; zeros beyond an edge would leave out half of its differences.
    """
    return 0.5 * tension * ((height[1, 0] - height[0, 0]) ** 2 + (height[0, 1] - height[0, 0]) ** 2)
