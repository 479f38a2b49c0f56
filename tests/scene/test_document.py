"""Scene files: every mistake at its place and in its words, hostile input, overrides, the index of places."""

import json
import random
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from minusgrad.errors import Problem, SceneError
from minusgrad.scene.document import (
    Block,
    Document,
    Quantity,
    Record,
    Scene,
    load,
    quantities,
    read,
    unknown_kind,
)
from minusgrad.scene.json_schema import schema_of
from minusgrad.scene.toml_positions import KEY, index
from minusgrad.scene.units import UnitSystem

pytestmark = pytest.mark.unit

GOOD = """\
# Closes after one period.
title = "two bodies"

[units]
length = "AU"
mass = "Msun"
time = "day"

[state]
kind = "table"
file = "bodies.csv"

[[energy]]
kind = "gravity"
softening = "1e-3 AU"

[[energy]]
kind = "spring"
pairs = [[0, 1], [1, 2]]

[stepper]
kind = "leapfrog"
dt = 0.5

[run]
steps = 100

[[observe]]
kind = "energies"
every = 10
"""


class Source(Record):
    waist: Annotated[float | str, Quantity("m", "positive")]


class Gravity(Record):
    G: float = 1.0
    softening: Annotated[float | str, Quantity("m", "nonnegative")] = 0.0
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)
    positions: list[list[Annotated[float | str, Quantity("m")]]] = Field([])
    order: Literal[2, 4] = 2
    count: int = Field(1, ge=1, lt=10)
    share: float = Field(0.5, gt=0)
    label: int | str = 0
    exact: bool = False
    names: list[str] = Field(["a"], min_length=1)
    fractions: tuple[Annotated[float, Field(lt=1.0)], ...] = Field((0.5,), min_length=1)
    weights: dict[str, float] = Field({})
    source: Source | None = None


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)

    def writer(text: str | bytes) -> str:
        Path("galaxy.toml").write_bytes(text.encode() if isinstance(text, str) else text)
        return "galaxy.toml"

    return writer


def complaints(path: str, *overrides: str) -> str:
    with pytest.raises(SceneError) as refusal:
        read(path, overrides)
    return str(refusal.value)


def block_complaints(write: Any, line: str, extra: str = "") -> list[str]:
    """What Gravity says about one line (the 14th) of a good scene."""
    document = load(write(GOOD.replace('softening = "1e-3 AU"', line) + extra))
    model, problems = document.validate(document.blocks()[1], Gravity)
    assert (model is None) == bool(problems)
    return [str(p) for p in problems]


def test_a_good_scene(write: Any) -> None:
    scene = read(write(GOOD))
    assert scene.title == "two bodies"
    assert scene.units.build() == UnitSystem.of("AU", "Msun", "day")
    assert scene.runtime.threads == 0
    assert scene.runtime.precision == "f64"
    assert scene.runtime.fast_math
    assert scene.state == Block("table", {"file": "bodies.csv"}, ("state",))
    assert [e.kind for e in scene.energy] == ["gravity", "spring"]
    assert scene.energy[1].path == ("energy", 1)
    assert scene.energy[1].section == "energy"
    assert scene.energy[1].values == {"pairs": [[0, 1], [1, 2]]}
    assert scene.stepper.values == {"dt": 0.5}
    assert scene.run.steps == 100
    assert scene.observe[0].kind == "energies"
    assert scene.checkpoint.keep == 3
    assert scene.source == GOOD.encode()
    assert scene.path == Path("galaxy.toml")
    assert scene.plugins is None


def test_resolved_is_a_scene_again(write: Any) -> None:
    resolved = read(write(GOOD), ["stepper.dt=2", "runtime.seed=7"]).resolved()
    assert json.loads(json.dumps(resolved, allow_nan=False)) == resolved
    assert list(resolved)[:4] == ["title", "units", "runtime", "state"]
    assert resolved["stepper"] == {"kind": "leapfrog", "dt": 2}
    assert resolved["runtime"]["seed"] == 7
    assert resolved["checkpoint"] == {"wall_time": "5 min", "every": 0, "keep": 3, "keep_every": 0}


