"""150 random programs: value against plain Python and Taichi, gradient against extrapolated differences.

The engine's graphs are evaluated by NumPy; every third program is compiled as well.
"""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import programs
import references
from graphs import evaluated
from minusgrad import Datum, Fields, Node, Parameter, Potential, bind, local_energy, runtime, ti
from minusgrad.derive import gradient
from minusgrad.energy import LocalEnergy
from minusgrad.errors import TraceError
from minusgrad.plain import evaluator
from minusgrad.trace import trace

COUNT, BATCH, SEED = 150, 15, 2024
ROLES = {"x": Node(shape=(3,)), "y": Node(), "k": Parameter(shape=(2,)), "kind": Datum(integer=True)}
TUPLES = np.array([[0, 1], [2, 3], [5, 4]])


def imported(path: Path, text: str) -> ModuleType:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def state(n: int) -> dict:
    rng = np.random.default_rng(n)
    return {
        "x": rng.normal(size=(6, 3)),
        "y": rng.normal(size=6),
        "k": rng.normal(size=2),
        "kind": np.arange(3),
    }


def energy_of(function) -> LocalEnergy:
    return local_energy(function.__name__, over=2, **ROLES)(function)


def potential_of(function, n: int) -> Potential:
    """One program on three elements, each a random state of its own."""
    s = state(n)
    fields = Fields({"x": s["x"], "y": s["y"]})
    term = bind(
        energy_of(function), fields, tuples=TUPLES, data={"kind": s["kind"]}, parameters={"k": s["k"]}
    )
    return Potential(fields, [term])


class Line:
    """The plain energy along a random direction of all fields: u(h)."""

    def __init__(self, potential: Potential, n: int):
        (self.term,) = potential.terms.values()
        self.energy = evaluator(self.term.energy.function)
        self.start = {name: field.values.copy() for name, field in potential.fields.items()}
        rng = np.random.default_rng(n)
        self.direction = {name: rng.normal(size=v.shape) for name, v in self.start.items()}

    def __call__(self, h: float) -> float:
        for name, start in self.start.items():
            self.term.fields[name].set(start + h * self.direction[name])
        value = sum(references.energies(self.term, energy=self.energy))
        for name, start in self.start.items():
            self.term.fields[name].set(start)
        return value

    def slope(self, h: float) -> float:
        return references.extrapolated(self, h)

    def slope_of(self, potential: Potential) -> float:
        """By the compiled gradient."""
        gradients = {name: np.zeros_like(d) for name, d in self.direction.items()}
        potential.gradient_into(gradients)
        return sum(float((gradients[name] * d).sum()) for name, d in self.direction.items())

    def by_graph(self, potential: Potential) -> tuple[float, float]:
        """Value and slope by the traced and derived graphs, summed over the elements."""
        traced, values = trace(self.term.energy, None, self.term.arity), {}
        leaves, along = [], []
        for name, rows in traced.inputs.items():
            for leaf in (leaf for row in rows for leaf in row):
                _, slot, c = leaf.value
                if slot is not None:
                    values[leaf.value] = self.start[name][(TUPLES[:, slot], *c)]
                    along.append(self.direction[name][(TUPLES[:, slot], *c)])
                    leaves.append(leaf)
                elif name == "kind":
                    values[leaf.value] = np.arange(3)
                else:
                    values[leaf.value] = potential.parameter(f"{self.term.name}.{name}")[c]
        found = evaluated([traced.value, *gradient(traced.value, leaves)], values)
        return float((found[0] * np.ones(3)).sum()), float((found[1:] * np.array(along)).sum())


@pytest.mark.slow
def test_random_programs(tmp_path: Path) -> None:
    written = imported(tmp_path / "programs_of_fuzz.py", programs.module(COUNT, SEED))
    values, refused, wrong, compiled, judged = {}, [], [], [], 0
    for n in range(COUNT):
        potential = potential_of(getattr(written, f"p{n}"), n)
        line = Line(potential, n)
        try:
            value, slope = line.by_graph(potential)
        except TraceError as error:
            refused.append(str(error))
            continue
        if n % 3 == 0:
            compiled.append((n, potential, value, slope))
        plain, scale = line(0.0), max(references.magnitude(line.term), 1.0)
        if abs(line(1e-12) - plain) > 1e-9 * scale:
            continue  # rounding decides a branch here
        values[n] = (plain, scale)
        if not abs(value - plain) <= 1e-11 * scale:
            wrong.append((n, "value", value, plain))
        slopes = [line.slope(h) for h in (1e-3, 3e-4)]
        if abs(slopes[0] - slopes[1]) > 1e-9 * max(scale, abs(slopes[1])):
            continue  # a kink or a step is near
        judged += 1
        if not abs(slope - slopes[1]) <= 1e-7 * max(scale, abs(slope)):
            wrong.append((n, "gradient", slope, slopes[1]))
    for numbers in (list(values)[k : k + BATCH] for k in range(0, len(values), BATCH)):
        for n, by_taichi in zip(numbers, _by_taichi(numbers, tmp_path), strict=True):
            if not abs(by_taichi - values[n][0]) <= 1e-11 * values[n][1]:
                wrong.append((n, "Taichi", by_taichi, values[n][0]))
    for n, potential, value, slope in compiled:
        found = potential.value(), Line(potential, n).slope_of(potential)
        if not np.allclose(found, (value, slope), rtol=1e-9, atol=1e-9):
            wrong.append((n, "compiled", found, (value, slope)))
    assert not wrong
    assert judged > 0.85 * COUNT
    assert all("more than 64 ways" in text or "began as an integer" in text for text in refused)


def _by_taichi(numbers: list[int], folder: Path) -> np.ndarray:
    """The value of each program, summed over the elements, by one kernel.

    The rewriting of the source is common to the engine and plain Python: only Taichi itself sees it fail.
    """
    calls = []
    for b, n in enumerate(numbers):
        nodes = [[f"x[{b}, tuples[e, {s}], {c}]" for c in range(3)] for s in (0, 1)]
        x = ", ".join(f"ti.Vector([{', '.join(row)}])" for row in nodes)
        y = ", ".join(f"y[{b}, tuples[e, {s}]]" for s in (0, 1))
        calls.append(f"        U[{b}, e] = p{n}([{x}], [{y}], ti.Vector([k[{b}, 0], k[{b}, 1]]), kind[e])\n")
    arrays = {"x": 3, "y": 2, "k": 2, "U": 2}
    head = ", ".join(f"{a}: ti.types.ndarray(dtype=ti.f64, ndim={d})" for a, d in arrays.items())
    whole = "kind: ti.types.ndarray(dtype=ti.i32, ndim=1), tuples: ti.types.ndarray(dtype=ti.i32, ndim=2)"
    text = "from minusgrad import ti\nfrom programs_of_fuzz import *\n\n\n"
    text += "".join(f"p{n} = ti.func(p{n})\n" for n in numbers)
    text += f"@ti.kernel\ndef kernel({head}, {whole}):\n    for e in range(tuples.shape[0]):\n" + "".join(
        calls
    )
    module = imported(folder / f"kernel_{numbers[0]}.py", text)
    states = [state(n) for n in numbers]
    stacked = {a: np.stack([s[a] for s in states]) for a in ("x", "y", "k")}
    U = np.zeros((len(numbers), len(TUPLES)))
    runtime.start()
    module.kernel(**stacked, U=U, kind=np.arange(3, dtype=np.int32), tuples=TUPLES.astype(np.int32))
    ti.sync()
    return U.sum(axis=1)
