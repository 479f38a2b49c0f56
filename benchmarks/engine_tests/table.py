"""The table of counts: what the check says of each reverse, beside what central differences say."""

from collections import Counter
from typing import Any


def records(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The answers of all reverses, with the name of the test; a lost one has a verdict of its own."""
    found = [{"test": e["test"], **e["record"]} for e in events if "record" in e]
    for e in events:
        if "lost" in e and e["doing"] != "the test":
            verdict = "time" if e["why"] == "time" else "died"
            found.append({"test": e["lost"], "verdict": verdict, "text": e["doing"], "truth": "unknown"})
    return found


def table(events: list[dict[str, Any]]) -> str:
    """Counts by verdict and truth, then every answer that is not agreement."""
    answers = records(events)
    tests = sum("begin" in e for e in events)
    made = sum(e.get("reverses", 0) for e in events)
    alone = sum(e.get("reverses", 0) == 0 for e in events if "reverses" in e)
    forward = sum(e.get("forward", 0) > 0 for e in events)
    counts = Counter((r["verdict"], r.get("truth", "unknown")) for r in answers)
    truths = ("right", "wrong", "kink", "refused", "unknown")
    lines = [
        f"{tests} tests; {made} reverses, {len(answers)} different ones put to the check;"
        f" {alone} tests without a reverse, {forward} in forward mode",
        f"| check says | {' | '.join(truths)} |",
        f"|---|{'---|' * len(truths)}",
    ]
    for verdict in sorted({v for v, _ in counts}):
        lines.append(f"| {verdict} | {' | '.join(str(counts[verdict, t]) for t in truths)} |")
    agreed = {("right", "right"), ("finding", "wrong"), ("finding", "refused")}
    for r in answers:
        if (r["verdict"], r.get("truth")) not in agreed:
            test = r["test"].rpartition("/")[2]
            lines.append(
                f"{r['verdict']} ({r.get('truth', '')}): {test}: {r.get('text', '')} [{r.get('why', '')}]"
            )
    return "\n".join(lines)