def test_all_mistakes_at_once_in_the_order_of_the_file(write: Any) -> None:
    text = GOOD.replace('"two bodies"', "5").replace('"AU"', '"AUU"', 1).replace('"gravity"', '"gravty"')
    text = (
        text.replace("softening", "softning")
        .replace("steps = 100", 'stps = "abc"')
        .replace("[stepper]", "[steper]")
    )
    document = load(write(text))
    scene, problems = document.skeleton()
    for block in document.blocks():
        if block.kind == "gravty":
            problems.append(unknown_kind(document, block, "energy", ["spring", "gravity", "neo_hookean"]))
            problems += document.validate(block, Gravity)[1]
    keys = (
        "center, count, exact, fractions, G, label, names, order, positions, share, softening, source,"
        " weights"
    )
    tops = (
        "box, checkpoint, compound, constraint, dissipation, energy, ensemble, fit, hold, initial,"
        " lagrangian, magnetic, map, observe, plugins, run, runtime, slope, state, stepper, title, units,"
        " view"
    )
    assert scene is None
    assert str(SceneError(problems)).splitlines() == [
        "galaxy.toml:2:9: title: needs text in quotes, not 5",
        "galaxy.toml:5:10: units.length: no unit 'AUU'; did you mean 'AU'?",
        "galaxy.toml:14:8: energy.0.kind: no energy named 'gravty'; did you mean 'gravity'? "
        "(installed: gravity, neo_hookean, spring)",
        f"galaxy.toml:15:1: energy.0.softning: no key 'softning'; did you mean 'softening'? (keys: {keys})",
        f"galaxy.toml:21:2: steper: no key 'steper'; did you mean 'stepper'? (keys: {tops})",
        "galaxy.toml:26:1: run.stps: no key 'stps'; did you mean 'steps'? (keys: allow_dead, steps, time)",
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("G = true", "15:5: energy.0.G: needs a number, not true"),
        ("G = 'big'", "15:5: energy.0.G: needs a number, not 'big'"),
        ("softening = true", "15:13: energy.0.softening: needs a number or a quantity like '1 m', not true"),
        ("softening = -1", "15:13: energy.0.softening: needs a quantity of at least 0, not -1"),
        ("softening = '5 day'", "15:13: energy.0.softening: '5 day' is a time, but 'm' (length) is needed"),
        ("softening = '5 kday'", "15:13: energy.0.softening: no unit 'kday'; did you mean 'day'?"),
        ("center = [0, 0]", "15:10: energy.0.center.2: required, but missing"),
        ("center = [0, 0, '1']", "15:17: energy.0.center.2: needs a number, not '1'"),
        ("center = [0, 0, 1, 1]", "15:10: energy.0.center: needs at most 3 elements, not 4"),
        ("center = 1", "15:10: energy.0.center: needs a list, not 1"),
        ("positions = [[0],\n [1, '1 s']]",
         "16:6: energy.0.positions.1.1: '1 s' is a time, but 'm' (length) is needed"),
        ("order = 3", "15:9: energy.0.order: needs 2 or 4, not 3"),
        ("count = 'abc'", "15:9: energy.0.count: needs a whole number of at least 1 and below 10, not 'abc'"),
        ("count = 10", "15:9: energy.0.count: needs a whole number of at least 1 and below 10, not 10"),
        ("count = 1.0",
         "15:9: energy.0.count: needs a whole number of at least 1 and below 10, not 1.0; write 1"),
        ("share = 0", "15:9: energy.0.share: needs a number above 0, not 0"),
        ("label = 1.5", "15:9: energy.0.label: needs a whole number or text in quotes, not 1.5"),
        ("exact = 1", "15:9: energy.0.exact: needs true or false, not 1"),
        ("names = []", "15:9: energy.0.names: needs at least 1 element, not 0"),
        ("fractions = [1.5]", "15:14: energy.0.fractions.0: needs a number below 1, not 1.5"),
        ("fractions = []", "15:13: energy.0.fractions: needs at least 1 element, not 0"),
        ("names = {a = 1}", "15:9: energy.0.names: needs a list, not a table"),
        ("weights.q = 'x'", "15:13: energy.0.weights.q: needs a number, not 'x'"),
        ("weights = [1]", "15:11: energy.0.weights: needs a table, not a list"),
        ("source = {}", "15:10: energy.0.source.waist: required, but missing"),
        ("source = {waist = 0}", "15:19: energy.0.source.waist: needs a quantity above 0, not 0"),
        ("source = {waste = 1, waist = 1}",
         "15:11: energy.0.source.waste: no key 'waste'; did you mean 'waist'? (keys: waist)"),
    ],
)  # fmt: skip
def test_every_wrong_value_of_a_block(write: Any, line: str, message: str) -> None:
    assert block_complaints(write, line) == [f"galaxy.toml:{message}"]


