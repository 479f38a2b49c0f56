"""The scene of a job: the text of an ordinary scene file, by the recipe of the search."""

from ..search import recipe
from .picture import Picture
from .request import Request

STEPS = {"draft": 60, "usual": 150, "fine": 500}


def text(request: Request, picture: Picture) -> str:
    """The scene file of a request, with the picture beside it."""
    return recipe.text(
        recipe.Picture(picture.table, picture.target),
        request.machine,
        request.material,
        start=request.start,
        steps=request.steps or STEPS[request.quality],
        pixel=request.pixel,
        power=request.power,
        seed=request.seed,
        title=title(request),
        heading=f"# A path, its power and its speed, for {title(request)}: from `minusgrad laser`.\n",
    )


def title(request: Request) -> str:
    """Of the scene: a text without quotes and line ends."""
    words = f"{request.image.name} on {request.machine.name}"
    return "".join(one if one.isprintable() and one not in '"\\' else "_" for one in words)
