"""Unions chosen by a kind, or by the form of a value: one message, for the member that was meant."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import ValidationError

from minusgrad.plugin import ByForm, ByKind, Quantity, Record, UnitSystem, one_or_each, quantities

Mass = Annotated[float | str, Quantity("kg", "positive")]


class Disc(Record):
    kind: Literal["disc"] = "disc"
    radius: float


class File(Record):
    kind: Literal["file"] = "file"
    file: str


class Model(Record):
    shape: Annotated[Disc | File, ByKind()] = Disc(radius=1.0)
    mass: Annotated[Mass | tuple[Mass, ...], ByForm(one_or_each, ("one", "each"))] = 1.0


def places(**given: Any) -> list[tuple[Any, ...]]:
    with pytest.raises(ValidationError) as refused:
        Model.model_validate(given)
    return [finding["loc"] for finding in refused.value.errors()]


def test_members_are_chosen_by_the_value() -> None:
    model = Model.model_validate({"shape": {"kind": "file", "file": "a.png"}, "mass": (1.0, "2 g")})
    assert model.shape == File(file="a.png")
    assert quantities(model, UnitSystem.si())["mass"] == (1.0, 0.002)
    assert quantities(Model(mass="3 g"), UnitSystem.si())["mass"] == 0.003


def test_one_mistake_is_reported_for_the_member_that_was_meant() -> None:
    assert places(shape={"kind": "file"}) == [("shape", "of kind file", "file")]
    assert places(shape={"kind": "disk"}) == [("shape", "of no kind", "kind")]
    assert places(shape={}) == [("shape", "of no kind", "kind")]
    assert places(shape={"kind": {"a": 1}}) == [("shape", "of no kind", "kind")]
    assert places(shape={"kind": ["disc"]}) == [("shape", "of no kind", "kind")]
    assert places(mass=-1.0) == [("mass", "one")]
    assert places(mass=(1.0, -1.0)) == [("mass", "each", 1)]


def test_an_editor_is_offered_the_members_only() -> None:
    shape = Model.model_json_schema()["properties"]["shape"]
    assert {arm["$ref"].rpartition("/")[2] for arm in shape["oneOf"]} == {"Disc", "File"}


def _word_or_length(value: Any) -> str:
    return "word" if value == "none" else "length"


class Cut(Record):
    at: Annotated[
        Literal["none"] | Annotated[float | str, Quantity("m")], ByForm(_word_or_length, ("word", "length"))
    ]


def test_a_word_in_the_place_of_a_quantity_stays_a_word():
    assert quantities(Cut(at="none"), UnitSystem.of("km")) == {"at": "none"}
    assert quantities(Cut(at="3 m"), UnitSystem.of("km")) == {"at": pytest.approx(0.003)}
