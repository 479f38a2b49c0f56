"""Probe of a map: the energy U = sum over p of w_p y_p of its output y, with random weights w.

The checks of energies apply to this U, which is a sum over elements and receivers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from ..energies.fields import Fields
from ..energies.local_energy import Node, local_energy
from ..energies.local_map import LocalMap
from ..energies.term import Term, bind
from ..potential.potential import Potential

EDGE = 1e-6
"""The tolerance of values just outside a window, relative to the largest value inside."""


@local_energy("probe", over="nodes", given=Node(), probe_weight=Node())
def probe(given, probe_weight):
    """The weighted sum of a map's output."""
    return given[0] * probe_weight[0]


def probed(term: Term, rng: np.random.Generator, precision: str = "f64") -> Potential:
    """A potential over copies of the map's fields: the map, and the weighted sum of its output."""
    assert term.gives is not None
    values = {f.name: f.values for f in term.fields.values()}
    units = {f.name: f.unit for f in term.fields.values()}
    fields = Fields(values | {"probe_weight": rng.normal(size=len(term.gives))}, units, precision)
    given = fields.derive(term.gives.name, len(term.gives), "1")  # which the probe's role fits
    own = {a: fields[f.name] for a, f in term.fields.items()}
    made = replace(term, fields=own, gives=given, dtype=fields.dtype, shared={})
    return Potential(fields, [bind(probe, fields, renamed={"given": given.name})], [made])


def pieces(term: Term, elements: Iterator[tuple[Any, Mapping[str, Any]]], weights: np.ndarray) -> list[float]:
    """w_p f for each element and each receiver, in plain Python; elements as (nodes, values by name)."""
    of_map, found = term.energy.evaluator(), []
    for nodes, values in elements:
        if term.grid is not None:
            found += [weights[p] * of_map({**values, **at}) for p, at in _cells(term, values)]
        else:
            found.append(weights[nodes[0]] * of_map(values))
            if term.elements.unordered:
                exchanged = {a: v[::-1] if a in term.fields else v for a, v in values.items()}
                found.append(weights[nodes[1]] * of_map(exchanged))
    return found


def _cells(term: Term, values: Mapping[str, Any]) -> Iterator[tuple[int, dict[str, list[int]]]]:
    """The cells of the grid in an element's window: their numbers, and their places as the map's argument."""
    energy, grid = term.energy, term.grid
    assert isinstance(energy, LocalMap)
    assert grid is not None
    ranges = energy.reach()(values)
    clipped = [range(max(r.start, 0), min(r.stop, n)) for r, n in zip(ranges, grid.shape, strict=True)]
    for place in product(*clipped):
        yield int(np.ravel_multi_index(place, grid.shape)), {energy.cell or "": list(place)}


def cut_off(term: Term, values: Mapping[str, Any]) -> float:
    """The largest value of an element outside its window, relative to the largest inside."""
    energy = term.energy
    assert isinstance(energy, LocalMap)
    of_map, ranges = energy.evaluator(), energy.reach()(values)
    wider = [range(r.start - 1, r.stop + 1) for r in ranges]
    inside, outside = 0.0, 0.0
    for place in product(*wider):
        given = abs(of_map({**values, energy.cell or "": list(place)}))
        if all(p in r for p, r in zip(place, ranges, strict=True)):
            inside = max(inside, given)
        else:
            outside = max(outside, given)
    return outside / (inside or 1.0)
