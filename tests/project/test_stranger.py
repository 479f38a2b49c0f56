"""A stranger: a distribution of its own, installed by pip beside a wheel of ours, in a fresh environment.

`stranger/` is a net of springs with its own energy, state and scene. Nothing here sees the repository: both
are built from a copy of it, the copy is thrown away, and every command runs in another folder.
"""

import json
import re
import shutil
import signal
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import h5py
import numpy as np
import pytest

from tests.project import test_packages
from tests.support.command import files, last_saved, wait_until_saved
from tests.support.desk import Desk, Done, ended, new_desk

pytestmark = pytest.mark.exam

ROOT = Path(__file__).parents[2]
STRANGER = Path("tests/stranger")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Both wheels built from a copy of the sources, installed into a fresh environment; and the scene."""
    desk = new_desk(tmp_path_factory.mktemp("stranger"), STRANGER)
    shutil.copy(ROOT / STRANGER / "scenes/tube.toml", desk.folder)
    desk.install("minusgrad")
    desk.install("springnet")
    yield desk
    shutil.rmtree(desk.environment)  # hundreds of megabytes


@pytest.fixture(scope="module")
def whole(desk: Desk) -> Path:
    """The folder of the scene's run, as the stranger wrote it."""
    done = desk.minusgrad("run", "tube.toml", "--out", "whole")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("whole: 20000 steps, t = 20 s\n")
    return desk.folder / "whole"


@pytest.fixture(scope="module")
def cut(desk: Desk) -> Path:
    """The same, stopped by a signal on its way."""
    child = desk.start("minusgrad", "run", "tube.toml", "--out", "cut")
    wait_until_saved(desk.folder / "cut", 1000, child)
    child.send_signal(signal.SIGTERM)
    done = ended(child, timeout=60)
    assert (done.returncode, done.stdout) == (4, ""), done.stderr
    step = last_saved(desk.folder / "cut")
    assert 1000 <= step < 20000
    again = "continue with: minusgrad resume cut"
    assert done.stderr == f"minusgrad: interrupted and saved at step {step} of 20000; {again}\n"
    return desk.folder / "cut"


# Installed ------------------------------------------------------------------------------------------


WHERE = """
    import json
    from importlib.metadata import packages_distributions
    from importlib.util import find_spec

    names = [n for n, owners in packages_distributions().items() if {"minusgrad", "springnet"} & {*owners}]
    unpacked = [n for n in ("framework", "plugins", "tests") if find_spec(n) is not None]
    print(json.dumps([{n: find_spec(n).origin for n in names}, unpacked]))
    """


def test_only_packages_are_installed_with_their_data_and_they_lie_in_the_environment(desk: Desk) -> None:
    origins, unpacked = json.loads(desk.python("-c", dedent(WHERE)))
    (site,) = desk.environment.glob("lib/python3.*/site-packages")
    ours = {p.parent.name for p in ROOT.glob("*/minusgrad*/__init__.py")}
    assert origins == {name: str(site / name / "__init__.py") for name in ours | {"springnet"}}
    assert unpacked == []
    names = "from minusgrad_gravity.planets.solar_system import table; print(*table())"
    assert desk.python("-c", names).startswith("sun mercury venus earth moon")


