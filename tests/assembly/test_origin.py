"""Origin of a run: changed code, constants and data are refused by name; other changes are remarked."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import invalidate_caches
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from minusgrad.app.runs import build, run
from minusgrad.assembly import provenance
from minusgrad.assembly.origins.differences import WITHOUT
from minusgrad.files import checkpoint
from tests.support.command import SCENES

SCENE = """
[run]
steps = 4
[state]
kind = "random_points"
n = 5
side = 1.0
mass = 1.0
dimension = 2
[stepper]
kind = "leapfrog"
dt = 0.01
"""
ANCHOR = '[[energy]]\nkind = "anchor"\nk = 2.0\n'
HEAD = "from minusgrad.plugin import *\nfrom minusgrad.plugin import ti\n"
ENERGY = """
@local_energy("anchor", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m"))
def anchor(x, k):
    return {0}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with scenes, plugins and, in `site`, distributions; modules from there are forgotten."""
    path = list(sys.path)
    (tmp_path / "site").mkdir()
    monkeypatch.syspath_prepend(tmp_path / "site")
    yield tmp_path
    forget(tmp_path)
    sys.path[:] = path


def forget(folder: Path) -> None:
    """As a new process knows them: no modules from this folder."""
    for name in [n for n, m in sys.modules.items() if str(folder) in str(getattr(m, "__file__", None))]:
        del sys.modules[name]
    invalidate_caches()


def written(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / (name.replace("__in__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
    forget(folder)


def facts(folder: Path, scene: str = ANCHOR, plugins: bool = True) -> dict[str, Any]:
    """The facts that a new process would save, as JSON keeps them."""
    forget(folder)
    (folder / "scene.toml").write_text(SCENE + scene)
    files = [folder / "plugin.py"] if plugins else []
    return json.loads(json.dumps(build(folder / "scene.toml", plugins=files).facts()))


def differences(
    folder: Path, change: Callable[[], Any], scene: str = ANCHOR, plugins: bool = True
) -> tuple[list[str], list[str]]:
    then = facts(folder, scene, plugins)
    assert provenance.differences(then, facts(folder, scene, plugins)) == ([], [])
    change()
    return provenance.differences(then, facts(folder, scene, plugins))


def edited(file: Path, old: str, new: str) -> Callable[[], None]:
    """An edit some seconds later: Python takes bytecode of the same second for a distribution's module."""

    def edit() -> None:
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))
        later = file.stat().st_mtime + 10.0
        os.utime(file, (later, later))

    return edit


def changed_graph(cause: str) -> tuple[list[str], list[str]]:
    return [f"energy.0: the graph of term 'anchor' has changed ({cause})"], []


# Energies -------------------------------------------------------------------------------------------------


def test_another_module_of_the_distribution(folder: Path) -> None:
    """The example of CONTRIBUTING: the entry point leads to one module, the energy stands in another."""
    site = folder / "site"
    info = site / "their_laws-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-laws\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[minusgrad]\nsprings = my_package.springs\n")
    written(
        site,
        my_package__in____init__="",
        my_package__in__laws=HEAD + ENERGY.format("0.5 * k * x[0].norm_sqr()"),
    )
    written(
        site,
        my_package__in__springs=f"""
        {HEAD.splitlines()[0]}
        from .laws import anchor

        @hookimpl
        def register_energies():
            return [anchor]
        """,
    )
    laws = site / "my_package/laws.py"
    cause = "plugin 'springs': my_package/laws.py"
    assert differences(folder, edited(laws, "0.5", "5.0"), plugins=False) == changed_graph(cause)
    remark = "plugin 'springs': changed: my_package/laws.py; its energies in this run are the same"
    assert differences(folder, edited(laws, "return", "# far\n    return"), plugins=False) == ([], [remark])


def test_a_module_beside_a_plugin_file_and_one_that_it_imports(folder: Path) -> None:
    written(folder, plugin=HEAD + "import laws_of_ours\n" + ENERGY.format("laws_of_ours.law(x, k)"))
    written(
        folder,
        laws_of_ours="""
            from numbers_of_ours import HALF

            def law(x, k):
                return HALF * k * x[0].norm_sqr()
            """,
    )
    written(folder, numbers_of_ours="HALF = 0.5\n")
    cause = "plugin 'plugin': numbers_of_ours.py"
    assert differences(folder, edited(folder / "numbers_of_ours.py", "0.5", "0.6")) == changed_graph(cause)


