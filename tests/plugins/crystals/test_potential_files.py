"""Potentials from files of LAMMPS: against LAMMPS itself, splines by its formulas, and bad files."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minusgrad import Fields, Potential
from minusgrad.energies.fields import Body, State
from minusgrad.errors import UserError
from minusgrad.plugin import Compound, UnitSystem
from minusgrad_crystals.potential_files.eam import eam
from minusgrad_crystals.potential_files.eam_files import read_eam
from minusgrad_crystals.potential_files.eam_tables import EamFiles
from minusgrad_crystals.potential_files.entry_files import SW, TERSOFF, Entries, read_entries
from minusgrad_crystals.potential_files.species import Species
from minusgrad_crystals.potential_files.splines import lagrange_values, spline_coefficients
from minusgrad_crystals.potential_files.stillinger_weber_species import stillinger_weber
from minusgrad_crystals.potential_files.tersoff_species import tersoff_of_file
from tests.plugins.crystals.potential_file_texts import CASES, FILES, SILICON_SW, setfl, state
from tests.support.tiers import sampled

STORED = json.loads(Path(__file__).with_name("potential_file_reference.json").read_text())
BAR = 1.6021765e6
"""eV per cubic angstrom in LAMMPS's bar, whose last digits are older than the SI's."""
UNITS = UnitSystem.of("angstrom", "u", "ps")
EV = UNITS.convert("1 eV", "J")


def parts_of(name: str, fields: Fields, kinds: np.ndarray) -> Compound:
    """The energies of a case over fields."""
    style, lines, elements, _ = CASES[name]
    names, numbers = tuple(dict.fromkeys(elements)), kinds.astype(np.int32)
    atoms = Species(names, numbers if len(names) > 1 else 0 * numbers)
    if style.startswith("eam"):
        files: Any = [line.split()[2] for line in lines]
        files = files[0] if len(files) == 1 else dict(zip(elements, files, strict=True))
        read = EamFiles.of(files, {file: text.encode() for file, text in FILES.items()})
        return eam(fields, read.tables(atoms.names), atoms, images=True, units=UNITS)
    make, file = (stillinger_weber, SW) if style == "sw" else (tersoff_of_file, TERSOFF)
    source = lines[0].split()[2]
    entries = Entries.of(source, FILES[source].encode(), file)
    return make(fields, entries, atoms, images=True, units=UNITS)


def potential_of(name: str, precision: str = "f64") -> Potential:
    x, box, kinds = state(name)
    fields = Fields({"x": x, "box": box[None]}, {"x": "m", "box": "m"}, precision)
    parts = parts_of(name, fields, kinds)
    return Potential(fields, parts.terms, parts.maps)


@pytest.mark.parametrize("name", sampled(CASES, ["fs", "dense", "sw", "tersoff"]))
def test_energy_forces_and_pressure_are_those_of_lammps(name: str) -> None:
    (x, box, _), stored = state(name), STORED[name]
    one, forces = potential_of(name), np.array(stored["forces"])
    assert one.value() / EV == pytest.approx(stored["energy"], rel=1e-11)
    found = one.gradient("x") / EV
    np.testing.assert_allclose(found, -forces, rtol=0.0, atol=1e-11 * np.abs(forces).max())
    strain = x.T @ found + box.T @ one.gradient("box")[0] / EV
    pressure = -BAR * strain[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]] / abs(np.linalg.det(box))
    stress = np.array(stored["pressure"])
    np.testing.assert_allclose(pressure, stress, rtol=0.0, atol=1e-10 * np.abs(stress).max())


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_single_precision_is_close(name: str) -> None:
    one, single = potential_of(name), potential_of(name, "f32")
    assert single.value() == pytest.approx(one.value(), rel=3e-6)
    found = one.gradient("x")
    np.testing.assert_allclose(single.gradient("x"), found, rtol=0.0, atol=1e-4 * np.abs(found).max())


@pytest.mark.long
@pytest.mark.parametrize("name", ["fs", "sw", "tersoff"])
def test_products_with_second_derivatives_are_differences_of_the_gradient(name: str) -> None:
    one, step = potential_of(name), 1e-6
    w = np.random.default_rng(1).normal(size=one.fields["x"].shape)
    found, start = one.product({"x": w}, "x"), one.fields["x"].values.copy()

    def at(h: float) -> np.ndarray:
        one.fields["x"].set(start + h * w)
        return one.gradient("x")

    differences = (at(step) - at(-step)) / (2.0 * step)
    np.testing.assert_allclose(found, differences, rtol=0.0, atol=1e-5 * np.abs(found).max())


def test_the_cases_are_hard_enough() -> None:
    """Densities beyond the table in one of them; elements with parameters, and with tables."""
    dense = potential_of("dense")
    dense.refresh()
    assert (dense.fields["eam_density"].values > 9.0).any()
    assert "tersoff_zeta.h" in potential_of("one element, tersoff").arguments
    assert "stillinger_weber_triple.stiffness" in potential_of("one element, sw").arguments
    assert not any("." in name for name in potential_of("tersoff").arguments)


def lammps_spline(f: list[float], places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values and slopes at places counted from the first value, by the loops of LAMMPS, from 1 to n."""
    n = len(f)
    s = [[0.0] * 7 for _ in range(n + 1)]
    for m in range(1, n + 1):
        s[m][6] = f[m - 1]
    s[1][5], s[2][5] = s[2][6] - s[1][6], 0.5 * (s[3][6] - s[1][6])
    s[n - 1][5], s[n][5] = 0.5 * (s[n][6] - s[n - 2][6]), s[n][6] - s[n - 1][6]
    for m in range(3, n - 1):
        s[m][5] = ((s[m - 2][6] - s[m + 2][6]) + 8.0 * (s[m + 1][6] - s[m - 1][6])) / 12.0
    for m in range(1, n):
        rise = s[m + 1][6] - s[m][6]
        s[m][4] = 3.0 * rise - 2.0 * s[m][5] - s[m + 1][5]
        s[m][3] = s[m][5] + s[m + 1][5] - 2.0 * rise
    values, slopes = [], []
    for place in places:
        m = min(int(place + 1.0), n - 1)
        p = min(place + 1.0 - m, 1.0)
        values.append(((s[m][3] * p + s[m][4]) * p + s[m][5]) * p + s[m][6])
        slopes.append((3.0 * s[m][3] * p + 2.0 * s[m][4]) * p + s[m][5])
    return np.array(values), np.array(slopes)


