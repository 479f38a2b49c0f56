"""`minusgrad doctor`: facts for a report, an exit code, and a kernel in a process of its own."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import minusgrad
from minusgrad.app.verbs.doctor import facts, trial
from minusgrad.app.verbs.shipped import places

ROWS = (
    *("minusgrad", "Python", "system", "engines", "packages", "scenes", "documentation"),
    *("cores", "memory", "devices", "extras", "other plugins", "variables", "cache", "kernel"),
)


def as_if(monkeypatch: pytest.MonkeyPatch, **found: object) -> None:
    """The kernel has this outcome."""
    monkeypatch.setattr(trial, "run_trial", lambda seconds: found)


GOOD = {"engine": "taichi", "arch": "cpu", "threads": 2, "cache": "", "off": 0.0, "seconds": 1.0}


def test_a_kernel_is_compiled_run_and_right_in_a_process_of_its_own() -> None:
    found = trial.run_trial()
    assert found["off"] <= trial.MOST_ERROR
    assert "error" not in found
    assert (found["arch"], Path(found["cache"]).is_absolute()) == ("cpu", True)


def test_every_fact_is_a_row(invoke: Callable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "kernel").write_bytes(bytes(1000))
    as_if(monkeypatch, **GOOD | {"cache": str(tmp_path)})
    code, out, err = invoke("doctor", "--json")
    assert (code, err) == (0, "")
    rows = {row["what"]: row["found"] for row in json.loads(out)}
    assert tuple(rows) == ROWS
    assert rows["minusgrad"].startswith(f"{minusgrad.__version__} in ")
    assert rows["cache"].startswith("1000 byte") or rows["cache"].startswith("1 kB"), rows["cache"]
    assert "numpy 2" in rows["packages"]
    assert Path(rows["documentation"]).is_file()
    assert "plot (matplotlib 3" in rows["extras"]
    assert [line.split("  ")[0] for line in invoke("doctor")[1].splitlines()][:2] == ["minusgrad", "Python"]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import os; os.abort()", "exit code -6: no output"),
        ("raise ImportError('libllvm')", "exit code 1: ImportError: libllvm"),
        ("print('no JSON')", "exit code 0: no output"),
    ],
)
def test_a_kernel_that_does_not_run_is_a_finding(
    code: str, said: str, invoke: Callable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{code}"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    found = invoke("doctor")
    assert found[0] == 1
    assert found[1].splitlines()[-1] == f"kernel         WRONG: does not run: {said}"


def test_a_kernel_that_hangs_is_a_finding(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexec sleep 100\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    assert trial.run_trial(0.1) == {"error": "no answer within 0 s"}


def test_what_is_missing_is_a_finding(invoke: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    as_if(monkeypatch, **GOOD)
    monkeypatch.setattr(places, "_candidates", list)
    monkeypatch.setattr(
        facts, "_version", lambda name: "" if name in ("taichi", "quadrants", "scipy") else "1"
    )
    code, out, _ = invoke("doctor")
    assert code == 1
    wrong = [line[:14].strip() for line in out.splitlines() if "WRONG: " in line]
    assert wrong == ["engines", "packages", "scenes"]
    assert "scipy missing" in out


def test_variables_that_are_no_business_of_ours_are_not_shown(
    invoke: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_if(monkeypatch, **GOOD)
    monkeypatch.setenv("MY_TOKEN", "secret")
    monkeypatch.setenv("MINUSGRAD_THREADS", "1")
    out = invoke("doctor")[1]
    assert "secret" not in out
    assert "MINUSGRAD_THREADS=1" in out
