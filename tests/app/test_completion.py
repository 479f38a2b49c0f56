"""What a shell completes: the words of `minusgrad completion`, as bash, zsh and fish understand them."""

import argparse
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from minusgrad.app import cli
from minusgrad.app.verbs import LISTS, VERBS
from minusgrad.app.verbs.completion_script import SHELLS

pytestmark = pytest.mark.unit


def completed(script: str, line: str, folder: Path) -> list[str]:
    """The words that bash offers for the last word of a line."""
    words = line.split(" ")
    array = " ".join(f"'{word}'" for word in words)
    asked = f"COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}; _minusgrad"
    code = f'{script}\n{asked}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", code], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.fixture
def bash(invoke: Callable) -> str:
    code, out, err = invoke("completion", "bash")
    assert (code, err) == (0, "")
    return out


def test_bash_completes_verbs_options_choices_names_and_files(bash: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("")
    assert completed(bash, "minusgrad mo", tmp_path) == ["movie", "modes"]
    assert completed(bash, "minusgrad las", tmp_path) == ["laser"]
    assert completed(bash, "minusgrad run two_", tmp_path) == ["two_bar_truss", "two_body", "two_photon"]
    assert completed(bash, "minusgrad run m", tmp_path) == [
        *("mass_spring", "mercury", "mpm_lagrangian", "mine.toml")
    ]
    assert completed(bash, "minusgrad run mine.toml --fo", tmp_path) == ["--force"]
    assert completed(bash, "minusgrad export runs/a --format ", tmp_path) == [
        "csv", "xyz", "extxyz", "pdb", "lammps-data", "dcd", "xtc", "vtu"
    ]  # fmt: skip
    assert completed(bash, "minusgrad completion ", tmp_path)[:3] == ["bash", "zsh", "fish"]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_verb_and_option_is_in_the_script(shell: str, invoke: Callable) -> None:
    text = invoke("completion", shell)[1]
    for name, parser in cli.verbs_of(cli.parser_of([*VERBS])).items():
        shown = (a for a in parser._actions if a.help is not argparse.SUPPRESS)
        long = [option for a in shown for option in a.option_strings if option.startswith("--")]
        of = [line for line in text.splitlines() if f"{name})" in line or f"_from {name}'" in line]
        lines = "\n".join(of)
        assert [o for o in long if (f"-l {o[2:]} " if shell == "fish" else o) not in lines] == []


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_can_read_the_script(shell: str, invoke: Callable, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    (tmp_path / "script").write_text(invoke("completion", shell)[1])
    done = subprocess.run([shell, "-n", tmp_path / "script"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


# The options of all verbs ---------------------------------------------------------------------------


FORMER = {"movie": "--to", "check": "--to", "view": "--save", "bench": "--json"}
"""The names of `--out` in earlier versions, which are still understood."""


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_written_has_one_name_in_every_verb(verb: str) -> None:
    """An option whose text says that a file or folder is written is `--out`."""
    parser = cli.verbs_of(cli.parser_of([verb]))[verb]
    shown = [a for a in parser._actions if a.help is not argparse.SUPPRESS]
    writes = ("to write", "folder of the", "folder for", "a new or empty folder", "write one", "write the")
    named = [a.option_strings for a in shown if a.option_strings and (a.help or "").startswith(writes)]
    named += [a.option_strings for a in shown if (a.help or "").startswith("file to write")]
    assert all(strings == ["-o", "--out"] for strings in named)
    assert not {"--to", "--save", "--output"} & {o for a in shown for o in a.option_strings}


@pytest.mark.parametrize(("verb", "former"), FORMER.items())
def test_the_former_name_is_understood_and_not_shown(verb: str, former: str, invoke: Callable) -> None:
    words = {"movie": ["run"], "check": ["gravity"], "view": ["run"]}.get(verb, [])
    parse = cli.parser_of([verb]).parse_args
    assert parse([verb, *words, former, "a"]).out == Path("a") == parse([verb, *words, "--out", "a"]).out
    assert parse([verb, *words]).out is None
    assert former not in invoke(verb, "--help")[1]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_that_says_how_far_it_is_can_be_quiet(verb: str) -> None:
    options = cli.verbs_of(cli.parser_of([verb]))[verb]._option_string_actions
    assert ("--quiet" in options) == ("-q" in options) == (verb not in LISTS)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rnu"], "no verb named 'rnu'; did you mean 'run'? ("),
        (["lasr"], "no verb named 'lasr'; did you mean 'laser'? ("),
        (["qqqqqq"], "no verb named 'qqqqqq' (`minusgrad --help` lists them)"),
        (["run", "two_body", "--ot_", "x"], "unrecognized arguments: --ot_ x; did you mean '--out'?"),
        (["movie", "runs/a", "--filed", "x"], "unrecognized arguments: --filed x; did you mean '--field'?"),
    ],
)
def test_a_mistyped_word_is_answered_with_the_one_that_is_meant(
    words: list[str], said: str, invoke: Callable
) -> None:
    code, out, err = invoke(*words)
    assert (code, out) == (2, "")
    assert said in err


def test_quiet_leaves_the_results_and_the_errors(
    invoke: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from minusgrad.app.verbs import first_steps
    from minusgrad.app.verbs.shared_options import complain
    from minusgrad.errors import UserError

    def verb(a: argparse.Namespace) -> int:
        complain("a remark")
        print("a result")
        if a.name == "wrong":
            raise UserError("a mistake")
        return 0

    monkeypatch.setattr(first_steps, "init", verb)
    assert invoke("init", "right") == (0, "a result\n", "minusgrad: a remark\n")
    assert invoke("init", "right", "--quiet") == (0, "a result\n", "")
    assert invoke("init", "wrong", "-q") == (2, "a result\n", "minusgrad: a mistake\n")
