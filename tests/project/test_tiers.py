"""The tiers of tests: a unit test cannot start the engine."""

from pathlib import Path

import pytest

from minusgrad import build
from minusgrad.engine import runtime
from tests.support import row_costs
from tests.support.command import SCENES
from tests.support.tiers import COSTLY

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def started() -> str:
    """What a fixture of another scope than the test's gets when it builds a scene."""
    with pytest.raises(pytest.fail.Exception) as caught:
        build(SCENES / "two_body.toml")
    return str(caught.value)


def test_a_unit_test_fails_when_it_starts_the_engine() -> None:
    with pytest.raises(pytest.fail.Exception, match="a unit test starts the engine"):
        runtime.start()


def test_a_fixture_of_a_unit_test_fails_when_it_starts_the_engine(started: str) -> None:
    assert started == "a unit test starts the engine"


@pytest.mark.exam
def test_an_exam_may_start_it() -> None:
    runtime.start()
    assert runtime.arch() == "cpu"


def test_every_costly_row_is_a_test() -> None:
    """A test that is renamed would be run by `make test` again, unseen."""
    lost = []
    for row in sorted(COSTLY):
        file, _, name = row.partition("::")
        text = (Path(__file__).parents[1] / file).read_text() if not row.startswith("#") else ""
        if text and f"def {name.partition('[')[0]}(" not in text:
            lost.append(row)
    assert lost == []


def test_costly_rows_are_chosen_by_their_cost() -> None:
    """A function and a file keep a row in `make test`, where a row is cheap enough."""
    costs = {"a.py::f[1]": 0.1, "a.py::f[2]": 0.2, "a.py::g[1]": 0.9, "a.py::g[2]": 2.0, "a.py::h": 10.1}
    assert row_costs.costly(costs) == {"a.py::f[2]", "a.py::g[2]", "a.py::h"}
    assert row_costs.costly({"b.py::f": 19.0, "b.py::g": 18.0}) == {"b.py::f"}
    assert row_costs.rewritten(["a.py::h", "c.py::f"], {"a.py::h": 0.1}) == ["c.py::f"]


def test_costs_are_those_of_a_processor_that_is_not_slow(tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text("0.300 a.py::f[x y]\n")
    assert row_costs.measured(tmp_path, 2.0) == {"a.py::f[x y]": 0.15}
