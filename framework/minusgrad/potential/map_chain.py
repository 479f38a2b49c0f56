"""The maps and slopes of a potential, run in order: their output fields, with adjoints and tangents.

y_1 = f_1(fields),  y_2 = f_2(fields, y_1),  ...        adjoint of y: dU/dy, the shape of y

Decisions 0114, 0152, 0247, 0293, 0299.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ..codegen.derivative_request import ADJOINT_OF, DerivativeRequest
from ..codegen.loop_choice import loops_of_map
from ..codegen.windows import exits
from ..energies.fields import Field
from ..energies.term import Term
from ..errors import EnergyError, TermError
from .non_finite import non_finite_field
from .requests.term_request import map_request, slope_request, tangents_of
from .slope import Slope, SlopeKernels
from .staged.staged_map_kernels import StagedMapKernels
from .staged.staged_term import StagedTerm
from .term_kernels import MapKernels


class MapChain:
    """Maps and slopes in the order in which they run, and the fields that they write.

    `parts` are all of them by name, `maps` and `slopes` each kind, `kernels` what computes them; `staged`:
    the kernels of the maps that are staged. `outputs`,
    `adjoints` (dU/dy), and the tangents of both are by field. Raises `EnergyError` for one that writes a
    field which an earlier one has read, and for a slope that writes the output of another.
    """

    def __init__(self, parts: Sequence[Term | StagedTerm | Slope]):
        _check_order(parts)
        self.parts: dict[str, Any] = {part.name: part for part in parts}
        self.maps = {n: part for n, part in self.parts.items() if not isinstance(part, Slope)}
        self.slopes = {n: part for n, part in self.parts.items() if isinstance(part, Slope)}
        self.outputs = {field.name: field for part in parts for field in outputs(part)}
        self.adjoints = {
            n: Field.of(ADJOINT_OF + n, np.zeros(f.shape), dtype=f.dtype) for n, f in self.outputs.items()
        }
        self.adjoint_tangents = {n: f.twin() for n, f in self.adjoints.items()}
        self.output_tangents = {n: f.twin() for n, f in self.adjoints.items()}
        self.differentiators = {n: SlopeKernels(slope, self.adjoints) for n, slope in self.slopes.items()}
        self.compile()

    def compile(self) -> None:
        """Make the kernels of all maps, for their present elements."""
        for n, output in self.outputs.items():
            for one in (self.adjoints, self.adjoint_tangents, self.output_tangents):
                one[n].resize(len(output))
        self.to_places = [n for n, m in self.maps.items() if any(f.places for f in outputs(m))]
        self.loops = {n: loops_of_map(m, self.adjoints) for n, m in self.maps.items() if isinstance(m, Term)}
        self.staged: dict[str, StagedMapKernels] = {}
        kernels: dict[str, Any] = dict(self.differentiators)
        written: set[str] = set()
        for n, part in self.maps.items():
            given = {field.name for field in outputs(part)}
            if isinstance(part, StagedTerm):
                first = given - written
                self.staged[n] = StagedMapKernels(part, first, self.adjoints, self.adjoint_tangents)
                kernels[n] = self.staged[n]
            else:
                kernels[n] = MapKernels(self.loops[n], given - written)
            written |= given
        self.kernels = {n: kernels[n] for n in self.parts}

    def refresh(self, t: float, needed: Collection[str] | None = None) -> None:
        """Recompute the outputs from the present fields; `needed`: of some parts, the windows of the others.

        Windows are those of maps to grids and from them.
        """
        for name, kernels in self.kernels.items():
            if needed is None or name in needed:
                kernels(t)
            elif isinstance(kernels, MapKernels | StagedMapKernels):
                kernels.locate(t)

    def compute_places(self, t: float) -> None:
        """Recompute the outputs that are positions, which lists and images of other parts are at."""
        for name in self.to_places:
            self.kernels[name](t)

    def needed_parts(
        self, read: Collection[str], known: Collection[str] = ()
    ) -> tuple[frozenset[str], set[str]]:
        """The parts which a `refresh` must run for some outputs, and all fields that are read with them.

        `known`: the outputs that have their values.
        """
        wanted, found = set(read), set()
        for name, part in reversed(self.parts.items()):
            if not (wanted - set(known)).isdisjoint(field.name for field in outputs(part)):
                found.add(name)
                wanted |= {field.name for field in part.fields.values()}
        return frozenset(found), wanted

    @property
    def read_by_windows(self) -> set[str]:
        """The fields by which the windows of maps are found, which derivatives of these need."""
        found = {n for n, k in self.kernels.items() if isinstance(k, MapKernels) and k.located.text}
        return {f.name for n in found | self.staged.keys() for f in self.maps[n].fields.values()}

    @property
    def exits(self) -> bool:
        """True if a window has left its grid, where that is refused, since `forget_exits`."""
        return any(exits.have_exits(loops) for loops in self.loops.values())

    def forget_exits(self) -> None:
        """Reset `exits`."""
        for loops in self.loops.values():
            exits.forget_exits(loops)

    def first_exit(self, t: float) -> str | None:
        """The first window that has left its grid, at the present fields, and its node; after `refresh`."""
        found = (exits.first_exit(loops, t) for loops in self.loops.values())
        return next((text for text in found if text), None)

    def refuse_idle(self) -> None:
        """Raise `EnergyError` for a map none of whose windows meets the grid; after `refresh`."""
        for loops in self.loops.values():
            exits.refuse_idle(loops)

    def first_nonfinite(self) -> str | None:
        """The first output, in the order in which they are computed, that is not finite, and its node."""
        for part in self.parts.values():
            if found := non_finite_field(outputs(part), f"{_part_kind(part)} '{part.name}', output"):
                return found
        return None

    def seconds(self, t: float) -> float:
        """The time that `refresh` takes, from some slices of long kernels."""
        return sum(k.seconds(t) for k in self.kernels.values() if isinstance(k, MapKernels))

    def with_outputs(self, tangents: Mapping[str, Any], t: float) -> dict[str, Any]:
        """The tangents, and those of the outputs that change along them; after `refresh`.

        Raises `EnergyError` where a staged map changes that is not linear.
        """
        known = dict(tangents)
        for name, part in self.parts.items() if known else ():
            if name in self.slopes:
                moved = {z: self.output_tangents[g.name].array for z, g in part.gives.items()}
                self.differentiators[name].tangents(known, moved, t)
                known |= {g.name: moved[z] for z, g in part.gives.items()}
                continue
            along = tangents_of(part, known)
            if name in self.staged and not along:
                continue
            into = {field.name: self.output_tangents[field.name].array for field in outputs(part)}
            for output, array in into.items():
                if output not in known:
                    array.fill(0)
            if along:
                self.kernels[name].add_tangents(along, into, t)
            known |= into
        return known

    def requests(self, full: DerivativeRequest) -> dict[str, DerivativeRequest]:
        """The part of a request that concerns each map and slope, last first."""
        found = {}
        for name, part in reversed(self.parts.items()):
            if name in self.slopes:
                found[name] = slope_request(part, full)
            else:
                tangents = [self.adjoint_tangents[field.name].array for field in outputs(part)]
                found[name] = map_request(part, full, tangents)
        return found


def outputs(part: Term | StagedTerm | Slope) -> list[Field]:
    """The fields that a map or a slope writes."""
    return list((part.gives if isinstance(part, Slope) else part.outputs).values())


def _check_order(parts: Sequence[Term | StagedTerm | Slope]) -> None:
    """Refuse parts that write a field after another has read it, and fields that a slope would overwrite."""
    for k, early in enumerate(parts):
        for late in parts[k:]:
            read = {field.name for field in early.fields.values()}
            if late_ones := [field.name for field in outputs(late) if field.name in read]:
                wrong = f"{_part_kind(late)} '{late.name}' writes '{late_ones[0]}' after"
                raise EnergyError(f"{wrong} {_part_kind(early)} '{early.name}' has read it; list it before")
            if late is early or not (isinstance(early, Slope) or isinstance(late, Slope)):
                continue
            twice = {field.name for field in outputs(early)} & {field.name for field in outputs(late)}
            if twice:
                text = f"writes '{min(twice)}', which {_part_kind(early)} '{early.name}' writes"
                cure = "give each an output of its own"
                raise TermError(f"{_part_kind(late)} '{late.name}': {text}; {cure}", late.name)


def _part_kind(part: Term | StagedTerm | Slope) -> str:
    return "slope" if isinstance(part, Slope) else "map"
