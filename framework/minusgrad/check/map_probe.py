"""Probe of a map: the energy U = sum over p of w_p . y_p of its outputs y, with random weights w.

The checks of energies apply to this U, which is a sum over elements, receivers and components.

Decisions 0268, 0336.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..energies.fields import Field, Fields
from ..energies.local_energy import IMAGES, LocalEnergy, local_energy
from ..energies.local_map import LocalMap, numbers_of
from ..energies.roles import Node
from ..energies.term import Term, bind
from ..potential.potential import Potential
from ..potential.staged.staged_term import StagedTerm

EDGE = 1e-6
"""The tolerance of values just outside a window, relative to the largest value inside."""


@local_energy("probe", over="nodes", given=Node(), probe_weight=Node())
def probe(given, probe_weight):
    """The weighted sum of a map's output."""
    return given[0] * probe_weight[0]


def probe_of(shape: tuple[int, ...]) -> LocalEnergy:
    """The weighted sum of vectors or matrices."""
    if not shape:
        return probe

    @local_energy("probe", over="nodes", given=Node(shape=shape), probe_weight=Node(shape=shape))
    def of_tensors(given, probe_weight):
        """The weighted sum of a map's output."""
        return (given[0] * probe_weight[0]).sum()

    return of_tensors


def weight_of(output: int) -> str:
    """The name of the weights of a map's output, by its number."""
    return f"probe_weight_{output}" if output else "probe_weight"


def probe_map(term: Term | StagedTerm, rng: np.random.Generator, precision: str = "f64") -> Potential:
    """A potential over copies of the map's fields: the map, and the weighted sums of its outputs.

    The weights of several outputs are divided by the sizes of these, so that none hides another.
    """
    values = {f.name: f.values for f in term.fields.values()}
    units = {f.name: f.unit for f in term.fields.values()}
    outputs = list(term.outputs.values())
    sizes = [float(np.abs(f.values).max(initial=0.0)) if len(outputs) > 1 else 1.0 for f in outputs]
    weights = {
        weight_of(k): rng.normal(size=f.shape) / (size if 0.0 < size < np.inf else 1.0)
        for k, (f, size) in enumerate(zip(outputs, sizes, strict=True))
    }
    box = getattr(term, "box", None)
    boxes = {} if box is None else {box.name: box.values}
    fields = Fields(values | weights | boxes, units, precision)
    own = {a: fields[f.name] for a, f in term.fields.items()}
    for argument, field in term.fields.items():
        own[argument].computed_places = field.computed_places
    # "1" is a unit that the probe's role fits
    given = {
        n: fields.derive(f.name, len(f), "1", f.shape[1:], places=f.computed_places)
        for n, f in term.outputs.items()
    }
    made: Term | StagedTerm = replace(term, fields=own, outputs=given, dtype=fields.dtype)
    if isinstance(made, Term):
        listed = fields.lists_at(made.places_field) if made.elements.listed else None
        elements = made.elements.following(listed)
        made = replace(made, elements=elements, shared={}, box=fields.box, rule=None)
    probes = [
        bind(
            probe_of(f.shape[1:]),
            fields,
            name="_".join(["probe", *[str(k)] * (k > 0)]),
            renamed={"given": f.name, "probe_weight": weight_of(k)},
        )
        for k, f in enumerate(given.values())
    ]
    return Potential(fields, probes, [made])


def pieces(
    term: Term, elements: Iterator[tuple[Any, Mapping[str, Any]]], fields: Mapping[str, Field]
) -> list[float]:
    """w_p . f for each element and each receiver, in plain Python; elements as (nodes, values by name).

    `fields`: those of the probe, with the weights.
    """
    weights = [fields[weight_of(k)].values for k in range(len(term.outputs))]
    of_map, found = term.energy.evaluator(), []

    def weighed(p: int, values: Mapping[str, Any]) -> float:
        return float(numbers_of(of_map(values)) @ np.concatenate([w[p].reshape(-1) for w in weights]))

    for nodes, values in elements:
        if term.grid is not None:
            cells = [(number, at) for _, number, at in term.in_window(values) if number is not None]
            gathers = isinstance(term.energy, LocalMap) and term.energy.from_cells
            found += [weighed(nodes[0] if gathers else cell, {**values, **at}) for cell, at in cells]
        else:
            found.append(weighed(nodes[0], values))
            if term.elements.unordered:
                by_slot = {*term.fields, IMAGES}
                exchanged = {a: v[::-1] if a in by_slot else v for a, v in values.items()}
                found.append(weighed(nodes[1], exchanged))
    return found


def cut_off(term: Term, values: Mapping[str, Any]) -> float:
    """The largest value of an element outside its window, relative to the largest inside, of any output."""
    energy = term.energy
    assert isinstance(energy, LocalMap)
    of_map, ranges = energy.evaluator(), energy.reach()(values)
    sizes = [int(np.prod(f.shape[1:], dtype=int)) for f in term.outputs.values()]
    begins = np.cumsum([0, *sizes[:-1]])
    inside, outside = np.zeros(len(begins)), np.zeros(len(begins))
    for place, _, at in term.in_window(values, wider=1):
        given = np.abs(numbers_of(of_map({**values, **at})))
        largest = np.maximum.reduceat(given, begins)
        if all(p in r for p, r in zip(place, ranges, strict=True)):
            inside = np.maximum(inside, largest)
        else:
            outside = np.maximum(outside, largest)
    return float((outside / np.where(inside > 0.0, inside, 1.0)).max())
