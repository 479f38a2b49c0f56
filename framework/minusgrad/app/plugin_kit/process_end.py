"""The end of a process that checked kernels: what it says about the kernels, or about the machine.

a signal, or silence, at the state of the program     a finding: the kernels crash, or never end
the same at a state that the check made               not asked: the program may never be there
the same while the program was loaded                 not asked: no kernel was asked yet
no threads, no memory                                 not asked: the machine's limit
an exception of the check itself                      not asked, with a request to report it
"""

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...check.outcomes import PLEASE, not_asked
from ...check.questions import Finding

LIMITS = {
    "the machine gave it no more threads; use fewer, or raise the limit of processes (ulimit -u)": (
        r"can't start new thread|Resource temporarily unavailable|pthread_create|thread constructor failed"
    ),
    "it had no more memory; use smaller arrays, or raise the limit (ulimit -v)": (
        r"bad_alloc|MemoryError|Cannot allocate memory|[Oo]ut of memory|memory exhausted"
    ),
}
MADE = ("at random state", "steps of ", "a kink", "entries")
"""Words of activities at states that the check has made."""


@dataclass(frozen=True)
class ProcessEnd:
    """How a process ended: its code, the seconds of silence (None: it ended by itself), its last activity,
    and its last lines.
    """

    code: int
    silence: float | None
    doing: str
    lines: Sequence[str]

    def finding(self, name: str, begun: bool, what: str, why: Sequence[str]) -> Finding:
        """The answer about the subject `name`. `begun`: its questions had begun; `why`: a likely cause of a
        crash, with its place."""
        place, cause = why
        limit = self.limit()
        if limit:
            return not_asked(name, "", "crash", f"{self.text()}: {limit}")
        if not begun and (self.silence is not None or self.code < 0):
            text = f"{self.text()}: it ends before a kernel is asked"
            return not_asked(name, "", "crash", text, self.line_of(what))
        if self.code > 0 and any(line.startswith("Traceback") for line in self.lines):
            return not_asked(name, "", "crash", f"{self.text()}; {PLEASE}")
        if any(word in self.doing for word in MADE):
            text = f"{self.text()}, at a state that the check made, while the start was fine"
            return not_asked(name, "", "crash", text, place)
        text = f"{self.text()}{f': {cause}' if cause else ''}"
        return Finding(name, "", "crash", False, None, text, place)

    def limit(self) -> str:
        """The limit of the machine that ended it; "" for another end."""
        if self.silence is not None:
            return ""
        if self.code < 0 and signal.Signals(-self.code).name == "SIGKILL":
            return "the system killed it, as it does when memory is short; use smaller arrays"
        text = "\n".join(self.lines)
        return next((said for said, pattern in LIMITS.items() if re.search(pattern, text)), "")

    def text(self) -> str:
        if self.silence is not None:
            return f"no answer for {self.silence:g} s during {self.doing}: it may never end"
        if self.code == -signal.SIGABRT:
            return f"the process aborted itself (SIGABRT) during {self.doing}: {self.last()}"
        if self.code < 0:
            return f"the process died of {signal.Signals(-self.code).name} during {self.doing}"
        return f"the process ended with {self.code} during {self.doing}: {self.last()}"

    def last(self) -> str:
        """The last line that is no part of a list of frames."""
        said = [
            line
            for line in self.lines
            if not re.match(r"(File \"|Extension modules|Current thread|Thread 0x)", line)
        ]
        return said[-1] if said else "without output"

    def line_of(self, file: str) -> str:
        """The line of a file that ran last, of the frames that Python lists at a crash."""
        if not file.endswith(".py"):
            return ""
        own = str(Path(file).resolve())
        for line in self.lines:
            found = re.match(r'File "(.+)", line (\d+)', line)
            if found and str(Path(found[1]).resolve()) == own:
                return f"{file}:{found[2]}"
        return ""
