"""Every command that a page, a script or a help text shows runs in a process of its own, in a clean folder.

`test_readme.py` runs the fenced blocks. This module collects the commands in the text around them, in the
docstrings of scripts and in `--help`, so that a new one must get a row here.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from minusgrad.app.runs import run
from minusgrad.app.verbs import VERBS, plugin_verbs
from minusgrad.engine import runtime
from tests.support.command import SCENES
from tests.support.pages import BLOCK, ROOT, blocks, documents, guides
from tests.support.tiers import sampled

TEXTS = [
    *("README.md", "CONTRIBUTING.md", "benchmarks/README.md", "scenes/torch/README.md", "tests/README.md"),
    *documents(),
    *guides(),
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "scenes").rglob("*.py")),
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "scenes").glob("*.toml")),
]
PROGRAMS = "minusgrad|python|pip|make|git"
SHOWN = re.compile(
    rf"^(?:    )((?:{PROGRAMS}) [^\n]*?)(?: {{2,}}[^\n]*| +#[^\n]*)?$"  # an indented line, its remark aside
    rf"|`((?:\.venv/bin/)?(?:{PROGRAMS}) [^`\n]*)`"  # in a sentence
    r"|^(python [^\n]*)$"  # the usage of a script
    r"|(python \w+\.py)\b",
    re.MULTILINE,
)
EXAMPLES = {
    **{"SCENE.toml": "two_body.toml", "SCENE": "two_body.toml", "FILE.py": "halo.py", "NAME": "halo"},
    **{"ENERGY": "spring", "PLUGIN": "gravity", "DIR": "runs/two_body", "RUN": "runs/two_body"},
    **{
        "A": "runs/two_body",
        "B": "runs/two_body",
        "FILE.obj": "pyramid.obj",
        "SERIES": "total",
        "SWEEP.toml": "softening.toml",
        "VERB": "run",
    },
}
"""What stands for the words in capitals."""
MEANT = {
    "laser DRAWING --layers TABLE": "laser scenes/data/comb.svg --layers list",
    "laser IMAGE --machine PROFILE": (
        'laser scenes/data/disc.png --machine grbl_diode --width "2.56 mm" --steps 2 --force'
    ),
    "check NAME --report --out FILE.md|FILE.json --scene SCENE.toml": "check laser --report --out laser.md",
    "check NAME --report": "check laser --report",
    "check NAME --plugin": "check halo --plugin",
    "check NAME": "check spring",
    "check FILE.py": "check kernels.py",
    "kinds NAME": "kinds network",
    "fit SCENE": "fit swing.toml",
    "scenes DIR": "scenes scenes",
    "run NAME": "run two_body run.steps=5",
    "init tutorial | NAME": "init tutorial --out begun",
}

SCRIPTS = sorted(path.relative_to(SCENES).as_posix() for path in SCENES.rglob("*.py"))
INSTALLS = "it installs"
MEASURES = "it measures for minutes; tests/app/test_bench.py"
SUITE = "it runs this suite"
ELSEWHERE = {
    "git clone <this repository> && cd minusgrad": INSTALLS,
    "make demo": INSTALLS,
    'pip install "minusgrad[plot]"': INSTALLS,
    "minusgrad demo": "tests/project/test_stranger.py",
    "make test": SUITE,
    "make long": SUITE,
    "make unit": SUITE,
    "make quick": "the name of before",
    "make lint": SUITE,
    "make bench": MEASURES,
    "make clean": "it deletes",
    "make docs": "tests/project/test_site.py",
    "minusgrad resume runs/slow": "of the tutorial, whose run has ended; tests/project/test_guides.py",
    "minusgrad export runs/orbit total drift": "of a run of the page; tests/project/test_guides.py",
    'pip install "minusgrad[quadrants]"': INSTALLS,
    'pip install "minusgrad[torch]"': INSTALLS,
    'pip install "minusgrad[laser]"': INSTALLS,
    'pip install "minusgrad[ase]"': INSTALLS,
    'pip install "minusgrad[openmm]"': INSTALLS,
    'pip install --editable ".[bench]"': INSTALLS,
    "minusgrad bench [WORK ...]": MEASURES,
    'minusgrad bench "neo_hookean[gradient" --columns C --columns minusgrad': MEASURES,
    "minusgrad bench --quick": MEASURES,
    "minusgrad bench torch_call": MEASURES,
    "minusgrad bench energies": MEASURES,
    "minusgrad bench": MEASURES,
    "minusgrad validate --only elasticity topology laser": "its rows are run by tests/published/test_rows.py",
    "python -m benchmarks.laser_optimum RUN": MEASURES,
    "python -m benchmarks.laser_engraving": MEASURES,
    "python -m benchmarks.far_pairs_errors": MEASURES,
    "minusgrad run scenes/yukawa_cluster.toml --plugin scenes/yukawa_cluster.py": (
        "it computes for a minute; tests/exams/test_yukawa_cluster.py"
    ),
    "python -m benchmarks.mosaic.gradient_error": "tests/exams/test_mosaic.py",
    "minusgrad buckling RUN": "it needs a body under load; tests/app/test_buckling.py",
    "minusgrad VERB ...": "the form of all",
    "minusgrad completion fish | source": "a line of fish; tests/app/test_completion.py",
    "minusgrad sweep scenes/uncertain_beam.toml scenes/sweeps/uncertain_beam.toml": (
        "it runs 1,280 points; tests/sweeps/test_uncertain_beam.py"
    ),
    'pip install "minusgrad[sweep]"': INSTALLS,
    'pip install "minusgrad[sensitivity]"': INSTALLS,
    "minusgrad sweep ... --point 3": "a piece of a line; tests/sweeps/test_slurm.py",
    "python -m minusgrad VERB ...": "the form of all",
    ".venv/bin/python -m pytest tests/steppers/test_integrator.py -k kepler": SUITE,
    ".venv/bin/python -m pytest tests/plugins/gravity/test_equilibrium.py -k 100_000": SUITE,
}
"""Commands that are not run here, with the reason."""


def commands() -> list[str]:
    """All commands that are shown, each once, in the order of the pages."""
    found: dict[str, None] = {}
    for name in TEXTS:
        for groups in SHOWN.findall(BLOCK.sub("", (ROOT / name).read_text())):
            found[next(filter(None, groups)).strip()] = None
    return list(found)


def variants(command: str) -> list[str]:
    """The ways in which a command may be meant: with and without `[...]`, one of `A | B | C`."""
    if command.startswith(("python scenes/torch/butterfly.py", "python scenes/torch/water.py")):
        return [f"{command.partition(' [')[0]} --iterations 2 --out drawn"]
    head, _, choices = command.partition("check ")
    if " | " in choices:
        return [f"{head}check {one}" for one in choices.split(" | ")]
    given = re.sub(r"\[(.*?)(?: \.\.\.)?\]", r"\1", command)
    return list(dict.fromkeys([re.sub(r"\s*\[.*?\]", "", command), given]))


def words(command: str) -> list[str]:
    """The words to run, with an example for every word in capitals."""
    if command in NAMED and command not in ALONE:
        command = f"{command} --help"
    key = "fit.iterations=50" if " fit " in command else "run.steps=5"
    text = command.replace("key.sub=value", key)
    for ambiguous, meant in MEANT.items():
        text = text.replace(ambiguous, meant)
    program, *rest = (EXAMPLES.get(word, word) for word in shlex.split(text))
    return [sys.executable if program == "python" else program, *rest]


NAMED = {f"minusgrad {verb}" for verb in (*VERBS, *plugin_verbs.installed())}
"""Sentences about a verb, which name it alone."""
ALONE = ("minusgrad energies", "minusgrad plugins", "minusgrad schema", "minusgrad scenes")
ROWS = [one for command in commands() if command not in ELSEWHERE for one in variants(command)]
"""Every command to run."""
KEPT = [
    *("minusgrad VERB --help", "minusgrad energies", "minusgrad scenes", "minusgrad info DIR"),
    *("minusgrad compare A B", "minusgrad check ENERGY"),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a reader has it: the shipped scenes, the files that the pages show, and two runs."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "scenes").symlink_to(ROOT / "scenes")
    for name in ("two_body.toml", "torch/pyramid.obj", "data/silhouette.py", "data/heart.py"):
        (folder / Path(name).name).write_bytes((SCENES / name).read_bytes())
    for page in ("README.md", *documents()):
        for _, name, text in blocks(page):
            if "." in name:
                (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def runs(home: Path) -> Path:
    for name, steps, plugins in (("two_body", 20, []), ("stars", 10, [home / "halo.py"])):
        run(home / f"{name}.toml", {"run.steps": steps}, home / "runs" / name, plugins)
    return home


def ended(command: list[str], folder: Path, **env: str) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path, **env}, capture_output=True, text=True
    )
    assert done.returncode == (1 if "kernels.py" in command else 0), done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.mark.unit
def test_every_command_has_a_row() -> None:
    unknown = set(ELSEWHERE) - set(commands())
    assert not unknown, f"no page shows {unknown}"
    assert len(ROWS) > 25


@pytest.mark.parametrize("command", sampled(dict.fromkeys(ROWS), KEPT))
def test_a_command_runs_in_a_process_of_its_own(command: str, runs: Path) -> None:
    ended(words(command), runs)


@pytest.mark.parametrize(
    "row",
    sampled(
        [f"{engine} {script}" for engine in runtime.PREFIXES for script in SCRIPTS],
        ["quadrants torch/mesh.py"],
    ),
)
def test_every_script_runs_on_both_engines(row: str, home: Path) -> None:
    engine, script = row.split()
    more = ["--iterations", "2"] if script in ("torch/butterfly.py", "torch/water.py") else []
    name = "silhouette.py" if "silhouette" in script else f"scenes/{script}"
    ended([sys.executable, name, *more], home, **{runtime.VARIABLE: engine})


@pytest.mark.unit
@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_every_verb(verb: str, invoke) -> None:
    code, out, err = invoke(verb, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: minusgrad {verb} ")
