"""Every kind of stepper has a class in Python, with the keys of its model."""

import inspect

import pytest

import minusgrad as mg
from minusgrad.assembly.core_plugin import register_steppers
from minusgrad.scripting import stepper_blocks


@pytest.mark.unit
def test_every_kind_of_stepper_has_a_class() -> None:
    public = set(mg._HOMES["scripting.stepper_blocks"].split()) - {"stepper"}
    assert public == set(stepper_blocks.models())
    assert set(register_steppers()) < {getattr(mg, name).kind for name in public}


@pytest.mark.unit
def test_a_class_has_the_keys_of_its_model() -> None:
    for kind, model in register_steppers().items():
        made = getattr(mg, stepper_blocks.class_name(kind))
        assert list(inspect.signature(made).parameters) == list(model.model_fields)
        assert made.__doc__.startswith((model.__doc__ or "").strip()[:20])
    assert mg.Newmark(dt=0.1, beta=0.3).table == {"kind": "newmark", "dt": 0.1, "beta": 0.3}
    assert mg.stepper("newmark", dt=0.1).table == mg.Newmark(dt=0.1).table
