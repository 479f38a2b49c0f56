"""PDB files: boxes beside OpenMM's reader, conformers, and the time of large files."""

from dataclasses import replace
from io import StringIO
from pathlib import Path
from time import process_time

import numpy as np
import pytest

from minusgrad.errors import UserError
from minusgrad_molecular import openmm_system, pdb
from minusgrad_molecular.forces.force_part import ForcePart, Interactions
from minusgrad_molecular.topology import lists_of, parents_of
from tests.support.propanone import PROPANONE
from tests.support.propanone import pdb as propanone_pdb

pytestmark = pytest.mark.unit


def line(name: str, location: str, residue: str, number: str, x: float) -> str:
    return f"ATOM      1  {name:<3}{location}{residue} A{number:>4}    {x:8.3f}   0.000   0.000  1.00  0.00\n"


@pytest.mark.parametrize(
    "cell",
    ["  30.000   40.000   50.000  90.00  90.00  90.00", "  31.500   42.250   27.000  80.00  95.50  70.25"],
)
def test_the_box_of_a_pdb_file_is_that_of_openmm(cell: str) -> None:
    app = pytest.importorskip("openmm.app", reason="OpenMM is not installed: pip install 'minusgrad[openmm]'")
    text = f"CRYST1{cell} P 1           1\n{propanone_pdb()}END\n"
    found = pdb.parse("a.pdb", text.encode()).box
    expected = app.PDBFile(StringIO(text)).topology.getPeriodicBoxVectors()
    np.testing.assert_allclose(found, 10.0 * np.array(expected._value), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("cell", ["   1.000    1.000    1.000  90.00  90.00  90.00", None])
def test_no_box(cell: str | None) -> None:
    head = "" if cell is None else f"CRYST1{cell} P 1           1\n"
    assert pdb.parse("a.pdb", (head + propanone_pdb()).encode()).box is None


@pytest.mark.parametrize(
    "cell",
    ["  30.000   40.0x0   50.000  90.00  90.00  90.00", "  30.000   40.000   50.000  20.00  90.00 170.00"],
)
def test_a_box_that_is_none_is_refused(cell: str) -> None:
    with pytest.raises(UserError) as refused:
        pdb.parse("a.pdb", f"CRYST1{cell} P 1           1\n{propanone_pdb()}".encode())
    assert str(refused.value) == (
        "'a.pdb': line 1: columns 7 to 54 of CRYST1 must be three lengths and three angles of a box, got"
        f" '{cell.strip()}'; correct them, or remove the line"
    )


def test_of_residues_that_share_a_number_the_first_is_read() -> None:
    """Serine and alanine at one place of a crystal: no atom of the second is mixed into the first."""
    text = (
        line("N", "A", "SER", "7", 0) + line("N", "B", "ALA", "7", 1) + line("OG", "A", "SER", "7", 2)
        + line("HB3", "B", "ALA", "7", 3) + line("N", " ", "GLY", "8", 4)
    )  # fmt: skip
    found = pdb.parse("a.pdb", text.encode())
    assert found.names == ("N", "OG", "N")
    assert found.residues == ("SER", "SER", "GLY")
    assert found.places[:, 0].tolist() == [0, 2, 4]


def test_hybrid_36_numbers() -> None:
    """Of serials nothing is read; numbers of residues are texts."""
    text = line("N", " ", "SER", "A00G", 1).replace("ATOM      1", "ATOM  A000G") + line(
        "CA", " ", "SER", "A00G", 2
    )
    assert pdb.parse("a.pdb", text.encode()).numbers == ("A00G", "A00G")


def _water(n: int) -> tuple[str, str]:
    """Texts of a System of n flexible waters, and of its places."""
    first = range(0, 3 * n, 3)
    particles = "<Particle mass='16'/><Particle mass='1'/><Particle mass='1'/>" * n
    bonds = "".join(f"<Bond d='.1' k='4e5' p1='{k}' p2='{k + h}'/>" for k in first for h in (1, 2))
    angles = "".join(f"<Angle a='1.9' k='800' p1='{k + 1}' p2='{k}' p3='{k + 2}'/>" for k in first)
    parameters = "<Particle eps='.6' q='-.8' sig='.3'/>" + "<Particle eps='0' q='.4' sig='1'/>" * 2
    pairs = ((0, 1), (0, 2), (1, 2))
    exceptions = "".join(
        f"<Exception eps='0' p1='{k + i}' p2='{k + j}' q='0' sig='1'/>" for k in first for i, j in pairs
    )
    system = (
        f"<System><Particles>{particles}</Particles><Forces><Force type='HarmonicBondForce'><Bonds>{bonds}"
        f"</Bonds></Force><Force type='HarmonicAngleForce'><Angles>{angles}</Angles></Force><Force method='0'"
        f" type='NonbondedForce'><Particles>{parameters * n}</Particles><Exceptions>{exceptions}</Exceptions>"
        "</Force></Forces></System>"
    )
    places = "".join(
        line(name, " ", "HOH", str(k % 10000), k % 999) for k in range(n) for name in ("O", "H1", "H2")
    )
    return system, places


def test_ten_thousand_waters_are_read_in_seconds() -> None:
    """In this process alone; each loop that was quadratic took a minute."""
    text, places = _water(10_000)
    begin = process_time()
    system, atoms = openmm_system.parse("a.xml", text.encode()), pdb.parse("a.pdb", places.encode())
    lists = lists_of(system)
    assert process_time() - begin < 5.0
    assert len(atoms) == len(system.mass) == 30_000
    assert {name: len(one) for name, one in lists.items()} == {
        "bonds": 20_000, "angles": 10_000, "exclusions": 30_000
    }  # fmt: skip
    assert lists["bonds"].atoms[-1].tolist() == [29_997, 29_999]


def test_lists_are_those_of_a_search_atom_by_atom() -> None:
    """Random lists, with repeated atoms and rings of three, beside sets of pairs."""
    rng = np.random.default_rng(3)
    system = openmm_system.parse("a.xml", PROPANONE.encode())
    for _ in range(30):
        rows = {k: rng.integers(0, 6, (8, k)) for k in (2, 3, 4)}
        bonds, angles, torsions, kept = rows[2], rows[3], rows[4], rng.integers(0, 6, (2, 2))
        found = lists_of(_with(system, bonds, angles, torsions, kept))
        known = {frozenset(row) for row in np.concatenate([bonds, kept]).tolist()}
        ends = {frozenset((i, k)) for i, _, k in angles.tolist()}
        spanned = {
            frozenset((i, k))
            for i, j, k in angles.tolist()
            if {frozenset((i, j)), frozenset((j, k))} <= known - ends
        }
        across = [row for row in bonds.tolist() if frozenset(row) in spanned]
        assert _rows(found, "urey_bradley") == across
        left = {frozenset(row) for row in bonds.tolist()} - spanned | {
            frozenset(row) for row in kept.tolist()
        }
        chains = [row for row in torsions.tolist() if {frozenset(row[k : k + 2]) for k in range(3)} <= left]
        assert _rows(found, "torsions") == chains
        pairs = np.array([sorted(one) for one in left if len(one) == 2])
        for row, parents in zip(torsions.tolist(), parents_of(torsions, pairs).tolist(), strict=True):
            centres = [
                k for k in range(4) if all({row[k], one} <= {row[k]} or {row[k], one} in left for one in row)
            ]
            expected = [0, 0, 1, 2] if not centres else [centres[0]] * 4
            if centres:
                expected[0] = expected[centres[0]] = 0
            assert parents == expected


def _rows(found: dict[str, Interactions], name: str) -> list:
    return found[name].atoms.tolist() if name in found else []


def _with(
    system: openmm_system.System,
    bonds: np.ndarray,
    angles: np.ndarray,
    torsions: np.ndarray,
    kept: np.ndarray,
) -> openmm_system.System:
    parts = {"HarmonicBondForce": bonds, "HarmonicAngleForce": angles, "PeriodicTorsionForce": torsions}
    return replace(
        system,
        constraints=Interactions(kept, {}),
        parts=dict(system.parts)
        | {name: ForcePart(listed=Interactions(rows, {})) for name, rows in parts.items()},
    )


def test_a_tree_of_elements_comes_back_whole(tmp_path: Path) -> None:
    from xml.etree import ElementTree

    from minusgrad_molecular.element_tree import element_tree, elements

    text = (
        '<a one="1"><b x="&lt;&#10;" y=""/><b x="" y="2"/><b y="2" x="1"/><c/>'
        '<b x="3" y="4"><c/><c z="5"/></b><c/></a>'
    )
    assert ElementTree.tostring(element_tree(elements("a.xml", text.encode()))) == ElementTree.tostring(
        ElementTree.fromstring(text)
    )
