"""The picture of a fit (PNG): widths of lines over their energy on a length, measured and fitted."""

from minusgrad.plugin import figure_bytes

from ...calibration.spot_fit import LineData, SpotFit, fitted_widths
from ..pictures import picture_style

GROUPS = (("along x", (0.0, 1.0)), ("along y", (1.0, 0.0)), ("diagonal", None))
COLOURS = "#1f6f8b", "#b5483a", "#7a7a3a"


def fit_picture(data: LineData, fitted: SpotFit) -> bytes:
    """The bytes of the picture."""
    import numpy as np

    model = fitted_widths(data, fitted)
    with picture_style("#222"):
        from matplotlib.figure import Figure

        figure = Figure((7.0, 3.2), layout="constrained")
        widths, shifts = figure.subplots(1, 2)
        for (name, normal), colour in zip(GROUPS, COLOURS, strict=True):
            size = np.abs(data.normal)
            inside = (
                np.abs(size[:, 0] - size[:, 1]) < 0.5 if normal is None else size @ np.array(normal) > 0.9
            )
            energy = data.power / data.speed
            order = np.flatnonzero(inside)[np.argsort(energy[inside])]
            good = fitted.used[order]
            widths.plot(
                energy[order][good],
                1e6 * data.width[order][good],
                "o",
                ms=3.0,
                mfc="none",
                color=colour,
                label=name,
            )
            widths.plot(energy[order], 1e6 * model[order], "x", ms=3.0, color=colour)
        widths.set(xscale="log", xlabel="energy on a length [J/m]", ylabel="width of a line [µm]")
        widths.set_title("○ measured, × fitted")
        widths.legend(frameon=False)
        late = fitted.estimates["latency"].value
        fastest = float(data.pair_speed.max())
        shifts.plot(1e3 * data.pair_speed, 1e6 * data.shift, "o", ms=3.0, mfc="none", color=COLOURS[0])
        shifts.plot([0.0, 1e3 * fastest], [0.0, 1e6 * late * fastest], color="#222", lw=0.8)
        shifts.set(xlabel="speed [mm/s]", ylabel="shift along a line [µm]")
        shifts.set_title(f"latency {1e6 * late:.4g} µs")
        return figure_bytes(figure, "png")
