"""The file system is the registry of passes: `FoldConstant` lives in `fold_constant.py`.

A file of this folder, or of a folder in it, offers the name it is called after, and whatever its
`__all__` lists besides. Nothing is imported before it is asked for by name. A function must
not be called like its own file, because Python then gives the name to the file.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import pkgutil
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

PACKAGE = "relay.transform"

# the borders of words: parse|Expr, IR|Module, conv2d|To, and none inside `Conv2D`
_BORDER = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])")
_DEFINED = re.compile(r"^(?:class|def) (\w+)", re.MULTILINE)


def file_name(name: str) -> str:
    """`ToANormalForm` -> `to_a_normal_form`, `CombineConv2D` -> `combine_conv2d`"""
    return _BORDER.sub("_", name).lower()


@cache
def files() -> Mapping[str, str]:
    """The modules of this folder and of the folders in it, by their own names: where each lives."""
    package = importlib.import_module(PACKAGE)
    found: dict[str, str] = {}
    for module in pkgutil.iter_modules(package.__path__):
        if not module.ispkg:
            found[module.name] = f"{PACKAGE}.{module.name}"
            continue
        folder = f"{PACKAGE}.{module.name}"
        inside = importlib.import_module(folder).__path__
        found.update((one.name, f"{folder}.{one.name}") for one in pkgutil.iter_modules(inside))
    return found


@cache
def exports() -> dict[str, str]:
    """Every name there is, with the file it lives in; found by reading the files."""
    found: dict[str, str] = {}
    for file in sorted(files()):
        source = _source(file)
        found.update((name, file) for name in _listed(source))
        found.update((name, file) for name in _DEFINED.findall(source) if file_name(name) == file)
    return found


def is_pass(name: str) -> bool:
    """Whether a pass of that name is here; sequences have names of their own."""
    return name in exports()


def find(name: str) -> Any | None:
    """What `relay.transform.<name>` is; None when no file offers it, or when it is a file, which
    Python finds by itself."""
    if name.startswith("_") or name in files():
        return None
    home = file_name(name)
    if home not in files():
        # not called after its file: only now is it worth reading them all
        found = exports().get(name)
        if found is None:
            return None
        home = found
    return getattr(importlib.import_module(files()[home]), name, None)


def _source(file: str) -> str:
    spec = importlib.util.find_spec(files()[file])
    loader: Any = spec.loader if spec else None
    return loader.get_source(files()[file]) or "" if loader else ""


def _listed(source: str) -> list[str]:
    """The names in a literal `__all__`."""
    if "__all__" not in source:
        return []
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "__all__" for target in statement.targets
        ):
            return list(ast.literal_eval(statement.value))
    return []
