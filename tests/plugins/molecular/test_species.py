"""Lennard-Jones parameters by species: energies and derivatives beside sums by hand, fits, refusals."""

import json
import tomllib
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minusgrad import Body, Fields, Potential, build, fit, run
from minusgrad.app.jobs.job_runs import resume
from minusgrad.errors import SceneError
from minusgrad.plugin import Cutoff
from minusgrad_molecular.species.species_terms import lennard_jones_by_species
from tests.support.command import files, minusgrad
from tests.support.short_scenes import cut

KINDS = [0, 1, 2, 0, 1, 1, 2, 0]
BODIES = [Body(name, [k for k, kind in enumerate(KINDS) if kind == n]) for n, name in enumerate("ABC")]
EPSILON, SIGMA = {"A": 1.0, "B": 1.7, "C": 0.4}, {"A": 1.0, "B": 1.3, "C": 0.8}
PAIRS = {("C", "A"): (0.9, 0.95), ("B", "B"): (2.1, 1.25)}
BOX = np.array([[5.0, 0.0, 0.0], [0.6, 5.2, 0.0], [-0.3, 0.4, 5.5]])
RULES: dict[str, Callable[..., tuple[float, float]]] = {
    "lorentz_berthelot": lambda e, f, s, t: ((e * f) ** 0.5, (s + t) / 2.0),
    "geometric": lambda e, f, s, t: ((e * f) ** 0.5, (s * t) ** 0.5),
    "waldman_hagler": lambda e, f, s, t: (
        (e * f) ** 0.5 * 2.0 * s**3 * t**3 / (s**6 + t**6),
        ((s**6 + t**6) / 2.0) ** (1.0 / 6.0),
    ),
}
"""Epsilon and sigma of a pair, as the papers write them."""


def places() -> np.ndarray:
    """Each of the six pairs of species is within the cutoff somewhere."""
    rng = np.random.default_rng(34)
    corners = np.array([[i, j, k] for i in range(2) for j in range(2) for k in range(2)])
    return (corners + 0.25 + 0.28 * rng.uniform(-1, 1, (8, 3))) / 2.0 @ BOX


def mixed(
    mixing: str, pairs: Any = None, precision: str = "f64", epsilon: Any = None, sigma: Any = None
) -> Potential:
    fields = Fields({"x": places(), "box": BOX[None]}, {"x": "m", "box": "m"}, precision)
    ruled = mixing != "none"
    made = lennard_jones_by_species(
        fields,
        bodies=BODIES,
        epsilon=(epsilon or EPSILON) if ruled else {},
        sigma=(sigma or SIGMA) if ruled else {},
        mixing=mixing,
        pairs=pairs,
        cutoff=Cutoff(2.2, skin=0.2),
        name="lj",
    )
    return Potential(fields, made.terms, made.maps)


def by_hand(mixing: str, pairs: Any, epsilon: Any = EPSILON, sigma: Any = SIGMA) -> float:
    """The sum over nearest images, with the switch from 0.9 of the cutoff."""
    total, x, names = 0.0, places(), "ABC"
    for i, j in combinations(range(8), 2):
        a, b = names[KINDS[i]], names[KINDS[j]]
        own = {**pairs, **{two[::-1]: value for two, value in pairs.items()}}.get((a, b))
        e, s = own or RULES[mixing](epsilon[a], epsilon[b], sigma[a], sigma[b])
        r = min(
            float(np.linalg.norm(x[i] - x[j] + np.array(n) @ BOX))
            for n in np.stack(np.meshgrid(*[[-1, 0, 1]] * 3), -1).reshape(-1, 3)
        )
        t = min(max((r / 2.2 - 0.9) / 0.1, 0.0), 1.0)
        fade = 1.0 - 10.0 * t**3 + 15.0 * t**4 - 6.0 * t**5
        total += 4.0 * e * ((s / r) ** 12 - (s / r) ** 6) * fade
    return total


