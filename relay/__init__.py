"""Relay: a deep-learning compiler around a functional, statically typed tensor language.

Names are resolved on first use (PEP 562), so `import relay` costs next to nothing. The table below
says where each public name lives; everything in `relay.op` is found here too (`relay.add`).
"""

from __future__ import annotations

import importlib
from typing import Any as AnyValue  # `relay.Any` is a dimension

__version__ = "0.1.0"

_HOMES: dict[str, tuple[str, ...]] = {
    "relay.errors": (
        "RelayError",
        "DiagnosticError",
        "ParseError",
        "TypeCheckError",
        "KindError",
        "IllFormed",
        "PassError",
        "OperatorError",
        "EvaluationError",
        "FrontendError",
        "ExportError",
        "GradientError",
        "TargetError",
        "SettingError",
        "Span",
        "SequentialSpan",
        "SourceName",
    ),
    "relay.ir.dims": ("Any",),
    "relay.ir.types": (
        "Type",
        "TypeKind",
        "TypeVar",
        "ShapeVar",
        "IncompleteType",
        "GlobalTypeVar",
        "TensorType",
        "TupleType",
        "FuncType",
        "RefType",
        "TypeCall",
        "TypeRelation",
        "scalar_type",
        "is_dynamic",
    ),
    "relay.ir.attrs": ("Attrs", "DictAttrs"),
    "relay.ir.expr": (
        "Expr",
        "Var",
        "GlobalVar",
        "Constant",
        "Op",
        "Constructor",
        "Function",
        "Call",
        "Let",
        "If",
        "Tuple",
        "TupleGetItem",
        "RefCreate",
        "RefRead",
        "RefWrite",
        "Match",
        "Clause",
        "Pattern",
        "PatternWildcard",
        "PatternVar",
        "PatternConstructor",
        "PatternTuple",
        "TempExpr",
        "TupleWrapper",
        "var",
        "const",
        "bind",
        "FunctionWithFields",
        "CallWithFields",
        "LetWithFields",
        "IfWithFields",
        "TupleWithFields",
        "TupleGetItemWithFields",
        "MatchWithFields",
        "VarWithFields",
        "RefCreateWithFields",
        "RefReadWithFields",
        "RefWriteWithFields",
        "ClauseWithFields",
    ),
    "relay.ir.adt": ("TypeData",),
    "relay.ir.module": ("IRModule",),
    "relay.ir.functor": (
        "ExprFunctor",
        "ExprVisitor",
        "ExprMutator",
        "TypeFunctor",
        "TypeVisitor",
        "TypeMutator",
    ),
    "relay.ir.printer": ("astext", "pretty_print"),
    "relay.nd": ("cpu", "cuda", "device"),
    "relay.parser": ("parse", "parse_expr", "fromtext"),
    "relay.serialize": ("save_json", "load_json", "save_param_dict", "load_param_dict"),
    "relay.builder": ("ScopeBuilder",),
    "relay.prelude": ("Prelude",),
    "relay.driver": ("compile",),
    "relay.build_module": ("build",),
    "relay.tuning.tune": ("tune",),
    "relay.executors": ("create_executor",),
    "relay.export": ("to_onnx",),
    "relay.executors.artifact": ("load",),
    "relay.executors.executable": ("Executable",),
    "relay.pipeline": ("optimize",),
    "relay.transform.build_options": ("build_config",),
    "relay.frontend.python": ("function", "data", "Tensor", "grad", "value_and_grad"),
}
_WHERE = {name: module for module, names in _HOMES.items() for name in names}

_ALIASES = {
    "TVMError": "RelayError",
    "RelayRefType": "RefType",
}

_MODULES: dict[str, str] = {
    "adt": "relay.ir.adt",
    "annotation": "relay.op.annotation",
    "expr": "relay.ir.expr",
    "expr_functor": "relay.ir.functor",
    "image": "relay.op.image",
    "nn": "relay.op.nn",
    "param_dict": "relay.serialize",
    "qnn": "relay.qnn",
    "random": "relay.op.random",
    "scope_builder": "relay.builder",
    "ty": "relay.ir.types",
    "type_functor": "relay.ir.functor",
    "vision": "relay.op.vision",
    **{
        name: f"relay.{name}"
        for name in (
            "analysis",
            "build_module",
            "builder",
            "cache",
            "check",
            "contrib",
            "data_dep_optimization",
            "dataflow_pattern",
            "debug_executor",
            "debugging",
            "driver",
            "dtypes",
            "errors",
            "executors",
            "export",
            "external",
            "frontend",
            "graph_executor",
            "interpreter",
            "ir",
            "loops",
            "machine",
            "nd",
            "op",
            "optim",
            "parser",
            "pipeline",
            "prelude",
            "quantize",
            "serialize",
            "settings",
            "target",
            "te",
            "testing",
            "tir",
            "transform",
            "tree",
            "viz",
            "vm",
        )
    },
}

__all__ = ["__version__", *sorted([*_WHERE, *_ALIASES, *_MODULES])]


def __getattr__(name: str) -> AnyValue:
    # modules stay: a collection while they are loaded would scan all objects and free none
    with importlib.import_module("relay.tree").without_collection():
        value = _found(_ALIASES.get(name, name))
    globals()[name] = value
    return value


def _found(name: str) -> AnyValue:
    if home := _WHERE.get(name):
        return getattr(importlib.import_module(home), name)
    if module := _MODULES.get(name):
        return importlib.import_module(module)
    if not name.startswith("_") and name in (op := importlib.import_module("relay.op")).__all__:
        return getattr(op, name)
    raise AttributeError(f"module 'relay' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *importlib.import_module("relay.op").__all__})
