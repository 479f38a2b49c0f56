"""The index of the kinds of our plugins.

python -m tests.project.kind_index             differences from the shipped one
python -m tests.project.kind_index --write     write it
"""

import json
import sys

from minusgrad.assembly.installed_plugins import OURS, listed
from minusgrad.assembly.kinds import kind_index
from minusgrad.assembly.registry import Registry


def made() -> str:
    """The index as what our plugins register makes it: a line for each kind."""
    names = [plugin.name for plugin in listed() if plugin.distribution == OURS]
    registry = Registry.load(names)
    registry.complete()
    plugins = []
    for name in names:
        data = registry.index_of(name, places=True).as_data()
        tables = [
            f"{json.dumps(section)}: {{\n"
            + ",\n".join(f"{json.dumps(kind)}: {json.dumps(row)}" for kind, row in table.items())
            + "\n}"
            for section, table in data["kinds"].items()
        ]
        rest = f'"old_names": {json.dumps(data["old_names"])}, "warns": {json.dumps(data["warns"])}'
        plugins.append(f'{json.dumps(name)}: {{"kinds": {{' + ",\n".join(tables) + f"}}, {rest}}}")
    return "{" + ",\n".join(plugins) + "}\n"


def main() -> int:
    text = made()
    if "--write" in sys.argv:
        kind_index.SHIPPED.write_text(text)
        return 0
    stale = not kind_index.SHIPPED.is_file() or kind_index.SHIPPED.read_text() != text
    print("the index of kinds is not what plugins register; write it with --write" if stale else "up to date")
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
