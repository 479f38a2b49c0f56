"""The share of functions whose name is one word: `python -m tests.project.function_names`.

Counted are all functions of `framework` and `plugins`: those of modules, methods, properties and functions
inside others; not dunder methods such as `__init__`. A name is one word if it has no underscore but at its
ends: `_rows` and `solve` are, `stored_rows` is not.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from tests.project.package_map import CORE, ROOT

MOST = 0.55
"""The largest share: those of diffrax and optimistix are 0.45 and 0.51."""


def names_of_functions(source: str) -> Iterator[str]:
    """The names of all functions in a module's text, but for dunder methods."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("__"):
            yield node.name


def is_one_word(name: str) -> bool:
    return "_" not in name.strip("_")


def count_by_package() -> dict[str, tuple[int, int]]:
    """By package of the framework, and by plugin: the functions with a name of one word, and all."""
    one_word: Counter[str] = Counter()
    every: Counter[str] = Counter()
    for root in (CORE, ROOT / "plugins"):
        for path in sorted(root.rglob("*.py")):
            package = path.relative_to(root).parts[0].removesuffix(".py")
            for name in names_of_functions(path.read_text(encoding="utf-8")):
                every[package] += 1
                one_word[package] += is_one_word(name)
    return {package: (one_word[package], count) for package, count in every.items()}


def share_of_all() -> float:
    counts = count_by_package().values()
    return sum(one for one, _ in counts) / sum(count for _, count in counts)


def main() -> None:
    for package, (one, count) in sorted(count_by_package().items()):
        print(f"{package:26} {one:5} of {count:5} {one / count:7.1%}")
    print(f"{'all':26} {share_of_all():22.1%}")


if __name__ == "__main__":
    main()
