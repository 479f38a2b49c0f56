"""`minusgrad check NAME --report`: answers for right and wrong plugins, and the files it writes."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from minusgrad import Node, Output, Parameter, local_energy, local_map
from minusgrad.app.plugin_kit import conformance, report, scaffold
from minusgrad.app.plugin_kit.conformance import NOT_ASKED, ConformanceRow
from minusgrad.check.questions import Finding
from minusgrad.exam import dimensions, energy_exam
from minusgrad.exam.instances import Instance
from tests.support.installed import as_if_installed

pytestmark = pytest.mark.unit


@local_energy("softened", over="pairs", x=Node("m", ("d",)), k=Parameter("J m"))
def softened(x, k):
    """Its constant has a unit: in other units it is another energy."""
    return k / ((x[0] - x[1]).norm() + 1e-3)


@local_energy("repulsion", over="pairs", x=Node("m", ("d",)), k=Parameter("J m"), symmetries=("translation",))
def repulsion(x, k):
    """It forgets that it is invariant under rotation."""
    return k / (x[0] - x[1]).norm()


@local_map(
    "momentum", over="nodes", gives={"p": Output("kg m s^-2", ("d",))}, v=Node("m/s", ("d",)), m=Node("kg")
)
def momentum(v, m):
    """Its output is declared as a force."""
    return m[0] * v[0]


def said(findings) -> list[tuple[bool, str]]:
    return [(f.passed, f.text) for f in findings]


def test_a_constant_with_a_unit_is_found() -> None:
    ((passed, text),) = said(dimensions.units(softened, 3))
    assert not passed
    assert text == (
        "a unit of m that is 2 times smaller changes the physics: a constant with a unit is written into the"
        " function"
    )
    assert said(dimensions.units(repulsion, 3)) == [(True, "its value is in m^2 kg s^-2")]


def test_an_output_of_another_unit_is_found() -> None:
    found = said(dimensions.units(momentum, 2))
    assert found == [(False, "its value is in m kg s^-1, but m kg s^-2 is declared")] * 2


@pytest.mark.exam
def test_a_symmetry_that_is_not_declared_is_found() -> None:
    found = [f for f in energy_exam.symmetry(Instance(repulsion), 2) if not f.passed]
    assert [f.text for f in found] == ["rotation changes U by this part, and is not declared"]


MOTIONS = ("translation", "rotation")


@local_energy("area", over=3, x=Node("m", ("d",)), k=Parameter("J/m^2"), symmetries=MOTIONS)
def area(x, k):
    """The signed area of a triangle: a rotation keeps it, a reflection does not."""
    a, b = x[1] - x[0], x[2] - x[0]
    return k * (a[0] * b[1] - a[1] * b[0])


@pytest.mark.exam
def test_a_symmetry_is_that_of_rotations_alone() -> None:
    found = [*energy_exam.symmetry(Instance(area), 2)]
    assert [f.passed for f in found] == [True, True], found


def finding(passed: bool, figure: float) -> Finding:
    return Finding("bond", "x", "values", passed, figure, "gradient beside differences", precision="f64")


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conformance.runtime, "engine_name", lambda: "taichi")


@pytest.mark.usefixtures("named")
def test_a_row_has_the_worst_of_its_findings() -> None:
    good, bad = [finding(True, 1e-13), finding(True, 1e-11)], finding(False, 0.5)
    row = conformance._row("bond", "values", lambda: iter(good))
    assert row == ConformanceRow("bond", "values", "taichi", "pass", 1e-11, "2 answers")
    row = conformance._row("bond", "values", lambda: iter([*good, bad]))
    text = "bond.x: values, f64: gradient beside differences (0.5)"
    assert row == ConformanceRow("bond", "values", "taichi", "FAIL", 0.5, text)
    assert conformance._row("bond", "values", lambda: iter([])).result == NOT_ASKED


@pytest.mark.usefixtures("named")
def test_a_state_that_forgets_a_field_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stepper with a memory that it does not save: what it adds depends on how long it lives."""

    class Forgetful:
        saved = ("x",)

        def __init__(self) -> None:
            self.values = {"x": np.zeros(2), "memory": np.zeros(1)}

        def step(self, n: int) -> None:
            self.values["memory"] = self.values["memory"] + n
            self.values["x"] = self.values["x"] + self.values["memory"]

        def snapshot(self):
            return type("Copy", (), {"arrays": {name: self.values[name].copy() for name in self.saved}})

        def restore(self, copy) -> None:
            self.values |= copy.arrays

    monkeypatch.setattr(conformance, "build", lambda scene: Forgetful())
    row = conformance._state("some/chain.toml")
    assert (row.subject, row.result) == ("chain.toml", "FAIL")
    assert row.text == "a restored copy goes on with other bits in: x"
    monkeypatch.setattr(Forgetful, "saved", ("x", "memory"))
    assert conformance._state("some/chain.toml").result == "pass"


