"""Modules that stand for others, so that each form of `import` finds them.

    import relay.compat.tvm.relay.testing.resnet
    from relay.compat.tvm.relay.frontend import from_onnx

The import system asks each entry of a package's `__path__`. `PLACE` is such an entry, with a finder
of its own: a module below is one that has the names of what its parent has under that name.
Nothing is imported twice, and other packages are found as ever.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from relay.compat.tvm.names import ReplacedName

# No folder: a name among the import system's finders, which keeps those of absolute paths.
PLACE: Final = str(Path(__file__).parent.absolute() / "<names of other places>")

# Modules whose names are those of another one here.
_HOMES: Final = {
    "relay.function": "relay.ir.expr",
    **dict.fromkeys(
        (f"relay.op.{family}" for family in ("algorithm", "reduce", "tensor", "transform")),
        "relay.op",
    ),
}


class _Finder:
    """Finds what the attributes of a package are, or the modules below of what it stands for."""

    def find_spec(self, fullname: str, target: ModuleType | None = None) -> ModuleSpec | None:
        parent, _, name = fullname.rpartition(".")
        package = sys.modules[parent]
        found = None
        try:
            other = _HOMES.get(fullname.removeprefix(f"{__package__}."))
            found = importlib.import_module(other) if other else getattr(package, name)
        except ReplacedName as error:
            raise ImportError(str(error), name=fullname) from None
        except AttributeError:
            home = getattr(package, "__stands_for__", None)
            if home is not None:
                with suppress(ModuleNotFoundError):
                    found = importlib.import_module(f"{home.__name__}.{name}")
        if not isinstance(found, ModuleType):
            return None
        spec = ModuleSpec(fullname, _Loader(found), is_package=True)
        spec.submodule_search_locations = [PLACE]
        return spec


class _Loader(Loader):
    """Makes a module with the names of another."""

    def __init__(self, home: ModuleType) -> None:
        self.home = home

    def create_module(self, spec: ModuleSpec) -> None:
        return None  # a plain one

    def exec_module(self, module: ModuleType) -> None:
        home = self.home
        made: dict[str, Any] = {
            "__doc__": home.__doc__,
            "__stands_for__": home,
            "__getattr__": lambda name: getattr(home, name),
            "__dir__": lambda: dir(home),
            "__all__": public(home),
        }
        vars(module).update(made)


def public(home: ModuleType) -> Sequence[str]:
    """The names that `import *` takes."""
    given = getattr(home, "__all__", None)
    return list(given) if given is not None else [n for n in dir(home) if not n.startswith("_")]


def register() -> str:
    """`PLACE`, known to the import system."""
    sys.path_importer_cache.setdefault(PLACE, _Finder())
    return PLACE
