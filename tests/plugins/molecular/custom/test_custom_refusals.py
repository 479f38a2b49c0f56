"""Custom forces of Systems that are refused: one message each, which names force, place and cure."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad
from minusgrad.errors import SceneError
from tests.support.openmm_systems import write_scene

BOND = """<Force type="CustomBondForce" energy="k*(r-r0)^2" usesPeriodic="0"
name="CustomBondForce">
<PerBondParameters><Parameter name="k"/><Parameter name="r0"/></PerBondParameters>
<GlobalParameters><Parameter name="g" default="1"/></GlobalParameters>
<Bonds><Bond p1="0" p2="1" param1="1" param2="2"/></Bonds></Force>"""
PAIRS = """<Force type="CustomNonbondedForce" energy="q1*q2/r*f(r)" method="1" cutoff="1"
name="CustomNonbondedForce">
<PerParticleParameters><Parameter name="q"/></PerParticleParameters><GlobalParameters/><Particles>
<Particle param1="1"/><Particle param1="2"/></Particles><Exclusions/><Functions>
<Function name="f" type="Continuous1DFunction" min="0" max="1" periodic="0"><Values>
<Value v="1"/><Value v="2"/><Value v="3"/></Values></Function></Functions></Force>"""
CENTRES = """<Force type="CustomCentroidBondForce" energy="distance(g1,g2)" groups="2" name="c">
<PerBondParameters/><GlobalParameters/>
<Groups><Group><Particle p="0"/></Group><Group><Particle p="1"/></Group></Groups>
<Bonds><Bond g1="0" g2="1"/></Bonds></Force>"""
COMPOUND = """<Force type="CustomCompoundBondForce" energy="distance(p1,p2)" particles="2"
name="CustomCompoundBondForce">
<PerBondParameters/><GlobalParameters/><Bonds><Bond p1="0" p2="1"/></Bonds></Force>"""
MISTAKES = [
    (BOND, 'energy="k*(r-r0)^2"', 'energy="k*(r-q)^2"',
     "'a.xml': CustomBondForce 0: expression, character 6: no variable named 'q' (there are: g, k, r,"
     " r0)"),
    (BOND, 'energy="k*(r-r0)^2"', "",
     "'a.xml': CustomBondForce 0: needs its `energy`, got none; write the file again"),
    (BOND, 'name="r0"', 'name="k"',
     "'a.xml': CustomBondForce 0: parameters need names of their own, got two 'k'; rename one"),
    (BOND, 'name="r0"', 'name=""',
     "'a.xml': CustomBondForce 0: its parameters and functions need names, got none; write the file"
     " again"),
    (BOND, 'default="1"', 'default="x"',
     "'a.xml': CustomBondForce 0: global parameter 'g' needs a finite default, got 'x'; correct it"),
    (BOND, "</Force>", "</Force>" + BOND.replace('default="1"', 'default="2"'),
     "'a.xml': CustomBondForce 0: global parameter 'g' must have one value in all forces, got 1 and"
     " 2; give it the same default"),
    (BOND, 'param2="2"', "",
     "'a.xml': CustomBondForce needs a finite number `param2` everywhere; write the file again"),
    (BOND, 'p2="1"', 'p2="7"',
     "'a.xml': CustomBondForce: atoms must be whole numbers from 0 to 1, got 0, 7; correct number 0"),
    (PAIRS, 'method="1"', 'method="3"',
     "'a.xml': CustomNonbondedForce 0: method must be 0 to 2 (NoCutoff, CutoffNonPeriodic,"
     " CutoffPeriodic), got 3; correct it"),
    (PAIRS, 'cutoff="1"', 'cutoff="0"',
     "'a.xml': CustomNonbondedForce 0: cutoff must be above 0, got 0; correct it"),
    (PAIRS, "<Exclusions/>", '<ComputedValues><Value expression="p" name="z"/></ComputedValues>',
     "'a.xml': CustomNonbondedForce 0: computed value 'z': expression, character 1: no variable named 'p'"
     " (there are: q)"),
    (PAIRS, '<Particle param1="2"/>', "",
     "'a.xml': CustomNonbondedForce 0: must have 2 particles, as the System has, got 1; write the"
     " file again"),
    (PAIRS, 'energy="q1*q2/r*f(r)"', 'energy="q1/r"',
     "'a.xml': CustomNonbondedForce 0: its energy must be the same where particles 1 and 2 are"
     " exchanged, got another one; write it symmetric"),
    (PAIRS, 'energy="q1*q2/r*f(r)"', 'energy="sqrt(-r)"',
     "'a.xml': CustomNonbondedForce 0: its energy must be a number for particles about a nanometre"
     " apart, got nan; define it there"),
    (PAIRS, 'max="1"', 'max="0"',
     "'a.xml': CustomNonbondedForce 0: function 'f': min must be below max, got [(0.0, 0.0)]; correct"
     " them"),
    (PAIRS, '<Value v="2"/>', '<Value v="inf"/>',
     "'a.xml': CustomNonbondedForce 0: function 'f': needs 3 finite values, 2 at least along each"
     " variable, got 3; write the file again"),
    (PAIRS, 'periodic="0"', 'periodic="1"',
     "'a.xml': CustomNonbondedForce 0: function 'f': a periodic function needs equal values at min"
     " and max, got 2 between them; correct them"),
    (PAIRS, "Continuous1DFunction", "Spline",
     "'a.xml': CustomNonbondedForce 0: function 'f': no type named 'Spline' (there are:"
     " Continuous1DFunction, Continuous2DFunction, Continuous3DFunction, Discrete1DFunction,"
     " Discrete2DFunction, Discrete3DFunction)"),
    (CENTRES, 'g2="1"', 'g2="2"',
     "'a.xml': CustomCentroidBondForce 0 (c): groups must be whole numbers from 0 to 1, got 0, 2;"
     " correct bond 0"),
    (CENTRES, '<Particle p="1"/>', "",
     "'a.xml': CustomCentroidBondForce 0 (c): group 1 needs particles whose weights do not sum to 0;"
     " correct it"),
    (COMPOUND, 'particles="2"', 'particles="40"',
     "'a.xml': CustomCompoundBondForce 0: bonds must have 1 to 32 particles, got 40; divide it among forces"),
    (COMPOUND, "distance(p1,p2)", "distance(p1,p3)",
     "'a.xml': CustomCompoundBondForce 0: expression, character 13: no point named 'p3' (there are:"
     " p1, p2)"),
    (BOND, "CustomBondForce", "CustomHbondForce",
     "'a.xml': CustomHbondForce is not supported; list its triples as a CustomCompoundBondForce, or"
     " leave it out"),
    (BOND, "CustomBondForce", "CustomManyParticleForce",
     "'a.xml': CustomManyParticleForce is not supported; list its sets as a CustomCompoundBondForce,"
     " or write an energy over triples"),
    (BOND, "CustomBondForce", "CustomCVForce",
     "'a.xml': CustomCVForce is not supported; write the forces of its variables themselves, or an"
     " energy of the scene"),
]  # fmt: skip


@pytest.mark.parametrize(("force", "old", "new", "message"), MISTAKES)
def test_a_mistake_has_one_message(force: str, old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in force
    system = (
        '<System openmmVersion="8.6" type="System" version="1"><Particles><Particle mass="1"/>'
        f'<Particle mass="1"/></Particles><Constraints/><Forces>{force.replace(old, new)}</Forces></System>'
    )
    path = write_scene(tmp_path, system, np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0]]))
    with pytest.raises(SceneError) as refusal:
        minusgrad.build(path)
    assert str(refusal.value).endswith(f": {message}")
