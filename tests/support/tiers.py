"""Long tables and their samples: the rows that `make test` runs; the others are marked `long`.

The sample is part of the test, so it is the same in every run. `tests/README.md` lists the samples.
"""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import pytest

ALIKE = (
    *("linear_plane_stress", "stable_neo_hookean", "hencky", "hencky_plane_stress", "fixed_corotated"),
    *("linear_corotated_plane_stress", "fixed_corotated_plane_stress", "mooney_rivlin", "fibres"),
    *("mooney_rivlin_plane_stress", "ogden", "ogden_plane_stress", "neo_hookean_plane_stress"),
    *("stable_neo_hookean_plane_stress", "st_venant_kirchhoff_plane_stress"),
    *("compressible_mooney_rivlin_plane_stress", "compressible_ogden_plane_stress"),
)
"""Energies of cells that differ from `linear` and `linear_corotated` by their function alone: their rows in
tables of all energies are long. Stresses and tangents of each are in `plugins/elastic/test_materials`."""

COSTLY = frozenset(Path(__file__).with_name("costly_rows.txt").read_text().splitlines())
"""Names of single tests that are long: FILE::TEST[ROW], below `tests/`."""


def alternating(cases: Iterable[str]) -> list[str]:
    """Of rows NAME-2d and NAME-3d of one energy one, that of the plane and that of space in turn."""
    by_name: dict[str, list[str]] = {}
    for case in cases:
        by_name.setdefault(case.rpartition("-")[0], []).append(case)
    return [rows[k % len(rows)] for k, rows in enumerate(by_name.values())]


def is_alike(row: str) -> bool:
    """True for the name of a row, such as hencky-3d, that belongs to one of these."""
    return row.split("-")[0] in ALIKE


def sampled(rows: Iterable[Any], kept: Collection[Any]) -> list[Any]:
    """Parameters for all rows; those that are not `kept` are marked `long`."""
    rows = list(rows)
    assert (lost := [row for row in kept if row not in rows]) == [], f"not in the table: {lost}"
    return [row if row in kept else _long(row) for row in rows]


def _long(row: Any) -> Any:
    """The row, a value or a `pytest.param`, marked `long`."""
    if isinstance(row, type(pytest.param())):
        return row._replace(marks=(*row.marks, pytest.mark.long))
    return pytest.param(row, marks=pytest.mark.long)


def counts(few: int, many: int) -> list[Any]:
    """Numbers of cases of one fixed sequence: the first few of them, and, marked `long`, all."""
    return [few, pytest.param(many, marks=pytest.mark.long)]
