"""`check FILE.py`: options, findings, and files with mistakes.

Whether it finds wrong gradients is the zoo's to show (`test_traps`).
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from minusgrad.app import cli
from minusgrad.app.plugin_kit import check_process
from minusgrad.check.questions import Finding
from minusgrad.errors import SceneError, UserError
from minusgrad.interpreter import case
from tests.support.tiers import sampled

HEAD = "import taichi as ti\n\n"
FIELDS = HEAD + (
    "x = ti.field(ti.f64, 3, needs_grad=True)\n"
    "U = ti.field(ti.f64, (), needs_grad=True)\n\n"
    "def fill():\n    for i in range(3):\n        x[i] = 0.3 + i\n\n"
    "@ti.kernel\ndef energy():\n    for i in x:\n        U[None] += x[i] ** 3\n\n"
)
ARGUMENTS = HEAD + (
    "from minusgrad import checked\n\n"
    '@checked(loss="U", inputs={"x": {"shape": [4]}}, numbers={"k": 2.0})\n'
    "@ti.kernel\n"
    "def energy(x: ti.types.ndarray(dtype=ti.f64, ndim=1), k: ti.f64,"
    " U: ti.types.ndarray(dtype=ti.f64, ndim=0)):\n"
    "    for i in x:\n        U[None] += k * ti.sin(x[i])\n"
)


@pytest.fixture
def asked(tmp_path: Path) -> Callable[..., list[Finding]]:
    """What `check` answers about a file with this text (and a table beside it)."""

    def ask(text: str, table: str = "", seconds: float = 60.0) -> list[Finding]:
        file = tmp_path / "kernels.py"
        file.write_text(text)
        if table:
            file.with_suffix(".check.toml").write_text(table)
        return list(check_process.findings([str(file)], seconds=seconds))

    return ask


def failed(found: list[Finding]) -> list[str]:
    return [f.question for f in found if not f.passed]


def test_arguments_are_made_as_the_decorator_says(asked) -> None:
    found = asked(ARGUMENTS)
    assert failed(found) == []
    assert {(f.term, f.argument) for f in found} == {("energy", ""), ("energy", "x")}
    assert {"value", "reverse", "taylor", "path", "repeat"} == {f.question for f in found if not f.warning}


def test_a_table_beside_the_file_says_the_same(asked) -> None:
    table = '[cubes]\nforward = ["energy"]\nbefore = ["fill"]\nloss = "U"\ninputs.x.step = 0.1\n'
    found = asked(FIELDS, table)
    assert failed(found) == []
    assert {f.term for f in found} == {"cubes"}


def test_kernels_and_tapes_are_found_where_nothing_is_said(asked) -> None:
    """Kernels without arguments that lead to one loss; the body of a tape."""
    filled = FIELDS + "fill()\n"
    assert {f.term for f in asked(filled)} == {"energy"}
    taped = filled + "\ndef main():\n    with ti.ad.Tape(loss=U):\n        energy()\n"
    found = asked(taped)
    assert failed(found) == []
    assert {f.term for f in found} == {"the tape's body"}
    once = "        energy()\n"
    doubled = taped.replace(once, f"{once}        x[0] = 2.0 * x[0]\n{once}")
    assert "taylor" in failed(asked(doubled))


def test_energies_of_a_file_are_asked_too(asked) -> None:
    text = (
        "from minusgrad import Node, local_energy, ti\n\n"
        '@local_energy("stairs", over="nodes", x=Node("m", ("d",)))\n'
        "def stairs(x):\n    p = ti.floor(3.0 * x[0][0])\n    return p * p + x[0].norm_sqr()\n"
    )
    found = [f for f in asked(text) if not f.passed]
    assert {f.question for f in found} == {"path"}
    assert all(f.where.endswith("kernels.py:5") for f in found)
    assert "line 5: a value is rounded by floor" in found[0].text


TABLE = """
import numpy as np
from minusgrad import checked

heights = ti.field(ti.f64, 8, needs_grad=True)
heights.from_numpy(np.sin(np.arange(8.0)))