@pytest.mark.parametrize(
    "line", ["G = 5", "softening = 5", "softening = '5 km'", "share = 1", "center = [1, 2, 3.5]"]
)
def test_every_right_value_of_a_block(write: Any, line: str) -> None:
    assert block_complaints(write, line) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("steps = 100", "steps = -1", "26:9: run.steps: needs a whole number of at least 0, not -1"),
        ("steps = 100", "steps = true", "26:9: run.steps: needs a whole number of at least 0, not true"),
        ('kind = "leapfrog"', "",
         "21:2: stepper.kind: required, but missing (`minusgrad steppers` lists them)"),
        ('kind = "leapfrog"', "kind = 3", "22:8: stepper.kind: needs text in quotes, not 3"),
        ("[[observe]]", "[observe]",
         "28:2: observe: needs two brackets, [[observe]], because a scene may have several"),
        ("[[energy]]", "[energy]",
         "13:2: energy: needs two brackets, [[energy]], because a scene may have several"),
        ("steps = 100", "steps = None", "26:9: TOML has no empty value; leave the key out"),
        ("steps = 100", "steps = True", "26:9: write true, in lower case"),
        ('kind = "leapfrog"', "kind = leapfrog", '22:8: text needs quotes; write "leapfrog"'),
        ('kind = "leapfrog"', "kind = " + 9999 * "a", f'22:8: text needs quotes; write "{57 * "a"}..."'),
        ('time = "day"', 'system = "si"', "4:2: units: either a system or a length, mass and time, not both"),
        ('time = "day"', "time = 5", "7:8: units.time: needs text in quotes, not 5"),
        ('time = "day"', 'time = "AU"', "7:8: units.time: 'AU' is a length, but 's' (time) is needed"),
        ("[run]", "[runtime]\narch = 'cuba'\n[run]",
         "26:8: runtime.arch: needs 'cpu', 'cuda', 'vulkan' or 'metal', not 'cuba'; did you mean 'cuda'?"),
        ("[run]", "[checkpoint]\nkeep = 0\n[run]",
         "26:8: checkpoint.keep: needs a whole number of at least 1 and of at most 50, not 0"),
        ("[run]", "[run]\nsteps = 1", "27:12: 'steps' is given twice; leave one of them out"),
        ("[run]", "[stepper]\n[run]", "25:9: [stepper] stands twice; write all its keys under one of them"),
        ("[stepper]", "[[stepper]]",
         "21:3: stepper: needs one pair of brackets, [stepper], because a scene has one"),
        ('kind = "leapfrog"', 'kind = "leapfrog', "22:17: the text has no closing quote"),
        ("dt = 0.5", "dt =  # later",
         "23:7: needs a value behind the equals sign, got none; give one, or leave the key out"),
        ("dt = 0.5", "dt = !", "23:6: Invalid value"),
        ("dt = 0.5", "dt = nan", "23:6: stepper.dt: needs a finite number, not nan"),
        ("dt = 0.5", "dt = 1979-05-27",
         "23:6: stepper.dt: dates and times are not allowed in a scene; write text in quotes"),
        ("dt = 0.5", "dt = 9223372036854775808", "23:6: stepper.dt: a whole number must fit 64 bits"),
        ("dt = 0.5", "dt." + "a." * 40 + "b = 1", "23:1: a key of more than 32 dotted parts"),
    ],
)  # fmt: skip
def test_every_wrong_part_of_the_skeleton(write: Any, old: str, new: str, message: str) -> None:
    assert complaints(write(GOOD.replace(old, new))) == f"galaxy.toml:{message}"


