"""The process of one engine in a conformance report: the request on stdin, lines of JSON on stdout."""

import json
import os
import sys

from ...errors import MinusgradError
from .conformance import rows


def main() -> int:
    """Answer the request; prints of the plugin do not reach the parent."""
    with os.fdopen(os.dup(1), "w", buffering=1) as out:
        os.dup2(2, 1)
        asked = json.load(sys.stdin)

        def say(**message: object) -> None:
            out.write(json.dumps(message) + "\n")

        try:
            for row in rows(asked["plugin"], asked["scenes"], lambda doing: say(doing=doing)):
                say(row=row.as_dict())
        except MinusgradError as error:
            say(refused=str(error), code=error.exit_code)
    return 0


if __name__ == "__main__":
    sys.exit(main())
