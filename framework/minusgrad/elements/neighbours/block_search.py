"""Kernels that list neighbours of blocks of targets: cells in columns, and rows within reach of a block.

    rows      every node and its periodic copies within reach of the box, in the order of their cells
    blocks    so many targets that follow each other in this order
    lists     of each block the rows that are within reach of any of its targets

Cells stand in columns along the last axis. Places are in units of the reach, in f32; in fewer dimensions than
three they have zeros before them. One thread sorts the rows, and each block has a thread of its own, so the
lists do not depend on the threads.

Decisions 0271.
"""

from ...engine.kernels import dealt_in_groups

WIDE = 16
"""Rows that are compared at once: lanes of f32."""
AXES = range(3)


def rows_text(d: int) -> str:
    """Serial loops that list the rows, and sort them by cell; `geometry`: box, inverse, margins, corner."""
    held = "geometry[2, 0, {a}] > 0.0"
    sums = {
        f"s{a}": " + ".join(f"q{c} * geometry[1, {c}, {a}]" for c in range(3 - d, 3)) for a in range(3 - d, 3)
    }
    lines = [
        *(f"q{3 - d + c} = ti.f64(positions[n, {c}])" for c in range(d)),
        *(f"{name} = {text}" for name, text in ({f"s{a}": "ti.f64(0.0)" for a in AXES} | sums).items()),
        *(f"w{a} = ti.select({held.format(a=a)}, -ti.floor(s{a}), 0.0)" for a in AXES),
        *(f"s{a} += w{a}" for a in AXES),
        *(f"l{a} = ti.select({held.format(a=a)}, ti.ceil(-geometry[2, 0, {a}] - s{a}), 0.0)" for a in AXES),
        *(
            f"h{a} = ti.select({held.format(a=a)}, ti.floor(1.0 + geometry[2, 0, {a}] - s{a}), 0.0)"
            for a in AXES
        ),
        *(f"{'    ' * a}for k{a} in range(ti.cast(l{a}, ti.i32), ti.cast(h{a}, ti.i32) + 1):" for a in AXES),
        *(f"            {line}" for line in _store_row()),
    ]
    return "\n".join(
        [
            "for once in range(1):",
            "    for c in range(cells.shape[0]):",
            "        cells[c] = 0",
            "    m = 0",
            "    for i in range(nodes.shape[0]):",
            "        n = nodes[i]",
            *(f"        {line}" for line in lines),
            "    counts[0] = m",
            "    if m <= found.shape[0]:",
            *(f"        {line}" for line in _sort_rows()),
            "",
        ]
    )


def _store_row() -> list[str]:
    """Statements that store one row, and count its cell."""
    place = " + ".join(f"(s{a} + k{a}) * geometry[0, {a}, {{c}}]" for a in AXES)
    return [
        *(f"p{c} = ti.cast({place.format(c=c)} - geometry[2, 1, {c}], ti.f32)" for c in AXES),
        *(
            f"c{c} = ti.min(ti.max(ti.cast(p{c} * sides[1, {c}], ti.i32), 0), counts[{1 + c}] - 1)"
            for c in AXES
        ),
        "cell = (c0 * counts[2] + c1) * counts[3] + c2",
        "if m < found.shape[0]:",
        "    found[m, 0] = n",
        *(f"    found[m, {1 + a}] = ti.cast(w{a}, ti.i32) + k{a}" for a in AXES),
        "    first = ti.select(k0 != 0, k0, ti.select(k1 != 0, k1, k2))",
        "    found[m, 4] = 2 * i + ti.min(ti.max(first, -1), 1)",
        "    found[m, 5] = cell",
        *(f"    found_places[m, {c}] = p{c}" for c in AXES),
        "    cells[cell + 1] += 1",
        "m += 1",
    ]


def _sort_rows() -> list[str]:
    """Statements that put the rows into the order of their cells, and their targets into blocks."""
    return [
        "for c in range(cells.shape[0] - 1):",
        "    cells[c + 1] += cells[c]",
        "for c in range(cells.shape[0]):",
        "    next_in[c] = cells[c]",
        "for r in range(m):",
        "    at = next_in[found[r, 5]]",
        "    next_in[found[r, 5]] = at + 1",
        "    row_nodes[at] = found[r, 0]",
        *(f"    row_images[at, {a}] = found[r, {1 + a}]" for a in AXES),
        "    row_order[at] = found[r, 4]",
        *(f"    {_row_component('at', c)} = found_places[r, {c}]" for c in AXES),
        f"    {_row_component('at', 3)} = ti.select(found[r, 4] & 1 == 0, ti.f32(at), -1.0)",
        f"for r in range(m, (m + {WIDE - 1}) // {WIDE} * {WIDE}):",
        *(f"    {_row_component('r', c)} = 1e18" for c in AXES),
        f"    {_row_component('r', 3)} = -1.0",
        "t = 0",
        "for r in range(m):",
        "    if row_order[r] & 1 == 0:",
        "        block_rows[t] = r",
        "        lane_of[row_order[r] // 2] = t",
        "        t += 1",
        "for k in range(t, block_rows.shape[0]):",
        "    block_rows[k] = block_rows[t - 1]",
        "for k in range(block_rows.shape[0]):",
        "    block_nodes[k] = row_nodes[block_rows[k]]",
        "    block_order[k] = row_order[block_rows[k]]",
    ]