def test_the_fields_of_a_mixture_are_those_of_each_atom() -> None:
    """Bodies whose nodes are mixed."""
    potential = mixed("geometric", PAIRS)
    potential.value()
    names = ["ABC"[kind] for kind in KINDS]
    assert potential.fields["lj_kind"].values.tolist() == KINDS
    assert potential.fields["lj_epsilon"].values.tolist() == [EPSILON[name] for name in names]
    assert potential.fields["lj_sigma"].values.tolist() == [SIGMA[name] for name in names]


def test_each_value_is_read() -> None:
    """No derivative that is compared below is nothing."""
    for name in ("lj_species.epsilon", "lj_species.sigma", "lj.pair_epsilon", "lj.pair_sigma"):
        assert np.abs(mixed("geometric", PAIRS).gradient(name)).min() > 1e-3


@pytest.mark.parametrize("mixing", RULES)
@pytest.mark.parametrize("pairs", [{}, PAIRS], ids=["rule", "pairs"])
def test_energies_of_mixtures_are_those_of_the_papers(mixing: str, pairs: Any) -> None:
    wanted = by_hand(mixing, pairs)
    assert mixed(mixing, pairs).value() == pytest.approx(wanted, rel=1e-12)
    assert mixed(mixing, pairs, "f32").value() == pytest.approx(wanted, rel=1e-5)


def test_a_table_of_all_pairs_needs_no_rule() -> None:
    table = {
        (a, b): RULES["geometric"](EPSILON[a], EPSILON[b], SIGMA[a], SIGMA[b])
        for k, a in enumerate("ABC")
        for b in "ABC"[k:]
    }
    potential = mixed("none", table)
    assert potential.value() == pytest.approx(mixed("geometric").value(), rel=1e-12)
    x = potential.fields["x"].values.copy()
    np.testing.assert_allclose(
        potential.gradient("x"), mixed("geometric").gradient("x"), rtol=1e-9, atol=1e-12
    )
    assert x.shape == (8, 3)


@pytest.mark.parametrize("mixing", RULES)
def test_derivatives_by_the_values_of_species_and_pairs(mixing: str) -> None:
    """Beside central differences of the sum by hand."""
    potential, h = mixed(mixing, PAIRS), 1e-5
    for argument, values in (("epsilon", EPSILON), ("sigma", SIGMA)):
        wanted = []
        for name in values:
            ends = [
                by_hand(mixing, PAIRS, **{argument: values | {name: values[name] + s * h}}) for s in (1, -1)
            ]
            wanted.append((ends[0] - ends[1]) / (2.0 * h))
        np.testing.assert_allclose(potential.gradient(f"lj_species.{argument}"), wanted, rtol=1e-6, atol=1e-8)
    for place, argument in enumerate(("pair_epsilon", "pair_sigma")):
        wanted = []
        for pair, value in PAIRS.items():
            moved = [(*value[:place], value[place] + s * h, *value[place + 1 :]) for s in (1, -1)]
            ends = [by_hand(mixing, PAIRS | {pair: one}) for one in moved]
            wanted.append((ends[0] - ends[1]) / (2.0 * h))
        np.testing.assert_allclose(potential.gradient(f"lj.{argument}"), wanted, rtol=1e-6, atol=1e-8)


def test_second_derivatives_follow_through_the_species() -> None:
    potential, h = mixed("waldman_hagler", PAIRS), 1e-5
    x, d = potential.fields["x"].values.copy(), np.random.default_rng(1).normal(size=(8, 3))
    ends = []
    for s in (1, -1):
        potential.fields["x"].set(x + s * h * d)
        ends.append(potential.gradient("x").copy())
    potential.fields["x"].set(x)
    wanted = (ends[0] - ends[1]) / (2.0 * h)
    np.testing.assert_allclose(potential.product({"x": d}, "x"), wanted, atol=1e-7 * np.abs(wanted).max())


@pytest.mark.long
def test_tensors_have_the_derivative_by_a_species(scene: Path) -> None:
    from minusgrad.torch import energy

    u, name = energy(scene), "lj_species.epsilon"
    given = u.start(name).requires_grad_()
    u(**{name: given}).backward()
    assert given.grad is not None
    np.testing.assert_allclose(given.grad.numpy(), build(scene).potential.gradient(name), rtol=1e-12)


