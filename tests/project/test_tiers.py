"""The tiers of tests: a unit test cannot start the engine."""

from pathlib import Path

import pytest

from minusgrad import build
from minusgrad.engine import runtime
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


@pytest.mark.parametrize("row", sorted(row for row in COSTLY if not row.startswith("#")))
def test_a_costly_row_is_a_test(row: str) -> None:
    """A test that is renamed would be run by `make test` again, unseen."""
    file, _, name = row.partition("::")
    name = name.partition("[")[0]
    assert f"def {name}(" in (Path(__file__).parents[1] / file).read_text()
