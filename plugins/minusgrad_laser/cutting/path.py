"""The path of a cut as a graph: points, and for each the move that ends there."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Path:
    """Moves of a cut: points (n, 2) [m]; previous (n,): the point from which the move to a point begins, -1
    for none; density (n,) [J/m] of that move, 0 where it is dark; ring (n,): number of the ring that it is
    beside; held (n,): points that keep their places.
    """

    points: np.ndarray
    previous: np.ndarray
    density: np.ndarray
    ring: np.ndarray
    held: np.ndarray

    @property
    def moves(self) -> np.ndarray:
        """Rows (m, 2): the point before, the point."""
        ends = np.flatnonzero(self.previous >= 0)
        return np.stack([self.previous[ends], ends], axis=1)

    def chains(self) -> list[tuple[list[int], bool]]:
        """The points of each line in order, and whether it is a loop, which does not repeat its first."""
        after = np.full(len(self.points), -1)
        after[self.previous[self.previous >= 0]] = np.flatnonzero(self.previous >= 0)
        starts = np.flatnonzero((self.previous < 0) & (after >= 0)).tolist()
        seen = np.zeros(len(self.points), bool)
        found = []
        for begin in [*starts, *range(len(self.points))]:
            if seen[begin] or after[begin] < 0:
                continue
            chain, node = [begin], int(after[begin])
            seen[begin] = True
            while node >= 0 and not seen[node]:
                seen[node] = True
                chain.append(node)
                node = int(after[node])
            found.append((chain, node == begin))
        return found

    @classmethod
    def of_lines(cls, lines: list["Line"]) -> "Path":
        """The path of lines, one after another."""
        sizes = np.array([len(line.points) for line in lines])
        starts = np.cumsum(sizes) - sizes
        previous = np.arange(sizes.sum()) - 1
        for line, begin, size in zip(lines, starts, sizes, strict=True):
            previous[begin] = begin + size - 1 if line.closed else -1
        return cls(
            np.concatenate([line.points for line in lines]),
            previous,
            np.concatenate([line.density for line in lines]),
            np.concatenate([np.full(len(line.points), line.ring) for line in lines]),
            np.concatenate([line.held for line in lines]),
        )

    def lines(self) -> list["Line"]:
        """The lines of the path."""
        return [
            Line(self.points[nodes], self.density[nodes], int(self.ring[nodes[0]]), self.held[nodes], closed)
            for nodes, closed in self.chains()
        ]


@dataclass(frozen=True, eq=False)
class Line:
    """A line of a path, or a loop, which does not repeat its first point: points (k, 2) [m]; density (k,)
    [J/m] of the move that ends at each; ring: the number of its ring; held (k,).
    """

    points: np.ndarray
    density: np.ndarray
    ring: int
    held: np.ndarray
    closed: bool

    def opened_at(self, k: int, part: float) -> "Line":
        """A loop as a line that begins and ends at a part of the move to point k."""
        before = self.points[k - 1]
        place = before + part * (self.points[k] - before)
        order = (np.arange(len(self.points)) + k) % len(self.points)
        return Line(
            np.concatenate([[place], self.points[order], [place]]),
            np.concatenate([[0.0], self.density[order], [self.density[k]]]),
            self.ring,
            np.concatenate([[True], self.held[order], [True]]),
            False,
        )
