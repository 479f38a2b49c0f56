"""The lowest versions that pyproject.toml allows, in an environment of their own, and a suite that runs
there.

python -m tests.project.lowest_versions                  this Python, a temporary environment
python -m tests.project.lowest_versions --newest         the newest versions instead
python -m tests.project.lowest_versions --python FILE    another Python; --keep DIR: the environment stays
there
python -m tests.project.lowest_versions --list           what would be asked for, installing nothing

uv resolves: `--resolution lowest-direct` takes of each requirement of ours the lowest release that fits,
and of what
these require in turn the newest. It is installed by pip into an environment of its own, unless it is there.
The suite asks one question of each package (`SUITE`). `torch` is left out: its wheels with CUDA have
gigabytes; its
lowest version is tested where `--extra torch` is given.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = (
    "ase", "contact", "devices", "dxf", "fast", "image", "mesh", "movie", "openmm", "plot", "quadrants",
    "sensitivity", "svg", "sweep", "trajectory", "view",
    "xarray",
)  # fmt: skip
LEFT_OUT = {
    "bench": "peers to compare with, not what minusgrad needs",
    "docs": "the site is built from one environment, the newest",
    "laser": "dxf, image, plot and svg",
    "test": "the extras and the tools of the suite",
    "torch": "gigabytes; give --extra torch",
}
SUITE = {
    "adapters/test_ase.py": "ase",
    "adapters/test_openmm.py": "openmm",
    "adjoint/test_storage_plan.py": "checkpoint-schedules",
    "app/results/test_atom_exports.py": "MDAnalysis",
    "app/results/test_opened.py": "xarray",
    "assembly/test_registry.py": "pluggy",
    "exams/test_engines.py": "quadrants",
    "files/test_run_folder.py": "h5py, numpy",
    "plot/test_movies.py": "matplotlib, av, pillow",
    "plot/test_pictures.py": "matplotlib",
    "plugins/elastic/test_contact.py": "ipctk",
    "plugins/laser/test_dxf.py": "ezdxf",
    "plugins/laser/test_svg.py": "resvg-py, fonttools",
    "plugins/laser/test_text.py": "uharfbuzz",
    "scene/test_units.py": "pydantic",
    "seams/test_named_facets.py": "meshlane",
    "solvers/test_cholesky_factors.py": "threadpoolctl",
    "solvers/test_linear_solver.py": "pyamg, scipy",
    "steppers/test_integrator.py": "taichi",
    "sweeps/test_sensitivity.py": "SALib",
    "sweeps/test_who_reaches_a_sweep.py": "distributed, cryptography",
    "view/test_guard.py": "viser, rich",
}
"""Test modules that run with the lowest versions, and the packages that they ask."""


def requirements(extras: Sequence[str]) -> list[Requirement]:
    """What an installation with these extras needs here, extras of extras included."""
    texts = [*PROJECT["dependencies"]]
    for extra in extras:
        texts += PROJECT["optional-dependencies"][extra]
    needed: list[Requirement] = []
    for one in map(Requirement, texts):
        if one.name == PROJECT["name"]:
            needed += requirements(sorted(one.extras))
        elif one.marker is None or one.marker.evaluate():
            needed.append(one)
    return needed


def uv(beside: Path) -> str:
    """The command uv, installed by pip where there is none."""
    if found := shutil.which("uv"):
        return found
    subprocess.run([sys.executable, "-m", "venv", beside], check=True)
    subprocess.run([beside / "bin" / "python", "-m", "pip", "install", "--quiet", "uv"], check=True)
    return str(beside / "bin" / "uv")


def made(environment: Path, python: str, resolution: str, extras: Sequence[str]) -> Path:
    """The Python of a new environment with minusgrad and what it needs, by that resolution."""
    command = uv(environment.with_name(f"{environment.name}-uv"))
    asked = {
        name.removeprefix("PIP_"): os.environ[name] for name in ("PIP_FIND_LINKS",) if name in os.environ
    }
    settings = {
        **os.environ,
        **{f"UV_{name}": text for name, text in asked.items()},
        "UV_PYTHON_DOWNLOADS": "never",
    }
    subprocess.run([command, "venv", "--quiet", "--python", python, environment], check=True, env=settings)
    there = environment / "bin" / "python"
    call = [command, "pip", "install", "--quiet", "--python", there, "--resolution", resolution]
    with (
        tempfile.TemporaryDirectory() as copy
    ):  # a build in the tree leaves modules that the next one installs
        litter = [line.rstrip("/") for line in (ROOT / ".gitignore").read_text().split()]
        shutil.copytree(ROOT, copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git", *litter))
        subprocess.run([*call, f"{copy}[{','.join(extras)}]"], check=True, env=settings)
    return there


def versions(python: Path, needed: Sequence[Requirement]) -> dict[str, str]:
    """The version of each requirement that is installed there."""
    ask = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    names = sorted({one.name for one in needed})
    told = subprocess.run([python, "-c", ask, *names], check=True, capture_output=True, text=True)
    return dict(zip(names, told.stdout.split(), strict=True))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.project.lowest_versions", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--newest", action="store_true", help="the newest versions in place of the lowest")
    parser.add_argument(
        "--python", default=sys.executable, metavar="FILE", help="the Python of the environment"
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="make the environment there, and leave it")
    parser.add_argument("--extra", action="append", default=[], help="one more extra, such as torch")
    parser.add_argument("--list", action="store_true", help="print what would be asked for")
    asked = parser.parse_args(arguments)
    extras = sorted({*EXTRAS, *asked.extra})
    needed = requirements(extras)
    if asked.list:
        print(*sorted(str(one) for one in needed), sep="\n")
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        resolution = "highest" if asked.newest else "lowest-direct"
        python = made(asked.keep or Path(temporary) / "environment", asked.python, resolution, extras)
        for name, version in versions(python, needed).items():
            print(f"{name:24}{version}")
        suite = [str(ROOT / "tests" / one) for one in SUITE]
        call = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not long", *suite]
        ours = {k: v for k, v in os.environ.items() if not re.match(r"PYTHON|VIRTUAL_ENV|MINUSGRAD", k)}
        return subprocess.run(call, cwd=ROOT, env=ours).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
