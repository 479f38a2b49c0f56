"""The cards of the gallery: a drawing or a film of each scene that fills its card, without axes and margins.

`python -m tests.project.shipped_pictures` makes them beside the pictures, in `scenes/pictures/cards`.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minusgrad.app.verbs.shipped import places
from minusgrad.plot import picture_files, pictures
from minusgrad.plot.movies import film_files, subjects
from minusgrad.plot.movies.reel import Reel
from tests.project import shipped_pictures
from tests.project.shipped_pictures import ROOT, ShippedPicture

CARDS = ROOT / "scenes/pictures/cards"
WIDTH, HEIGHT, FILM_DPI = 4.8, 3.2, 75
"""Of a card [inch], 480 by 320 dots; of a film 360 by 240."""
FRAMES, FPS = 40, 12.0
MARGIN = 0.04
ABOVE = 8
"""The order of what is drawn above a view of space: its compass and its scale bar."""


@dataclass(frozen=True)
class Card:
    """What is on a card: a drawing of `plot`, another one than that of the page, or a film of a field.

    of_page: a picture that a module draws, as it is. panel: of a drawing with several, the number of the one.
    """

    what: str = ""
    film: bool = False
    field: str = ""
    of_page: bool = False
    panel: int = 0
    folder: str = ""


CARD: dict[str, Card] = {
    **dict.fromkeys(
        (
            *("billiards", "chain_of_rods", "crossed_fields", "elastic_seed", "liquid", "mass_spring"),
            *("mpm_lagrangian", "outer_solar_system", "slider_crank", "two_body", "walker", "gravity_seed"),
            "tennis_racket",
        ),
        Card(film=True),
    ),
    "figure_eight": Card(film=True, folder="figure_eight_film"),
    "galaxy_collision": Card(film=True),
    "cold_collapse": Card(film=True),
    "dam_break": Card(film=True, field="speed"),
    "wave": Card("height", panel=-1),
    "smoke": Card("smoke", panel=-1),
    "diffmpm3d": Card(panel=-1),
    "argon_npt": Card("mesh"),
    "laser_image": Card("dose"),
    "mercury": Card("orbits"),
    "yukawa_cluster": Card("orbits"),
    "bimetal": Card("mesh_von_mises_stress_at_nodes"),
    "bimetal_heating": Card("temperature"),
    "inflated_tube": Card("mesh_von_mises_stress_at_nodes"),
    "quenched_bar": Card("mesh_temperature"),
    "topology": Card("density"),
    **dict.fromkeys(("double_pendulum", "foucault", "swing_up"), Card(of_page=True)),
}
"""The cards that do not show the picture of the page without its axes."""


def path_of(scene: str) -> Path:
    return CARDS / f"{scene}.webp"


def make(names: Sequence[str] = ()) -> None:
    """Write the cards of these scenes, or of all."""
    CARDS.mkdir(exist_ok=True)
    shown = shipped_pictures.shipped()
    for scene in places.scenes():
        if names and scene not in names:
            continue
        page = shown[f"scenes/pictures/{scene}.png"]
        path = path_of(scene)
        print(f"{path.relative_to(ROOT)} ...", flush=True)
        path.write_bytes(card(page, CARD.get(scene, Card())))
        shipped_pictures.note(path, page, shipped_pictures.title_of(scene), [])


def card(page: ShippedPicture, card: Card) -> bytes:
    """The picture of a card as WebP."""
    if card.of_page:
        return _fitted((ROOT / "scenes/pictures" / f"{page.scene}.png").read_bytes())
    if card.folder:
        page = ShippedPicture(page.scene, page.what, shipped_pictures.FILM_OF_EIGHT, folder=card.folder)
    run = shipped_pictures.run_folder(page)
    with picture_files.Paper().rc():
        return _film(run, page, card.field) if card.film else _drawing(run, page, card)


def _drawing(run: Path, page: ShippedPicture, card: Card) -> bytes:
    jobs, _ = pictures.drawings(run, page.bodies)
    figure = picture_files.figure()
    jobs[card.what or (page.what if page.what in jobs else next(iter(jobs)))](figure)
    bare(figure, card.panel)
    figure.set_dpi(100)
    return _webp([film_files.pixels(figure)], quality=82)


def _film(run: Path, page: ShippedPicture, field: str) -> bytes:
    names_of = pictures.meta(run)
    subject = subjects.chosen(run, names_of, field, page.bodies, "")
    reel = Reel(run, subject.series)
    steps = reel.steps[np.unique(np.linspace(0, len(reel.steps) - 1, FRAMES).round().astype(int))]
    reel = Reel(run, subject.series, at=steps.tolist())
    for frame in reel:
        subject.survey(frame)
    figure = picture_files.figure()
    figure.set_dpi(FILM_DPI)
    subject.prepare(figure)
    frames = []
    for number, frame in enumerate(reel):
        subject.show(frame, "")
        if not number:
            bare(figure)
        hide(figure.axes[0])
        frames.append(film_files.pixels(figure))
    return _webp(frames, quality=55)


def bare(figure: Any, panel: int = 0) -> None:
    """Leave one panel of a figure, without axes, names and bars, and let its drawing fill the card."""
    kept = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"][panel]
    for axes in list(figure.axes):
        if axes is not kept:
            axes.set_visible(False)
    for legend in [*figure.legends, *filter(None, [kept.get_legend()])]:
        legend.remove()
    figure.suptitle("")
    figure.set_layout_engine("none")
    figure.set_size_inches(WIDTH, HEIGHT)
    kept.set_axis_off()
    for text in [*kept.texts, kept.title, kept._left_title, kept._right_title]:
        text.set_visible(False)
    for line in kept.lines:
        line.set_linewidth(1.6 * line.get_linewidth())
        line.set_markersize(1.4 * line.get_markersize())
    hide(kept)
    to_scale = kept.get_aspect() != "auto"
    edge = 0.0 if to_scale else MARGIN
    kept.set_position((edge, edge, 1 - 2 * edge, 1 - 2 * edge))
    if kept.images:
        figure.set_facecolor(_behind(kept.images[0]))
    if to_scale:
        _fill(kept)


def _behind(image: Any) -> Any:
    """The colour around a map: of its lowest value, or where colours are signed of its corner; else black."""
    values = image.get_array()
    if values.ndim > 2:
        return "black"
    return image.to_rgba(values[0, 0] if image.norm.vmin < 0 else image.norm.vmin)


def hide(axes: Any) -> None:
    """Make compass, scale bar, names and symbols of supports invisible."""
    for text in axes.texts:
        text.set_visible(False)
    for line in axes.lines:
        if line.get_zorder() == ABOVE or line.get_label() == "_support":
            line.set_visible(False)


def _fill(axes: Any) -> None:
    """Widen the limits of axes of equal aspect to the shape of the card; of an image cut them to it."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    wide, tall, shape = right - left, high - low, WIDTH / HEIGHT
    if axes.images and 0.87 < wide / tall / shape < 1.15:
        wide, tall = min(wide, tall * shape), min(tall, wide / shape)
    else:
        wide, tall = max(wide, tall * shape), max(tall, wide / shape)
    x, y = (left + right) / 2, (low + high) / 2
    axes.set(xlim=(x - wide / 2, x + wide / 2), ylim=(y - tall / 2, y + tall / 2), adjustable="box")


def _fitted(png: bytes) -> bytes:
    """A picture as it is, within a card."""
    from PIL import Image

    image = Image.open(io.BytesIO(png)).convert("RGB")
    size = round(100 * WIDTH), round(100 * HEIGHT)
    image.thumbnail(size, Image.Resampling.LANCZOS)
    whole = Image.new("RGB", size, image.getpixel((1, 1)))
    whole.paste(image, ((size[0] - image.width) // 2, (size[1] - image.height) // 2))
    return _webp([np.asarray(whole)], quality=82)


def _webp(frames: Sequence[np.ndarray], quality: int) -> bytes:
    from PIL import Image

    first, *others = [Image.fromarray(frame) for frame in frames]
    out = io.BytesIO()
    more: dict[str, Any] = {"quality": quality, "method": 6}
    if others:
        more |= {"save_all": True, "append_images": others, "duration": round(1000 / FPS), "loop": 0}
    first.save(out, "WEBP", **more)
    return out.getvalue()
