"""Derivatives of losses and states by the numbers of holds: angles, displacements, velocities, rates.

    dL/d(number) = sum over times t, held components of  dL/dx dx(t)/d(number) + dL/dv dv(t)/d(number)

Held components are overwritten with x(t) and v(t) at the end of every step or drift; all that depended on
them until the next time is in their adjoints dL/dx and dL/dv, which the steps would drop. `support_path` has
x(t) and v(t) as derivatives of one scalar.

Decisions 0387.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...codegen.derivative_request import DerivativeRequest
from ...energies.fields import Fields
from ...energies.term import bind
from ...engine import storage
from ...engine.kernels import Code, zero_loops
from ...potential.fused_code import FusedCode
from ...potential.potential import Potential
from ...steppers.holds import Holds
from ...steppers.supports.held_components import ROWS, HeldComponents

PREFIX = "support"


class SupportDerivatives:
    """Derivatives by the numbers `names` of some holds, along a run forward or back.

    Back: `clear`, then `pull` at each time, from the last to the first, then `found`. Forward: `start` with a
    direction, then `moved` at each time.
    """

    def __init__(self, holds: Holds, names: Sequence[str]):
        from . import support_path as path  # it binds the engine of the process

        self.names, self._numbers, self._held = list(names), holds.numbers, holds.held
        self._ends = np.cumsum([0, *(len(held.all[0]) for held in self._held.values())])
        self._shape, self._once, self._of = path.SHAPE, path.ONCE, path.NUMBERS
        to_place, to_speed = path.TO_PLACE, path.TO_SPEED
        every = (to_place, to_speed, *self._of.values(), *self._shape.values(), self._once)
        self._fields = Fields({n: np.zeros(int(self._ends[-1])) for n in every})
        self._potential = Potential(self._fields, [bind(path.support_path, self._fields)])
        self._to = {"x": self._fields[to_place], "v": self._fields[to_speed]}
        asked = {self._of[name.rpartition(".")[2]] for name in names}
        self.slopes = {n: storage.allocate(np.zeros(len(self._fields[n]))) for n in sorted(asked)}
        self._gradient = {n: storage.allocate(np.zeros(len(self._fields[n]))) for n in self.slopes}
        self._along = {n: storage.allocate(np.zeros(len(self._fields[n]))) for n in self.slopes}
        self._product = {f.name: storage.allocate(np.zeros(len(f))) for f in self._to.values()}

    @staticmethod
    def of(holds: Holds, names: Sequence[str]) -> "SupportDerivatives | None":
        """Those by the numbers of holds among `names`; None if there are none."""
        own = [name for name in names if name in holds.numbers]
        return SupportDerivatives(holds, own) if own else None

    # Back

    def clear(self) -> None:
        """Begin at the end of a run, with the present numbers."""
        self._refresh()
        for array in self.slopes.values():
            storage.store(array, np.zeros(tuple(array.shape)))

    def pull(self, t: float, adjoints: Mapping[str, Any]) -> None:
        """Take the adjoints of held components by field, which are those of their places and velocities at t.

        Fields that are absent have none.
        """
        given = {"x": np.zeros(self._ends[-1]), "v": np.zeros(self._ends[-1])}
        for held, columns in self._parts():
            for to, field in (("x", held.field), ("v", held.velocity)):
                if field is not None and field.name in adjoints:
                    given[to][columns] = storage.host(adjoints[field.name])[held.all]
        if not any(values.any() for values in given.values()):
            return
        for to, values in given.items():
            self._to[to].set(values)
        self._potential.sweep(DerivativeRequest(gradient=dict(self._gradient)), t)
        for name, array in self.slopes.items():
            storage.store(array, storage.host(array) + storage.host(self._gradient[name]))

    def pull_code(self, adjoints: Mapping[str, Any]) -> Code:
        """Loops of `pull`, for scalar `t`; the adjoints of all moving fields, by field."""
        pieces = []
        for held, columns in self._parts():
            lines, arrays = [], dict(held.indices)
            for to, field in (("x", held.field), ("v", held.velocity)):
                assert field is not None
                into = f"f_{self._to[to].name}"
                lines.append(f"{into}[held + {columns.start}] = ti.f64(l_{field.name}[{held.at('held')}])\n")
                arrays |= {into: self._to[to].array, f"l_{field.name}": adjoints[field.name]}
            pieces.append(Code("".join(lines), arrays).inside(_each(columns)))
        swept = FusedCode(self._potential, PREFIX).gradient(self.slopes)  # which it adds to
        return Code.joined([*pieces, swept])

    def found(self, name: str) -> np.ndarray:
        """dL/d(number), in its shape."""
        held, columns, row = self._numbers.place(name)
        begin = self._ends[list(self._held.values()).index(held)]
        slopes = storage.host(self.slopes[self._of[row]])[begin:][columns]
        shape = self._numbers.shape(name)
        return held.summed(name.rpartition(".")[0], slopes, int(np.prod(shape))).reshape(shape)

    # Forward

    def start(self, direction: Mapping[str, np.ndarray]) -> None:
        """Begin with these tangents of the present numbers; others are zero."""
        self._refresh()
        along = {n: np.zeros(self._ends[-1]) for n in self._along}
        for name in self.names:
            if name in direction:
                held, columns, row = self._numbers.place(name)
                begin = self._ends[list(self._held.values()).index(held)]
                part = along[self._of[row]][begin:][columns]
                values = np.asarray(direction[name], np.float64)
                part[:] = held.spread(name.rpartition(".")[0], values)
        for name, values in along.items():
            storage.store(self._along[name], values)

    def moved(self, t: float) -> dict[str, np.ndarray]:
        """The tangents of places and velocities at a time, by field: zero at free components."""
        self._potential.sweep(DerivativeRequest(product=dict(self._product), tangents=dict(self._along)), t)
        found = {}
        for held, columns in self._parts():
            for to, field in (("x", held.field), ("v", held.velocity)):
                if field is not None:
                    found[field.name] = np.zeros(field.shape)
                    found[field.name][held.all] = storage.host(self._product[self._to[to].name])[columns]
        return found

    def moved_code(self, tangents: Mapping[str, Any]) -> Code:
        """Loops that write `moved` into the tangents of moving fields, for scalar `t`."""
        asked = DerivativeRequest(product=dict(self._product), tangents=dict(self._along))
        pieces = [zero_loops(f"h_{n}", array) for n, array in self._product.items()]
        pieces.append(FusedCode(self._potential, PREFIX).sweep(asked))
        for held, columns in self._parts():
            lines, arrays = [], dict(held.indices)
            for to, field in (("x", held.field), ("v", held.velocity)):
                assert field is not None
                source, kind = f"h_{self._to[to].name}", storage.ENGINE_DTYPES[field.dtype.name]
                lines.append(
                    f"w_{field.name}[{held.at('held')}] = ti.{kind}({source}[held + {columns.start}])\n"
                )
                arrays |= {source: self._product[self._to[to].name], f"w_{field.name}": tangents[field.name]}
            pieces.append(Code("".join(lines), arrays).inside(_each(columns)))
        return Code.joined(pieces)

    # Inside

    def _parts(self) -> list[tuple[HeldComponents, slice]]:
        """The held components of each field, with their places among all."""
        ends = zip(self._ends[:-1].tolist(), self._ends[1:].tolist(), strict=True)
        return [(held, slice(a, b)) for held, (a, b) in zip(self._held.values(), ends, strict=True)]

    def _refresh(self) -> None:
        """Take the present numbers of the holds."""
        given = np.concatenate([held.given for held in self._held.values()], axis=1)
        for row, field in (self._of | self._shape).items():
            self._fields[field].set(given[ROWS.index(row)])
        self._fields[self._once].set(1.0 * (given[ROWS.index("frequency")] == 0.0))


def _each(columns: slice) -> str:
    return f"for held in range({columns.stop - columns.start}):"
