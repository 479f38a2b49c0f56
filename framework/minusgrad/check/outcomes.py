"""Outcomes of a check: right, a finding, or not asked; and the exit code that they make together.

    right       0   every question that was asked is answered, and none failed
    finding     1   something is wrong
    not asked   6   nothing is wrong, and something could not be asked; each has its reason

A kernel is right if its value was computed, one question about a derivative was answered, and none failed:
its questions that were not asked are listed. An exception of the check itself is never a finding.

Decisions 0081.
"""

import traceback
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from .questions import Finding

RIGHT, WRONG, NOT_ASKED = 0, 1, 6
DERIVATIVES = ("reverse", "taylor", "path", "product", "entries", "dual")
"""Questions about derivatives; the answer to one of them makes a kernel right."""
OWN = Path(__file__).parents[1]
"""The folder of this package."""
PLEASE = "please report it, with the file"


def exit_code(findings: Iterable[Finding]) -> int:
    """The exit code of the command line for these findings."""
    terms: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        terms[finding.term].append(finding)
    codes = {outcome(found) for found in terms.values()}
    return next((code for code in (WRONG, NOT_ASKED) if code in codes), RIGHT)


def outcome(findings: Iterable[Finding]) -> int:
    """The outcome of one kernel, energy or scene, from all its findings."""
    found = list(findings)
    if not all(f.passed for f in found):
        return WRONG
    if not any(f.unasked for f in found):
        return RIGHT
    return RIGHT if any(f.question in DERIVATIVES and not f.unasked for f in found) else NOT_ASKED


def not_asked(term: str, argument: str, question: str, reason: str, where: str = "") -> Finding:
    """A question that could not be asked, with the reason."""
    return Finding(term, argument, question, True, None, reason, where, unasked=True)


def of_exception(term: str, doing: str, error: Exception, file: Path | None = None) -> Finding:
    """The answer in place of an exception: raised by the checked file, or by the check itself."""
    frames = traceback.extract_tb(error.__traceback__)
    said = f"{type(error).__name__}: {error}"
    mine = [f for f in frames if file is not None and Path(f.filename).resolve() == file.resolve()]
    if mine:
        where = f"{mine[-1].filename}:{mine[-1].lineno}"
        return not_asked(term, "", "value", f"the file raises {said}, during {doing}", where)
    own = [f for f in frames if OWN in Path(f.filename).parents] or list(frames)
    at = f" at {Path(own[-1].filename).name}:{own[-1].lineno}" if own else ""
    return not_asked(term, "", "value", f"the check itself failed during {doing}: {said}{at}; {PLEASE}")