def test_a_line_about_a_scene_has_an_end(write: Any) -> None:
    """Whatever it quotes."""
    said = str(SceneError([Problem("a.toml", 1, 2, "key", f"short\n{10**5 * 'x'}")])).split("\n")
    assert said == ["a.toml:1:2: key: short", 1497 * "x" + "..."]


def test_no_energy_at_all(write: Any) -> None:
    text = "energy = []\n" + GOOD[: GOOD.index("[[energy]]")] + GOOD[GOOD.index("[stepper]") :]
    assert complaints(write(text)) == "galaxy.toml:1:10: energy: needs at least 1 element, not 0"


def test_a_scene_without_a_magnetic_field_is_saved_as_before(write: Any) -> None:
    """Runs of versions without magnetic fields are resumed: their checkpoints have no such key."""
    scene, _ = load(write(GOOD)).skeleton()
    assert scene is not None
    assert "magnetic" not in scene.resolved()
    assert "constraint" not in scene.resolved()
    assert "dissipation" in scene.resolved()


def test_what_is_no_text(write: Any, tmp_path: Path) -> None:
    assert complaints(write(b"title = 'x'\ny = '\xc3\xa9\xff'")) == "galaxy.toml:2:7: byte 0xff is not UTF-8"
    assert complaints(write(b"\xef\xbb\xbftitle = 'x'")) == (
        "galaxy.toml:1:1: begins with a byte order mark (BOM); save it as UTF-8 without one"
    )
    assert complaints(write(b'title = "a')).startswith("galaxy.toml:1:11: ")
    assert complaints("nowhere.toml") == "nowhere.toml: cannot be read: No such file or directory"
    listed = f"is a folder, not a scene; scenes in it are {tmp_path / 'galaxy.toml'}"
    assert complaints(str(tmp_path)) == f"{tmp_path}: {listed}"
    big = "has more than 1 MB; put large data into a file that the scene names"
    assert complaints(write("#" * 1_000_001)) == f"galaxy.toml: {big}"
    endless = "a scene: must be a regular file, got a character device; copy its contents into a file"
    assert complaints("/dev/zero") == f"/dev/zero: {endless}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n" + "a." * 100_000 + "a = 1", ":2:1: a key of more than 32 dotted parts"),
        ("[" + '"a" . ' * 100_000 + "a]", ":1:2: a key of more than 32 dotted parts"),
        ("x = { " + "a." * 100_000 + "a = 1 }", ":1:7: a key of more than 32 dotted parts"),
        ("x = " + "[" * 100_000, ":1:37: lists and tables nest more than 32 deep"),
        ("x = " + "[" * 400 + "]" * 400, ":1:37: lists and tables nest more than 32 deep"),
        ("x = " + "1" * 5000, ":1:5: a number of more than 4000 digits"),
        ("steps = 0x" + "f" * 100_000, ":1:9: steps: a whole number must fit 64 bits"),
        ('x = """\\' * 100_000, ":1:"),
    ],
)
def test_hostile_files_are_refused_within_little_time_and_memory(write: Any, text: str, message: str) -> None:
    code = "import sys, resource; resource.setrlimit(resource.RLIMIT_AS, (10**9, 10**9)); "
    code += "from minusgrad.scene.document import read; read(sys.argv[1])"
    out = subprocess.run(
        [sys.executable, "-c", code, write(text)], capture_output=True, text=True, timeout=20
    )
    assert out.stderr.splitlines()[-1].startswith(f"minusgrad.errors.SceneError: galaxy.toml{message}")


def test_long_text_and_dots_in_strings_are_no_long_keys(write: Any) -> None:
    dots = "a." * 60
    read(write(GOOD.replace('"two bodies"', f'"{dots}"  # {dots}')))
    read(write(GOOD.replace('"two bodies"', f"'''\n{dots}\n{dots}'''")))


