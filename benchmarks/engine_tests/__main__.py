"""`python -m benchmarks.engine_tests CHECKOUT [FILE ...]`: see the package."""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from .table import table

ROOT = Path(__file__).parents[2]
PATTERNS = ("test_ad*.py", "*grad*.py", "test_torch_ad.py")


def main() -> int:
    parser = argparse.ArgumentParser(prog="engine_tests", description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("files", nargs="*", help="files of tests/python (default: those about derivatives)")
    parser.add_argument("--seconds", type=float, default=90.0, help="the most for one question of a test")
    parser.add_argument("--to", type=Path, default=Path("engine_tests.jsonl"), help="the answers")
    parser.add_argument("-k", dest="keyword", default="", help="tests by name, as in pytest")
    a = parser.parse_args()
    checkout = a.checkout.resolve()
    engine = "quadrants" if (checkout / "quadrants").is_dir() else "taichi"
    folder = checkout / "tests" / "python"
    found = sorted({path for pattern in PATTERNS for path in folder.glob(pattern)})
    files = [next(folder.rglob(name)) for name in a.files] or found
    a.to.unlink(missing_ok=True)
    for file in files:
        _ask(checkout, file, engine, a.to.resolve(), a.seconds, a.keyword)
    print(table(_events(a.to)))
    return 0


def _ask(checkout: Path, file: Path, engine: str, to: Path, seconds: float, keyword: str) -> None:
    """All tests of a file; one that ends the process, or takes too long, is noted, and the others follow."""
    done: list[str] = []
    for _ in range(500):
        begun, seen = len(_events(to)), time.monotonic()
        environment = {
            **os.environ,
            "ENGINE_TESTS": str(to),
            "ENGINE_TESTS_ENGINE": engine,
            "PYTHONPATH": os.pathsep.join(
                filter(None, [str(ROOT), str(ROOT / "framework"), os.environ.get("PYTHONPATH")])
            ),
            "TI_WANTED_ARCHS": "cpu",
            "QD_WANTED_ARCHS": "cpu",
        }
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "--maxfail=1000000",
            "-p",
            f"{__package__}.plugin",
        ]
        command += ["-p", "no:cacheprovider", str(file)]
        command += [word for one in done for word in ("--deselect", one)]
        command += ["-k", keyword] if keyword else []
        child = subprocess.Popen(
            command,
            cwd=checkout,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        size, late = -1, False
        while child.poll() is None:
            time.sleep(0.3)
            now = to.stat().st_size if to.is_file() else 0
            if now != size:
                size, seen = now, time.monotonic()
            if time.monotonic() - seen > seconds:
                child.kill()
                late = True
        output = child.communicate()[0]
        events = _events(to)[begun:]
        begins = [e["begin"] for e in events if "begin" in e]
        ends = {e["end"] for e in events if "end" in e}
        if child.returncode in (0, 1, 5) and not late:
            return
        open_ = [b for b in begins if b not in ends]
        if not open_:
            print(f"{file.name}: pytest ended with {child.returncode}\n{output[-1500:]}", file=sys.stderr)
            return
        doing = [e["doing"] for e in events if e.get("test") == open_[-1] and "doing" in e]
        with to.open("a") as out:
            why = "time" if late else f"died ({child.returncode})"
            out.write(
                json.dumps({"lost": open_[-1], "why": why, "doing": (doing or ["the test"])[-1]}) + "\n"
            )
        done += begins
    print(f"{file.name}: too many processes", file=sys.stderr)


def _events(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


if __name__ == "__main__":
    sys.exit(main())
