"""A small potential of one energy, with random fields, data and parameters of the declared scales."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..codegen.tracing import trace
from ..elements.element_kind import NODE, PAIR
from ..elements.neighbours.directed_pairs import all_directed
from ..energies.cell_offsets import offsets_of
from ..energies.fields import BOX, Fields, Grid
from ..energies.local_energy import WINDOW, LocalEnergy, weights_at_rest
from ..energies.local_map import LocalMap
from ..energies.roles import Box, Datum, Node, Parameter, Table, Time, concrete
from ..energies.staged_energy import Staged
from ..energies.staged_map import StagedMap
from ..energies.term import bind
from ..errors import EnergyError, TraceError
from .potential import Potential
from .staged.staged_binding import bind_staged

CANVAS = (32, 40, 36)
"""The grid, along as many axes as its windows have, for a map that is checked without a scene."""
CELLS = (5, 4, 3)
"""The grid, along as many axes as it needs, for an energy over cells that is checked without a scene."""


def instance(energy: LocalEnergy, d: int, rng: np.random.Generator, nodes: int = 6) -> Potential:
    """A small potential of one energy: random fields, data and parameters of the declared scales."""
    kind, d = energy.element_kind, energy.dimension or d
    k = kind.arity if kind.listed and kind.arity else d + 1
    nodes = max(nodes, k + 2)
    grid = _sample_grid(energy, d, k) if isinstance(energy, LocalMap) and energy.cell else None
    if kind.cells:
        energy, grid = _over_a_grid(energy, d)
        nodes = len(grid)
    sizes = {name: nodes + extra for extra, name in enumerate(kind.names)} | {WINDOW: len(grid or ())}
    if kind.directed:
        sizes |= {PAIR: nodes * (nodes - 1), NODE: nodes}
    nodal = energy.of_role(Node)
    values = {a: r.draw(rng, (sizes[energy.set_of(a)], *concrete(r.shape, d))) for a, r in nodal.items()}
    if energy.of_role(Box):
        values[BOX] = Box().draw(rng, (1, d, d))
    fields = Fields(values)
    if kind.directed:
        _over_pairs(energy, fields, nodes)
    x = fields[energy.shaping[0].field].values if energy.shaping else None
    if kind.several and not kind.directed:
        tuples = np.array([_mixed_tuple(energy, sizes, rng) for _ in range(nodes)])
    else:
        tuples = np.array([_random_tuple(nodes, k, x, rng) for _ in range(nodes)])
    samples = [energy.sample(rng, d) for _ in range(nodes)]
    data = {a: np.array([s[a] for s in samples]) for a in energy.of_role(Datum)}
    for made in energy.shaping:
        rest = np.array([weights_at_rest(fields[made.field].values[row]) for row in tuples])
        data[made.weights] = rest @ (np.eye(d) + 0.1 * rng.normal(size=(nodes, d, d)))
    parameters = {
        a: role.draw(rng, concrete(role.shape, d))
        for a, role in energy.of_role(Parameter).items()
        if a not in energy.spacings
    }
    tables = {a: samples[0][a] for a in energy.of_role(Table)}
    term = bind(
        energy,
        fields,
        tuples=tuples if energy.listed else None,
        data=data,
        parameters=parameters,
        tables=tables,
        grid=grid,
        sizes={name: sizes[name] for name in kind.names} if kind.several and not kind.directed else {},
        gives=_other_names(energy),
    )
    return Potential(fields, [], [term]) if term.outputs else Potential(fields, [term])


def _over_pairs(energy: LocalEnergy, fields: Fields, nodes: int) -> None:
    """Make the fields that are read at slot 0 fields over all directed pairs of the nodes."""
    arity, every = energy.element_kind.arity, np.arange(nodes, dtype=np.int32)
    assert arity is not None
    for argument in energy.of_role(Node):
        if energy.set_of(argument) == PAIR:
            fields[argument].pair_set = all_directed(arity, every, energy.name).pair_set


def staged_instance(energy: Staged, rng: np.random.Generator) -> Potential:
    """A potential of one staged energy or map, bound to its example.

    Raises `EnergyError` where it does not fit.
    """
    if energy.example is None:
        kind = "map" if isinstance(energy, StagedMap) else "energy"
        raise EnergyError(
            f"a staged {kind} is checked at its example, and this one has none; give staged_{kind} an"
            " `example`, or check a scene that uses it"
        )
    given = dict(energy.example(rng))
    if missing := [a for a in energy.roles if a not in given and not isinstance(energy.roles[a], Time)]:
        raise EnergyError(f"example: has no {', '.join(missing)}; return an array for each")
    fields = Fields({a: np.asarray(given.pop(a), np.float64) for a in energy.of_role(Node)})
    data = {a: given.pop(a) for a in energy.of_role(Datum)}
    parameters = {a: given.pop(a) for a in energy.of_role(Parameter)}
    term = bind_staged(energy, fields, data=data, parameters=parameters, sizes=given)
    return Potential(fields, [], [term]) if term.outputs else Potential(fields, [term])


def _sample_grid(of_map: LocalMap, d: int, k: int) -> Grid:
    """A grid with as many axes as the windows of a map: two where they fit, else those of space."""
    try:
        trace(of_map, d, of_map.element_kind.arity or k, _table_shapes(of_map), 2)
    except TraceError:
        return Grid(CANVAS[:d], 0.1)
    return Grid(CANVAS[:2], 0.1)


def _over_a_grid(energy: LocalEnergy, d: int) -> tuple[LocalEnergy, Grid]:
    """An energy over cells with its offsets, and a grid with as many axes as they have."""
    offsets = offsets_of(energy, None, d, _table_shapes(energy))
    return replace(energy, offsets=offsets), Grid(CELLS[: len(offsets[0])])


def _table_shapes(energy: LocalEnergy) -> dict[str, tuple[int, ...]]:
    """The shapes of drawn tables by argument."""
    rng = np.random.default_rng(0)
    return {a: role.draw(rng).shape for a, role in energy.of_role(Table).items()}


def _other_names(energy: LocalEnergy) -> dict[str, str] | None:
    """New names for the outputs of a map that reads its own ones, as repeated maps do."""
    own = [name for name in getattr(energy, "outputs", {}) if name in energy.of_role(Node)]
    return {name: f"{name}_of_sweep" for name in own} or None


def _random_tuple(nodes: int, k: int, x: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
    """k random nodes; of cells in x the best-shaped of eight draws: a small step inverts none."""
    rows = [rng.permutation(nodes)[:k] for _ in range(1 if x is None else 8)]
    if x is None:
        return rows[0]
    return max(rows, key=lambda row: np.linalg.svd(x[row] - x[row].mean(axis=0), compute_uv=False)[-1])


def _mixed_tuple(energy: LocalEnergy, sizes: Mapping[str, int], rng: np.random.Generator) -> np.ndarray:
    """Random nodes, one in each slot, of the set of the slot; those of one set are different."""
    kind = energy.element_kind
    row = np.zeros(len(kind.sets), int)
    for name in kind.names:
        own = list(kind.slots(name, len(row)))
        row[own] = rng.permutation(sizes[name])[: len(own)]
    return row
