"""Scenes with `[[magnetic]]`: keys and messages, units, fits, tensors, the schema, and a cut run."""

import json
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from minusgrad import build, fit, resume, run
from minusgrad.app.compare import compare
from minusgrad.assembly.registry import Registry
from minusgrad.errors import SceneError
from minusgrad.scene.json_schema import schema_of
from tests.support.short_scenes import cut

PLUGIN = """
    import numpy as np
    from minusgrad.plugin import (
        Body, Motion, Node, Parameter, Record, State, hookimpl, local_energy, ti, vector_potential
    )

    class Charges(Record):
        '''Two charges in 1, 2 or 3 dimensions, with a field q of charges.'''
        d: int
        def make(self, context):
            x = np.array([[0.3, -0.2, 0.1], [1.0, 0.4, -0.3]])[:, :self.d]
            v = np.array([[0.5, 1.0, 0.2], [-0.4, 0.8, 0.6]])[:, :self.d]
            q = np.array([1.0, -0.5]) * context.units.convert("1 C", "C")
            fields = {"x": x, "v": v, "m": np.array([1.0, 2.0]), "q": q}
            return State(fields=fields, units={"x": "m", "v": "m s^-1", "m": "kg", "q": "C"},
                         motions=(Motion("x", "v", "m"),), bodies=(Body("one", [0]), Body("other", [1])))

    @vector_potential("bowl", x=Node("m", ("d",)), B0=Parameter("T"), curve=Parameter("m^-2", default=0.0))
    def bowl(x, B0, curve):
        '''B0 (1 + curve r^2) along the normal.'''
        r = x[0]
        f = 0.5 * B0 * (1.0 + 0.5 * curve * r.dot(r))
        return f * ti.Vector([-r[1], r[0]])

    @hookimpl
    def register_states():
        return {"charges": Charges}

    @hookimpl
    def register_magnetic_fields():
        return [bowl]
    """
SCENE = """
    plugins = []
    [state]
    kind = "charges"
    d = 2
    [[magnetic]]
    kind = "bowl"
    B0 = "2 T"
    curve = 0.3
    fields = { charge = "q" }
    [stepper]
    kind = "leapfrog"
    dt = 0.05
    [run]
    steps = 40
    [[observe]]
    kind = "energies"
    every = 10
    [[observe]]
    kind = "frames"
    every = 10
    [checkpoint]
    every = 20
    """


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    (tmp_path / "charges.py").write_text(dedent(PLUGIN))
    (tmp_path / "scene.toml").write_text(dedent(SCENE))
    return tmp_path / "scene.toml"


def plugins(scene: Path) -> list[Path]:
    return [scene.parent / "charges.py"]


UNIFORM = {"magnetic.0.kind": "uniform_field"}


def refused(scene: Path, block: str, *overrides: str) -> tuple[str, str]:
    """The place and the text of the one mistake, with this magnetic block."""
    text = scene.read_text()
    begin, end = text.index("[[magnetic]]"), text.index("[stepper]")
    scene.write_text(text[:begin] + dedent(block) + text[end:])
    with pytest.raises(SceneError) as found:
        build(scene, overrides, plugins(scene))
    (problem,) = found.value.problems
    return problem.key, problem.message


FIELD = "magnetic field 'uniform_field'"


