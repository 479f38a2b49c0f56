"""The parts of a system, and which of them a consumer understands.

A consumer is whatever takes a system: a stepper, an observer, a derivative, an adapter, a command. It
declares the parts that it has a rule for, and those that have no effect on it. `Consumer.accept` refuses
every other part by its name, so that no consumer can leave one out in silence. The table of parts and
consumers in `docs/inside/systems.md` is made of these declarations.

Decisions 0221.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ...errors import EnergyError
from ...potential.far_pairs.tree_kernels import TreeKernels
from .system import System


@dataclass(frozen=True)
class Part:
    """words: as messages call it. names: those of what a system has of it; none where it is absent."""

    words: str
    names: Callable[[System], Sequence[str]]


def _far(system: System) -> list[str]:
    """The terms whose far pairs are summed by a tree."""
    return [name for name, one in system.potential.kernels.items() if isinstance(one, TreeKernels)]


SUPPORTS, MOVING = "supports", "moving supports"
FRICTION, MAGNETIC, CONSTRAINTS, LAGRANGIAN = "friction", "magnetic field", "constraints", "Lagrangian"
PERIODIC, BATH, BAROSTAT, FAR, TIME = "periodic box", "heat bath", "moving box", "far pairs", "time"
BARRIERS = "barriers"
PARTS: Mapping[str, Part] = {
    SUPPORTS: Part("held nodes", lambda system: system.holds.names),
    MOVING: Part("supports that move", lambda system: system.holds.names if system.holds.moving else []),
    FRICTION: Part("friction", lambda system: [*system.dissipation.terms] if system.dissipation else []),
    MAGNETIC: Part(
        "a magnetic field", lambda system: [*system.magnetic.potential.terms] if system.magnetic else []
    ),
    CONSTRAINTS: Part("constraints", lambda s: [*s.constraints.terms] if s.constraints else []),
    LAGRANGIAN: Part("a Lagrangian", lambda system: [*system.lagrangian.terms] if system.lagrangian else []),
    PERIODIC: Part("a periodic box", lambda system: [system.fields.box.name] if system.fields.box else []),
    BATH: Part("a heat bath", lambda system: ["bath"] if system.bath else []),
    BAROSTAT: Part("a box that moves", lambda system: ["barostat"] if system.barostat else []),
    FAR: Part("far pairs", _far),
    TIME: Part("energies that depend on time", lambda system: _in_time(system)),
    BARRIERS: Part("barriers that no step may pass", lambda system: system.potential.barriers),
}
"""The parts that a system may have beside its energies and motions, by name."""
ALL = frozenset(PARTS)


def _in_time(system: System) -> list[str]:
    return ["t"] if system.potential.uses_time else []


@dataclass(frozen=True)
class Consumer:
    """The parts that a consumer understands; it refuses the others.

    name: as messages call it. understands: the parts with a rule. idle: parts that have no effect on it, with
    the reason. apart: pairs of parts that it has no rule for together. cure: how to do without it; cures:
    another cure, by part.
    """

    name: str
    understands: Collection[str]
    idle: Mapping[str, str] = field(default_factory=dict)
    apart: Sequence[tuple[str, str]] = ()
    cure: str = ""
    cures: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert {*self.understands, *self.idle, *self.cures, *(p for pair in self.apart for p in pair)} <= ALL

    def refuses(self, part: str) -> bool:
        """True if it has no rule for a part."""
        return part not in self.understands and part not in self.idle

    def accept(self, system: System) -> None:
        """Raise `EnergyError` for a part that it has no rule for, with the names of what there is."""
        present = {part: names for part, one in PARTS.items() if (names := one.names(system))}
        for part, names in present.items():
            if self.refuses(part):
                raise EnergyError(self._text(PARTS[part].words, part, names))
        for first, second in self.apart:
            if first in present and second in present:
                words = f"{PARTS[first].words} together with {PARTS[second].words}"
                raise EnergyError(self._text(words, second, [*present[first], *present[second]]))

    def _text(self, words: str, part: str, names: Sequence[str]) -> str:
        some = [f"'{name}'" for name in names[:3]] + ["..."] * (len(names) > 3)
        cure = self.cures.get(part, self.cure)
        return f"{self.name}: has no rule for {words}, got {', '.join(some)}; {cure}"
