"""The language: dimensions, types, expressions, modules, and what compares and prints them.

Names people use as `relay.ir.X` are resolved on first use. Three of them live in layers above this
one (`relay.serialize`, `relay.op`): they are known under `relay.ir` for the sake of programs that
come from elsewhere, and resolving them late keeps the layers from importing each other.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES: dict[str, tuple[str, ...]] = {
    "relay.errors": ("SequentialSpan", "SourceName", "Span"),
    "relay.ir.adt": ("TypeData",),
    "relay.ir.attrs": ("Attrs", "DictAttrs"),
    "relay.ir.compare": ("assert_structural_equal", "structural_equal", "structural_hash"),
    "relay.ir.expr": ("Constructor", "GlobalVar", "Op"),
    "relay.ir.module": ("IRModule",),
    "relay.ir.types": (
        "FuncType",
        "GlobalTypeVar",
        "IncompleteType",
        "RefType",
        "TensorType",
        "TupleType",
        "Type",
        "TypeCall",
        "TypeKind",
        "TypeRelation",
        "TypeVar",
    ),
    "relay.op.opdef": ("register_op_attr",),
    "relay.serialize": ("load_json", "save_json"),
}
_WHERE = {name: module for module, names in _HOMES.items() for name in names}
_MODULES = ("diagnostics",)

__all__ = sorted([*_WHERE, *_MODULES])


def __getattr__(name: str) -> Any:
    if home := _WHERE.get(name):
        value = getattr(importlib.import_module(home), name)
    elif name in _MODULES:
        value = importlib.import_module(f"relay.ir.{name}")
    else:
        raise AttributeError(f"module 'relay.ir' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