@pytest.mark.parametrize("count", [5, 6, 17])
def test_splines_are_those_of_lammps_and_smooth(count: int) -> None:
    y, places = np.random.default_rng(count).normal(size=count), np.linspace(0.0, count - 1.0, 200)
    c = spline_coefficients(y)
    k = np.minimum(places.astype(int), count - 2)
    s = places - k
    powers = np.stack([s**0, s, s**2, s**3], axis=-1)
    values, slopes = lammps_spline(y.tolist(), places)
    np.testing.assert_allclose((c[k] * powers).sum(axis=-1), values, atol=1e-14)
    rising = np.stack([0.0 * s, s**0, 2.0 * s, 3.0 * s**2], axis=-1)
    np.testing.assert_allclose((c[k] * rising).sum(axis=-1), slopes, atol=1e-13)
    np.testing.assert_allclose(c[:-1] @ [0.0, 1.0, 2.0, 3.0], c[1:, 1], atol=1e-13)  # one derivative


def test_four_values_hold_a_cubic() -> None:
    places = np.array([0.0, 0.3, 1.7, 4.5, 6.0, 7.5])
    cubic = np.polynomial.Polynomial([1.0, -2.0, 0.5, 0.25])
    found = lagrange_values(cubic(np.arange(7.0)), places)
    np.testing.assert_allclose(found[:5], cubic(places[:5]), rtol=1e-14)
    assert found[5] == cubic(6.0)


