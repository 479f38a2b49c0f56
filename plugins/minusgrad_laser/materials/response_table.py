"""A measured response of a material: depths at some doses, and a smooth monotone curve through them.

    Z(D) = z_k + h m_k s (1 - s)^2 - h m_{k+1} s^2 (1 - s) + (z_{k+1} - z_k) s^2 (3 - 2 s)
    s = (D - d_k) / h

d_0 < d_1 < ... are doses [1] at equal distances h, z_k the developed parts there and m_k the slopes, of a
cubic that is monotone where the z_k are (Fritsch & Carlson 1980, SIAM J. Numer. Anal. 17, 238). The table is
made of measured depths (`materials.measured_depths`). Below the first dose and above the last, Z stays as it
is there.
"""

from minusgrad.plugin import Node, Table, local_map, ti


@local_map("depth_table", gives="developed", over="nodes", dose=Node(), response=Table(axes=2))
def depth_table(dose, response):
    """The depth of a measured table at each dose, by a monotone cubic."""
    last = response.shape[0] - 2
    place = ti.min(ti.max((dose[0] - response[0, 0]) / response[0, 1], 0.0), 1.0 * last)
    k = ti.min(ti.cast(ti.floor(place), ti.i32), last - 1)
    s = place - k
    r = 1.0 - s
    low, high = response[k + 1, 0], response[k + 2, 0]
    bend = response[k + 1, 1] * s * r * r - response[k + 2, 1] * s * s * r
    return low + bend + (high - low) * s * s * (3.0 - 2.0 * s)
