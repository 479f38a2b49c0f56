"""The command line: every verb, every exit code, and a clear line for every mistake, never a traceback."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from minusgrad.app.jobs import job_runs
from minusgrad.assembly.registry import Registry
from minusgrad.engine import devices, memory
from minusgrad.engine.runtime import is_there
from minusgrad.files import checkpoint, trajectory
from minusgrad.scene.document import load
from tests.support.command import MINUSGRAD, SCENES, complaints, files, minusgrad, own_files

TWO_BODY = SCENES / "two_body.toml"
SHORT = "run.steps=20"

WRONG = '''
from minusgrad import Node, Parameter, local_energy, ti

@local_energy("pixel", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m"))
def pixel(x, k):
    """A trap whose coordinate is cast to an integer on the way."""
    p = ti.cast(3.0 * x[0][0], ti.i32)
    return k * p * p + x[0].norm_sqr()
'''


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def complaint(invoke: Callable, *arguments: object) -> str:
    """What a mistake of the user's is answered with."""
    code, out, err = invoke(*arguments)
    assert (code, out) == (2, ""), err
    return err.rstrip("\n")


# Exit codes, in processes of their own --------------------------------------------------------------


def test_0_done(here: Path) -> None:
    done = minusgrad("run", TWO_BODY, SHORT)
    assert (done.returncode, done.stderr) == (0, "")
    drift, pictures = r"  energy drift: \S+\n", r"  pictures: minusgrad plot runs/two_body\n"
    assert re.fullmatch(rf"runs/two_body: 20 steps, t = 0.1\n{drift}{pictures}", done.stdout)


def test_a_run_that_lost_its_energy_says_so(here: Path) -> None:
    done = minusgrad("run", TWO_BODY, SHORT, "stepper.dt=2.0")
    assert (done.returncode, done.stdout) == (5, "")
    first, second, _ = complaints(done.stderr).splitlines()
    says = r"the run has diverged: the total energy is off by \d+% of the largest energy in the run"
    assert re.fullmatch(rf"minusgrad: step \d+: {says}", first)
    assert second == "minusgrad: resuming cannot cure this; start a new run with a smaller dt"


def test_1_findings(here: Path) -> None:
    (here / "pixel.py").write_text(WRONG)
    done = minusgrad("check", "pixel", "--plugin", "pixel.py")
    assert done.returncode == 1
    assert "pixel.x: path: U changes by" in done.stdout
    assert "a value is cast, cut off or frozen on the way" in done.stdout
    assert re.search(r"pixel +x +path +f64 +\S+ +WRONG", done.stdout)
    assert re.search(r"\d+ questions, [1-9]\d* findings", done.stdout)
    assert "pixel.k: " not in done.stdout


