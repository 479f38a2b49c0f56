"""The flow of kinetic energy and more, such as a part of U, which drifts follow; kicks take the rest of U.

    H = (T + U_part) + (U - U_part)    drift: the flow of the first,    kick: v <- v - h d(U - U_part)/dx / m

A plugin that can solve T + U_part, such as Kepler orbits about a dominant mass, gives an `Integrator` such a
flow, as loops with their tangents and transposes; of traced maps these follow (`map_flow`). Schemes, tapes,
derivatives of runs, checks and saves are then those of every splitting.

Decisions 0115.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ....engine.kernels import Code
from ....potential.potential import Potential
from ...systems.parts import Consumer

Rows = Mapping[str, tuple[str, Any]]
"""Of parameters whose adjoints are asked for: the name of the array (1, 1) in the kernel, and the array."""


class PartFlow(ABC):
    """Loops of the flow, for a kernel with the scalar h; arrays of fields are named f_x, of tangents w_x.

    name: that of its stepper, for messages. consumer: the parts of a system that it has a rule for. x: the
    field of positions. parameters: the "term.argument" that the flow depends on. state: the arrays beside the
    fields that it reads before it writes, by name. statements: about how many a drift executes. slow: why it
    is slow on a device. inexact: where a drift is not the flow to rounding, what has no exact drifts, and
    the cure. conserves: drifts keep the energy, so that a run whose energy leaves is one that diverges.
    """

    name: str
    consumer: Consumer
    x: str
    parameters: Sequence[str]
    state: Mapping[str, Any]
    statements: float
    slow: str = ""
    inexact: tuple[str, str] | None = None
    conserves: bool = True

    @property
    def potentials(self) -> list[Potential]:
        """What has parameters beside the energies of the system."""
        return []

    def begin(self) -> None:
        """Begin at the present fields, which others may have written; does nothing where none is kept."""
        return

    @abstractmethod
    def drift(self) -> Code:
        """(x, v) after a time `h` of the flow."""

    def rest(self, gradient: Any) -> Code:
        """The part of dU/dx that kicks take, from the array of dU/dx; no code where it is all of it."""
        return Code("")

    def kick(self) -> Code | None:
        """v <- v - h d(U - U_part)/dx / m, as `rest` computed it; None: an ordinary kick by all of U."""
        return None

    @abstractmethod
    def put_tangents(self, tangents: Mapping[str, np.ndarray]) -> None:
        """Set the tangents of `parameters`; zero of those that are absent."""

    @abstractmethod
    def drift_tangent(self, tangents: Mapping[str, Any]) -> Code:
        """`drift`, with the tangents by field."""

    def kick_tangent(self, tangents: Mapping[str, Any]) -> Code:
        """What U_part takes off a kick by all of U and off its tangent, after that kick; else no code."""
        return Code("")

    @abstractmethod
    def drift_adjoint(self, adjoints: Mapping[str, Any], parameters: Rows) -> Code:
        """The adjoints of x and v before a drift from those after it, at the state before it.

        Those of masses and of `parameters` are added to.
        """

    def kick_adjoint(self, kicked: Any, product: Mapping[str, Any], force: Any, parameters: Rows) -> Code:
        """Subtract U_part's share from Hessian products along `kicked`, by field; no code without a part.

        force: the gradient, whose share goes, too; None: not needed. Products by `parameters` were subtracted
        from their adjoints, to which its share is added.
        """
        return Code("")
