"""The pictures of the README, the pages and the gallery: made by one command from the code of today.

    python -m tests.project.shipped_pictures [NAME ...]      `make pictures`: of all, or of these
    python -m tests.project.shipped_pictures --stale         what a test would say

A scene is run (and fitted) once, in `runs/pictures`, and again when it has changed. Its picture is the first
of its row in `scenes/pictures/names.csv` unless `PICTURES` says otherwise; its card in the gallery is a
drawing or a film without axes (`card_pictures`). `docs/pictures/made.json` has the hash of the scene, its
title and all words of each picture, so that a test finds those that are older than their scenes.
"""

import hashlib
import io
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minusgrad.app.verbs.shipped import places
from minusgrad.plot import picture_files, pictures, readings
from minusgrad.scene import units
from tests.support.pages import ROOT, blocks

SCENES, RUNS, MADE = ROOT / "scenes", ROOT / "runs/pictures", ROOT / "docs/pictures/made.json"
DRAWN_BY_HAND = ROOT / "docs/pictures"
"""Modules that draw what `plot` does not; each has functions of a run folder that return a figure."""
LARGE, COLOURS = 120_000, 256
"""Bytes from which on a picture is written in so many colours."""
LOWERED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


@dataclass(frozen=True)
class ShippedPicture:
    """One file: its scene, and the picture of `plot`, of a verb, or of a module beside the pages that it is.

    what: a name as in `names.csv`; a verb and the file that it writes ("modes modes.png"); or a function
    ("few_bodies.figure_eight"). changes: overrides of the scene. of_fit: drawn from the folder of the fit.
    folder: of the run, where it is another than that of the scene. bodies: those that are shown.
    """

    scene: str
    what: str
    changes: tuple[str, ...] = ()
    of_fit: bool = False
    folder: str = ""
    bodies: tuple[str, ...] = ()


