"""The stress of moving nodes: how the energy changes with the strain of the box, at constant momenta.

    dU/de[a, b] = sum x[a] (dU/dx)[b] + sum h[c, a] (dU/dh)[c, b]     x -> x (1 + e), h -> h (1 + e)
    stress = (dU/de - sum m v v) / V        positive in tension
    pressure = -trace(stress) / d           positive in compression

The rows of h are the edges of the box. Sums run over fixed blocks of nodes in double precision, so that they
do not depend on threads.

Decisions 0370.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...elements.periodic_box import PeriodicBox
from ...energies.fields import BOX, Field, Motion
from ...engine import storage
from ...engine.kernels import BoundKernel, Code, short_loops_serial
from ...errors import EnergyError
from ...potential.potential import Potential

PRESSURE = {1: "J m^-1", 2: "J m^-2", 3: "J m^-3"}
"""The SI unit of pressure and stress, by the number of dimensions."""
GRAIN = 256
"""Nodes whose contributions one turn of a loop adds up."""
MOST = 8
"""Gradients whose kernels are kept."""


class Stress:
    """Strain derivative of U and kinetic tensor of moving nodes, as matrices (d, d) in f64.

    motions: the positions in the box; those without an inertia have no part in the kinetic tensor. Raises
    `EnergyError` where there is no box, and for positions that are no vectors of its dimension.
    """

    def __init__(self, potential: Potential, motions: Sequence[Motion], inertia: Mapping[str, Any]):
        self.box = box_of(potential)
        pairs = [(potential.fields[m.position], potential.fields[m.velocity]) for m in motions]
        for x, _ in pairs:
            if x.shape[1:] != self.box.shape[2:]:
                raise EnergyError(
                    f"stress: '{x.name}' has values of shape {list(x.shape[1:])}, got a box of"
                    f" {self.box.shape[-1]} dimensions; move positions in the box alone"
                )
        self._sums = [_Sums(x, v, inertia.get(x.name)) for x, v in pairs]

    def strain_derivative(self, gradient: Mapping[str, Any]) -> np.ndarray:
        """dU/de, by the gradients of positions and box."""
        edges, slope = (storage.host(one)[0].astype(np.float64) for one in (self.box.array, gradient[BOX]))
        found = product(edges.T, slope)
        for sums in self._sums:
            found = found + sums.virial(gradient[sums.x.name])
        return found

    def kinetic(self) -> np.ndarray:
        """Sum over nodes of m v[a] v[b]."""
        return sum((sums.kinetic() for sums in self._sums), np.zeros(self.box.shape[1:]))

    def total(self, gradient: Mapping[str, Any]) -> np.ndarray:
        """The stress, (dU/de - sum m v v) / V."""
        return (self.strain_derivative(gradient) - self.kinetic()) / volume(self.box)


class _Sums:
    """Sums of products of two vectors over the nodes of one field."""

    def __init__(self, x: Field, v: Field, inertia: Any | None):
        self.x, d = x, x.shape[1]
        self._axes, self._blocks = range(d), storage.allocate(np.zeros((-(-len(x) // GRAIN), d, d)))
        self._kinetic: BoundKernel | None = None
        if inertia is not None:
            mass = f"ti.f64(mass[{'n' if inertia.shape[0] > 1 else 0}]) * "
            code = self._code("v", "v", mass).naming(v=v.array, mass=inertia)
            self._kinetic = BoundKernel(short_loops_serial(code))
        self._virial = self._code("x", "g", "").naming(x=x.array)
        self._bound: dict[int, tuple[Any, BoundKernel]] = {}

    def kinetic(self) -> np.ndarray:
        if self._kinetic is None:
            return np.zeros((len(self._axes), len(self._axes)))
        self._kinetic()
        return self._total()

    def virial(self, gradient: Any) -> np.ndarray:
        if id(gradient) not in self._bound:
            if len(self._bound) == MOST:
                self._bound.clear()
            kernel = BoundKernel(short_loops_serial(self._virial.naming(g=gradient)))
            self._bound[id(gradient)] = gradient, kernel  # which keeps its number from another array
        self._bound[id(gradient)][1]()
        return self._total()

    def _total(self) -> np.ndarray:
        return np.add.reduce(storage.host(self._blocks), axis=0)  # one block after another

    def _code(self, left: str, right: str, factor: str) -> Code:
        """sums[block, a, b] = sum over the nodes of a block of factor left[n, a] right[n, b]."""
        places = [(a, b) for a in self._axes for b in self._axes]
        text = "for block in range(sums.shape[0]):\n"
        text += "".join(f"    s_{a}_{b} = ti.f64(0.0)\n" for a, b in places)
        text += f"    for n in range(block * {GRAIN}, ti.min((block + 1) * {GRAIN}, {left}.shape[0])):\n"
        for a, b in places:
            text += f"        s_{a}_{b} += {factor}ti.f64({left}[n, {a}]) * ti.f64({right}[n, {b}])\n"
        text += "".join(f"    sums[block, {a}, {b}] = s_{a}_{b}\n" for a, b in places)
        return Code(text, {"sums": self._blocks})


def box_of(potential: Potential) -> Field:
    """The field of the periodic box. Raises `EnergyError` where there is none."""
    if potential.fields.box is None:
        raise EnergyError("box: there is none, so nothing has a pressure; add [box] with its edges")
    return potential.fields.box


def volume(box: Field) -> float:
    """The volume of a box (in the plane its area) in the run's units."""
    return PeriodicBox(box.values[0].astype(np.float64), ()).volume


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product of two small matrices, summed in the order of the indices on every processor."""
    return np.sum(a[:, :, None] * b[None, :, :], axis=1)
