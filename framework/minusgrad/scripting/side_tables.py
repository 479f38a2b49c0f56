"""Sides of a simulation in Python: tables, numbers of nodes, or functions of the places of nodes.

    sides={"left": {"x": 0.0}, "ends": [0, 5], "hole": lambda x: abs(np.hypot(*x.T) - 0.2) < 1e-6}
    sides={"top": {"where": lambda x: x[:, 1] > 0.99, "of": "nodes"}}

A function takes x (n, d), where the state has put the nodes, in the simulation's units, and gives True or
False for each. The scene keeps the numbers of the nodes that it chose, so that a run of it can be resumed.

Decisions 0159.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..assembly.building.error_places import ErrorPlaces
from ..assembly.contexts import StateContext
from ..assembly.validation import ValidatedScene
from ..energies.fields import POSITIONS, State
from ..errors import UserError
from ..scene.state_tables.sides_table import SideTable

WHERE = "where"
"""The key of a function, in a table of other rules."""


class SideTables:
    """The tables [state.sides] of the arguments `sides` and `bodies`; `functions` are not yet in them."""

    def __init__(self, sides: Any, bodies: Any):
        self.functions: dict[str, Callable[[np.ndarray], Any]] = {}
        self.tables: dict[str, dict[str, Any]] = {}
        for argument, given in (("sides", sides), ("bodies", bodies)):
            if given is not None and not isinstance(given, Mapping):
                raise UserError(f"{argument}: needs a table by name, got {type(given).__name__}; give a dict")
            for name, one in (given or {}).items():
                if name in self.tables:
                    raise UserError(f"{argument}: '{name}' is a side already; give it another name")
                self._add(argument, str(name), one)

    def _add(self, argument: str, name: str, one: Any) -> None:
        if argument == "bodies":
            self.tables[name] = {"nodes": _node_ranges(f"bodies: '{name}'", one), "of": "nodes"}
        elif callable(one):
            self._add_function(name, one, {})
        elif isinstance(one, Mapping):
            rest = {key: value for key, value in one.items() if key != WHERE}
            if WHERE in one:
                self._add_function(name, one[WHERE], rest)
            else:
                self.tables[name] = rest
        else:
            self.tables[name] = {"nodes": _node_ranges(f"sides: '{name}'", one)}

    def _add_function(self, name: str, function: Any, rest: Mapping[str, Any]) -> None:
        if not callable(function):
            raise UserError(
                f"sides: '{name}': `{WHERE}` needs a function, got {type(function).__name__}; write"
                " lambda x: x[:, 0] < 0.1"
            )
        self.functions[name], self.tables[name] = function, {"nodes": [0], **rest}

    def call_functions(self, validated: ValidatedScene) -> None:
        """Call the functions with the places of the state that a scene makes, and keep the nodes.

        Raises `UserError` for a function that fails, or does not choose nodes.
        """
        scene, places = validated.scene, ErrorPlaces(validated)
        model, attached = validated.models[scene.state.path], scene.document.attached
        made_by = scene.units.build(), scene.runtime.seed, scene.path.parent
        context = _CallingContext(*made_by, attached=attached)
        context.tables_at = lambda state: {**getattr(model, "sides", {}), **self._tables_at(state)}
        with places.placed(scene.state.path):
            context.with_sides(places.made(scene.state, context, State))
        self.functions = {}

    def _tables_at(self, state: State) -> dict[str, SideTable]:
        """The tables of the functions' sides, with the nodes that they choose in a state."""
        x = state.fields.get(POSITIONS)
        for name, function in self.functions.items():
            if x is None:
                raise UserError(
                    f"sides: '{name}': is of places, got a state without '{POSITIONS}'; leave it out"
                )
            nodes = _chosen_nodes(f"sides: '{name}'", function, np.array(x, np.float64))
            usual = {"of": "facets"} if state.facet_lists else {}
            self.tables[name] = {**usual, **self.tables[name], "nodes": _node_ranges(name, nodes)}
        texts = {name: json.dumps(self.tables[name]) for name in self.functions}
        return {name: SideTable.model_validate_json(text) for name, text in texts.items()}


class _CallingContext(StateContext):
    """The context of a state whose places choose the nodes of its sides."""

    tables_at: Callable[[State], Mapping[str, SideTable]]

    def with_sides(self, state: State) -> State:
        if not self.sides:
            self.sides = self.tables_at(state)
        return super().with_sides(state)


def _chosen_nodes(what: str, function: Callable[[np.ndarray], Any], x: np.ndarray) -> np.ndarray:
    try:
        found = np.asarray(function(x))
    except Exception as error:
        raise UserError(f"{what}: its function fails: {type(error).__name__}: {error}") from error
    if found.shape != (len(x),) or found.dtype != bool:
        raise UserError(
            f"{what}: needs True or False for each of {len(x)} nodes, got {found.dtype} of shape"
            f" {list(found.shape)}; write a condition on x[:, 0]"
        )
    if not found.any():
        low, high = x.min(axis=0).tolist(), x.max(axis=0).tolist()
        raise UserError(f"{what}: chooses no node, got places from {low} to {high}; correct the function")
    return np.flatnonzero(found)


def _node_ranges(what: str, nodes: Any) -> list[Any]:
    """Numbers of nodes as a scene has them: ranges [first, last] of several, numbers of one."""
    given = np.asarray(nodes)
    if given.dtype.kind not in "iu" or given.ndim != 1 or not given.size or given.min() < 0:
        got = (
            f"{given.dtype} of shape {list(given.shape)}" if given.dtype.kind not in "iu" else given.tolist()
        )
        raise UserError(f"{what}: needs whole numbers of nodes from 0, shape (k,), got {got}; correct it")
    numbers = np.unique(given)
    ends = np.flatnonzero(np.diff(numbers) > 1)
    pairs = zip(numbers[np.r_[0, ends + 1]].tolist(), numbers[np.r_[ends, -1]].tolist(), strict=True)
    return [first if first == last else [first, last] for first, last in pairs]
