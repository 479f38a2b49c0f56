"""The potential of Stillinger and Weber for several elements, with parameters of pairs and triples in tables.

    U(x)    = sum_{i<j} epsilon A [B (sigma/r)^p - (sigma/r)^q] exp(sigma / (r - a sigma))
            + sum_i sum_{j<k} epsilon_ijk lambda_ijk (cos theta_jik - c_ijk)^2 w_ij(r_ij) w_ik(r_ik)
    w_ij(r) = exp(gamma_ij sigma_ij / (r - a_ij sigma_ij))

where every r is below a sigma, else 0. Parameters of a pair i, j are those of the entry i j j of a file;
epsilon, lambda and c of a triple those of i j k, i the atom in the middle, c the cosine of its preferred
angle. Where the entry's tol is above 0, pairs end earlier, where the exponential has fallen to it, as in
LAMMPS: at

    a sigma + sigma w / ln(min(tol, 0.01)),      w = gamma if gamma < 1, else 1.

x (n, d) [m]; tables in the run's units. Source: the pair style `sw` of LAMMPS 22 Jul 2025, written anew;
Stillinger and Weber 1985, Phys. Rev. B 31, 5262.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minusgrad import Fields, bind
from minusgrad.plugin import Compound, Cutoff, Table, UnitSystem, UserError, local_energy, ti

from ..stillinger_weber import gap, stillinger_weber_pair, stillinger_weber_triple
from .entry_files import Entries, refuse_ordered_pairs
from .species import POSITION, SPECIES, Species, pair_row, rows_of_pairs

SAME = 1e-5
"""Relative difference of numbers that a file has rounded, of products, too."""
TETRAHEDRAL, ROUNDED = -1.0 / 3.0, 1e-11


@local_energy(
    "stillinger_weber_species_pair",
    over="pairs",
    symmetries=("translation", "rotation", "permutation"),
    x=POSITION,
    species=SPECIES,
    pairs=Table(axes=2),
)
def stillinger_weber_species_pair(x, species, pairs):
    """The energy of two atoms. pairs: by two species, sigma, a sigma, end, epsilon A, B, p, q."""
    r = (x[0] - x[1]).norm()
    row = pair_row(species[0], species[1])
    sigma, end, cut = pairs[row, 0], pairs[row, 1], pairs[row, 2]
    s = sigma / r
    u = pairs[row, 3] * (pairs[row, 4] * s ** pairs[row, 5] - s ** pairs[row, 6])
    return ti.select(r < cut, u * ti.exp(sigma / gap(r, end)), 0.0)


@local_energy(
    "stillinger_weber_species_triple",
    over="triples",
    symmetries=("translation", "rotation"),
    x=POSITION,
    species=SPECIES,
    arms=Table(axes=3),
    angles=Table(axes=3),
)
def stillinger_weber_species_triple(x, species, arms, angles):
    """The energy of two arms at an atom, x[0].

    arms: by the species of the atom and of an end, gamma sigma, a sigma, end; angles: by the species of the
    atom and of both ends (`pair_row`), epsilon lambda, c.
    """
    a, b = x[1] - x[0], x[2] - x[0]
    r, s = a.norm(), b.norm()
    i, j, k = (ti.cast(one, ti.i32) for one in species)
    ends = pair_row(species[1], species[2])
    bend = a.dot(b) / (r * s) - angles[i, ends, 1]
    reached = ti.exp(arms[i, j, 0] / gap(r, arms[i, j, 1]) + arms[i, k, 0] / gap(s, arms[i, k, 1]))
    near = ti.max(r - arms[i, j, 2], s - arms[i, k, 2]) < 0.0
    return ti.select(near, angles[i, ends, 0] * reached * bend * bend, 0.0)


def stillinger_weber(
    fields: Fields,
    entries: Entries,
    atoms: Species,
    *,
    skin: float | None = None,
    images: bool = False,
    name: str = "stillinger_weber",
    units: UnitSystem,
) -> Compound:
    """The energies of the entries of a file over fields x and box.

    Of one species whose entry has tol = 0 and the tetrahedral angle they are `stillinger_weber_pair` and
    `stillinger_weber_triple`, with parameters; else those of tables, which are constants. Energies are called
    `name`_pair and `name`_triple; the map of tables `name`_species. skin, images: of the lists (`Cutoff`).

    Raises `UserError` for missing triples, and where i j k and i k j, or i j j and j i i, say different
    things.
    """
    given = entries.of_species(atoms.names)
    energy, length = units.convert(f"1 {entries.energy}", "J"), units.convert("1 angstrom", "m")
    given |= {"epsilon": energy * given["epsilon"], "sigma": length * given["sigma"]}
    _refuse_ordered(given, atoms.names, entries.source)
    every = np.arange(len(atoms))
    pair = {key: values[:, every, every] for key, values in given.items()}
    end, cut = pair["a"] * pair["sigma"], _end_of_pairs(pair)
    if not cut.max() > 0.0:
        raise UserError(f"file: {entries.source}: a sigma must be positive for some pair, got 0; correct it")
    options: dict[str, Any] = {
        "cutoff": Cutoff(float(cut.max()), skin=skin, sharp=True, images=images),
        "units": units,
    }
    names = f"{name}_pair", f"{name}_triple"
    if len(atoms) == 1 and not given["tol"].any() and abs(given["costheta0"].item() - TETRAHEDRAL) < ROUNDED:
        number = {key: float(values.item()) for key, values in given.items()}
        shared = {key: number[key] for key in ("epsilon", "sigma")} | {"reach": number["a"]}
        of_pair = shared | {key: number[key] for key in ("A", "B", "p", "q")}
        of_triple = shared | {"stiffness": number["lambda"], "gamma": number["gamma"]}
        two = bind(stillinger_weber_pair, fields, name=names[0], parameters=of_pair, **options)
        three = bind(stillinger_weber_triple, fields, name=names[1], parameters=of_triple, **options)
        return Compound([two, three])
    numbered = f"{name}_species"
    options["renamed"] = {"species": numbered}
    numbers = atoms.numbered(fields, numbered)
    absent = np.where(end > 0.0, end, length)
    strength = pair["epsilon"] * pair["A"]
    columns = (pair["sigma"], absent, cut, strength, pair["B"], pair["p"], pair["q"])
    arms = np.stack([pair["gamma"] * pair["sigma"], absent, cut], axis=-1)
    angles = np.stack([given["epsilon"] * given["lambda"], given["costheta0"]], axis=-1)
    tables = {"pairs": rows_of_pairs(np.stack(columns, axis=-1))}
    two = bind(stillinger_weber_species_pair, fields, name=names[0], tables=tables, **options)
    tables = {"arms": arms, "angles": rows_of_pairs(angles)}
    three = bind(stillinger_weber_species_triple, fields, name=names[1], tables=tables, **options)
    return Compound([two, three], [numbers])


def _end_of_pairs(pair: Mapping[str, np.ndarray]) -> np.ndarray:
    """Where pairs end, (S, S): a sigma, or where the exponential is tol."""
    weight = np.where(pair["gamma"] < 1.0, pair["gamma"], 1.0) * pair["sigma"]
    tol = np.minimum(pair["tol"], 0.01)
    earlier = weight / np.log(np.where(tol > 0.0, tol, 0.5))
    return np.maximum(pair["a"] * pair["sigma"] + np.where(tol > 0.0, earlier, 0.0), 0.0)


def _refuse_ordered(given: Mapping[str, np.ndarray], names: Sequence[str], source: str) -> None:
    """Refuse parameters that depend on the order of neighbours: the energy would depend on it, too."""
    refuse_ordered_pairs(given, ("epsilon", "sigma", "a", "A", "B", "p", "q", "tol"), SAME, names, source)
    three = {"epsilon lambda": given["epsilon"] * given["lambda"], "costheta0": given["costheta0"]}
    for key, values in three.items():
        off = np.abs(values - values.swapaxes(1, 2)) > SAME * np.abs(values)
        if off.any():
            i, j, k = (names[n] for n in np.argwhere(off)[0])
            both = f"{i} {j} {k} and {i} {k} {j}"
            raise UserError(f"file: {source}: {key} of {both} must be the same, got two; make them equal")
