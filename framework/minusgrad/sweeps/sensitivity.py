"""Sobol sensitivity indices by SALib: Saltelli's points, and the part of a variance that each number makes.

    S1_i = Var(E[y | x_i]) / Var(y)              by x_i alone
    ST_i = 1 - Var(E[y | all but x_i]) / Var(y)  by x_i and all its interactions

Saltelli 2002, 2010; confidence bounds (95 %) by resampling.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import MissingPackageError, UserError, pip_line
from .scene_keys import SceneKey

LEVEL = 0.95
RESAMPLES = 200


def points(keys: Mapping[str, SceneKey], samples: int, count: int | None, seed: int) -> dict[str, np.ndarray]:
    """The values of each key at Saltelli's (d + 2) `samples` points, of `samples` a power of 2.

    Raises `UserError` for keys that are no distributions.
    """
    if count is not None:
        raise UserError("points: follow from `samples` and the number of keys; leave `points` out")
    if samples & (samples - 1):
        raise UserError(f"samples: needs a power of 2, got {samples}; give {1 << samples.bit_length()}")
    if len(keys) < 2:
        raise UserError(f"sensitivity: needs two keys or more, got {len(keys)}; add some")
    for key, one in keys.items():
        if one.listed is not None:
            raise UserError(f"'{key}': sensitivity needs a distribution, got a {one.how.kind}; use uniform")
    from_salib = _import_salib("sample.sobol").sample
    u = from_salib(_salib_problem(list(keys)), samples, calc_second_order=False, scramble=True, seed=seed)
    u = np.clip(u, 2.0**-53, 1 - 2.0**-53)
    return {key: one.quantile(u[:, k]) for k, (key, one) in enumerate(keys.items())}


def indices(keys: list[str], values: Mapping[str, np.ndarray], seed: int) -> dict[str, dict[str, Any]]:
    """The indices of each output, of values (N,) at Saltelli's points.

    By output and key: S1, ST and their half confidence intervals; outputs that do not vary are left out.
    """
    analyze = _import_salib("analyze.sobol").analyze
    found: dict[str, dict[str, Any]] = {}
    for name, y in values.items():
        spread = float(np.ptp(y))
        if not spread > 1e-12 * float(np.abs(y).max(initial=0.0)):
            continue
        given = (y - y.mean()) / y.std()
        s = analyze(
            _salib_problem(keys), given, calc_second_order=False, num_resamples=RESAMPLES, conf_level=LEVEL,
            seed=seed,
        )  # fmt: skip
        found[name] = {
            key: {label: float(s[label][k]) for label in ("S1", "S1_conf", "ST", "ST_conf")}
            for k, key in enumerate(keys)
        }
    return found


def _salib_problem(keys: list[str]) -> dict[str, Any]:
    return {"num_vars": len(keys), "names": keys, "bounds": [[0.0, 1.0]] * len(keys)}


def _import_salib(module: str) -> Any:
    from importlib import import_module

    try:
        return import_module(f"SALib.{module}")
    except ModuleNotFoundError as error:
        if error.name != "SALib":
            raise
        raise MissingPackageError(f"SALib is not installed; {pip_line('sensitivity')}") from None
