"""What a pass is: a program in, a program out.

    @dataclass(frozen=True)
    class FoldConstant(FunctionPass):
        opt_level = 2
        required = ("InferType",)
        fold_qnn: bool = False                 # the fields are the options

        def transform_function(self, function, module, context): …

    mod = FoldConstant()(mod)

A pass gets a module of its own and may change it; the module it was called with stays as it is.
What a pass requires has run before it, whether it is called directly or by a Sequential.
Whatever goes wrong inside of it comes out as a `RelayError` that names the pass.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from relay.check.forward import typed_forward
from relay.check.infer import infer_module
from relay.errors import PassError, RelayError, did_you_mean
from relay.ir.expr import Function
from relay.ir.function_attrs import is_foreign
from relay.ir.module import IRModule
from relay.transform import catalogue
from relay.transform.context import PassContext
from relay.transform.pass_info import PassInfo


class Pass:
    """The root of all passes. Subclass `FunctionPass` or `ModulePass`."""

    opt_level: int = 0
    required: tuple[str | Pass, ...] = ()

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def info(self) -> PassInfo:
        names = tuple(n if isinstance(n, str) else n.name for n in self.required)
        return PassInfo(self.opt_level, self.name, names, self._options())

    def _options(self) -> dict[str, Any]:
        """The options that were given and are not the default."""
        declared: tuple[Field[Any], ...] = fields(self) if is_dataclass(self) else ()
        given = ((f, getattr(self, f.name)) for f in declared)
        return {
            f.name: value for f, value in given if value is not f.default and value != f.default
        }

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        """The work. `module` belongs to the pass; what it returns is the result."""
        raise PassError(f"pass `{self.name}` must define transform_module")

    def __call__(self, mod: IRModule) -> IRModule:
        """`mod` after this pass, and after those it requires."""
        if not isinstance(mod, IRModule):
            raise PassError(
                f"pass `{self.name}` takes an IRModule, found {type(mod).__name__}; "
                "relay.IRModule.from_expr(…) makes one of an expression"
            )
        context = PassContext.current()
        if not context.should_run(mod, self.info):
            return mod
        for needed in _prerequisites(self):
            if context.should_run(mod, needed.info):
                mod = needed._run(mod, context)
        return self._run(mod, context)

    def _run(self, mod: IRModule, context: PassContext) -> IRModule:
        def work() -> IRModule:
            try:
                result = self.transform_module(mod.copy(), context)
            except RelayError:
                raise
            except Exception as error:
                what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
                raise PassError(f"pass `{self.name}` failed: {what}") from error
            if not isinstance(result, IRModule):
                raise PassError(f"a pass returns an IRModule, found {type(result).__name__}")
            return result

        return context.watch(work, mod, self.info)


class ModulePass(Pass):
    """A pass over the whole module: define `transform_module(module, context)`."""


class FunctionPass(Pass):
    """A pass over one function at a time: define `transform_function(function, module, context)`,
    or `rewrite(function)` if it depends on nothing else.

    Every function is seen in the module as it was before the pass. Foreign functions are left alone
    (`is_foreign`). Typed functions stay typed: if one loses its type, the module is inferred again.
    """

    def transform_function(
        self, function: Function, module: IRModule, context: PassContext
    ) -> Function:
        return self.rewrite(function)

    def rewrite(self, function: Function) -> Function:
        """The function after the pass."""
        raise PassError(f"pass `{self.name}` must define transform_function")

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        changed: dict[str, Function] = {}
        lost_type = False
        for var, before in module.functions.items():
            if is_foreign(before):
                continue
            after = self.transform_function(before, module, context)
            if not isinstance(after, Function):
                raise PassError(
                    f"transform_function returns a relay.Function, found {type(after).__name__} "
                    f"for `@{var.name_hint}`"
                )
            if after is before:
                continue
            if before.ty is not None and after.ty is None:
                after = typed_forward(after, before)
                lost_type |= after.ty is None
            changed[var.name_hint] = after
        for name, function in changed.items():
            module[name] = function
        return infer_module(module) if lost_type else module


def find_pass(name: str) -> Pass:
    """The pass of that name, with the options it has by default."""
    found = catalogue.find(name)
    if isinstance(found, type) and issubclass(found, Pass):
        if missing := _options_without_default(found):
            raise PassError(
                f"pass `{name}` cannot be required by name: it needs {', '.join(missing)}; "
                f"require a {name}(…) instead"
            )
        return found()
    hint = did_you_mean(name, catalogue.exports())
    raise PassError(f"there is no pass `{name}`" + (f"; {hint}" if hint else ""))


def _options_without_default(found: type[Pass]) -> list[str]:
    options: tuple[Field[Any], ...] = fields(found) if is_dataclass(found) else ()
    return [f.name for f in options if f.default is MISSING and f.default_factory is MISSING]


def _prerequisites(wanted: Pass) -> list[Pass]:
    """All passes that `wanted` requires, directly or not, each after those it requires itself."""
    order: list[Pass] = []
    path: list[str] = []
    done: set[str] = set()
    pending: list[tuple[Pass, bool]] = [(wanted, False)]
    while pending:
        current, ready = pending.pop()
        name = current.name
        if ready:
            path.pop()
            done.add(name)
            order.append(current)
        elif name in path:
            raise PassError("passes require each other: " + " -> ".join([*path, name]))
        elif name not in done:
            path.append(name)
            pending.append((current, True))
            for needed in reversed(current.required):
                found = find_pass(needed) if isinstance(needed, str) else needed
                pending.append((found, False))
    return order[:-1]
