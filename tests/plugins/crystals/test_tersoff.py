"""Tersoff's silicon against LAMMPS, the paper's formulas in 40 digits, and along runs, fits and layers."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import torch
from minusgrad import Fields, Motion, Potential, bind, build
from minusgrad.adjoint.losses import Loss
from minusgrad.adjoint.rollout import Rollout
from minusgrad.elements.neighbours import directed_pairs
from minusgrad.energies.fields import Field
from minusgrad.errors import MinusgradError
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from minusgrad.torch import Layer, outputs, rollout
from minusgrad_crystals.lattices import LATTICES
from minusgrad_crystals.tersoff import tersoff
from tests.plugins.crystals.tersoff_reference import LAMBDA3, crystal
from tests.support.periodic_sums import slope
from tests.support.tiers import sampled
from tests.support.warm_crystals import SCENE, aim, along, assert_a_function_of_tensors, refitted

STORED = json.loads(Path(__file__).with_name("tersoff_reference.json").read_text())
SILICON = {"A": 1830.8, "B": 471.18, "lambda1": 2.4799, "lambda2": 1.7322, "R": 2.7, "S": 3.0}
"""In eV and angstrom."""
BAR = 1.6021765e6
"""eV per cubic angstrom in LAMMPS's bar, whose last digits are older than the SI's."""


def silicon(
    x: np.ndarray, box: np.ndarray, precision: str = "f64", lambda3: float = 1.7322, **more: Any
) -> Potential:
    values = {"x": x, "box": box[None]} | more
    fields = Fields(values, {"x": "m", "box": "m"}, precision)
    parts = tersoff(fields, **SILICON, lambda3=lambda3, skin=0.1, images=True)
    return Potential(fields, parts.terms, parts.maps)


@pytest.mark.parametrize("name", sampled(LAMBDA3, ["T3"]))
def test_energy_forces_and_pressure_are_those_of_lammps(name: str) -> None:
    (x, box), stored = crystal(), STORED[name]
    one, forces = silicon(x, box, lambda3=LAMBDA3[name]), np.array(stored["forces"])
    found = one.gradient("x")
    assert one.value() == pytest.approx(stored["energy"], rel=1e-12)
    np.testing.assert_allclose(found, -forces, rtol=0.0, atol=1e-11 * np.abs(forces).max())
    strain = x.T @ found + box.T @ one.gradient("box")[0]
    np.testing.assert_allclose(strain, strain.T, atol=1e-11 * np.abs(strain).max())
    pressure = -BAR * strain[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]] / abs(np.linalg.det(box))
    np.testing.assert_allclose(pressure, stored["pressure"], rtol=1e-10)


def test_the_disorder_is_hard_enough() -> None:
    """Between three and five neighbours, and bonds between R and S on both sides."""
    one = silicon(*crystal())
    one.refresh()
    elements: Any = one.terms["tersoff"].elements
    (x, box), nodes, images = crystal(), elements.nodes, elements.images
    r = np.linalg.norm(x[nodes[:, 2]] - x[nodes[:, 1]] + (images[:, 2] - images[:, 1]) @ box, axis=1)
    assert set(np.bincount(nodes[r < 3.0, 1])) == {3, 4, 5}
    assert ((r > 2.7) & (r < 3.0)).sum() == 50
    assert not np.allclose(STORED["T3"]["forces"], STORED["no lambda3"]["forces"], atol=0.1)


def in_digits(x: list[list[mpmath.mpf]]) -> mpmath.mpf:
    """U of a few atoms without a box, by the formulas of the paper."""
    A, B, l1, l2, R, S = (mpmath.mpf(repr(value)) for value in SILICON.values())
    l3, beta, n, c, d, h = map(mpmath.mpf, ("1.7322", "1.1e-6", "0.78734", "1.0039e5", "16.217", "-0.59825"))

    def apart(i: int, j: int) -> list[mpmath.mpf]:
        return [b - a for a, b in zip(x[i], x[j], strict=True)]

    def dot(a: list[mpmath.mpf], b: list[mpmath.mpf]) -> mpmath.mpf:
        return mpmath.fsum(p * q for p, q in zip(a, b, strict=True))

    def f(r: mpmath.mpf) -> mpmath.mpf:
        if r > S:
            return mpmath.mpf(0)
        return mpmath.mpf(1) if r < R else (1 + mpmath.cos(mpmath.pi * (r - R) / (S - R))) / 2

    total, atoms = mpmath.mpf(0), range(len(x))
    for i, j in product(atoms, atoms):
        if i == j or (r := mpmath.sqrt(dot(apart(i, j), apart(i, j)))) > S:
            continue
        zeta = mpmath.mpf(0)
        for k in set(atoms) - {i, j}:
            a, b = apart(i, j), apart(i, k)
            s = mpmath.sqrt(dot(b, b))
            cosine = dot(a, b) / (r * s)
            g = 1 + c**2 / d**2 - c**2 / (d**2 + (h - cosine) ** 2)
            zeta += f(s) * g * mpmath.exp(l3**3 * (r - s) ** 3)
        order = (1 + (beta * zeta) ** n) ** (-1 / (2 * n))
        total += f(r) * (A * mpmath.exp(-l1 * r) - order * B * mpmath.exp(-l2 * r)) / 2
    return total


def test_derivatives_are_those_of_forty_digits() -> None:
    """Value, gradient and Hessian product of seven atoms, two of them beyond R of each other."""
    rng = np.random.default_rng(4)
    x = LATTICES["diamond"].crystal(5.432, [1, 1, 1])[0][:7] + 0.2 * rng.normal(size=(7, 3))
    w, fields = rng.normal(size=x.shape), Fields({"x": x})
    parts = tersoff(fields, **SILICON, lambda3=1.7322)
    one = Potential(fields, parts.terms, parts.maps)
    with mpmath.workdps(40):

        def at(h: mpmath.mpf) -> mpmath.mpf:
            rows = zip(x.tolist(), w.tolist(), strict=True)
            return in_digits([[mpmath.mpf(a) + h * b for a, b in zip(*row, strict=True)] for row in rows])

        value, first, second = at(mpmath.mpf(0)), mpmath.diff(at, 0), mpmath.diff(at, 0, 2)
    assert one.value() == pytest.approx(float(value), rel=1e-14)
    assert (one.gradient("x") * w).sum() == pytest.approx(float(first), rel=1e-12)
    assert (one.product({"x": w}, "x") * w).sum() == pytest.approx(float(second), rel=1e-12)


def moving(precision: str = "f64", a: float = 5.432) -> Potential:
    """Eight warm atoms; masses, and times, in units of eV and angstrom."""
    x, box = LATTICES["diamond"].crystal(a, [1, 1, 1])
    rng = np.random.default_rng(1)
    v = 0.5 * rng.normal(size=x.shape)
    x, v = x + 0.2 * rng.normal(size=x.shape), v - v.mean(axis=0)
    return silicon(x, box, precision, v=v, m=np.ones(8))


def integrator(potential: Potential) -> Integrator:
    return Integrator(System(potential, [Motion("x", "v", "m")]), SCHEMES["leapfrog"], 0.01)


def test_gradients_through_time_across_new_lists() -> None:
    potential = moving()
    fields, elements = potential.fields, potential.terms["tersoff"].elements
    loss = Loss(Potential(fields, [bind(aim, fields)]), (30,))
    of_run = Rollout(integrator(potential), [loss], 30)
    names = ["v", "tersoff.B", "tersoff_zeta.h"]
    value, found = of_run.evaluate(names)
    before = elements.version
    assert of_run.evaluate(names)[0] == value
    assert elements.version >= before + 3
    v, d = fields["v"].values.copy(), np.random.default_rng(2).normal(size=(8, 3))
    assert (found["v"] * d).sum() == pytest.approx(slope(along(fields["v"].set, v, d, of_run.value), 1e-4))
    for name, at, h in (("tersoff.B", 471.18, 1e-2), ("tersoff_zeta.h", -0.59825, 1e-4)):
        of_one = along(lambda k, n=name: potential.set_parameter(n, k), np.array(at), 1.0, of_run.value)
        assert found[name] == pytest.approx(slope(of_one, h), rel=1e-6), name
    single = moving("f32")
    aimed = Loss(Potential(single.fields, [bind(aim, single.fields)]), (30,))
    close, slopes = Rollout(integrator(single), [aimed], 30).evaluate(names)
    assert close == pytest.approx(value, rel=1e-5)
    assert slopes["tersoff_zeta.h"] == pytest.approx(found["tersoff_zeta.h"], rel=1e-3)


def test_gradients_through_time_where_fields_over_pairs_change_their_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In a stretched crystal, with room for the next multiple of two, forward and back."""

    def found() -> tuple[float, np.ndarray, set[int]]:
        potential, rooms = moving(a=6.1), set()
        loss = Loss(Potential(potential.fields, [bind(aim, potential.fields)]), (30,))
        of_run = Rollout(integrator(potential), [loss], 30)
        resize = Field.resize
        with monkeypatch.context() as patched:
            patched.setattr(Field, "resize", lambda f, n: rooms.update((len(f), n)) or resize(f, n))
            value, slopes = of_run.evaluate(["v"])
        return value, slopes["v"], rooms

    value, slopes, rooms = found()
    assert rooms <= {64}
    monkeypatch.setattr(directed_pairs, "room_of", lambda count: 2 * (count // 2) + 2)
    other, others, more = found()
    assert len(more) >= 2
    assert other == value
    np.testing.assert_array_equal(others, slopes)


BLOCK = """
[[compound]]
kind = "tersoff"
skin = "0.05 angstrom"
images = true
"""
WARM = SCENE[: SCENE.index("[[energy]]")] + BLOCK + SCENE[SCENE.index("[stepper]") :]


ENDS = """R = "2.7 angstrom"
S = "3 angstrom"
cutoff = "3 angstrom"
switch = "none"
skin = "0.05 angstrom"
images = true
"""
PARTS = f"""
[[map]]
kind = "tersoff_zeta"
lambda3 = "1.7322 angstrom^-1"
{ENDS}
[[energy]]
kind = "tersoff_bond"
A = "1830.8 eV"
B = "471.18 eV"
lambda1 = "2.4799 angstrom^-1"
lambda2 = "1.7322 angstrom^-1"
{ENDS}"""


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_its_parts_in_blocks_of_their_own_are_the_compound(scene: str, precision: str) -> None:
    whole = build(scene, {"runtime.precision": precision}).potential
    Path("parts.toml").write_text(WARM.replace(BLOCK, PARTS))
    parts = build("parts.toml", {"runtime.precision": precision}).potential
    assert parts.value() == whole.value()
    assert np.array_equal(parts.gradient("x"), whole.gradient("x"))
    Path("parts.toml").write_text(WARM.replace(BLOCK, PARTS + "scale = { bonds = 0.5 }\n"))
    with pytest.raises(MinusgradError) as caught:
        build("parts.toml")
    assert str(caught.value).endswith(
        "tersoff_bond.scale: is of energies of pairs within a cutoff, got one over directed pairs; leave"
        " `scale` out"
    )


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("silicon.toml").write_text(WARM)
    return "silicon.toml"


@pytest.mark.long
def test_a_fit_finds_the_number_that_made_the_data(scene: str) -> None:
    assert refitted(scene, "tersoff_zeta.h", -0.55) == pytest.approx([-0.59825], rel=1e-8)


@pytest.mark.long
def test_energies_and_runs_as_functions_of_tensors(scene: str) -> None:
    assert_a_function_of_tensors(scene)
    moved = rollout(scene, 8)
    h = moved.start("tersoff_zeta.h").requires_grad_()

    def last(h: torch.Tensor) -> torch.Tensor:
        return moved({"tersoff_zeta.h": h})["x"].square().sum()

    (found,) = torch.autograd.grad(last(h), (h,))
    assert found.item() == pytest.approx(slope(lambda step: last(h.detach() + step).item(), 1e-3), rel=1e-6)
    layer = Layer(scene, ["tersoff_zeta.h"], steps=8)
    layer()["x"].square().sum().backward()
    assert next(layer.parameters()).grad.item() == found.item()


def test_fields_over_pairs_are_in_no_frame_and_no_tensor(scene: str) -> None:
    Path(scene).write_text(WARM.replace("unwrapped = true", 'fields = ["x", "tersoff_zeta"]'))
    with pytest.raises(MinusgradError) as caught:
        build(scene)
    assert str(caught.value).endswith(
        "fields: a frame has values of nodes or cells, got 'tersoff_zeta', which is over directed pairs,"
        " whose number changes; leave it out"
    )
    Path(scene).write_text(WARM)
    with pytest.raises(MinusgradError) as caught:
        outputs(scene)
    assert str(caught.value) == (
        "outputs: there is no map to nodes, got those of directed pairs, whose number changes, alone; use"
        " minusgrad.torch.energy"
    )


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('R = "3.2 angstrom"', "tersoff.R: must be below S = 3, got 3.2; correct one of them"),
        ("images = true\nn = -1.0", "tersoff.n: -1.0 is not within (0, inf); it divides"),
        (
            'S = "6 angstrom"',
            "must be, with the skin, at most half the smallest distance between opposite faces",
        ),
    ],
)
def test_bad_blocks_are_refused(scene: str, line: str, text: str) -> None:
    Path(scene).write_text(WARM.replace("images = true", line))
    with pytest.raises(MinusgradError) as caught:
        build(scene)
    assert text in str(caught.value)
