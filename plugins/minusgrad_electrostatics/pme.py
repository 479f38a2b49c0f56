"""Particle-mesh Ewald: the Coulomb energy of charges in a periodic box, of maps and energies with one alpha.

    U = direct + excluded + self + reciprocal (+ scaled + background)   `ewald` has the formulas

    charges -> mesh_charge -> mesh_modes -> reciprocal                  maps, and the energy that reads them

The mesh and alpha stay while the box changes. Essmann et al. 1995, J. Chem. Phys. 103, 8577; alpha and the
cells of the mesh for a relative error of the forces as in the OpenMM User Guide, "Coulomb Interaction with
Particle Mesh Ewald".

Decisions 0323.
"""

import math
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from scipy import fft

from minusgrad import bind, bind_staged
from minusgrad.plugin import Compound, Cutoff, Fields, Grid, LinkedPairs, UnitSystem, UserError

from .ewald import (
    ewald_background,
    ewald_direct,
    ewald_excluded,
    ewald_reciprocal,
    ewald_scaled,
    ewald_self,
)
from .mesh import mesh_charge, mesh_modes, modes_shape
from .modes import Modes
from .splines import ORDER
from .waves import bound_wave_sums, waves_below

NEUTRAL = 1e-3
"""The charge of a box that counts as rounding, in units of its largest charge."""


def splitting(error: float, cutoff: float) -> float:
    """alpha [1/m] at which the direct sum is cut off with a relative error, at the distance `cutoff` [m]."""
    return math.sqrt(-math.log(2.0 * error)) / cutoff


def mesh_for(error: float, alpha: float, box: np.ndarray) -> tuple[int, ...]:
    """Cells along each edge of a box (3, 3) for a relative error, rounded up to sizes of fast transforms."""
    lengths = np.linalg.norm(box, axis=1)
    cells = np.ceil(2.0 * alpha * lengths / (3.0 * error**0.2)).astype(int)
    return tuple(int(fft.next_fast_len(max(int(n), ORDER), real=True)) for n in cells)


def particle_mesh_ewald(
    fields: Fields,
    *,
    cutoff: Cutoff,
    alpha: float,
    mesh: Sequence[int],
    exclude: Any = None,
    scaled: Mapping[str, tuple[Any, float]] | None = None,
    background: bool = False,
    coulomb_constant: float | None = None,
    renamed: Mapping[str, str] | None = None,
    units: UnitSystem | None = None,
    name: str = "pme",
    below: tuple[int, ...] | None = None,
) -> Compound:
    """The energies and maps of particle-mesh Ewald over fields x (n, 3), charge (n,) and box (1, 3, 3).

        pme = particle_mesh_ewald(fields, cutoff=Cutoff(1.0, sharp=True), alpha=3.0, mesh=(32, 32, 32))
        potential = Potential(fields, pme.terms, pme.maps)

    cutoff: of the direct sum. alpha [1/m]: the splitting parameter. mesh: cells along each edge of the box.
    exclude (E, 2): pairs that do not interact. scaled: lists of pairs (E, 2) that interact at any distance
    and with a factor, by name. background: allow a net charge, neutralised uniformly. coulomb_constant:
    1 / (4 pi eps0). renamed: fields that stand for x and charge. All in the units of `units`. Terms are
    called `name`_direct, _excluded, _self, _reciprocal and _background, and `name`_LIST of scaled pairs.
    below: along each axis only modes with |m| below it: on a mesh that is fine beside it, Ewald's own sum;
    with mesh = () exactly that, wave by wave.

    Raises `UserError` for charges that do not sum to zero, a mesh that is too small, and without a box in
    space that is periodic along all axes.
    """
    known = {"x": "x", "charge": "charge"} | dict(renamed or {})
    cells = tuple(map(int, mesh))
    _check_box(name, fields)
    if cells or below is None:
        _check_mesh(name, cells)
    charges = fields[known["charge"]].values.astype(float)
    if not background:
        _refuse_net_charge(name, charges)
    constant = {} if coulomb_constant is None else {"coulomb_constant": coulomb_constant}
    both: dict[str, Any] = {"parameters": {"alpha": alpha, **constant}, "units": units}
    modes = Modes.of(cells, below) if cells or below is None else waves_below(below)
    of_modes: dict[str, Any] = {"renamed": {"mesh_modes": f"{name}_modes"}, **both}
    of_pairs: dict[str, Any] = {"renamed": known, **both}
    if cells:
        maps = _mesh_maps(name, fields, cells, known, units)
    else:
        maps = [bound_wave_sums(f"{name}_modes", fields, modes, known, units)]
    lists = {} if scaled is None else dict(scaled)
    every = [*([] if exclude is None else [exclude]), *(rows for rows, _ in lists.values())]
    left_out = _each_once(every, fields, known["x"])
    terms = [
        bind(ewald_direct, fields, name=f"{name}_direct", cutoff=cutoff, exclude=left_out, **of_pairs),
        bind(ewald_self, fields, name=f"{name}_self", **both | {"renamed": {"charge": known["charge"]}}),
        bind(ewald_reciprocal, fields, name=f"{name}_reciprocal", **modes.options, **of_modes),
    ]
    if left_out is not None:
        terms.append(bind(ewald_excluded, fields, name=f"{name}_excluded", tuples=left_out, **of_pairs))
    for label, (rows, factor) in lists.items():
        terms.append(_scaled_pairs(f"{name}_{label}", fields, rows, factor, known, constant, units))
    if background:
        terms.append(bind(ewald_background, fields, name=f"{name}_background", tuples=[[0]], **of_modes))
    return Compound(terms, maps)


