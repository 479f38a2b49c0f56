"""The overlay of a saved page: title, time, legend and curves, and the script that moves them.

viser's saved page has a bar with a slider of seconds; the script reads it.
"""

import json
import math
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ..plot import style
from .html_head import with_head

if TYPE_CHECKING:
    from .observables import Chart

WIDTH, HEIGHT, LEFT, BELOW, ABOVE = 300, 150, 54, 30, 16
"""Of a chart, in pixels, and its margins."""
STYLE = """
#minusgrad{position:fixed;right:1em;top:1em;z-index:2;width:19.5em;max-height:calc(100vh - 6em);overflow:auto;
font:14px system-ui,sans-serif;border-radius:6px;padding:.6em .4em;PAPER}
#minusgrad h1{font-size:1em;margin:0 .6em .3em}
#minusgrad #when{margin:0 .6em .4em;font-variant-numeric:tabular-nums}
#minusgrad svg{display:block;width:100%}#minusgrad svg text{font:10px system-ui,sans-serif;fill:currentColor}
#minusgrad summary{cursor:pointer;margin:.2em .6em;font-size:.8em}
"""
PAPERS = {False: "background:#fffd;color:#1b1f24", True: "background:#14171bdd;color:#e7eaee"}
SCRIPT = """
(function(){const d=DATA,when=document.getElementById("when");let shown=-1;
function tick(){const bar=document.querySelector("[role=slider]");
const seconds=bar?parseFloat(bar.getAttribute("aria-valuenow")):0;
const k=Math.max(0,Math.min(d.when.length-1,Math.floor(seconds*d.fps+1e-6)));
if(k===shown)return;shown=k;when.textContent=d.when[k];
document.querySelectorAll("#minusgrad svg").forEach((svg,n)=>{
const line=svg.querySelector(".now"),at=d.now[n][k];
line.setAttribute("x1",at);line.setAttribute("x2",at);});}
setInterval(tick,40);tick();})();
"""


def inject_overlay(
    page: str,
    title: str,
    when: list[str],
    fps: float,
    legend: str,
    charts: "list[Chart]",
    at: np.ndarray,
    dark: bool,
    note: str = "",
) -> str:
    """A page with the overlay. when: labels of the frames; at (charts, frames): their places along charts."""
    drawn = "".join(
        f"<details{' open' * (n == 0)}><summary>{escape(chart.title)}</summary>{svg(chart)}</details>"
        for n, chart in enumerate(charts)
    )
    now = [
        [round(float(across_pixels(chart, place)), 1) for place in row]
        for chart, row in zip(charts, at, strict=True)
    ]
    data = json.dumps({"when": when, "fps": fps, "now": now}).replace("</", "<\\/")
    small = f'<div style="font-size:.75em;margin:.4em .8em">{escape(note)}</div>' if note else ""
    body = (
        f"<style>{STYLE.replace('PAPER', PAPERS[dark])}</style>"
        f'<div id="minusgrad"><h1>{escape(title)}</h1><div id="when"></div>{legend}{drawn}{small}</div>'
        f"<script>{SCRIPT.replace('DATA', data)}</script>"
    )
    page = with_head(page, title, policy=True)
    end = page.rindex("</body>")
    return page[:end] + body + page[end:]


def across_pixels(chart: "Chart", place: Any) -> Any:
    """The horizontal place of a number of the axis, in pixels."""
    low, high = chart.x[0], chart.x[-1]
    return LEFT + (WIDTH - LEFT - 8) * np.clip((place - low) / (high - low or 1.0), 0.0, 1.0)


def svg(chart: "Chart") -> str:
    """A chart as SVG: curves, ticks, names, and a line at the present frame."""
    values = np.concatenate(list(chart.curves.values()))
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    if low == high:
        low, high = low - (abs(low) or 1.0) * 0.1, high + (abs(high) or 1.0) * 0.1
    bottom = HEIGHT - BELOW

    def up(y: Any) -> Any:
        return bottom - (bottom - ABOVE) * (y - low) / (high - low)

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}">']
    faint = f'stroke="{style.FAINT}" stroke-width="0.6"'
    parts.append(f'<path d="M{LEFT} {ABOVE}V{bottom}H{WIDTH - 8}" fill="none" {faint}/>')
    for level, text in ticks(low, high, 4):
        parts.append(f'<text x="{LEFT - 4}" y="{up(level) + 3:.1f}" text-anchor="end">{text}</text>')
        parts.append(f'<path d="M{LEFT - 3} {up(level):.1f}h3" {faint}/>')
    for x, text in ticks(float(chart.x[0]), float(chart.x[-1]), 5):
        parts.append(
            f'<text x="{across_pixels(chart, x):.1f}" y="{bottom + 12}" text-anchor="middle">{text}</text>'
        )
    parts.append(f'<text x="{WIDTH - 8}" y="{HEIGHT - 4}" text-anchor="end">{escape(chart.along)}</text>')
    right: float = LEFT + 2
    for (name, y), pen in zip(chart.curves.items(), chart.pens, strict=True):
        pen = "currentColor" if pen == style.INK else pen
        places = zip(across_pixels(chart, chart.x), up(y), strict=True)
        line = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{pen}" stroke-width="1.2"/>')
        if len(chart.curves) > 1 and right < WIDTH - 40:
            parts.append(f'<text x="{right:.0f}" y="9" style="fill:{pen}">{escape(name)}</text>')
            right += 5.4 * len(name) + 8
    parts.append(
        f'<line class="now" x1="{LEFT}" x2="{LEFT}" y1="{ABOVE}" y2="{bottom}" stroke="#b8433f"/></svg>'
    )
    return "".join(parts)


def ticks(low: float, high: float, most: int) -> list[tuple[float, str]]:
    """Round numbers between two, at most so many and one, as text of the same digits."""
    from matplotlib.ticker import MaxNLocator

    places = [float(p) for p in MaxNLocator(most).tick_values(low, high) if low <= p <= high]
    step = places[1] - places[0] if len(places) > 1 else high - low or 1.0
    largest = max(map(abs, places), default=1.0) or 1.0
    if 1e-3 <= largest < 1e5:
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        return [(place, f"{place:.{decimals}f}") for place in places]
    digits = next(n for n in range(1, 16) if all(abs(float(f"{p:.{n}g}") - p) < 1e-3 * step for p in places))
    return [(place, f"{place:.{digits}g}" if abs(place) > 1e-9 * largest else "0") for place in places]
