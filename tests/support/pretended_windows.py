"""A Windows that is pretended on Linux: `python -m tests.support.pretended_windows ARGUMENTS` is
`minusgrad ARGUMENTS` there;
`+` stands between the arguments of several commands, of which the exit codes are printed last.

What our code could notice of the system is as on Windows: modules and calls of POSIX are not there,
nothing is opened
relative to a folder, folders are not opened at all, files are opened as text unless O_BINARY says
otherwise, an open
file can be neither renamed nor deleted, and a text file without an encoding is an error. Paths and the engine
stay those of Linux. Sources: Python's documentation of `os`, `msvcrt`; Microsoft, CreateFile (sharing modes).
"""

import errno
import os
import signal
import stat
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

NO_MODULES = ("fcntl", "resource", "termios", "pwd", "grp", "pty", "tty", "syslog")
NO_CALLS = (
    "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "fchmod", "fork", "getloadavg", "getpgid",
    "getuid", "geteuid",
    "killpg", "mkfifo", "posix_fadvise", "posix_fallocate", "pread", "pwrite", "register_at_fork",
    "sched_getaffinity",
    "setsid", "statvfs", "sysconf",
)  # fmt: skip
NO_SIGNALS = ("SIGHUP", "SIGXCPU", "SIGCHLD")
O_BINARY = 1 << 28
IN_USE = 13


def pretend() -> None:
    """From now on this process sees a Windows; before any module of minusgrad is imported."""
    import fcntl
    import select  # noqa: F401  (loads what it needs of POSIX)
    import subprocess  # noqa: F401
    import tempfile  # noqa: F401

    import h5py  # noqa: F401
    import taichi  # noqa: F401

    real = {name: getattr(os, name) for name in ("open", "close", "write", "replace", "unlink", "rename")}
    as_text: set[int] = set()

    def opened(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        assert dir_fd is None
        if os.path.isdir(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        found = real["open"](path, flags & ~O_BINARY, mode)
        (as_text.discard if flags & O_BINARY else as_text.add)(found)
        return found

    def written(descriptor: int, data: Any) -> int:
        if descriptor in as_text:
            raise OSError(errno.EINVAL, "line ends would be translated: opened without O_BINARY")
        return real["write"](descriptor, data)

    def closed(descriptor: int) -> None:
        as_text.discard(descriptor)
        real["close"](descriptor)

    def is_open(path: Any) -> bool:
        if not os.path.isfile(path):
            return False
        asked, kept = os.stat(path), []
        for number in os.listdir("/proc/self/fd"):
            try:
                found = os.stat(f"/proc/self/fd/{number}")
            except OSError:
                continue
            kept.append(
                stat.S_ISREG(found.st_mode) and (found.st_dev, found.st_ino) == (asked.st_dev, asked.st_ino)
            )
        return any(kept)

    def unless_open(name: str) -> Any:
        def call(
            *paths: Any,
            dir_fd: int | None = None,
            src_dir_fd: int | None = None,
            dst_dir_fd: int | None = None,
        ):
            assert (dir_fd, src_dir_fd, dst_dir_fd) == (None, None, None)
            for path in paths:
                if is_open(path):
                    raise PermissionError(
                        IN_USE, "The process cannot access the file because it is being used", str(path)
                    )
            return real[name](*paths)

        return call

    def locking(descriptor: int, mode: int, count: int) -> None:
        from minusgrad.files.held.system_calls import FAR

        assert (mode, count, os.lseek(descriptor, 0, os.SEEK_CUR)) == (2, 1, FAR)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    msvcrt: Any = ModuleType("msvcrt")
    msvcrt.locking, msvcrt.LK_NBLCK = locking, 2
    sys.modules["msvcrt"] = msvcrt
    for name in NO_MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    for name in NO_CALLS:
        if hasattr(os, name):
            delattr(os, name)
    for name in NO_SIGNALS:
        delattr(signal, name)
    os.supports_dir_fd.clear()
    os.O_BINARY = O_BINARY  # type: ignore[attr-defined]
    os.open, os.close, os.write = opened, closed, written  # type: ignore[assignment]
    for name in ("replace", "rename", "unlink"):
        setattr(os, name, unless_open(name))
    os.remove = os.unlink
    warnings.filterwarnings("error", category=EncodingWarning, module="minusgrad")
    from minusgrad.engine import memory
    from minusgrad.files.held import entered_folder, system_calls

    system_calls.OPEN_NAMES_STAY = True
    memory._PROC = memory._CGROUP = Path("nowhere")
    memory._of_windows = lambda: (8 << 30, 4 << 30)
    assert not entered_folder.RELATIVE
    assert system_calls.fcntl is None


if __name__ == "__main__":
    assert sys.flags.warn_default_encoding, (
        "python -X warn_default_encoding -m tests.support.pretended_windows"
    )
    pretend()
    from minusgrad.app.cli import main

    codes, rest = [], sys.argv[1:]
    while rest:
        end = rest.index("+") if "+" in rest else len(rest)
        codes.append(main(rest[:end]))
        rest = rest[end + 1 :]
    print(*codes)