def _row_component(row: str, component: int) -> str:
    """The text of a number of a row: its place; then its number if it is a target, or -1."""
    return f"places[(({row} // {WIDE}) * 4 + {component}) * {WIDE} + {row} % {WIDE}]"


def lists_text(wide: int) -> str:
    """Loops that list, for each block of so many targets, the rows of others that are within reach."""
    own = f"own_places[(b * {wide} + lane) * 3 + {{c}}]"
    lines = [
        *(f"l{c} = ti.f32(1e30)" for c in AXES),
        *(f"h{c} = ti.f32(-1e30)" for c in AXES),
        f"for lane in range({wide}):",
        f"    r = block_rows[b * {wide} + lane]",
        *(f"    t{c} = {_row_component('r', c)}" for c in AXES),
        *(f"    {own.format(c=c)} = t{c}" for c in AXES),
        *(f"    l{c} = ti.min(l{c}, t{c})" for c in AXES),
        *(f"    h{c} = ti.max(h{c}, t{c})" for c in AXES),
        *(f"b{c} = ti.max(ti.cast((l{c} - 1.0) * sides[1, {c}], ti.i32), 0)" for c in (0, 1)),
        *(
            f"e{c} = ti.min(ti.cast((h{c} + 1.0) * sides[1, {c}], ti.i32), counts[{1 + c}] - 1)"
            for c in (0, 1)
        ),
        "room = block_sources.shape[0] // block_lengths.shape[0]",
        "begin = b * room",
        "n = 0",
        f"far = {_to_all('ti.f32(1e30)')}",
        f"numbers = ti.Vector([{', '.join(f'ti.f32({k}.0)' for k in range(WIDE))}])",
        f"first = block_rows[b * {wide}]",
        f"last = block_rows[b * {wide} + {wide - 1}]",
        "for c0 in range(b0, e0 + 1):",
        "    f0 = c0 * sides[0, 0]",
        "    g0 = ti.max(ti.max(f0 - h0, l0 - f0 - sides[0, 0]), ti.f32(0.0))",
        "    for c1 in range(b1, e1 + 1):",
        "        f1 = c1 * sides[0, 1]",
        "        g1 = ti.max(ti.max(f1 - h1, l1 - f1 - sides[0, 1]), ti.f32(0.0))",
        "        left = ti.f32(1.0) - g0 * g0 - g1 * g1",
        "        if left > 0.0:",
        "            z = ti.sqrt(left) + ti.f32(1e-5)",
        "            b2 = ti.max(ti.cast((l2 - z) * sides[1, 2], ti.i32), 0)",
        "            e2 = ti.min(ti.cast((h2 + z) * sides[1, 2], ti.i32), counts[3] - 1)",
        "            column = (c0 * counts[2] + c1) * counts[3]",
        "            k0 = cells[column + b2]",
        "            k1 = cells[column + e2 + 1]",
        f"            for kb in range(k0 // {WIDE}, (k1 + {WIDE - 1}) // {WIDE}):",
        *(f"                y{c} = place_blocks[kb * 4 + {c}]" for c in AXES),
        f"                best = {_to_all('ti.f32(1e30)')}",
        f"                for lane in range({wide}):",
        *(f"                    d{c} = y{c} - {_to_all(own.format(c=c))}" for c in AXES),
        "                    best = ti.min(best, d0 * d0 + d1 * d1 + d2 * d2)",
        "                home = place_blocks[kb * 4 + 3]",
        f"                among = ti.select(home < {_to_all('ti.f32(last + 1)')}, far, best)",
        f"                best = ti.select(home < {_to_all('ti.f32(first)')}, best, among)",
        f"                if (kb * {WIDE} < k0) | (kb * {WIDE} + {WIDE} > k1):",
        f"                    best = ti.select(numbers < {_to_all(f'ti.f32(k0 - kb * {WIDE})')}, far, best)",
        f"                    best = ti.select(numbers < {_to_all(f'ti.f32(k1 - kb * {WIDE})')}, best, far)",
        f"                if n + {WIDE} < room:",
        *(f"                    {line}" for k in range(WIDE) for line in _append_row(k)),
        "                else:",
        "                    n = room",
        "block_lengths[b] = n",
    ]
    return "\n".join([*dealt_in_groups("b", "block_lengths.shape[0]", lines), ""])


def _append_row(k: int) -> list[str]:
    """Statements that append row k of a block of rows, without a branch, if it is near."""
    return [
        f"block_sources[begin + n] = kb * {WIDE} + {k}",
        f"n += ti.cast(best[{k}] < 1.0, ti.i32)",
    ]


def _to_all(text: str) -> str:
    return f"ti.Vector([{text}] * {WIDE})"