FEW_ROBOTS = ("state.copies=4", "runtime.seed=1", *(f"map.{k}.copies=4" for k in (3, 5, 6, 7, 8, 9, 10, 11)))
FILM_OF_EIGHT = ('observe=[{kind="frames",every=6}]', "run.steps=300")
PICTURES: dict[str, ShippedPicture] = {
    "scenes/pictures/two_body_convergence.png": ShippedPicture("two_body", "convergence.two_bodies"),
    "scenes/pictures/dam_break.png": ShippedPicture("dam_break", "dam_break.columns"),
    "scenes/pictures/double_pendulum.png": ShippedPicture("double_pendulum", "mechanisms.double_pendulum"),
    "scenes/pictures/figure_eight.png": ShippedPicture("figure_eight", "few_bodies.figure_eight"),
    "scenes/pictures/foucault.png": ShippedPicture("foucault", "mechanisms.foucault"),
    "scenes/pictures/galaxy_collision.png": ShippedPicture(
        "galaxy_collision", "orbits", bodies=("first_disc", "second_disc")
    ),
    "scenes/pictures/mercury.png": ShippedPicture("mercury", "few_bodies.mercury"),
    "scenes/pictures/swing_up.png": ShippedPicture("swing_up", "mechanisms.swing_up"),
    "scenes/pictures/yukawa_cluster.png": ShippedPicture("yukawa_cluster", "yukawa_cluster.shells"),
    "scenes/pictures/strip_from_photo.png": ShippedPicture("strip_from_photo", "fit_data", of_fit=True),
    "scenes/pictures/weigh_a_planet.png": ShippedPicture("weigh_a_planet", "fit_data", of_fit=True),
    "scenes/pictures/mass_spring.png": ShippedPicture("mass_spring", "mesh", ("runtime.seed=2",)),
    "scenes/pictures/rigid_body.png": ShippedPicture("rigid_body", "orbits", ("runtime.seed=0",)),
    "scenes/pictures/diffmpm.png": ShippedPicture("diffmpm", "orbits", ("runtime.seed=0",)),
    "scenes/pictures/diffmpm3d.png": ShippedPicture(
        "diffmpm3d", "orbits", bodies=tuple(f"leg{leg}_{part}" for leg in (0, 2) for part in range(4))
    ),
    "scenes/pictures/electric.png": ShippedPicture("electric", "orbits", FEW_ROBOTS),
    "scenes/pictures/chain_of_rods.webp": ShippedPicture("chain_of_rods", "movie --every 2 --fps 15"),
    "scenes/pictures/buckling_ring.webp": ShippedPicture("buckling_ring", "movie --every 2 --fps 8"),
    "scenes/pictures/draped_cloth.webp": ShippedPicture("draped_cloth", "movie --view 25,7 --fps 12"),
    "scenes/pictures/elastica_forms.png": ShippedPicture("euler_elastica", "elastica_forms.nine_forms"),
    "scenes/pictures/elastic_seed.webp": ShippedPicture("elastic_seed", "movie --fps 8"),
    "scenes/pictures/twisted_rod.webp": ShippedPicture("twisted_rod", "movie --every 2 --fps 10"),
    "scenes/pictures/figure_eight.webp": ShippedPicture(
        "figure_eight", "movie --fps 12", FILM_OF_EIGHT, folder="figure_eight_film"
    ),
    "docs/pictures/bar_modes.png": ShippedPicture("ringing_bar", "modes modes.png --count 8"),
    "docs/pictures/buckling_modes.png": ShippedPicture("euler_column", "buckling buckling_modes.png"),
    "docs/pictures/bimetal.png": ShippedPicture("bimetal", "mesh_von_mises_stress_at_nodes"),
    "docs/pictures/inflated_tube.png": ShippedPicture("inflated_tube", "mesh_von_mises_stress_at_nodes"),
    "docs/pictures/plate_with_hole.png": ShippedPicture("plate_with_hole", "mesh_von_mises_stress_at_nodes"),
    "docs/pictures/quenched_bar.png": ShippedPicture("quenched_bar", "mesh_temperature"),
    "docs/pictures/topology.png": ShippedPicture("topology", "density"),
    "docs/pictures/view_cantilever.png": ShippedPicture("cantilever_damped", "view page"),
    "docs/pictures/view_robot.png": ShippedPicture("mass_spring", "steered page"),
}
"""The pictures that are not the first of a scene's row."""


def shipped() -> dict[str, ShippedPicture]:
    """Every picture of a scene by its path in the tree."""
    first = {
        f"scenes/pictures/{scene}.png": ShippedPicture(scene, named[0])
        for scene, named in places.pictures().items()
    }
    return first | PICTURES


@dataclass(frozen=True)
class PagePicture:
    """A picture of the files that a page shows: its commands, and the file that they write.

    page: or a scene beside the pictures. width: of a large picture [dots], 0 for as it is. data: files of
    `scenes/` that a scene reads.
    """

    page: str
    files: tuple[str, ...]
    commands: tuple[str, ...]
    result: str
    width: int = 0
    data: tuple[str, ...] = ()

    def texts(self) -> dict[str, str]:
        """The text of each of its files by name."""
        if self.page.endswith(".toml"):
            return {Path(self.page).name: (ROOT / self.page).read_text()}
        return {name: text for _, name, text in blocks(self.page) if name in self.files}


