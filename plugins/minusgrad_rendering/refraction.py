"""The ground of a pond, seen from above through a surface that is not level.

A vertical ray that meets the surface where its slope is grad h is bent, by Snell's law for small slopes, by
(1 - 1/n) grad h towards the higher side, n the refractive index of the water. At the depth D it meets the
ground at

    y = x + D (1 - 1/n) grad h,       grad h = (h_north - h_south, h_east - h_west) / (2 s)

and brings the ground's brightness B there, bilinear between its cells, which are those of the surface; a ray
that leaves the ground sees its rim. h (cells,) [m]; s [m] the side of a cell.
"""

from math import inf

from minusgrad.plugin import Cell, Node, Parameter, Spacing, Table, local_map, ti


@local_map(
    "refracted",
    gives="seen",
    over="cells",
    height=Node("m"),
    here=Cell(),
    s=Spacing(),
    depth=Parameter("m", bounds=(0.0, inf)),
    index=Parameter(default=1.333, bounds=(1.0, inf)),
    ground=Table(axes=2),
)
def refracted(height, here, s, depth, index, ground):
    """The brightness of the ground where the ray through a cell of the surface meets it."""
    reach = 0.5 * depth * (1.0 - 1.0 / index) / (s * s)
    y = here[0] + reach * (height[1, 0] - height[-1, 0])
    x = here[1] + reach * (height[0, 1] - height[0, -1])
    y = ti.min(ti.max(y, 0.0), ground.shape[0] - 1.0)
    x = ti.min(ti.max(x, 0.0), ground.shape[1] - 1.0)
    low, left = ti.floor(y), ti.floor(x)
    b, a = y - low, x - left
    i, j = ti.cast(low, ti.i32), ti.cast(left, ti.i32)
    below = (1.0 - a) * ground[i, j] + a * ground[i, j + 1]
    above = (1.0 - a) * ground[i + 1, j] + a * ground[i + 1, j + 1]
    return (1.0 - b) * below + b * above
