"""The pictures of the page about `minusgrad laser`: reports, as wide as a page and in few colours.

python docs/pictures/laser_tool.py heron.report.png docs/pictures/laser_report.png
"""

import sys

from PIL import Image

WIDTH, COLOURS = 1100, 256


def main() -> None:
    """Write the second file from the first."""
    report, out = sys.argv[1:]
    image = Image.open(report).convert("RGB")
    small = image.resize((WIDTH, round(WIDTH * image.height / image.width)), Image.Resampling.LANCZOS)
    small.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(out, optimize=True)


if __name__ == "__main__":
    main()