PENDULUM = ("magnets.py", "measured.csv", "start.csv", "pendulum.toml")
OF_PAGES: dict[str, PagePicture] = {
    "docs/pictures/modes.png": PagePicture(
        "docs/pictures/dipeptide.toml",
        (),
        ("run dipeptide.toml --out run --force", "modes run --count 24"),
        "run/pictures/modes.png",
        data=("data/dipeptide.xml", "data/dipeptide.pdb"),
    ),
    "docs/pictures/stars.png": PagePicture(
        "README.md",
        ("halo.py", "stars.toml"),
        ("run stars.toml --plugin halo.py --out run --force", "plot run"),
        "run/pictures/orbits.png",
    ),
    "docs/pictures/magnets.webp": PagePicture(
        "docs/start/tutorial.md",
        ("magnets.py", "magnets.toml"),
        ("run magnets.toml --plugin magnets.py --out run --force", "movie run"),
        "run/pictures/points.webp",
    ),
    "docs/pictures/magnets_fit.png": PagePicture(
        "docs/start/tutorial.md",
        PENDULUM,
        ("fit pendulum.toml --plugin magnets.py --out fit --force", "plot fit"),
        "fit/pictures/fit_data.png",
    ),
    "docs/pictures/laser_report.png": PagePicture(
        "docs/laser-tool.md",
        ("heron.sh",),
        ('laser scenes/data/silhouette.png --machine grbl_diode --width "5.12 mm" -o heron.gcode --force',),
        "heron.report.png",
        1100,
    ),
    "docs/pictures/laser_layers.png": PagePicture(
        "docs/laser-layers.md",
        ("cork.layers.toml",),
        (
            "laser scenes/data/coaster.svg --layers cork.layers.toml --machine grbl_diode -o coaster.gcode"
            " --force",
        ),
        "coaster.report.png",
        1100,
    ),
    "docs/pictures/laser_fit.png": PagePicture(
        "docs/laser-calibration.md",
        ("rehearsal.py",),
        (
            "laser --grid --machine grbl_diode --counts 3x3 --force",
            "python rehearsal.py",
            "laser --fit rehearsal.jpg --sheet grid.toml --machine grbl_diode -o mine.toml --force",
        ),
        "mine.png",
    ),
    "docs/pictures/laser_cut.png": PagePicture(
        "docs/laser-cutting.md", ("cut_part.py", "draw_cut.py"), ("python draw_cut.py",), "part.png"
    ),
    "docs/pictures/laser_overburn.png": PagePicture(
        "docs/laser-tool.md",
        ("corner.nc", "replay.sh"),
        ("laser --replay corner.nc --machine grbl_diode --force",),
        "corner.replay.png",
        1100,
    ),
}
"""The pictures of what a page shows, by their paths."""


# Hashes ---------------------------------------------------------------------------------------------


def scene_hash(scene: str, changes: tuple[str, ...] = ()) -> str:
    """Of what a scene says, of its overrides, and of the files that it names; not of comments and [view]."""
    table = tomllib.loads((SCENES / f"{scene}.toml").read_text())
    table.pop("view", None)
    digest = hashlib.sha256(json.dumps([table, *changes], sort_keys=True, default=str).encode())
    for text in sorted({*_texts(table)}):
        file = SCENES / text
        if text and len(text) < 200 and file.is_file():
            digest.update(file.read_bytes())
    if (beside := SCENES / f"{scene}.py").is_file():
        digest.update(beside.read_bytes())
    return digest.hexdigest()[:16]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def page_hash(one: PagePicture) -> str:
    """Of the files that a page shows, and of the commands."""
    said = json.dumps([sorted(one.texts().items()), one.commands])
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def file_hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


# Runs -----------------------------------------------------------------------------------------------


def run_folder(one: ShippedPicture) -> Path:
    """The folder of its run, or of its fit; computed where it is missing or of an earlier scene."""
    name = one.folder or one.scene
    run, fit, note = RUNS / name, RUNS / f"{name}-fit", RUNS / f"{name}.hash"
    now = scene_hash(one.scene, one.changes)
    if not (note.is_file() and note.read_text() == now):
        scene = str(SCENES / f"{one.scene}.toml")
        beside = [f"--plugin={file}" for file in places.own_plugins(Path(scene))]
        fitted: list[str] = []
        if "fit" in tomllib.loads(Path(scene).read_text()):
            seed = [change for change in one.changes if change.startswith("runtime.")]
            _minusgrad(
                "fit", scene, *(seed if one.scene != "electric" else ()), *beside, f"--out={fit}", "--force"
            )
            fitted = [f"--fitted={fit}"]
        _minusgrad("run", scene, *one.changes, *beside, *fitted, f"--out={run}", "--force")
        note.write_text(now)
    return fit if one.of_fit else run