def test_species_without_a_well_have_no_infinite_derivative() -> None:
    potential = mixed("waldman_hagler", None, "f64", EPSILON | {"C": 0.0}, SIGMA | {"C": 0.0})
    assert np.isfinite(potential.gradient("lj_species.epsilon")).all()
    assert np.isfinite(potential.gradient("x")).all()


SCENE = """
[units]
length = "angstrom"
mass = "u"
time = "fs"

[state]
kind = "atoms"
file = "mixture.xyz"
temperature = "60 K"

[[compound]]
kind = "lennard_jones_by_species"
name = "lj"
mixing = "waldman_hagler"
epsilon = { Ar = "0.0104 eV", Kr = "0.0140 eV" }
sigma = { Ar = "3.40 angstrom", Kr = "3.65 angstrom" }
pairs = { "Ar-Kr" = { epsilon = "0.0118 eV", sigma = "3.5 angstrom" } }
cutoff = "5 angstrom"
skin = "0.4 angstrom"

[stepper]
kind = "leapfrog"
dt = "4 fs"

[run]
steps = 60

[checkpoint]
every = 20

[[observe]]
kind = "frames"
every = 10
unwrapped = true

[[observe]]
kind = "energies"
every = 10
"""
FIT = """
[fit]
method = "gauss_newton"
iterations = 12

[fit.parameters."{name}"]
start = {start}

[[fit.loss]]
kind = "misfit"
field = "x"
data = "truth.h5"
sigma = "0.01 angstrom"
"""


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    pytest.importorskip("ase")
    spots = [(i, j, k) for i in range(3) for j in range(3) for k in range(3)]
    rows = [
        f"{'Kr' if n % 3 else 'Ar'} {3.9 * i + 0.3} {3.9 * j} {3.9 * k}" for n, (i, j, k) in enumerate(spots)
    ]
    box = 'Lattice="11.7 0 0 0 11.7 0 0 0 11.7" Properties=species:S:1:pos:R:3'
    (tmp_path / "mixture.xyz").write_text("\n".join(["27", box, *rows]) + "\n")
    (tmp_path / "mixture.toml").write_text(SCENE)
    return tmp_path / "mixture.toml"


def test_a_run_of_a_mixture_is_resumed_bit_for_bit_and_keeps_its_energy(scene: Path, tmp_path: Path) -> None:
    whole = run(scene, {}, tmp_path / "whole")
    resume(cut(tmp_path / "half", scene, {}, 25))
    assert files(tmp_path / "half") == files(whole.folder)
    total = whole.series("observables/total").value
    assert np.ptp(total) < 1e-3 * abs(total[0])


@pytest.mark.long
def test_members_differ_by_the_value_of_a_species(scene: Path, tmp_path: Path) -> None:
    vary = {'ensemble.vary."lj_species.epsilon"': {"list": ["0.012 eV", "0.016 eV"], "body": "Kr"}}
    several = run(scene, vary, tmp_path / "both")
    alone = run(scene, {"lj.epsilon.Kr": "0.016 eV"}, tmp_path / "one")
    assert several.ensemble is not None
    found = several.ensemble.values("x")
    assert np.abs(found[0] - found[1]).max() > 1e-4
    np.testing.assert_allclose(found[1], alone.simulation.fields["x"].values, rtol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "start", "wanted"),
    [
        ("lj_species.epsilon", '["0.0098 eV", "0.0150 eV"]', [0.0104, 0.0140]),
        ("lj.pair_sigma", '["3.45 angstrom"]', [3.5]),
    ],
)
def test_a_fit_finds_the_values_of_species(
    scene: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, start: str, wanted: list[float]
) -> None:
    monkeypatch.chdir(tmp_path)
    run(scene, {}, "truth")
    Path("truth.h5").write_bytes(max(Path("truth/traj").glob("*.h5")).read_bytes())
    scene.write_text(SCENE + FIT.format(name=name, start=start))
    fit(scene, {}, "fitted")
    found = json.loads(Path("fitted/fit.json").read_text())["parameters"][name]["values"]
    one = build(scene).units.convert("1 eV", "J") if "epsilon" in name else 1.0
    np.testing.assert_allclose(np.ravel(found), one * np.array(wanted), rtol=1e-6)


