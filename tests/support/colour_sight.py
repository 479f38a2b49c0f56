"""Colours as eyes see them: CIE L*a*b*, CIEDE2000, and sight without red or green receptors.

Sources: IEC 61966-2-1 (sRGB); Sharma, Wu, Dalal 2005, Color Res. Appl. 30, 21 (CIEDE2000); Machado, Oliveira,
Fernandes 2009, IEEE TVCG 15, 1291 (matrices of severity 1).
"""

import numpy as np

XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
SIGHTS = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}


def lab(colours: list[str], sight: str = "usual") -> np.ndarray:
    """L*a*b* (n, 3) of colours such as `#0967a6`, as eyes with this sight see them."""
    rgb = np.array([[int(c[k : k + 2], 16) / 255 for k in (1, 3, 5)] for c in colours])
    light = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(light @ SIGHTS[sight].T, 0.0, 1.0)
    share = seen @ XYZ.T / XYZ.sum(axis=1)
    x, y, z = np.where(share > (6 / 29) ** 3, np.cbrt(share), share * 841 / 108 + 4 / 29).T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


def distances(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """CIEDE2000 of all pairs of rows of one (n, 3) and other (m, 3), as (n, m)."""
    (l1, a1, b1), (l2, a2, b2) = np.moveaxis(one[:, None], -1, 0), np.moveaxis(other[None], -1, 0)
    mean = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    stretch = 1 + 0.5 * (1 - np.sqrt(mean**7 / (mean**7 + 25.0**7)))
    c1, c2 = np.hypot(stretch * a1, b1), np.hypot(stretch * a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, stretch * a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = np.where(c1 * c2 == 0, 0.0, (h2 - h1 + 180) % 360 - 180)
    far = (np.abs(h1 - h2) > 180) & (c1 * c2 != 0)
    hue = np.where(c1 * c2 == 0, h1 + h2, (h1 + h2 + 360 * far) / 2) % 360
    light, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    t = 1 - 0.17 * _cos(hue - 30) + 0.24 * _cos(2 * hue) + 0.32 * _cos(3 * hue + 6) - 0.2 * _cos(4 * hue - 63)
    dl = (l2 - l1) / (1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2))
    dc = (c2 - c1) / (1 + 0.045 * chroma)
    dh = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2)) / (1 + 0.015 * chroma * t)
    turned = np.sin(np.radians(60 * np.exp(-(((hue - 275) / 25) ** 2))))
    mixed = -2 * turned * np.sqrt(chroma**7 / (chroma**7 + 25.0**7))
    return np.sqrt(dl**2 + dc**2 + dh**2 + mixed * dc * dh)


def _cos(degrees: np.ndarray) -> np.ndarray:
    return np.cos(np.radians(degrees))
