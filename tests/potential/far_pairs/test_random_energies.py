"""Random energies that factor: with the tree as it is, all derivatives are those of one function."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from minusgrad import Fields, Potential, bind
from minusgrad.check.term_subject import TermSubject, on_elements
from minusgrad.check.trees import tree_questions
from minusgrad.energies.local_energy import LocalEnergy
from minusgrad.energies.pairs.far import Far

KERNELS = (
    "1.0 / ti.sqrt(s + p * p)",
    "ti.exp(-ti.sqrt(s + 0.1) / (0.3 + p * p))",
    "ti.log(s + 0.05 + p * p)",
    "(s + p * p + 0.1) ** -1.5",
    "ti.exp(-w * s)",
    "ti.cos(w * ti.sqrt(s + 0.2))",
    "s * s",
    "ti.tanh(p * s)",
    "ti.erf(ti.sqrt(s + 0.1))",
    "ti.sqrt(s + 0.3) ** w",
    "w ** 2",
)
FACTORS = (
    "m[{0}]",
    "m[{0}] * q[{0}]",
    "ti.exp(0.3 * q[{0}])",
    "(1.0 + m[{0}]) ** 2",
    "u[{0}].dot(u[{0}])",
    "(m[{0}] + u[{0}][1] * u[{0}][0])",
    "1.0 / (4.0 + m[{0}] * m[{0}])",
)
WAVES = ("1.0", "w", "ti.cos(t)", "-p", "(1.0 + p * t)")
SOURCE = '''
from minusgrad import Node, Parameter, Time, local_energy
from minusgrad.plugin import ti

ROLES = {{"x": Node("m", ("d",)), "m": Node("1"), "q": Node("1"), "u": Node("1", (2,))}}


@local_energy("drawn", over="pairs", **ROLES, p=Parameter("1"), w=Parameter("1"), t=Time())
def drawn(x, m, q, u, p, w, t):
    """A sum of products."""
    r = x[0] - x[1]
    s = r.dot(r)
    return {}
'''


def drawn(rng: np.random.Generator, folder: Path) -> LocalEnergy:
    """An energy of one to three summands, each a product or the sum of two that are exchanged."""
    summands = []
    for _ in range(rng.integers(1, 4)):
        one, other = rng.choice(FACTORS, 2)
        both = f"{one.format(0)} * {other.format(1)} + {other.format(0)} * {one.format(1)}"
        factor = rng.choice(
            [both, f"{one.format(0)} * {one.format(1)}", f"{one.format(0)} + {one.format(1)}"]
        )
        summands.append(f"{rng.choice(WAVES)} * ({factor}) * ({rng.choice(KERNELS)})")
    file = folder / "drawn.py"
    file.write_text(SOURCE.format(" + ".join(summands)))
    spec = importlib.util.spec_from_file_location("drawn", file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.drawn


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.long) for k in range(1, 10))])
def test_derivatives_are_of_one_function(seed, tmp_path):
    """Central differences along a step of all fields, parameters and the time at once."""
    rng, n, d, t, h = np.random.default_rng(seed), 240, 2 + seed % 2, 0.4, 1e-5
    x = 0.5 * rng.normal(size=(n, d))
    x[: n // 2, 0] += 4.0
    q, u = rng.normal(size=n), rng.normal(size=(n, 2))
    fields = Fields({"x": x, "m": rng.uniform(0.5, 1.5, n), "q": q, "u": u})
    far = Far(opening_angle=0.7, order=2 + seed % 3 * (d == 2))
    term = bind(drawn(rng, tmp_path), fields, parameters={"p": 0.7, "w": 0.5}, far=far)
    term = on_elements(term, term.elements.frozen_pairs(term.elements.nodes), None)
    tree = Potential(fields, [term], frozen=True)
    assert term.elements.cells.far.count > 0
    assert [f.text for f in tree_questions.at_state(TermSubject(tree, term, t), rng) if not f.passed] == []

    start = {name: field.values.copy() for name, field in fields.items()}
    along = {name: rng.normal(size=values.shape) for name, values in start.items()}
    numbers = {"drawn.p": 0.6, "drawn.w": -0.3}
    names = (*along, *numbers, "drawn.t")

    def at(step: float) -> tuple[float, dict[str, np.ndarray]]:
        for name, values in start.items():
            fields[name].set(values + step * along[name])
        tree.set_parameter("drawn.p", 0.7 + step * numbers["drawn.p"])
        tree.set_parameter("drawn.w", 0.5 + step * numbers["drawn.w"])
        return tree.value(t + step), {name: tree.gradient(name, t + step) for name in names}

    (above, after), (below, before), (_, here) = at(h), at(-h), at(0.0)
    parts = [here[name] * (along | numbers | {"drawn.t": 1.0})[name] for name in names]
    size = sum(np.abs(part).sum() for part in parts)
    assert abs((above - below) / (2 * h) - sum(part.sum() for part in parts)) < 1e-7 * size
    for name in names:
        found = tree.product(along | numbers | {"t": 1.0}, name, t)
        difference = (after[name] - before[name]) / (2 * h)
        assert np.abs(found - difference).max() < 1e-5 * np.abs(difference).max() + 1e-9 * size, name
