"""`python -m benchmarks.engine_tests CHECKOUT [FILE ...]`: see the package."""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .table import table

ROOT = Path(__file__).parents[2]
PATTERNS = ("test_ad*.py", "*grad*.py", "test_torch_ad.py")


def main() -> int:
    parser = argparse.ArgumentParser(prog="engine_tests", description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("files", nargs="*", help="files of tests/python (default: those about derivatives)")
    parser.add_argument("--seconds", type=float, default=300.0, help="the most for one test")
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
        tests = Tests(checkout, file, engine, a.to.resolve(), a.keyword)
        for number in range(tests.count()):
            tests.ask(number, a.seconds)
    print(table(_events(a.to)))
    return 0


@dataclass
class Tests:
    """The tests of a file, each in a process of its own: an engine leaves arrays behind for the next one."""

    checkout: Path
    file: Path
    engine: str
    to: Path
    keyword: str

    def count(self) -> int:
        found = self._run("--collect-only")
        count = sum("::" in line for line in found.stdout.splitlines())
        if not count:
            print(f"{self.file}: no tests\n{found.stdout[-1500:]}{found.stderr[-500:]}", file=sys.stderr)
        return count

    def ask(self, number: int, seconds: float) -> None:
        """Run one test; if it ends the process, or takes too long, that is noted."""
        begun = len(_events(self.to))
        try:
            code = self._run(number=str(number), seconds=seconds).returncode
            why = "" if code in (0, 1) else f"died ({code})"
        except subprocess.TimeoutExpired:
            why = "time"
        if not why:
            return
        events = _events(self.to)[begun:]
        name = next((e["begin"] for e in events if "begin" in e), f"{self.file.name}, test {number}")
        doing = [e["doing"] for e in events if "doing" in e] or ["the test"]
        with self.to.open("a") as out:
            out.write(json.dumps({"lost": name, "why": why, "doing": doing[-1]}) + "\n")

    def _run(
        self, *options: str, number: str = "", seconds: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        paths = [str(ROOT), str(ROOT / "framework"), os.environ.get("PYTHONPATH")]
        environment = {
            **os.environ,
            "ENGINE_TESTS": str(self.to),
            "ENGINE_TESTS_ENGINE": self.engine,
            "ENGINE_TESTS_NUMBER": number,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "TI_WANTED_ARCHS": "cpu",
            "QD_WANTED_ARCHS": "cpu",
        }
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        command += ["-p", f"{__package__}.plugin", str(self.file), *options]
        command += ["-k", self.keyword] if self.keyword else []
        return subprocess.run(
            command,
            cwd=self.checkout,
            env=environment,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )


def _events(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


if __name__ == "__main__":
    sys.exit(main())
