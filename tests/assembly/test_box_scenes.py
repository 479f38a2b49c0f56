"""Scenes with a periodic box and cutoffs: runs, cuts by other threads, remarks, messages with their place."""

from pathlib import Path
from textwrap import dedent

import h5py
import numpy as np
import pytest

from minusgrad import build, resume, run
from minusgrad.app.compare import compare
from minusgrad.errors import SceneError
from tests.support.periodic_sums import pair_sum
from tests.support.short_scenes import cut

PLUGIN = """
    import numpy as np
    from minusgrad.plugin import Motion, Node, Parameter, Record, State, hookimpl, local_energy

    @local_energy("drag", over="pairs", x=Node("m", ("d",)), v=Node("m s^-1", ("d",)), c=Parameter("N s/m"))
    def drag(x, v, c):
        '''Friction between neighbours.'''
        between = v[0] - v[1]
        return 0.5 * c * between.dot(between)

    class Lattice(Record):
        '''64 atoms on a cubic lattice with random velocities.'''
        box: bool = False
        def make(self, context):
            x = np.stack(np.meshgrid(*[np.arange(4)] * 3, indexing="ij"), -1).reshape(-1, 3) * 1.6
            v = context.random("v").normal(size=x.shape)
            fields = {"x": x, "v": v - v.mean(axis=0), "m": np.ones(len(x))}
            units = {"x": "m", "v": "m s^-1", "m": "kg", "box": "m"}
            if self.box:
                fields["box"] = 6.4 * np.eye(3)[None]
            chain = np.stack([np.arange(63), np.arange(1, 64)], axis=1)
            lists = {"bonds": chain[:8], "near": np.array([[40, 44], [41, 45]])}
            lists["angles"] = np.array([[0, 1, 2]])
            return State(fields=fields, units=units, motions=(Motion("x", "v", "m"),), tuples=lists,
                         labels={"x": "position", "v": "velocity"})

    @hookimpl
    def register_states():
        return {"lattice": Lattice}

    @hookimpl
    def register_dissipations():
        return [drag]
    """
SCENE = """
    [units]
    system = "dimensionless"

    [state]
    kind = "lattice"

    [box]
    edges = [6.4, 6.4, 6.4]

    [[energy]]
    kind = "lennard_jones"
    epsilon = 1.0
    sigma = 1.0
    cutoff = 2.5
    skin = 0.3

    [stepper]
    kind = "leapfrog"
    dt = 0.01

    [run]
    steps = 60

    [[observe]]
    kind = "energies"
    every = 10

    [[observe]]
    kind = "frames"
    every = 20

    [checkpoint]
    every = 20
    """


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    (tmp_path / "atoms.py").write_text(dedent(PLUGIN))
    path = tmp_path / "liquid.toml"
    path.write_text(dedent(SCENE))
    return path


def options(scene: Path) -> dict:
    return {"plugins": [scene.parent / "atoms.py"]}


def edited(scene: Path, old: str, new: str) -> Path:
    text = scene.read_text()
    assert old in text
    scene.write_text(text.replace(old, new))
    return scene


def test_a_run_that_was_cut_ends_with_the_same_files_by_other_threads(scene: Path, tmp_path: Path) -> None:
    """The lists of the cut run are built from the reference in its checkpoint, not from its positions."""
    whole = run(scene, {"runtime.threads": 1}, out=tmp_path / "whole", **options(scene))
    folder = cut(tmp_path / "cut", scene, {"runtime.threads": 2}, 33, plugins=options(scene)["plugins"])
    resume(folder, **options(scene))
    assert compare(whole.folder, folder).differences == []
    last = sorted((folder / "ckpt").glob("*.h5"))[-1]
    with h5py.File(last) as file:
        saved: list[str] = []
        file.visit(saved.append)
        x, listed = (next(n for n in saved if n.endswith(f"fields/{one}")) for one in ("x", "listed_x"))
        assert not np.array_equal(file[x], file[listed])


@pytest.mark.parametrize(
    ("box", "state"),
    [
        ("edges = [6.4, 6.4, 6.4]", ""),
        ("vectors = [[6.4, 0, 0], [0, 6.4, 0], [0, 0, 6.4]]", ""),
        ("periodic = true", "box = true"),
    ],
)
def test_the_box_is_of_the_scene_or_of_the_state(scene: Path, box: str, state: str) -> None:
    edited(scene, "edges = [6.4, 6.4, 6.4]", box)
    simulation = build(edited(scene, 'kind = "lattice"', f'kind = "lattice"\n{state}'), **options(scene))
    assert np.array_equal(simulation.fields["box"].values, 6.4 * np.eye(3)[None])
    assert simulation.fields.periodic == (True, True, True)
    assert "box" in simulation.saved_fields


def test_axes_may_be_open(scene: Path) -> None:
    edited(scene, "edges = [6.4, 6.4, 6.4]", "edges = [6.4, 6.4, 6.4]\nperiodic = [true, false, true]")
    assert build(scene, **options(scene)).fields.periodic == (True, False, True)


