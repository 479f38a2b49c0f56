"""Gallery: a page for each scene in `scenes/`, from the comments at its head, its picture and its text."""

import re
from pathlib import Path

from .links import GENERATED, ROOT

SCENES = ROOT / "scenes"
FOLDER = GENERATED / "gallery"


def pages() -> dict[Path, str]:
    """The text of each page by its path: that of every scene, and the overview."""
    scenes = sorted(SCENES.glob("*.toml"))
    return {FOLDER / "index.md": overview(scenes), **{FOLDER / f"{s.stem}.md": page(s) for s in scenes}}


def title(scene: Path) -> str:
    """The `title` of the scene, else its name."""
    found = re.search(r"^title = \"(.+)\"$", scene.read_text(), re.MULTILINE)
    return found[1] if found else scene.stem.replace("_", " ").capitalize()


def claim(text: str) -> str:
    """The comment at the head of a scene, as one paragraph."""
    head = re.match(r"(?:#.*\n)+", text)
    return escaped(" ".join(line.lstrip("# ") for line in head[0].splitlines())) if head else ""


def without_claim(text: str) -> str:
    """The scene below the comment at its head."""
    return re.sub(r"\A(?:#.*\n)+", "", text)


def escaped(text: str) -> str:
    """Plain text as Markdown, with its `commands`."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(p if p.startswith("`") else re.sub(r"([\\*_<>\[\]$|~^])", r"\\\1", p) for p in parts)


def picture(scene: Path) -> Path | None:
    path = SCENES / "pictures" / f"{scene.stem}.png"
    return path if path.is_file() else None


def small(scene: Path) -> Path | None:
    """The picture of its card: without axes, a film of what moves."""
    path = SCENES / "pictures/cards" / f"{scene.stem}.webp"
    return path if path.is_file() else None


def film(scene: Path) -> Path | None:
    path = SCENES / "pictures" / f"{scene.stem}.webp"
    return path if path.is_file() else None


def page(scene: Path) -> str:
    """Claim, film or picture, commands and text of a scene."""
    text = scene.read_text()
    shown = film(scene) or picture(scene)
    image = f"![{title(scene)}](../../../{shown.relative_to(ROOT)})\n\n" if shown else ""
    name = f"scenes/{scene.name}"
    return (
        f"# {title(scene)}\n\n{claim(text)}\n\n{image}```console\n{commands(scene, text)}\n```\n\n"
        f"```{{code-block}} toml\n:caption: {name}\n\n{without_claim(text)}```\n"
    )


def commands(scene: Path, text: str) -> str:
    """The commands that compute and draw a scene."""
    name, out = f"scenes/{scene.name}", f"runs/{scene.stem}"
    beside = scene.with_suffix(".py")
    plugin = f" --plugin scenes/{beside.name}" if beside.is_file() else ""
    lines = [f"$ minusgrad run {name}{plugin}", f"$ minusgrad plot {out}", f"$ minusgrad movie {out}"]
    if re.search(r"^\[fit[\].]", text, re.MULTILINE):
        lines = [f"$ minusgrad fit {name}{plugin}", f"$ minusgrad plot {out}-fit", *lines]
    return "\n".join(lines)


def overview(scenes: list[Path]) -> str:
    """Cards of all scenes: films first."""
    cards = "\n".join(card(scene) for scene in sorted(scenes, key=lambda s: not moves(s)))
    order = "\n".join(scene.stem for scene in scenes)
    return (
        "# Gallery\n\nEvery scene in `scenes/` states in its first lines a figure that a test asserts. Each"
        f' title leads to the scene, its commands and its text.\n\n<div class="gallery">\n{cards}\n</div>\n\n'
        f"```{{toctree}}\n:hidden:\n\n{order}\n```\n"
    )


def moves(scene: Path) -> bool:
    """True if its card is a film."""
    shown = small(scene)
    return shown is not None and b"ANIM" in shown.read_bytes()[:64]


def card(scene: Path) -> str:
    shown = small(scene) or picture(scene)
    image = f"\n[![{title(scene)}](../../../{shown.relative_to(ROOT)})]({scene.stem}.md)\n" if shown else ""
    return (
        f'<div class="card">\n{image}\n**[{title(scene)}]({scene.stem}.md)**\n\n'
        f"{claim(scene.read_text())}\n\n</div>"
    )
