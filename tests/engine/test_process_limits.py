"""Limits of a process, asked without pydantic, NumPy or an engine."""

import resource
import subprocess
import sys

import pytest

from minusgrad.engine import process_limits

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("name", "row", "is_limited"),
    [("RLIMIT_AS", ("VmSize", "ulimit -v"), True), ("RLIMIT_DATA", ("VmData", "ulimit -d"), False)],
)
def test_a_limit_that_is_set_is_told(
    name: str, row: tuple[str, str], is_limited: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {getattr(resource, name): (10**9, resource.RLIM_INFINITY)}
    free = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    monkeypatch.setattr(resource, "getrlimit", lambda limit: found.get(limit, free))
    assert [*process_limits.limits()] == [(10**9, *row)]
    assert process_limits.address_space_is_limited() is is_limited


def test_a_system_without_limits_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resource", None)
    assert [*process_limits.limits()] == []
    assert not process_limits.address_space_is_limited()


def test_the_watch_over_silence_imports_no_arrays_and_no_models() -> None:
    code = (
        "import sys, minusgrad.app.progress\n"
        "print(sorted({'pydantic', 'numpy', 'rich', 'dataclasses'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
