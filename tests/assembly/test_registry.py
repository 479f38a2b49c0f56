"""Plugins: four hooks, one door for ours and a stranger's, and a broken one stops only those who need it."""

import importlib.util
import json
import os
import sys
from collections.abc import Callable, Iterator
from email import message_from_string
from importlib import invalidate_caches
from importlib.metadata import entry_points
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import numpy as np
import pytest
from pydantic import create_model

from minusgrad.app import cli
from minusgrad.app.runs import build, run
from minusgrad.assembly import hookspecs
from minusgrad.assembly.blocks import energy_block
from minusgrad.assembly.registry import Registry
from minusgrad.errors import PluginError, SceneError
from minusgrad.scene.document import LOSS
from tests.support.command import SCENES, complaints

Install = Callable[..., None]
Invoke = Callable[..., tuple[int, str, str]]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Put a distribution on the path, as pip does: modules, metadata, entry points."""
    site, before = tmp_path / "site", set(sys.modules)
    site.mkdir()
    monkeypatch.syspath_prepend(site)

    def put(distribution: str, version: str, plugins: dict[str, str], **modules: str) -> None:
        info = site / f"{distribution}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        lines = [f"{name} = {target}" for name, target in plugins.items()]
        (info / "entry_points.txt").write_text("\n".join(["[minusgrad]", *lines, ""]))
        for name, text in modules.items():
            (site / f"{name}.py").write_text(dedent(text))
        invalidate_caches()

    yield put
    for name in set(sys.modules) - before:
        if str(site) in str(getattr(sys.modules[name], "__file__", None)):
            del sys.modules[name]  # and no engine: it cannot be loaded twice


@pytest.fixture
def invoke(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """`minusgrad ARGUMENTS` in this process: exit code, what it prints, what it complains of."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> tuple[int, str, str]:
        code = cli.main([*map(str, arguments)])
        out, err = capsys.readouterr()
        return code, out, complaints(err)

    return call


# The four hooks -------------------------------------------------------------------------------------

RING = """
    from typing import Annotated
    import numpy as np
    from pydantic import Field
    from minusgrad import Body, Motion, State, hookimpl
    from minusgrad.assembly.contexts import StateContext
    from minusgrad.scene.records import Quantity, Record, quantities

    class Ring(Record):
        '''Points at rest on a circle.'''
        n: Annotated[int, Field(ge=1)]
        radius: Annotated[float | str, Quantity("m", "positive")]

        def make(self, context: StateContext) -> State:
            angle = np.arange(self.n) * 2.0 * np.pi / self.n
            x = quantities(self, context.units)["radius"] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
            fields = {"x": x, "v": 0.0 * x, "m": np.ones(self.n)}
            units = {"x": "m", "v": "m s^-1", "m": "kg"}
            motions, bodies = (Motion("x", "v", "m"),), (Body("first", [0]),)
            return State(fields=fields, units=units, motions=motions, bodies=bodies)

    @hookimpl
    def register_states():
        return {"ring": Ring}
    """
ANCHOR = """
    from minusgrad import Node, Parameter, hookimpl, local_energy

    @local_energy("anchor", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m", bounds=(0.0, 1e9)))
    def anchor(x, k):
        '''A spring to the origin.'''
        return 0.5 * k * x[0].norm_sqr()

    @hookimpl
    def register_energies():
        return [anchor]
    """
DRAG = """
    from minusgrad import Node, Parameter, hookimpl, local_energy

    @local_energy("drag", over="nodes", v=Node("m s^-1", ("d",)), c=Parameter("kg s^-1", bounds=(0.0, 1e9)))
    def drag(v, c):
        '''Linear drag.'''
        return 0.5 * c * v[0].norm_sqr()

    @hookimpl
    def register_dissipations():
        return [drag]
    """
COIL = """
    from minusgrad import Node, Parameter, hookimpl, ti, vector_potential

    @vector_potential("coil", x=Node("m", ("d",)), B0=Parameter("T"))
    def coil(x, B0):
        '''A field that grows along x.'''
        return ti.Vector([0.0, B0 * x[0][0] * x[0][0]])

    @hookimpl
    def register_magnetic_fields():
        return [coil]
    """
SQUARE = """
    from minusgrad import Node, hookimpl, local_map

    @local_map("square", gives="squared", over="nodes", unit="m^2", x=Node("m", ("d",)))
    def square(x):
        '''The squared distance from the origin.'''
        return x[0].norm_sqr()

    @hookimpl
    def register_maps():
        return [square]
    """