@pytest.mark.long
def test_quadrants_runs_a_mixture_and_check_accepts_it(scene: Path, tmp_path: Path) -> None:
    from minusgrad import open as opened

    wanted = run(scene, {}, tmp_path / "here").series("observables/total").value
    done = minusgrad("run", scene, "--out", tmp_path / "there", MINUSGRAD_ENGINE="quadrants")
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(
        opened(tmp_path / "there").series("observables/total").value, wanted, rtol=1e-10
    )
    done = minusgrad("check", scene)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"epsilon": {"Ar": "0.01 eV"}, "sigma": {"Ar": "3 angstrom"}, "pairs": {}},
            "epsilon: 18 atoms have no value, the first is 1 (Kr); add their species, with epsilon = 0 where"
            " they do not interact",
        ),
        (
            {"epsilon": {"Ar": "0.01 eV", "Kt": "0.01 eV"}},
            "pairs: 'Ar-Kr' is no pair of species, such as 'Ar-Kt' (there are: Ar, Kt); correct the names",
        ),
        (
            {"epsilon": {"Ar": "0.01 eV", "Kt": "0.01 eV"}, "pairs": {}},
            "epsilon: no body named 'Kt' (there are: Ar, Kr)",
        ),
        (
            {"sigma": {"Ar": "3 angstrom"}},
            "sigma: needs the species of epsilon, got Kr in one of them alone; give both for each species",
        ),
        (
            {"pairs": {"Ar-Kr": {"epsilon": 0.0, "sigma": 1.0}, "Kr-Ar": {"epsilon": 0.0, "sigma": 1.0}}},
            "pairs: 'Kr-Ar' is given twice, got the other order, too; leave one out",
        ),
        (
            {"mixing": "none"},
            "epsilon: is of a mixing rule, got mixing = 'none'; list pairs, or leave it out",
        ),
        (
            {"mixing": "none", "epsilon": {}, "sigma": {}},
            "pairs: without a mixing rule every pair must be listed, got none for Ar-Ar, Kr-Kr; add them",
        ),
        (
            {"cutoff": None},
            "skin: needs a cutoff, got none; give `cutoff`, or leave it out",
        ),
    ],
)
def test_a_block_that_is_refused(scene: Path, changes: dict[str, Any], message: str) -> None:
    table = tomllib.loads(SCENE)
    table["compound"][0] |= changes
    table["compound"][0] = {key: value for key, value in table["compound"][0].items() if value is not None}
    with pytest.raises(SceneError) as refused:
        build(scene, {"compound": table["compound"]})
    assert message in str(refused.value)


def test_a_correction_of_dispersion_needs_numbers_of_the_state(scene: Path) -> None:
    """A map has not computed its fields when a coefficient is made of them, which would be 0."""
    fields = {"epsilon": "lj_epsilon", "sigma": "lj_sigma"}
    block = {"kind": "dispersion", "cutoff": "5 angstrom", "fields": fields}
    with pytest.raises(SceneError, match="got 'lj_epsilon', which a map computes; give fields of the state"):
        build(scene, {"compound": [*tomllib.loads(SCENE)["compound"], block]})


def test_an_atom_of_two_species_is_refused(scene: Path) -> None:
    text = (scene.parent / "mixture.xyz").read_text().replace("pos:R:3", "pos:R:3:move_mask:L:1")
    rows = text.splitlines()
    marked = [*rows[:2], *(f"{row} {'F' if k == 3 else 'T'}" for k, row in enumerate(rows[2:]))]
    (scene.parent / "mixture.xyz").write_text("\n".join(marked) + "\n")
    values = {"epsilon": {"fixed": "1 eV"}, "sigma": {"fixed": "1 angstrom"}}
    block = tomllib.loads(SCENE)["compound"][0]
    for key in ("epsilon", "sigma"):
        block[key] |= values[key]
    with pytest.raises(SceneError, match="epsilon: atom 3 has several values, of Ar and fixed; leave one of"):
        build(scene, {"compound": [block]})
