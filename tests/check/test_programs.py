"""Programs as they are: tapes in `main`, in methods and loops, windows, architectures, folders."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from minusgrad.app.plugin_kit import check_process
from minusgrad.app.plugin_kit.process_end import ProcessEnd
from minusgrad.app.plugin_kit.scaffold import new_plugin
from minusgrad.check.outcomes import NOT_ASKED, RIGHT, WRONG, outcome
from minusgrad.check.programs.modules_beside import BesideTheFile
from minusgrad.check.programs.windows import PATIENCE, STEPS, ClosingWindow, ProgramEnd
from minusgrad.check.questions import Finding
from minusgrad.errors import UserError

Asked = Callable[..., list[Finding]]


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    def ask(text: str, name: str = "program.py", seconds: float = 200.0) -> list[Finding]:
        file = tmp_path / name
        file.write_text(text)
        return list(check_process.findings([str(file)], seconds=seconds))

    return ask


MAIN = """
import taichi as ti
import struct_of_mine
ti.init(arch=ti.gpu)
x = ti.field(ti.f32, 4, needs_grad=True)
w = ti.field(ti.f32, 4)
loss = ti.field(ti.f32, (), needs_grad=True)

@ti.kernel
def energy(a: ti.f32):
    for i in x:
        loss[None] += a * w[i] * ti.sin(x[i])

@ti.kernel
def step():
    for i in x:
        x[i] -= 0.1 * x.grad[i]

class Descent:
    def __init__(self):
        self.gui = ti.GUI("energy")
        self.window = ti.ui.Window("energy", (64, 64))

    def run(self, scale):
        while self.gui.running and not self.gui.get_event(ti.GUI.ESCAPE):
            with ti.ad.Tape(loss):
                for factor in [scale * k for k in range(1, 3)]:
                    energy(FACTOR)
            step()
            self.gui.circles(x.to_numpy(), radius=2)
            self.gui.show()
            self.window.get_canvas().circles(x, 0.1)
            self.window.show()

if __name__ == "__main__":
    for k in range(4):
        x[k], w[k] = 0.3 * k, struct_of_mine.weight(k)
    Descent().run(0.5)
"""


def test_a_tape_in_a_method_that_main_calls_is_asked_where_it_is_entered(
    asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Headless, on the CPU, with the modules beside it, and in spite of a `struct.py` there."""
    (tmp_path / "struct_of_mine.py").write_text(
        "import struct\n\ndef weight(k):\n    return 1.0 + struct.calcsize('d') * k\n"
    )
    (tmp_path / "struct.py").write_text("raise RuntimeError('not the struct of Python')\n")
    monkeypatch.chdir(tmp_path)
    found = asked(MAIN.replace("FACTOR", "factor"))
    assert outcome(found) == RIGHT
    assert {f.argument for f in found if f.question == "reverse"} == {"x"}


def test_a_program_that_never_reaches_its_tape_is_not_asked(asked: Asked, tmp_path: Path) -> None:
    (tmp_path / "struct_of_mine.py").write_text("weight = float\n")
    found = asked(MAIN.replace("FACTOR", "factor").replace("    Descent().run(0.5)", "    pass"))
    assert outcome(found) == NOT_ASKED
    assert "the program never gets here" in found[0].text
    assert "'scale' has no value" in found[0].text


MODULES = """
import taichi as ti
ti.init(arch=ti.gpu, default_fp=ti.f64)
import fields
net = fields.Net()
gui = ti.GUI("events")

@ti.kernel
def energy():
    for i in fields.x:
        fields.U[None] += fields.wave(fields.x[i]) * net.layers[0][i] * fields.K[0]
        FAULT

gui.get_events(ti.GUI.PRESS)
with ti.ad.Tape(fields.U):
    energy()
"""
FIELDS = """
import taichi as ti
K = [2.0, 3.0]
x = ti.field(ti.f64, 3, needs_grad=True)
U = ti.field(ti.f64, (), needs_grad=True)
x.fill(0.3)

class Net:
    def __init__(self):
        self.layers = [ti.field(ti.f64, 3, needs_grad=True)]
        self.layers[0].fill(0.4)

@ti.func
def wave(x):
    return ti.sin(x) ** 2
"""


@pytest.mark.parametrize(
    ("fault", "expected"),
    [("pass", RIGHT), ("fields.U[None] += ti.round(9 * fields.x[i])", WRONG)],
)
def test_arrays_and_functions_of_modules_beside_are_replayed(
    fault: str, expected: int, asked: Asked, tmp_path: Path
) -> None:
    """Wrong: the engine refuses the reverse of the program itself; that is a finding."""
    (tmp_path / "fields.py").write_text(FIELDS)
    found = asked(MODULES.replace("FAULT", fault))
    assert outcome(found) == expected
    if expected == RIGHT:
        assert {f.argument for f in found if f.question == "reverse"} == {"fields.x", "net.layers[0]"}
        assert not any(f.unasked for f in found)
    else:
        assert "the engine refuses it" in found[-1].text


NOTHING = """
import taichi as ti
ti.init(arch=ti.gpu)
x = ti.field(ti.f32, 4, needs_grad=True)
loss = ti.field(ti.f32, (), needs_grad=True)

@ti.kernel
def constant():
    loss[None] = 3.0

@ti.kernel
def moved(a: ti.template()):
    for i in a:
        a[i] += 1.0
"""


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("with ti.ad.Tape(loss):\n    constant()\n", "no array with a gradient reaches the loss 'loss'"),
        ("constant()\n", "no array with a gradient reaches the loss 'loss'"),
        ("del loss\nmoved(x)\n", "no kernels without arguments that reach a loss"),
    ],
)
def test_a_program_without_inputs_is_not_asked(call: str, reason: str, asked: Asked) -> None:
    found = asked(NOTHING + call)
    assert outcome(found) == NOT_ASKED
    assert reason in found[0].text