@checked(loss="U", inputs={"x": {"start": [0.3, 4.4, 6.8], "step": 2.0}})
@ti.kernel
def between(x: ti.types.ndarray(dtype=ti.f64, ndim=1), U: ti.types.ndarray(dtype=ti.f64, ndim=0)):
    for i in x:
        k = int(ti.floor(x[i]))
        U[None] += heights[k] + (x[i] - k) * (heights[k + 1] - heights[k])
"""


def test_no_step_is_taken_that_would_leave_the_arrays(asked) -> None:
    """Places beyond a table, where it is right as far as it is meant to be."""
    found = asked(HEAD + TABLE)
    assert [f.text for f in found if not f.passed] == []
    assert {"taylor", "path"} <= {f.question for f in found}


@pytest.mark.parametrize("engine", ["taichi", "quadrants"])
def test_a_file_is_asked_with_the_engine_that_it_imports(engine: str, asked, monkeypatch) -> None:
    pytest.importorskip(engine)
    monkeypatch.setenv("MINUSGRAD_ENGINE", "taichi" if engine == "quadrants" else "quadrants")
    table = '[e]\nforward = ["energy"]\nbefore = ["fill"]\nloss = "U"\ninputs.x.step = 0.1\n'
    found = asked(FIELDS.replace("taichi", engine), table)
    assert failed(found) == []
    assert {"value", "reverse", "path"} <= {f.question for f in found}


FORGETS = """
from minusgrad import checked

rho = ti.field(ti.f64, 3, needs_grad=True)
fill()

@ti.kernel
def clear():
    for i in rho:
        rho[i] = 0.0

@ti.kernel
def density():
    for i in x:
        rho[i] += ti.sin(x[i])

@ti.kernel
def squares():
    for i in rho:
        U[None] += rho[i] ** 2

@checked(loss="U", inputs={"x": {"step": 0.1}})
def run():
    CLEAR
    density()
    squares()
"""


def test_what_a_call_leaves_for_the_next_is_seen(asked) -> None:
    (wrong,) = [f for f in asked(FIELDS + FORGETS.replace("CLEAR", "U[None] = 0.0")) if not f.passed]
    assert wrong.question == "repeat"
    assert wrong.text.endswith("the values of the first call remain in rho; overwrite it in the call")
    assert failed(asked(FIELDS + FORGETS.replace("CLEAR", "clear()"))) == []


@pytest.mark.parametrize("how", ["the body of a tape", "a loss that a caller clears"])
def test_where_clearing_may_be_done_elsewhere_it_is_a_warning(how: str, asked) -> None:
    text = FORGETS.replace("    CLEAR\n", "")
    if how == "the body of a tape":
        text = text[: text.index("@checked")] + "with ti.ad.Tape(U):\n    density()\n    squares()\nclear()\n"
    found = [f for f in asked(FIELDS + text) if "second call gives" in f.text]
    assert [(f.question, f.passed, f.warning) for f in found] == [("repeat", True, True)]
    assert found[0].text.endswith("the values of the first call remain in rho; overwrite it in the call")


STIFFER = """
from minusgrad import checked

@ti.data_oriented
class Model:
    def __init__(self):
        self.k, self.late = 2.0, LATE
        self.x = ti.field(ti.f64, 3, needs_grad=True)
        self.y = ti.field(ti.f64, 3, needs_grad=True)
        self.c = ti.field(ti.f64, 3)
        self.U = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def table(self):
        for i in self.c:
            self.c[i] = self.k * (i + 1)

    @ti.kernel
    def first(self):
        for i in self.x:
            self.y[i] = ti.sin((self.k if ti.static(self.late) else 1.0) * self.c[i] * self.x[i])

    @ti.kernel
    def second(self):
        for i in self.y:
            self.U[None] += self.k * self.y[i] ** 2

m = Model()
m.x.from_numpy(np.array([0.4, 1.2, 2.0]))