@pytest.mark.parametrize(
    ("d", "block", "place", "message"),
    [
        (3, 'kind = "uniform_field"\nB = "1 T"\ncharge = 1.0', "magnetic.0",
         f"{FIELD}: needs three components in space, got one number for B; give a list"),
        (2, 'kind = "uniform_field"\nB = [1.0, 0.0, 2.0]\ncharge = 1.0', "magnetic.0",
         f"{FIELD}: would push charges out of their plane, got B = [1.0, 0.0, 2.0]; give"
         " its component along the normal, or places in space"),
        (1, 'kind = "uniform_field"\nB = 1.0\ncharge = 1.0', "magnetic.0",
         f"{FIELD}: needs places in the plane or in space, got 'x' of shape [2, 1]; give"
         " each node 2 or 3 components"),
        (2, 'kind = "bowl"\nB0 = 1.0', "magnetic.0",
         "magnetic field 'bowl': needs its `charge` or `fields = { charge = ... }`, a field of the state, got"
         " neither; give one of them"),
        (2, 'kind = "bowl"\nB0 = 1.0\ncharge = 1.0\nfields = { charge = "q" }', "magnetic.0",
         "magnetic field 'bowl': needs its `charge` or `fields = { charge = ... }`, a field of the state, got"
         " both; give one of them"),
        (2, 'kind = "bowl"\nB0 = 1.0\nfields = { charg = "q" }', "magnetic.0",
         "magnetic field 'bowl': `fields` names no 'charg'; did you mean 'charge'? (there are: charge, x)"),
        (2, 'kind = "bowl"\nB0 = "1 m"\ncharge = 1.0', "magnetic.0.B0",
         "'1 m' is a length, but 'T' (magnetic field) is needed"),
        (2, 'kind = "uniform_field"\nB = ["1 T", "2 T"]\ncharge = 1.0', "magnetic.0.B",
         "needs at least 3 elements, not 2"),
        (3, 'kind = "bowl"\nB0 = 1.0\ncharge = 1.0', "magnetic",
         "vector potential 'bowl': must return a vector of 3 components here, got shape [2]; return"
         " ti.Vector([A_x, A_y, A_z])"),
        (2, 'kind = "bowl"\nB0 = 1.0\ncharge = 1.0\nfields = { x = "v" }', "magnetic.0",
         "magnetic field 'bowl': needs a field that moves, got the field 'v'; name one of x"),
        (2, 'kind = "bowl"\nB0 = 1.0\ncharge = 1.0\n[[magnetic]]\nname = "second"\nkind = "bowl"\nB0 = 1.0\n'
         'charge = 1.0\nbody = "other"', "magnetic.1",
         "magnetic field 'second': node 1 of 'x' is in the field 'bowl', too; write their sum as one field,"
         " or name `body`"),
        (2, 'kind = "bowl"\nB0 = 1.0\ncharge = 1.0\n[[hold]]\nbody = "one"\naxes = "x"', "stepper",
         "hold: node 0 of 'x' is charged in a magnetic field, which turns its velocity, got some of its"
         " components held; hold all of them, or none (for motion in a plane give the state two dimensions)"),
        (2, 'kind = "bowl"\nB0 = 1.0\ncharge = 1.0\n[[hold]]\nbody = "one"\nvelocity = [1.0, 0.0]', "stepper",
         "hold: node 0 of 'x' is charged in a magnetic field, got a support that moves; hold it at rest, or"
         " leave it out of the field by `body`"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(d, block, place, message, scene):
    assert refused(scene, f"[[magnetic]]\n{block}\n", f"state.d={d}") == (place, message)


def test_a_scene_without_energy_needs_a_field(scene):
    text = scene.read_text()
    scene.write_text(text[: text.index("[[magnetic]]")] + text[text.index("[stepper]") :])
    with pytest.raises(SceneError, match="energy: required, but missing"):
        build(scene, plugins=plugins(scene))


def test_charges_and_fields_have_units(scene):
    """In other units of the run the orbit is the same: q B / m is a rate."""
    si = build(scene, plugins=plugins(scene))
    units = {"units": {"length": "mm", "mass": "g", "time": "ms"}, "stepper.dt": "50 ms"}
    charge = {"magnetic.0": {"kind": "uniform_field", "B": "2 T", "charge": ["1 C", "-500 mC"]}}
    for overrides in ({}, {"units": units["units"], "stepper.dt": "50 ms"}):
        sim = build(scene, {**overrides, **charge}, plugins(scene))
        (rows,) = (sim.magnetic.potential.parameter("uniform_field.charge"),)
        B = sim.magnetic.potential.parameter("uniform_field.B")[2]
        rate = rows * B * sim.stepper.dt
        np.testing.assert_allclose(rate / sim.units.convert("1 kg", "kg"), [0.1, -0.05], rtol=1e-13)
    assert si.magnetic.potential.fields["q"].values.tolist() == [1.0, -0.5]


def test_a_cut_run_is_the_whole_run(scene, tmp_path):
    """Resumed after a kill, it goes on bit for bit; and the origin names the graph of the flow."""
    whole = run(scene, out=tmp_path / "whole", plugins=plugins(scene))
    half = cut(tmp_path / "half", scene, {}, 20, plugins=plugins(scene))
    rest = resume(half, plugins=plugins(scene))
    assert rest.simulation.facts()["origin"]["terms"]["magnetic.0"]["graph"]
    assert compare(whole.folder, rest.folder).differences == []


MEASURED = """
    [fit]
    method = "gauss_newton"
    iterations = 20
    change = 1e-12
    [fit.parameters."bowl.B0"]
    start = "1.6 T"
    [fit.parameters."bowl.curve"]
    start = 0.1
    [fit.parameters.q]
    body = "other"
    start = -0.4
    [[fit.loss]]
    kind = "misfit"
    field = "x"
    sigma = 1e-6
    data = "orbit.csv"
    """


def test_a_fit_finds_the_field_and_the_charge(scene, tmp_path):
    """From an orbit that was computed with other values."""
    simulation = build(scene, plugins=plugins(scene))
    rows = ["time,node,x,y"]
    for step in range(5, 45, 5):
        simulation.stepper.advance(5)
        x = simulation.fields["x"].values
        rows += [f"{step * 0.05!r},{n},{x[n, 0]!r},{x[n, 1]!r}".replace("np.float64(", "").replace(")", "")
                 for n in range(2)]  # fmt: skip
    (tmp_path / "orbit.csv").write_text("\n".join(rows))
    scene.write_text(scene.read_text() + dedent(MEASURED))
    found = fit(scene, out=tmp_path / "fit", plugins=plugins(scene))
    potential = found.simulation.magnetic.potential
    assert potential.parameter("bowl.B0") == pytest.approx(2.0, rel=1e-9)
    assert potential.parameter("bowl.curve") == pytest.approx(0.3, rel=1e-8)
    assert potential.fields["q"].values[1] == pytest.approx(-0.5, rel=1e-9)


def test_tensors(scene):
    """A run as a function of B0, in PyTorch: its slope by differences."""
    torch = pytest.importorskip("torch")
    from minusgrad.torch import rollout

    function = rollout(scene, 30, plugins=plugins(scene))
    B0 = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)

    def last(value):
        return function({"bowl.B0": value})["x"].square().sum()

    last(B0).backward()
    with torch.no_grad():
        slope = (last(B0 + 1e-5) - last(B0 - 1e-5)) / 2e-5
    assert float(B0.grad) == pytest.approx(float(slope), rel=1e-7)
    assert abs(float(slope)) > 1e-3


def test_the_listing_and_the_schema_know_fields(scene, invoke):
    code, out, _ = invoke("energies", "--json", "--plugin", scene.parent / "charges.py")
    rows = {row["name"]: row for row in json.loads(out) if row["section"] == "magnetic"}
    assert code == 0
    assert rows.keys() == {"uniform_field", "bowl"}
    assert [a["name"] for a in rows["bowl"]["arguments"]] == ["charge", "x", "B0", "curve"]
    assert rows["bowl"]["claim"] == "B0 (1 + curve r^2) along the normal."
    schema = schema_of(Registry.load(None, plugins(scene)).models())
    assert "energy" not in schema["required"]
    assert {"required": ["energy"]} in schema["anyOf"]
    block = schema["$defs"]["magnetic_uniform_field"]["properties"]
    assert {"kind", "B", "charge", "body", "fields", "name"} <= set(block)


def test_checks_of_a_scene_ask_its_field(scene, invoke):
    code, out, _ = invoke("check", scene, "--plugin", scene.parent / "charges.py", "--json")
    asked = {(f["term"], f["argument"], f["question"]) for f in json.loads(out)}
    assert code == 0
    assert {("bowl", "x", "curl"), ("bowl", "B0", "taylor"), ("bowl", "", "value")} <= asked


def test_the_code_of_a_field_is_shown(scene, invoke):
    plugin = ("--plugin", scene.parent / "charges.py")
    code, out, _ = invoke("source", "bowl", "--dimension", 2, *plugin)
    assert code == 0
    assert out.startswith("# bowl in 2D, operations for each element: value ")