@pytest.mark.parametrize(
    ("override", "where", "value"),
    [
        ("stepper.dt=2", ("stepper", "dt"), 2),
        ("stepper.dt='\"5 day\"'", ("stepper", "dt"), '"5 day"'),
        ("energy.1.pairs.0=[5, 6]", ("energy", 1, "pairs", 0), [5, 6]),
        ("energy.0.kind=neo-hookean", ("energy", 0, "kind"), "neo-hookean"),
        ("runtime.precision=f32", ("runtime", "precision"), "f32"),
        ('state."odd key".x = true', ("state", "odd key", "x"), True),
        ("state.0=1", ("state", "0"), 1),
        ("state.file=", None, "the right side is not a TOML value; write state.file=value"),
        ("stepper.dt=2 fs", ("stepper", "dt"), "2 fs"),
        ("stepper.dt=2fs", ("stepper", "dt"), "2fs"),
        ("stepper.dt=-2.5e-3 m^3 kg^-1 s^-2 ", ("stepper", "dt"), "-2.5e-3 m^3 kg^-1 s^-2"),
        ("stepper.dt=.5", ("stepper", "dt"), 0.5),
        ("stepper.dt=-5.e2", ("stepper", "dt"), -500.0),
        ("stepper.dt=.5 day", ("stepper", "dt"), ".5 day"),
        ("state.file=data/a b.csv", ("state", "file"), "data/a b.csv"),
        ("title=Two stars, close", ("title",), "Two stars, close"),
        (
            "energy.1.pairs=[2 fs, 3]",
            None,
            'the right side is not a TOML value; a value with a unit stands in quotes; write "2 fs"',
        ),
        (
            "state.file='a",
            None,
            "the right side is not a TOML value; put text in quotes: state.file='\"'a\"'",
        ),
        (
            "state.x=1 = 2",
            None,
            "the right side is not a TOML value; put text in quotes: state.x='\"1 = 2\"'",
        ),
        ("energy.2.k=1", None, "'energy' has no element '2' (there are 0 to 1)"),
        ("energy.x.k=1", None, "'energy' has no element 'x' (there are 0 to 1)"),
        ("title.x=1", None, "'title' is not a table or list, so it has no 'x'"),
        ("stepper", None, "write key=value or key.sub.0=value"),
        ("a." * 40 + "b=1", None, "a key of more than 32 dotted parts"),
        ("stepper.dt=nan", None, "stepper.dt: needs a finite number, not nan"),
    ],
)
def test_overrides(write: Any, override: str, where: tuple[str | int, ...] | None, value: Any) -> None:
    path = write(GOOD)
    if where is None:
        assert complaints(path, override) == f"override '{override}': {value}"
        return
    here: Any = load(path, [override]).data
    for part in where:
        here = here[part]
    assert here == value


def test_an_override_cannot_smuggle_a_second_key_or_undecodable_text(write: Any) -> None:
    ending = "contains a line break or another unprintable character"
    assert complaints(write(GOOD), "title='a'\nb=1") == f"override \"title='a'\\nb=1\": {ending}"
    assert complaints(write(GOOD), "title='\udc80'") == f"override \"title='\\udc80'\": {ending}"


def test_mistakes_in_overridden_keys_name_the_override(write: Any) -> None:
    path = write(GOOD)
    assert complaints(path, "run.steps=abc") == (
        "override 'run.steps=abc': run.steps: needs a whole number of at least 0, not 'abc'"
    )
    assert complaints(path, "enrgy.0=1").startswith(
        "override 'enrgy.0=1': no section and no part of the scene is named 'enrgy'; did you mean 'energy'?"
    )
    document = load(path, ["energy.0.softening=true", "energy.0={kind='gravity', G='x'}"])
    [problem] = document.validate(document.blocks()[1], Gravity)[1]
    assert str(problem) == "override 'energy.0={kind='gravity', G='x'}': energy.0.G: needs a number, not 'x'"


def test_a_unit_in_a_dimensionless_scene_is_found_while_judging(write: Any) -> None:
    text = GOOD.replace('length = "AU"\nmass = "Msun"\ntime = "day"', 'system = "dimensionless"')
    document = load(write(text))
    [problem] = document.validate(document.blocks()[1], Gravity)[1]
    assert str(problem).startswith(
        "galaxy.toml:13:13: energy.0.softening: '1e-3 AU' has a unit, but this scene"
    )


