"""Roles of the arguments of rods: fields over nodes and edges, numbers of cross-sections, moduli."""

from math import inf
from typing import Any

from minusgrad.plugin import Datum, Node, Parameter

X: Any = Node("m", (3,), of="rod_node")
Q: Any = Node("1", (4,), scale=0.1, of="rod_edge")
FRAME: Any = Node("1", (4,), scale=0.1)
YOUNG: Any = Parameter("Pa", bounds=(0.0, inf), about="Young's modulus E.")
SHEAR: Any = Parameter("Pa", bounds=(0.0, inf), about="Shear modulus G.")
LENGTH: Any = Datum("m", differentiable=True, about="Length at rest of an edge, or that a joint stands for.")
AREA: Any = Datum("m^2", differentiable=True, about="Area of the cross-section.")
SHEAR_AREAS: Any = Datum("m^2", (2,), differentiable=True, about="Areas that bear shear along d1 and d2.")
MOMENTS: Any = Datum("m^4", (2,), differentiable=True, about="Second moments of area about d1 and d2.")
POLAR: Any = Datum("m^4", about="Sum of both second moments, the scale of the energy that ties a frame.")
TORSION: Any = Datum("m^4", differentiable=True, about="Torsion constant J.")
REST: Any = Datum("1", (3,), differentiable=True, about="Rotation at rest, by r about n: tan(r/4) n.")
WALL: Any = Datum("1", (4,), about="Quaternion of the frame that a clamp holds the end at.")
AXIS: Any = Datum("1", (3,), about="Unit vector about which a clamp is turned.")
ANGLE: Any = Parameter("rad", default=0.0, bounds=(-inf, inf), about="Angle by which a clamp is turned.")
TURN: Any = Datum("1", (4,), about="Quaternion of an edge at rest, from the frame of its rigid node.")
