"""Repeated maps: sweeps, each of which reads the output of the one before.

    y_0 = 0, or a field;    y_k = f(y_(k-1), other fields, parameters), k = 1, ..., n;    y = y_n

The sweeps are maps of their own, with fields of their own between them, which are derived like every output.
They share parameters and data, and derivatives with respect to these, under the name of the map, go through
all sweeps. Example: ten Jacobi sweeps for Poisson's equation.

Decisions 0279.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..errors import EnergyError
from .fields import Field, Fields
from .local_energy import WINDOW, LocalEnergy
from .local_map import LocalMap
from .roles import Node, concrete
from .term import Term
from .term_spec import TermSpec

SWEEP = "1_"
"""Begins the names of fields between sweeps, as no name of a state's field or of an adjoint begins."""
READ, WRITTEN = f"{SWEEP}before", f"{SWEEP}after"
"""Names of a sweep's own fields in kernels, so that all sweeps have one text."""


def repeated(
    energy: LocalEnergy, fields: Fields, times: int, *, begin: str | None = None, **options: Any
) -> list[Term]:
    """The sweeps of a map that reads its own output, for the list of maps of a `Potential`.

        maps = repeated(jacobi, fields, 10, grid=grid)          p_0 = 0, p_1, ..., p_10 = p
        Potential(fields, [energy_of_p], maps)

    times: the number of sweeps. begin: the field that the first sweep reads in the place of the output;
    default: zeros. options: those of `bind`. The last sweep has the name of the map. Raises `EnergyError` as
    `bind` does, for a map that does not read its own output, and for less than one sweep.
    """
    return sweeps(TermSpec(energy, **options), fields, times, begin)


def sweeps(spec: TermSpec, fields: Fields, times: int, begin: str | None = None) -> list[Term]:
    """The sweeps of a specification; see `repeated`."""
    own = _own_arguments(spec, times)
    if begin is None:
        begin = _zeros_field(spec, fields, own)
    term = Term.of(replace(spec, renamed={**spec.renamed, **dict.fromkeys(own, begin)}), fields)
    assert term.gives is not None
    _refuse_unlike(term, fields[begin])
    between = [_intermediate_output(term, fields, k) for k in range(1, times)]
    read, written = [fields[begin], *between], [*between, term.gives]
    return [_sweep_spec(term, k, own, read[k], written[k]) for k in range(times)]


def _own_arguments(spec: TermSpec, times: int) -> list[str]:
    """The arguments that are the map's own output. Raises `EnergyError` if there are none."""
    energy, what = spec.energy, f"{spec.label}.repeat"
    if not isinstance(energy, LocalMap):
        raise EnergyError(f"{what}: only a map is repeated, got an energy; leave `repeat` out")
    if isinstance(times, bool) or not isinstance(times, int) or times < 1:
        raise EnergyError(f"{what}: needs a number of sweeps of 1 or more, got {times}; correct it")
    gives, *others = spec.output_names().values()
    if others:
        raise EnergyError(
            f"{what}: needs a map with one output, got {len(energy.outputs)}; leave `repeat` out"
        )
    read = {a: spec.renamed.get(a, a) for a in energy.of_role(Node)}
    if gives not in read.values():
        raise EnergyError(
            f"{what}: needs a map that reads its own output '{gives}', got one that reads"
            f" {', '.join(read.values())}; leave `repeat` out, or name the argument in `fields`"
        )
    return [argument for argument, name in read.items() if name == gives]


def _zeros_field(spec: TermSpec, fields: Fields, own: Sequence[str]) -> str:
    """The name of a field of zeros of the shape of the output."""
    nodal = spec.energy.of_role(Node)
    others = {a: fields[spec.renamed.get(a, a)] for a in nodal if a not in own}
    counts = (
        [len(spec.grid)]
        if spec.grid and _over_cells(spec, own[0])
        else [len(f) for a, f in others.items() if spec.energy.set_of(a) == spec.energy.set_of(own[0])]
    )
    sizes = [f.shape[1 + nodal[a].shape.index("d")] for a, f in others.items() if "d" in nodal[a].shape]
    role = nodal[own[0]]
    if not counts or ("d" in role.shape and not sizes):
        raise EnergyError(
            f"{spec.label}.repeat: needs to know the shape of zeros, got a map that reads nothing but its"
            " output; name a field in `begin`"
        )
    name = f"{SWEEP}{spec.label}_0"
    fields.zeros.add(name)
    shape = concrete(role.shape, next(iter(sizes), None))
    (output,) = spec.energy.outputs.values()  # type: ignore[attr-defined]
    return fields.derive(name, counts[0], output.unit, shape).name


def _over_cells(spec: TermSpec, argument: str) -> bool:
    """True if a field is over the cells of the grid; those of elements that read a window need not be."""
    from_cells = isinstance(spec.energy, LocalMap) and spec.energy.from_cells
    return not from_cells or spec.energy.element_kind.cells or spec.energy.set_of(argument) == WINDOW


def _refuse_unlike(term: Term, begin: Field) -> None:
    assert term.gives is not None
    if begin.shape != term.gives.shape:
        raise EnergyError(
            f"{term.name}.begin: needs the shape of the output '{term.gives.name}', {list(term.gives.shape)},"
            f" got '{begin.name}' of shape {list(begin.shape)}; name another field"
        )


def _intermediate_output(term: Term, fields: Fields, sweep: int) -> Field:
    """The output of a sweep that is not the last."""
    assert term.gives is not None
    return fields.derive(
        f"{SWEEP}{term.name}_{sweep}", len(term.gives), term.gives.unit, term.gives.shape[1:]
    )


def _sweep_spec(term: Term, k: int, own: Sequence[str], read: Field, written: Field) -> Term:
    return replace(
        term,
        name=term.name if written is term.gives else f"{term.name} (sweep {k + 1})",
        fields={a: read if a in own else f for a, f in term.fields.items()},
        outputs=dict.fromkeys(term.outputs, written),
        owner=term.name,
        aliases={read.name: READ, written.name: WRITTEN},
    )
