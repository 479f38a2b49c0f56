"""The flow of a charge in a magnetic field for a time h, as a scalar that the move is a derivative of.

    W(x, v; xi, eta; h) = -(xi . x' + eta . v')        (x, v) -> (x', v') the flow

so that x' = -dW/dxi and v' = -dW/deta; the adjoint of a loss goes back by -dW/d(x, v, ...) at xi = dL/dx',
eta = dL/dv', and tangents go forward by products of W. The sign is that of a force, -dU/dx. The time of W is
the length of the flow.

    uniform B    the helix, exact for every h (`rotation`)
    B(x)         half a drift, the rotation of v about B there, half a drift: symmetric, of order 2, volume
                 preserving, |v| unchanged (He, Sun, Liu & Qin 2015, J. Comput. Phys. 281, 135)

Decisions 0368.
"""

from math import inf

import numpy as np

from ...energies.local_energy import LocalEnergy
from ...energies.magnetic_field import CHARGE, OWN, MagneticField
from ...energies.roles import Datum, Node, Role, Time
from ...symbolic.sources.captured_values import kept_by_values
from .curl import field_function, function_from_source

PLACE, SPEED, TO_PLACE, TO_SPEED = (f"{OWN}{letter}" for letter in ("x", "v", "xi", "eta"))
MASS, LENGTH = f"{OWN}mass", f"{OWN}t"
HELIX = """\
    place = {x} + {h} * mean(w, {v})
    speed = turned(w, {v})
"""
SPLIT = """\
    speed = turned(w, {v})
    place = middle + 0.5 * {h} * speed
"""


class FlowMass(Node):
    """Role of the mass, of which a flow is no smooth function near zero."""

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Values near the scale."""
        return Role.draw(self, rng, shape)


@kept_by_values
def flow_energy(field: MagneticField, d: int, charges: bool, masses: bool) -> LocalEnergy:
    """W of a field in d dimensions; `charges`, `masses`: those are fields, not numbers.

    Raises `EnergyError` and `TraceError` as `curl.field_function` does.
    """
    from . import rotation  # written with `ti`, so that it binds the engine of the process

    own = {a: role for a, role in field.roles.items() if a in field.arguments and not isinstance(role, Node)}
    charge = Node("C") if charges else field.roles[CHARGE]
    mass: Role = FlowMass("kg", bounds=(0.0, inf), open=True) if masses else Datum("kg")
    x, v = Node("m", ("d",)), Node("m s^-1", ("d",))
    roles: dict[str, Role] = {PLACE: x, SPEED: v, TO_PLACE: Node("1", ("d",)), TO_SPEED: Node("1", ("d",))}
    roles |= {MASS: mass, CHARGE: charge, **own, LENGTH: Time()}
    plane = "_in_plane" if d == 2 else ""
    scope = {"turned": getattr(rotation, f"turned{plane}"), "mean": getattr(rotation, f"mean{plane}")}
    function = function_from_source(
        "flow", _source(field, roles), scope | {"field": field_function(field, d)}
    )
    return LocalEnergy(field.name, function, "nodes", roles)


def _source(field: MagneticField, roles: dict[str, Role]) -> str:
    names = {"x": f"{PLACE}[0]", "v": f"{SPEED}[0]", "h": LENGTH}
    q, m = (f"{a}[0]" if isinstance(roles[a], Node) else a for a in (CHARGE, MASS))
    given = ", ".join("middle_of" if a == field.place else a for a in field.arguments)
    lines = [f"def flow({', '.join(roles)}):\n"]
    if not field.uniform:
        lines += ["    middle = {x} + 0.5 * {h} * {v}\n", "    middle_of = [middle]\n"]
    lines += [f"    w = ({{h}} * {q} / {m}) * field({given})\n", HELIX if field.uniform else SPLIT]
    lines += [f"    return -({TO_PLACE}[0].dot(place) + {TO_SPEED}[0].dot(speed))\n"]
    return "".join(lines).format(**names)