VERLET = """
    from typing import Annotated
    from minusgrad import hookimpl
    from minusgrad.assembly.contexts import StepperContext
    from minusgrad.steppers.integrator import Integrator
    from minusgrad.steppers.schemes import Scheme
    from minusgrad.scene.records import Quantity, Record, quantities

    class PositionVerlet(Record):
        '''Half drift, kick, half drift.'''
        dt: Annotated[float | str, Quantity("s", "positive")]

        def make(self, context: StepperContext) -> Integrator:
            scheme = Scheme(2, kicks=(0.0, 1.0, 0.0), drifts=(0.5, 0.5))
            dt = quantities(self, context.units)["dt"]
            return Integrator(context.system, scheme, dt)

    @hookimpl
    def register_steppers():
        return {"position_verlet": PositionVerlet}
    """
SIZE = """
    import numpy as np
    from minusgrad import hookimpl
    from minusgrad.assembly.contexts import ObserverContext
    from minusgrad.scene.records import Record
    from minusgrad.assembly.observers import Observer

    class Size(Observer):
        def observe(self) -> None:
            size = float(np.abs(self.fields["x"].values).max())
            self.recorder.record_observables(self.stepper.step, self.stepper.time, {"size": size})

    class SizeBlock(Record):
        '''The largest coordinate.'''
        every: int

        def make(self, context: ObserverContext) -> Size:
            return Size(context.stepper, context.recorder, self.every)

    @hookimpl
    def register_observers():
        return {"size": SizeBlock}
    """
HALF = """
    from typing import Annotated
    from minusgrad import Node, Parameter, bind, hookimpl, local_energy, local_map
    from minusgrad.assembly.contexts import Compound, CompoundContext
    from minusgrad.scene.records import Quantity, Record, quantities

    @local_map("half_doubled", gives="doubled", over="nodes", unit="m", shape=("d",), x=Node("m", ("d",)))
    def doubled(x):
        '''Twice the place.'''
        return 2.0 * x[0]

    @local_energy("half_energy", over="nodes", doubled=Node("m", ("d",)), k=Parameter("N/m"))
    def energy(doubled, k):
        '''A spring to the origin.'''
        return 0.125 * k * doubled[0].norm_sqr()

    class Half(Record):
        '''A spring to the origin, of a map and an energy.'''
        k: Annotated[float | str, Quantity("N/m", "positive")]

        def make(self, context: CompoundContext) -> Compound:
            k = quantities(self, context.units)["k"]
            maps = [bind(doubled, context.fields)]
            return Compound([bind(energy, context.fields, parameters={"k": k})], maps)

    @hookimpl
    def register_compounds():
        return {"half": Half}
    """
SCENE = """
    plugins = ["ring", "anchor", "square", "half", "drag", "coil", "verlet", "size"]
    [state]
    kind = "ring"
    n = 4
    radius = "50 cm"
    [[map]]
    kind = "square"
    [[energy]]
    kind = "anchor"
    k = 1.0
    [[compound]]
    kind = "half"
    k = "1 N/m"
    [[dissipation]]
    kind = "drag"
    c = 0.4
    [[magnetic]]
    kind = "coil"
    B0 = "1 T"
    charge = 0.0
    [stepper]
    kind = "position_verlet"
    dt = "10 ms"
    [run]
    steps = 100
    [[observe]]
    kind = "size"
    every = 50
    """
T = np.array([0.0, 0.5, 1.0])
FADED = np.sqrt(2.0 - 0.2**2)
OSCILLATION = 0.5 * np.exp(-0.2 * T) * (np.cos(FADED * T) + 0.2 / FADED * np.sin(FADED * T))
HOOKS = {"register_energies": ANCHOR, "register_dissipations": DRAG, "register_states": RING}
HOOKS |= {"register_maps": SQUARE, "register_steppers": VERLET, "register_observers": SIZE}
HOOKS |= {"register_magnetic_fields": COIL, "register_compounds": HALF}
NAMES = ("ring", "anchor", "square", "half", "drag", "coil", "verlet", "size")