def _each_once(lists: Sequence[Any], fields: Fields, positions: str) -> LinkedPairs | None:
    """The pairs of all lists in their order, each pair of images once; None without any."""
    box = fields.geometry
    assert box is not None
    x = fields[positions].values.astype(float)
    pairs = LinkedPairs.joined(map(LinkedPairs.of, lists)).placed(x, box).different(x, box)
    return pairs if len(pairs) else None


def _scaled_pairs(
    name: str,
    fields: Fields,
    rows: Any,
    factor: float,
    known: Mapping[str, str],
    constant: Mapping[str, float],
    units: UnitSystem | None,
) -> Any:
    """The energy of listed pairs with a factor."""
    given, rows = {"factor": factor, **constant}, LinkedPairs.of(rows)
    return bind(ewald_scaled, fields, name=name, tuples=rows, parameters=given, renamed=known, units=units)


def _mesh_maps(
    name: str, fields: Fields, cells: tuple[int, ...], known: Mapping[str, str], units: UnitSystem | None
) -> list[Any]:
    """The charges on the mesh, and their transform."""
    on_mesh, in_modes = f"{name}_charge", f"{name}_modes"
    numbers, count = {"mesh": np.array(cells, float)}, {"n_mesh_modes": prod(modes_shape(cells))}
    options: dict[str, Any] = {"grid": Grid(cells), "parameters": numbers, "units": units}
    charge = bind(mesh_charge, fields, name=on_mesh, renamed=known, gives=on_mesh, **options)
    read = {"mesh_charge": on_mesh}
    data = {"mesh": cells}
    modes = bind_staged(
        mesh_modes, fields, name=in_modes, renamed=read, gives=in_modes, data=data, sizes=count
    )
    return [charge, modes]


def _check_box(name: str, fields: Fields) -> None:
    if fields.box is None or fields.periodic != (True, True, True):
        got = "no box" if fields.box is None else f"periodic = {[*map(bool, fields.periodic)]}"
        raise UserError(
            f"{name}: needs a box in space that is periodic along all axes, got {got.lower()}; give [box]"
        )


def _check_mesh(name: str, cells: tuple[int, ...]) -> None:
    if len(cells) != 3 or min(cells) < ORDER:
        raise UserError(
            f"{name}.mesh: needs three numbers of cells of at least {ORDER}, got {[*cells]};"
            " give a finer mesh"
        )


def _refuse_net_charge(name: str, charges: np.ndarray) -> None:
    total, largest = float(charges.sum()), float(np.abs(charges).max())
    if abs(total) > NEUTRAL * largest:
        raise UserError(
            f"{name}: needs charges that sum to zero, got {total:g} beside a largest charge of {largest:g};"
            " correct the charges, or neutralise the box uniformly with background = true"
        )
