"""What a `[[fit.loss]]` block may say: a misfit's keys, or those of an energy's block and when it looks.

kind = "misfit"                kind = "height"
field = "x"                    body = "tip"
data = "data/x.csv"            every = 10
"""

from collections.abc import Mapping
from typing import Any, cast
from warnings import catch_warnings

from pydantic import BaseModel, create_model

from .fit_table import Looked, Misfit
from .records import Record

LOSSES: Mapping[str, type[BaseModel]] = {"misfit": Misfit}
"""The core's own."""


def loss_model(model: type[Record]) -> type[Record] | None:
    """The model of an energy's block as a loss; None if it has arguments that are called like our keys."""
    if model.model_fields.keys() & Looked.model_fields.keys():
        return None
    bases: Any = (model, Looked)
    with catch_warnings(action="ignore"):  # a key may be called like one of pydantic's methods
        return cast(
            "type[Record]", create_model(f"{model.__name__}_loss", __base__=bases, __doc__=model.__doc__)
        )
