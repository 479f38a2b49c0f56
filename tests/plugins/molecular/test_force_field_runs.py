"""Runs with the compound `force_field`: precisions, resumed runs, members, tensors, checks, both engines."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import minusgrad as mg
import torch
from minusgrad.check import term_check
from minusgrad.torch import energy
from tests.support.both_engines import assert_engines_agree
from tests.support.command import files
from tests.support.openmm_systems import write_scene
from tests.support.propanone import PLACES, PROPANONE
from tests.support.short_scenes import cut

RETURNING = '<Torsion k="5" p1="0" p2="1" p3="2" p4="1" periodicity="3" phase="0"/>\n'
MORE = """<Force type="RBTorsionForce"><Torsions>
<Torsion c0="1" c1="2" c2="-3" c3="4" c4="-5" c5="6" p1="2" p2="1" p3="0" p4="3"/></Torsions></Force>
</Forces>"""
CHANGES = {
    'method="2"': 'method="5" cutoff="0.5" nx="12" ny="12" nz="16" alpha="4" ljAlpha="4"',
    RETURNING: "",
}
MESHES = {
    'alpha="4"': 'alpha="4" ljnx="12" ljny="12" ljnz="16"',
    "</Forces>": MORE,
    '"3" y="0"': '"1.2" y="0"',
}
SMALL = {'x="0.5" y="4"': 'x="0.1" y="1.3"', 'y="0.25" z="5"': 'y="0.05" z="1.5"'}
EVERY = {
    "bonds", "urey_bradley", "angles", "impropers", "rb_torsions", "lennard_jones", "lennard_jones_14",
    "dispersion_reciprocal", "coulomb_14", "pme_direct", "pme_reciprocal",
}  # fmt: skip
"""Terms of the scene, among others."""
RUN = """\
title = "A System of OpenMM"
plugins = ["elastic", "electrostatics", "molecular"]
units.system = "molecular"
state = { kind = "molecule", system = "a.xml", positions = "a.pdb", temperature = "300 K" }
compound = [{ kind = "force_field" }]
stepper = { kind = "leapfrog", dt = "0.5 fs" }
run.steps = 12
checkpoint.every = 4
observe = [{ kind = "energies", every = 2 }, { kind = "frames", every = 2 }]
"""


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    """Propanone in a skewed box, with particle-mesh Ewald of charges and dispersion."""
    system = PROPANONE
    for old, new in (CHANGES | MESHES | SMALL).items():
        assert old in system
        system = system.replace(old, new)
    return write_scene(tmp_path, system, np.array(PLACES) / 10.0, RUN)


def test_single_precision_follows_double(scene: Path) -> None:
    wide, narrow = (mg.build(scene, {"runtime.precision": p}).potential for p in ("f64", "f32"))
    assert wide.by_term().keys() >= EVERY
    assert narrow.value() == pytest.approx(wide.value(), rel=1e-5)
    for name in ("x", "charge", "epsilon", "bonds.rest", "rb_torsions.coefficients"):
        expected = wide.gradient(name)
        np.testing.assert_allclose(narrow.gradient(name), expected, atol=2e-4 * np.abs(expected).max())


def test_derivatives_are_those_of_differences(scene: Path) -> None:
    """By the fields of all terms together, those of dispersion beyond the cutoff included."""
    potential, rng = mg.build(scene).potential, np.random.default_rng(1)
    for name in ("x", "charge", "epsilon", "sigma", "box"):
        field = potential.fields[name]
        start = field.values.copy()
        along, step = rng.normal(size=start.shape) * (start != 0.0 if name == "epsilon" else 1.0), 1e-6
        slope = float((potential.gradient(name) * along).sum())
        ends = []
        for sign in (1.0, -1.0):
            field.set(start + sign * step * along)
            ends.append(potential.value())
        field.set(start)
        assert (ends[0] - ends[1]) / (2.0 * step) == pytest.approx(slope, rel=1e-6), name


@pytest.mark.long
def test_check_finds_nothing_wrong(scene: Path) -> None:
    found = list(term_check.of_potential(mg.build(scene).potential))
    assert [one for one in found if not one.passed] == []


def test_a_run_that_was_cut_goes_on_with_the_same_bits(scene: Path, tmp_path: Path) -> None:
    whole = mg.run(scene, out=tmp_path / "whole")
    total = whole["total"]
    assert np.abs(total - total[0]).max() < 0.02 * whole["kinetic"].max()
    out = cut(tmp_path / "cut", scene, {}, 4)
    mg.resume(out)
    found, again = files(tmp_path / "whole"), files(out)
    assert {n: b for n, b in again.items() if n.endswith(".h5")} == {
        n: b for n, b in found.items() if n.endswith(".h5")
    }


def test_members_have_the_bits_that_they_have_alone(scene: Path, tmp_path: Path) -> None:
    """Each with another alpha of the direct sum: a parameter of a part."""
    members = {"ensemble": {"members": 3, "vary": {"pme_direct.alpha": {"list": [0.38, 0.4, 0.42]}}}}
    mg.run(scene, members, out=tmp_path / "all")
    mg.run(scene, members | {"ensemble.member": 1}, out=tmp_path / "one")
    alone = mg.open(tmp_path / "one")
    for name in ("position", "velocity", "total"):
        assert np.array_equal(alone[name], mg.open(tmp_path / "all")[name][:, 1]), name


@pytest.mark.long
def test_first_derivatives_as_a_function_of_tensors(scene: Path) -> None:
    u, potential = energy(scene), mg.build(scene).potential
    given = {name: u.start(name).requires_grad_() for name in ("x", "charge", "sigma")}
    slopes = torch.autograd.grad(u(**given), [*given.values()])
    for name, found in zip(given, slopes, strict=True):
        np.testing.assert_allclose(found.numpy(), potential.gradient(name), rtol=1e-10, atol=1e-10)


@pytest.mark.long
@pytest.mark.skipif(not find_spec("quadrants"), reason="needs pip install 'minusgrad[quadrants]'")
def test_quadrants_has_the_same_run(scene: Path, tmp_path: Path) -> None:
    assert_engines_agree(scene, tmp_path)
