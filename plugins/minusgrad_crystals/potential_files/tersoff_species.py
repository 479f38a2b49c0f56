"""The potential of Tersoff for several elements, with parameters of pairs and triples in tables.

    U(x)    = 1/2 sum_i sum_{j != i} f_ijj(r_ij) [ A exp(-lambda1 r_ij) - b_ij B exp(-lambda2 r_ij) ]
    b_ij    = [ 1 + (beta zeta_ij)^n ]^(-1 / 2n)
    zeta_ij = sum_{k != i, j} f_ijk(r_ik) g_ijk(cos theta_jik) exp[ lambda3^m (r_ij - r_ik)^m ]
    g(s)    = gamma [ 1 + c^2 / d^2 - c^2 / (d^2 + (h - s)^2) ]
    f(r)    = 1 for r <= R - D,   1/2 - 1/2 sin( pi (r - R) / 2D ) for R - D < r < R + D,   0 beyond

A, B, lambda1, lambda2, beta, n are those of the entry i j j of a file; gamma, lambda3, m, c, d, h those of i
j k; R and D of a bond those of i j j, of a neighbour k those of i j k. m is 3 or 1. x (n, 3) [m]; tables in
the run's units. f has one continuous derivative. The repulsion of a pair is half that of i j j and half that
of j i i; LAMMPS takes one of them, by the numbers of the atoms, so that they must be the same up to rounding.
Source: the pair style `tersoff` of LAMMPS 22 Jul 2025, written anew; Tersoff 1989, Phys. Rev. B 39, 5566.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minusgrad import Fields, bind
from minusgrad.plugin import (
    Compound,
    Cutoff,
    Node,
    Table,
    UnitSystem,
    UserError,
    local_energy,
    local_map,
    ti,
)

from ..tersoff import fading, tersoff
from .entry_files import Entries, refuse_ordered_pairs
from .species import POSITION, SPECIES, Species, directed_row

REPULSION, SAME = ("A", "lambda1", "R", "D"), 1e-3
"""Numbers that i j j and j i i share, up to what files round."""


@local_map(
    "tersoff_species_zeta",
    gives="zeta",
    over="directed_triples",
    x=POSITION,
    species=SPECIES,
    triples=Table(axes=3),
    steps=Table(axes=1),
)
def tersoff_species_zeta(x, species, triples, steps):
    """The share of the neighbour x[3] in zeta of the bond from x[1] to x[2].

    triples: by the species of x[1] and of x[2], x[3] (`directed_row`), gamma, lambda3, m, c, d, h, R - D, R +
    D; steps: S.
    """
    i, k = ti.cast(species[1], ti.i32), directed_row(species[2], species[3], steps[0])
    a, b = x[2] - x[1], x[3] - x[1]
    r, s = a.norm(), b.norm()
    c, d = triples[i, k, 3], triples[i, k, 4]
    off = triples[i, k, 5] - a.dot(b) / (r * s)
    angular = triples[i, k, 0] * (1.0 + (c * off / d) ** 2 / (d * d + off * off))
    longer = triples[i, k, 1] * (r - s)
    power = ti.select(triples[i, k, 2] > 2.0, longer * longer * longer, longer)
    return fading(s, triples[i, k, 6], triples[i, k, 7]) * angular * ti.exp(power)


@local_energy(
    "tersoff_species_bond",
    over="directed_pairs",
    symmetries=("translation", "rotation"),
    x=POSITION,
    species=SPECIES,
    zeta=Node(of="pair", bounds=(0.0, np.inf)),
    bonds=Table(axes=3),
)
def tersoff_species_bond(x, species, zeta, bonds):
    """Half of the energy of a bond, with the bond order of its first atom.

    bonds: by the species of both atoms, A, B, lambda1, lambda2, beta, n, R - D, R + D.
    """
    i, j = ti.cast(species[1], ti.i32), ti.cast(species[2], ti.i32)
    r, n = (x[1] - x[2]).norm(), bonds[i, j, 5]
    crowd = bonds[i, j, 4] * zeta[0]
    order = (1.0 + ti.select(crowd > 0.0, crowd**n, 0.0)) ** (-0.5 / n)
    repulsion, attraction = (
        bonds[i, j, 0] * ti.exp(-bonds[i, j, 2] * r),
        bonds[i, j, 1] * ti.exp(-bonds[i, j, 3] * r),
    )
    return 0.5 * fading(r, bonds[i, j, 6], bonds[i, j, 7]) * (repulsion - order * attraction)


def tersoff_of_file(
    fields: Fields,
    entries: Entries,
    atoms: Species,
    *,
    skin: float | None = None,
    images: bool = False,
    name: str = "tersoff",
    units: UnitSystem,
) -> Compound:
    """The map and the energy of the entries of a file over fields x and box.

    Of one species whose entry has gamma = 1 and m = 3 or lambda3 = 0 they are those of `tersoff`, with
    parameters; else those of tables, which are constants. The energy is called `name`, the map `name`_zeta,
    and that of the species of tables `name`_species. skin, images: of the lists of neighbours (`Cutoff`).

    Raises `UserError` for missing triples, and for numbers that the potential cannot have.
    """
    given = entries.of_species(atoms.names)
    _refuse_unfit(given, atoms.names, entries.source)
    energy, length = units.convert(f"1 {entries.energy}", "J"), units.convert("1 angstrom", "m")
    given |= {key: energy * given[key] for key in ("A", "B")}
    given |= {key: length * given[key] for key in ("R", "D")}
    given |= {key: given[key] / length for key in ("lambda1", "lambda2", "lambda3")}
    inner, outer = given["R"] - given["D"], given["R"] + given["D"]
    if len(atoms) == 1 and given["gamma"] == 1.0 and (given["m"] == 3.0 or given["lambda3"] == 0.0):
        keys = ("A", "B", "lambda1", "lambda2", "lambda3", "beta", "n", "c", "d")
        numbers: dict[str, Any] = {key: float(given[key].item()) for key in keys}
        numbers |= {"h": float(given["costheta0"].item()), "R": float(inner.item())}
        more: dict[str, Any] = {"skin": skin, "images": images, "name": name, "units": units}
        return tersoff(fields, S=float(outer.item()), **more, **numbers)
    count = len(atoms)
    every = np.arange(count)
    numbered, zeta = f"{name}_species", f"{name}_zeta"
    options: dict[str, Any] = {
        "cutoff": Cutoff(float(outer.max()), skin=skin, sharp=True, images=images),
        "units": units,
    }
    of_triples = [given[key] for key in ("gamma", "lambda3", "m", "c", "d", "costheta0")]
    of_bonds = [given[key][:, every, every] for key in ("A", "B", "lambda1", "lambda2", "beta", "n")]
    triples = np.stack([*of_triples, inner, outer], axis=-1).reshape(count, count * count, 8)
    ends = (one[:, every, every] for one in (inner, outer))
    bonds = np.stack([*of_bonds, *ends], axis=-1)
    numbers_of, read = atoms.numbered(fields, numbered), {"species": numbered}
    shares = bind(
        tersoff_species_zeta,
        fields,
        name=zeta,
        gives=zeta,
        renamed=read,
        tables={"triples": triples, "steps": np.array([float(count)])},
        **options,
    )
    bond = bind(
        tersoff_species_bond,
        fields,
        name=name,
        renamed={"zeta": zeta, **read},
        tables={"bonds": bonds},
        **options,
    )
    return Compound([bond], [numbers_of, shares])


def _refuse_unfit(given: Mapping[str, np.ndarray], names: Sequence[str], source: str) -> None:
    """Refuse m other than 3 and 1, D that is not below R, and zeros that divide."""
    every = np.arange(len(names))
    of_bonds = np.zeros_like(given["n"], bool)
    of_bonds[:, every, every] = True
    refuse_ordered_pairs(given, REPULSION, SAME, names, source)
    wrong = {
        "m": (~np.isin(given["m"], (1.0, 3.0)), "1 or 3"),
        "d": (given["d"] == 0.0, "positive"),
        "D": ((given["D"] <= 0.0) | (given["D"] >= given["R"]), "positive and below R"),
        "n": (of_bonds & (given["n"] == 0.0), "positive"),
    }
    for key, (off, wanted) in wrong.items():
        if off.any():
            at = tuple(np.argwhere(off)[0])
            triple = " ".join(names[k] for k in at)
            got = f"got {given[key][at]:g}; correct the entry"
            raise UserError(f"file: {source}: {key} of {triple} must be {wanted}, {got}")