def test_tables_of_ase_have_nearly_the_same_energy(tmp_path: Path) -> None:
    """Its splines are others, so that fine tables agree, and coarse ones do not."""
    from ase import Atoms
    from ase.calculators.eam import EAM

    x, box, kinds = state("alloy")
    text = setfl(nrho=2001, nr=2001)
    (tmp_path / "fine.eam.alloy").write_text(text)
    fields = Fields({"x": x, "box": box[None]}, {"x": "m", "box": "m"})
    read = EamFiles.of("fine.eam.alloy", {"fine.eam.alloy": text.encode()})
    atoms = Species(("Ni", "Al"), kinds.astype(np.int32))
    parts = eam(fields, read.tables(atoms.names), atoms, images=True, units=UNITS)
    found = Potential(fields, parts.terms, parts.maps).value() / EV
    theirs = Atoms(np.array(["Ni", "Al"])[kinds], x, cell=box, pbc=True)
    theirs.calc = EAM(potential=str(tmp_path / "fine.eam.alloy"))
    assert found == pytest.approx(theirs.get_potential_energy(), rel=1e-5)


# Bad files ------------------------------------------------------------------------------------------


def without(text: str, line: int) -> str:
    """The text without a line, counted from 1."""
    return "".join(one for n, one in enumerate(text.splitlines(keepends=True), 1) if n != line)


def replaced(text: str, line: int, new: str) -> str:
    lines = text.splitlines()
    lines[line - 1] = new
    return "\n".join(lines) + "\n"


ALLOY = FILES["NiAl.eam.alloy"]
SIZES = ALLOY.splitlines()[4]
EAM_MISTAKES: dict[str, tuple[Callable[[], str], str]] = {
    "cut off": (
        lambda: "".join(ALLOY.splitlines(keepends=True)[:15]),
        "line 15: needs 41 numbers of the density of Ni, got 20 and the end of the file; save or download the"
        " file again",
    ),
    "a line is missing": (
        lambda: without(ALLOY, 8),
        "line 21: the density of Ni must end with a line after 41 numbers, got 45; correct the counts",
    ),
    "a wrong count": (
        lambda: ALLOY.replace("\n23 ", "\n18 ", 1),
        "line 10: the embedding energy of Ni must end with a line after 18 numbers, got 20; correct",
    ),
    "no number": (
        lambda: replaced(ALLOY, 9, "1.0 2.0 three 4.0 5.0"),
        "line 9: a number of the embedding energy of Ni must be a finite number, got 'three'; correct it",
    ),
    "infinite": (
        lambda: replaced(ALLOY, 9, "1.0 2.0 inf 4.0 5.0"),
        "line 9: a number of the embedding energy of Ni must be a finite number, got 'inf'; correct it",
    ),
    "too few": (
        lambda: ALLOY.replace(" 41 ", " 4 "),
        "line 5: nr must be a whole number, 5 or more, got '4'; correct it",
    ),
    "a negative cutoff": (
        lambda: ALLOY.replace(" 4.5\n", " -4.5\n", 1),
        "line 5: cutoff must be positive, got -4.5; correct it",
    ),
    "short of the cutoff": (
        lambda: ALLOY.replace(" 4.5\n", " 6.5\n", 1),
        "line 5: tables must reach the cutoff 6.5, got (nr - 1) dr = 4.5; correct nr or dr",
    ),
    "elements": (
        lambda: ALLOY.replace("2 Ni Al", "3 Ni Al"),
        "line 4: needs 3 symbols of elements, got 2; correct the line",
    ),
    "twice": (
        lambda: ALLOY.replace("2 Ni Al", "2 Ni Ni"),
        "line 4: names every element once, got Ni twice; correct the line",
    ),
    "more": (
        lambda: ALLOY + "1.0\n",
        "line 63: must be the end of the file, after the last pair, got '1.0'; correct the counts",
    ),
    "units": (
        lambda: ALLOY.replace("UNITS: metal", "UNITS: lj"),
        "line 1: units must be metal or real, got UNITS: lj; convert the file to metal",
    ),
    "units of one element": (
        lambda: "UNITS: real " + FILES["Ni.eam"],
        "line 1: units of a funcfl file must be metal, got UNITS: real; convert the file to metal",
    ),
    "another kind": (
        lambda: FILES["GaN.sw"],
        "line 5: is neither setfl (line 4: elements, line 5: nrho drho nr dr cutoff) nor funcfl (line 3: nrho"
        ' drho nr dr cutoff); for .sw and .tersoff files write kind = "stillinger_weber" or "tersoff"',
    ),
    "an empty file": (lambda: "", "line 1: is neither setfl (line 4"),
}


