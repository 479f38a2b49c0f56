"""The plan of what is stored: least computed again, within the budget; against counting and brute force."""

from functools import cache

import pytest

from minusgrad.adjoint.storage_plan import PRESENT, Plan, taken_again
from minusgrad.errors import EnergyError

pytestmark = pytest.mark.unit

STEP, STATE = 240, 1000


def tape(block: int) -> int:
    return STEP * (block + 1)


@cache
def least(blocks: int, kept: int) -> int:
    """Blocks taken again, by trying every place of the next state that is kept."""
    if blocks == 1:
        return 0
    if kept == 1:
        return blocks * (blocks - 1) // 2
    return min(k + least(k, kept) + least(blocks - k, kept - 1) for k in range(1, blocks))


def test_taken_again_is_the_least():
    for blocks in range(2, 40):
        for kept in range(1, blocks):
            assert taken_again(blocks, kept) == least(blocks, kept), (blocks, kept)


@pytest.mark.parametrize("budget", [5_000, 8_000, 20_000, 100_000, 10**6])
@pytest.mark.parametrize("steps", [0, 1, 2, 7, 100, 1000])
def test_the_schedule_goes_back_through_all_and_keeps_to_its_plan(steps, budget):
    plan = Plan.of(steps, tape, STATE, budget)
    blocks, kept, most, again, here, done = plan.blocks, set(), 0, 0, 0, []
    for action in plan.actions():
        kind = type(action).__name__
        if kind == "Forward":
            assert here == action.n0
            kept |= {action.n0} if action.write_ics else set()
            again, here = again + blocks[action.n1 - 1][1] - blocks[action.n0][0], action.n1
        elif kind == "Reverse":
            done.append(blocks[action.n1 - 1])
        elif kind in ("Copy", "Move"):
            here = action.n
            kept -= {action.n} if kind == "Move" else set()
        elif kind == "EndReverse":
            break
        most = max(most, len(kept))
    assert done == blocks[::-1]
    assert [first for first, _ in blocks[1:]] == [end for _, end in blocks[:-1]]
    assert (blocks[0][0], blocks[-1][1]) == (0, steps)
    assert max(end - first for first, end in blocks) <= plan.block
    assert again == steps + plan.again
    assert most <= plan.kept
    assert plan.stored == tape(plan.block) + (plan.kept + PRESENT) * STATE <= budget


def test_more_memory_is_never_slower():
    again = [Plan.of(1000, tape, STATE, budget).again for budget in range(4_500, 300_000, 1_500)]
    assert again == sorted(again, reverse=True)
    assert again[-1] == 0
    assert again[0] > 1000


@pytest.mark.parametrize("steps", [1, 9, 1000, 100_000])
def test_the_least_budget_is_told_and_is_enough(steps):
    needed = 2 * STEP + (PRESENT + (steps > 1)) * STATE
    plan = Plan.of(steps, tape, STATE, needed)
    assert plan.block == 1
    with pytest.raises(EnergyError) as refused:
        Plan.of(steps, tape, STATE, needed - 1)
    least = "4.48 kB" if steps > 1 else "3.48 kB"
    assert str(refused.value) == (
        f"the adjoint of a run: needs at least {least}, got a budget of {least}; give it more `memory`"
    )


def test_no_block_is_longer_than_a_kernel_can_find_its_way_in():
    plan = Plan.of(1000, tape, STATE, 10**9, longest=300)
    assert plan.block <= 300
    assert plan.kept == len(plan.blocks) - 1


def test_what_is_said():
    assert str(Plan.of(100, tape, STATE, 10**6)) == ("storing all 100 steps (27.2 kB); no recomputation")
    message = str(Plan.of(1000, tape, STATE, 20_000))
    plan = Plan.of(1000, tape, STATE, 20_000)
    assert message == (
        f"storing {plan.kept} states of 1000 steps in blocks of {plan.block} ({plan.stored / 1000:.3g} kB of"
        f" 20 kB); recomputing {plan.recomputed:.3g} of the steps"
    )