ROWS = [
    ConformanceRow("bond", "values", "taichi", "pass", 1e-11, "2 answers"),
    ConformanceRow("b", "units", "taichi", "FAIL", 0.5, "a|b"),
]


def test_it_is_written_as_markdown_and_json(tmp_path: Path) -> None:
    report.write(tmp_path / "x.md", "gravity", ROWS)
    lines = (tmp_path / "x.md").read_text().splitlines()
    assert lines[0] == "# Conformance of gravity"
    assert "| bond | values | taichi | pass | 1e-11 | 2 answers |" in lines
    assert "| b | units | taichi | FAIL | 0.5 | a\\|b |" in lines
    assert lines[-1] == "2 rows: 1 pass, 1 fail, 0 not asked."
    report.write(tmp_path / "x.json", "gravity", ROWS)
    found = json.loads((tmp_path / "x.json").read_text())
    assert [ConformanceRow(**row) for row in found["rows"]] == ROWS
    assert found["versions"]["minusgrad"] == "0.1.0"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nobody", "--report"), "report of 'nobody': no plugin named 'nobody' (installed: "),
        (
            ("gravity", "--report", "--to", "x.pdf"),
            "x.pdf: must end in .md or .json, got '.pdf'; give such a name",
        ),
        (("gravity", "--to", "x.md"), "check: --out and --scene belong to a report, got no --report; add it"),
        (
            ("gravity", "a.b=1", "--report"),
            "check: a report is of an installed plugin as it is; leave out keys",
        ),
    ],
)
def test_it_refuses(arguments: tuple[str, ...], says: str, invoke) -> None:
    code, out, err = invoke("check", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"minusgrad: {says}")


def test_findings_are_exit_code_1(invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "report", lambda *_: ROWS)
    code, out, _ = invoke("check", "gravity", "--report")
    assert code == 1
    assert out.splitlines()[-1] == "2 rows: 1 pass, 1 fail, 0 not asked"
    monkeypatch.setattr(report, "report", lambda *_: ROWS[:1])
    assert invoke("check", "gravity", "--report", "--json")[0] == 0


@pytest.mark.long
def test_of_a_new_plugin_all_rows_pass(tmp_path: Path) -> None:
    scaffold.new_plugin("springy", tmp_path / "springy")
    environment = as_if_installed("springy", tmp_path / "springy")
    call = [sys.executable, "-m", "minusgrad", "check", "springy", "--report", "--json"]
    done = subprocess.run(call, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [ConformanceRow(**row) for row in json.loads(done.stdout)]
    asked = {row.question for row in rows if row.result == "pass"}
    exam = {"values", "products", "order", "precision", "alive", "symmetry"}
    assert asked == exam | {"check", "units", "determinism", "state"}
    assert {row.result for row in rows} == {"pass", "measured"}
    assert {row.engine for row in rows} == {"taichi", "quadrants"}
