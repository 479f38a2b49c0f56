"""Streams that are closed, full or read by nobody, and other poor surroundings: no run is hurt by them."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from minusgrad.app import cli
from minusgrad.app.progress import progress
from minusgrad.app.runs import run
from minusgrad.app.streams import SafeStream
from minusgrad.app.verify import verify
from minusgrad.engine import runtime
from minusgrad.errors import printable
from tests.support.command import MINUSGRAD, SCENES, complaints, files, minusgrad
from tests.support.tiers import sampled

RUN = [MINUSGRAD, "run", SCENES / "two_body.toml", "run.steps=20", "--out", "run", "--force"]
SHOWN = "run: 20 steps, t = 0.1\n"
FULL = "minusgrad: stdout: cannot be written: No space left on device"


@pytest.fixture(autouse=True)
def no_plugins_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests before these may have loaded plugins that are objects of test modules."""
    monkeypatch.setattr("minusgrad.assembly.registry.packages_of_others", set())


def shell(line: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """A line of sh in which "$@" is the run."""
    return subprocess.run(
        ["sh", "-c", line, "sh", *map(str, RUN)],
        cwd=folder,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
    )


def outcome(folder: Path) -> str:
    return json.loads((folder / "run" / "journal.jsonl").read_text().splitlines()[-1])["event"]


LINES = {
    '"$@" 2>&-': (SHOWN, ""),
    '"$@" >&-': ("", ""),
    '"$@" <&- >&- 2>&-': ("", ""),
    '"$@" > /dev/full': ("", f"{FULL}; the run folder is complete\n"),
    '"$@" 2> /dev/full': (SHOWN, ""),
    '"$@" > /dev/full 2> /dev/full': ("", ""),
}


@pytest.mark.parametrize("line", sampled(LINES, ['"$@" <&- >&- 2>&-', '"$@" > /dev/full', '"$@" 2>&-']))
def test_a_run_is_saved_and_ends_with_its_own_code(line: str, tmp_path: Path) -> None:
    said, complained = LINES[line]
    done = shell(line, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout[: len(said)] == said
    assert bool(done.stdout) == bool(said)
    assert complaints(done.stderr) == complained
    assert outcome(tmp_path) == "finished"
    assert all(answer.passed for answer in verify(tmp_path / "run"))


def test_what_a_library_prints_reaches_no_file_of_a_run(tmp_path: Path) -> None:
    """With descriptor 1 closed, the next file that is opened gets its number."""
    code = (
        "import os, sys\n"
        "from minusgrad.app import cli\n"
        "from minusgrad.app.jobs import job_runs\n"
        "looked = job_runs._ready\n"
        "def loud(job):\n"
        "    os.write(1, b'printed by a library')\n"
        "    os.write(2, b'printed by a library')\n"
        "    return looked(job)\n"
        "job_runs._ready = loud\n"
        "sys.exit(cli.main(sys.argv[1:]))\n"
    )
    line = '"$@" <&- >&- 2>&-'
    words = ["sh", "-c", line, "sh", sys.executable, "-c", code, *map(str, RUN[1:])]
    assert subprocess.run(words, cwd=tmp_path).returncode == 0
    assert b"printed by a library" not in b"".join(files(tmp_path / "run").values())


def test_output_that_is_the_result_must_be_written(tmp_path: Path) -> None:
    """Where nothing else is left of a verb, an output that is lost is a failure."""
    done = shell(f"{MINUSGRAD} plugins > /dev/full", tmp_path)
    assert (done.returncode, done.stderr) == (3, f"{FULL}\n")


def test_the_code_of_a_verb_does_not_depend_on_its_reader(tmp_path: Path) -> None:
    """`minusgrad verify RUN | head -0`: findings remain findings."""
    run(RUN[2], {"run.steps": 2}, tmp_path / "run")
    (tmp_path / "run" / "overrides.json").write_text("[]")
    reader, writer = os.pipe()
    os.close(reader)
    words = [MINUSGRAD, "verify", "run"]
    done = subprocess.run(words, cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize(("target", "code"), [("/dev/full", 3), (None, 0)])
def test_an_export_that_nobody_reads_ends_at_once(
    target: str | None, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = 0

    def endless(folder, names, out) -> int:
        nonlocal rows
        while True:
            rows += 1
            out.write("0.1,0.2\n")

    monkeypatch.setattr("minusgrad.app.results.csv_export.export", endless)
    reader, writer = os.pipe()
    os.close(reader)
    stream = os.fdopen(os.open(target, os.O_WRONLY) if target else writer, "w")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        assert cli.main(["export", "run"]) == code
    stream.close()  # raises nothing: what is left goes to the null device
    assert 0 < rows < 100_000
    assert capsys.readouterr().err == (f"{FULL}\n" if target else "")


@pytest.mark.parametrize("engine", sampled(runtime.PREFIXES, ["taichi"]))
def test_without_a_home(engine: str, tmp_path: Path) -> None:
    """Services and some containers have no HOME; the engines ended the process by SIGABRT."""
    env = {k: v for k, v in os.environ.items() if k != "HOME"} | {runtime.VARIABLE: engine}
    code = "from minusgrad.engine import runtime; runtime.start(); import os; print(os.environ['HOME'])"
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert os.access(done.stdout.strip(), os.W_OK)


@pytest.mark.parametrize("encoding", sampled(["ascii", "iso8859-1"], ["ascii"]))
def test_a_terminal_that_lacks_a_letter(encoding: str, tmp_path: Path) -> None:
    """Units and names have letters that not every locale can write."""
    scene = (SCENES / "two_body.toml").read_text()
    title = scene.replace('title = "', 'title = "Ω ', 1) if "title = " in scene else f'title = "Ω"\n{scene}'
    (tmp_path / "letter.toml").write_text(title)
    run(tmp_path / "letter.toml", {"run.steps": 2}, tmp_path / "runs" / "letter")
    done = minusgrad("info", "runs/letter", cwd=tmp_path, PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u03a9" in done.stdout


def test_a_working_folder_that_has_been_deleted(tmp_path: Path) -> None:
    done = shell('mkdir gone && cd gone && rmdir ../gone && exec "$@"', tmp_path)
    text = "minusgrad: the working folder has been deleted; change to another folder\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", text)


@pytest.mark.parametrize("columns", ["0", "1", "-3", "many"])
def test_a_terminal_of_any_width(columns: str, invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("TERM", "dumb")
    for words in (["plugins"], ["--help"], ["run", "--help"]):
        code, out, err = invoke(*words)
        assert (code, err) == (0, "")
        assert out


def test_the_package_is_a_program() -> None:
    words = [sys.executable, "-m", "minusgrad", "--version"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()[0], done.stderr) == (0, "minusgrad", "")


class Full(io.StringIO):
    """A terminal on a full disk."""

    def __init__(self, terminal: bool):
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")

    flush = write  # type: ignore[assignment]


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_that_cannot_be_shown(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of a run that Python started."""
    monkeypatch.setattr("minusgrad.app.progress.time.monotonic", iter(range(0, 10_000, 10)).__next__)
    with progress(0, 10, Full(terminal)) as tell:
        tell(5)


def test_progress_of_a_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with progress(0, 10) as tell:
        tell(5)


def test_a_safe_stream_keeps_the_first_failure() -> None:
    stream = SafeStream(Full(False))
    assert stream.write("one") == 3
    stream.flush()
    assert str(stream.failure) == "[Errno 28] No space left on device"


@pytest.mark.parametrize("engine", sampled(runtime.PREFIXES, ["taichi"]))
def test_the_engines_print_nothing_of_their_own(engine: str, tmp_path: Path) -> None:
    """Neither a greeting in a notebook, nor a warning that a machine without a GPU has no driver."""
    code = (
        "import io, sys\n"
        "sys.stdout = io.StringIO()\n"
        "from minusgrad.app import cli\n"
        "sys.exit(cli.main(sys.argv[1:]))\n"
    )
    words = [sys.executable, "-c", code, *map(str, RUN[1:]), "runtime.arch=cuda"]
    env = {**os.environ, runtime.VARIABLE: engine}
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True)
    if done.returncode == 0:
        pytest.skip("this machine has cuda")
    text = "arch 'cuda' is not available on this machine; use arch = \"cpu\""
    said = done.stderr.removeprefix("minusgrad: loading ...\n")  # on a machine that is busy
    assert said == f"override 'runtime.arch=cuda': runtime.arch: {text}\n"


def test_control_characters_are_escaped_but_for_our_own() -> None:
    out = io.StringIO()
    stream = SafeStream(out)
    assert stream.write("a\tb\x1b[31m\x9b\u202e\x07é\n") == len("a\tb\x1b[31m\x9b\u202e\x07é\n")
    with stream.drawing():
        stream.write("\x1b[1mours\x1b[0m")
    stream.write("\r")
    assert out.getvalue() == "a\tb\\x1b[31m\\x9b\\u202e\\x07é\n\x1b[1mours\x1b[0m\\r"


def test_joiners_of_letters_are_no_control_characters() -> None:
    """Persian, Hindi and emoji are written with them; a space without width hides a difference."""
    out = io.StringIO()
    SafeStream(out).write("\u0645\u06cc\u200c\u062e \U0001f469\u200d\U0001f680 a\u200bb")
    assert out.getvalue() == "\u0645\u06cc\u200c\u062e \U0001f469\u200d\U0001f680 a\\u200bb"
    assert (
        printable("\u0645\u06cc\u200c\u062e \U0001f469\u200d\U0001f680 a\u200bb\n") == out.getvalue() + "\\n"
    )


BAR = """
import sys
from rich.console import Console
from minusgrad.plugin import Record, hookimpl

class Bars(Record):
    def make(self, context):
        print("\\r\\x1b[32m50 %\\x1b[0m", end="")
        sys.stderr.write("\\x1b[2K")
        Console(force_terminal=True, color_system="standard").print("[red]rich[/red]")
        raise ValueError("\\x1b[31merror")

@hookimpl
def register_states():
    return {"bars": Bars}
"""
BARS = """
[state]
kind = "bars"
[[energy]]
kind = "gravity"
G = 1.0
[stepper]
kind = "leapfrog"
dt = 0.1
[run]
steps = 1
"""


def test_a_progress_bar_of_a_plugin_reaches_the_terminal_and_what_we_print_of_it_is_escaped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whichever library draws it; an error of the plugin is printed by us."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "bars.py").write_text(BAR)
    (tmp_path / "scene.toml").write_text(BARS)
    code = cli.main(["run", "scene.toml", "--plugin", "bars.py"])
    out, err = capsys.readouterr()
    assert code != 0
    assert out == "\r\x1b[32m50 %\x1b[0m\x1b[31mrich\x1b[0m\n"
    assert err.startswith("\x1b[2Kscene.toml:2:2: ")
    assert "\\x1b[31merror" in err
    assert "\x1b[31merror" not in err


def test_what_our_own_code_prints_for_a_plugin_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The innermost of our frames and those of plugins decides, not who asked first."""
    out = io.StringIO()
    stream = SafeStream(out)
    monkeypatch.setattr("minusgrad.assembly.registry.packages_of_others", {"theirs"})
    theirs = {"__name__": "theirs.bars", "stream": stream}
    exec("def say(text): stream.write(text)\ndef ask(do): do('\\x07')", theirs)
    ours = {"__name__": "minusgrad.app.made_up", "say": theirs["say"], "stream": stream}
    exec("def show(text): stream.write(text)\ndef call(): say('\\x1b')", ours)
    library = {"__name__": "meshlane.made_up", "stream": stream}
    exec("def warn(text): stream.write(text)", library)
    for begin in (ours["call"], lambda: theirs["ask"](ours["show"]), lambda: theirs["ask"](library["warn"])):
        begin()
    library["warn"]("\x1b")
    assert out.getvalue() == "\x1b" + "\\x07" + "\x07" + "\\x1b"