def _minusgrad(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "minusgrad", *words], check=True, cwd=ROOT)


# Pictures -------------------------------------------------------------------------------------------


def drawn(one: ShippedPicture) -> bytes:
    """A picture as PNG, with its title and words."""
    if one.what == "steered page":
        from . import view_picture

        return few_colours(view_picture.steered(SCENES / f"{one.scene}.toml"), title_of(one.scene))
    run = run_folder(one)
    verb, _, file = one.what.partition(" ")
    if one.what == "view page":
        from . import view_picture

        return few_colours(view_picture.screenshot(run), title_of(one.scene))
    if verb == "movie":
        made = run / "pictures/shipped.webp"
        _minusgrad(verb, str(run), *file.split(), f"--out={made}")
        return made.read_bytes()
    if file:
        file, *options = file.split()
        _minusgrad(verb, str(run), *options)
        return (run / "pictures" / file).read_bytes()
    module, _, function = one.what.partition(".")
    if function:
        sys.path.insert(0, str(DRAWN_BY_HAND))
        with picture_files.Paper().rc():
            figure = getattr(__import__(module), function)(run)
            return picture_files.png(figure, title_of(one.scene))
    jobs, title = pictures.drawings(run, one.bodies)
    with picture_files.Paper().rc():
        figure = picture_files.figure()
        jobs[one.what](figure)
        return picture_files.png(figure, title, heading=True)


def title_of(scene: str) -> str:
    return str(tomllib.loads((SCENES / f"{scene}.toml").read_text())["title"])


def smaller(png: bytes, width: int = 0) -> bytes:
    """The same picture in fewer colours, if it is large, or of this width; its title and words stay."""
    from PIL import Image

    if len(png) < LARGE and not width:
        return png
    said = Image.open(io.BytesIO(png)).info
    few = few_colours(png, said.get("Title", ""), said.get("Description", ""), width)
    return few if width else min(few, png, key=len)


def few_colours(png: bytes, title: str, words: str = "", width: int = 0) -> bytes:
    """A picture in 256 colours, with a title and words; width: not more dots than this, 0 for as it is."""
    from PIL import Image, PngImagePlugin

    image = Image.open(io.BytesIO(png)).convert("RGB")
    if width and image.width > width:
        size = (width, round(image.height * width / image.width))
        image = image.resize(size, Image.Resampling.LANCZOS)
    info = PngImagePlugin.PngInfo()
    info.add_itxt("Title", title)
    info.add_itxt("Description", words)
    few = image.quantize(COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.FLOYDSTEINBERG)
    out = io.BytesIO()
    few.save(out, "PNG", optimize=True, pnginfo=info)
    return out.getvalue()


def written_words(path: Path) -> tuple[str, list[str]]:
    """The title of a picture, and everything that is written in it."""
    from PIL import Image

    with Image.open(path) as image:
        image.load()
        return str(image.info.get("Title", "")), str(image.info.get("Description", "")).splitlines()


def record() -> dict[str, dict[str, Any]]:
    return json.loads(MADE.read_text()) if MADE.is_file() else {}


def make(path: str, one: ShippedPicture) -> None:
    """Write a picture, and what it was made of."""
    print(f"{path} ...", flush=True)
    file = ROOT / path
    if file.suffix == ".png":
        file.write_bytes(smaller(drawn(one)))
        note(file, one, *written_words(file))
    else:
        file.write_bytes(drawn(one))
        note(file, one, title_of(one.scene), [])


