"""Incompressible flow of a fluid without viscosity on cells, and a substance that it carries.

    dv/dt + (v . grad) v = -grad p,   div v = 0,   dq/dt + v . grad q = 0

velocity v (cells, 2) [m/s], its components along columns (x) and rows (y); substance q (cells,). A step of
Stam's method (1999, Stable fluids, SIGGRAPH, 121; without viscosity and forces), s [m] the side of a cell:

    advection     u = v at x - dt v, bilinear between cells                 velocity_advected
    divergence    d = (u_east - u_west + u_north - u_south) / (2 s)         divergence
    pressure      p <- (p_east + p_west + p_north + p_south - s^2 d) / 4    pressure
    projection    v' = u - (p_east - p_west, p_north - p_south) / (2 s)     projection
    advection     q' = q at x - dt v'                                       advected

The pressure is a sweep of Jacobi's method for laplace(p) = d, from zero; p [m^2/s] is the pressure over the
density, times dt.

The square is periodic unless a scene's `edges` say otherwise, which then must be the same for all five maps.
Where x - dt v is the centre of a cell, derivatives are those towards larger x.
"""

from minusgrad.plugin import At, Cell, Node, Spacing, TimeStep, local_map, ti

VELOCITY = Node("m s^-1", (2,))


def departure(velocity, s, dt, here):
    """The four cells around the place that the content of a cell comes from."""
    row, column = (
        ti.floor(here[0] - dt * velocity[0, 0][1] / s),
        ti.floor(here[1] - dt * velocity[0, 0][0] / s),
    )
    return [row, column], [row + 1.0, column + 1.0]


@ti.func
def linear(place, cell):
    """The weight of a cell in linear interpolation at a place; both count cells."""
    low = ti.floor(place)
    b = place - low
    return ti.select(abs(cell - low) < 0.5, 1.0 - b, ti.select(abs(cell - low - 1.0) < 0.5, b, 0.0))


@local_map(
    "velocity_advected",
    gives="velocity_advected",
    unit="m s^-1",
    shape=(2,),
    over="cells",
    edges="periodic",
    u=At("m s^-1", (2,)),
    velocity=VELOCITY,
    s=Spacing(),
    dt=TimeStep(),
    here=Cell(),
    at=Cell(window=departure),
)
def velocity_advected(u, velocity, s, dt, here, at):
    """The velocity at the place that the content of the cell comes from (semi-Lagrangian advection)."""
    v = velocity[0, 0]
    return linear(here[0] - dt * v[1] / s, at[0]) * linear(here[1] - dt * v[0] / s, at[1]) * u


@local_map(
    "advected",
    gives="q_next",
    over="cells",
    edges="periodic",
    q=At(),
    velocity=VELOCITY,
    s=Spacing(),
    dt=TimeStep(),
    here=Cell(),
    at=Cell(window=departure),
)
def advected(q, velocity, s, dt, here, at):
    """A substance at the place that the content of the cell comes from (semi-Lagrangian advection)."""
    v = velocity[0, 0]
    return linear(here[0] - dt * v[1] / s, at[0]) * linear(here[1] - dt * v[0] / s, at[1]) * q


@local_map(
    "divergence",
    gives="divergence",
    unit="s^-1",
    over="cells",
    edges="periodic",
    velocity=VELOCITY,
    s=Spacing(),
)
def divergence(velocity, s):
    """The divergence of the velocity, by central differences."""
    columns = velocity[0, 1][0] - velocity[0, -1][0]
    rows = velocity[1, 0][1] - velocity[-1, 0][1]
    return (columns + rows) / (2.0 * s)


@local_map(
    "pressure",
    gives="pressure",
    unit="m^2 s^-1",
    over="cells",
    edges="periodic",
    pressure=Node("m^2 s^-1"),
    divergence=Node("s^-1"),
    s=Spacing(),
)
def pressure(pressure, divergence, s):
    """A sweep of Jacobi's method for laplace(p) = d."""
    around = pressure[1, 0] + pressure[-1, 0] + pressure[0, 1] + pressure[0, -1]
    return 0.25 * (around - s * s * divergence[0, 0])


@local_map(
    "projection",
    gives="velocity_next",
    unit="m s^-1",
    shape=(2,),
    over="cells",
    edges="periodic",
    velocity=VELOCITY,
    pressure=Node("m^2 s^-1"),
    s=Spacing(),
)
def projection(velocity, pressure, s):
    """The velocity without its divergence: v - grad p."""
    columns, rows = pressure[0, 1] - pressure[0, -1], pressure[1, 0] - pressure[-1, 0]
    return velocity[0, 0] - ti.Vector([columns, rows]) / (2.0 * s)