def test_what_it_registers_is_listed(desk: Desk) -> None:
    """By `plugins`, by `energies`, and in the schema with the keys of its blocks."""
    done = desk.minusgrad("plugins", "--json")
    row = {"name": "springnet", "distribution": "springnet", "version": "0.3.0", "module": "springnet"}
    assert (done.returncode, done.stderr) == (0, "")
    assert row in json.loads(done.stdout)
    done = desk.minusgrad("energies", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    (strut,) = (e for e in json.loads(done.stdout) if e["plugin"] == "springnet")
    arguments = {a["name"]: (a["role"], a["unit"]) for a in strut["arguments"]}
    assert arguments == {"x": ("node", "m"), "rest": ("datum", "m"), "k": ("parameter", "N/m")}
    assert (strut["name"], strut["over"]) == ("strut", 2)
    assert strut["claim"] == "A spring that pulls and pushes: U = k (|x_0 - x_1| - rest)^2 / 2."
    done = desk.minusgrad("schema")
    assert (done.returncode, done.stderr) == (0, "")
    known = json.loads(done.stdout)["$defs"]
    tube, block = known["state_tube"], known["energy_strut"]
    assert {*tube["required"]} == {"kind", "around", "rings", "edge", "mass"}
    assert tube["properties"]["edge"] == {"$ref": "#/$defs/m_positive"}
    assert known["m_positive"]["anyOf"] == [
        {"type": "number", "exclusiveMinimum": 0},
        {"type": "string"},
    ]
    assert {*block["required"]} == {"kind", "k"}
    assert {"tuples", "body", "rest"} < {*block["properties"]}


def test_it_brings_a_command(desk: Desk) -> None:
    done = desk.minusgrad("count-masses", "24", "--rings", "16")
    assert (done.returncode, done.stdout, done.stderr) == (0, "384\n", "")
    done = desk.minusgrad("count-masses", "2")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "minusgrad: a ring has 3 masses at least, got 2; give more\n"
    assert "count-masses Count the masses of a tube" in " ".join(desk.minusgrad("--help").stdout.split())


# A wheel is enough ----------------------------------------------------------------------------------


def test_the_scenes_are_installed_with_their_data_and_without_pictures(desk: Desk) -> None:
    done = desk.minusgrad("scenes", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    rows = {row["scene"]: row for row in json.loads(done.stdout)}
    assert [*rows] == sorted(path.stem for path in (ROOT / "scenes").glob("*.toml"))
    assert all(row["title"] and row["pictures"] for row in rows.values())
    share = desk.environment / "share" / "minusgrad" / "scenes"
    kept = {p.relative_to(ROOT / "scenes") for p in (ROOT / "scenes").rglob("*") if p.is_file()}
    kept = {p for p in kept if p.parts[0] != "torch" and p.suffix != ".pyc"}
    kept = {p for p in kept if p.parts[0] != "pictures" or p.suffix == ".csv"}
    assert {p.relative_to(share) for p in share.rglob("*") if p.is_file()} == kept
    assert f"{share / 'README.md'} describes them" in desk.minusgrad("scenes").stdout
    first = share.parent / "docs" / "index.md"
    assert f"documentation: {first} exit codes: " in " ".join(desk.minusgrad("--help").stdout.split())
    assert {p.name for p in (ROOT / "docs").glob("*.md")} == {p.name for p in first.parent.glob("*.md")}


def test_a_scene_with_data_runs_by_its_name(desk: Desk) -> None:
    done = desk.minusgrad("run", "outer_solar_system", "run.steps=10")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("runs/outer_solar_system: 10 steps, t = 50 day\n")


def test_published_numbers_are_computed_again(desk: Desk) -> None:
    """With rows of a scene's data, of two plugins, and of files that are not there."""
    rows = ("outer Solar System, IAS15", "LJ38 minimum", "NIST SPC/E water")
    done = desk.minusgrad("validate", "--only", *rows)
    assert (done.returncode, done.stdout.splitlines()[-1].partition(": ")[2]) == (
        0,
        "2 pass, 0 fail, 1 not computed",
    )


def test_the_tutorial_starts_from_files_that_init_writes(desk: Desk) -> None:
    assert desk.minusgrad("init", "tutorial", "--out", "learn").returncode == 0
    assert desk.minusgrad("init", "tutorial", "--out", "learn").returncode == 2
    plugin, scene = "learn/magnets.py", "learn/magnets.toml"
    done = desk.minusgrad("run", scene, "run.steps=20", "--plugin", plugin, "--out", "learned")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.long
def test_demo_runs_and_draws(desk: Desk) -> None:
    desk.python("-m", "pip", "install", "--no-compile", "matplotlib>=3.9")
    done = ended(desk.start("minusgrad", "demo"), timeout=500)
    assert (done.returncode, done.stderr) == (0, "")
    drawn = {p.parent.parent.name: p for p in (desk.folder / "runs/demo").glob("*/pictures/*.png")}
    assert {*drawn} == {"two_body", "outer_solar_system", "stretch", "laser_butterfly"}


# What its scene claims ------------------------------------------------------------------------------

AROUND, RINGS, EDGE, MASS, WIDENED, SHIFTED, MODE = 24, 16, 0.01, 0.002, 0.004, 0.01, 2
DT = 0.001


def frequency(k: float, half: float) -> float:
    """Omega under leapfrog of omega^2 = 4 (k/m) sin^2(half), half the phase from one mass to the next.

    Of a chain: Ashcroft & Mermin 1976, chapter 22; one with free ends carries cos(p pi (j + 1/2) / N), half
    a step of p pi / 2 N. Of a ring that breathes: its hoops are 2 r sin(half) long, and each of a mass's two
    pulls with the share sin(half) of its tension along the radius.
    """
    omega2 = 4.0 * k / MASS * np.sin(half) ** 2
    return float(np.arccos(1.0 - 0.5 * omega2 * DT * DT) / DT)


def breath(t: np.ndarray) -> np.ndarray:
    return np.cos(frequency(3.0, np.pi / AROUND) * t)


def wave(t: np.ndarray) -> np.ndarray:
    return np.cos(frequency(5.0, 0.5 * MODE * np.pi / RINGS) * t)


def recorded(run: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Times and values, as any program reads them."""
    with h5py.File(run / "trajectory.h5") as file:
        return file[name]["time"][:], file[name]["value"][:]


def test_the_tube_breathes_and_stretches_as_on_paper(whole: Path) -> None:
    """The hoops hold the breath's energy and the rods the wave's: U = sum k stretch^2 / 2."""
    t, x = recorded(whole, "particles/all/position")
    j, i = np.divmod(np.arange(AROUND * RINGS), AROUND)
    angle, along = 2.0 * np.pi * i / AROUND, np.cos(MODE * np.pi * (j + 0.5) / RINGS)
    radius = EDGE / (2.0 * np.sin(np.pi / AROUND)) * (1.0 + WIDENED * breath(t)[:, None])
    z = EDGE * (j + SHIFTED * along * wave(t)[:, None])
    exact = np.stack([radius * np.cos(angle), radius * np.sin(angle), z], axis=2)
    assert t[-1] == pytest.approx(20.0)
    assert t[-1] * frequency(3.0, np.pi / AROUND) / (2.0 * np.pi) > 32.0
    assert np.abs(x - exact).max() < 1e-10 * EDGE
    widened = EDGE * WIDENED * np.ones(RINGS * AROUND)
    shifted = EDGE * SHIFTED * np.diff(np.cos(MODE * np.pi * (np.arange(RINGS) + 0.5) / RINGS))
    t, hoops = recorded(whole, "observables/potential/hoops")
    t, rods = recorded(whole, "observables/potential/rods")
    assert np.abs(hoops / (1.5 * (widened**2).sum()) - breath(t) ** 2).max() < 1e-8
    assert np.abs(rods / (AROUND * 2.5 * (shifted**2).sum()) - wave(t) ** 2).max() < 1e-8


# Interrupted, checked -------------------------------------------------------------------------------


def test_resumed_it_ends_as_if_never_interrupted(desk: Desk, whole: Path, cut: Path) -> None:
    half = shutil.copytree(cut, desk.folder / "half")
    assert files(half) != files(whole)
    done = desk.minusgrad("resume", "half")
    assert (done.returncode, done.stderr) == (0, "")
    assert files(half) == files(whole)


def test_its_gradients_are_true(desk: Desk) -> None:
    done = desk.minusgrad("check", "tube.toml", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    asked = {(f["term"], f["argument"], f["question"]) for f in json.loads(done.stdout)}
    questions = {(a, q) for a in ("x", "rest", "k") for q in ("taylor", "path", "product")}
    questions |= {("", "value"), ("x", "kink"), ("x", "rotation"), ("x", "translation")}
    assert asked == {(term, *question) for term in ("hoops", "rods") for question in questions}


ROUNDED = """
    from minusgrad import Datum, Node, Parameter, local_energy, ti

    @local_energy("rounded", over=2, x=Node("m", ("d",)), rest=Datum("m"), k=Parameter("N/m"))
    def rounded(x, rest, k):
        '''A strut that is measured in whole hundredths of a millimetre.'''
        stretch = ti.floor(1e5 * (x[0] - x[1]).norm()) / 1e5 - rest
        return 0.5 * k * stretch * stretch
    """


def test_a_variant_that_is_not_true_is_found(desk: Desk) -> None:
    (desk.folder / "rounded.py").write_text(dedent(ROUNDED))
    override = 'energy=[{kind="rounded", tuples="hoops", body="top", k=3.0}]'
    done = desk.minusgrad("check", "tube.toml", override, "--plugin", "rounded.py")
    assert (done.returncode, done.stderr) == (1, "")
    wrong = [line.split()[:3] for line in done.stdout.splitlines() if "WRONG" in line]
    assert ["rounded", "x", "path"] in wrong


# Gone -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gone:
    """What was said while the stranger was uninstalled, and of the cut run once it was there again."""

    plugins: Done
    run: Done
    resume: Done
    untouched: bool
    again: Done


@pytest.fixture(scope="module")
def gone(desk: Desk, cut: Path) -> Gone:
    """Uninstalled, asked, and installed again, so that no test depends on another's place."""
    before = files(cut)
    desk.python("-m", "pip", "uninstall", "--yes", "springnet")
    listed = desk.minusgrad("plugins", "--json")
    run, resumed = desk.minusgrad("run", "tube.toml", "--out", "never"), desk.minusgrad("resume", "cut")
    untouched = files(cut) == before
    desk.install("springnet")
    return Gone(listed, run, resumed, untouched, desk.minusgrad("resume", "cut"))


def test_uninstalled_it_is_named_where_it_is_missed_and_nothing_is_lost(
    desk: Desk, gone: Gone, whole: Path, cut: Path
) -> None:
    """In its scene with the place, and of its run, which goes on to the same end once it is there again."""
    assert (gone.plugins.returncode, gone.plugins.stderr) == (0, "")
    named = {(p["name"], p["distribution"]) for p in json.loads(gone.plugins.stdout)}
    assert {("core", "minusgrad"), ("gravity", "minusgrad")} <= named
    assert {distribution for _, distribution in named} == {"minusgrad"}
    assert (gone.run.returncode, gone.run.stdout) == (2, "")
    installed = ", ".join(plugin["name"] for plugin in json.loads(gone.plugins.stdout))
    assert (
        gone.run.stderr
        == f"tube.toml:6:12: plugins.0: no plugin named 'springnet' (installed: {installed})\n"
    )
    assert not (desk.folder / "never").exists()
    assert (gone.resume.returncode, gone.resume.stdout) == (2, "")
    assert gone.resume.stderr == (
        "minusgrad: cut: was run with plugin 'springnet' (springnet 0.3.0), which is not installed: "
        "pip install springnet==0.3.0\n"
    )
    assert gone.untouched
    assert (gone.again.returncode, gone.again.stderr) == (0, "")
    assert files(cut) == files(whole)


# By the same rules as ours --------------------------------------------------------------------------


def test_it_sees_the_public_surface_only() -> None:
    test_packages.test_plugins_import_from_the_public_doors_only(ROOT / STRANGER / "springnet")


def test_it_names_in_its_metadata_all_that_it_imports() -> None:
    sources = test_packages.sources(ROOT / STRANGER / "springnet").values()
    modules = [module for source in sources for _, module, _ in test_packages.imports(source)]
    imported = {module.split(".")[0] for module in modules if not module.startswith(".")}
    project = tomllib.loads((ROOT / STRANGER / "pyproject.toml").read_text())["project"]
    declared = {re.split(r"[^\w-]", requirement)[0] for requirement in project["dependencies"]}
    assert imported - sys.stdlib_module_names == declared