@pytest.mark.parametrize("name", EAM_MISTAKES)
def test_bad_tables_are_refused_with_their_line(name: str) -> None:
    text, said = EAM_MISTAKES[name]
    with pytest.raises(UserError, match=re.escape(f"'a.eam.alloy', {said}")):
        read_eam("a.eam.alloy", text().encode())


ENTRY_MISTAKES = {
    "cut off": (
        SILICON_SW.replace(" 0.0 0.0\n", "\n"),
        SW,
        "line 1: the entry of Si Si Si needs 11 numbers (Stillinger and Weber), got 9; complete it, or"
        " use another kind of block or file",
    ),
    "another kind": (
        FILES["Si.tersoff"],
        SW,
        "line 1: the entry of Si Si Si needs 11 numbers (Stillinger and Weber), got 14, as Tersoff has",
    ),
    "modified": (
        FILES["Si.tersoff"].replace("\n", " 1 2 3\n"),
        TERSOFF,
        "line 1: the entry of Si Si Si needs 14 numbers (Tersoff), got 17, as tersoff/mod has; complete it",
    ),
    "twice": (
        f"{SILICON_SW}\n{SILICON_SW}",
        SW,
        "line 3: has an entry of Si Si Si already; leave one of them out",
    ),
    "negative": (
        SILICON_SW.replace("2.1683", "-2.1683"),
        SW,
        "line 1: epsilon of Si Si Si must be a finite number of at least 0, got '-2.1683'; correct it",
    ),
    "two elements": (
        "Si Si 2.1 3.0\n",
        SW,
        "line 1: needs three elements before numbers, got '2.1'; correct it",
    ),
    "four elements": (
        "Si Si Si Si 3.0\n",
        SW,
        "line 1: needs a number after Si Si Si, got 'Si'; correct it",
    ),
    "comments alone": (
        "# nothing\n",
        SW,
        "line 1: needs entries of three elements and numbers, got none; use a file of .sw or .tersoff",
    ),
}


@pytest.mark.parametrize("name", ENTRY_MISTAKES)
def test_bad_entries_are_refused_with_their_line(name: str) -> None:
    text, names, said = ENTRY_MISTAKES[name]
    with pytest.raises(UserError, match=re.escape(f"'a.sw', {said}")):
        read_entries("a.sw", text.encode(), list(names))


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("GaN.sw", "Ga N  Ga 1.61", "# ",
         "file: 'GaN.sw' needs an entry for each triple of Ga, N, got none for N N Ga; add"),
        ("GaN.sw", "Ga N  Ga 1.61", "Ga N Ga 1.71",
         "file: 'GaN.sw': epsilon lambda of Ga Ga N and Ga N Ga must be the same, got two; make"),
        ("GaN.sw", "Ga N  N  2.17", "Ga N N 2.27",
         "file: 'GaN.sw': epsilon of Ga N N and N Ga Ga must be the same, got two; make them"),
        ("SiC.tersoff", "Si Si Si 3.0", "Si Si Si 2.0",
         "file: 'SiC.tersoff': m of Si Si Si must be 1 or 3, got 2; correct the entry"),
        ("SiC.tersoff", "2.85 0.15 2.4799", "2.85 0.0 2.4799",
         "file: 'SiC.tersoff': D of Si Si Si must be positive and below R, got 0; correct"),
        ("SiC.tersoff", "2.9839 1597.3111\nC  Si C", "2.9839 1500.0\nC  Si C",
         "file: 'SiC.tersoff': A of Si C C and C Si Si must be the same, got two; make"),
    ],
)  # fmt: skip
def test_entries_that_do_not_fit_are_refused(name: str, old: str, new: str, said: str) -> None:
    text, of_sw = FILES[name], name.endswith("sw")
    assert old in text
    changed = text.replace(old, new) if new != "# " else without(text, 9)
    entries = Entries.of(name, changed.encode(), SW if of_sw else TERSOFF)
    x, _, kinds = state("sw" if of_sw else "tersoff")
    atoms = Species(("Ga", "N") if of_sw else ("Si", "C"), kinds.astype(np.int32))
    with pytest.raises(UserError, match=re.escape(said)):
        (stillinger_weber if of_sw else tersoff_of_file)(Fields({"x": x}), entries, atoms, units=UNITS)


