"""Impulses of constraints, v <- v - W G^T L and x <- x - h W G^T L, and the rate of change of g, G v + dg/dt.

L (E,) are impulses, multipliers times a time; W inverse masses, zero at held components.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from ...energies.fields import Field
from ...engine import storage
from ...engine.kernels import BoundKernel, Code, on_one_thread, real
from ...potential.constraints.equations import Equations
from .incidence import Entries


class Impulses:
    """Kernels that apply the impulses in the array `given`, with the rows of G in `rows`.

    velocities: the field of each of the entries' fields. The rates of change of g are written to `rates`.
    `codes`: the loops by the method's name, for larger kernels.
    """

    def __init__(
        self,
        equations: Equations,
        every: Sequence[Entries],
        velocities: Sequence[Field],
        rows: Any,
        weights: Any,
        given: Any,
        rates: Any,
    ):
        shared = {"rows": rows, "weights": weights, "given": given}
        work = 2 * sum(len(e.node) * e.width for e in every)
        both, alone = (_applied(every, velocities, shared, positions) for positions in (True, False))
        self._both = BoundKernel(on_one_thread(both, work), "h")
        self._alone = BoundKernel(on_one_thread(alone, work))
        known = {e.field.name: v for e, v in zip(every, velocities, strict=True)}
        rate = _rates(equations, known, rows, rates)
        self._rates = BoundKernel(on_one_thread(rate, work))
        self.codes = {"move": both, "kick": alone, "rate": rate}

    def move(self, h: float) -> None:
        """Change velocities by the impulses, and positions by what that is in a time h."""
        self._both(h)

    def kick(self) -> None:
        """Change velocities by the impulses."""
        self._alone()

    def rate(self) -> None:
        """Add G v to the array of rates."""
        self._rates()


def _applied(
    every: Sequence[Entries], velocities: Sequence[Field], shared: dict[str, Any], positions: bool
) -> Code:
    pieces = []
    for entries, velocity in zip(every, velocities, strict=True):
        if not len(entries.node):
            continue
        x, v = entries.field, velocity
        nodes, begin = entries.by_node
        names = {"node": nodes, "begin": begin, "place": entries.place, "equation": entries.equation}
        lists = {f"{n}_{x.name}": storage.allocate(a.astype(np.int32)) for n, a in names.items()}
        places = [", ".join(["n", *map(str, c)]) for c in product(*map(range, x.shape[1:]))]
        count = range(entries.width)
        lines = [
            f"for k in range(node_{x.name}.shape[0]):",
            f"    n = node_{x.name}[k]",
            *(f"    s{u} = ti.f64(0.0)" for u in count),
            f"    for q in range(begin_{x.name}[k], begin_{x.name}[k + 1]):",
            f"        p, f = place_{x.name}[q], given[equation_{x.name}[q]]",
            *(f"        s{u} += rows[p + {u}] * f" for u in count),
            f"    c = {entries.first} + n * {entries.width}",
        ]
        for u, at in enumerate(places):
            kick = f"weights[c + {u}] * s{u}"
            if positions:
                lines.append(f"    f_{x.name}[{at}] = f_{x.name}[{at}] - {real(x.dtype)}(h * {kick})")
            lines.append(f"    f_{v.name}[{at}] = f_{v.name}[{at}] - {real(v.dtype)}({kick})")
        arrays = {**shared, **lists, f"f_{v.name}": v.array}
        arrays |= {f"f_{x.name}": x.array} if positions else {}
        pieces.append(Code("".join(f"{line}\n" for line in lines), arrays))
    return Code.joined(pieces)


def _rates(equations: Equations, velocities: dict[str, Field], rows: Any, rates: Any) -> Code:
    """Loops over the elements of each constraint, with their nodes unrolled."""
    pieces, start = [], 0
    for number, part in enumerate(equations.parts.values()):
        first = int(equations.first[number])
        length, column, lines, arrays = part.columns.shape[1], 0, [], dict[str, Any]()
        for k, argument in enumerate(part.arguments):
            nodes, name = part.nodes[argument], f"nodes_{number}_{k}"
            v = velocities[part.term.fields[argument].name]
            arrays |= {name: storage.allocate(nodes.astype(np.int32)), f"f_{v.name}": v.array}
            for slot, c in product(range(nodes.shape[1]), product(*map(range, v.shape[1:]))):
                at = ", ".join([f"{name}[e, {slot}]", *map(str, c)])
                lines.append(f"    s += rows[{start} + e * {length} + {column}] * ti.f64(f_{v.name}[{at}])")
                column += 1
        head = [f"for e in range(nodes_{number}_0.shape[0]):", f"    s = rates[{first} + e]"]
        text = "".join(f"{line}\n" for line in [*head, *lines, f"    rates[{first} + e] = s"])
        pieces.append(Code(text, {**arrays, "rows": rows, "rates": rates}))
        start += part.count * length
    return Code.joined(pieces)
