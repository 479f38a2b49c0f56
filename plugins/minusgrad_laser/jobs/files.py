"""Files written whole or not at all: under another name in the same folder first, then renamed."""

import os
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from minusgrad.plugin import UserError


def save(path: str | Path, data: bytes | str) -> None:
    """Write data to a file; a file that was there is replaced only when all is on the disk.

    Raises `UserError` where the folder does not exist or cannot be written.
    """
    path = Path(path)
    part = path.with_name(f".{path.name}.{token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise UserError(f"'{path}' cannot be written: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            part.unlink()
