"""Gradients of an energy over pairs by direct sums in double precision: the reference of forces by a tree.

In a periodic box the sum is over the images within `WIDER` times the reach of the tree's, in NumPy.

Decisions 0308.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from ...codegen.derivative_request import DerivativeRequest
from ...codegen.expansions.image_sums import value_of
from ...codegen.expansions.radial_factors import position_of
from ...codegen.term_loops import Emitter
from ...elements.trees.box_images import BoxImages
from ...elements.trees.near_pairs import NearPairs
from ...elements.trees.sampled_targets import SampledTargets
from ...energies.fields import Field
from ...energies.term import Term
from ...engine import storage
from ...symbolic.graph import inputs
from ...symbolic.numpy_values import numbers
from ..term_kernels import TermKernels
from .tree_kernels import FarPairs

WIDER = 1.25


def direct_sums(term: Term, far: FarPairs, rows: np.ndarray, t: float) -> np.ndarray:
    """dU/dx (m, d) at some rows of a tree's nodes."""
    assert isinstance(term.elements, NearPairs)
    return (
        _over_images(term, far, rows, t)
        if any(term.elements.reference.periodic)
        else _sums_by_kernels(term, rows, t)
    )


def _sums_by_kernels(term: Term, rows: np.ndarray, t: float) -> np.ndarray:
    """The sums over all other nodes, by kernels."""
    elements: Any = term.elements
    sampled = _in_double(replace(term, elements=SampledTargets(elements.nodes, rows)))
    position = position_of(term)
    array = storage.allocate(np.zeros_like(sampled.fields[position].values))
    TermKernels(sampled, Emitter(sampled)).sweep(DerivativeRequest(gradient={position: array}), t)
    return storage.host(array)[elements.nodes[rows]]


def _in_double(term: Term) -> Term:
    """The same term over copies of its fields in double precision, whose sums have no rounding of f32."""
    wide = np.dtype(np.float64)
    fields = {a: Field.of(f.name, f.values.astype(wide), f.unit, wide) for a, f in term.fields.items()}
    parameters = {a: replace(v, rows=v.rows.astype(wide)) for a, v in term.parameters.items()}
    return replace(term, fields=fields, parameters=parameters, dtype=wide, shared={})


def _over_images(term: Term, far: FarPairs, rows: np.ndarray, t: float) -> np.ndarray:
    """The sums over all nodes and their images: sum of a(i) b(j) (2 dK/ds) (x_i - x_j)."""
    near: Any = term.elements
    box, factors, limit = near.reference.geometry, far.factors, WIDER * near.cells.reach
    x = box.wrap_positions(storage.host(term.fields[position_of(term)].array)[near.nodes])
    shifts = BoxImages.within_reach(box, limit).vectors @ box.vectors
    weights = [(far.of_nodes(p.a), far.of_nodes(p.b)) for p in factors.products]
    slopes = [factors.radial(p.kernel, 1)[1] for p in factors.products]
    found = np.zeros((len(rows), near.d))
    for k, row in enumerate(rows):
        apart = (x[row] - x - shifts[:, None]).reshape(-1, near.d)
        s = np.einsum("id,id->i", apart, apart)
        kept = np.flatnonzero((s > 0.0) & (s <= limit**2))
        leaves = {one.serial: value_of(term, factors, one, s[kept], t) for one in inputs(slopes)}
        values = numbers(slopes, leaves, term.tables)
        for (a, b), value in zip(weights, values, strict=True):
            found[k] += a[row] * (b[kept % len(x)] * value) @ apart[kept]
    return found
