"""Checks in f32: numbers that f32 cannot compute are found, and shipped energies raise no alarm."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from minusgrad import Fields, Node, Parameter, Potential, bind, local_energy, ti
from minusgrad.app.plugin_kit.check_process import findings
from minusgrad.check.questions import Finding
from minusgrad.check.single_precision import in_double, of_single
from minusgrad.energies.term import Term
from minusgrad.energies.values.parameter_values import Values
from tests.support.instances import CANONICAL
from tests.support.tiers import sampled

SCENES = Path(__file__).parents[2] / "scenes"
SMALL = """
from minusgrad import Node, Parameter, local_energy

@local_energy("confine", over="nodes", x=Node("m", "d"), hbar=Parameter("J s"), m=Parameter("kg"))
def confine(x, hbar, m):
    return hbar**2 / (2.0 * m) * x[0].dot(x[0])
"""


@local_energy("haversine", over="nodes", y=Node())
def haversine(y):
    return (1.0 - ti.cos(y[0])) / y[0] ** 2


@local_energy("pair", over=2, x=Node("m", "d"), a=Parameter("m"), b=Parameter("J"))
def pair(x, a, b):
    d = x[0] - x[1]
    q = (a * a / d.dot(d)) ** 3
    return 4.0 * b * (q * q - q)


def in_single(potential: Potential) -> Potential:
    """The same potential, without maps, in f32."""
    fields = Fields(
        {f.name: f.values for f in potential.fields.values()},
        {f.name: f.unit for f in potential.fields.values()},
        "f32",
    )

    def narrow(values: np.ndarray) -> np.ndarray:
        return values.astype(np.float32) if values.dtype.kind == "f" else values

    def made(term: Term) -> Term:
        return replace(
            term,
            fields={a: fields[f.name] for a, f in term.fields.items()},
            data={a: narrow(v) for a, v in term.data.items()},
            parameters={a: Values(narrow(v.rows), v.index) for a, v in term.parameters.items()},
            tables={a: narrow(v) for a, v in term.tables.items()},
            dtype=np.dtype(np.float32),
            shared={},
        )

    return Potential(fields, [made(term) for term in potential.terms.values()])


def failed(found: Sequence[Finding]) -> list[Finding]:
    assert found
    assert {f.precision for f in found} == {"f32"}
    return [f for f in found if not f.passed]


@pytest.mark.parametrize(
    "name", sampled(list(CANONICAL), ["gravity", "neo_hookean", "muscle", "kinds", "dose_l1"])
)
def test_shipped_energies_raise_no_alarm(name: str) -> None:
    potential = in_single(CANONICAL[name].potential(np.random.default_rng(2), 2))
    assert not failed(list(of_single(potential, t=0.3)))


def test_an_underflow_is_found() -> None:
    x = np.zeros((8, 3))
    x[1::2] = 4e-10, 3e-10, 0.0
    x += 1e-11 * np.random.default_rng(0).normal(size=x.shape)
    fields = Fields({"x": x}, precision="f32")
    rows = np.arange(8).reshape(4, 2)
    u = Potential(fields, [bind(pair, fields, tuples=rows, parameters={"a": 3.4e-10, "b": 1.65e-21})])
    (found,) = failed(list(of_single(u)))
    assert found.question == "range"
    assert "leaves the range of f32" in found.text
    assert np.array_equal(u.fields["x"].values, x.astype(np.float32))


def test_digits_that_cancel_are_found() -> None:
    """1 - cos y is 0 in f32: translated rightly, and yet no digit of y^2 / 2."""
    fields = Fields({"y": np.linspace(1e-5, 2e-5, 9)}, precision="f32")
    found = failed(list(of_single(Potential(fields, [bind(haversine, fields)]))))
    assert "value" in {f.question for f in found}
    assert all("digits cancel" in f.text for f in found)


def test_f64_has_the_same_inputs() -> None:
    potential = in_single(CANONICAL["spring"].potential(np.random.default_rng(2), 3))
    wide = in_double(potential)
    assert wide.fields["x"].values.dtype == np.float64
    assert np.array_equal(wide.fields["x"].values, potential.fields["x"].values)
    assert wide.value() == pytest.approx(potential.value(), rel=1e-5)


def test_a_scene_is_checked_in_its_own_precision(tmp_path: Path) -> None:
    scene = tmp_path / "small.toml"
    text = (SCENES / "two_body.toml").read_text().replace('plugins = ["gravity"]\n', "")
    scene.write_text(
        text.replace("[stepper]", '[[energy]]\nkind = "confine"\nhbar = 1.05e-34\nm = 9.1e-31\n\n[stepper]')
    )
    plugin = tmp_path / "confine.py"
    plugin.write_text(SMALL)
    right = list(findings([str(scene)], [], [plugin]))
    assert {f.precision for f in right} == {"f64"}
    both = list(findings([str(scene)], ['runtime.precision="f32"'], [plugin]))
    assert {f.precision for f in both} == {"f32", "f64"}
    assert [f.precision for f in both if not f.passed] == ["f32"]
    assert json.loads(json.dumps(both[0].as_dict()))["precision"] == "f32"
