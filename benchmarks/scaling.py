"""How time grows with size, and how it falls with cores: one work of each physics, ours beside C, f32.

    gravity    all-pairs forces          N bodies
    solid      neo-Hookean gradient      tetrahedra
    laser      one iteration             points of the path, on 512 x 512 cells

Sizes on all cores; and the largest size on 1, 2, ... cores.
"""

from collections.abc import Iterator
from dataclasses import replace

from . import gravity_forces, laser_deposit, neo_hookean
from .harness import session
from .harness.cases import OURS, C, Case

BODIES = (256, 1024, 4096, 16384, 65536)
BOXES = (4, 8, 16, 32, 64)
POINTS = (250, 1000, 4000, 16000)


def cases() -> Iterator[Case]:
    """By physics, then size, then cores."""
    few = slice(2) if session.quick() else slice(None)
    for made in (_gravity(BODIES[few]), _solid(BOXES[few]), _laser(POINTS[few])):
        yield from made


def cores() -> list[int]:
    """1, 2, 4, ... and all."""
    most = session.cores()
    return sorted({2**k for k in range(most.bit_length()) if 2**k <= most} | {most})


def _runs(sizes: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Each size on all cores, the last on each number of cores."""
    for size in sizes:
        yield size, cores()[-1]
    for number in cores()[:-1]:
        yield sizes[-1], number


def _gravity(sizes: tuple[int, ...]) -> Iterator[Case]:
    for n, threads in _runs(sizes):
        yield _plain("gravity", n, threads, gravity_forces.case(n, "f32"), "C")


def _solid(sizes: tuple[int, ...]) -> Iterator[Case]:
    for parts, threads in _runs(sizes):
        gradient = next(neo_hookean.of((parts,) * 3, "f32"))
        yield _plain("solid", 6 * parts**3, threads, gradient, neo_hookean.BY_SLOTS)


def _laser(sizes: tuple[int, ...]) -> Iterator[Case]:
    for points, threads in _runs(sizes):
        yield _plain("laser", points, threads, laser_deposit.case(points, "f32"), C)


def _plain(physics: str, size: int, threads: int, case: Case, base: str) -> Case:
    """C and ours alone, in ms a call, without goals."""
    return replace(
        case,
        work="scaling",
        name=f"{physics}-{size}-{threads}",
        columns={base: case.columns[base], OURS: case.columns[OURS]},
        count=1,
        unit="ms",
        base=base,
        goals=(),
        threads=threads,
        about={"physics": physics, "size": size, "threads": threads},
    )