@pytest.fixture
def scene(install: Install, tmp_path: Path) -> Path:
    """A scene of which every block comes from a stranger's plugin, one for each hook."""
    modules = {"ring": RING, "anchor": ANCHOR, "square": SQUARE, "half": HALF, "drag": DRAG, "coil": COIL}
    modules |= {"verlet": VERLET, "size": SIZE}
    names = {name: f"their_{name}" for name in modules}
    install("strangers-physics", "3.1", names, **{names[name]: text for name, text in modules.items()})
    (tmp_path / "scene.toml").write_text(dedent(SCENE))
    return tmp_path / "scene.toml"


def test_each_hook_has_a_plugin_here() -> None:
    """Constraints and Lagrangians have scenes of their own: they do not go with magnetic fields."""
    assert HOOKS.keys() | {"register_constraints", "register_lagrangians"} == hookspecs.HOOKS.keys()


def test_register_states_energies_steppers_observers_together_run_a_scene(
    scene: Path, tmp_path: Path
) -> None:
    """A damped oscillator, against paper; Verlet's error at this step is 1e-5."""
    result = run(scene, out=tmp_path / "run")
    assert tuple(result.simulation.registry.plugins) == ("core", *NAMES)
    assert result.series("observables/size").step.tolist() == [0, 50, 100]
    np.testing.assert_allclose(result.series("observables/size").value, OSCILLATION, atol=2e-5)
    assert set(result.simulation.facts()["plugins"]) == set(NAMES)


@pytest.mark.parametrize(
    ("hook", "plugin", "complaint"),
    [
        ("register_states", "ring", "state.kind: no initial state named 'ring'"),
        ("register_energies", "anchor", "energy.0.kind: no energy named 'anchor'"),
        ("register_maps", "square", "map.0.kind: no map named 'square'"),
        ("register_compounds", "half", "compound.0.kind: no compound named 'half'"),
        ("register_dissipations", "drag", "dissipation.0.kind: no dissipation named 'drag'"),
        ("register_magnetic_fields", "coil", "magnetic.0.kind: no magnetic field named 'coil'"),
        ("register_steppers", "verlet", "stepper.kind: no stepper named 'position_verlet'"),
        ("register_observers", "size", "observe.0.kind: no observer named 'size'"),
    ],
)
def test_each_hook_provides_its_block(hook: str, plugin: str, complaint: str, scene: Path) -> None:
    """Without the plugin that has this hook, the scene lacks just this."""
    others = [name for name in NAMES if name != plugin]
    with pytest.raises(SceneError) as refusal:
        build(scene, {"plugins": others})
    (problem,) = refusal.value.problems
    assert complaint in str(problem)
    section = hookspecs.HOOKS[hook]
    kinds = {
        kind for kind, entry in Registry.load([plugin]).tables[section].items() if entry.owner.name == plugin
    }
    assert len(kinds) == 1


@pytest.mark.parametrize(
    ("dropped", "added", "complaint"),
    [
        ("holds", {"hold": [{"body": "first"}]}, "leaves the scene's [[hold]] out"),
        ("dissipation", {}, "leaves the scene's [[dissipation]] out"),
        ("magnetic", {}, "leaves the scene's [[magnetic]] out"),
    ],
)
def test_a_stepper_that_drops_what_the_scene_says_is_refused(
    dropped: str, added: dict, complaint: str, scene: Path, tmp_path: Path
) -> None:
    module = tmp_path / "site" / "their_verlet.py"
    forgetful = f"__import__('dataclasses').replace(context.system, {dropped}=None)"
    module.write_text(module.read_text().replace("context.system", forgetful))
    with pytest.raises(SceneError, match=r"plugin 'verlet' \(strangers-physics 3.1\): stepper") as refusal:
        build(scene, added)
    assert complaint in str(refusal.value)


def test_quantities_and_bounds_of_a_strangers_block_are_judged(scene: Path) -> None:
    with pytest.raises(SceneError) as refusal:
        build(scene, {"state.radius": "5 s", "energy.0.k": -1.0, "stepper.dt": 0, "observe.0.evry": 1})
    text = str(refusal.value)
    assert "state.radius: '5 s' is a time, but 'm' (length) is needed" in text
    assert "energy.0.k: needs a quantity of at least 0, not -1.0" in text
    assert "stepper.dt: needs a quantity above 0, not 0" in text
    assert "observe.0.evry: no key 'evry'; did you mean 'every'? (keys: every)" in text


