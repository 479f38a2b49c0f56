"""150 random programs: value against plain Python and Taichi, gradient against extrapolated differences."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import programs
import references
from minusgrad import Datum, Fields, Node, Parameter, Potential, bind, local_energy, runtime, ti
from minusgrad.energy import LocalEnergy
from minusgrad.errors import TraceError
from minusgrad.trace import trace

COUNT, BATCH, SEED = 150, 10, 2024
ROLES = {"x": Node(shape=(3,)), "y": Node(), "k": Parameter(shape=(2,)), "kind": Datum(integer=True)}
TUPLES = np.array([[0, 1], [2, 3], [5, 4]])


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The module of random programs, from a file, so that their source can be read."""
    return imported(tmp_path_factory.mktemp("programs") / "programs_of_fuzz.py", programs.module(COUNT, SEED))


@pytest.fixture(scope="module")
def accepted(written: ModuleType) -> list[int]:
    """The programs that the engine does not refuse."""
    numbers, refused = [], []
    for n in range(COUNT):
        try:
            trace(energy_of(getattr(written, f"p{n}")), None)
        except TraceError as error:
            refused.append(str(error))
        else:
            numbers.append(n)
    assert len(refused) < 0.2 * COUNT
    assert all("more than 64 ways" in text or "began as an integer" in text for text in refused)
    return numbers


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
        self.start = {name: field.values.copy() for name, field in potential.fields.items()}
        rng = np.random.default_rng(n)
        self.direction = {name: rng.normal(size=v.shape) for name, v in self.start.items()}

    def __call__(self, h: float) -> float:
        for name, start in self.start.items():
            self.term.fields[name].set(start + h * self.direction[name])
        value = references.plain(self.term)
        for name, start in self.start.items():
            self.term.fields[name].set(start)
        return value

    def slope(self, h: float) -> float:
        return references.extrapolated(self, h)


@pytest.mark.slow
def test_random_programs(written: ModuleType, accepted: list[int], tmp_path: Path) -> None:
    by_taichi = {}
    for numbers in (accepted[k : k + BATCH] for k in range(0, len(accepted), BATCH)):
        by_taichi |= dict(zip(numbers, _by_taichi(numbers, tmp_path), strict=True))
    wrong, judged = [], 0
    for n in accepted:
        potential = potential_of(getattr(written, f"p{n}"), n)
        line = Line(potential, n)
        plain, scale = line(0.0), max(references.magnitude(line.term), 1.0)
        if abs(line(1e-12) - plain) > 1e-9 * scale:
            continue  # rounding decides a branch here
        slopes = [line.slope(h) for h in (1e-3, 3e-4)]
        wrong += [
            (n, by, v)
            for by, v in (("engine", potential.value()), ("taichi", by_taichi[n]))
            if not abs(v - plain) <= 1e-11 * scale
        ]
        if abs(slopes[0] - slopes[1]) > 1e-9 * max(scale, abs(slopes[1])):
            continue  # a kink or a step is near
        judged += 1
        slope = sum(float((potential.gradient(name) * d).sum()) for name, d in line.direction.items())
        if not abs(slope - slopes[1]) < 1e-7 * max(scale, abs(slope)):
            wrong.append((n, "gradient", slope, slopes[1]))
    assert not wrong
    assert judged > 0.9 * len(accepted)


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
