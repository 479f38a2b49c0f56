"""The figures as tables: in the terminal, and in Markdown for the documents."""

from collections.abc import Iterator, Sequence
from typing import Any

HEADS = ("", "median", "to base", "to best peer", "first call", "peak memory", "error")


def rows(group: Sequence[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """The rows of a case, from what `records` keeps of it."""
    for one in group:
        info, stats = one["extra_info"], one["stats"]
        mark = "" if info["settled"] else " ~"
        yield (
            one["name"],
            f"{figure(stats['min'] * info['scale'])}{mark}",
            figure(stats["median"] * info["scale"]),
            figure(info["to_base"]),
            figure(info["to_peer"]),
            f"{figure(info['first_call'])} s",
            "-" if info["peak_memory"] is None else f"{info['peak_memory'] / 1e6:.0f} MB",
            "-" if info["error"] is None else f"{info['error']:.0e}",
        )


def heads(group: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """Of the columns of figures."""
    info = group[0]["extra_info"]
    return "", f"{info['unit']}: min", "median", f"to {info['base']}", *HEADS[3:]


def figure(number: float | None) -> str:
    """Three digits; `-` for none."""
    if number is None:
        return "-"
    return f"{number:.0f}" if abs(number) >= 1000 else f"{number:.3g}"


def groups(document: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The rows of each case, by its label."""
    found: dict[str, list[dict[str, Any]]] = {}
    for one in document["benchmarks"]:
        found.setdefault(one["group"], []).append(one)
    return found


def text(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Columns of even width, numbers to the right."""
    width = [max(len(row[k]) for row in (head, *body)) for k in range(len(head))]

    def line(row: Sequence[str]) -> str:
        return "  ".join(
            [row[0].ljust(width[0]), *(c.rjust(w) for c, w in zip(row[1:], width[1:], strict=True))]
        )

    return "\n".join([line(head), *map(line, body)])


def markdown(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """The same, for documents."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def goals(document: dict[str, Any]) -> list[tuple[str, ...]]:
    """Each goal: where, who, what was wanted and what was measured."""
    return [
        (
            g["group"],
            g["name"],
            f"{g['ratio']:g} x {g['base']}",
            f"{figure(g['measured'])}",
            "met" if g["met"] else "missed",
        )
        for g in document["goals"]
    ]


def energies(document: dict[str, Any]) -> str:
    """Every shipped energy: a row each; value, gradient and product in each precision, on each engine."""
    found: dict[str, dict[tuple[str, str, str], str]] = {}
    for one in document["benchmarks"]:
        info = one["extra_info"]
        if info["work"] == "energies":
            name = f"{one['params']['energy']} ({info['unit'].removeprefix('ns ')})"
            key = info["engine"], info["precision"], one["params"]["of"]
            found.setdefault(name, {})[key] = figure(one["stats"]["min"] * info["scale"])
    if not found:
        return ""
    keys = list(dict.fromkeys(key for row in found.values() for key in row))
    head = ("ns", *(f"{engine[:2]} {precision} {of}" for engine, precision, of in keys))
    return text(head, [(name, *(row.get(key, "-") for key in keys)) for name, row in found.items()])


def document(found: dict[str, Any]) -> str:
    """All tables in Markdown, with the machine and the commit."""
    machine, commit = found["machine_info"], found["commit_info"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    dirty = " and uncommitted changes" if commit["dirty"] else ""
    parts = [
        f"{machine['processor']}, {found['settings']['threads']} threads; Python {machine['python_version']},"
        f" gcc {machine['gcc']}, {versions}; commit {commit['id']}{dirty}; {found['datetime'][:10]}"
    ]
    for label, group in groups(found).items():
        if group[0]["extra_info"]["work"] != "energies":
            parts += [f"### {label}", markdown(heads(group), [*rows(group)])]
        parts += [f"Missing: {name} ({reason})" for name, reason in found["missing"].get(label, {}).items()]
    if lines := energies(found):
        parts += ["### Every shipped energy", f"```text\n{lines}\n```"]
    if met := goals(found):
        parts += ["### Goals", markdown(("case", "column", "goal", "measured", ""), met)]
    return "\n\n".join(parts) + "\n"
