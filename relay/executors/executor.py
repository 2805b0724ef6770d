"""The interface of executors, with conversion of arguments.

A new kind of executor is a class with `load`, which prepares a function of a typed module, and an
entry in `relay.executors.KINDS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relay import tree
from relay.check.infer import infer_module
from relay.errors import EvaluationError, RelayError, did_you_mean
from relay.interpreter.values import Value, to_value, type_of
from relay.ir.expr import Expr, Function, GlobalVar, Var, as_expr, bind
from relay.ir.module import HasModule, IRModule
from relay.ir.variables import free_type_vars, free_vars
from relay.nd import Device

# A function that is ready to run, from the values of its parameters to its result.
Loaded = Callable[[Sequence[Value]], Value]


class Executor(ABC):
    """Runs functions of a module; `params` are values of parameters, by name."""

    def __init__(
        self,
        mod: IRModule | HasModule | None = None,
        device: Device | None = None,
        target: Any = "llvm",
        params: Mapping[str, Any] | None = None,
    ) -> None:
        if isinstance(mod, HasModule):
            mod = mod.__relay_module__()
        if not isinstance(mod, IRModule | None):
            raise RelayError(f"an executor runs a relay.IRModule, found {type(mod).__name__}")
        if not isinstance(params, Mapping | None):
            raise RelayError(f"`params` is a mapping of names, found {type(params).__name__}")
        self.mod = IRModule() if mod is None else mod
        self.device = device
        self.target = target
        self.params = dict(params or {})

    @abstractmethod
    def load(self, module: IRModule, name: str) -> Loaded:
        """Prepare function `name` of a typed module."""

    def evaluate(self, expr: Expr | None = None, binds: Mapping[Var, Any] | None = None) -> Any:
        """A Python function for a function, a global variable or None (`main`); the value of any
        other expression. `binds` are values of free variables."""
        binds = binds or {}
        expr = GlobalVar("main") if expr is None else as_expr(expr)
        module = self.mod.copy()
        if isinstance(expr, GlobalVar):
            name = expr.name_hint
        else:
            name = _unused_name(module)
            module[name], binds = _close(expr, binds)
        before = module[name].params
        module = infer_module(module)
        params = module[name].params  # inference may have annotated them
        preset: dict[Var, Value] = {}
        for original, param in zip(before, params, strict=True):
            if original in binds:
                preset[param] = to_value(binds[original], param.type_annotation)
            elif param.name_hint in self.params:
                preset[param] = to_value(self.params[param.name_hint], param.type_annotation)
        function = PythonFunction(name, params, preset, self.load(module, name))
        return function if isinstance(expr, Function | GlobalVar) else function()


@dataclass(frozen=True, repr=False)
class PythonFunction:
    """A function of a program as a Python function, with positional and named arguments.

    Positional arguments skip parameters with a preset value, which can be overridden by name.
    """

    name: str
    params: tuple[Var, ...]
    preset: Mapping[Var, Value]
    loaded: Loaded

    def __call__(self, *args: Any, **named: Any) -> Value:
        wanted = [param for param in self.params if param not in self.preset]
        if len(args) > len(wanted):
            raise self._error("too many arguments", f"{len(wanted)}", f"{len(args)}")
        given = dict(zip(wanted, args, strict=False))
        for name, arg in named.items():
            param = self._param(name)
            if param in given:
                raise self._error(f"two arguments for parameter `%{name}`")
            given[param] = arg
        values = dict(self.preset)
        for param, arg in given.items():
            try:
                values[param] = to_value(arg, param.type_annotation)
            except RelayError as error:
                expected = str(param.type_annotation)
                message = f"the argument for `%{param.name_hint}` is no value: {error}"
                raise self._error(message, expected) from None
        missing = [f"`%{param.name_hint}`" for param in self.params if param not in values]
        if missing:
            raise self._error(f"no argument for {', '.join(missing)}")
        return self.loaded([values[param] for param in self.params])

    def _param(self, name: str) -> Var:
        found = [param for param in self.params if param.name_hint == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise self._error(f"{len(found)} parameters are named `%{name}`; give them by position")
        hint = did_you_mean(name, [param.name_hint for param in self.params])
        raise self._error(f"no parameter is named `%{name}`", hint=hint)

    def _error(
        self,
        message: str,
        expected: str | None = None,
        found: str | None = None,
        hint: str | None = None,
    ) -> EvaluationError:
        text = f"{message} in a call of `@{self.name}`"
        return EvaluationError.of(text, None, expected, found, hint)

    def __repr__(self) -> str:
        return f"<Relay function @{self.name}({', '.join(p.name_hint for p in self.params)})>"


def _unused_name(module: IRModule) -> str:
    names = ("main", *(f"main_{i}" for i in range(len(module.functions))))
    return next(name for name in names if name not in module)


def _close(expr: Expr, binds: Mapping[Var, Any]) -> tuple[Function, Mapping[Var, Any]]:
    """`expr` as a closed function, whose first parameters are its free variables."""
    free = free_vars(expr)
    for variable in free:
        if variable not in binds:
            raise EvaluationError.of(
                f"variable `%{variable.name_hint}` has no value",
                variable.span,
                hint=f"give it one: binds={{{variable.name_hint}: …}}",
            )
    # an untyped variable gets the type of its value
    typed = {
        variable: Var(variable.name_hint, type_of(to_value(binds[variable])))
        for variable in free
        if variable.type_annotation is None
    }
    expr = bind(expr, typed)
    params = [typed.get(variable, variable) for variable in free]
    binds = {typed.get(variable, variable): given for variable, given in binds.items()}
    if isinstance(expr, Function):
        return tree.replace(expr, params=(*params, *expr.params)), binds
    return Function(tuple(params), expr, type_params=tuple(free_type_vars(expr))), binds
