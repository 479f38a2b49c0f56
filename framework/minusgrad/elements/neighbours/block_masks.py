"""Kernel that puts the rows with excluded pairs apart in the lists of blocks, with a bit for each lane.

    listed      sources that interact with all targets of the block
    masked      the targets' own rows, then sources that are excluded for some: bit l is set for lane l

So loops over the listed sources need no mask. Both parts keep the order of the rows. Each block has a thread
of its own, so the lists do not depend on the threads.

Decisions 0272.
"""

from ...engine.kernels import dealt_in_groups


def masks_text(wide: int) -> str:
    """Loops that divide the lists of blocks of so many targets; the lists must be fresh from the search."""
    lines = [
        f"lanes = ti.min({wide}, nodes.shape[0] - b * {wide})",
        "begin = b * (block_sources.shape[0] // block_lengths.shape[0])",
        "end = begin + block_lengths[b]",
        "own = b * (masked_rows.shape[0] // masked_lengths.shape[0])",
        *_of_excluded(
            wide, [*_row_of_pair(), *_binary_search("block_sources", "begin", "end", _mark_source("e"))]
        ),
        "n = 0",
        "m = lanes",
        "for k in range(begin, end):",
        "    r = block_sources[k]",
        "    if r >= 0:",
        "        block_sources[begin + n] = r",
        "        n += 1",
        "    else:",
        "        masked_rows[own + m] = -1 - r",
        "        masked_bits[own + m] = 0",
        "        m += 1",
        "block_lengths[b] = n",
        "masked_lengths[b] = m",
        "for lane in range(lanes):",
        f"    masked_rows[own + lane] = block_rows[b * {wide} + lane]",
        "    masked_bits[own + lane] = 1 << lane",
        *_of_excluded(wide, _set_lane_bit(wide)),
    ]
    return "\n".join(
        [
            "for once in range(1):",
            "    for n in range(row_of_node.shape[0]):",
            "        row_of_node[n] = -1",
            "    for r in range(counts[0]):",
            "        row_before[r] = row_of_node[row_nodes[r]]",
            "        row_of_node[row_nodes[r]] = r",
            *dealt_in_groups("b", "block_lengths.shape[0]", lines),
            "",
        ]
    )


def _of_excluded(wide: int, lines: list[str]) -> list[str]:
    """A loop over the excluded pairs q of the targets i of a block."""
    return [
        "for lane in range(lanes):",
        f"    i = block_rows[b * {wide} + lane]",
        "    for q in range(excluded_begin[row_nodes[i]], excluded_begin[row_nodes[i] + 1]):",
        *(f"        {line}" for line in lines),
    ]


def _row_of_pair() -> list[str]:
    """Statements that find the row of the other node, in the image of the pair; -1 if there is none."""
    near = [f"(row_images[s, {a}] - row_images[i, {a}] == excluded_images[q, {a}])" for a in range(3)]
    return [
        "r = -1",
        "s = row_of_node[excluded_nodes[q]]",
        "while s >= 0:",
        f"    if {' & '.join(near)}:",
        "        r = s",
        "    s = row_before[s]",
        "excluded_rows[q] = r",
    ]


def _mark_source(place: str) -> list[str]:
    """Statements that mark a listed source, so that its number stays known."""
    return [f"block_sources[{place}] = -1 - r"]


def _binary_search(rows: str, begin: str, end: str, found: list[str]) -> list[str]:
    """Binary search of row r from begin to end in increasing rows, some of them marked; e is its place."""

    def row(k: str) -> str:
        return f"ti.max({rows}[{k}], -1 - {rows}[{k}])"

    return [
        f"e = {begin}",
        f"z = {end}",
        "while e < z:",
        "    c = (e + z) // 2",
        f"    if {row('c')} < r:",
        "        e = c + 1",
        "    else:",
        "        z = c",
        f"if (r >= 0) & (e < {end}):",
        f"    if {row('e')} == r:",
        *(f"        {line}" for line in found),
    ]


def _set_lane_bit(wide: int) -> list[str]:
    """Statements that set the lane's bit of the row of an excluded pair, if the block has the row."""
    return [
        "r = excluded_rows[q]",
        "k = -1",
        "if r >= 0:",
        "    lane_of_row = -1",
        "    if row_order[r] & 1 == 0:",
        f"        lane_of_row = lane_of[row_order[r] // 2] - b * {wide}",
        "    if (lane_of_row >= 0) & (lane_of_row < lanes):",
        "        k = lane_of_row",
        "    else:",
        *(
            f"        {line}"
            for line in _binary_search("masked_rows", "own + lanes", "own + m", ["k = e - own"])
        ),
        "if k >= 0:",
        "    masked_bits[own + k] = masked_bits[own + k] | (1 << lane)",
    ]