def test_constants_that_no_file_of_code_holds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(folder, plugin=HEAD + """
import json, os
from pathlib import Path
HALF = float(os.environ["HALF"])
DATA = json.loads(Path(__file__).with_name("data.json").read_text())
""" + ENERGY.format("HALF * DATA[1] * k * x[0].norm_sqr()"))  # fmt: skip
    (folder / "data.json").write_text("[1.0, 2.0]")
    monkeypatch.setenv("HALF", "0.5")
    cause = "no file of plugin 'plugin': a constant, an environment variable or data that it reads"
    assert differences(folder, lambda: monkeypatch.setenv("HALF", "0.51")) == changed_graph(cause)
    assert differences(folder, lambda: (folder / "data.json").write_text("[1.0, 3.0]")) == changed_graph(
        cause
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('Parameter("N/m")', 'Parameter("N/m", bounds=(0.0, 9.0))'),
        ("0.5 * k", "k * 0.5"),
        ("norm_sqr()", "norm_sqr() + 0.0 * x[0][0]"),
    ],
)
def test_every_part_of_a_graph_counts_before_simplification(folder: Path, old: str, new: str) -> None:
    written(folder, plugin=HEAD + ENERGY.format("0.5 * k * x[0].norm_sqr()"))
    changed = edited(folder / "plugin.py", old, new)
    assert differences(folder, changed) == changed_graph("plugin 'plugin': plugin.py")


def test_a_default_of_an_energy_is_a_value_of_the_term(folder: Path) -> None:
    text = ENERGY.format("0.5 * k * x[0].norm_sqr()").replace(
        'Parameter("N/m")', 'Parameter("N/m", default=2.0)'
    )
    written(folder, plugin=HEAD + text)
    grave, light = differences(
        folder, edited(folder / "plugin.py", "default=2.0", "default=3.0"), '[[energy]]\nkind = "anchor"\n'
    )
    assert (grave, light) == (
        ["energy.0: the values of term 'anchor' have changed (plugin 'plugin': plugin.py)"],
        [],
    )


def test_a_dissipation_and_the_window_of_a_map_are_graphs(folder: Path) -> None:
    written(folder, plugin=HEAD + ENERGY.format("0.5 * k * x[0].norm_sqr()") + """
@local_energy("drag", over="nodes", v=Node("m/s", ("d",)), c=Parameter("kg/s"))
def drag(v, c):
    return 0.5 * c * v[0].norm_sqr()

@hookimpl
def register_energies():
    return [anchor]

@hookimpl
def register_dissipations():
    return [drag]
""")  # fmt: skip
    scene = ANCHOR + '[[dissipation]]\nkind = "drag"\nc = 0.1\n'
    grave, _ = differences(folder, edited(folder / "plugin.py", "0.5 * c", "0.6 * c"), scene)
    assert grave == ["dissipation.0: the graph of term 'drag' has changed (plugin 'plugin': plugin.py)"]


def test_a_vector_potential_is_a_graph(folder: Path) -> None:
    written(folder, plugin=HEAD + """
from minusgrad.energies.magnetic_field import vector_potential

@vector_potential("bottle", x=Node("m", ("d",)), B0=Parameter("T"))
def bottle(x, B0):
    return 0.5 * B0 * ti.Vector([-x[0][1], x[0][0]])
""")  # fmt: skip
    scene = '[[energy]]\nkind = "gravity"\nG = 1.0\n[[magnetic]]\nkind = "bottle"\nB0 = 1.0\ncharge = 1.0\n'
    grave, _ = differences(folder, edited(folder / "plugin.py", "0.5", "0.6"), scene)
    assert grave == ["magnetic.0: the graph of term 'bottle' has changed (plugin 'plugin': plugin.py)"]


STAGED = (
    HEAD
    + """
import os
FACTOR = float(os.environ.get("FACTOR", "1.0"))

A = ti.types.ndarray

@ti.func
def square(a):
    return a * a

@ti.kernel
def energy(m: A(dtype=ti.f64, ndim=1), k: A(dtype=ti.f64, ndim=1), U: A(dtype=ti.f64, ndim=1)):
    for i in range(m.shape[0]):
        U[0] += 0.5 * FACTOR * k[0] * square(m[i])

def back(m, k, d_m, d_U):
    d_m += 1.0

anchor = staged_energy(
    "anchor", stages=[Stage(energy, ("U",), backward=back)], m=Node("kg"), k=Parameter("N/m"),
)
"""
)


