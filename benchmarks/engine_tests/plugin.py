"""A plugin of pytest: each test runs, then its reverses are asked; a line of JSON for every event.

The variable ENGINE_TESTS names the file of these lines, ENGINE_TESTS_NUMBER the one test that runs.
"""

import json
import os
import sys
import traceback
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from minusgrad.engine import runtime

from .questions import answers
from .reverses import Recorder

if "pytest_rerunfailures" not in sys.modules:
    sys.modules["pytest_rerunfailures"] = ModuleType(
        "pytest_rerunfailures"
    )  # Taichi's conftest sets a name in it


def _tell(**event: Any) -> None:
    with open(os.environ["ENGINE_TESTS"], "a") as out:
        out.write(json.dumps(event) + "\n")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the test of the number in ENGINE_TESTS_NUMBER alone."""
    if number := os.environ.get("ENGINE_TESTS_NUMBER"):
        items[:] = [items[int(number)]]


def pytest_runtest_logstart(nodeid: str) -> None:
    _tell(begin=nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" or (report.when == "setup" and report.outcome != "passed"):
        text = str(report.longrepr).strip().splitlines()[-1] if report.outcome == "failed" else ""
        _tell(end=report.nodeid, outcome=report.outcome, text=text[:200])


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: Any) -> Iterator[Any]:
    name = os.environ.get("ENGINE_TESTS_ENGINE", "taichi")
    engine = runtime.engine(name)
    runtime._Running.options = runtime.Options(name, "cpu")  # the test has started it
    recorder = Recorder(engine)
    failure: BaseException | None = None
    found = None
    with recorder.recording():
        try:
            found = yield
        except BaseException as error:
            failure = error
    test = pyfuncitem.nodeid
    _tell(test=test, reverses=recorder.count, forward=recorder.forward, asked=len(recorder.reverses))
    for k, reverse in enumerate(recorder.reverses):
        progress = lambda what, k=k: _tell(test=test, number=k, doing=str(what))  # noqa: E731
        try:
            with recorder.alone():
                record = answers(engine, pyfuncitem.name, reverse, progress)
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            at = f"{last.filename.rpartition('/')[2]}:{last.lineno}"
            record = {"verdict": "adapter", "text": f"{type(error).__name__} at {at}: {error}"}
        _tell(test=test, number=k, record=record)
    if failure is not None:
        raise failure
    return found
