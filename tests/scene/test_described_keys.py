"""Every key of every shipped table and kind has a meaning, a unit where it is a quantity, and a default."""

import re
from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel

from minusgrad.assembly.registry import Registry
from minusgrad.scene.document import Skeleton
from minusgrad.scene.key_descriptions import descriptions
from minusgrad.scene.key_table import rows

SENTENCE = re.compile(r"[A-Z0-9\"`].*[.)]")
IN_WORDS = ("wall_time", "memory")
"""Numbers or texts that are no quantities in the units of a scene: a time of a clock, a size."""


def models() -> Iterator[tuple[str, type[BaseModel]]]:
    """Where it is used and the model, of each table of a scene and of each that stands in one."""
    waiting: list[tuple[str, Any]] = [("scene", Skeleton)]
    for section, table in Registry.load().models().items():
        waiting += [(f"{section} {kind}", model) for kind, model in table.items()]
    seen: set[type] = set()
    while waiting:
        where, one = waiting.pop()
        if isinstance(one, type) and issubclass(one, BaseModel):
            if one not in seen:
                seen.add(one)
                yield where, one
                waiting += [
                    (f"{where}.{n}", part)
                    for n, f in one.model_fields.items()
                    for part in (f.annotation, *f.metadata)
                ]
        else:
            waiting += [(where, part) for part in get_args(one)]


def test_every_key_has_a_description() -> None:
    missing = []
    for where, model in models():
        texts = descriptions(model)
        missing += [f"{where}.{n}" for n in model.model_fields if n != "kind" and n not in texts]
    assert missing == []


def test_descriptions_are_short_sentences() -> None:
    texts = {text: f"{where}.{n}" for where, model in models() for n, text in descriptions(model).items()}
    assert len(texts) > 500
    wrong = {where: text for text, where in texts.items() if not SENTENCE.fullmatch(text) or len(text) > 160}
    assert wrong == {}


def test_every_key_has_a_unit_and_a_default() -> None:
    keys = [(where, key) for where, model in models() for key in rows(model)]
    assert [f"{w}.{k.name}" for w, k in keys if k.default == "" and k.values != "table"] == []
    assert [
        f"{where}.{key.name}: {key.meaning}"
        for where, key in keys
        if "quantity" in key.values and not key.unit and "unit" not in key.meaning
        if key.name.rpartition(".")[2] not in IN_WORDS
    ] == []
