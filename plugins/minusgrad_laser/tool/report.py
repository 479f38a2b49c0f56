"""`report.html`: one file with drawings, scores and limits, without scripts and without a network."""

from collections.abc import Sequence
from html import escape

from . import pictures
from .evidence import Evidence
from .panels import of

STYLE = """
:root { color-scheme: light dark; --ink: #1d2125; --soft: #667079; --page: #ffffff; --card: #f6f7f8;
        --line: #d9dde1; --good: #007a5a; --bad: #b34700; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8ea; --soft: #9aa4ad; --page: #15181b; --card: #1e2226; --line: #353b41;
          --good: #3fc79a; --bad: #ff9a57; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); line-height: 1.45;
       font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 28px 20px 48px; }
h1 { font-size: 24px; margin: 0 0 2px; } h2 { font-size: 15px; margin: 0; }
p { margin: 0; } .soft { color: var(--soft); }
.verdict { font-weight: 600; margin: 14px 0 0; } .good { color: var(--good); } .bad { color: var(--bad); }
.tiles { display: grid; gap: 10px; margin: 20px 0;
         grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); }
.tile, figure { background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
.tile { padding: 10px 14px; } .tile b { display: block; font-size: 21px; font-weight: 600; }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(340px, 1fr)); gap: 14px; }
figure { margin: 0; padding: 12px 14px; min-width: 0; } figure.wide { grid-column: 1 / -1; }
figure svg { width: 100%; height: auto; max-height: 560px; margin-top: 8px; display: block; }
figure svg text { font-family: inherit !important; }
figcaption { color: var(--soft); font-size: 13px; }
table { border-collapse: collapse; margin: 8px 0 0; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 5px 14px 5px 0; border-bottom: 1px solid var(--line); font-weight: 400; }
thead th { color: var(--soft); font-size: 13px; } section { margin-top: 26px; } ul { margin: 8px 0 0; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(340px, 1fr)); gap: 28px; }
@media print { figure, .tile { break-inside: avoid; } }
"""
SHOWN = 20
"""Broken limits that are listed; the rest is counted."""


def page(evidence: Evidence, baseline: Evidence | None = None) -> str:
    """The text of the page. baseline: a job to compare with, whose scores stand beside."""
    figures = [
        f'<figure class="{"wide" if pictures.is_wide(panel, evidence) else ""}"><h2>{panel.title}</h2>'
        f"<figcaption>{escape(panel.about)}</figcaption>{pictures.svg(panel, evidence)}</figure>"
        for panel in of(evidence)
    ]
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(evidence.title)}</title><style>{STYLE}</style></head><body><main>",
            f"<h1>{escape(evidence.title)}</h1>",
            f'<p class="soft">{escape(_report_subtitle(evidence))}</p>',
            _report_verdict(evidence),
            _report_tiles(evidence),
            f'<div class="panels">{"".join(figures)}</div>',
            f'<section class="columns"><div><h2>Scores</h2>{_score_table(evidence, baseline)}</div>',
            f"<div><h2>Machine</h2>{_machine_table(evidence)}</div></section>",
            "</main></body></html>\n",
        ]
    )


def _report_subtitle(e: Evidence) -> str:
    (rows, columns), pixel = e.size
    size = f"{columns * pixel * 1e3:.4g} x {rows * pixel * 1e3:.4g} mm"
    cells = f"{columns} x {rows} cells of {pixel * 1e6:.4g} µm"
    return f"{e.machine.name} · {size} · {cells} · {len(e.path)} points"


def _report_verdict(e: Evidence) -> str:
    burns = [str(burn) for burn in e.burns] if e.target is None else []
    good = '<p class="verdict good">✓ The replayed file keeps all limits of the machine.</p>'
    bad = '<p class="verdict bad">✗ The replayed file breaks limits of the machine:</p>'
    limits = f"{bad}{_html_list(e.violations)}" if e.violations else good
    limits += f'<p class="verdict">Remarks:</p>{_html_list(e.remarks)}' if e.remarks else ""
    return f'{limits}<p class="verdict bad">✗ It over-burns:</p>{_html_list(burns)}' if burns else limits


def _html_list(texts: Sequence[str]) -> str:
    listed = "".join(f"<li>{escape(text)}</li>" for text in texts[:SHOWN])
    more = len(texts) - SHOWN
    listed += f"<li>and {more} more</li>" if more > 0 else ""
    return f"<ul>{listed}</ul>"


def _report_tiles(e: Evidence) -> str:
    wanted = {
        "intersection over union": "intersection over union",
        "edge placement, mean": "mean edge placement",
        "job time": "job time",
        "peak dose": "peak dose",
        "limits broken": "limits broken",
    }
    rows = dict(e.rows)
    tiles = [(rows[key], label) for key, label in wanted.items() if key in rows]
    each = (
        f'<div class="tile"><b>{escape(value)}</b><span class="soft">{label}</span></div>'
        for value, label in tiles
    )
    return f'<div class="tiles">{"".join(each)}</div>'


def _score_table(e: Evidence, baseline: Evidence | None) -> str:
    beside = dict(baseline.rows) if baseline else None
    head = "<thead><tr><th></th><th>this job</th><th>raster</th></tr></thead>" if baseline else ""
    rows = []
    for name, text in e.rows:
        other = f"<td>{escape(beside.get(name, ''))}</td>" if beside is not None else ""
        rows.append(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td>{other}</tr>")
    return f"<table>{head}<tbody>{''.join(rows)}</tbody></table>"


def _machine_table(e: Evidence) -> str:
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in limits(e.machine)
    )
    return f"<table><tbody>{rows}</tbody></table>"


def limits(m) -> list[tuple[str, str]]:
    """The limits of a machine as a name and a text with its unit each."""
    corner = (
        f"junction deviation {m.junction_deviation * 1e3:g} mm"
        if m.junction_deviation is not None
        else f"jerk {_both_axes(m.jerk, 1e3)} mm/s"
    )
    rows = [
        ("speed", f"{_both_axes(m.speed, 1e3)} mm/s"),
        ("acceleration", f"{_both_axes(m.acceleration, 1e3)} mm/s²"),
        ("corners", corner),
        ("power", f"{m.power[0]:g} to {m.power[1]:g} W, {m.bits} bits, {'M4' if m.dynamic_power else 'M3'}"),
        ("spot, 1/e² diameter", f"{m.spot_text} µm"),
        ("look-ahead", f"{m.planner_blocks} moves"),
    ]
    if m.lines_per_second != float("inf"):
        rows.append(("lines", f"{m.lines_per_second:g} a second"))
    return rows


def _both_axes(of_axes: tuple[float, float] | None, scale: float) -> str:
    x, y = of_axes or (0.0, 0.0)
    return f"{x * scale:g}" if x == y else f"{x * scale:g} along x, {y * scale:g} along y"
