"""The ground of a pond, seen from above through a surface that is not level.

A vertical ray that meets the surface where its slope is grad h is bent, by Snell's law for small slopes, by
(1 - 1/n) grad h towards the higher side, n the refractive index of the water. At the depth D it meets the
ground at

    y = x + D (1 - 1/n) grad h,       grad h = (h_north - h_south, h_east - h_west) / (2 s)

and brings the ground's brightness B there, bilinear between its cells, which are those of the surface; a ray
that leaves the ground sees its rim. h (cells,) [m]; s [m] the side of a cell.

B is a sum of hats, max(1 - |y - i|, 0), over three cells along each axis. All rays of a level surface meet
the middle of a cell, where B has a kink along each axis: its slope there is the mean of both sides,
(B(i + 1) - B(i - 1)) / 2, as at every tie of max and abs. Two cells alone would give the slope of one side.

Decisions 0333.
"""

from math import inf

from minusgrad.plugin import Cell, Node, Parameter, Spacing, Table, local_map, ti


@ti.func
def hat(r):
    """The share of a cell in a place that is r cells away."""
    return ti.max(1.0 - ti.abs(r), 0.0)


@local_map(
    "refracted",
    gives="seen",
    over="cells",
    height=Node("m"),
    here=Cell(),
    s=Spacing(),
    depth=Parameter("m", bounds=(0.0, inf), about="Depth of the water."),
    index=Parameter(default=1.333, bounds=(1.0, inf), about="Refractive index of the water."),
    ground=Table(axes=2),
)
def refracted(height, here, s, depth, index, ground):
    """The brightness of the ground where the ray through a cell of the surface meets it."""
    reach = 0.5 * depth * (1.0 - 1.0 / index) / (s * s)
    y = here[0] + reach * (height[1, 0] - height[-1, 0])
    x = here[1] + reach * (height[0, 1] - height[0, -1])
    low, left = ti.floor(y), ti.floor(x)
    seen = 0.0
    for k in ti.static(range(-1, 2)):
        i = ti.cast(ti.min(ti.max(low + k, 0.0), ground.shape[0] - 1.0), ti.i32)
        for m in ti.static(range(-1, 2)):
            j = ti.cast(ti.min(ti.max(left + m, 0.0), ground.shape[1] - 1.0), ti.i32)
            seen += hat(y - low - k) * hat(x - left - m) * ground[i, j]
    return seen