def test_units_of_a_file_are_obeyed() -> None:
    """The same potential in kcal/mol."""
    factor = 1.0 / UNITS.convert("1 kcal/mol", "J") * EV
    real = SILICON_SW.replace("2.1683", f"{2.1683 * factor:.15g}")
    given = Entries.of("a.sw", f"# UNITS: real\n{real}".encode(), SW)
    x, box, kinds = state("one element, sw")
    atoms, values = Species(("Si",), 0 * kinds.astype(np.int32)), list[float]()
    for entries in (given, Entries.of("b.sw", SILICON_SW.encode(), SW)):
        fields = Fields({"x": x, "box": box[None]})
        parts = stillinger_weber(fields, entries, atoms, images=True, units=UNITS)
        values.append(Potential(fields, parts.terms).value())
    assert values[0] == pytest.approx(values[1], rel=1e-12)


# Species --------------------------------------------------------------------------------------------


def bodies(**nodes: list[int]) -> State:
    return State(fields={}, units={}, bodies=tuple(Body(name, rows) for name, rows in nodes.items()))


def test_species_are_bodies_named_by_elements_or_as_a_scene_says() -> None:
    ordered = Species.of(None, ("Ni", "Al"), bodies(Al=[0, 2], Ni=[1], left=[0, 1, 2]), 3, "'f'")
    assert ordered.names == ("Ni", "Al")
    assert ordered.numbers.tolist() == [1, 0, 1]
    given = {"left": "Al", "right": "Al"}
    named = Species.of(given, ("Ni", "Al"), bodies(left=[0], right=[1]), 2, "'f'")
    assert (named.names, named.numbers.tolist()) == (("Al",), [0, 0])
    assert Species.of("Ni", ("Ni", "Al"), bodies(left=[0]), 2, "'f'").numbers.tolist() == [0, 0]
    assert Species.of(None, ("Cu",), bodies(), 2, "'f'").names == ("Cu",)


@pytest.mark.parametrize(
    ("given", "state", "said"),
    [
        (None, bodies(),
         "species: every atom needs one of 'f' (Ni, Al), got none for 2 atoms, such as 0, in no body; write"
         " species = { BODY = \"Ni\" }, or for all atoms species = \"Ni\""),
        (None, bodies(Ni=[0], O=[1]),
         "species: every atom needs one of 'f' (Ni, Al), got none for 1 atoms, such as 1, in 'O'; write"),
        (None, bodies(Ni=[0, 1], Al=[1]),
         "species: an atom is of one species, got Ni and Al for atom 1; correct the bodies"),
        ("Nj", bodies(), "species: 'f' has no 'Nj' (there are: Ni, Al)"),
        ({"left": "Cu"}, bodies(left=[0]), "species.left: 'f' has no 'Cu' (there are: Ni, Al)"),
        ({"lift": "Ni"}, bodies(left=[0]),
         "species: no body named 'lift'; did you mean 'left'? (there are: left)"),
    ],
)  # fmt: skip
def test_species_that_do_not_fit_are_refused(given: Any, state: State, said: str) -> None:
    with pytest.raises(UserError, match=re.escape(said)):
        Species.of(given, ("Ni", "Al"), state, 2, "'f'")


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"Ni": "Al.eam"}, "Ni: 'Al.eam' is of Al, got Ni; name its own element"),
        ({"Ni": "NiAl.eam.fs"},
         "Ni: files of one element are funcfl, got 'NiAl.eam.fs',"
         " which is setfl, of Ni, Al; write file = \"NiAl.eam.fs\""),
    ],
)  # fmt: skip
def test_files_by_element_are_of_this_element(files: dict[str, str], said: str) -> None:
    with pytest.raises(UserError, match=re.escape(said)):
        EamFiles.of(files, {file: FILES[file].encode() for file in files.values()})
