"""Arrays that become one: random steps keep their numbers, and those of programs lose their copies."""

from types import SimpleNamespace

import numpy as np
import pytest

from minusgrad.engine.joined.coalescing import coalesced
from minusgrad.engine.joined.flat_loops import flattened
from minusgrad.engine.kernels import Code, add_loops, at_each, copy_loops, zero_loops

pytestmark = pytest.mark.unit

ROWS = 4


def array(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(ROWS, 2))


def run(pieces: list[Code], steps: int = 3) -> None:
    """The numbers of a step that is repeated, by Python."""
    code = Code.merged([Code("turn = step\n"), *pieces]).inside(f"for step in range({steps}):")
    exec(code.text, {"ti": SimpleNamespace(min=min), **code.arrays})


def mapped(into: np.ndarray, *sources: np.ndarray) -> Code:
    """into <- sum of 0.5 of each, row by row."""
    names = {f"s{k}": one for k, one in enumerate(sources)}
    text = " + ".join(f"0.5 * {name}[{{at}}]" for name in names) or "1.0"
    return Code(at_each("into", into, "into[{at}] = " + text), {"into": into, **names})


def by_nodes(into: np.ndarray, source: np.ndarray, nodes: np.ndarray) -> Code:
    """The rows of some nodes, through loads before stores as emitted loops have them."""
    lines = ["n0 = nodes[e]", *(f"v{c} = source[n0, {c}]" for c in range(2))]
    lines += [f"into[n0, {c}] = 0.5 * v{1 - c}" for c in range(2)]
    text = "for e in range(nodes.shape[0]):\n" + "".join(f"    {line}\n" for line in lines)
    return Code(text, {"into": into, "source": source, "nodes": nodes})


def gathered(into: np.ndarray, source: np.ndarray, nodes: np.ndarray) -> Code:
    """Rows from other places."""
    text = at_each("into", into, "into[{at}] = source[nodes[n], 0] + source[n, 1]")
    return Code(text, {"into": into, "source": source, "nodes": nodes})


def guarded(into: np.ndarray, source: np.ndarray) -> Code:
    """Rows under a condition."""
    text = "for n in range(into.shape[0]):\n    if source[n, 0] > 0.0:\n"
    text += "".join(f"        into[n, {c}] = source[n, {c}]\n" for c in range(2))
    return Code(text, {"into": into, "source": source})


def swapped(into: np.ndarray, source: np.ndarray) -> Code:
    """Each component from the other one, which is loaded after a store."""
    text = "for n in range(into.shape[0]):\n"
    text += "".join(f"    into[n, {c}] = source[n, {1 - c}]\n" for c in range(2))
    return Code(text, {"into": into, "source": source})


def summed(into: np.ndarray, source: np.ndarray) -> Code:
    """One component of all rows: a partial store."""
    return Code(
        "for n in range(into.shape[0]):\n    into[n, 0] = source[n, 1]\n", {"into": into, "source": source}
    )


def in_blocks(into: np.ndarray, source: np.ndarray) -> Code:
    text = "for b in range((into.shape[0] + 63) // 64):\n"
    text += "    for e in range(b * 64, ti.min((b + 1) * 64, into.shape[0])):\n        n0 = e\n"
    text += "".join(f"        into[n0, {c}] = 0.5 * source[n0, {c}]\n" for c in range(2))
    return Code(text, {"into": into, "source": source})


def drawn(rng: np.random.Generator, arrays: list[np.ndarray]) -> Code:
    a, b, c = (arrays[k] for k in rng.choice(len(arrays), 3, replace=False))
    order = rng.permutation(ROWS).astype(np.int32)
    kinds = [
        lambda: copy_loops(a, b),
        lambda: copy_loops(a, b),
        lambda: mapped(a, b, c),
        lambda: mapped(a, b, c),
        lambda: mapped(a, a, b),
        lambda: zero_loops("z", a),
        lambda: add_loops(a, b),
        lambda: by_nodes(a, b, order),
        lambda: by_nodes(a, b, order[:3].copy()),
        lambda: by_nodes(a, b, np.maximum(order, 1)),
        lambda: swapped(a, b),
        lambda: guarded(a, c),
        lambda: gathered(a, b, order),
        lambda: guarded(a, b),
        lambda: summed(a, b),
        lambda: in_blocks(a, b),
    ]
    return kinds[rng.integers(len(kinds))]()


def test_random_steps_keep_their_numbers_in_all_arrays_that_are_read_afterwards() -> None:
    """Scratch arrays hold nothing before the first step: steps that read them so are left out."""
    compared = fewer = 0
    for seed in range(2500):
        rng = np.random.default_rng(seed)
        arrays = [array(k) for k in range(4)]
        pieces = [drawn(rng, arrays) for _ in range(rng.integers(2, 8))]
        expected = after(pieces, arrays, 3.0)
        if expected != after(pieces, arrays, -7.0):
            continue
        few = coalesced(pieces, arrays[2:])
        compared, fewer = compared + 1, fewer + (len(few) < len(pieces))
        assert after(few, arrays, 5.0) == expected, seed
    assert compared > 800
    assert fewer > 60


def after(pieces: list[Code], arrays: list[np.ndarray], filled: float) -> list[bytes]:
    """The first two of some arrays after steps; the others are filled before them."""
    for k, one in enumerate(arrays):
        one[:] = array(k) if k < 2 else filled
    run(pieces)
    return [one.tobytes() for one in arrays[:2]]


def names_of(pieces: list[Code]) -> int:
    """The number of arrays."""
    return len({id(a) for piece in pieces for a in piece.arrays.values()})


def test_a_step_that_gives_a_new_state_is_taken_in_place() -> None:
    x, v, w, y = (array(k) for k in range(4))
    step = [mapped(w, v, x), flattened(in_blocks(y, w)), copy_loops(v, w), copy_loops(x, y)]
    few = coalesced(step, [w, y])
    assert (len(few), names_of(few)) == (2, 2)


@pytest.mark.parametrize(
    "between",
    [lambda y, x: gathered(y, x, np.arange(ROWS)[::-1].copy()), guarded, summed],
    ids=["other rows", "under a condition", "one component"],
)
def test_what_needs_both_arrays_keeps_both(between: object) -> None:
    x, y = array(0), array(1)
    few = coalesced([between(y, x), copy_loops(x, y)], [y])  # type: ignore[operator]
    assert (len(few), names_of(few) >= 2) == (2, True)


def test_blocks_become_plain_loops() -> None:
    x, y = array(0), array(1)
    lines = "".join(f"    into[n0, {c}] = 0.5 * source[n0, {c}]\n" for c in range(2))
    plain = flattened(in_blocks(y, x))
    assert plain.text == "for e in range(into.shape[0]):\n    n0 = e\n" + lines
    assert flattened(plain) == plain
    summing = Code("for b in range((a.shape[0] + 63) // 64):\n    s = 0.0\n")
    assert flattened(summing) == summing


def test_an_array_that_is_read_afterwards_stays() -> None:
    x, y = array(0), array(1)
    assert len(coalesced([mapped(y, x), copy_loops(x, y)], [])) == 2
    assert len(coalesced([mapped(y, x), copy_loops(x, y)], [y])) == 1


def test_an_array_whose_old_values_are_read_later_stays() -> None:
    x, y, z = (array(k) for k in range(3))
    few = coalesced([mapped(y, x), mapped(z, x, y), copy_loops(x, y)], [y])
    assert len(few) == 3
