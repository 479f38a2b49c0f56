"""DiffTaichi's soft walkers in space (Hu et al. 2020, ICLR): python soft_walkers.py writes their blocks.

    soft_walker.toml      that of diffmpm3d: 30,495 particles, blocks of 0.1
    liquid_walker.toml    that of liquid: blocks of 0.08, 15,150 particles, and 12,996 of water above it

A walker has four legs, each of four muscles, and a back of three blocks. Its parts are filled with three
particles to a cell of the grid of 64 x 64 x 64 along each axis; water lies in its block by chance.
"""

from itertools import product
from pathlib import Path

PER_LENGTH = 3 * 64
FLAT = 0.7
"""Height of a block, in its widths."""
ORIGIN = (0.1, 0.05, 0.3)
NAMES = ("soft_walker", "liquid_walker")
Vector = tuple[float, float, float]


def block_text(name: str, corner: Vector, size: Vector, more: str = "") -> str:
    """A block whose lowest corner is so far from the origin of all."""
    place = [round(a + b, 9) for a, b in zip(ORIGIN, corner, strict=True)]
    counts = [int(length * PER_LENGTH) for length in size]
    rows = (
        f'name = "{name}"',
        f"corner = {place}",
        f"size = {[round(a, 9) for a in size]}",
        f"counts = {counts}",
    )
    return "[[blocks]]\n" + "".join(f"{row}\n" for row in (*rows, more) if row)


def walker_blocks(width: float) -> list[str]:
    """Legs, muscle by muscle, and the back, of blocks of this width."""
    w, h = width / 2.0, FLAT * width / 2.0
    made = []
    for leg, (x, z) in enumerate(product((0.0, 2.0 * width), repeat=2)):
        for part, (i, j) in enumerate(product((0, 1), repeat=2)):
            muscle = f"muscle = {4 * leg + part}"
            made.append(block_text(f"leg{leg}_{part}", (x + w * i, h * j, z), (w, h, width), muscle))
    for k in range(3):
        made.append(block_text(f"back{k}", (width * k, 0.0, width), (width, FLAT * width, width)))
    return made


def list_text(name: str) -> str:
    """One of the files."""
    if name == "soft_walker":
        head, made = (
            "The walker of DiffTaichi's diffmpm3d (Hu et al. 2020, ICLR): 30,495 particles",
            walker_blocks(0.1),
        )
    else:
        head = (
            "The walker of DiffTaichi's liquid (Hu et al. 2020, ICLR): 15,150 particles, and 12,996 of water"
        )
        water = block_text("water", (0.1, 0.15, 0.1), (0.2, 0.05, 0.2), "mass = 4.0\nseed = 0")
        made = [*walker_blocks(0.08), water]
    return "\n".join([f"# {head}; by soft_walkers.py.", *made])


if __name__ == "__main__":
    for name in NAMES:
        Path(__file__).with_name(f"{name}.toml").write_text(list_text(name))
