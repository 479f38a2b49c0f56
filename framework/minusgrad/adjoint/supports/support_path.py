"""The path of supports as a scalar whose derivatives are their places, and derivatives by their numbers.

    P = sum over held components of  xi x(t) + eta v(t)
    x(t) - X = D (r + o) + V t + A (cos theta - 1) + B sin theta,    theta = alpha (r + o) + omega t

with the letters of `steppers.holds`; r = r(t / T), v = dx/dt, and o is 1 where all happens at once, else 0.
So x = dP/dxi and v = dP/deta; a loss with xi = dL/dx and eta = dL/dv has the derivatives dP/d(D, V, alpha,
omega) by their numbers, and products of P give the tangents of x and v along them.

Decisions 0387.
"""

from ...energies.local_energy import local_energy
from ...energies.roles import Node, Time
from ...engine.runtime import engine

ti = engine()

TO_PLACE, TO_SPEED = "support_xi", "support_eta"
NUMBERS = {
    "displacement": "support_far",
    "velocity": "support_drift",
    "angle": "support_angle",
    "rate": "support_spin",
}
"""The fields of the numbers, by their names."""
SHAPE = {"frequency": "support_rate", "across": "support_across", "beside": "support_beside"}
"""The fields that shape a path, by its row of `HeldComponents.given`."""
ONCE = "support_once"
"""The field that is 1 where all happens at once."""


@local_energy(
    "support_path",
    over="nodes",
    support_xi=Node(),
    support_eta=Node(),
    support_far=Node(),
    support_drift=Node(),
    support_angle=Node(),
    support_spin=Node(),
    support_rate=Node(),
    support_across=Node(),
    support_beside=Node(),
    support_once=Node(),
    support_t=Time(),
)
def support_path(
    support_xi,
    support_eta,
    support_far,
    support_drift,
    support_angle,
    support_spin,
    support_rate,
    support_across,
    support_beside,
    support_once,
    support_t,
):
    """The place and the velocity of a held component, each with its weight."""
    rate = support_rate[0]
    s = ti.min(ti.max(support_t * rate, 0.0), 1.0)
    risen = s * s * s * (10.0 + s * (-15.0 + 6.0 * s)) + support_once[0]
    rising = 30.0 * s * s * (1.0 - s) * (1.0 - s) * rate
    theta = support_angle[0] * risen + support_spin[0] * support_t
    half = ti.sin(0.5 * theta)
    sine, cosine = ti.sin(theta), ti.cos(theta)
    turned = support_beside[0] * sine - 2.0 * support_across[0] * half * half
    turning = support_beside[0] * cosine - support_across[0] * sine
    place = support_far[0] * risen + support_drift[0] * support_t + turned
    turn = support_angle[0] * rising + support_spin[0]
    speed = support_far[0] * rising + support_drift[0] + turning * turn
    return support_xi[0] * place + support_eta[0] * speed