@pytest.mark.parametrize(
    ("line", "ends"),
    [
        (
            "from struct import mine",
            r"struct.py beside it has the name of a module of Python or of the check; rename it",
        ),
        ("import nowhere_at_all", r"No module named 'nowhere_at_all'"),
    ],
)
def test_an_import_that_fails_names_the_file_in_its_way(
    line: str, ends: str, asked: Asked, tmp_path: Path
) -> None:
    (tmp_path / "struct.py").write_text("mine = 1\n")
    with pytest.raises(UserError, match=f"importing it fails: .*{ends}$"):
        asked(f"import taichi as ti\n{line}\n")


CRASH = """
import os
import taichi as ti
ti.init(arch=ti.gpu)
x = ti.field(ti.f64, 4, needs_grad=True)
loss = ti.field(ti.f64, (), needs_grad=True)
x.fill(0.3)
END

@ti.kernel
def energy():
    for i in x:
        loss[None] += ti.cast(ti.cast(x[i], ti.i32), ti.f64) + x[i]

with ti.ad.Tape(loss):
    energy()
"""


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("os.abort()", "aborted itself (SIGABRT) during its start"),
        ("raise MemoryError", "importing it fails: MemoryError"),
    ],
)
def test_a_file_that_ends_the_process_while_it_is_loaded_is_no_wrong_gradient(
    asked: Asked, end: str, said: str
) -> None:
    if "raise" in end:
        with pytest.raises(UserError, match=said):
            asked(CRASH.replace("END", end))
        return
    found = asked(CRASH.replace("END", end))
    assert outcome(found) == NOT_ASKED
    assert said in found[0].text
    assert found[0].where.endswith("program.py:8")


def test_a_program_whose_own_reverse_dies_is_asked_all_the_same(asked: Asked) -> None:
    """The reverse of an inner loop of 100 turns overflows the engine's stack as the program is loaded."""
    text = CRASH.replace("END", "").replace(
        "        loss[None] += ti.cast(ti.cast(x[i], ti.i32), ti.f64) + x[i]",
        "        s = x[i]\n        for j in range(100):\n            s = ti.sin(s) + 0.1\n"
        "        loss[None] += s",
    )
    found = asked(text)
    assert outcome(found) == WRONG


# Parts ----------------------------------------------------------------------------------------------


@pytest.mark.unit
@pytest.mark.parametrize(
    ("code", "lines", "said"),
    [
        (
            -signal.SIGABRT,
            ["terminate called", "what(): Resource temporarily unavailable"],
            "no more threads",
        ),
        (
            1,
            ["Traceback (most recent call last):", "RuntimeError: can't start new thread"],
            "no more threads",
        ),
        (-signal.SIGABRT, ["what():  std::bad_alloc"], "no more memory"),
        (-signal.SIGKILL, [], "as it does when memory is short"),
        (1, ["Traceback (most recent call last):", "KeyError: 3"], "please report it"),
    ],
)
def test_limits_of_the_machine_and_errors_of_the_check_are_not_asked(
    code: int, lines: list[str], said: str
) -> None:
    found = ProcessEnd(code, None, "the reverse at the start", lines).finding("k", True, "k.py", ["", ""])
    assert found.unasked
    assert said in found.text


@pytest.mark.unit
@pytest.mark.parametrize(
    ("doing", "begun", "expected"),
    [
        ("the reverse at the start", True, WRONG),
        ("the reverse at random state 1", True, NOT_ASKED),
        ("steps of x at the start", True, NOT_ASKED),
        ("its start", False, NOT_ASKED),
    ],
)
def test_a_signal_accuses_only_at_the_state_of_the_program(doing: str, begun: bool, expected: int) -> None:
    found = ProcessEnd(-signal.SIGSEGV, None, doing, []).finding("k", begun, "k.py", ["", ""])
    assert outcome([found]) == expected
    assert "SIGSEGV" in found.text


@pytest.mark.unit
def test_a_window_closes_itself_and_a_program_that_goes_on_is_ended() -> None:
    ClosingWindow.ending = True
    try:
        window, frames = ClosingWindow("w", (20, 10)), 0
        while window.running:
            window.show()
            frames += 1
        assert frames == STEPS
        assert window.get_image().shape == (20, 10, 3)
        assert window.get_gui().slider_float("a", 0.25, 0.0, 1.0) == 0.25
        assert window.get_gui().button("b") is False
        with pytest.raises(ProgramEnd):
            _shown_for_ever(window)
    finally:
        ClosingWindow.ending = False


def _shown_for_ever(window: ClosingWindow) -> None:
    for _ in range(2 * PATIENCE):
        window.show()


@pytest.mark.unit
def test_names_that_the_check_needs_are_not_taken_from_the_folder(tmp_path: Path) -> None:
    for name in ("numpy.py", "struct.py", "scipy.py", "mine.py"):
        (tmp_path / name).write_text("")
    assert BesideTheFile(tmp_path).hidden_files() == ["numpy.py", "scipy.py", "struct.py"]


class NoPlugins:
    """A registry in which nothing is installed."""

    def of_plugin(self, _: str) -> list:
        return []

    def energies(self) -> dict:
        return {}


@pytest.mark.unit
@pytest.mark.parametrize("inside", [False, True])
def test_a_new_plugin_that_is_not_installed_says_so(
    inside: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_plugin("my_springs", tmp_path / "my_springs")
    monkeypatch.chdir(tmp_path / "my_springs" if inside else tmp_path)
    with pytest.raises(UserError, match="plugin 'my_springs': must be installed to be checked"):
        check_process._energies(NoPlugins(), "my_springs")  # type: ignore[arg-type]
