"""The embedded-atom method with tables: embedding energies of densities, and energies of pairs.

    U(x) = sum_i F_a(rho_i) + sum_{i<j} z_ab(r_ij) / r_ij,      rho_i = sum_{j != i} f_ba(r_ij)

a is the species of atom i, b that of j; F [J], f [1], z [J m] are splines through the values of a file at
equal distances (`splines`), r_ij [m] = |x_i - x_j| below the cutoff, where pairs end sharply. All of them
have one continuous derivative: second derivatives, such as elastic constants, jump at the places of the
tables. Beyond the last distance f and z stay as they are there. Beyond the last density rho_m F goes on along
its tangent,

    F(rho) = F(rho_m) + F'(rho_m) (rho - rho_m),

so that energy is conserved. Source: pair styles `eam`, `eam/alloy` and `eam/fs` of LAMMPS 22 Jul 2025, which
do the same, with one exception: of `funcfl` files, whose last value is left out, the tangent begins there at
the value that is left out, and energies beyond jump; here they do not. Daw and Baskes 1984, Phys. Rev. B 29,
6443; Finnis and Sinclair 1984, Philos. Mag. A 50, 45.
"""

from typing import Any

import numpy as np

from minusgrad import Fields, bind
from minusgrad.plugin import (
    Compound,
    Cutoff,
    Node,
    Table,
    UnitSystem,
    length,
    local_energy,
    local_map,
    ti,
)

from .eam_tables import EamTables
from .species import POSITION, SPECIES, Species, directed_row, pair_row, rows_of_pairs
from .splines import spline_coefficients


@ti.func
def spline_value(table, row, k, s):
    """The polynomial of interval k of a row of coefficients, at 0 <= s <= 1."""
    return ((table[row, k, 3] * s + table[row, k, 2]) * s + table[row, k, 1]) * s + table[row, k, 0]


@ti.func
def spline_interval(place, last):
    """The interval that a place counted in intervals lies in, the last one for those beyond."""
    return ti.max(ti.min(ti.cast(ti.floor(place), ti.i32), last), 0)


@local_map(
    "eam_density",
    gives="rho",
    over="pairs",
    x=POSITION,
    species=SPECIES,
    density=Table(axes=3),
    steps=Table(axes=1),
)
def eam_density(x, species, density, steps):
    """The density f of the second atom at the first. density: coefficients by giver and atom; steps: 1 / dr,
    S."""
    place = length(x[0] - x[1]) * steps[0]
    k = spline_interval(place, density.shape[1] - 1)
    row = directed_row(species[1], species[0], steps[1])
    return spline_value(density, row, k, ti.min(place - k, 1.0))


@local_energy(
    "eam_pair",
    over="pairs",
    symmetries=("translation", "rotation", "permutation"),
    x=POSITION,
    species=SPECIES,
    products=Table(axes=3),
    steps=Table(axes=1),
)
def eam_pair(x, species, products, steps):
    """The energy z / r of a pair. products: coefficients of z by pair (`pair_row`); steps: 1 / dr."""
    r = (x[0] - x[1]).norm()
    place = r * steps[0]
    k = spline_interval(place, products.shape[1] - 1)
    row = pair_row(species[0], species[1])
    return spline_value(products, row, k, ti.min(place - k, 1.0)) / r


@local_energy(
    "eam_embedding",
    over="nodes",
    rho=Node(),
    species=SPECIES,
    embedding=Table(axes=3),
    steps=Table(axes=1),
)
def eam_embedding(rho, species, embedding, steps):
    """The embedding energy F of an atom. embedding: coefficients by species; steps: 1 / drho."""
    place, last = rho[0] * steps[0], embedding.shape[1] - 1
    k, row = spline_interval(place, last), ti.cast(species[0], ti.i32)
    slope = 3.0 * embedding[row, last, 3] + 2.0 * embedding[row, last, 2] + embedding[row, last, 1]
    beyond = ti.max(place - (last + 1.0), 0.0)
    return spline_value(embedding, row, k, ti.min(place - k, 1.0)) + slope * beyond


def eam(
    fields: Fields,
    tables: EamTables,
    atoms: Species,
    *,
    skin: float | None = None,
    images: bool = False,
    name: str = "eam",
    units: UnitSystem,
) -> Compound:
    """The maps and the energies of tables over fields x and box.

        parts = eam(fields, files.tables(atoms.names), atoms, units=units)
        potential = Potential(fields, parts.terms, parts.maps)

    tables: of the species of `atoms`, in their order. skin, images: of the list of neighbours (`Cutoff`).
    name: the energies are called `name`_pair and `name`_embedding, the maps and their fields `name`_species
    and `name`_density. units: of the fields.
    """
    energy, angstrom = units.convert(f"1 {tables.energy}", "J"), units.convert("1 angstrom", "m")
    options: dict[str, Any] = {
        "cutoff": Cutoff(tables.cutoff * angstrom, skin=skin, sharp=True, images=images),
        "units": units,
    }
    steps = np.array([1.0 / (tables.dr * angstrom), float(len(atoms))])
    numbered, density = f"{name}_species", f"{name}_density"
    read = {"species": numbered}

    numbers = atoms.numbered(fields, numbered)
    of_pairs = {"density": spline_coefficients(np.concatenate(tables.density)), "steps": steps}
    densities = bind(
        eam_density, fields, name=density, gives=density, renamed=read, tables=of_pairs, **options
    )
    products = spline_coefficients(energy * angstrom * rows_of_pairs(tables.products))
    of_pairs = {"products": products, "steps": steps[:1]}
    pairs = bind(eam_pair, fields, name=f"{name}_pair", renamed=read, tables=of_pairs, **options)
    of_atoms = {
        "embedding": spline_coefficients(energy * tables.embedding),
        "steps": np.array([1.0 / tables.drho]),
    }
    embedded = bind(
        eam_embedding,
        fields,
        name=f"{name}_embedding",
        renamed={"rho": density, **read},
        tables=of_atoms,
        units=units,
    )
    return Compound([pairs, embedded], [numbers, densities])
