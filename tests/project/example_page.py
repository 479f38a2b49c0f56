"""The page of examples, `scenes/README.md`: every scene with its title, its first sentence and its pictures.

`python -m tests.project.example_page --write` writes it.
"""

import re
import sys

from minusgrad.app.verbs.shipped import places
from minusgrad.scene.document import claim, members, title

PAGE = places.home() / "scenes" / places.PAGE
HEAD = """# Examples

The scenes that come with minusgrad, by name. Each states in its first lines a figure that a test asserts.

```sh
minusgrad run two_body            # run one by its name, into runs/two_body
minusgrad plot runs/two_body      # draw it, into runs/two_body/pictures
minusgrad init two_body           # copy the scene and its data, to change them
```

Of a scene with *fit*, `minusgrad fit NAME` finds the unknown values. Pictures are files that `plot` draws,
such as `orbits.png`.

| scene | what it shows | pictures |
|---|---|---|
"""


def page() -> str:
    """The text of the page."""
    drawn = places.pictures()
    return HEAD + "".join(_row(name, drawn.get(name, [])) for name in places.scenes())


def _row(name: str, pictures: list[str]) -> str:
    scene = places.scenes()[name]
    first = re.split(r"(?<!al)[.:;]\s", claim(scene).replace("|", "\\|"))[0].rstrip(":;.")
    notes = ["fit"] if re.search(r"^\[fit[\].]", scene.read_text(), re.MULTILINE) else []
    notes += [members(scene)] if members(scene) else []
    more = f" ({', '.join(notes)})" if notes else ""
    return f"| [{name}]({name}.toml) | {title(scene)}{more}: {first} | {', '.join(pictures)} |\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page())
    print("up to date" if PAGE.is_file() and PAGE.read_text() == page() else f"{PAGE}: is another; --write")
