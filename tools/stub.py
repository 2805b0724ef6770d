"""Write `relay/__init__.pyi`: the public names, which are lazy at run time, for type checkers.

python tools/stub.py      from the tables in relay/__init__.py and relay.op
"""

from __future__ import annotations

from pathlib import Path

import relay
import relay.op

STUB = Path(relay.__file__).with_name("__init__.pyi")


def text() -> str:
    """The text of the stub file."""
    lines = ["# Written by tools/stub.py from the tables in relay/__init__.py and relay.op.", ""]
    imports = {f"from {home} import {name} as {name}" for name, home in relay._WHERE.items()}
    aliases = [f"{alias} = {name}" for alias, name in sorted(relay._ALIASES.items())]
    for name, module in relay._MODULES.items():
        package, _, last = module.rpartition(".")
        imports.add(f"from {package} import {last} as {name}")
    taken = {*relay._WHERE, *relay._ALIASES, *relay._MODULES}
    imports.update(
        f"from relay.op import {name} as {name}" for name in relay.op.__all__ if name not in taken
    )
    return "\n".join([*lines, *sorted(imports), "", *aliases, "__version__: str", ""])


if __name__ == "__main__":
    STUB.write_text(text())