def make_of_page(path: str, one: PagePicture) -> None:
    """Write the files of a page into a folder, run its commands there, and keep the picture."""
    print(f"{path} ...", flush=True)
    folder, file = RUNS / "pages" / Path(path).stem, ROOT / path
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "scenes").exists():
        (folder / "scenes").symlink_to(SCENES)
    for name, text in one.texts().items():
        (folder / name).write_text(text)
    for name in one.data:
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(SCENES / name, folder / name)
    for command in one.commands:
        words = shlex.split(command)
        done = subprocess.run(
            [sys.executable, *(words[1:] if words[0] == "python" else ["-m", "minusgrad", *words])],
            cwd=folder,
        )
        if done.returncode not in (0, 1):  # 1: findings of a replay
            raise SystemExit(f"{path}: {command}: exit code {done.returncode}")
    made = (folder / one.result).read_bytes()
    file.write_bytes(smaller(made, one.width) if file.suffix == ".png" else made)
    title, words = written_words(file) if file.suffix == ".png" else ("", [])
    _keep(file, {"page": one.page, "hash": page_hash(one), "title": title, "words": words})


def note(file: Path, one: ShippedPicture, title: str, words: list[str]) -> None:
    """Keep what a picture was made of."""
    said = {"scene": one.scene, "hash": scene_hash(one.scene, one.changes), "title": title, "words": words}
    _keep(file, said)


def _keep(file: Path, facts: dict[str, Any]) -> None:
    facts["file"] = file_hash(file)
    made = record() | {file.relative_to(ROOT).as_posix(): facts}
    MADE.write_text(json.dumps(dict(sorted(made.items())), indent=1, ensure_ascii=False) + "\n")


def unit_of(label: str) -> str:
    """The unit in brackets of a label such as `energy [kJ/mol]`; empty without one."""
    found = re.search(r"\[([^\]]+)\]$", label)
    return found[1] if found else ""


def shown_unit(label: str) -> str:
    """How a label's unit would be written by the code of today, from the text of it."""
    plain = unit_of(label).translate(LOWERED).replace("µ", "u")
    written = re.sub(r"(?<=[A-Za-zÅ])(-?\d+)", r"^\1", plain)
    number, _, unit = written.rpartition(" ") if re.match(r"[\d.e+-]+ ", written) else ("", "", written)
    return units.raised_powers(readings.shown(unit).name) if not number else "a whole unit"


def stale() -> dict[str, str]:
    """What is wrong with each picture that is not of today's scene; a test asks for none."""
    known = record()
    found = {}
    for path, one in shipped().items():
        facts = known.get(path)
        if facts is None or not (ROOT / path).is_file():
            found[path] = "was never made"
        elif facts["hash"] != scene_hash(one.scene, one.changes):
            found[path] = f"scenes/{one.scene}.toml has changed"
        elif facts["title"] != title_of(one.scene):
            found[path] = f"its title is '{facts['title']}'"
        elif old := [word for word in facts["words"] if unit_of(word) not in ("", shown_unit(word))]:
            found[path] = f"the unit of '{old[0]}' is written as '{shown_unit(old[0])}' today"
        elif facts["file"] != file_hash(ROOT / path):
            found[path] = "is another file"
    for path, shown in OF_PAGES.items():
        facts = known.get(path)
        if facts is None or facts["hash"] != page_hash(shown):
            found[path] = f"{shown.page} has changed"
        elif facts["file"] != file_hash(ROOT / path):
            found[path] = "is another file"
    return found


def main(names: list[str]) -> None:
    if names == ["--stale"]:
        for path, why in stale().items():
            print(f"{path}: {why}")
        return
    from . import card_pictures

    RUNS.mkdir(parents=True, exist_ok=True)
    for path, one in shipped().items():
        if not names or one.scene in names:
            make(path, one)
    for path, shown in OF_PAGES.items():
        if not names or Path(path).stem in names:
            make_of_page(path, shown)
    if scenes := [name for name in names if name in places.scenes()] or ([] if names else [*places.scenes()]):
        card_pictures.make(scenes)


if __name__ == "__main__":
    main(sys.argv[1:])