def test_2_your_mistake() -> None:
    done = minusgrad("run", "nowhere.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "nowhere.toml: cannot be read: No such file or directory\n"


def test_5_the_run_diverged(here: Path) -> None:
    """A quartic well without a bottom: -|x|^4 sends everything to infinity in finite time."""
    (here / "hill.py").write_text(WRONG.replace("p * p + x[0].norm_sqr()", "-x[0].norm_sqr() ** 2"))
    arguments = (
        "energy.0={kind='pixel', k=1.0}",
        "checkpoint.every=5",
        "--plugin",
        "hill.py",
        "--out",
        "run",
    )
    done = minusgrad("run", TWO_BODY, *arguments)
    assert done.returncode == 5
    first, cure, second = complaints(done.stderr).splitlines()
    assert cure == "minusgrad: resuming cannot cure this; start a new run with a smaller dt"
    assert re.fullmatch(r"minusgrad: step \d+: .*(overflowed|not finite).*", first)
    step = int(first.split()[2].rstrip(":"))
    saved = checkpoint.step_of(checkpoint.list_checkpoints(here / "run/ckpt")[-1])
    assert saved == (step - 1) // 5 * 5 > 0
    assert second == f"minusgrad: run: the data saved up to step {saved} is intact"
    again = minusgrad("resume", "run", "--plugin", "hill.py")
    reason = first.removeprefix("minusgrad: ")
    assert again.returncode == 5
    assert again.stderr == f"minusgrad: run: has diverged ({reason}); {cure.removeprefix('minusgrad: ')}\n"
    assert trajectory.series(here / "run", "observables/total").step[-1] <= saved


IMPATIENT = """
import contextlib, os, signal, sys
from minusgrad.app import cli, progress

@contextlib.contextmanager
def stop(first, last):
    yield lambda step: os.kill(os.getpid(), signal.SIGTERM)

progress.progress = stop
sys.exit(cli.main(sys.argv[1:]))
"""


def test_4_interrupted() -> None:
    """By a signal after the first batch; test_resume.py has signals from outside, and goes on from there."""
    call = [sys.executable, "-c", IMPATIENT, "run", TWO_BODY, "--out", "run"]
    done = subprocess.run(call, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (4, "")
    assert "minusgrad: dt = 0.005 is 0.4 % of the stability limit, 1.17\n" in done.stderr
    assert complaints(done.stderr) == (
        "minusgrad: interrupted and saved at step 1 of 1000; continue with: minusgrad resume run\n"
    )


def test_130_stopped_before_there_was_anything_to_save(invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Registry, "load", stop)
    assert invoke("run", TWO_BODY) == (130, "", "minusgrad: stopped; nothing was saved\n")


# Verbs ----------------------------------------------------------------------------------------------


def test_help_scenes_and_plugins_do_without_taichi(here: Path) -> None:
    code = (
        "import sys; from minusgrad.app.cli import main\ntry: main(sys.argv[1:])\nexcept SystemExit: pass\n"
    )
    code += "print(sorted({'taichi', 'numpy', 'h5py'} & set(sys.modules)))"
    for arguments in (["--help"], ["run", "--help"], ["scenes"], ["init"], ["plugins"], ["run"]):
        done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
        assert done.stdout.splitlines()[-1] == "[]", arguments


def test_help_names_every_verb_and_the_exit_codes(invoke) -> None:
    code, out, _ = invoke("--help")
    assert code == 0
    verbs = ("run", "resume", "check", "plot", "scenes", "energies", "plugins", "schema")
    assert all(re.search(rf"^ +{verb} +\w", out, re.MULTILINE) for verb in verbs)
    for text in (out, *(invoke(verb, "--help")[1] for verb in verbs)):
        joined = " ".join(text.split())
        assert "0 done, 1 findings, 2 your mistake, 3 the run failed, 4 interrupted and resumable" in joined
    assert re.fullmatch(r"minusgrad \d+\.\d+\.\d+\n", invoke("--version")[1])


def test_run_names_its_folders(invoke, here: Path) -> None:
    """`runs/NAME`, then `runs/NAME-2`; what was asked for is kept beside the scene."""
    for name in ("two_body", "two_body-2", "two_body-3"):
        code, out, err = invoke("run", TWO_BODY, SHORT, "runtime.seed=7")
        said = "" if name == "two_body" else f"minusgrad: runs/two_body exists; writing runs/{name}\n"
        assert (code, err) == (0, said)
        assert out.startswith(f"runs/{name}: 20 steps")
    assert files(here / "runs/two_body") == files(here / "runs/two_body-3")
    assert (here / "runs/two_body/scene.toml").read_bytes() == TWO_BODY.read_bytes()
    assert json.loads((here / "runs/two_body/overrides.json").read_text()) == [SHORT, "runtime.seed=7"]


def test_force_without_a_folder_writes_the_first_one_again(invoke, here: Path) -> None:
    for k in range(2):
        assert invoke("run", TWO_BODY, f"run.steps={5 + k}", "--force")[::2] == (0, "")
    assert os.listdir(here / "runs") == ["two_body"]
    assert json.loads((here / "runs/two_body/overrides.json").read_text()) == ["run.steps=6"]


def test_an_occupied_folder_is_refused_before_anything_is_built(invoke, here: Path, monkeypatch) -> None:
    """With `--out` and with `--force`, of runs and of fits."""
    monkeypatch.setattr(job_runs, "_built", lambda *_: pytest.fail("something was built"))
    for name in ("mine", "runs/two_body", "runs/swing_up-fit"):
        (here / name).mkdir(parents=True)
        (here / name / "letter").write_text("dear")
    for words in (["run", TWO_BODY, "--out", "mine"], ["run", TWO_BODY, "--force"]):
        assert "not empty, and not a run; use another --out" in complaint(invoke, *words)
    for words in (["--out", "mine"], ["--force"]):
        said = complaint(invoke, "fit", SCENES / "swing_up.toml", *words)
        assert "not empty, and not a run; use another --out" in said


def test_overrides_may_stand_anywhere(invoke, here: Path) -> None:
    invoke("run", TWO_BODY, "run.steps=5", "--out", "run", "stepper.dt=0.01", "--force", "runtime.seed=3")
    assert json.loads((here / "run/overrides.json").read_text()) == [
        "run.steps=5",
        "stepper.dt=0.01",
        "runtime.seed=3",
    ]
    code, _, err = invoke("plot", "run", "run.steps=5")
    assert code == 2
    assert err.endswith("unrecognized arguments: run.steps=5\n")


def test_run_with_units_says_them(invoke) -> None:
    _, out, _ = invoke("run", SCENES / "outer_solar_system.toml", "run.steps=10", "--out", "run")
    assert out.startswith("run: 10 steps, t = 50 day\n")


def test_resume_of_a_finished_run(invoke, here: Path) -> None:
    invoke("run", TWO_BODY, SHORT, "--out", "run")
    before = files(here / "run")
    code, out, err = invoke("resume", "run")
    assert code == 0
    assert err == (
        "minusgrad: run: is finished already, at step 20 of 20, and nothing is left to do; to go on from"
        " there, in a new folder: minusgrad run SCENE --from run\n"
    )
    assert out.startswith("run: 20 steps, t = 0.1\n")
    assert files(here / "run") == before
    longer = invoke("run", TWO_BODY, SHORT, "--from", "run", "--out", "longer", "initial.time=true")[1]
    assert longer.startswith("longer: 20 steps, t = 0.2\n")


def test_force_starts_anew_and_leaves_no_inputs_of_the_old(invoke, here: Path) -> None:
    invoke("run", SCENES / "outer_solar_system.toml", "run.steps=10", "--out", "run")
    assert (here / "run/inputs/data/outer_solar_system.csv").is_file()
    assert invoke("run", TWO_BODY, SHORT, "--out", "run", "--force")[0] == 0
    invoke("run", TWO_BODY, SHORT, "--out", "fresh")
    assert files(here / "run") == files(here / "fresh")


def test_check_of_a_scene_and_of_an_energy(invoke) -> None:
    code, out, err = invoke("check", "gravity")
    assert (code, err) == (0, "")
    assert re.search(r"gravity +x +taylor +f64 +order 2\.0\d +ok", out)
    said = re.search(
        r"\n(\d+) questions, 0 findings \((\d+) rows, each the worst answer in several states\)\n$", out
    )
    assert said is not None
    assert int(said[2]) == len(re.findall(r"^gravity .*ok *$", out, re.M)) < int(said[1])
    code, out, _ = invoke("check", TWO_BODY, "--json")
    findings = json.loads(out)
    assert code == 0
    asked = {"value", "taylor", "path", "product", "translation", "rotation", "permutation"}
    assert {f["question"] for f in findings} == asked
    assert all(f["passed"] is True for f in findings)
    assert {"gravity"} == {f["term"] for f in findings}


def test_check_in_json_says_what_is_wrong(invoke, here: Path) -> None:
    (here / "pixel.py").write_text(WRONG)
    code, out, _ = invoke("check", "pixel", "--plugin", "pixel.py", "--json")
    assert code == 1
    assert {(f["argument"], f["question"]) for f in json.loads(out) if not f["passed"]} >= {("x", "path")}


def test_plot(invoke, here: Path) -> None:
    invoke("run", TWO_BODY, SHORT, "--out", "run")
    code, out, err = invoke("plot", "run")
    assert (code, err) == (0, "")
    assert out.splitlines() == [f"run/pictures/{name}.png" for name in ("orbits", "energy", "observables")]
    assert all((here / path).read_bytes().startswith(b"\x89PNG") for path in out.splitlines())
    assert invoke("plot", "run", "--out", "elsewhere/deep")[1].startswith("elsewhere/deep/")


def test_scenes_open_with_their_claims(invoke) -> None:
    code, out, err = invoke("scenes", SCENES, "--json")
    assert (code, err) == (0, "")
    found = {Path(s["scene"]).stem: s["claim"] for s in json.loads(out)}
    assert found.keys() == {path.stem for path in SCENES.glob("*.toml")}
    assert found["two_body"].startswith("A Kepler orbit of eccentricity 0.3 and period 2 pi.")
    table = " ".join(invoke("scenes", SCENES)[1].split())
    assert "Two bodies, e = 0.3" in table


def test_energies(invoke) -> None:
    code, out, err = invoke("energies")
    assert (code, err) == (0, "")
    assert re.search(r"^gravity +gravity +pairs +x: node \[m\] +Newtonian attraction", out, re.MULTILINE)
    code, out, _ = invoke("energies", "--json")
    (gravity,) = (e for e in json.loads(out) if e["name"] == "gravity")
    assert gravity["plugin"] == "gravity"
    assert {a["name"]: (a["role"], a["unit"]) for a in gravity["arguments"]} == {
        "x": ("node", "m"),
        "m": ("node", "kg"),
        "G": ("parameter", "m^3 kg^-1 s^-2"),
        "softening": ("parameter", "m"),
    }


def test_plugins(invoke) -> None:
    code, out, err = invoke("plugins", "--json")
    assert (code, err) == (0, "")
    listed = {p["name"]: p for p in json.loads(out)}
    assert listed["gravity"]["module"] == "minusgrad_gravity"
    assert listed["core"]["distribution"] == "minusgrad"
    assert re.search(r"^gravity +minusgrad +\d\S+ +minusgrad_gravity", invoke("plugins")[1], re.MULTILINE)


def test_devices(invoke) -> None:
    code, out, err = invoke("devices", "--json")
    assert (code, err) == (0, "")
    rows = json.loads(out)
    assert [*dict.fromkeys(row["arch"] for row in rows)] == ["cpu", "cuda", "vulkan", "metal"]
    for row in rows:
        assert row["works"] == is_there(row["arch"])
        listed = devices.devices(row["arch"])
        if listed:
            assert (row["name"], row["memory"]) == (listed[row["device"]].name, listed[row["device"]].memory)
    assert rows[0]["memory"] > 1 << 28
    absent = [row["arch"] for row in rows if not row["works"]]
    shown = invoke("devices")[1]
    assert re.findall(r"^(\w+) +not on this machine", shown, re.MULTILINE) == absent


def resolved(schema: dict, node: dict) -> dict:
    while "$ref" in node:
        node = schema["$defs"][node["$ref"].rpartition("/")[2]]
    return node


def arms(schema: dict, node: dict) -> list[dict]:
    """The tables that a node of the schema allows, by any of its references and unions."""
    node = resolved(schema, node)
    inner = [arm for key in ("anyOf", "oneOf") for one in node.get(key, []) for arm in arms(schema, one)]
    return inner or ([node] if "properties" in node else [])


def alternatives(schema: dict, node: dict) -> Iterator[dict]:
    """A node of the schema and, level by level, what it may be."""
    node = resolved(schema, node)
    yield node
    for arm in (*node.get("anyOf", []), *node.get("oneOf", [])):
        yield from alternatives(schema, arm)


def unknown_keys(schema: dict, node: dict, value: Any, path: str = "") -> list[str]:
    """Keys of a scene that the schema does not know, each table judged by the arm of its kind."""
    node = resolved(schema, node)
    if isinstance(value, list):
        rows = next((one["items"] for one in alternatives(schema, node) if "items" in one), {})
        return [u for k, v in enumerate(value) for u in unknown_keys(schema, rows, v, f"{path}.{k}")]
    if not isinstance(value, dict):
        return []
    for one in alternatives(schema, node):  # tables by field or body
        if isinstance(of_any_name := one.get("additionalProperties"), dict):
            return [u for k, v in value.items() for u in unknown_keys(schema, of_any_name, v, f"{path}.{k}")]
    tables = arms(schema, node)
    kind = value.get("kind")
    fit = [t for t in tables if kind is None or t["properties"].get("kind", {}).get("const") == kind]
    if len(fit) != 1:
        return [f"{path}: {len(fit)} tables of kind {kind}"]
    assert fit[0]["additionalProperties"] is False
    known = fit[0]["properties"]
    missing = [f"{path}.{key} is missing" for key in fit[0].get("required", []) if key not in value]
    strange = [f"{path}.{key}" for key in value if key not in known]
    inside = [
        u for k, v in value.items() if k in known for u in unknown_keys(schema, known[k], v, f"{path}.{k}")
    ]
    return missing + strange + inside


@pytest.fixture(scope="module")
def printed_schema() -> str:
    """What `minusgrad schema` prints, with the files beside scenes."""
    own = [
        option for path in SCENES.glob("*.toml") for file in own_files(path) for option in ("--plugin", file)
    ]
    done = minusgrad("schema", *own)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("scene", sorted(SCENES.glob("*.toml")), ids=lambda p: p.stem)
def test_the_schema_knows_every_key_of_every_shipped_scene(scene: Path, printed_schema: str) -> None:
    schema = json.loads(printed_schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    data = load(scene).data
    assert unknown_keys(schema, schema, data) == []
    data["stepper"]["dtt"] = 1.0
    data.setdefault("energy", [{}])[0]["kind"] = "gravty"
    del data["run"]
    assert sorted(unknown_keys(schema, schema, data)) == [
        ".energy.0: 0 tables of kind gravty",
        ".run is missing",
        ".stepper.dtt",
    ]


def test_the_schema_offers_every_kind(invoke) -> None:
    schema = json.loads(invoke("schema")[1])
    for section, models in Registry.load().models().items():
        where = (
            schema["properties"]
            if section != "loss"
            else arms(schema, schema["properties"]["fit"])[0]["properties"]
        )
        node = resolved(schema, where[section])
        offered = {t["properties"]["kind"]["const"] for t in arms(schema, node.get("items", node))}
        assert offered == models.keys()


# Mistakes in a scene --------------------------------------------------------------------------------


def test_all_mistakes_are_told_at_once_in_skeleton_and_blocks(invoke, here: Path) -> None:
    text = (
        TWO_BODY.read_text().replace("steps = 1000", 'steps = "many"').replace("[checkpoint]", "[checkpont]")
    )
    text = text.replace('kind = "gravity"', 'kind = "gravty"').replace("dt = 0.005", "dtt = 0.005")
    text = text.replace("eccentricity = 0.3", "eccentricity = 1.5").replace("masses", "mases")
    (here / "bad.toml").write_text(text)
    assert complaint(invoke, "run", "bad.toml", "observe.0.every=0").splitlines() == [
        "bad.toml:12:1: state.mases: no key 'mases'; did you mean 'masses'? "
        "(keys: eccentricity, G, masses, semi_major_axis, sides)",
        "bad.toml:14:16: state.eccentricity: needs a number of at least 0 and below 1, not 1.5",
        "bad.toml:18:8: energy.0.kind: "
        "no energy named 'gravty'; did you mean 'gravity'? "
        "(installed: disc_field, gravity, hernquist_field, logarithmic_field, nfw_field, oblateness, "
        "plummer_field, post_newtonian, radiation_pressure); "
        "not in the scene's `plugins`: control, crystals, elastic, electrostatics, grids, heat, impacts,"
        " laser, molecular, mpm, rendering, rods, shells, sph",
        "bad.toml:23:1: stepper.dtt: no key 'dtt'; did you mean 'dt'? (keys: dt)",
        "bad.toml:26:9: run.steps: needs a whole number of at least 0, not 'many'",
        "bad.toml:40:2: checkpont: no key 'checkpont'; did you mean 'checkpoint'? "
        "(keys: box, checkpoint, compound, constraint, dissipation, energy, ensemble, fit, hold, initial, "
        "lagrangian, magnetic, map, observe, plugins, run, runtime, slope, state, stepper, title, units, "
        "view)",
        "override 'observe.0.every=0': observe.0.every: needs a whole number of at least 1, not 0",
    ]
    assert not (here / "runs").exists()


def test_a_missing_plugin_is_a_mistake_among_others(invoke, here: Path) -> None:
    text = TWO_BODY.read_text().replace('plugins = ["gravity"]', 'plugins = ["gravity", "gravitty"]')
    (here / "bad.toml").write_text(text.replace("dt = 0.005", "dt = 0"))
    first, second = complaint(invoke, "run", "bad.toml").splitlines()
    assert re.fullmatch(
        r"bad.toml:5:23: plugins.1: no plugin named 'gravitty'; did you mean 'gravity'\? \(installed: .*\)",
        first,
    )
    assert second == "bad.toml:23:6: stepper.dt: needs a quantity above 0, not 0"


def test_a_kind_of_a_plugin_that_the_scene_does_not_name(invoke) -> None:
    text = complaint(invoke, "run", TWO_BODY, "plugins=[]")
    assert f"{TWO_BODY}:11:8: state.kind: no initial state named 'two_body'" in text
    assert re.search(r"not in the scene's `plugins`: .*gravity", text)


@pytest.mark.parametrize(
    ("override", "place", "message"),
    [
        ("energy.0.body=sun", "17:3: energy.0", "no body named 'sun' (there are: none)"),
        ("energy.0.fields={x='q'}", "17:3: energy.0", "no field named 'q' (there are: x, v, m)"),
        ("energy.0.G=-1", "", "energy.0.G: needs a quantity of at least 0, not -1"),
        ("energy.0.G='1 kg'", "", "energy.0.G: '1 kg' is a mass, but 'm^3 kg^-1 s^-2' "),
        ("observe.2.fields=['q']", "36:3: observe.2", "no field named 'q' (there are: x, v, m)"),
        ("observe.1={kind='energies', every=1}", "", "two observers use the same name"),
        ("run={steps=10, stop=3}", "", "no key 'stop'; did you mean 'steps'?"),
    ],
)
def test_mistakes_that_show_only_while_building_have_a_place_too(
    override: str, place: str, message: str, invoke, here: Path
) -> None:
    text = complaint(invoke, "run", TWO_BODY, override)
    assert text.startswith(f"{TWO_BODY}:{place}: " if place else f"override '{override}': ")
    assert message in text
    assert not (here / "runs").exists()


def test_two_terms_of_one_name(invoke, here: Path) -> None:
    term = '[[energy]]\nkind = "gravity"\nG = 1.0\n'
    (here / "twice.toml").write_text(TWO_BODY.read_text().replace(term, term + term))
    assert complaint(invoke, "run", "twice.toml").startswith(
        "twice.toml:17:3: energy: two terms have one name"
    )


def test_counts_are_bounded_by_the_memory(invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a machine of two megabytes: without the bound, this would run on any other."""
    monkeypatch.setattr(memory, "free", lambda: memory.Free(2_000_000))
    text = complaint(invoke, "run", SCENES / "plummer.toml", "state.n=5000", "run.steps=1")
    assert text.endswith("state.n: 5000 are too many: 3 MB of memory needed, 2 MB free")
    assert "too many" in complaint(invoke, "run", SCENES / "gravity_seed.toml", "state.n=5000", "run.steps=1")
    text = complaint(invoke, "run", TWO_BODY, "observe.0.every=1", "run.steps=20000", "checkpoint.every=0")
    assert text.startswith(f"{TWO_BODY}:28:3: observe.0: 20001 rows until the next checkpoint: ")
    assert text.endswith("2 MB free; observe less often, or save more often: [checkpoint] every")
    assert invoke("run", TWO_BODY, "observe.0.every=1", "run.steps=200", "checkpoint.every=0")[0] == 0


def test_what_is_no_scene(invoke, here: Path) -> None:
    (here / "latin.toml").write_bytes(b'title = "\xe9"\n')
    (here / "broken.toml").write_text("[run\nsteps = 1\n")
    assert complaint(invoke, "run", "latin.toml") == "latin.toml:1:10: byte 0xe9 is not UTF-8"
    assert complaint(invoke, "run", "broken.toml").startswith("broken.toml:1:5: ")
    folder = (
        f"{here}: is a folder, not a scene; scenes in it are {here / 'broken.toml'}, {here / 'latin.toml'}"
    )
    assert complaint(invoke, "run", here) == folder
    said = "none.toml: cannot be read: No such file or directory; did you mean 'broken.toml'?"
    assert complaint(invoke, "check", "none.toml") == said
    assert complaint(invoke, "run", TWO_BODY, "stepper.dt").startswith(
        "override 'stepper.dt': write key=value"
    )


def test_data_that_cannot_be_read(invoke, here: Path) -> None:
    scene = here / "solar.toml"
    scene.write_text((SCENES / "outer_solar_system.toml").read_text())
    at = "solar.toml:13:2: state: "
    assert complaint(invoke, "run", "solar.toml") == (
        f"{at}cannot read 'data/outer_solar_system.csv' (No such file or directory); "
        "paths start at the scene's folder"
    )
    (here / "data").mkdir()
    assert "'data' (Is a directory)" in complaint(invoke, "run", "solar.toml", "state.file=data")
    (here / "data/outer_solar_system.csv").write_bytes(bytes(range(256)))
    assert complaint(invoke, "run", "solar.toml").startswith(f"{at}data/outer_solar_system.csv:")
    for outside in ("/etc/passwd", "../secret", "data/../solar.toml"):
        text = complaint(invoke, "run", "solar.toml", f"state.file='{outside}'")
        assert text == f"{at}'{outside}' lies outside the scene's folder; copy it there"


# Other mistakes -------------------------------------------------------------------------------------


def test_folders_that_are_no_use(invoke, here: Path) -> None:
    (here / "file").write_text("mine")
    (here / "mine").mkdir()
    (here / "mine/letter").write_text("dear")
    for out, why in (
        ("file", "is a file"),
        ("file/run", "cannot be written"),
        ("/proc/run", "cannot be written"),
    ):
        assert complaint(invoke, "run", TWO_BODY, SHORT, "--out", out).startswith(f"minusgrad: {out}: {why}")
    assert "not empty, and not a run; use another --out" in complaint(
        invoke, "run", TWO_BODY, "--out", "mine"
    )
    assert invoke("run", TWO_BODY, SHORT, "--out", "run")[0] == 0
    assert complaint(invoke, "run", TWO_BODY, SHORT, "--out", "run") == (
        "minusgrad: run: contains a run already; use another --out, or `minusgrad resume run`, "
        "or --force to overwrite it; in Python out=..., minusgrad.resume('run'), force=True"
    )
    for verb in ("resume", "plot"):
        assert complaint(invoke, verb, "mine") == (
            "minusgrad: mine: not a run (it lacks scene.toml or journal.jsonl); `minusgrad run` makes one"
        )
    assert complaint(invoke, "plot", "run", "--out", "file") == (
        "minusgrad: file: is a file; use another --out"
    )
    assert sorted(os.listdir(here)) == ["file", "mine", "run"]


def test_names_that_do_not_exist(invoke, here: Path) -> None:
    text = complaint(invoke, "check", "gravty")
    assert text.startswith("minusgrad: no energy named 'gravty'; did you mean 'gravity'? (")
    assert re.search(r"\? \(\d+ exist; `minusgrad energies` lists them\); a scene", text)
    assert text.endswith("); a scene ends in .toml, a file with kernels in .py")
    assert complaint(invoke, "scenes", "nowhere") == (
        "minusgrad: nowhere: contains no scenes (*.toml); give another folder, or none for those of minusgrad"
    )
    for arguments in ([], ["run"], ["run", TWO_BODY, "--ot", "x"], ["check", TWO_BODY, "--threads"]):
        code, _, err = invoke(*arguments)
        assert code == 2
        assert err.startswith("usage: minusgrad")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be imported: FileNotFoundError: no file mine.py"),
        ("1 +", "cannot be imported: SyntaxError: invalid syntax (mine.py, line 1)"),
        ("x = 1\nundefined\n", "cannot be imported at mine.py:2: NameError: name 'undefined' is not defined"),
        (
            WRONG.replace("k=Parameter", "q=Parameter"),
            "cannot be imported at mine.py:4: EnergyError: energy 'pixel': argument k has no role",
        ),
        (
            WRONG.replace('"pixel"', '"gravity"'),
            "registers energy 'gravity', which belongs to plugin 'gravity' (",
        ),
        (WRONG.replace("k", "name_").replace("name_", "_k"), "an argument cannot be called '_k'"),
    ],
)
def test_a_plugin_file_with_a_mistake(text: str | None, message: str, invoke, here: Path) -> None:
    if text is not None:
        (here / "mine.py").write_text(text)
    said = complaint(invoke, "energies", "--plugin", "mine.py")
    assert said.startswith("minusgrad: plugin 'mine' (file mine.py) ")
    assert message in said


def test_an_energy_that_cannot_be_followed_is_told_at_its_block(invoke, here: Path) -> None:
    (here / "pixel.py").write_text(WRONG.replace("    p =", "    while x[0][0] > 0:\n        pass\n    p ="))
    text = complaint(invoke, "run", TWO_BODY, "energy.0={kind='pixel', k=1}", "--plugin", "pixel.py")
    assert text.startswith("override 'energy.0={kind='pixel', k=1}': energy.0: ")
    assert "pixel.py:" in text
    assert "while" in text


@pytest.mark.parametrize("arguments", [["plugins"], ["plugins", "--json"], ["schema"]])
def test_output_into_a_closed_pipe_is_no_accident(arguments: list[str]) -> None:
    """As in `minusgrad schema | head -1`, once head has seen enough."""
    reader, writer = os.pipe()
    os.close(reader)
    env = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    done = subprocess.run([MINUSGRAD, *arguments], env=env, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_table_for_a_file_is_not_cut_off(here: Path) -> None:
    """Without a terminal nothing is shortened."""
    out = minusgrad("scenes", SCENES, COLUMNS="20").stdout
    assert "…" not in out
    assert str(TWO_BODY) in out


def test_run_and_resume_for_programs(invoke: Callable, here: Path) -> None:
    for verb, what in (("run", TWO_BODY), ("resume", "runs/two_body")):
        more = (SHORT,) if verb == "run" else ()
        code, out, _ = invoke(verb, what, *more, "--json")
        facts = json.loads(out)
        assert code == 0
        assert facts["folder"] == "runs/two_body"
        assert (facts["step"], facts["time"]) == (20, 0.1)
        assert 0.0 < abs(facts["drift"]) < 1e-5
