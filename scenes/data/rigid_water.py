"""216 molecules of TIP3P water at 300 K: python rigid_water.py writes rigid_water.xml and rigid_water.pdb.

The System has rigid molecules (three distances each) in a box of 18.643 angstrom, 0.997 g/cm^3: Jorgensen et
al. 1983, J. Chem. Phys. 79, 926, with the masses of OpenMM's tip3p.xml. The places begin on a lattice, turned
at random, go downhill for 200 iterations, and then follow g-BAOAB for 10 ps.
"""

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
EDGE, SIDE = 1.8643, 6
"""Of the box [nm], and molecules along it."""
BOND, ANGLE = 0.09572, np.deg2rad(104.52)
ATOMS = {
    "O": (15.99943, -0.834, 0.31507524065751241, 0.635968),
    "H1": (1.007947, 0.417, 1.0, 0.0),
    "H2": (1.007947, 0.417, 1.0, 0.0),
}
"""Mass [u], charge [e], sigma [nm] and epsilon [kJ/mol]."""
SCENE = """
title = "Water comes to 300 K"
plugins = ["elastic", "molecular"]
units = {{ system = "molecular" }}
state = {{ kind = "molecule", system = "rigid_water.xml", positions = "{start}", temperature = "300 K" }}
stepper = {stepper}
run = {{ steps = {steps} }}
observe = [{{ kind = "frames", every = {steps}, unwrapped = true }}]

[[energy]]
kind = "lennard_jones_mixture"
body = "lennard_jones"
cutoff = "8 angstrom"
skin = "1 angstrom"

[[energy]]
kind = "coulomb_reaction_field"
cutoff = "8 angstrom"
skin = "1 angstrom"
switch = "none"
radius = "8 angstrom"
exclude = "exclusions"

[[constraint]]
kind = "rod"
project_start = true
"""
DOWNHILL = '{ kind = "lbfgs", tolerance = { force = 1e-6 } }'
WARM = '{ kind = "langevin", dt = "2 fs", temperature = "300 K", friction = "5 ps^-1" }'


def lattice() -> np.ndarray:
    """Places (648, 3) [nm] of molecules on a cubic lattice, turned at random."""
    rng = np.random.default_rng(216)
    water = BOND * np.array([[0, 0, 0], [1, 0, 0], [np.cos(ANGLE), np.sin(ANGLE), 0]])
    cells = np.stack(np.meshgrid(*[np.arange(SIDE)] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    turns = [np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in cells]
    return ((cells + 0.5) * EDGE / SIDE + np.array([water @ turn.T for turn in turns])).reshape(-1, 3)


def system() -> str:
    """The System in OpenMM's XML."""
    count, across = SIDE**3, 2.0 * BOND * np.sin(0.5 * ANGLE)
    rigid = [(0, 1, BOND), (0, 2, BOND), (1, 2, across)]
    edges = "".join(
        f'<{name} x="{x!r}" y="{y!r}" z="{z!r}"/>'
        for name, (x, y, z) in zip("ABC", (EDGE * np.eye(3)).tolist(), strict=True)
    )
    masses = "\n".join(f'<Particle mass="{mass!r}"/>' for mass, *_ in ATOMS.values())
    charges = "\n".join(f'<Particle q="{q!r}" sig="{s!r}" eps="{e!r}"/>' for _, q, s, e in ATOMS.values())
    kept = [
        f'<Constraint p1="{3 * k + i}" p2="{3 * k + j}" d="{float(d)!r}"/>'
        for k in range(count)
        for i, j, d in rigid
    ]
    left = [
        f'<Exception p1="{3 * k + i}" p2="{3 * k + j}" q="0" sig="1" eps="0"/>'
        for k in range(count)
        for i, j, _ in rigid
    ]
    force = (
        'alpha="0" cutoff="0.8" dispersionCorrection="0" ewaldTolerance="0.0005" exceptionsUsePeriodic="0"'
        ' forceGroup="0" includeDirectSpace="1" ljAlpha="0" ljnx="0" ljny="0" ljnz="0" method="2"'
        ' name="NonbondedForce" nx="0" ny="0" nz="0" recipForceGroup="-1" rfDielectric="78.3"'
        ' switchingDistance="0.72" useSwitchingFunction="1" type="NonbondedForce" version="4"'
    )
    return "\n".join(
        [
            '<?xml version="1.0" ?>',
            '<System openmmVersion="8.6.1" type="System" version="1">',
            f"<PeriodicBoxVectors>{edges}</PeriodicBoxVectors>",
            "<Particles>",
            *[masses] * count,
            "</Particles>",
            "<Constraints>",
            *kept,
            "</Constraints>",
            f"<Forces><Force {force}>",
            "<GlobalParameters/><ParticleOffsets/><ExceptionOffsets/>",
            "<Particles>",
            *[charges] * count,
            "</Particles>",
            "<Exceptions>",
            *left,
            "</Exceptions>",
            "</Force></Forces>",
            "</System>",
            "",
        ]
    )


def pdb(x: np.ndarray) -> str:
    """A PDB file of places (648, 3) [nm]."""
    edge = f"{10.0 * EDGE:9.3f}"
    lines = [f"CRYST1{edge * 3}{'  90.00' * 3} P 1           1"]
    for k, place in enumerate(10.0 * x):
        name = [*ATOMS][k % 3]
        xyz = "".join(f"{c:8.3f}" for c in place)
        lines.append(
            f"HETATM{k + 1:5d}  {name:3s} HOH A{k // 3 + 1:4d}    {xyz}  1.00  0.00           {name[0]}"
        )
    return "\n".join([*lines, "END", ""])


def followed(stepper: str, steps: int) -> np.ndarray:
    """The last places (648, 3) [nm] of a run from those in rigid_water.pdb."""
    import tempfile

    import minusgrad

    scene = HERE / "rigid_water_start.toml"
    scene.write_text(SCENE.format(start="rigid_water.pdb", stepper=stepper, steps=steps))
    try:
        with tempfile.TemporaryDirectory() as folder:
            run = minusgrad.run(scene, out=f"{folder}/run")
            x = run.series("particles/all/position").value[-1] / 10.0
    finally:
        scene.unlink()
    molecules = x.reshape(-1, 3, 3)
    return (molecules - EDGE * np.floor(molecules[:, :1] / EDGE)).reshape(-1, 3)


if __name__ == "__main__":
    (HERE / "rigid_water.xml").write_text(system())
    (HERE / "rigid_water.pdb").write_text(pdb(lattice()))
    for given in ((DOWNHILL, 200), (WARM, 5000)):
        (HERE / "rigid_water.pdb").write_text(pdb(followed(*given)))