@pytest.mark.parametrize(
    ("old", "new"),
    [("0.5 * FACTOR", "0.6 * FACTOR"), ("return a * a", "return a * a * a"), ("+= 1.0", "+= 2.0")],
)
def test_kernels_of_a_staged_energy_and_what_they_call(folder: Path, old: str, new: str) -> None:
    written(folder, plugin=STAGED)
    changed = edited(folder / "plugin.py", old, new)
    assert differences(folder, changed) == changed_graph("plugin 'plugin': plugin.py")


def test_a_constant_of_a_staged_energy_and_a_comment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(folder, plugin=STAGED)
    cause = "no file of plugin 'plugin': a constant, an environment variable or data that it reads"
    assert differences(folder, lambda: monkeypatch.setenv("FACTOR", "2.0")) == changed_graph(cause)
    remark = "plugin 'plugin': changed: plugin.py; its energies in this run are the same"
    comment = edited(folder / "plugin.py", "    for i", "    # each node\n    for i")
    assert differences(folder, comment) == ([], [remark])


# Code without a graph -------------------------------------------------------------------------------------

OBSERVER = (
    HEAD
    + """
import os
SCALE = float(os.environ.get("SCALE", "1.0"))

class Looking(Record):
    every: int = 1

    def make(self, context):
        return Look(context, self.every)

class Look(Observer):
    def __init__(self, context, every):
        super().__init__(context.stepper, context.recorder, every)

    def observe(self):
        self.recorder.record_observables(self.stepper.step, self.stepper.time, {"look": SCALE * 2.0})

@hookimpl
def register_observers():
    return {"look": Looking}
"""
)
WATCHED = '[[energy]]\nkind = "gravity"\nG = 1.0\nsoftening = 0.1\n[[observe]]\nkind = "look"\n'


def test_changed_code_of_an_observer_is_refused_and_a_comment_is_not(folder: Path, monkeypatch) -> None:
    written(folder, plugin=OBSERVER)
    file = folder / "plugin.py"
    changed = "observe.0: the code of plugin 'plugin' has changed ({0}); no graph covers it"
    assert differences(folder, edited(file, "* 2.0", "* 3.0"), WATCHED) == ([changed.format("plugin.py")], [])
    remark = "plugin 'plugin': changed: plugin.py; its energies in this run are the same"
    comment = edited(file, "    def observe", "    # looks\n\n    def observe")
    assert differences(folder, comment, WATCHED) == ([], [remark])
    cause = "no file of plugin 'plugin': a constant, an environment variable or data that it reads"
    grave, _ = differences(folder, lambda: monkeypatch.setenv("SCALE", "2.0"), WATCHED)
    assert grave == [changed.format(cause)]


def test_a_memory_of_a_module_is_no_change(folder: Path) -> None:
    """A cache and a counter that a run fills are not the code."""
    text = OBSERVER.replace("import os", "import os\nSEEN, COUNT = {}, 0")
    text = text.replace(
        "def observe(self):",
        "def observe(self):\n        global COUNT\n        COUNT += 1\n        SEEN[COUNT] = 1",
    )
    written(folder, plugin=text)
    then = facts(folder, WATCHED)
    (folder / "scene.toml").write_text(SCENE + WATCHED)
    made = run(folder / "scene.toml", out=folder / "run", plugins=[folder / "plugin.py"])
    saved = checkpoint.load(checkpoint.newest(made.folder / "ckpt")[0]).meta
    assert provenance.differences(saved, then) == ([], [])
    del made.simulation.__dict__["origin"]
    assert provenance.differences(json.loads(json.dumps(made.simulation.facts())), then) == ([], [])


# What is no change ----------------------------------------------------------------------------------------


def test_a_checkpoint_of_before_is_compared_by_file(folder: Path) -> None:
    written(folder, plugin=HEAD + ENERGY.format("0.5 * k * x[0].norm_sqr()"))
    now = facts(folder)
    old = {key: value for key, value in now.items() if key != "origin"}
    remark = WITHOUT
    assert provenance.differences(old, now) == ([], [remark])
    edited(folder / "plugin.py", "0.5", "0.6")()
    assert provenance.differences(old, facts(folder)) == (["plugins.plugin.source has changed"], [remark])


