"""Rows of `minusgrad validate`: declarations that cannot fail, what hooks may give; rows pass."""

import json
import math
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from minusgrad.assembly.registry import Registry
from minusgrad.errors import PluginError
from minusgrad.plugin import hookimpl
from minusgrad.published import rows, worker
from minusgrad.published.published_value import PublishedValue, Workplace, published_value
from tests.support.pages import ROOT
from tests.support.tiers import sampled

DECLARED = {"area": "nothing", "why": "of a test", "source": "nobody"}


def made(name: str = "one", value=1.0, **more) -> PublishedValue:
    def compute(place: Workplace) -> float:
        """A number.

        With more words.
        """
        return 1.0

    return published_value(name, value=value, **{**DECLARED, "tolerance": 0.1, **more})(compute)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"tolerance": 0.0}, "needs a tolerance above zero, or at_most"),
        ({"tolerance": None}, "needs a tolerance above zero, or at_most"),
        ({"at_most": True}, "needs a tolerance above zero, or at_most"),
        ({"tolerance": math.inf}, "needs finite numbers"),
        ({"value": math.nan}, "needs finite numbers"),
        ({"tolerance": [0.1, 0.1]}, "as many tolerances as values"),
        ({"source": ""}, "needs an area, a source, a reason, a docstring"),
        ({"why": ""}, "needs an area, a source, a reason, a docstring"),
    ],
)
def test_declarations_that_cannot_fail_are_refused(more: dict, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        made(**more)


@pytest.mark.unit
def test_how_far_a_number_misses() -> None:
    row = made(value=[1.0, -2.0], tolerance=[0.5, 0.25])
    assert row.misses([1.5, -2.5]) == pytest.approx([1.0, 2.0])
    assert row.misses([math.inf, math.nan]) == [math.inf, math.inf]
    assert made(value=4.0, at_most=True, tolerance=None).misses([3.0]) == [0.75]
    assert row.measured == "A number"
    with pytest.raises(ValueError, match="one: 2 numbers are published, got 1"):
        row.misses([1.0])


def plugin(given: object) -> ModuleType:
    module = ModuleType("giver")
    module.register_published_values = hookimpl(lambda: given)  # type: ignore[attr-defined]
    return module


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ([made(), made()], "'one' is the name of two published values; rename one"),
        ([made("figure eight")], "'figure eight' is the name of two published values"),
        ([print], "gives list, not a list of @published_value"),
        (None, "gives NoneType, not a list of @published_value"),
    ],
)
def test_what_a_hook_may_give(given: object, text: str) -> None:
    registry = Registry.load(["gravity"], [plugin(given)])
    with pytest.raises(PluginError, match=text):
        rows.of_all(registry)


@cache
def every_row() -> dict[str, PublishedValue]:
    return {row.name: row for row in rows.of_all(Registry.load(None))}


@pytest.mark.unit
def test_rows_of_all_plugins_say_enough() -> None:
    every = every_row()
    assert {"Kepler e = 0.999", "figure eight", "Pythagorean problem"} <= {*every}
    assert all(len(row.source) > 10 and len(row.why) > 10 for row in every.values())
    assert not {row.area for row in every.values()} & {*every}


@pytest.mark.unit
def test_the_page_has_every_row_as_it_is_declared() -> None:
    """`minusgrad validate --data FOLDER --out docs/published-values.json` writes it, in some minutes."""
    written = json.loads((ROOT / "docs/published-values.json").read_text())
    declared = {name: json.loads(json.dumps(row.declaration())) for name, row in every_row().items()}
    kept = {row["name"]: {key: row[key] for key in declared.get(row["name"], {})} for row in written["rows"]}
    assert kept == declared
    assert {row["answer"] for row in written["rows"]} == {"pass"}
    assert written["complete"]


SHIPPED = [name for name, row in every_row().items() if not row.data]


@pytest.mark.parametrize("name", sampled(SHIPPED, ["figure eight", "saddle", "LJ38 minimum"]))
def test_rows_pass(name: str) -> None:
    row = every_row()[name]
    found = worker.computed(row, None)
    assert "error" not in found, found
    assert max(row.misses(found["numbers"])) <= 1.0, found


def test_a_row_has_an_empty_folder_that_is_deleted() -> None:
    seen: list[Path] = []

    def compute(place: Workplace) -> float:
        """A number."""
        seen.append(place.folder)
        (place.folder / "file").write_text("")
        return 1.0

    found = worker.computed(published_value("f", value=1.0, tolerance=1.0, **DECLARED)(compute), None)
    assert found["numbers"] == [1.0]
    assert not seen[0].exists()
