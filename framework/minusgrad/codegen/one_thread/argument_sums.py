"""Sums of derivatives by an argument over the elements, in a kernel: in the order of the host's sums.

A sweep leaves rows of elements in f64. Of a parameter with one value, `ordered_sum` adds them up; with a row
of values for each body or element, they are added one after another; data have a row for each element.
"""

import math
from typing import Any

import numpy as np

from ...energies.fields import MOST_COLUMNS, columns_of
from ...engine import runtime, storage
from ...engine.kernels import Code, add_loops, zero_loops
from ..term_loops import Emitter


def argument_sums(emitter: Emitter, argument: str, buffer: str, into: Any) -> list[Code]:
    """Loops that add the sums over the rows of a buffer to an array, (rows of values, components) in f64."""
    values, components = emitter.term.parameters.get(argument), range(into.shape[1])
    if runtime.arch() != "cpu":
        return [_in_tasks(emitter, argument, buffer, into)]
    if values is not None and values.index is None:
        return [_ordered_sum(emitter, emitter.row(buffer, c), f"into[0, {c}]", into) for c in components]
    row = "e" if values is None else f"{emitter.prefix}row_of_{argument}[e]"
    places = [f"part[{row}, {c}]" for c in components]
    lines = [f"    {at} = {at} + {emitter.row(buffer, c)}\n" for c, at in enumerate(places)]
    loop = emitter.naming(f"for e in range({emitter.prefix}nodes.shape[0]):\n{''.join(lines)}")
    part = storage.allocate(np.zeros(tuple(into.shape)))
    return [zero_loops("part", part), loop.naming(part=part), add_loops(into, part)]


def _in_tasks(emitter: Emitter, argument: str, buffer: str, into: Any) -> Code:
    """The loops for a device (`engine.device_tasks`): sums in a tree, or a thread for each row of values."""
    values, components = emitter.term.parameters.get(argument), range(into.shape[1])
    if values is not None and values.index is not None:
        return emitter.by_row(argument, buffer, "into", into)
    row = "e" if values is None else "0"
    lines = [f"    into[{row}, {c}] = into[{row}, {c}] + {emitter.row(buffer, c)}\n" for c in components]
    loop = f"for e in range({emitter.prefix}nodes.shape[0]):\n{''.join(lines)}"
    return emitter.naming(loop).naming(into=into)


def _ordered_sum(emitter: Emitter, number: str, place: str, into: Any) -> Code:
    """Loops that add the sum of a number of every element in the order of `ordered_sum`."""
    lines = [
        "for k in range(tree.shape[0]):",
        "    tree[k] = 0.0",
        f"for e in range({emitter.prefix}nodes.shape[0]):",
        "    k = e & (tree.shape[0] - 1)",
        f"    tree[k] = tree[k] + {number}",
        f"for level in range({int(math.log2(MOST_COLUMNS))}):",
        "    half = tree.shape[0] >> (level + 1)",
        "    for k in range(half):",
        "        tree[k] = tree[k] + tree[k + half]",
        f"{place} = {place} + tree[0]",
    ]
    tree = storage.allocate(np.zeros(columns_of(emitter.term.elements.rows)))
    return emitter.naming("".join(f"{line}\n" for line in lines)).naming(tree=tree, into=into)