def test_a_module_at_hand_is_a_plugin_too(scene: Path, tmp_path: Path) -> None:
    """In a notebook: `minusgrad.run(scene, plugins=[module])`."""
    import their_anchor

    text = scene.read_text().replace('"anchor", ', "")
    scene.write_text(text)
    result = run(scene, out=tmp_path / "run", plugins=[their_anchor])
    np.testing.assert_allclose(result.series("observables/size").value, OSCILLATION, atol=2e-5)


def test_gravity_enters_by_the_same_door() -> None:
    (point,) = entry_points(group=hookspecs.GROUP, name="gravity")
    assert (point.value, point.dist.name) == ("minusgrad_gravity", "minusgrad")
    assert Registry.load(["gravity"]).tables["energy"]["gravity"].owner.target == point.value
    assert "gravity" not in Registry.load([]).tables["energy"]


def test_models_are_made_once_and_metadata_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scene that is built again finds the models of energies made; validators wait for a first value."""
    made, parsed = list[str](), list[str]()
    right = message_from_string
    monkeypatch.setattr("email.message_from_string", lambda text: parsed.append(text) or right(text))
    monkeypatch.setattr(
        energy_block, "create_model", lambda name, **rest: made.append(name) or create_model(name, **rest)
    )
    energy_block._MODELS.clear()
    first = Registry.load()
    declared = [e for table in first.tables.values() for e in table.values() if e.energy is not None]
    assert len([name for name in made if not name.endswith("_drawn")]) >= len(
        {e.energy.name for e in declared}
    )
    assert not first.tables["energy"]["spring"].model.__pydantic_complete__
    made.clear(), parsed.clear()
    again = Registry.load()
    assert made == []
    assert len(parsed) == len({point.dist.name for point in entry_points(group=hookspecs.GROUP)})
    assert again.tables["energy"]["spring"] == first.tables["energy"]["spring"]
    assert again.tables[LOSS]["spring"].model is first.tables[LOSS]["spring"].model


# Broken ones ----------------------------------------------------------------------------------------

BROKEN = {
    "raises at import": ("1 / 0", "cannot be imported at stranger.py:1: ZeroDivisionError: division by zero"),
    "exits at import": ("import sys\nsys.exit(3)", "cannot be imported at stranger.py:2: SystemExit: 3"),
    "lacks what it imports": (
        "import nobody_has_this",
        "cannot be imported at stranger.py:1: ModuleNotFoundError: No module named 'nobody_has_this'",
    ),
    "misspells a hook": (
        "from minusgrad import hookimpl\n@hookimpl\ndef register_energy(): return []",
        "no hook named 'register_energy'; did you mean 'register_energies'? (there are: register_energies, "
        "register_maps, register_compounds, register_lagrangians, register_dissipations,"
        " register_magnetic_fields, register_constraints, register_states, register_steppers,"
        " register_observers, register_warnings, register_published_values,"
        " register_file_descriptions, register_old_names)",
    ),
    "forgets the mark": (
        "def register_energies(): return []",
        "'register_energies' is not marked with @hookimpl",
    ),
    "wants an argument": (
        "from minusgrad import hookimpl\n@hookimpl\ndef register_states(scene): return {}",
        "does not fit the hooks: PluginValidationError: ",
    ),
    "raises in a hook": (
        "from minusgrad import hookimpl\n@hookimpl\ndef register_states():\n    return {}['ring']",
        "register_states failed at stranger.py:4: KeyError: 'ring'",
    ),
    "exits in a hook": (
        "from minusgrad import hookimpl\n@hookimpl\ndef register_states():\n    raise SystemExit",
        "register_states failed at stranger.py:4: SystemExit",
    ),
    "claims our energy": (
        dedent(ANCHOR).replace('"anchor"', '"gravity"'),
        "registers energy 'gravity', which belongs to plugin 'gravity' (minusgrad ",
    ),
    "claims our stepper": (
        dedent(VERLET).replace('"position_verlet"', '"leapfrog"'),
        "stepper 'leapfrog', which belongs to plugin 'core' (minusgrad 0.1.0); give it another name",
    ),
    "says it twice": (
        dedent(ANCHOR).replace("[anchor]", "[anchor, anchor]"),
        "registers energy 'anchor' twice; give one of them another name",
    ),
    "is of another API": ("MINUSGRAD_API = 2", "is written for plugin API 2; this is 1"),
    "gives a number": (
        dedent(RING).replace('{"ring": Ring}', "7"),
        "register_states gives a value of type int, not a table from kind to model",
    ),
    "gives nothing": (
        dedent(ANCHOR).replace("return [anchor]", "pass"),
        "register_energies gives a value of type NoneType, not a list of energies",
    ),
    "gives a function": (
        dedent(ANCHOR).replace("[anchor]", "[print, 5]"),
        "register_energies gives a value of type builtin_function_or_method, not an energy made by",
    ),
    "gives a class of its own": (
        dedent(RING).replace("Ring(Record)", "Ring"),
        "register_states gives 'ring': the class Ring, not a name and a Record",
    ),
    "makes nothing": (
        dedent(SIZE).replace("def make", "def create"),
        "register_observers: 'size' has no method `make(self, context)`",
    ),
    "shadows a key": (
        dedent(ANCHOR).replace("k=", "body=").replace("(x, k)", "(x, body)").replace("0.5 * k", "body"),
        "EnergyError: energy 'anchor': an argument cannot be called 'body'",
    ),
}


@pytest.fixture
def two_body(tmp_path: Path) -> Path:
    """The shipped scene, shortened, without its list of plugins."""
    text = (SCENES / "two_body.toml").read_text()
    path = tmp_path / "two_body.toml"
    path.write_text(text.replace('plugins = ["gravity"]\n', "").replace("steps = 1000", "steps = 10"))
    return path


@pytest.mark.parametrize(("source", "reason"), BROKEN.values(), ids=BROKEN)
def test_a_broken_plugin_stops_only_the_scene_that_names_it(
    source: str, reason: str, install: Install, invoke: Invoke, two_body: Path
) -> None:
    install("strangers-physics", "3.1", {"odd": "stranger"}, stranger=source)
    plugin = "plugin 'odd' (strangers-physics 3.1)"

    code, out, err = invoke("run", two_body, "--out", "run")
    assert code == 0
    assert out.startswith("run: 10 steps")
    (warning,) = [line for line in err.splitlines() if not line.endswith(" ...")]  # "compiling kernels ..."
    assert warning.startswith(
        f"minusgrad: warning: a plugin that is not used here could not be imported: {plugin}"
    )
    assert reason in warning

    named = two_body.with_name("named.toml")
    named.write_text('plugins = ["gravity", "odd"]\n' + two_body.read_text())
    code, out, err = invoke("run", named, "--out", "other")
    assert (code, out) == (2, "")
    assert err.startswith(f"{named}:1:23: plugins.1: {plugin}")
    assert reason in err

    code, out, err = invoke("run", two_body, 'plugins=["gravity"]', "--out", "third")
    assert (code, err) == (0, "")


def test_nobody_takes_a_name_from_us_by_coming_first(
    install: Install, invoke: Invoke, two_body: Path
) -> None:
    text = ANCHOR.replace('"anchor"', '"gravity"')
    install("strangers-physics", "3.1", {"aaa": "stranger"}, stranger=text)
    code, _, err = invoke("run", two_body, "--out", "run")
    assert code == 0
    broken = "could not be imported: plugin 'aaa' (strangers-physics 3.1) registers energy 'gravity'"
    assert f"{broken}, which belongs to plugin 'gravity' (" in err
    assert "); give it another name, or list `plugins` in the scene without 'gravity'" in err


def test_a_broken_plugin_is_told_where_its_energy_is_missed(
    install: Install, invoke: Invoke, two_body: Path
) -> None:
    install("strangers-physics", "3.1", {"odd": "stranger"}, stranger="1 / 0")
    code, _, err = invoke("run", two_body, "energy.0={kind='anchor', k=1}")
    assert code == 2
    assert "energy.0.kind: no energy named 'anchor' (" in err
    assert "); plugin 'odd' (strangers-physics 3.1) cannot be imported" in err


def test_a_broken_plugin_is_a_finding_for_those_who_list(install: Install, invoke: Invoke) -> None:
    install("strangers-physics", "3.1", {"odd": "stranger"}, stranger="1 / 0")
    for verb in ("energies", "schema"):
        code, out, err = invoke(verb)
        assert code == 1
        assert "gravity" in out
        assert "plugin 'odd' (strangers-physics 3.1) cannot be imported" in err
    code, out, err = invoke("plugins", "--json")  # imports nothing
    assert (code, err) == (0, "")
    assert {
        "name": "odd",
        "distribution": "strangers-physics",
        "version": "3.1",
        "module": "stranger",
    } in json.loads(out)


def test_two_distributions_with_one_name(install: Install, invoke: Invoke, two_body: Path) -> None:
    """Neither is taken, even if one of them is ours to others; who does not name it goes on."""
    install("first", "1.0", {"odd": "first_odd"}, first_odd=RING)
    install("second", "2.0", {"odd": "second_odd"}, second_odd=RING)
    reason = "two plugins are named 'odd', of first 1.0 and second 2.0; uninstall one"
    code, _, err = invoke("run", two_body, "--out", "run")
    assert (code, err) == (
        0,
        f"minusgrad: warning: a plugin that is not used here could not be imported: {reason}\n",
    )
    code, _, err = invoke("run", two_body, 'plugins=["gravity", "odd"]', "--out", "other")
    assert (code, reason in err) == (2, True)
    rows = [p["distribution"] for p in json.loads(invoke("plugins", "--json")[1]) if p["name"] == "odd"]
    assert rows == ["first", "second"]


def test_a_stranger_who_takes_the_name_of_the_core_is_named(
    install: Install, invoke: Invoke, two_body: Path
) -> None:
    install("strangers-physics", "3.1", {"core": "stranger"}, stranger=RING)
    code, _, err = invoke("run", two_body)
    assert code == 2
    assert err.startswith("minusgrad: two plugins are named 'core', of minusgrad ")
    assert err.endswith(" and strangers-physics 3.1; uninstall one\n")


@pytest.mark.parametrize("target", ["stranger:thing", "stranger:nothing", "not a target at all", "stranger."])
def test_an_entry_point_that_leads_nowhere(
    target: str, install: Install, invoke: Invoke, two_body: Path
) -> None:
    install("strangers-physics", "3.1", {"odd": target}, stranger="thing = 5")
    code, _, err = invoke("run", two_body, "--out", "run")
    assert code == 0
    assert err.startswith(
        "minusgrad: warning: a plugin that is not used here could not be imported: plugin 'odd'"
        " (strangers-physics 3.1)"
    )


@pytest.mark.parametrize("finder", ["importlib.metadata", "importlib_metadata"])
def test_a_distribution_without_metadata(
    finder: str, install: Install, invoke: Invoke, two_body: Path, tmp_path: Path
) -> None:
    """The second replaces the finder of the first where something, such as Dask, has imported it."""
    pytest.importorskip(finder)
    install("strangers-physics", "3.1", {"odd": "stranger"}, stranger="1 / 0")
    (tmp_path / "site/strangers-physics-3.1.dist-info/METADATA").unlink()
    code, _, err = invoke("run", two_body, "--out", "run")
    assert code == 0, err
    assert "plugin 'odd' (? ?) cannot be imported" in err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'quantities(self, context.units)["radius"]',
            'quantities(self, context.units)["size"]',
            "state: plugin 'ring' (strangers-physics 3.1) cannot make the initial state 'ring' "
            "at their_ring.py:16: KeyError: 'size'",
        ),
        (
            "return State(fields=fields, units=units, motions=motions, bodies=bodies)",
            "return fields, units",
            "state: plugin 'ring' (strangers-physics 3.1): initial state 'ring' makes a tuple, not a State",
        ),
        ('"x": x', '"x": x[:0]', "state: field 'x': needs at least one node, got shape (0, 2)"),
        ("np.ones(self.n)", "np.ones(10**15)", "state: needs more memory than there is ("),
    ],
)
def test_a_maker_that_fails_is_named_with_its_place(
    old: str, new: str, message: str, scene: Path, tmp_path: Path
) -> None:
    module = tmp_path / "site/their_ring.py"
    assert old in module.read_text()
    module.write_text(module.read_text().replace(old, new))
    with pytest.raises(SceneError) as refusal:
        build(scene)
    assert f"{scene}:3:2: {message}" in str(refusal.value)


def test_another_version_is_told_at_resume(scene: Path, tmp_path: Path) -> None:
    from minusgrad.app.jobs.job_runs import resume
    from minusgrad.errors import CheckpointError

    folder = run(scene, out=tmp_path / "run").folder
    info = tmp_path / "site/strangers-physics-3.1.dist-info"
    (info / "METADATA").write_text((info / "METADATA").read_text().replace("3.1", "3.2"))
    with pytest.raises(CheckpointError) as refusal:
        resume(folder)
    assert 'plugins.anchor.version: "3.1" then, "3.2" now' in str(refusal.value)
    assert str(refusal.value).endswith("--allow-changed")


def test_two_plugin_files_of_one_name(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text("")
    with pytest.raises(PluginError, match=r"plugin 'mine' \(file mine.py\) has the name of plugin 'mine'"):
        Registry.load([], [tmp_path / "a/mine.py", tmp_path / "b/mine.py"])
    (tmp_path / "core.py").write_text("")
    with pytest.raises(
        PluginError, match=r"plugin 'core' \(file core.py\) has the name of plugin 'core' \(minusgrad"
    ):
        Registry.load([], [tmp_path / "core.py"])


# Files, modules and energies at hand ----------------------------------------------------------------------

MORSE = """
raise SystemExit("a file that is looked at is not executed")
from minusgrad import Node, Parameter, hookimpl, local_energy, ti

