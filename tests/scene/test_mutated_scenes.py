"""Ten thousand damaged scenes, each accepted or refused at its place; every misspelt key of a scene is named.

The damaged ones are judged in a process with little memory, as `minusgrad run` judges before it builds
anything; of those that pass, some are run for two steps.
"""

import json
import random
import re
import resource
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from minusgrad.app import cli
from minusgrad.app.runs import build
from minusgrad.assembly.fits.fit import ParameterFit
from minusgrad.assembly.registry import Registry
from minusgrad.assembly.validation import validate
from minusgrad.errors import Problem, SceneError, UserError
from minusgrad.scene.document import PROGRAM, load
from minusgrad_gravity.orbits import OrbitingBody
from tests.support.command import SCENES, own_files
from tests.support.tiers import counts, sampled

FILES = sorted(path for path in SCENES.glob("*.toml") if not own_files(path))
"""Scenes of installed kinds; without its file one with a kind of its own is refused undamaged."""
COUNTS = counts(2400, 10_000)
MEMORY, SECONDS = 10**9, 600
"""What the judging process may take: address space in bytes, time of the processor."""
ROOT = Path(__file__).parents[2]

Mutation = Callable[[random.Random, str], str | bytes]


# Ways to damage a text ------------------------------------------------------------------------------

_PAIR = re.compile(r"^([\w.\"]+)( = )(.+)$", re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.\"])-?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.])")
_QUOTED = re.compile(r'"[^"\n]*"')
_HEADER = re.compile(r"^\[+[^\]\n]+\]+.*$", re.MULTILINE)
NUMBERS = [
    "-1",
    "0",
    "-0.0",
    "1e300",
    "-1e-300",
    "5e-324",
    "1e400",
    "nan",
    "-inf",
    "+inf",
    "0x7f",
    "0b1",
    "0o17",
]
NUMBERS += [str(10**12), str(2**63 - 1), str(2**63), "9" * 30, "9" * 5000, "1_000", "01", "1.", ".5", "- 1"]
VALUES = [*NUMBERS, '"text"', "''", '"1 m"', '"5 parsec"', '"-3 kg"', '"nan s"', '"1e999 m"', "true", "false"]
VALUES += ["[]", "[[]]", "[1, 2, 3]", '["a", 1]', "{}", "{ a = 1 }", "{ kind = 'x', a = { b = [1] } }"]
VALUES += [
    "1979-05-27",
    "07:32:00",
    '"""a\nb"""',
    "'\\u0000'",
    '"\\u0000\\u001b[31m"',
    '"\\ud800"',
    "[[[[1]]]]",
]
UNITS = [
    "m",
    "kg",
    "s",
    "AU",
    "Msun",
    "day",
    "um",
    "kPa",
    "J/m^2",
    "furlong",
    "m^",
    "m^99999999999",
    "^2",
    "/",
    "",
]
STRANGE = [
    "\0",
    "\x1b[2J",
    "\x7f",
    "\r",
    "\u2028",
    "\u202e",
    "\ufeff",
    "é",
    "κ",
    "漢",
    "\U0001f980",
    "\t",
    "\\",
]


def lines(rng: random.Random, text: str) -> str:
    """Drop, double, swap or move a line."""
    rows = text.split("\n")
    at, other = rng.randrange(len(rows)), rng.randrange(len(rows))
    match rng.randrange(4):
        case 0:
            del rows[at]
        case 1:
            rows.insert(other, rows[at])
        case 2:
            rows[at], rows[other] = rows[other], rows[at]
        case _:
            rows.insert(other, rows.pop(at))
    return "\n".join(rows)


def characters(rng: random.Random, text: str) -> str:
    """Change, insert or delete characters."""
    at, end = rng.randrange(len(text)), rng.randint(0, 3)
    new = "".join(rng.choices(text + "[]{}=\"'.,#-+_\\\n", k=rng.randint(0, 3)))
    return text[:at] + new + text[at + end :]


def strange(rng: random.Random, text: str) -> str:
    """Insert characters of other alphabets, and some that control a terminal."""
    at = rng.randrange(len(text))
    return text[:at] + rng.choice(STRANGE) + text[at:]