def test_quantities_are_converted_wherever_they_stand() -> None:
    model = Gravity(softening="1 km", positions=[[1.5, "2 km"], []], source=Source(waist="1 mm"), G=3.0)
    values = quantities(model, UnitSystem.si())
    assert values["softening"] == 1000.0
    assert values["positions"] == [[1.5, 2000.0], []]
    assert values["source"] == {"waist": 0.001}
    assert values["G"] == 3.0
    assert values["label"] == 0
    assert quantities(model, UnitSystem.of(length="km"))["softening"] == 1.0
    assert set(values) == set(Gravity.model_fields)


def test_problem_falls_back_to_the_nearest_place(write: Any) -> None:
    document = load(write(GOOD))
    assert str(document.problem(("energy", 1, "nodes", 3), "x")) == "galaxy.toml:17:3: energy.1.nodes.3: x"
    assert (
        str(document.problem(("state", "file"), "no such file"))
        == "galaxy.toml:11:8: state.file: no such file"
    )


def test_schema_knows_the_kinds() -> None:
    schema = schema_of({"energy": {"gravity": Gravity}, "stepper": {"a": Source, "b": Source}, "observe": {}})
    defs = schema["$defs"]
    assert schema["properties"]["energy"]["items"] == {"$ref": "#/$defs/energy_gravity"}
    assert schema["properties"]["energy"]["minItems"] == 1
    assert [arm["$ref"] for arm in schema["properties"]["stepper"]["anyOf"]] == [
        "#/$defs/stepper_a",
        "#/$defs/stepper_b",
    ]
    assert defs["stepper_a"]["properties"]["kind"]["const"] == "a"
    assert defs["stepper_b"]["properties"]["waist"] == {"$ref": "#/$defs/m_positive"}
    assert defs["m_positive"]["anyOf"][0] == {"type": "number", "exclusiveMinimum": 0}
    assert schema["required"] == ["state", "stepper", "run"]
    program = {"allOf": [{"properties": {"stepper": {"properties": {"kind": {"const": "evolution"}}}}}]}
    alone = [{"required": [name]} for name in ("energy", "lagrangian", "magnetic", "compound", "constraint")]
    assert schema["anyOf"] == [*alone, program]
    assert "kind" in defs["energy_gravity"]["required"]
    json.dumps(schema, allow_nan=False)


def test_reading_a_scene_needs_no_taichi_and_no_numpy(write: Any) -> None:
    code = "import sys; from minusgrad.scene.document import read; read(sys.argv[1]);"
    code += (
        "import minusgrad.scene.json_schema; print({'taichi', 'numpy', 'h5py', 'pluggy'} & set(sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", code, write(GOOD)], capture_output=True, text=True)
    assert (out.stdout, out.stderr) == ("set()\n", "")


def test_mutated_scenes_never_give_a_traceback(write: Any) -> None:
    rng = random.Random(4)
    sound = 0
    for _ in range(300):
        text = list(GOOD.encode())
        for _ in range(rng.randint(1, 4)):
            at, end = rng.randrange(len(text)), rng.randrange(len(text))
            match rng.randrange(4):
                case 0:
                    text[at] = rng.randrange(256)
                case 1:
                    text[at:at] = rng.choice(
                        [b"[", b"]]", b'"', b"'''", b"\n", b"=", b".", b"{", b"-1", b"true"]
                    )
                case 2:
                    del text[at : at + rng.randint(1, 12)]
                case 3:
                    text[at:at] = text[end : end + 20]
        try:
            document = load(write(bytes(text)))
        except SceneError:
            continue
        scene, problems = document.skeleton()
        assert (scene is None) == bool(problems)
        for block in document.blocks():
            problems += document.validate(block, Gravity)[1]
        assert all(p.line >= 1 and p.column >= 1 and p.message for p in problems)
        sound += isinstance(scene, Scene) and isinstance(document, Document)
    assert 10 < sound < 290


# The index of places.


def random_key(rng: random.Random) -> str:
    bare = "".join(rng.choices("abc-_19", k=rng.randint(1, 3)))
    return rng.choice([bare, bare, f'"{bare}. #\\u00e9\\"]"', f"'{bare}= [.'", '""'])


