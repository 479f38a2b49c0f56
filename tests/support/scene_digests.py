"""Digests of every shipped scene, shortened: the texts of its kernels, and its last checkpoint by content.

    python -m tests.support.scene_digests now.json [scene ...]
    python -m tests.support.scene_digests --compare before.json now.json

Two versions with equal digests emit the same kernels and compute the same bits.
"""

import hashlib
import json
import sys
import tempfile
from pathlib import Path

from minusgrad.app.runs import run
from minusgrad.engine import kernels
from minusgrad.files import checkpoint
from tests.support.command import SCENES
from tests.support.short_scenes import CONSTRAINED, LAGRANGIAN, path_of, shortened

texts: set[str] = set()


def record_texts() -> None:
    """Record the source of every kernel that is made from now on in `texts`."""
    make = kernels._compiled_kernel

    def made(source: str):
        texts.add(source)
        return make(source)

    kernels._compiled_kernel = made


def digests(scene: str) -> dict[str, str]:
    """The digests of one scene: "kernels" and "bits"."""
    texts.clear()
    short = (CONSTRAINED | LAGRANGIAN).get(scene) or shortened(scene)
    plugins = [SCENES / "yukawa_cluster.py"] if scene == "yukawa_cluster" else []
    with tempfile.TemporaryDirectory() as folder:
        run(path_of(scene), short, Path(folder) / "run", plugins=plugins)
        newest, _ = checkpoint.newest(Path(folder) / "run" / "ckpt")
        assert newest is not None
        saved = checkpoint.load(newest)
    sums = {name: digest.hex() for name, digest in checkpoint.sums(saved).items() if name}
    return {"kernels": _digest("\0".join(sorted(texts))), "bits": _digest(json.dumps(sums, sort_keys=True))}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def main(arguments: list[str]) -> int:
    if arguments[0] == "--compare":
        before, now = (json.loads(Path(name).read_text()) for name in arguments[1:])
        other = [f"{s}: {k}" for s in before for k in before[s] if before[s][k] != now.get(s, {}).get(k)]
        print("\n".join(other) or f"{len(before)} scenes: kernels and bits are equal")
        return 1 if other else 0
    record_texts()
    scenes = arguments[1:] or sorted(path.stem for path in SCENES.glob("*.toml"))
    found = {}
    for scene in scenes:
        try:
            found[scene] = digests(scene)
        except Exception as error:
            found[scene] = {"kernels": "failed", "bits": f"{type(error).__name__}: {error}"[:300]}
        print(scene, *found[scene].values(), flush=True)
    Path(arguments[0]).write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