@local_energy("morse", over=2, x=Node("m", ("d",)))
def morse(x):
    return (x[0] - x[1]).norm()

@hookimpl
def register_observers():
    return {"counting": None}
"""


def _complaint(folder: Path, overrides: dict) -> str:
    (folder / "scene.toml").write_text((SCENES / "two_body.toml").read_text())
    with pytest.raises(SceneError) as refused:
        build(folder / "scene.toml", overrides)
    return str(refused.value)


def test_a_file_beside_the_scene_that_defines_the_kind_is_named(tmp_path: Path) -> None:
    (tmp_path / "morse.py").write_text(MORSE)
    (tmp_path / "broken.py").write_text("def (")
    (tmp_path / "large.py").write_bytes(b'local_energy("morse")\n' + b"#" * 300_000)
    os.mkfifo(tmp_path / "fifo.py")
    cure = "no {} named '{}'; morse.py here defines it: add --plugin morse.py, in Python plugins=['morse.py']"
    said = _complaint(tmp_path, {"energy.0": {"kind": "morse"}})
    assert said.splitlines()[0].endswith(f": energy.0.kind: {cure.format('energy', 'morse')}")
    assert cure.format("observer", "counting") in _complaint(tmp_path, {"observe.0": {"kind": "counting"}})
    assert "--plugin" not in _complaint(tmp_path, {"energy.0": {"kind": "mores"}})


NOTEBOOK = """
from minusgrad import Node, Parameter, local_energy