def noise(rng: random.Random, text: str) -> bytes:
    """Any bytes."""
    data, at = text.encode(), rng.randrange(len(text))
    return data[:at] + rng.randbytes(rng.randint(1, 4)) + data[at + rng.randint(0, 4) :]


def truncated(rng: random.Random, text: str) -> str:
    return text[: rng.randrange(len(text))]


def substituted(pattern: re.Pattern[str], rng: random.Random, text: str, new: Callable[[str], str]) -> str:
    """One of the places that fit, rewritten."""
    found = rng.choice(list(pattern.finditer(text)))
    return text[: found.start()] + new(found[0]) + text[found.end() :]


def values(rng: random.Random, text: str) -> str:
    """Another value for a key, mostly of another type."""
    return substituted(_PAIR, rng, text, lambda pair: f"{pair.split(' = ')[0]} = {rng.choice(VALUES)}")


def numbers(rng: random.Random, text: str) -> str:
    """Another number, also deep in lists."""
    return substituted(_NUMBER, rng, text, lambda number: rng.choice(NUMBERS))


def small_numbers(rng: random.Random, text: str) -> str:
    """A number that may well stand there."""
    fit = ["1", "2", "3", "0.5", "1.5", "1e-3", "0.25"]
    return substituted(_NUMBER, rng, text, lambda number: rng.choice(fit))


def units(rng: random.Random, text: str) -> str:
    """A text with another unit, or without one."""
    return substituted(
        _QUOTED, rng, text, lambda quoted: f'"{rng.choice(["", "1 ", "2.5e-3 ", "-4 "])}{rng.choice(UNITS)}"'
    )


def names(rng: random.Random, text: str) -> str:
    """A text in quotes misspelt: kinds, bodies, lists, files, plugins."""
    return substituted(_QUOTED, rng, text, lambda quoted: f'"{misspelt(rng, quoted[1:-1] or "a")}"')


def renamed(rng: random.Random, text: str) -> str:
    """A key misspelt."""
    return substituted(
        _PAIR, rng, text, lambda pair: misspelt(rng, pair.split(" = ")[0]) + pair[pair.index(" = ") :]
    )


def tables(rng: random.Random, text: str) -> str:
    """A table deleted with all that it says, doubled, renamed, or made a list or none."""
    heads = [found.start() for found in _HEADER.finditer(text)]
    k = rng.randrange(len(heads))
    begin, end = heads[k], [*heads, len(text)][k + 1]
    table = text[begin:end]
    changed = rng.choice(
        [
            "",
            table + table,
            table.replace("[[", "[").replace("]]", "]"),
            f"[{table.replace(']', ']]', 1)}",
            misspelt(rng, table[: table.index("]")]) + table[table.index("]") :],
            table.partition("\n")[0] + "\n",
        ]
    )
    return text[:begin] + changed + text[end:]


def unknown(rng: random.Random, text: str) -> str:
    """A key that nobody knows, some of them long, quoted or dotted."""
    key = rng.choice(
        ["zeal", '"a b"', '"a\\nb"', "'\x01'", '""', "é", '"\\u00e9"', "a.b.c", "k" * 50_000, "x.y" * 12]
    )
    key = rng.choice([key, '"\\u001b[31mred"', '"' + "long " * 10_000 + '"', ".".join("a" * 40)])
    rows = text.split("\n")
    rows.insert(rng.randrange(len(rows) + 1), f"{key} = {rng.choice(VALUES)}")
    return "\n".join(rows)


def deep(rng: random.Random, text: str) -> str:
    """Lists and tables in one another, closed or not."""
    levels = rng.choice([5, 31, 32, 33, 60, 400, 3000])
    value = rng.choice(["[" * levels + "]" * levels, "{a = " * levels + "1" + "}" * levels, "[" * levels])
    header = rng.choice(["", "", f"[{'.'.join('t' * min(levels, 40))}]\n"])
    begin = rng.choice([found.start() for found in _PAIR.finditer(text)])
    return f"{text[:begin]}{header}deep = {value}\n{text[begin:]}"