@checked(loss="m.U", inputs={"m.x": {"step": 0.1}})
def run():
    m.U[None] = 0.0
    m.k = 2.0
    m.table()
    m.first()
    m.k = 0.5
    m.second()
"""


def test_kernels_are_followed_with_the_numbers_of_their_launch(asked) -> None:
    """What is compiled late, a reverse, sees another number than its kernel did: there it is wrong."""
    text = HEAD + "import numpy as np\n" + STIFFER
    right = asked(text.replace("LATE", "False"))
    assert failed(right) == []
    assert any("'k' is frozen" in f.text and f.warning for f in right)
    wrong = [f for f in asked(text.replace("LATE", "True")) if not f.passed]
    assert {f.question for f in wrong} >= {"reverse"}
    assert "in kernel 'first', line 21: 'k' is frozen when the kernel is first compiled" in wrong[0].text


BY_HAND = """
from minusgrad import checked

value = ti.field(ti.f64, ())

@ti.kernel
def total():
    for i in x:
        value[None] += x[i] ** 3

@ti.kernel
def seeded(f: ti.f64):
    for i in x:
        x.grad[i] = f * x[i] ** 2

@checked(loss="value", inputs={"x": {"start": [0.3, 1.2, -0.7], "step": 0.1}}, gradient="whole")
def run():
    value[None] = 0.0
    total()

def whole():
    run()
    seeded(FACTOR)
"""


@pytest.mark.parametrize("factor", ["2.0", "3.0"])
def test_a_gradient_of_the_files_own_needs_no_adjoint_of_the_loss(factor: str, asked) -> None:
    found = asked(FIELDS + BY_HAND.replace("FACTOR", factor))
    assert ("reverse" in failed(found)) == (factor == "2.0")
    assert factor == "2.0" or failed(found) == []


OWN = """
from minusgrad import checked

y = ti.field(ti.f64, 3, needs_grad=True)
fill()

@ti.kernel
def square():
    for i in x:
        y[i] = x[i] ** 2

@ti.kernel
def total():
    for i in y:
        U[None] += y[i] * (i + 1) + 0.1 * x[i]

@checked(loss="U", inputs={"x": {"start": [0.3, 1.2, -0.7], "step": 0.1}}, gradient="slope")
def run():
    U[None] = 0.0
    square()
    total()

def slope():
    BODY
"""
BACK = "; ".join(
    ("ti.ad.clear_all_gradients()", "U.grad[None] = 1.0", "run()", "total.grad()", "square.grad()")
)
OWN_WRONG = {
    "the reverse starts with U.grad = 0; set it to 1 before": BACK.replace("= 1.0", "= 0.0"),
    "the reverse starts with old values in x.grad; clear it before": BACK.replace(
        "ti.ad.clear_all_gradients()", "y.grad.fill(0.0)"
    ),
    "'square' runs forward, but is not reversed": BACK.removesuffix("; square.grad()"),
    "reverses 'square' before 'total', which ran after it": BACK.replace(
        "total.grad(); square.grad()", "square.grad(); total.grad()"
    ),
    "'slope' reverses no kernel": "run(); x.grad.fill(0.5)",
    "'slope' leaves this gradient in .grad": f"{BACK}; x.grad[1] *= 2.0",
}


def test_a_gradient_of_the_files_own_may_be_right(asked) -> None:
    assert failed(asked(FIELDS + OWN.replace("BODY", BACK))) == []


@pytest.mark.parametrize(("message", "body"), OWN_WRONG.items())
def test_what_is_wrong_with_a_gradient_of_the_files_own(message: str, body: str, asked) -> None:
    text = FIELDS + OWN.replace("BODY", body)
    wrong = [f for f in asked(text) if not f.passed]
    assert all(message in f.text for f in wrong if f.question == "reverse")
    assert message in wrong[0].text
    line = int(wrong[0].where.rpartition(":")[2])
    assert text.splitlines()[line - 1].strip() in ("def slope():", body, "square()")


CANCELS = """
from minusgrad import checked