@local_energy("well", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m"))
def {0}(x, k):
    return 0.5 * k * x[0].norm_sqr()
"""
WELL = {"energy.0": {"kind": "well", "k": 2.0}, "run.steps": 2}


def _module(tmp_path: Path, text: str) -> ModuleType:
    path = tmp_path / "cells.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("cells", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_energy_under_two_names_is_one(tmp_path: Path) -> None:
    """IPython keeps what a cell displays as `_` and `_2`; after an edit these hold the version of before."""
    module = _module(tmp_path, NOTEBOOK.format("_2") + NOTEBOOK.format("well") + "_ = _3 = alias = well\n")
    simulation = build(SCENES / "two_body.toml", WELL, [module])
    assert simulation.registry.energy("well") is module.well
    other = _module(tmp_path, NOTEBOOK.format("well") + NOTEBOOK.format("deeper"))
    with pytest.raises(PluginError, match=r"registers energy 'well' twice"):
        build(SCENES / "two_body.toml", WELL, [other])
    private = _module(tmp_path, NOTEBOOK.format("_well"))
    assert build(SCENES / "two_body.toml", WELL, [private]).registry.energy("well") is private._well


def test_an_energy_is_a_plugin_of_its_own(tmp_path: Path) -> None:
    well = _module(tmp_path, NOTEBOOK.format("well")).well
    made = run(SCENES / "two_body.toml", WELL, tmp_path / "run", [well])
    assert made.simulation.registry.energy("well") is well
    origin = made.simulation.origin
    assert (origin["terms"]["energy.0"]["plugin"], list(origin["plugins"]["well"])) == ("well", ["well.py"])
    with pytest.raises(PluginError) as refused:
        build(SCENES / "two_body.toml", WELL, [{"well": well}])
    assert str(refused.value) == (
        "plugins: must be files, modules or energies, got a value of type dict; give a file's name"
    )
