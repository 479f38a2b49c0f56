"""Verbs of plugins: found in metadata, imported when used; of two owners both are refused."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

import minusgrad
from minusgrad.app import cli
from minusgrad.app.verbs import plugin_verbs

pytestmark = pytest.mark.unit

COUNT = '''
    """Count to a number."""
    def options(parser):
        parser.add_argument("number", type=int)
    def run(arguments):
        print(*range(1, arguments.number + 1))
        return 1
    '''


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Put a distribution with verbs on the path, as pip does."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)

    def put(distribution: str, verbs: dict[str, str], **modules: str) -> Path:
        info = site / f"{distribution}-1.5.dist-info"
        info.mkdir()
        rows = [f"{name} = {target}" for name, target in verbs.items()]
        lines = ["[console_scripts]", "x = y", f"[{plugin_verbs.GROUP}]", *rows, "", "[other]", "z = w"]
        (info / "entry_points.txt").write_text("\n".join(lines))
        for name, text in modules.items():
            (site / f"{name}.py").write_text(dedent(text).lstrip())
            monkeypatch.delitem(sys.modules, name, raising=False)
        return site

    return put


def test_a_stranger_brings_a_verb(install, invoke) -> None:
    install("tally", {"count-up": "tally_count"}, tally_count=COUNT)
    assert invoke("count-up", 3) == (1, "1 2 3\n", "")
    code, out, _ = invoke("count-up", "--help")
    assert code == 0
    assert out.startswith("usage: minusgrad count-up [-h] [-q] number\n\nCount to a number\n")


def test_help_names_it_without_its_import(install) -> None:
    site = install("tally", {"count-up": "tally_count"}, tally_count='"""Count by 1/0 %."""\n1 / 0\n')
    code = f"import sys; sys.path.insert(0, {str(site)!r})\nfrom minusgrad.app.cli import main\n"
    code += "try: main(sys.argv[1:])\nexcept SystemExit: pass\n"
    code += "print({'tally_count', 'minusgrad_laser', 'importlib.metadata', 'numpy'} & set(sys.modules))"
    call = [sys.executable, "-S", "-c", code, "--help"]  # without site, whose editable installs import more
    homes = [str(Path(minusgrad.__file__).parents[1]), *sys.path]
    done = subprocess.run(call, capture_output=True, text=True, env={"PYTHONPATH": ":".join(homes)})
    assert done.stdout.splitlines()[-1] == "set()", done.stderr
    assert " ".join(done.stdout.split()).count("count-up Count by 1/0 %") == 1


def test_ours_is_among_them(invoke) -> None:
    (laser,) = plugin_verbs.installed()["laser"]
    assert (laser.distribution, laser.target) == ("minusgrad", "minusgrad_laser.tool.command")
    code, out, _ = invoke("--help")
    assert code == 0
    assert laser.help.split(":")[0] in out


def test_a_module_without_a_docstring_or_a_file(install) -> None:
    install("tally", {"a": "tally_bare", "b": "no_such.module"}, tally_bare="options = run = None\n")
    found = plugin_verbs.installed()
    assert [found[name][0].help for name in "ab"] == ["of tally 1.5"] * 2


def test_two_owners_of_one_name(install, invoke) -> None:
    install("tally", {"count-up": "tally_count"}, tally_count=COUNT)
    install("other", {"count-up": "tally_count"})
    text = "two commands are named 'count-up', of other 1.5 and tally 1.5; uninstall one"
    assert invoke("count-up", 3) == (2, "", f"minusgrad: {text}\n")
    code, out, _ = invoke("--help")
    assert code == 0
    assert "of 2 plugins, which cannot be" in " ".join(out.split())


def test_no_stranger_takes_a_name_of_ours(install, invoke) -> None:
    install("tally", {"run": "tally_count"}, tally_count=COUNT)
    text = "command 'run' (tally 1.5) has the name of a command of minusgrad; uninstall tally"
    assert invoke("run", 3) == (2, "", f"minusgrad: {text}\n")
    assert invoke("scenes", "tests/nothing")[2].startswith("minusgrad: tests/nothing: contains no scenes")


def test_one_that_cannot_be_imported(install, invoke) -> None:
    install("tally", {"count-up": "tally_broken"}, tally_broken="1 / 0\n")
    text = (
        "command 'count-up' (tally 1.5): tally_broken cannot be imported: "
        "ZeroDivisionError('division by zero')"
    )
    assert invoke("count-up", 3) == (2, "", f"minusgrad: {text}\n")


def test_an_error_of_its_code_names_the_stranger(install, capsys) -> None:
    install("tally", {"count-up": "tally_fails"}, tally_fails=COUNT.replace("print(", "1 / 0, print("))
    assert cli.main(["count-up", "3"]) == 3
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("Traceback")
    said = "error in command 'count-up' (tally 1.5); please report the traceback above to its authors"
    assert lines[-1] == f"minusgrad: {said}"


def test_a_copy_later_on_the_path_does_not_count(install, tmp_path: Path, monkeypatch) -> None:
    site = install("tally", {"count-up": "tally_count"}, tally_count=COUNT)
    later = tmp_path / "later"
    (later / "tally-0.9.dist-info").mkdir(parents=True)
    (later / "tally-0.9.dist-info/entry_points.txt").write_text("[minusgrad.commands]\nold = tally_old\n")
    monkeypatch.setattr(sys, "path", [str(site), str(later)])
    assert plugin_verbs.installed().keys() == {"count-up"}
