"""The mistakes of a first hour, each with what it is answered: on the command line with exit code 2.

They are those that a new user made in a trial, with those of their kind.
"""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minusgrad as mg
from minusgrad.errors import MinusgradError
from minusgrad_gravity.gravity import gravity
from tests.support.pages import blocks

PAGE = "docs/start/tutorial.md"
PLUGIN = ("--plugin", "magnets.py")
RUN = ("run", "m.toml", *PLUGIN, "--out", "runs/new")


def _rows(table: list[Any], kept: list[int]) -> list[Any]:
    """The rows of a table, of which a few mechanisms run with `make test`."""
    return [pytest.param(*row, marks=() if k in kept else pytest.mark.long) for k, row in enumerate(table)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the tutorial, a run of 20 steps, and one of a single frame."""
    made = tmp_path_factory.mktemp("hour")
    for _, name, text in blocks(PAGE):
        if "." in name:
            (made / name).write_text(text)
    for name, steps in (("magnets", 20), ("one", 0)):
        overrides = {"run.steps": steps, "state.n": 20, "observe.1.every": 5}
        mg.run(made / "magnets.toml", overrides, made / "runs" / name, [str(made / "magnets.py")])
    return made


@pytest.fixture(autouse=True)
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


# Words on the command line --------------------------------------------------------------------------

VERBS = [
    (("rnu",), "no verb named 'rnu'; did you mean 'run'?"),
    (("run", "m.toml", "--ouut", "x"), "unrecognized arguments: --ouut x; did you mean '--out'?"),
    (
        ("run", "magnet.toml"),
        "magnet.toml: cannot be read: No such file or directory; did you mean 'magnets.toml'?",
    ),
    (("run", "two_bdy"), "no scene named 'two_bdy'; did you mean 'two_body'?"),
    (("run", "magnets.py"), "is no scene, whose file ends in .toml, got '.py'"),
    (("run", "start.csv"), "is no scene, whose file ends in .toml, got '.csv'"),
    (("plot", "magnets.toml"), "is a scene, not a run; run it first: `minusgrad run magnets.toml`"),
    (("plot", "runs/nothing"), "runs/nothing: no such folder; runs here: runs/"),
    (("plot", "start.csv"), "is a file, not the folder of a run; runs here: runs/"),
    (("info", "measured.csv"), "is a file, not the folder of a run"),
    (("resume", "runs/magnetz"), "no such folder; runs here: runs/"),
    (("resume", "runs/magnets"), "give it again: minusgrad resume runs/magnets --plugin "),
    (("run", "magnets.toml", "--plugin", "magnet.py"), "no file magnet.py; did you mean 'magnets.py'?"),
    (
        ("run", "magnets.toml"),
        "no energy named 'magnets'; magnets.py here defines it: add --plugin magnets.py",
    ),
    (("check", "magnets"), "magnets.py here defines it: add --plugin magnets.py"),
    (("check", "gravty"), "no energy named 'gravty'; did you mean 'gravity'?"),
    (("kinds", "gravty"), "no kind named 'gravty'; did you mean 'gravity'?"),
    (("steppers", "leapfog"), "no stepper named 'leapfog'; did you mean 'leapfrog'?"),
    (
        ("run", "magnets.toml", *PLUGIN, "--out", "runs/magnets"),
        "runs/magnets: contains a run already; use another",
    ),
    (("run", "magnets.toml", *PLUGIN, "--out", "/proc/x"), "/proc/x: cannot be written"),
    (("run", "magnets.toml", *PLUGIN, "--out", "start.csv"), "start.csv: is a file; use another --out"),
    (("fit", "magnets.toml", *PLUGIN), "has no [fit]; add one, or run the scene with `minusgrad run`"),
    (("movie", "runs/one"), "a movie needs two frames or more, got 1"),
    (("export", "runs/magnets", "totl"), "no series named 'totl'; did you mean 'total'?"),
    (("export", "runs/magnets", "--format", "gro"), "invalid choice: 'gro'"),
    (("plot", "runs/magnets", "--field", "sped"), "no field named 'sped'; did you mean 'speed'?"),
    (("movie", "runs/magnets", "--field", "sped"), "no field to show named 'sped'; did you mean 'speed'?"),
    (
        ("plot", "runs/magnets", "--view", "x"),
        "a view needs positions in space, got 2 coordinates; leave --view out",
    ),
    (("plot", "runs/magnets", "--format", "jpg"), "no format named 'jpg'; did you mean 'png'?"),
    (
        ("movie", "runs/magnets", "--out", "f.avi"),
        "no format of movies, got '.avi'; give a file that ends in",
    ),
    (("compare", "runs/magnets", "runs/nothing"), "runs/nothing: does not exist; give a run folder"),
    (("init", "two_bdy"), "no scene of minusgrad is named 'two_bdy'; did you mean 'two_body'?"),
    (("completion", "tcsh"), "invalid choice: 'tcsh'"),
    (
        ("new-plugin", "2nd thing"),
        "must be lower-case letters, digits and _, a letter first, got '2nd thing'",
    ),
]


@pytest.mark.parametrize(("words", "said"), _rows(VERBS, [0, 17, 20]))
def test_words_of_the_command_line(words: tuple[str, ...], said: str, invoke: Callable) -> None:
    code, _, err = invoke(*words)
    assert code == 2, err
    assert said in err


# Overrides and options of a run -----------------------------------------------------------------------

OVERRIDES = [
    ("stepper.dt", "write key=value or key.sub.0=value"),
    ("magnet.stiffness=3", "no part of the scene is named 'magnet'; did you mean 'magnets'?"),
    ("magnets.stifness=3", "no key 'stifness'; did you mean 'stiffness'?"),
    ("stepper.Dt=3", "no key 'Dt'; did you mean 'dt'?"),
    ("stepper.dt=2 msec", "stepper.dt: no unit 'msec'; did you mean 'ms'?"),
    ("stepper.dt=2 m", "'2 m' is a length, but 's' (time) is needed"),
    ("run.steps=many", "run.steps: needs a whole number of at least 0, not 'many'"),
    ("run.steps=1.5", "run.steps: needs a whole number of at least 0, not 1.5"),
    (
        "run.time=15 ms",
        "needs a whole number of steps, dt = 10 ms, got 1.5; the nearest are 10 ms (1 step) and 20",
    ),
    ("energy.3.stiffness=1", "'energy' has no element '3' (there is only 0)"),
    ("stepper.dt=", "the right side is not a TOML value; write stepper.dt=value"),
    ("box.edges=[1 m, 2 m]", 'a value with a unit stands in quotes; write "1 m"'),
    ("--max-hours=soon", "needs a number of hours above 0, like 11.5, got 'soon'"),
    ("--member=3", "got member = 3 alone; leave it out, or give one"),
    ("--fitted=runs/magnets", "contains a run; give the folder of a fit (`minusgrad fit`)"),
    ("--from=runs/nothing", "runs/nothing: no such folder; runs here: runs/"),
]


@pytest.mark.parametrize(("word", "said"), _rows(OVERRIDES, [1, 4, 11]))
def test_overrides_and_options(word: str, said: str, here: Path, invoke: Callable) -> None:
    (here / "m.toml").write_text((here / "magnets.toml").read_text())
    code, _, err = invoke(*RUN, word)
    assert code == 2, err
    assert said in err
    assert not (here / "runs/new").exists()


# A scene with a mistake ------------------------------------------------------------------------------

DT, N, STEPS, EVERY = 'dt = "10 ms"', "n = 400", "steps = 1600", "every = 20"
SCENES = [
    (DT, "dt = 10 ms", ':23:9: a value with a unit stands in quotes; write "10 ms"'),
    (DT, 'dt = "10 ms', ":23:12: the text has no closing quote"),
    (DT, "dt =", "needs a value behind the equals sign, got none"),
    (DT, 'dt = "10 m"', "stepper.dt: '10 m' is a length, but 's' (time) is needed"),
    (DT, 'dt = "10 msec"', "stepper.dt: no unit 'msec'; did you mean 'ms'?"),
    (DT, 'dt = "-10 ms"', "stepper.dt: needs a quantity above 0, not '-10 ms'"),
    (DT, "dt = 0", "stepper.dt: needs a quantity above 0, not 0"),
    ('kind = "leapfrog"', "kind = leapfrog", ':22:8: text needs quotes; write "leapfrog"'),
    ('kind = "leapfrog"', 'kind = "leapfog"', "no stepper named 'leapfog'; did you mean 'leapfrog'?"),
    ('kind = "magnets"', 'kind = "magnetz"', "no energy named 'magnetz'; did you mean 'magnets'?"),
    (
        '"random_points"',
        '"random_point"',
        "no initial state named 'random_point'; did you mean 'random_points'?",
    ),
    ('kind = "frames"', 'kind = "frame"', "no observer named 'frame'; did you mean 'frames'?"),
    (
        'stiffness = "0.5',
        'stifness = "0.5',
        ":13:1: energy.0.stifness: no key 'stifness'; did you mean 'stiffness'?",
    ),
    ("[stepper]", "[steper]", "steper: no key 'steper'; did you mean 'stepper'?"),
    ("[[energy]]", "[energy]", "energy: needs two brackets, [[energy]], because a scene may have several"),
    ("[stepper]", "[[stepper]]", "stepper: needs one pair of brackets, [stepper], because a scene has one"),
    (f"[run]\n{STEPS}\n", "", "run: required, but missing"),
    ('height = "0.3 m"\n', "", "energy.0.height: required, but missing"),
    (
        'side = "4 m"',
        'side = "four m"',
        "'four m' is not a quantity; write a number and a unit, as in '5 day'",
    ),
    (STEPS, 'steps = "1600"', "run.steps: needs a whole number of at least 0, not '1600'"),
    (STEPS, "steps = -1", "run.steps: needs a whole number of at least 0, not -1"),
    (STEPS, f'{STEPS}\ntime = "1 s"', 'run: needs either steps, or a time such as "10 s", in place of it'),
    (N, "n = 0", "state.n: needs a whole number of at least 2, not 0"),
    (N, "n = True", ":6:5: write true, in lower case"),
    (N, "n = None", ":6:5: TOML has no empty value; leave the key out"),
    (N, f"{N}\nn = 300", ":7:8: 'n' is given twice; leave one of them out"),
    ("dimension = 2", "dimension = 4", "needs a whole number of at least 1 and of at most 3, not 4"),
    ("dimension = 2", "dimension = 3", "field 'x' is of shape [3] at each node, not of shape [2]"),
    (EVERY, "every = 0", "observe.1.every: needs a whole number of at least 1, not 0"),
    (EVERY, "every = 2.5", "observe.1.every: needs a whole number of at least 1, not 2.5"),
    ('height = "0.3 m"', 'height = "0.3 m"\nbody = "disc"', "energy.0: no body named 'disc'"),
    ("title =", 'plugins = ["elstic"]\ntitle =', "no plugin named 'elstic'; did you mean 'elastic'?"),
    ("[run]", '[runtime]\nprecision = "f16"\n[run]', "needs 'f64' or 'f32', not 'f16'; did you mean 'f64'?"),
    ("[run]", '[runtime]\nengine = "numba"\n[run]', "needs 'taichi', 'quadrants' or 'auto', not 'numba'"),
    ("[run]", '[runtime]\narch = "gpu"\n[run]', "needs 'cpu', 'cuda', 'vulkan' or 'metal', not 'gpu'"),
]


@pytest.mark.parametrize(("old", "new", "said"), _rows(SCENES, [0, 12, 25]))
def test_a_mistake_in_a_scene(old: str, new: str, said: str, here: Path, invoke: Callable) -> None:
    text = (here / "magnets.toml").read_text()
    assert old in text
    (here / "m.toml").write_text(text.replace(old, new, 1))
    code, _, err = invoke(*RUN)
    assert code == 2, err
    assert said in err
    assert "required, but missing" not in err.replace(said, "")
    assert not (here / "runs/new").exists()


# Python ----------------------------------------------------------------------------------------------

X, M = np.random.default_rng(0).normal(size=(5, 3)), np.ones(5)


def simulation(**given: Any) -> mg.Simulation:
    usual = {
        "fields": {"x": X, "m": M},
        "energies": [gravity(G=1.0, softening=0.1)],
        "stepper": mg.Leapfrog(dt=0.01),
        "units": "dimensionless",
    }
    return mg.Simulation(**(usual | given))


def of_spring(rows: Any) -> mg.Simulation:
    return simulation(energies=[mg.energy("spring", stiffness=1.0, rest=1.0, tuples=np.array(rows))])


ARGUMENTS: list[tuple[Callable[[], Any], str]] = [
    (lambda: simulation(energy=[]), "Simulation: no argument named 'energy'; did you mean 'energies'?"),
    (lambda: simulation(energies=[]), "energies: needs an energy, got none; write energies="),
    (lambda: simulation(energies="gravity"), "energies: needs a list, got a str"),
    (lambda: simulation(energies=["gravity"]), "energies[0]: needs an energy, or a table, got a str"),
    (lambda: simulation(energies=[gravity(g=1.0)]), "energy.0.g: no key 'g'; did you mean 'G'?"),
    (lambda: simulation(energies=[mg.energy("gravty", G=1.0)]), "no energy named 'gravty'; did you mean"),
    (lambda: simulation(energies=[mg.energy("spring")]), "energy.0.stiffness: required, but missing"),
    (
        lambda: simulation(stepper=None),
        "stepper: needs a stepper, got none; write stepper=minusgrad.Leapfrog",
    ),
    (lambda: simulation(stepper="leapfrog"), "stepper: needs a stepper, got a str; write stepper="),
    (lambda: simulation(stepper=mg.Leapfrog), "Leapfrog: needs dt, got none; write Leapfrog(dt=...)"),
    (lambda: simulation(stepper=mg.Leapfrog(Dt=0.1)), "Leapfrog: no key named 'Dt'; did you mean 'dt'?"),
    (lambda: simulation(stepper=mg.Leapfrog(dt="1 s")), "'1 s' has a unit, but this scene is dimensionless"),
    (
        lambda: simulation(fields={"x": X * np.nan, "m": M}),
        "fields: 'x': needs finite numbers, got nan at [0, 0]",
    ),
    (lambda: simulation(fields={"x": [[1, 2], [3]], "m": M}), "give rows of one length"),
    (lambda: simulation(fields={"x": X, "m": M[:3]}), "needs a number for each node, shape (5,), got (3,)"),
    (
        lambda: simulation(fields={"x": X, "v": X[:, :2], "m": M}),
        "needs the shape of 'x', (5, 3), got (5, 2)",
    ),
    (
        lambda: simulation(fields={"x": X, "m": M, "q": M}),
        "fields/q: is read by nothing, got 5 values; rename it",
    ),
    (
        lambda: simulation(fields={"x": X, "mass": M}),
        "no field named 'm' (there are: mass, v, x); rename 'mass' to 'm'",
    ),
    (lambda: simulation(fields={"x": X * 1j, "m": M}), "needs an array of real numbers, got complex128"),
    (lambda: simulation(fields={"x": "abc", "m": M}), "needs an array of real numbers, got"),
    (lambda: simulation(units="metric"), "needs 'si', 'dimensionless' or 'molecular', not 'metric'"),
    (lambda: simulation(bodies={"a": [9]}), "bodies/a: needs numbers of nodes from 0 to 4, got 9"),
    (lambda: simulation(holds=[{"body": "left"}]), "hold.0: no body named 'left'"),
    (
        lambda: simulation(observe=[mg.observer("energy")]),
        "no observer named 'energy'; did you mean 'energies'?",
    ),
    (lambda: simulation(box=3.0), "box: needs an edge for each axis, got 3.0; write box=[3.0, 3.0, 3.0]"),
    (lambda: simulation(grids={"line": 5}), "grids: 'line': needs Grid((n,), 1.0, ('phi',)), got an int"),
    (lambda: of_spring([[0.0, 1.0]]), "needs whole numbers of nodes, shape (elements, nodes), got float64"),
    (lambda: of_spring([[0, 9]]), "spring.tuples: row 0 = [0, 9] names a node outside 0..4"),
    (lambda: mg.LeapFrog, "has no attribute 'LeapFrog'; did you mean 'Leapfrog'?"),
    (lambda: mg.run("nothing.toml"), "nothing.toml: cannot be read: No such file or directory"),
    (lambda: mg.load(3), "needs the path of a file, a text or a dictionary, got a int"),  # type: ignore[arg-type]
    (lambda: mg.build("magnets.toml", "stepper.dt=0.1"), "overrides: needs a dictionary, or a list of texts"),
    (lambda: mg.open("runs/nothing"), "runs/nothing: no such folder; runs here: runs/"),
    (lambda: mg.open("runs/magnets")["positon"], "no series named 'positon'; did you mean 'position'?"),
    (lambda: mg.open("runs/magnets").simulation, "was opened to be read, which builds no simulation"),
]


@pytest.mark.parametrize(("mistake", "said"), _rows(ARGUMENTS, [17, 23, 31]))
def test_mistakes_in_python(mistake: Callable[[], Any], said: str) -> None:
    with pytest.raises((MinusgradError, AttributeError)) as caught:
        mistake()
    assert said in str(caught.value)
    assert "no section of a scene" not in str(caught.value)


STEPPED: list[tuple[Callable[[Any], Any], str]] = [
    (lambda sim: sim.step(1.5), "step: needs a whole number of steps of at least 0, got 1.5"),
    (lambda sim: sim.step(-1), "step: needs a whole number of steps of at least 0, got -1"),
    (lambda sim: sim.run(), "run: needs a number of steps, got none; write sim.run(steps=1000)"),
    (lambda sim: sim.fields["x"].values.__setitem__(0, 1), "write fields['x'].set(copy)"),
    (lambda sim: sim.fields["x"].set(X[:3]), "field 'x': needs shape (5, 3), got (3, 3)"),
    (lambda sim: sim.fields["X"], "no field named 'X'; did you mean 'x'?"),
    (lambda sim: setattr(sim, "dt", "fast"), "dt: 'fast' is not a quantity; write a number and a unit"),
    (lambda sim: sim.potential.set_parameter("gravity.g", 2.0), "no parameter named 'g'; did you mean 'G'?"),
    (
        lambda sim: sim.potential.set_parameter("gravty.G", 2.0),
        "no term named 'gravty'; did you mean 'gravity'?",
    ),
    (lambda sim: sim.every(0), "every: needs a whole number of steps above 0, got 0; write every(10)"),
    (lambda sim: sim.fit(), "fit: needs the names of what is sought, got none; write sim.fit(parameters="),
]


def test_mistakes_with_a_simulation() -> None:
    sim = simulation()
    for mistake, said in STEPPED:
        with pytest.raises(MinusgradError) as caught:
            mistake(sim)
        assert said in str(caught.value)


# Energies of one's own ----------------------------------------------------------------------------------

BODIES = [
    ("return k * np.sin(x[0][0])", "np.sin: cannot take a value of the kernel; write ti.sin"),
    ("k * x[0].norm_sqr()", "must return one real number, got None; return the energy of one element"),
    ("return k * x[0]", "must return one real number, got a tensor"),
    ("return k * x.norm_sqr()", "x: is the list of the element's nodes, got no index; write x[0]"),
    ("return kk * x[0].norm_sqr()", "'kk': is not defined; did you mean 'k'?"),
    ("print(x); return k * x[0].norm_sqr()", "print: shows nothing in a derived kernel"),
    ("s = 0.0\n    while s < k: s += x[0].norm()\n    return s", "`while`: runs an unknown number of times"),
]
HEAD = """import numpy as np
from minusgrad import Node, Parameter, local_energy, ti

@local_energy("e", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m"))
def e(x, k):
    """


@pytest.mark.parametrize(("body", "said"), BODIES)
def test_mistakes_in_an_energy(body: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(f"{HEAD}{body}\n")
    spec = importlib.util.spec_from_file_location("mine", tmp_path / "mine.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(MinusgradError) as caught:
        simulation(energies=[module.e(k=1.0)]).step(1)
    assert said in str(caught.value)
    assert "mine.py:" in str(caught.value)


def test_there_are_as_many_as_in_the_trial() -> None:
    assert len([*VERBS, *OVERRIDES, *SCENES, *ARGUMENTS, *STEPPED, *BODIES]) >= 94
