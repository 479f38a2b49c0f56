"""Frames along a line of points, in NumPy: parallel transport, rotations between them, their halves.

Quaternions (w, x, y, z) of unit length in rows (N, 4); the columns of their matrices are d1, d2, d3.
"""

import numpy as np


def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Products a b of quaternions (N, 4)."""
    w, v = a[..., :1] * b[..., :1], np.cross(a[..., 1:], b[..., 1:])
    w = w - np.sum(a[..., 1:] * b[..., 1:], axis=-1, keepdims=True)
    return np.concatenate([w, a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + v], axis=-1)


def conjugate(a: np.ndarray) -> np.ndarray:
    """Inverse rotations (N, 4)."""
    return a * np.array([1.0, -1.0, -1.0, -1.0])


def half_rotations(p: np.ndarray) -> np.ndarray:
    """Unit quaternions (N, 4) whose squares are the rotations p, by less than half a turn of p."""
    p = np.where(p[..., :1] < 0.0, -p, p)
    sums = p + np.array([1.0, 0.0, 0.0, 0.0])
    return sums / np.linalg.norm(sums, axis=-1, keepdims=True)


def rotation_of(vectors: np.ndarray) -> np.ndarray:
    """Unit quaternions (N, 4) of rotation vectors (N, 3) [rad]."""
    angles = np.linalg.norm(vectors, axis=-1, keepdims=True)
    parts = 0.5 * np.sinc(angles / (2.0 * np.pi))
    return np.concatenate([np.cos(0.5 * angles), parts * vectors], axis=-1)


def of_axes(d1: np.ndarray, d2: np.ndarray, d3: np.ndarray) -> np.ndarray:
    """The unit quaternion (4,) of a frame."""
    R = np.stack([d1, d2, d3], axis=1)
    four = np.array(
        [
            1.0 + R[0, 0] + R[1, 1] + R[2, 2],
            1.0 + R[0, 0] - R[1, 1] - R[2, 2],
            1.0 - R[0, 0] + R[1, 1] - R[2, 2],
            1.0 - R[0, 0] - R[1, 1] + R[2, 2],
        ]
    )
    k = int(np.argmax(four))
    off = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    if k == 0:
        q = np.concatenate([four[:1], off])
    else:
        q = np.empty(4)
        q[0], q[k] = off[k - 1], four[k]
        for j in (1, 2, 3):
            if j != k:
                q[j] = R[j - 1, k - 1] + R[k - 1, j - 1]
    return q / np.linalg.norm(q)


def axes_of(q: np.ndarray) -> np.ndarray:
    """Matrices (N, 3, 3) of unit quaternions (N, 4), whose columns are d1, d2, d3."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    rows = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def transported_frames(tangents: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Frames (N, 4) with d3 along unit tangents (N, 3), turned from one to the next by the shortest way.

    normal (3,): d1 of the first, where it is across the tangent.
    """
    t = tangents[0]
    d1 = normal - (normal @ t) * t
    d1 = d1 / np.linalg.norm(d1)
    frames = [of_axes(d1, np.cross(t, d1), t)]
    for t in tangents[1:]:
        frames.append(swing_to(frames[-1], t))
    return np.array(frames)


def swing_to(q: np.ndarray, tangent: np.ndarray) -> np.ndarray:
    """The frame q (4,), turned by the shortest way so that d3 is the tangent (3,)."""
    here = axes_of(q)[:, 2]
    swing = np.concatenate([[1.0 + here @ tangent], np.cross(here, tangent)])
    if (size := np.linalg.norm(swing)) < 1e-12:
        return multiply(np.concatenate([[0.0], axes_of(q)[:, 0]]), q)
    return multiply(swing / size, q)