@checked(loss="U", inputs={"x": {"start": [1.01, 0.98, 1.02, 0.995], "step": 0.01}})
@ti.kernel
def flat(x: ti.types.ndarray(dtype=ti.f64, ndim=1), U: ti.types.ndarray(dtype=ti.f64, ndim=0)):
    for i in x:
        U[None] += (x[i] - 1.0) ** 8 + ((1e5 + x[i]) ** 2 - 1e10 - 2e5 * x[i]) * 1e-9
"""


def test_what_cancels_within_a_kernel_is_rounding_and_no_wrong_value(asked) -> None:
    assert failed(asked(HEAD + CANCELS)) == []


SILENT = """
from minusgrad import checked

fill()

@ti.ad.no_grad
def frozen():
    energy()

@checked(loss="U", inputs={"x": {"step": 0.1}})
def run():
    U[None] = 0.0
    frozen()
"""


def test_functions_without_a_derivative_are_named(asked) -> None:
    (wrong,) = [f for f in asked(FIELDS + SILENT) if f.question == "reverse" and not f.passed]
    assert wrong.text.endswith("'frozen' has no derivative (ti.ad.no_grad)")
    assert Path(wrong.where.rpartition(":")[0]).name == "kernels.py"


DIES = """

@checked(loss="U", inputs={"x": {"shape": [4]}})
def dies(x: ti.types.ndarray(), U: ti.types.ndarray()):
    import os
    os.abort()


"""


def test_a_process_that_dies_is_a_finding_and_the_next_case_goes_on(asked) -> None:
    again = ARGUMENTS[ARGUMENTS.index("@checked") :].replace("def energy", "def second")
    found = asked(ARGUMENTS + DIES + again)
    assert [(f.term, f.question) for f in found if not f.passed] == [("dies", "crash")]
    message = next(f.text for f in found if not f.passed)
    assert message.startswith("the process aborted itself (SIGABRT) during the forward run")
    assert {f.term for f in found} == {"energy", "dies", "second"}


ENDLESS = """fill()

@ti.kernel
def end():
    for i in range(1):
        while x[0] > 0.0:
            U[None] += 1.0
