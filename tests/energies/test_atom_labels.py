"""Labels of atoms: as a state gives them, and as checkpoints keep them."""

import json

import pytest

from minusgrad.energies.values.atom_labels import ELEMENTS, AtomLabels
from minusgrad.errors import EnergyError

pytestmark = pytest.mark.unit

WATER = AtomLabels(
    elements=("O", "H", "H", ""),
    names=("OW", "HW1", "HW2", "M"),
    residues=("HOH",) * 4,
    residue_numbers=(7, 7, 7, 7),
    chains=("A",) * 4,
)


def test_facts_give_the_labels_back():
    assert AtomLabels.of_facts(json.loads(json.dumps(WATER.as_facts()))) == WATER
    bare = AtomLabels(elements=("Ar",) * 3)
    assert bare.as_facts() == {"elements": {"words": ["Ar"], "atoms": [0, 0, 0]}}
    assert AtomLabels.of_facts(bare.as_facts()) == bare


def test_the_elements_stand_in_the_order_of_their_numbers():
    numbers = {"H": 1, "C": 6, "Ar": 18, "Fe": 26, "I": 53, "Au": 79, "U": 92, "Og": 118}
    assert {e: ELEMENTS.index(e) + 1 for e in numbers} == numbers


def test_words_that_are_no_elements_and_short_columns_are_refused():
    with pytest.raises(EnergyError, match="chemical symbols like 'Ar', got 'AR'; correct it"):
        AtomLabels(elements=("AR",))
    with pytest.raises(EnergyError, match="as many names as elements, 2, got 1; give one for each atom"):
        AtomLabels(elements=("H", "H"), names=("H1",))


@pytest.mark.parametrize(
    "facts",
    [
        {"elements": {"words": ["H"], "atoms": [1]}},
        {"elements": {"words": ["H"], "atoms": [-1]}},
        {"elements": 3},
        {"names": {"words": ["H"], "atoms": [0]}},
        {"elements": {"words": ["H"]}},
    ],
)
def test_strange_facts_are_refused(facts):
    with pytest.raises(EnergyError, match="atoms: "):
        AtomLabels.of_facts(facts)


def test_a_molecule_says_its_labels():
    text = (
        "HETATM    1  O   HOH A   7       0.000   0.000   0.000  1.00  0.00           O\n"
        "HETATM    2 CL    CL B9999       3.000   0.000   0.000  1.00  0.00          CL\n"
        "HETATM    3  X   UNK BA000      6.000   0.000   0.000  1.00  0.00\n"
    )
    pdb = pytest.importorskip("minusgrad_molecular.pdb")
    labels = pdb.parse("a.pdb", text.encode()).labels()
    assert labels.elements == ("O", "Cl", "")
    assert labels.names == ("O", "CL", "X")
    assert labels.residue_numbers == (1, 2, 3)
    assert labels.chains == ("A", "B", "B")
    assert pdb.parse("a.pdb", text[:81].encode()).labels().residue_numbers == (7,)
