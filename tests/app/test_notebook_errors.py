"""Errors of the user in a notebook: the line of the cell and the message, without frames of ours."""

import pytest

pytest.importorskip("IPython")
from IPython.core.interactiveshell import InteractiveShell

CELL = """import minusgrad
minusgrad.run("nowhere.toml")
"""
CAUSED = """
from minusgrad.errors import PluginError
def own():
    try:
        1 / 0
    except ZeroDivisionError as error:
        raise PluginError("plugin 'mine' failed") from error
own()
"""


@pytest.fixture
def shell() -> InteractiveShell:
    shell = InteractiveShell.instance()
    shell.colors = "nocolor"
    return shell


@pytest.mark.unit
def test_a_mistake_is_its_line_and_its_message(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell(CELL)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        'line 2: minusgrad.run("nowhere.toml")',
        "SceneError: nowhere.toml: cannot be read: No such file or directory",
    ]


@pytest.mark.unit
def test_an_error_with_a_cause_has_its_traceback(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell(CAUSED)
    said = capsys.readouterr().out
    assert "ZeroDivisionError" in said
    assert "1 / 0" in said
    assert said.rstrip().endswith("PluginError: plugin 'mine' failed")