def random_value(rng: random.Random, depth: int = 0) -> str:
    gap = rng.choice(["", " ", "\n", " # ], }\n\t"])
    match rng.randrange(9 if depth < 3 else 7):
        case 0:
            return rng.choice(["1", "-2.5e3", "true", "0xff", "inf", "1979-05-27 07:32:00", "07:32:00"])
        case 1:
            return rng.choice(['"a#]\\"\\\\"', "'[\\'", '""', "''"])
        case 2:
            return rng.choice(['"""x\n"y"" ]\\"""""" ""'[:-3], '"""a"""', '"""\\\n  b"""""', '""""""'])
        case 3:
            return rng.choice(["'''x\n''y\\'''", "'''a'''''", "''''''"])
        case 4 | 5 | 6 | 7:
            items = [random_value(rng, depth + 1) for _ in range(rng.randint(0, 3))] if depth < 3 else []
            return f"[{gap}{f'{gap},{gap}'.join(items)}{rng.choice(['', ',']) if items else ''}{gap}]"
        case _:
            keys = {random_key(rng): random_value(rng, depth + 1) for _ in range(rng.randint(0, 3))}
            return "{ " + ", ".join(f"{k} = {v}" for k, v in keys.items()) + " }"


def random_toml(rng: random.Random) -> str:
    lines: list[str] = []
    for _ in range(rng.randint(0, 8)):
        key = rng.choice([".", " . "]).join(random_key(rng) for _ in range(rng.randint(1, 3)))
        pair = f"{rng.choice(['', '  '])}{key}{rng.choice([' = ', '='])}{random_value(rng)}"
        lines.append(rng.choice([f"[{key}]", f"[[ {key} ]]", pair, pair, pair, "# [x]"]))
    return rng.choice(["\n", "\r\n", " # é\n"]).join(lines)


def paths(data: Any, path: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    found: list[tuple[tuple[str | int, ...], Any]] = []
    for key, value in items:
        found += [((*path, key), value), *paths(value, (*path, key))]
    return found


def begins_with(text: str, value: Any) -> bool:
    """Whether the text begins with this TOML value."""
    for end in range(1, min(len(text), 60) + 1):
        try:
            if tomllib.loads(f"value = {text[:end]}") == {"value": value}:
                return True
        except tomllib.TOMLDecodeError:
            pass
    return False


def test_the_index_knows_every_path_and_points_at_it() -> None:
    rng, checked = random.Random(5), 0
    while checked < 1500:
        text = random_toml(rng)
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            continue
        keys, values = index(text), index(text, values=True)
        lines = text.split("\n")
        everything = paths(data)
        assert set(keys) == set(values) == {path for path, _ in everything}, text
        for path, value in everything:
            (line, column), (row, start) = keys[path], values[path]
            here = "\n".join(lines[line - 1 :])[column - 1 :]
            there = "\n".join(lines[row - 1 :])[start - 1 :]
            if isinstance(path[-1], str):
                [key, *_] = re.findall(KEY, here)
                assert here.startswith(key), (path, text)
                assert list(tomllib.loads(f"{key} = 1")) == [path[-1]], (path, text)
            if not isinstance(value, (dict, list)):
                assert begins_with(there, value), (path, text)
            else:
                assert there[0] in "[{" or there == here, (path, text)
            checked += 1


def test_places_of_a_written_example() -> None:
    text = 'a."b c".d = [1, [2,\n  {q = 1}], # x\n "z"]\n[[e]]\nk = 1\n[[e]]\n[e.s.x]\n[e.s]\n'
    assert index(text) == {
        ("a",): (1, 1), ("a", "b c"): (1, 3), ("a", "b c", "d"): (1, 9), ("a", "b c", "d", 0): (1, 14),
        ("a", "b c", "d", 1): (1, 17), ("a", "b c", "d", 1, 0): (1, 18), ("a", "b c", "d", 1, 1): (2, 3),
        ("a", "b c", "d", 1, 1, "q"): (2, 4), ("a", "b c", "d", 2): (3, 2), ("e",): (4, 3), ("e", 0): (4, 3),
        ("e", 0, "k"): (5, 1), ("e", 1): (6, 3), ("e", 1, "s"): (8, 4), ("e", 1, "s", "x"): (7, 6),
    }  # fmt: skip
    assert index(text, values=True)[("e", 0, "k")] == (5, 5)
