"""Descriptions of keys: texts below fields, roles of energies, and the tables made of them."""

import importlib.util
import sys
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import Field

from minusgrad.assembly.blocks.energy_block import energy_model
from minusgrad.plugin import ByKind, Datum, Node, Parameter, Quantity, Record, local_energy
from minusgrad.scene.key_descriptions import descriptions
from minusgrad.scene.key_table import Key, rows


class Shape(Record):
    """Any shape."""

    place: Annotated[float | str, Quantity("m")]
    """Where it is,
    along the line."""
    note: str | None = None
    """A remark (default: none)."""


class Disc(Shape):
    """A disc."""

    kind: str = "disc"
    radius: Annotated[float | str, Quantity("m", "positive")] = 1.0
    """Its radius."""


class Ring(Shape):
    """A ring."""

    kind: str = "ring"
    width: float = Field(0.5, description="Its width, relative to the radius.")


class Drawing(Record):
    shapes: dict[str, Annotated[Disc | Ring, ByKind()]] = {}  # noqa: RUF012
    """The shapes by name."""


@pytest.mark.unit
def test_texts_below_keys_are_descriptions() -> None:
    assert descriptions(Disc) == {
        "place": "Where it is, along the line.",
        "note": "A remark (default: none).",
        "radius": "Its radius.",
    }
    schema = Disc.model_json_schema()["properties"]
    assert schema["place"]["description"] == "Where it is, along the line. A number, or a quantity in m."
    assert schema["note"]["description"] == "A remark (default: none)."
    assert "description" not in schema["kind"]


@pytest.mark.unit
def test_rows_of_nested_tables() -> None:
    assert rows(Disc) == [
        Key("place", "quantity", "m", "required", "Where it is, along the line."),
        Key("radius", "quantity", "m", "1.0", "Its radius."),
        Key("note", "text", "", "none", "A remark."),
    ]
    names = {key.name: key for key in rows(Drawing)}
    assert list(names)[:3] == ["shapes", "shapes.NAME(disc).place", "shapes.NAME(disc).radius"]
    assert names["shapes"].values == "{ NAME = table }"
    assert names["shapes.NAME(ring).width"][1:] == (
        "number",
        "1",
        "0.5",
        "Its width, relative to the radius.",
    )


def test_roles_say_what_they_are_about() -> None:
    @local_energy(
        "described",
        over=2,
        x=Node("m", ("d",)),
        k=Parameter("N/m", about="Stiffness."),
        w=Parameter("1", default=2.0, about="Weight."),
        rest=Datum("m", about="Length at rest."),
    )
    def described(x, k, w, rest):
        return w * k * ((x[0] - x[1]).norm() - rest) ** 2

    keys = {key.name: key for key in rows(energy_model(described))}
    assert keys["k"][2:] == ("N/m", "required", "Stiffness.")
    assert keys["w"][2:] == ("1", "2.0", "Weight.")
    assert keys["rest"][2:] == ("m", "the state's", "Length at rest.")
    assert Parameter("N/m", about="Stiffness.") == Parameter("N/m")


@pytest.mark.unit
def test_a_record_without_source_has_no_descriptions(tmp_path: Path) -> None:
    """The source of a record is read when it is asked for, not when the record is made."""
    file = tmp_path / "lost.py"
    file.write_text("from minusgrad.plugin import Record\nclass Lost(Record):\n    a: int\n    'Text.'\n")
    spec = importlib.util.spec_from_file_location("lost_records", file)
    assert spec is not None
    assert spec.loader is not None
    sys.modules["lost_records"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    file.unlink()
    assert descriptions(module.Lost) == {}
    assert rows(module.Lost) == [Key("a", "whole number", "", "required", "")]
