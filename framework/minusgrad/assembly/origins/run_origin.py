"""Origin of a run's numbers: digests of its energies as traced, of their values, of plugins and of the core.

    terms      by their place in the scene
               graph    the canonical text of a traced energy, or the kernels of a staged one
               order    the order in which the nodes of the graph are evaluated
               values   elements, data, parameters and tables, exactly
               others   the same without real numbers, of which `sums` tell rounding from a change
    state      values   what the state gives besides fields, which a checkpoint holds
    objects    code     the stepper and the observers of plugins, which no graph covers
    plugins             the hash of each file and of its code alone, of plugins that are not ours
    minusgrad           one hash of our own files

Nothing in it depends on the process, the number of threads, or the order of hashing.

Decisions 0241.
"""

import hashlib
import sys
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from ...codegen.canonical_trace import canonical_trace
from ...energies.fields import State
from ...energies.local_map import LocalMap
from ...energies.term import Term
from ...engine import storage
from ...potential.staged.staged_term import StagedTerm
from ...scene.toml_positions import KeyPath
from ..installed_plugins import OURS, Plugin
from ..registry import Registry
from . import code_digests
from .plugin_sources import sources

Facts = dict[str, Any]


def of_run(
    bound: Mapping[KeyPath, tuple[Plugin, Term | StagedTerm]],
    state: tuple[Plugin, State, Iterable[str]],
    made: Mapping[KeyPath, tuple[Plugin, Any]],
    registry: Registry,
    used: Iterable[Plugin],
) -> Facts:
    """The origin of a simulation.

    bound, made: terms, and stepper and observers, with their plugins, by their place in the scene. state:
    with its plugin and the names of the fields that have held components. used: the plugins of all of these.
    """
    owner, initial, held = state
    terms = {_key(path): {"plugin": p.name, "term": t.name} | of_term(t) for path, (p, t) in bound.items()}
    objects = {
        _key(path): {"plugin": p.name, "code": code_digests.digest(type(one))}
        for path, (p, one) in made.items()
        if p.distribution != OURS
    }
    return {
        "terms": terms,
        "state": {"plugin": owner.name} | of_state(initial, held),
        "objects": objects,
        **of_plugins(registry, used),
    }


def _key(path: KeyPath) -> str:
    return ".".join(map(str, path))


def of_term(term: Term | StagedTerm) -> Facts:
    """The graph and the values of a term."""
    if isinstance(term, StagedTerm):
        energy = term.energy
        declared = (energy.stages, dict(energy.between), energy.outputs)
        roles = {a: (type(role).__name__, role.unit, role.shape) for a, role in energy.roles.items()}
        return {"graph": code_digests.digest((declared, roles)), **_values((dict(term.inputs), term.sizes))}
    traced = canonical_trace(term)
    text = hashlib.sha256(traced.text.encode()).hexdigest()[:16]
    order = code_digests.digest(traced.evaluation_order)
    parameters = {a: (v.rows, v.index) for a, v in term.parameters.items()}
    data = {a: storage.host(v) for a, v in term.data.items()}
    elements = type(term.elements).__name__, term.elements.nodes
    grid = term.grid and (tuple(term.grid.shape), term.grid.spacing, *_beyond(term))
    values = _values((elements, data, parameters, dict(term.tables), grid))
    return {"graph": text, "order": order, **values}


def _beyond(term: Term) -> list[tuple[str, ...]]:
    """The edges of windows, where cells lie beyond the rim of the grid; else that they cut it off."""
    if {*term.window_edges} != {"zero"}:
        return [term.window_edges]
    adds = isinstance(term.energy, LocalMap) and term.energy.cell is not None and not term.energy.from_cells
    return [("outside", "cut")] if adds and term.outside == "cut" else []


def of_state(state: State, held: Iterable[str]) -> Facts:
    """Everything in a state besides the fields; initial values only of fields with held components."""
    bodies = {body.name: body.nodes for body in state.bodies}
    fixed = {name: np.asarray(state.fields[name]) for name in sorted(held) if name in state.fields}
    names = (dict(state.units), state.motions, dict(state.labels), state.names, state.shown)
    points = [(n, q.nodes, q.cell, q.lists) for n, q in sorted(state.quadratures.items())]
    parts = (names, bodies, dict(state.tuples), state.holds, dict(state.grids), fixed)
    copies = [dict(state.images), dict(state.parents)] if state.images or state.parents else []
    return _values((*parts, *([points] if points else []), *copies))


def of_plugins(registry: Registry, used: Iterable[Plugin]) -> Facts:
    """The files of plugins that are not ours, by plugin; and one hash of our own."""
    used = list(used)
    foreign = {p.name: p for p in used if p.distribution != OURS}
    files = {name: sources(p, registry.modules[name]).hashes for name, p in sorted(foreign.items())}
    return {"plugins": files, "minusgrad": _framework(registry, used)}


def _framework(registry: Registry, used: Iterable[Plugin]) -> str:
    """One hash of our packages: the core's, and those of our plugins that are used."""
    ours = [p for p in used if p.distribution == OURS]
    ours += [Plugin("minusgrad", OURS, "", "")]
    modules = registry.modules | {"minusgrad": sys.modules["minusgrad"]}
    whole = sorted(sources(p, modules[p.name]).whole for p in ours)
    return hashlib.sha256("".join(whole).encode()).hexdigest()


def _values(parts: Any) -> Facts:
    """An exact digest; that of all but real numbers; and two sums of these: of sizes, and by place."""
    reals: list[np.ndarray] = []
    others = _split(parts, reals)
    sizes, weighted = 0.0, 0.0
    for array in reals:
        flat = array.astype(np.float64).ravel()
        sizes += float(np.abs(flat).sum())
        weighted += float(flat @ np.cos(np.arange(flat.size)))
    found = {"values": code_digests.digest(parts), "others": code_digests.digest(others)}
    return {**found, "sums": [sizes, weighted]}


def _split(parts: Any, reals: list[np.ndarray]) -> Any:
    """The parts with a mark and a shape in place of real numbers, which are added to `reals`."""
    if isinstance(parts, (float, np.floating)):
        reals.append(np.array([float(parts)]))
        return "real"
    if isinstance(parts, np.ndarray) and parts.dtype.kind == "f":
        reals.append(parts)
        return "real", parts.dtype.str, parts.shape
    if is_dataclass(parts) and not isinstance(parts, type):
        return type(parts).__name__, _split({f.name: getattr(parts, f.name) for f in fields(parts)}, reals)
    if isinstance(parts, Mapping):
        return {name: _split(one, reals) for name, one in parts.items()}
    if isinstance(parts, (tuple, list)):
        return [_split(one, reals) for one in parts]
    return parts
