"""Arrays of Gauss-Radau substeps, and loops over them as code.

Vectors (N,) hold a value for each component of the moving fields, matrices (7, N) the polynomials a(s), and
`numbers` all that a substep decides and sums. In kernels their names begin with `radau_`.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ....energies.fields import Motion
from ....engine import storage
from ....engine.kernels import Code
from .quadrature import STAGES, WEIGHTS
from .radau_tape import Substep

NAMES = (
    *("left", "done", "elapsed", "rest", "wanted", "last", "work", "dissipated", "substeps", "status"),
    *("h", "parts", "start", "time", "going", "off", "before", "size", "tolerance", "mark"),
)
"""Of the `numbers`: steps left and done in this call; the time since the start of the step, and the error of
that sum; lengths of the next and the last substep; sums; status; h, and how many of it are left of the step;
the time at the start of the substep and at the present node; whether to correct once more; change of b_7,
that before, the largest |a|; the number of substeps before those recorded."""
RECORDED = 5 + STAGES
"""Vectors of a record: x, v, the errors of their sums, a0 and b."""
MOST_ROWS, MOST_RECORDED = 64, 1 << 20
"""Substeps that one launch records, and numbers."""
VECTORS = ("x", "v", "rx", "rv", "a0", "a", "y", "mass")
MATRICES = ("kept", "predicted", "guess", "b", "g")
_PLACES = {name: f"numbers[{k}]" for k, name in enumerate(NAMES)}


class RadauArrays:
    """The arrays of substeps of some motions; fields: those of positions and velocities, by name.

    dissipates, works: whether there is friction, with dR/dv in `friction` by velocity, and an explicit time.
    """

    def __init__(
        self,
        fields: Mapping[str, Any],
        motions: Sequence[Motion],
        forces: dict[str, Any],
        friction: dict[str, Any],
        works: bool,
    ):
        self.fields, self.motions, self.forces, self.friction = fields, motions, forces, friction
        self.works = works
        sizes = [math.prod(fields[m.position].shape) for m in motions]
        n = sum(sizes)
        self.arrays: dict[str, Any] = {"numbers": storage.allocate(np.zeros(len(NAMES)))}
        self.arrays |= {name: storage.allocate(np.zeros(n)) for name in VECTORS}
        self.arrays |= {name: storage.allocate(np.zeros((STAGES, n))) for name in MATRICES}
        self.arrays |= {"flows": storage.allocate(np.zeros((2, STAGES + 1)))}
        self.arrays |= {"weights": storage.allocate(WEIGHTS)}
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32)
        self.arrays["starts"] = storage.allocate(starts)

    # Numbers by name, for the host

    def number(self, name: str) -> float:
        return float(storage.host(self.arrays["numbers"])[NAMES.index(name)])

    def put(self, **numbers: float) -> None:
        values = storage.host(self.arrays["numbers"]).copy()
        for name, value in numbers.items():
            values[NAMES.index(name)] = value
        storage.store(self.arrays["numbers"], values)

    def put_flow(self, node: int, rate: float) -> None:
        """Set dU/dt at a node."""
        values = storage.host(self.arrays["flows"]).copy()
        values[0, node] = rate
        storage.store(self.arrays["flows"], values)

    def written(self) -> None:
        """Count a write of the fields, for others that computed from them."""
        for array in self.fields.values():
            array.writes += 1

    # Substeps

    @property
    def rows(self) -> int:
        """How many substeps one launch may record."""
        return int(min(MOST_ROWS, max(1, MOST_RECORDED // (RECORDED * self.arrays["x"].shape[0]))))

    def keep_records(self) -> None:
        """Have arrays for the next records: vectors of substeps, and their numbers."""
        if "past" not in self.arrays:
            n = self.arrays["x"].shape[0]
            self.arrays["past"] = storage.allocate(np.zeros((self.rows, RECORDED, n)))
            self.arrays["marks"] = storage.allocate(np.zeros((self.rows, 3)))
        self.put(mark=self.number("substeps"))

    def records(self) -> list[Substep]:
        """The substeps that were taken since `keep_records`."""
        count = int(self.number("substeps") - self.number("mark"))
        past, marks = (storage.host(self.arrays[name])[:count].copy() for name in ("past", "marks"))
        return [
            Substep(float(h), float(start), row[:4], row[4], row[5:], float(change))
            for row, (h, start, change) in zip(past, marks, strict=True)
        ]

    def put_substep(self, substep: Substep) -> None:
        """Have the accelerations and the start of a substep, for `place`."""
        for name, values in zip(("x", "v", "rx", "rv"), substep.start, strict=True):
            storage.store(self.arrays[name], values)
        storage.store(self.arrays["a0"], substep.a0)
        storage.store(self.arrays["b"], substep.b)
        self.put(h=substep.h, start=substep.time)

    # Loops

    def _gathered(self) -> Code:
        """x, v <- fields"""
        pieces = []
        for k, motion in enumerate(self.motions):
            for own, name in (("x", motion.position), ("v", motion.velocity)):
                array = self.fields[name]
                line = f"{own}[{{i}}] = f_{name}[{{at}}]"
                pieces.append(self._of_motion(k, f"f_{name}", array, [line], {f"f_{name}": array}))
        return Code.joined(pieces)

    def _scattered(self, vector: str, role: str, condition: str = "") -> Code:
        """Fields <- a vector; role: position or velocity."""
        pieces = []
        for k, motion in enumerate(self.motions):
            name = getattr(motion, role)
            array = self.fields[name]
            line = f"f_{name}[{{at}}] = {vector}[{{i}}]"
            pieces.append(self._of_motion(k, f"f_{name}", array, [line], {f"f_{name}": array}))
        joined = Code.joined(pieces)
        return joined.inside(f"if {condition}:") if condition else joined

    def _of_motion(self, k: int, name: str, array: Any, lines: Sequence[str], arrays: dict[str, Any]) -> Code:
        """A loop over the components of a motion: {at} in its fields, {i} in vectors."""
        shape = tuple(array.shape[1:])
        size, text = int(np.prod(shape, dtype=int)), f"for n in range({name}.shape[0]):\n"
        for c, place in enumerate(np.ndindex(shape)):
            at, i = ", ".join(["n", *map(str, place)]), f"starts[{k}] + n * {size} + {c}"
            text += "".join(f"    {line.format(at=at, i=i)}\n" for line in lines)
        return self._code(text, arrays)

    def _each(self, body: str) -> Code:
        """A loop over the components i."""
        lines = body.format(**_PLACES).splitlines()
        return self._code("for i in range(x.shape[0]):\n" + "".join(f"    {line}\n" for line in lines))

    def _numbers(self, text: str) -> Code:
        return self._code(text.format(**_PLACES))

    def _code(self, text: str, arrays: Mapping[str, Any] | None = None) -> Code:
        """Code of text in which arrays have their names here; in kernels these begin with `radau_`."""
        known = {name: array for name, array in self.arrays.items() if re.search(rf"\b{name}[\[.]", text)}
        for name in known:
            text = re.sub(rf"\b{name}(?=[\[.])", f"radau_{name}", text)
        return Code(text, {f"radau_{name}": array for name, array in known.items()} | dict(arrays or {}))
