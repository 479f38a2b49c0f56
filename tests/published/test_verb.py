"""`minusgrad validate`: the table, its JSON, exit codes, rows that crash or lack something, Ctrl-C."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from minusgrad.app import cli
from minusgrad.app.verbs import FOUR_QUESTIONS
from minusgrad.published import measuring
from minusgrad.published.outcome import Outcome
from tests.support.command import start

STRANGE = """
import os, signal
from minusgrad.plugin import hookimpl, published_value

ROWS = []

def row(name, compute, value=1.0, **more):
    compute.__doc__ = "A number"
    more.setdefault("tolerance", 1e-3)
    more |= {"area": "strange", "why": "of a test", "source": "nobody"}
    ROWS.append(published_value(name, value=value, **more)(compute))

row("right", lambda place: 1.0005, quick=True)
row("wrong", lambda place: 1.0015)
row("raises", lambda place: {}["mass"])
row("exits", lambda place: os._exit(3))
row("crashes", lambda place: os.kill(os.getpid(), signal.SIGSEGV))
row("no number", lambda place: float("nan"))
row("two numbers", lambda place: [1.0, 2.0])
row("prints", lambda place: print("noise") or 1.0)
row("two of them", lambda place: [1.0, 20.0], value=[1.0, 20.0], tolerance=[1e-3, 0.1])
row("a bound", lambda place: 0.9, at_most=True, tolerance=None)
row("beyond a bound", lambda place: 1.1, at_most=True, tolerance=None)
row("of a file", lambda place: float(place.data_bytes("one.txt")), data=["one.txt"])
row("of a module", lambda place: 1.0, needs=["nobody_has_this"])
row("a folder", lambda place: 1.0 + len([*place.folder.iterdir()]))
row("a scene", lambda place: float(place.scene("two_body").is_file()))
row("beside scenes", lambda place: float(b"vx" in place.scene_bytes("data/figure_eight.csv")))

@hookimpl
def register_published_values():
    return ROWS
