"""Stages: the maps of a potential at work, one after another."""

from collections.abc import Mapping
from typing import Any

from .fields import Field
from .kernels import Launch
from .map_loops import MapLoops
from .sweep import Sweep
from .terms import Term
from .window_lanes import WindowLanes, suits
from .window_loops import WindowLoops


class Forward:
    """A map at work: call it to add what its elements give at the present fields; the `first` begins anew."""

    def __init__(self, loops: MapLoops, first: bool):
        self.loops = loops
        self._anew = first and loops.gives_to_all
        self._clears = first and not loops.gives_to_all
        self._launch = Launch(loops.forward(anew=self._anew), "t")
        self._along: dict[tuple, tuple[Launch, Any]] = {}
        self._proven = False

    def __call__(self, t: float) -> None:
        if self._clears:
            self.loops.given.array.fill(0)
        self._launch(t)
        self._proven = self._proven or self.loops.prove_forward(t, {}, self._anew)

    def along(self, tangents: Mapping[str, Any], into: Any, t: float) -> None:
        """Add to `into` how what the elements give changes along tangents, by the map's arguments.

        The fields have not changed since the map was called.
        """
        key = *Sweep(tangents=tangents).key(self.loops.term.fields), id(into)
        for argument, values in tangents.items():
            if argument not in self.loops.term.fields:
                self.loops.set_tangent(argument, values)
        if key not in self._along:
            code = self.loops.forward(tangents, into)
            self.loops.prove_forward(t, tangents, anew=False)
            self._along[key] = Launch(code, "t"), (tangents, into)
        self._along[key][0](t)


def loops_of(term: Term, adjoint: Field) -> MapLoops:
    """The loops of a bound map."""
    if not term.grid:
        return MapLoops(term, adjoint)
    return (WindowLanes if suits(term) else WindowLoops)(term, adjoint)
