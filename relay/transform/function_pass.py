"""`function_pass` and `module_pass`: make a pass of a Python function, or of a class.

@relay.transform.function_pass(opt_level=1)
def simplify(func, mod, ctx):
    return …

@relay.transform.module_pass
class AddMain:
    def __init__(self, function):
        self.function = function

    def transform_module(self, mod, ctx):
        mod["main"] = self.function
        return mod

mod = simplify(mod)
mod = AddMain(f)(mod)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from relay.errors import PassError
from relay.ir.expr import Function
from relay.ir.module import IRModule
from relay.transform.base import FunctionPass, ModulePass, Pass
from relay.transform.context import PassContext


class _Declared(Pass):
    """A pass that calls a function."""

    _kind = "pass"

    def __init__(
        self, work: Callable[..., Any], name: str, opt_level: int, required: Sequence[str | Pass]
    ) -> None:
        self._work = work
        self._name = name
        self.opt_level = opt_level
        self.required = tuple(required)

    @property
    def name(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"<{self._kind} {self._name}, opt_level {self.opt_level}>"


class _DeclaredFunctionPass(_Declared, FunctionPass):
    _kind = "function pass"

    def transform_function(
        self, function: Function, module: IRModule, context: PassContext
    ) -> Function:
        return self._work(function, module, context)  # type: ignore[no-any-return]


class _DeclaredModulePass(_Declared, ModulePass):
    _kind = "module pass"

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        return self._work(module, context)  # type: ignore[no-any-return]


def function_pass(
    pass_func: Any = None,
    opt_level: int = 0,
    name: str | None = None,
    required: Sequence[str | Pass] | None = None,
) -> Any:
    """Decorate `(func, mod, ctx) -> func`, or a class with `transform_function`."""
    return _declare(
        _DeclaredFunctionPass, "transform_function", pass_func, opt_level, name, required
    )


def module_pass(
    pass_func: Any = None,
    opt_level: int = 0,
    name: str | None = None,
    required: Sequence[str | Pass] | None = None,
) -> Any:
    """Decorate `(mod, ctx) -> mod`, or a class with `transform_module`."""
    return _declare(_DeclaredModulePass, "transform_module", pass_func, opt_level, name, required)


def _declare(
    kind: type[_Declared],
    method: str,
    given: Any,
    opt_level: int,
    name: str | None,
    required: Sequence[str | Pass] | None,
) -> Any:
    if given is None:
        return lambda later: _declare(kind, method, later, opt_level, name, required)
    if not callable(given):
        raise PassError(f"a pass is made of a function or a class, found {given!r}")
    named = name or given.__name__
    if isinstance(given, type):
        return _class_of(kind, method, given, named, opt_level, tuple(required or ()))
    made = kind(given, named, opt_level, tuple(required or ()))
    return functools.update_wrapper(made, given)


def _class_of(
    kind: type[_Declared],
    method: str,
    cls: type,
    name: str,
    opt_level: int,
    required: tuple[str | Pass, ...],
) -> type[_Declared]:
    """A class of passes around objects of `cls`, made with the same arguments."""
    if not callable(getattr(cls, method, None)):
        raise PassError(f"class `{cls.__name__}` must define {method} to be a pass")

    def __init__(self: Any, *args: Any, **options: Any) -> None:
        self._object = cls(*args, **options)
        kind.__init__(self, getattr(self._object, method), name, opt_level, required)

    def __getattr__(self: Any, attribute: str) -> Any:
        if attribute == "_object":
            raise AttributeError(attribute)
        return getattr(self._object, attribute)

    functools.update_wrapper(__init__, cls.__init__)  # type: ignore[misc]
    namespace = {
        "__init__": __init__,
        "__getattr__": __getattr__,
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
    }
    return type(cls.__name__, (kind,), namespace)