def comments(rng: random.Random, text: str) -> str:
    """Nothing that matters: comments, empty lines, spaces, line ends of Windows."""
    rows = text.split("\n")
    rows.insert(rng.choice([0, len(rows)]), rng.choice(['# μ [x] = "', "", "  ", "\t# {"]))
    return rng.choice(["\n", "\r\n"]).join(rows)


def misspelt(rng: random.Random, word: str) -> str:
    """A letter dropped, doubled or swapped with the next."""
    at = rng.randrange(len(word))
    return rng.choice([word[:at] + word[at + 1 :], word[:at] + word[at] + word[at:], swapped(word, at)])


def swapped(word: str, at: int) -> str:
    return word[:at] + word[at + 1 : at + 2] + word[at : at + 1] + word[at + 2 :]


MUTATIONS: list[Mutation] = [
    lines,
    characters,
    strange,
    noise,
    truncated,
    values,
    numbers,
    small_numbers,
    units,
]
MUTATIONS += [names, renamed, tables, unknown, deep, comments]


class Mutant(NamedTuple):
    scene: Path
    how: str
    source: bytes
    once: bool


def mutants(count: int) -> Iterator[Mutant]:
    """The same ones every time: each scene and each way in turn, some damaged twice or three times."""
    rng = random.Random(11)
    texts = {path: path.read_text() for path in FILES}
    for number in range(count):
        path, mutation = FILES[number % len(FILES)], MUTATIONS[number // len(FILES) % len(MUTATIONS)]
        damaged, more = mutation(rng, texts[path]), rng.choice([0, 0, 0, 1, 2])
        for _ in range(more):
            if isinstance(damaged, str) and _PAIR.search(damaged) and _HEADER.search(damaged):
                try:
                    damaged = rng.choice(MUTATIONS)(rng, damaged)
                except (IndexError, ValueError):  # nothing left that could be damaged so
                    break
        source = damaged if isinstance(damaged, bytes) else damaged.encode(errors="surrogatepass")
        yield Mutant(path, mutation.__name__, source, more == 0)


# Judging, in a process of its own -------------------------------------------------------------------


def misplaced(problem: Problem, path: Path, rows: list[bytes]) -> bool:
    """Whether a problem does not name the file and a place in it, in one line that a terminal can show."""
    inside = 1 <= problem.line <= len(rows) and 1 <= problem.column <= len(rows[problem.line - 1]) + 1
    text = str(problem)
    named = text.startswith(f"{path}:{problem.line}:{problem.column}: ")
    return not (inside and named and problem.message and text.isprintable() and len(text) < 2000)


def verdict(path: Path, source: bytes) -> tuple[str, str]:
    """ "accepted", "refused", or what went wrong, and with what words."""
    path.write_bytes(source)
    try:
        scene = validate(load(path)).scene
    except SceneError as error:
        rows = source.split(b"\n")
        wrong = [str(p) for p in error.problems if misplaced(p, path, rows)]
        if wrong or not error.problems or error.exit_code != 2:
            return "misplaced", wrong[0] if wrong else "no problem"
        return "refused", str(error.problems[0])
    except UserError as error:
        return ("refused" if str(path) in str(error) else "unnamed"), str(error)
    except Exception as error:
        return type(error).__name__, str(error)[:300]
    return ("accepted", "") if scene.source == source else ("another scene", "")


def judge_all(folder: Path, count: int) -> None:
    """Judge every mutant in little memory, of which an engine needs 1.2 GB; leave those that are accepted."""
    resource.setrlimit(resource.RLIMIT_AS, (2 * MEMORY, 2 * MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    provided = cache(Registry.load.__func__)  # what plugins have is the same for all
    Registry.load = classmethod(  # type: ignore[assignment, method-assign]
        lambda cls, names=None, files=(): provided(cls, None if names is None else tuple(names))
    )
    outcomes = []
    for number, (scene, how, source, once) in enumerate(mutants(count)):
        outcome, words = verdict(folder / "scene.toml", source)
        outcomes.append((scene.stem, how, outcome, words, once))
        if outcome == "accepted":
            (folder / f"{scene.stem}-{number}.toml").write_bytes(source)
    (folder / "outcomes.json").write_text(json.dumps(outcomes))


def child(call: str, *arguments: object) -> None:
    """A function of this file, in a process of its own."""
    code = f"import sys; from tests.scene import test_mutated_scenes as t; t.{call}(*sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.fixture(scope="module", params=COUNTS)
def count(request: pytest.FixtureRequest) -> int:
    """How many mutants are judged."""
    return request.param


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory, count: int) -> Path:
    """A folder with the outcome of every mutant, those that were accepted, and the scenes' data."""
    folder = tmp_path_factory.mktemp("mutants")
    shutil.copytree(SCENES / "data", folder / "data")
    child("judge_in", folder, count)
    return folder


def judge_in(folder: str, count: str) -> None:
    judge_all(Path(folder), int(count))


def test_mutants_are_accepted_or_refused_at_their_place(judged: Path, count: int, record_property) -> None:
    outcomes = json.loads((judged / "outcomes.json").read_text())
    assert len(outcomes) == count
    wrong = [row for row in outcomes if row[2] not in ("accepted", "refused")]
    assert not wrong, f"{len(wrong)} of {len(outcomes)}: {Counter(row[2] for row in wrong)}\n" + "\n".join(
        f"{row[0]} {row[1]}: {row[2]}: {row[3][:300]}" for row in wrong[:20]
    )
    share = shares(outcomes, 2)
    record_property(
        "shown", f"mutated scenes\n{share['']:.0%} of {len(outcomes)} accepted\n{table(outcomes)}"
    )
    assert 0.1 < share[""] < 0.4
    assert share["unknown"] < 0.15
    harmless = [row[2] for row in outcomes if row[1] == "comments" and row[4]]
    assert len(harmless) > count / 100
    assert set(harmless) == {"accepted"}
    assert {row[0] for row in outcomes if row[2] == "accepted"} == {path.stem for path in FILES}
    assert len({re.sub(r"\S*:\d+:\d+:|\d+|'.*?'", "", row[3]) for row in outcomes}) > 150, (
        "many kinds of mistakes"
    )


def shares(outcomes: list[list[str]], column: int) -> dict[str, float]:
    """The accepted ones among those of each way, and ("") among all."""
    by_way = {
        how: [row[column] == "accepted" for row in rows]
        for how, rows in groupby(sorted(outcomes, key=lambda row: row[1]), lambda row: row[1])
    }
    by_way[""] = [row[column] == "accepted" for row in outcomes]
    return {how: sum(passed) / len(passed) for how, passed in by_way.items()}


def table(outcomes: list[list[str]]) -> str:
    return "\n".join(f"{how:>14} {share:4.0%}" for how, share in shares(outcomes, 2).items() if how)


# Some of those that pass are built and run -----------------------------------------------------------

BUILT = 30
QUICK = ("two_body", "gravity_seed", "outer_solar_system", "stretch", "walker", "spring_stiffness")
"""Scenes of which a run of two steps is short, whatever number is changed in them."""


def run_some(folder: str) -> None:
    """Run accepted mutants for two steps; an exit code, and what was complained of, for each."""
    resource.setrlimit(resource.RLIMIT_DATA, (4 * MEMORY, 4 * MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    outcomes = []
    for path in sample(Path(folder)):
        out, err = StringIO(), StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = cli.main(["run", str(path), "run.steps=2", "--out", str(path.with_suffix(""))])
        outcomes.append((str(path), code, err.getvalue()))
        shutil.rmtree(path.with_suffix(""), ignore_errors=True)
    (Path(folder) / "run.json").write_text(json.dumps(outcomes))


def sample(folder: Path) -> list[Path]:
    """One of each quick scene in turn, until there are enough."""
    chance, files = random.Random(3), [sorted(folder.glob(f"{name}-*.toml")) for name in QUICK]
    for paths in files:
        chance.shuffle(paths)
    turns = [path for turn in zip_longest(*files) for path in turn if path]
    return turns[:BUILT]


def test_mutants_that_pass_are_run_or_refused_at_their_place(judged: Path) -> None:
    child("run_some", judged)
    outcomes = json.loads((judged / "run.json").read_text())
    assert len(outcomes) == BUILT
    for path, code, complaint in outcomes:
        assert "Traceback" not in complaint, (path, complaint)
        assert code in (0, 1, 2, 3, 5), (path, code, complaint)  # 5: a damaged number lets it diverge
        if code == 2:
            assert all(
                line.startswith((f"{path}:", "override 'run.steps=2'")) for line in complaint.splitlines()
            )
        if code == 3:
            assert re.match(r"minusgrad: step \d+: ", complaint), (path, complaint)
    codes = Counter(code for _, code, _ in outcomes)
    assert codes[0] > BUILT // 2, codes


# Every misspelt key ---------------------------------------------------------------------------------

_KEY = r'[A-Za-z0-9_-]+|"[^"\n]*"'
_SPANS = re.compile(
    rf'(?P<header>^\[+)|(?P<comment>#.*)|(?P<key>{_KEY})(?=[ \t]*=)|(?P<text>"[^"\n]*")', re.MULTILINE
)


class Key(NamedTuple):
    """A key where it stands in a text: line and column from 1, its offset, the table that it is a key of."""

    name: str
    line: int
    start: int
    table: tuple[str, ...]


def keys(text: str) -> Iterator[Key]:
    """Every key of a scene as it is written: parts of headers, keys of tables, keys of inline tables."""
    table: tuple[str, ...] = ()
    inline: list[tuple[str, int]] = []
    for found in _SPANS.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        if found["header"]:
            table, inline = (), []
            end = text.index("]", found.start())
            for part in re.compile(_KEY).finditer(text, found.end(), end):
                yield Key(part[0].strip('"'), line, part.start(), table)
                table = (*table, part[0].strip('"'))
        elif found["key"]:
            inline = [(name, end) for name, end in inline if found.start() < end]
            yield Key(found["key"].strip('"'), line, found.start(), (*table, *(name for name, _ in inline)))
            after = re.compile(r"[ \t]*=[ \t]*").match(text, found.end())
            if after and text[after.end()] == "{":
                inline.append((found["key"].strip('"'), closing(text, after.end())))


def closing(text: str, at: int) -> int:
    """Where the inline table ends that begins here."""
    depth = 0
    for end in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if not depth:
            return end
    raise AssertionError("an inline table that does not end")


def free(key: Key) -> str:
    """Why a key may be called anything; empty where it may not."""
    match key.table:
        case ("stepper", "fields" | "next" | "capacities") | ("state" | "initial", "fields" | "moves"):
            return "the name of a field: the state gives them"
        case ("slope", "by" | "factor" | "through", *_):
            return "the name of a field or of a map: they are known when the slope is built"
        case ("ensemble", "vary"):
            return "a key that members differ in: it is known when the template is built"
        case ("view", "inputs"):
            return "the name of a number on the page of a run: the scene gives it"
        case ("fit", "parameters"):
            return "the name of a field, or of a term's parameter"
        case ("fit", "vary"):
            return "a key that is drawn: it is known when the fit is built"
        case ("state", "bodies") if key.name in OrbitingBody.model_fields:
            return ""
        case ("state", "first" | "second", "spheres"):
            return "the name of a sphere of stars: the scene gives it"
        case ("state", "bodies" | "velocities" | "tables" | "coordinates" | "nodes"):
            return "a name of a body, of a table, of a coordinate or of a node: the scene gives it"
        case (
            ("energy", "force" | "youngs_modulus" | "poissons_ratio" | "thermal_expansion")
            | ("magnetic", "charge")
            | ("map", "w" | "b")
        ):
            return "a body's name: the state gives it"
        case ("map" | "energy", "fields" | "sizes") | ("fit", "loss", "fields"):
            return "an argument or a set of the map: it is known when the block is built"
    return ""


def spellings(name: str) -> Iterator[str]:
    """The name with a letter dropped, two swapped, one doubled: at the first, a middle and the last place."""
    for at in sorted({0, len(name) // 2, len(name) - 1}):
        yield name[:at] + name[at + 1 :]
        yield swapped(name, at)
        yield name[:at] + name[at] + name[at:]


def outermost(everything: list[Key]) -> list[Key]:
    """Of keys that tables of one list repeat, the first and the last one."""
    places: dict[tuple[tuple[str, ...], str], list[Key]] = {}
    for key in everything:
        places.setdefault((key.table, key.name), []).append(key)
    return [
        key for key in everything if key in (places[key.table, key.name][0], places[key.table, key.name][-1])
    ]


ALIKE = {("cells", "cell"), ("members", "member"), ("c01", "0c1")}
"""A key, and a misspelling of it that is another key of the same table, or as near to one (c10)."""


def misspellings(text: str, repeated: bool) -> Iterator[tuple[Key, str, str]]:
    """Key, wrong name and text of every misspelling that is another key, and none of the same table.

    `repeated`: of every key of a list of tables.
    """
    everything = list(keys(text))
    for key in everything if repeated else outermost(everything):
        taken = {other.name for other in everything if other.table == key.table}
        for wrong in dict.fromkeys(spellings(key.name)):
            if wrong and wrong not in taken and (key.name, wrong) not in ALIKE and not free(key):
                quoted = f'"{wrong}"' if text[key.start] == '"' else wrong
                length = len(key.name) + (2 if text[key.start] == '"' else 0)
                yield key, wrong, text[: key.start] + quoted + text[key.start + length :]


def complaints(path: Path) -> list[Problem]:
    with pytest.raises(SceneError) as refusal:
        validate(load(path))
    return list(refusal.value.problems)


def counted(data: Any) -> int:
    """How many keys there are in plain data."""
    inside = list(data.values()) if isinstance(data, dict) else data if isinstance(data, list) else []
    return (len(data) if isinstance(data, dict) else 0) + sum(map(counted, inside))


@pytest.mark.parametrize("scene", FILES, ids=lambda path: path.stem)
def test_no_key_of_a_shipped_scene_is_overlooked_here(scene: Path) -> None:
    """`keys` finds as many as TOML does: headers of lists and their prefixes are found more than once."""
    text = scene.read_text()
    data, found = tomllib.loads(text), list(keys(text))
    again = Counter((key.table, key.name) for key in found if text[: key.start].endswith("[["))
    prefixes = Counter(
        (key.table, key.name)
        for key in found
        if text[key.start + len(key.name)] == "." and text[key.start] != '"'
    )
    repeated = sum(count - 1 for count in again.values()) + sum(
        count - (not any((k.table, k.name) == which and text[k.start + len(k.name)] == "]" for k in found))
        for which, count in prefixes.items()
    )
    assert len(found) - repeated == counted(data)
    for key in found:
        assert text[key.start :].lstrip('"').startswith(key.name)


@pytest.mark.parametrize("repeated", sampled([False, True], [False]))
@pytest.mark.parametrize("scene", sampled(FILES, FILES[::9]), ids=lambda path: path.stem)
def test_every_misspelt_key_is_named_at_its_line(scene: Path, repeated: bool, tmp_path, monkeypatch) -> None:
    """And with the right one, which is offered. Only names that the user gives may be any (`free`)."""
    provided = cache(Registry.load.__func__)
    shared = lambda cls, names=None, files=(): provided(cls, names and tuple(names))  # noqa: E731
    monkeypatch.setattr(Registry, "load", classmethod(shared))
    path, count = tmp_path / scene.name, 0
    everything = list(keys(scene.read_text()))
    for key, wrong, text in misspellings(scene.read_text(), repeated):
        path.write_text(text)
        there = [p for p in complaints(path) if p.line == key.line and p.key.split(".")[-1] == wrong]
        assert len(there) == 1, (key, wrong, complaints(path))
        right = {k.name for k in everything if k.table == key.table and wrong in spellings(k.name)}
        wanted = tuple(f"no key '{wrong}'; did you mean '{name}'?" for name in right)  # m is of m1 and m2
        assert there[0].message.startswith(wanted), (key, there[0].message)
        column = key.start - text.rfind("\n", 0, key.start)
        assert there[0].column == column
        count += 1
    assert count > 80


CRYSTALS = ("copper_constants", "silicon", "silicon_tersoff")


def test_the_names_that_may_be_any_are_few(tmp_path: Path) -> None:
    """Of scenes that are no programs."""
    files = [path for path in FILES if load(path).data["stepper"]["kind"] != PROGRAM]
    found = {(path.stem, key.name) for path in files for key in keys(path.read_text()) if free(key)}
    assert found == {
        *((name, "x") for name in ("elastica", "euler_column", "ringing_bar", "stretch")),
        *((name, "x") for name in ("bimetal", "inflated_tube", "nafems_le11")),
        *((name, "T") for name in ("bimetal_heating", "nafems_le11", "quenched_bar")),
        *(("two_bar_truss", name) for name in ("feet", "top")),
        ("double_pendulum", "q"),
        *(("galaxy_collision", name) for name in ("halo", "bulge")),
        ("foucault", "x"),
        *(("diamond_frame", name) for name in ("below", "right", "above", "left")),
        *(("swing_up", name) for name in ("a", "s")),
        *(("laser_butterfly", name) for name in ("x", "y", "power", "speed")),
        *(("laser_image", name) for name in ("x", "y", "power", "speed")),
        *(("two_photon", name) for name in ("x", "y", "power", "speed")),
        *(("engraver_text", name) for name in ("x", "y", "power", "speed", "picture")),
        *(("process_window", name) for name in ("x", "y", "power", "speed")),
        *(("crossed_fields", name) for name in ("electron", "proton")),
        *(("slider_crank", name) for name in ("centre", "pin", "slider")),
        ("catenary", "nails"),
        *(("strip_from_photo", name) for name in ("rod.youngs_modulus", "rod_first.angle")),
        *(("rods_from_path", name) for name in ("end", "nail", "rod.length")),
        ("swing_up", "motor.a"),
        *(("calibration", name) for name in ("nail", "bob", "spring.stiffness", "state.m", "state.x")),
        *(("double_pendulums", f"state.angles.{k}") for k in (0, 1)),
        ("lj_minima", "runtime.seed"),
        *(("fibre_composite", name) for name in ("fibre", "matrix")),
        *(("bimetal", name) for name in ("brass", "invar")),
        ("uncertain_beam", "x"),
        *(("stability_map", f"state.bodies.1.{name}") for name in ("semi_major_axis", "eccentricity")),
        ("spring_stiffness", "corners"),
        ("spring_stiffness", "spring.stiffness"),
        ("walker", "feet"),
        ("walker", "back"),
        ("walker", "muscle.amplitude"),
        ("walker", "muscle.phase"),
        *(("weigh_a_planet", name) for name in ("m", "x", "v")),
        ("volume_renderer", "density"),
        *(("wave_energy", name) for name in ("height", "speed")),
        *((name, unknown) for name in CRYSTALS for unknown in ("x", "box")),
        *(
            ("stiffness_from_shape", f"neo_hookean.{modulus}")
            for modulus in ("youngs_modulus", "poissons_ratio")
        ),
        *(("topology", name) for name in ("design", "u", "x")),
    }


MADE = {"stretch": build, "weigh_a_planet": lambda path: ParameterFit(validate(load(path)))}


@pytest.mark.parametrize(
    ("scene", "old", "new", "named"),
    [
        ("stretch", "fields = { x =", "fields = { xx =", "[stepper]"),
        ("crossed_fields", "charge = { electron", "charge = { elektron", "[[magnetic]]"),
        ("weigh_a_planet", "[fit.parameters.m]", "[fit.parameters.mm]", "[fit.parameters.mm]"),
        ("spring_stiffness", "corners = [0, 4]", "corner = [0, 4]", "[[hold]]"),
    ],
)
def test_a_misspelt_name_of_the_users_is_told_while_building(
    scene: str, old: str, new: str, named: str, tmp_path: Path
) -> None:
    shutil.copytree(SCENES / "data", tmp_path / "data")
    text = (SCENES / f"{scene}.toml").read_text()
    assert old in text
    (tmp_path / "scene.toml").write_text(text := text.replace(old, new))
    with pytest.raises(SceneError) as refusal:
        MADE.get(scene, build)(tmp_path / "scene.toml")
    (problem,) = refusal.value.problems
    assert text.split("\n")[problem.line - 1] == named, problem
    assert re.match(r"no (field|body) named '", problem.message), problem