def test_values_that_round_otherwise_are_a_remark(folder: Path) -> None:
    """As of another processor: the sums agree to nine digits."""
    written(folder, plugin=HEAD + ENERGY.format("0.5 * k * x[0].norm_sqr()"))
    then, now = facts(folder), facts(folder)
    then["origin"]["terms"]["energy.0"]["values"] = "0" * 16
    assert provenance.differences(then, now) == (
        [],
        ["energy.0: the values of term 'anchor' differ by rounding"],
    )
    then["origin"]["terms"]["energy.0"]["sums"][1] *= 1.0 + 1e-8
    assert provenance.differences(then, now)[0][0].startswith(
        "energy.0: the values of term 'anchor' have changed"
    )


def test_code_edited_during_a_run_is_not_what_it_runs(folder: Path) -> None:
    """Hashes are those of the import: a save after an edit still says what was computed."""
    written(folder, plugin=HEAD + ENERGY.format("0.5 * k * x[0].norm_sqr()"))
    forget(folder)
    (folder / "scene.toml").write_text(SCENE + ANCHOR)
    simulation = build(folder / "scene.toml", plugins=[folder / "plugin.py"])
    edited(folder / "plugin.py", "0.5", "0.6")()
    then = json.loads(json.dumps(simulation.facts()))
    grave, _ = provenance.differences(then, facts(folder))
    assert grave == changed_graph("plugin 'plugin': plugin.py")[0]


def test_the_origin_is_the_same_in_every_process() -> None:
    code = (
        "import json, sys, minusgrad\n"
        "s = minusgrad.build(sys.argv[1], {'runtime.threads': 2})\n"
        "print(json.dumps(s.origin))"
    )
    environment = os.environ | {"PYTHONHASHSEED": "1", "OMP_NUM_THREADS": "2", "LC_ALL": "C"}
    done = subprocess.run(
        [sys.executable, "-c", code, SCENES / "walker.toml"],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == json.loads(json.dumps(build(SCENES / "walker.toml", {"runtime.threads": 1}).origin))
    assert len(found["terms"]) == 5  # three energies and two dissipations


# States ---------------------------------------------------------------------------------------------------

STATE = (
    HEAD
    + """
import os
import numpy as np

class Pair(Record):
    length: float

    def make(self, context):
        rest = np.array([self.length * float(os.environ.get("REST", "1.0"))])
        held = (Hold("left", "x", np.array([0]), None, (float(os.environ.get("FAR", "1.0")), 0.0), 1.0),)
        return State(
            fields={"x": np.array([[0.0, 0.0], [1.0, 0.0]]), "v": np.zeros((2, 2)), "m": np.ones(2)},
            units={"x": "m", "v": "m s^-1", "m": "kg"}, motions=(Motion("x", "v", "m"),),
            bodies=(Body("left", [0]),),
            tuples={"bonds": np.array([[0, 1] if os.environ.get("ENDS", "1.0") == "1.0" else [1, 0]])},
            data={"bonds": {"rest": rest}}, holds=held if "FAR" in os.environ else (),
        )

@hookimpl
def register_states():
    return {"pair": Pair}
"""
)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("REST", "energy.0: the values of term 'spring' have changed"),
        ("ENDS", "energy.0: the values of term 'spring' have changed"),
        ("FAR", "state: the lists, bodies or holds have changed"),
    ],
)
def test_what_a_state_gives_besides_fields(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, line: str
) -> None:
    """A checkpoint holds the fields; lists, lengths and holds are made again by the plugin."""
    written(folder, plugin=STATE)
    begin, end = SCENE.index("[state]"), SCENE.index("[stepper]")
    scene = SCENE[:begin] + '[state]\nkind = "pair"\nlength = 1.0\n' + SCENE[end:]
    monkeypatch.setattr(sys.modules[__name__], "SCENE", scene)
    monkeypatch.setenv(name, "1.0")
    spring = '[[energy]]\nkind = "spring"\nstiffness = 3.0\n'
    grave, light = differences(folder, lambda: monkeypatch.setenv(name, "2.0"), spring)
    cause = "no file of plugin 'plugin': a constant, an environment variable or data that it reads"
    assert (grave[0], light) == (f"{line} ({cause})", [])
    assert len(grave) == (2 if name == "ENDS" else 1)  # a list of nodes belongs to the state, too
    remark = "plugin 'plugin': changed: plugin.py; its energies in this run are the same"
    comment = edited(folder / "plugin.py", "import os", "# of us\nimport os")
    assert differences(folder, comment, spring) == ([], [remark])