"""


def test_what_never_returns_is_a_finding(asked) -> None:
    found = asked(FIELDS + ENDLESS, '[e]\nforward = ["end"]\nloss = "U"\n', seconds=12.0)
    assert [(f.question, f.text) for f in found if not f.passed] == [
        ("crash", "no answer for 12 s during the forward run: it may never end")
    ]


CHECKED = "from minusgrad import checked\n"
NAMED = CHECKED + "@checked({})\ndef f():\n    pass\n"
TWO = FIELDS.replace(
    "(), needs_grad=True)\n", "(), needs_grad=True)\nV = ti.field(ti.f64, (), needs_grad=True)\n"
)
BAD = {
    "no file": (None, "kernels.py: there is no such file"),
    "does not parse": ("def f(:\n", "kernels.py:1: invalid syntax"),
    "import fails": (
        "import taichi as ti\n1 / 0\n",
        "kernels.py:2: importing it fails: ZeroDivisionError: division by zero",
    ),
    "nothing to ask": (
        "x = 1\n",
        "has no energies, no `with ti.ad.Tape(loss)`, and no kernels without arguments",
    ),
    "exits": ("raise SystemExit(3)\n", "importing it fails: SystemExit: 3"),
    "unknown key": (NAMED.format("los='U'"), "@checked of f: los: no key 'los'; did you mean 'loss'?"),
    "no number": (
        NAMED.format("inputs={'x': {'step': -1.0}}"),
        "@checked of f: inputs.x.step: needs a number above 0, not -1.0",
    ),
    "no loss": (
        TWO + "fill()\n" + CHECKED + "checked(inputs={'x': {}})(energy)\n",
        "energy: the loss must be the only array of one number with a gradient, got U, V; name it in `loss`",
    ),
    "wrong name": (FIELDS + CHECKED + "checked(loss='W')(energy)\n", "energy: loss: no array named 'W'"),
    "no shape": (
        ARGUMENTS.replace('{"shape": [4]}', "{}"),
        "energy: array 'x' has no shape; give it in `inputs` or `arrays`",
    ),
    "shape of two axes": (
        ARGUMENTS.replace("[4]", "[4, 2]"),
        "energy: array 'x' must have 1 axes, got shape [4, 2]; change it in `inputs` or `arrays`",
    ),
    "no number given": (
        ARGUMENTS.replace(', numbers={"k": 2.0}', ""),
        "energy: argument 'k' has no value; give it in `numbers`",
    ),
    "large loss": (
        FIELDS + CHECKED + "checked(loss='x')(energy)\n",
        "energy: the loss 'x' must be one number, got shape [3]; sum it in a kernel",
    ),
}


@pytest.mark.parametrize("name", sampled(BAD, [*BAD][::3]))
def test_bad_files_are_told_in_one_message(name, tmp_path, capsys, monkeypatch) -> None:
    text, message = BAD[name]
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path("kernels.py").write_text(text)
    assert cli.main(["check", "kernels.py"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert "Traceback" not in err


def test_mistakes_of_the_table_are_told_with_their_lines(tmp_path: Path) -> None:
    (tmp_path / "k.check.toml").write_text('[a]\nloss = 3\n\n[b]\nforwrd = ["f"]\ninputs.x.step = -1.0\n')
    with pytest.raises(SceneError) as error:
        case.tables_beside(tmp_path / "k.py")
    message = str(error.value).replace(str(tmp_path), "")
    assert message.splitlines() == [
        "/k.check.toml:2:1: a.loss: needs text in quotes, not 3",
        "/k.check.toml:5:1: b.forwrd: no key 'forwrd'; did you mean 'forward'?"
        " (keys: arrays, before, forward, gradient, inputs, intended, loss, numbers)",
        "/k.check.toml:6:10: b.inputs.x.step: needs a number above 0, not -1.0",
    ]


FINDINGS = {
    "loss without gradient": (
        FIELDS.replace("(), needs_grad=True", "()"),
        "U",
        "reverse",
        "the loss 'U' has no adjoint to start the reverse with; make it with needs_grad=True",
    ),
    "input without gradient": (
        FIELDS.replace("3, needs_grad=True", "3"),
        "U",
        "reverse",
        "it has no gradient; make it with needs_grad=True at the start",
    ),
    "does not compile": (
        FIELDS.replace("x[i] ** 3", "y[i] ** 3"),
        "U",
        "compile",
        'the engine refuses it: Name "y" is not defined',
    ),
    "cannot be reversed": (
        FIELDS.replace("U[None] += x[i] ** 3", "U[None] += ti.round(x[i])"),
        "U",
        "compile",
        "the engine refuses it: [auto_diff.cpp",
    ),
    "not a number": (
        FIELDS.replace("x[i] ** 3", "ti.log(-x[i])"),
        "U",
        "value",
        "the loss is not finite at the start",
    ),
}


@pytest.mark.parametrize(("text", "loss", "question", "message"), FINDINGS.values(), ids=FINDINGS)
def test_kernels_that_are_no_good_are_findings(asked, text, loss, question, message) -> None:
    found = asked(text, f'[e]\nforward = ["energy"]\nbefore = ["fill"]\nloss = "{loss}"\ninputs.x = {{}}\n')
    findings = [f for f in found if not f.passed]
    assert (findings[0].question, findings[0].text.startswith(message)) == (question, True), findings[0]


def test_json_is_for_programs(tmp_path: Path, capsys) -> None:
    (tmp_path / "kernels.py").write_text(ARGUMENTS)
    assert cli.main(["check", str(tmp_path / "kernels.py"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {f["term"] for f in found} == {"energy"}


def test_a_declaration_says_what_is_wrong_at_once() -> None:
    with pytest.raises(UserError, match="@checked of f: los: no key 'los'"):

        @case.checked(los="U")
        def f() -> None:
            """Nothing."""