def test_excluded_and_scaled_pairs_of_a_scene(scene: Path) -> None:
    edited(scene, "skin = 0.3", 'skin = 0.3\nswitch = "none"\nexclude = "bonded 1-3"\nscale = { near = 0.5 }')
    simulation = build(scene, **options(scene))
    x, box = simulation.fields["x"].values, 6.4 * np.eye(3)

    def u(r: np.ndarray) -> np.ndarray:
        return 4.0 * (r**-12 - r**-6)

    bonded = {(i, j) for i in range(9) for j in (i + 1, i + 2) if j < 9}
    out = frozenset(bonded | {(40, 44), (41, 45)})
    parts = simulation.potential.by_term()
    wanted = pair_sum(x, box, (True,) * 3, 2.5, u, excluded=out)
    assert parts["lennard_jones"] == pytest.approx(wanted, rel=1e-12)
    assert parts["lennard_jones_near"] == pytest.approx(u(np.array(1.6)), rel=1e-12)
    assert simulation.remarks == [
        "lennard_jones: is cut sharply at 2.5, where a pair jumps by up to 0.0163, which no force contains;"
        " the virial lacks -0.0318 of the pressure at uniform density; a `switch` makes it smooth, and with"
        " the compound `dispersion` it is counted"
    ]


def test_a_smooth_cutoff_is_no_reason_for_a_remark(scene: Path) -> None:
    assert build(scene, **options(scene)).remarks == []


def test_friction_between_neighbours(scene: Path) -> None:
    friction = '[[dissipation]]\nkind = "drag"\nc = 0.1\ncutoff = 2.0\n\n[stepper]'
    simulation = build(edited(scene, "[stepper]", friction), **options(scene))
    before = simulation.stepper.balance["dissipated"]
    simulation.step(20)
    x, v = simulation.fields["x"].values, simulation.fields["v"].values
    assert simulation.stepper.balance["dissipated"] > before
    assert np.abs(v.sum(axis=0)).max() < 1e-11
    assert np.isfinite(x).all()


def test_an_energy_of_a_slope_has_no_scaled_pairs(scene: Path) -> None:
    slope = '[[slope]]\nof = "lennard_jones"\nby = { x = "pull" }\n\n[[energy]]'
    edited(edited(scene, "skin = 0.3", "scale = { near = 0.5 }"), "[[energy]]", slope)
    with pytest.raises(SceneError, match="an energy of a slope is one term, got scaled pairs"):
        build(scene, **options(scene))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "edges = [6.4, 6.4, 6.4]",
            "edges = [6.4, 6.4]",
            "liquid.toml:8:2: box: needs an edge for each axis of 'x', got 2 for 3; correct it",
        ),
        (
            "edges = [6.4, 6.4, 6.4]",
            "edges = [6.4, -6.4, 6.4]",
            "liquid.toml:9:15: box.edges.1: needs a quantity above 0, not -6.4",
        ),
        (
            "edges = [6.4, 6.4, 6.4]",
            "vectors = [[1, 0], [0, 1, 0]]",
            "liquid.toml:8:2: box: needs 2 vectors of 2 components",
        ),
        (
            "edges = [6.4, 6.4, 6.4]",
            "vectors = [[1, 0, 0], [1, 0, 0], [0, 0, 1]]",
            "liquid.toml:8:2: box: needs edge vectors that span a volume, got [[1.0, 0.0, 0.0], [1.0, 0.0,"
            " 0.0], [0.0, 0.0, 1.0]]; correct the edges",
        ),
        (
            "edges = [6.4, 6.4, 6.4]",
            "periodic = true",
            "liquid.toml:8:2: box: needs edge vectors in a field 'box' of shape (1, d, d), got none; give",
        ),
        (
            "edges = [6.4, 6.4, 6.4]",
            "edges = [5.0, 5.0, 5.0]",
            "liquid.toml:15:10: energy.0: lennard_jones.cutoff: must be, with the skin, at most half the"
            " smallest distance between opposite faces of the box, 2.5, got 2.5 + 0.3; use a larger box, or"
            " count several images of a node: images = true",
        ),
        (
            "cutoff = 2.5\nskin = 0.3",
            "skin = 0.3",
            "liquid.toml:15:8: energy.0: skin: needs a cutoff, got none; give `cutoff`, or leave it out",
        ),
        (
            "cutoff = 2.5\nskin = 0.3",
            "",
            "energy.0: lennard_jones: is over all pairs of a periodic box, which have no end; give it a",
        ),
        (
            "skin = 0.3",
            "switch = 3.0",
            "liquid.toml:16:10: energy.0: switch: must begin below the cutoff of 2.5, got 3; correct it, or",
        ),
        (
            "skin = 0.3",
            'exclude = "bonds13"',
            "energy.0: exclude: no list of pairs named 'bonds13'; did you mean 'bonds'?",
        ),
        (
            "skin = 0.3",
            "exclude = [[0, 64]]",
            "energy.0: exclude: row 0 = [0, 64] names a node outside 0..63",
        ),
        (
            "skin = 0.3",
            "scale = { angles = 0.5 }",
            "energy.0: scale: no list of pairs named 'angles'",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_place(scene: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(SceneError) as error:
        build(edited(scene, old, new), **options(scene))
    assert message in str(error.value)


def test_two_boxes_are_refused(scene: Path) -> None:
    with pytest.raises(SceneError, match="box: is given by the state, got another one; leave its edges out"):
        build(edited(scene, 'kind = "lattice"', 'kind = "lattice"\nbox = true'), **options(scene))
