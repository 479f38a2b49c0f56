"""Friction between surfaces in contact: smoothed Coulomb's, of the force of contact at the start of a step.

    R(v, x) = sum over close pairs mu N c f(|u|^2 / c^2),       N = max(0, -m db/dg)
    f(y)    = y^(1/2) for y > 1,   3/8 + 3/4 y - 1/8 y^2 below

R [W], its force is -dR/dv; mu [1] Coulomb's coefficient, N [N] the force of a pair at x, with b, g and m of
`contact_law`, u [m/s] the relative velocity of the closest points across their distance, c [m/s] the speed
below which friction is less than mu N. f is y^(1/2) continued by its Taylor polynomial at 1, so that R has
two continuous derivatives, friction is exactly mu N from c on, and a body that sticks creeps more slowly.
The closest points are r - a p - b q apart, with the a and b that make this least, and move with v there.

An implicit step reads x where it began, as the lagged friction of Li et al. 2020 (Incremental potential
contact, ACM Trans. Graph. 39, 49, section 5) in its first iteration; their f has a jump in its third
derivative at u = 0.

Decisions 0129.
"""

from collections.abc import Mapping
from functools import lru_cache
from math import inf
from typing import Any

from minusgrad.plugin import Parameter, function_from_source, local_energy, ti

from ..damping import COEFFICIENT
from .contact_law import LENGTHS, SYMMETRIES, ContactLaw, difference_roles
from .distances import CLASSES, HELPERS, ContactClass

SPEED = Parameter(
    "m s^-1",
    bounds=(0.0, inf),
    open=True,
    reason="at rest friction has no direction",
    about="Speed from which on friction is Coulomb's.",
)


@ti.func
def smoothed(y):
    """f of a squared ratio of speeds."""
    return ti.select(y < 1.0, 0.375 + y * (0.75 - 0.125 * y), ti.sqrt(ti.max(y, 1.0)))


@ti.func
def along_edge(r, q):
    """The place along q that is nearest to r."""
    return r.dot(q) / q.dot(q)


@ti.func
def along_first(r, p, q):
    """a of the place a p + b q that is nearest to r; b with p and q exchanged."""
    pp, qq, pq = p.dot(p), q.dot(q), p.dot(q)
    return (qq * r.dot(p) - pq * r.dot(q)) / (pp * qq - pq * pq)


@ti.func
def across_square(w, e):
    """The square of the part of w across e."""
    along = w.dot(e)
    return w.dot(w) - along * along / e.dot(e)


_SCOPE: Mapping[str, Any] = {
    **HELPERS,
    "smoothed": smoothed,
    "along_edge": along_edge,
    "along_first": along_first,
    "across_square": across_square,
}
_FEET = {
    (): "    e, w = r, to_v_r\n",
    ("q",): "    b = along_edge(r, q)\n    e, w = r - b * q, to_v_r - b * to_v_q\n",
    ("p", "q"): (
        "    a, b = along_first(r, p, q), along_first(r, q, p)\n"
        "    e, w = r - a * p - b * q, to_v_r - a * to_v_p - b * to_v_q\n"
    ),
}
"""By the edges along which closest points lie: their distance e and relative velocity w."""


@lru_cache(maxsize=16)
def frictions(law: ContactLaw) -> dict[str, Any]:
    """The dissipation of each class of closest points under a law, by kind of tuples."""
    return {kind: _friction(law, one) for kind, one in CLASSES.items()}


def _friction(law: ContactLaw, one: ContactClass) -> Any:
    moving = ["r", *one.spanned]
    used = [n for n in one.differences if n in moving or one.factor]
    velocities = [f"v_{name}" for name in moving]
    arguments = [*used, *velocities, *LENGTHS, *law.constants, "coefficient", "speed"]
    feet = _FEET[one.spanned].replace("to_v_", "v_")
    source = (
        f"def {one.kind}({', '.join(arguments)}):\n"
        f"{feet}"
        f"    gap = ti.sqrt({one.square}) - thickness[0]\n"
        f"    push = ti.max(-{one.factor}slope({law.call(law.constants)}), 0.0)\n"
        f"    return coefficient * push * speed * smoothed(across_square(w, e) / (speed * speed))\n"
    )
    function = function_from_source(one.kind, source, {**_SCOPE, "slope": law.slope})
    function.__doc__ = f"Friction of {law.name}. {one.about}"
    roles = difference_roles(one, "x", "m") | difference_roles(one, "v", "m s^-1", "v_")
    kept = {n: r for n, r in roles.items() if n in arguments or not n.startswith(("r", "p", "q", "v_"))}
    return local_energy(
        f"{law.name}_friction_{one.kind}",
        over=one.arity,
        symmetries=SYMMETRIES,
        unit="W",
        **kept,
        **LENGTHS,
        **law.constants,
        coefficient=COEFFICIENT,
        speed=SPEED,
    )(function)