"""
PASS = ("right", "prints", "two of them", "a bound", "a folder", "a scene", "beside scenes")


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    path = tmp_path / "strange.py"
    path.write_text(STRANGE)
    return path


def test_rows_that_crash_do_not_stop_the_others(strange: Path, tmp_path: Path, capsys) -> None:
    call = ["validate", "--only", "strange", "--plugin", str(strange), "--json", str(tmp_path / "v.json")]
    assert cli.main(call) == 1
    out = capsys.readouterr().out
    data = json.loads((tmp_path / "v.json").read_text())
    answers = {row["name"]: row["answer"] for row in data["rows"]}
    messages = {row["name"]: row["message"] for row in data["rows"]}
    lacking = {"of a file": "needs --data", "of a module": "needs nobody_has_this"}
    assert {name for name, answer in answers.items() if answer == "pass"} == {*PASS}
    assert {name: answer for name, answer in answers.items() if answer.startswith("needs")} == lacking
    assert data["summary"].endswith("7 pass, 7 fail, 2 not computed")
    assert data["complete"]
    assert messages["raises"] == "KeyError: 'mass'"
    assert messages["exits"].startswith("the process ended with 3")
    assert messages["crashes"].startswith("the process died of SIGSEGV")
    assert messages["two numbers"] == "two numbers: 1 numbers are published, got 2"
    assert {row["name"]: row["ours"] for row in data["rows"]}["no number"] == ["nan"]
    assert "noise" not in out
    assert all(name in out for name in answers)


def test_files_of_others(strange: Path, tmp_path: Path, capsys) -> None:
    call = ["validate", "--only", "of a file", "--plugin", str(strange), "--data", str(tmp_path / "files")]
    (tmp_path / "files").mkdir()
    assert cli.main(call) == 0
    assert "needs --data with one.txt" in capsys.readouterr().out
    (tmp_path / "files/one.txt").write_text("1.0")
    assert cli.main(call) == 0
    assert "1 pass" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--only", "celestal"], "no row and no area is named 'celestal'; did you mean 'celestial'?"),
        (["--only", "Keplr"], "no row and no area is named 'Keplr'; did you mean 'Kepler'?"),
        (["--data", "nowhere"], "--data: needs a folder, got nowhere"),
        (["--only", "wrong", "--quick"], "validate: no row is left"),
        (["--list", "--json", "nowhere/v.json"], "--list: computes nothing to write, got a file"),
        (["--only", "right", "--json", "nowhere/v.json"], "nowhere/v.json: cannot be written"),
    ],
)
def test_wrong_arguments(arguments, text, strange, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["validate", *arguments, "--plugin", str(strange)]) == 2
    assert text in capsys.readouterr().err


def test_the_list_computes_nothing(strange, monkeypatch, capsys) -> None:
    monkeypatch.setattr(measuring, "outcomes", lambda *_: pytest.fail("computes"))
    assert cli.main(["validate", "--list", "--only", "right", "celestial", "--plugin", str(strange)]) == 0
    out = capsys.readouterr().out
    assert "figure eight" in out
    assert "right" in out
    assert "wrong" not in out


def interrupted(real: Callable) -> Callable:
    """Ctrl-C while the second row is computed."""

    def outcomes(rows, *rest):
        yield Outcome.of_numbers(rows[0], [1.0], 0.1)
        raise KeyboardInterrupt

    return outcomes


def test_an_interrupted_table_keeps_what_is_done(strange, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(measuring, "outcomes", interrupted(measuring.outcomes))
    call = ["validate", "--only", "strange", "--plugin", str(strange), "--out", str(tmp_path / "v.json")]
    assert cli.main(call) == 130
    out, err = capsys.readouterr()
    assert "1 rows in 0 s: 1 pass" in out
    assert "stopped after 1 of 16 rows" in err
    data = json.loads((tmp_path / "v.json").read_text())
    assert [row["name"] for row in data["rows"]] == ["right"]
    assert not data["complete"]


SLEEPER = """
import os, time
from pathlib import Path
from minusgrad.plugin import hookimpl, published_value

def sleep(place):
    Path("pid.txt").write_text(str(os.getpid()))
    time.sleep(600)

sleep.__doc__ = "A number"

@hookimpl
def register_published_values():
    words = {"area": "strange", "why": "of a test", "source": "nobody"}
    return [published_value("sleeper", value=1.0, tolerance=1.0, **words)(sleep)]
"""


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def waited(happened: Callable[[], bool]) -> None:
    """Return once it has happened, and fail where it does not."""
    for _ in range(3000):
        if happened():
            return
        time.sleep(0.1)
    pytest.fail("has not happened")


def test_the_process_of_the_rows_ends_with_the_command(tmp_path: Path) -> None:
    """Also where the command is killed."""
    (tmp_path / "sleeper.py").write_text(SLEEPER)
    command = start("validate", "--only", "sleeper", "--plugin", "sleeper.py", cwd=tmp_path)
    file = tmp_path / "pid.txt"
    waited(lambda: file.is_file() and file.read_text() != "")
    pid = int(file.read_text())
    assert lives(pid)
    command.kill()
    command.communicate()
    waited(lambda: not lives(pid))


@pytest.mark.unit
@pytest.mark.parametrize("verb", FOUR_QUESTIONS)
def test_help_says_what_four_verbs_are_for(verb: str, capsys) -> None:
    with pytest.raises(SystemExit):
        cli.main([verb, "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert all(f"{name}: {question}" in lines for name, question in FOUR_QUESTIONS.items())


def test_rows_are_chosen_by_the_beginning_of_their_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["validate", "--list", "--only", "nafems", "KEPLER"]) == 0
    out = capsys.readouterr().out
    assert "NAFEMS LE10" in out
    assert "Kepler e = 0.999" in out
    assert "Cook" not in out
